//! `convert`: one input to one output, or many files to a directory, in parallel.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use indicatif::{ProgressBar, ProgressStyle};
use interlingua::dialects::ours::{record, record_v2};
use interlingua::dialects::{Dialect, Options, Plane, Role};
use interlingua::error::Code;
use interlingua::ledger::{LossPolicy, Report};
use interlingua::log::{Outline, OutlineReader};
use interlingua::model::Usage;
use interlingua::pipe::Pipe;
use interlingua::tape::Limits;
use interlingua_record::contract::Refusal;
use interlingua_report::json::ReportWriter;
use interlingua_report::{Converted, Identified, Summary, render, safe};
use interlingua_sessions::places::FilePlace;
use interlingua_sessions::{
    self as sessions, FollowedInput, FoundFile, FoundFiles, InputPlace, OpenLine, Opened,
};

use crate::backends;
use crate::error::{CommandError, Exit, of_sources};
use crate::flags::{Convert, SourceFlags};
use crate::outputs::{self, NewFolders, Sink, Taken};
use crate::talk::{self, Talk};
use crate::{jobs, join, stop, verify};

/// The summary of a run of this command.
pub(crate) type RunSummary = Summary<CommandError>;

pub(crate) fn run(args: &Convert, talk: &Talk) -> Result<Exit, CommandError> {
    let stdin = [PathBuf::from("-")];
    let inputs = if args.inputs.is_empty() { &stdin[..] } else { &args.inputs[..] };
    // `-` as output means stdout, as `-` as input means stdin.
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    sessions::check_patterns(inputs)?;
    if args.seed_schema && args.target().name != "universal" {
        let hint = "add `--to universal`, or leave out `--seed-schema`".to_owned();
        let error = "`--seed-schema` is the schema of universal events".to_owned();
        return Err(CommandError::Usage(error, Some(hint)));
    }
    let asks_for_log = args.carry.map_tools || args.carry.budget.is_some();
    if asks_for_log && args.target().plane != Plane::Log {
        let error =
            format!("`--map-tools` and `--budget` are for logs of agents, not for `{}`", args.target().name);
        let hint = "name the log of an agent with `--to`, such as `claude-code` or `codex`".to_owned();
        return Err(CommandError::Usage(error, Some(hint)));
    }
    if args.verify && output.is_none() {
        let hint = "write to a file or a directory with `-o`".to_owned();
        return Err(CommandError::Usage("`--verify` cannot read stdout back".to_owned(), Some(hint)));
    }
    if args.tag().is_some() && !is_record(args.target()) {
        let hint = "add `--to record`, or leave out `--encoding cbor`".to_owned();
        return Err(CommandError::Usage("only records are written in CBOR".to_owned(), Some(hint)));
    }
    if args.report.as_deref() == Some(Path::new("-")) && output.is_none() {
        return Err(CommandError::StdoutTwice);
    }
    let summary = match (inputs, output) {
        (_, Some(output)) if args.join => join::join(inputs, output, is_directory(output), args, talk)?,
        (_, None) if args.join => return Err(CommandError::NeedsOutput),
        (inputs, _) if args.follow && (inputs.len() > 1 || inputs.iter().any(|one| is_several(one))) => {
            let hint = "name one file, or `-` for stdin".to_owned();
            return Err(CommandError::Usage("`--follow` follows one input".to_owned(), Some(hint)));
        }
        ([one], output) if !is_several(one) && !output.is_some_and(is_directory) => {
            if !keeps_joined(args) && sessions::is_joined(one) {
                return Err(CommandError::HoldsSessions(safe::path_name(one)));
            }
            single(one, output, args, talk)?
        }
        ([one], None) if is_directory(one) => {
            return Err(CommandError::IsDirectory(safe::path_name(one)));
        }
        (_, None) => return Err(CommandError::NeedsDirectory),
        (_, Some(output)) => many(inputs, output, args, talk)?,
    };
    if let [(_, _), ..] = &summary.failed[..] {
        let is_incomplete = |(_, error): &(String, CommandError)| error.exit() == Exit::Failed;
        let all = summary.failed.iter().all(is_incomplete);
        return Ok(if all { Exit::Failed } else { Exit::Unreadable });
    }
    let is_there = |(_, error): &(String, CommandError)| matches!(error, CommandError::Exists(_));
    if summary.files == 0 && !summary.skipped.iter().any(is_there) {
        return Err(CommandError::NothingRecognised(summary.skipped.len()));
    }
    if let Some(loss) = summary.forbidden {
        let refusal = Refusal::of_loss(&loss.row, loss.target, loss.report);
        return Err(CommandError::Refused(Box::new(refusal)));
    }
    let strict_failure = args.strict && summary.unsound;
    if strict_failure {
        Talk::always(&render::strict(&summary));
    }
    Ok(if strict_failure { Exit::Failed } else { Exit::Done })
}

/// Converts one input to a file or to stdout.
fn single(
    path: &Path,
    output: Option<&Path>,
    args: &Convert,
    talk: &Talk,
) -> Result<RunSummary, CommandError> {
    let input = if args.follow { followed(path) } else { InputPlace::of(path) };
    let stdout = if output.is_none() { outputs::stdout_file() } else { None };
    let written: Vec<&Path> = output.into_iter().chain(stdout).chain(report_place(args)).collect();
    let read: Vec<&Path> = input.path().into_iter().chain(args.backend.backends.as_deref()).collect();
    outputs::check_places(&written, &read)?;
    if let Some(path) = output.filter(|path| args.skip_existing && path.exists()) {
        let skipped = vec![(input.name(), CommandError::Exists(path.to_owned()))];
        talk.say(&render::skipped(&skipped, talk.verbose));
        let mut account = RunAccount::begin(args)?;
        account.summary.skipped = skipped;
        return account.end();
    }
    let input = steady(input, args)?;
    let opened = input.open_live(&args.source.hints(), args.source.max_unpacked)?;
    let identity = opened.identify(&input.name(), &args.source.hints())?;
    talk.say(&render::reading(&input.name(), &identity));
    let role = args
        .target()
        .role_for(identity.spec.role)
        .ok_or(CommandError::NoTargetRole(args.target(), identity.spec.role))?;
    let to = (args.target(), role);
    // If stdout is a file named `.json`, the output must be a single document. It is spooled until the number of
    // sessions is known.
    let framing = to.0.role(role).filter(|_| role == Role::Log).map(|spec| spec.framing);
    let is_json = framing.is_some_and(|framing| args.extension(framing) == "json");
    let is_document = output.is_none() && is_json && outputs::stdout_is_named_json();
    let spool = is_document.then(outputs::Spool::new).transpose()?;
    let sink = match (output, &spool) {
        (Some(path), _) => Sink::file(path, input.path())?,
        (None, Some(spool)) => spool.sink()?,
        (None, None) => Sink::stdout_for_data(),
    };
    let sink = sink.encoded(args.tag())?;
    let options = conversion_options((&opened, &input), &identity, to, args)?;
    let mut account = RunAccount::begin(args)?;
    let mut further = Vec::new();
    let mut next = || {
        let path = outputs::further(output.unwrap_or(Path::new("")), further.len() + 2);
        let sink = further_file(&path, input.path())?;
        further.push(path);
        Ok(sink)
    };
    let hidden = ProgressBar::hidden();
    let next: NextFile<'_> = if spool.is_some() { None } else { Some(&mut next) };
    let mut converted = convert(opened, &input, identity, to, (sink, next), &options, &hidden)?;
    if let Some(spool) = spool {
        if !converted.report.further_sessions.is_empty() {
            return Err(CommandError::SeveralDocuments(input.name()));
        }
        spool.pass_on()?;
    } else if output.is_none() && !converted.report.further_sessions.is_empty() {
        talk.say(SESSIONS_FOLLOW);
    }
    converted.output = output.map(Path::to_owned);
    converted.further_outputs = further;
    talk.say(&render::converted(&converted, talk.verbose));
    if let Some(cuts) = &options.cuts {
        talk.say(&verify::told_cuts(cuts));
    }
    account.add(&converted);
    let written = files_of(&converted);
    let summary = account.end()?;
    if let Some(path) = output.filter(|_| args.verify) {
        let compared = verify::compare((&input, &identity), to, &written, &options, &args.source)?;
        talk.say(&verify::came_along(&compared));
        if !compared.is_whole() {
            return Err(CommandError::Incomplete(path.to_owned(), verify::came_along(&compared)));
        }
    }
    Ok(summary)
}

/// The files of all sessions of an input, in their order.
fn files_of(converted: &Converted) -> Vec<PathBuf> {
    converted.output.iter().chain(&converted.further_outputs).cloned().collect()
}

/// The input, as a copy if it is read several times for a comparison or a budget: its agent may go on writing.
fn steady(input: InputPlace, args: &Convert) -> Result<InputPlace, CommandError> {
    if !args.verify && args.carry.budget.is_none() {
        return Ok(input);
    }
    Ok(input.snapshot(OpenLine::Kept)?)
}

/// An input that another program still writes. The next signal ends it.
pub(crate) fn followed(path: &Path) -> InputPlace {
    let (input, end) = FollowedInput::new(path);
    stop::end_instead(end);
    InputPlace::Followed(input)
}

/// Message for several sessions on stdout.
const SESSIONS_FOLLOW: &str =
    "several sessions follow one another on stdout; `-o FILE` or `-o DIR/` writes a file for each\n";

pub(crate) fn is_record(dialect: &Dialect) -> bool {
    [record::DIALECT.name, record_v2::DIALECT.name].contains(&dialect.name)
}

/// Opens the file for a session after the first. Only the first session gets the file name that the user gave, so an
/// existing file of another name is kept unless its content is the same.
pub(crate) fn further_file(path: &Path, source: Option<&Path>) -> Result<Sink, CommandError> {
    if path.exists() { Sink::again(path) } else { Sink::file(path, source) }
}

/// Converts many files into a directory, with as many jobs as the flags ask for.
fn many(inputs: &[PathBuf], output: &Path, args: &Convert, talk: &Talk) -> Result<RunSummary, CommandError> {
    if looks_like_a_file(output) {
        return Err(CommandError::FileForSeveral(output.to_owned()));
    }
    let folders = output_directory(output, args)?;
    let mut found = sessions::find(inputs, Some(output));
    if !keeps_joined(args) {
        found.separate();
    }
    let (there, earlier) = leave_outputs(&mut found, output, args);
    let FoundFiles { files, skipped, failed, .. } = found;
    let skipped = of_sources(skipped).into_iter().chain(there).collect();
    let read = files.iter().filter_map(|file| file.input.path());
    let read: Vec<&Path> = read.chain(args.backend.backends.as_deref()).collect();
    outputs::check_places(report_place(args).as_slice(), &read)?;
    let taken = Taken::new(&files, args.report.as_deref());
    outputs::open_files().expect(files.len());
    let mut account = RunAccount::begin(args)?;
    (account.summary.skipped, account.summary.failed) = (skipped, of_sources(failed));
    let bar = progress(&files, talk);
    let work = |file: &FoundFile| one_of_many(file, (output, &folders), (&taken, &earlier), args, &bar);
    jobs::each(&files, &args.bulk, work, |file, result| match result {
        Ok(converted) => {
            if talk.verbose {
                bar.suspend(|| talk.say(&render::converted_line(&converted)));
            }
            account.add(&converted);
        }
        Err(error) => account.leave_out(file, error),
    });
    bar.finish_and_clear();
    tell(&account.summary, talk);
    account.end()
}

/// Leaves out inputs that an earlier run seems to have written to this very directory: they would be converted again under
/// another name, and the next time again. Returns them with the reason, and their places: such a file may be something else,
/// and is never replaced by anything else.
fn leave_outputs(
    found: &mut FoundFiles,
    output: &Path,
    args: &Convert,
) -> (Vec<(String, CommandError)>, HashSet<FilePlace>) {
    let to = args.target();
    let (mut skipped, mut earlier) = (Vec::new(), HashSet::new());
    let mut outputs = HashSet::new();
    for file in &found.files {
        for spec in to.roles {
            let mut name = file.base.clone().into_os_string();
            name.push(format!(".{}.{}", to.name, args.extension(spec.framing)));
            outputs.insert(FilePlace::of(&output.join(name)));
        }
    }
    for file in std::mem::take(&mut found.files) {
        let is_called_so = file.input.path().is_some_and(|path| outputs.contains(&FilePlace::of(path)));
        // A log that is only called so is an input, and stays.
        let is_one = || file.input.open(sessions::MOST_UNPACKED).is_ok_and(|opened| opened.looks_like(to));
        if is_called_so && !file.named && is_one() {
            earlier.extend(file.input.path().map(FilePlace::of));
            skipped.push((file.input.name(), CommandError::IsThere));
        } else {
            found.files.push(file);
        }
    }
    (skipped, earlier)
}

/// The progress of a run.
pub(crate) struct RunAccount<'a> {
    args: &'a Convert,
    policy: LossPolicy,
    pub(crate) summary: RunSummary,
    report: Option<ReportWriter<Sink>>,
}

impl<'a> RunAccount<'a> {
    /// Opens the report if the flags ask for a report. The report path has been checked already.
    pub(crate) fn begin(args: &'a Convert) -> Result<Self, CommandError> {
        let open = |_: &PathBuf| match report_file(args) {
            None => Ok(Sink::stdout()),
            Some(path) => Sink::private(path),
        };
        let report = args.report.as_ref().map(open).transpose()?;
        let strict = if args.strict { LossPolicy::strict() } else { LossPolicy::default() };
        Ok(Self {
            args,
            policy: strict.and(args.policy.clone().unwrap_or_default()),
            summary: Summary::default(),
            report: report.map(|sink| ReportWriter::new("convert", sink)),
        })
    }

    pub(crate) fn add(&mut self, file: &Converted) {
        // The loss policy applies to requests and responses, and to logs only if `--policy` is given.
        let judges = self.args.policy.is_some() || file.to.0.plane == Plane::Wire;
        self.summary.add(file, judges.then_some(&self.policy));
        if let Some(report) = &mut self.report {
            report.converted(file);
        }
    }

    /// Adds an input without an output.
    pub(crate) fn leave_out(&mut self, file: &FoundFile, error: CommandError) {
        let is_there = matches!(error, CommandError::Exists(_));
        let skipped = is_there || (error.is_skip() && !file.named);
        let list = if skipped { &mut self.summary.skipped } else { &mut self.summary.failed };
        list.push((file.input.name(), error));
    }

    pub(crate) fn end(self) -> Result<RunSummary, CommandError> {
        let Self { summary, report, .. } = self;
        if let Some(report) = report {
            report.finish(&summary.skipped, Some(&summary)).finish()?;
        }
        Ok(summary)
    }
}

/// The path of the report if it is a file, including a file that stdout is redirected to.
pub(crate) fn report_place(args: &Convert) -> Option<&Path> {
    match args.report.as_deref() {
        Some(path) if path == Path::new("-") => outputs::stdout_file(),
        path => path,
    }
}

/// The file named by `--report`, unless the report goes to stdout.
pub(crate) fn report_file(args: &Convert) -> Option<&Path> {
    args.report.as_deref().filter(|path| *path != Path::new("-"))
}

pub(crate) fn tell(summary: &RunSummary, talk: &Talk) {
    if summary.files == 0 && summary.skipped.is_empty() && summary.failed.is_empty() {
        // No input was found; the caller reports the error.
        return;
    }
    talk.say(&render::summary(summary, talk.verbose));
    talk.errors(&summary.failed);
}

/// Prepares the directory for outputs. A directory created here is removed at the end if it is still empty.
pub(crate) fn output_directory(path: &Path, args: &Convert) -> Result<NewFolders, CommandError> {
    if path.exists() && !path.is_dir() {
        return Err(CommandError::NotADirectory(path.to_owned()));
    }
    let folders = NewFolders::default();
    // The report is opened before the first output, so its directory must exist now.
    if report_file(args).is_some_and(|report| report.starts_with(path)) {
        folders.make(path)?;
    }
    Ok(folders)
}

/// Whether a path that does not exist yet has a file name extension.
fn looks_like_a_file(path: &Path) -> bool {
    let ends = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    !path.exists() && !is_directory(path) && ends.is_some_and(|end| FILE_ENDS.contains(&end.as_str()))
}

/// Extensions of files that this command writes or that users commonly ask for.
const FILE_ENDS: [&str; 11] =
    ["acr", "json", "jsonl", "ndjson", "sse", "txt", "log", "md", "html", "gz", "zst"];

/// Whether the target can hold joined sessions. A log holds one session, so joined sessions become separate logs.
fn keeps_joined(args: &Convert) -> bool {
    args.target().plane != Plane::Log && args.target().name != record_v2::DIALECT.name
}

/// Converts one input to a file. `told` holds the usage of responses that the parent record already counts.
pub(crate) fn convert_file(
    input: &InputPlace,
    output: &Path,
    told: Vec<(String, Usage)>,
    args: &Convert,
) -> Result<Converted, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    let from = opened.identify(&input.name(), &args.source.hints())?;
    let no_role = CommandError::NoTargetRole(args.target(), from.spec.role);
    let role = args.target().role_for(from.spec.role).ok_or(no_role)?;
    let options =
        conversion_options((&opened, input), &from, (args.target(), role), args)?.with_told_responses(told);
    convert(
        opened,
        input,
        from,
        (args.target(), role),
        (Sink::file(output, input.path())?, None),
        &options,
        &ProgressBar::hidden(),
    )
}

fn one_of_many(
    file: &FoundFile,
    (output, folders): (&Path, &NewFolders),
    (taken, earlier): (&Taken, &HashSet<FilePlace>),
    args: &Convert,
    bar: &ProgressBar,
) -> Result<Converted, CommandError> {
    let name = file.input.name();
    let input = steady(file.input.clone(), args)?;
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&name, &args.source.hints())?;
    let role = args
        .target()
        .role_for(identity.spec.role)
        .ok_or(CommandError::NoTargetRole(args.target(), identity.spec.role))?;
    let framing = args.target().role(role).map_or(identity.spec.framing, |spec| spec.framing);
    let extension = args.extension(framing);
    let path = taken.claim(output, &file.base, args.target().name, extension);
    if args.skip_existing && path.exists() {
        return Err(CommandError::Exists(path));
    }
    if let Some(parent) = path.parent() {
        folders.make(parent)?;
    }
    let open = |path: &Path| {
        if earlier.contains(&FilePlace::of(path)) {
            Sink::again(path)
        } else {
            Sink::file(path, input.path())
        }
    };
    let sink = open(&path)?.encoded(args.tag())?;
    let mut further = Vec::new();
    let mut next = || {
        let path = taken.claim(output, &file.base, args.target().name, extension);
        let sink = open(&path)?;
        further.push(path);
        Ok(sink)
    };
    // The bar counts bytes on disk, so a compressed file is added as a whole when it is done.
    let (shown, at_the_end) =
        if opened.is_packed() { (&ProgressBar::hidden(), file.bytes) } else { (bar, 0) };
    let to = (args.target(), role);
    let options = conversion_options((&opened, &input), &identity, to, args)?;
    let mut converted = convert(opened, &input, identity, to, (sink, Some(&mut next)), &options, shown)?;
    bar.inc(at_the_end);
    converted.output = Some(path.clone());
    converted.further_outputs = further;
    if args.verify {
        let written = files_of(&converted);
        let compared = verify::compare((&input, &identity), to, &written, &options, &args.source)?;
        if !compared.is_whole() {
            return Err(CommandError::Incomplete(path, verify::came_along(&compared)));
        }
    }
    Ok(converted)
}

fn conversion_options(
    (opened, input): (&Opened, &InputPlace),
    from: &Identified,
    to: (&'static Dialect, Role),
    args: &Convert,
) -> Result<Options, CommandError> {
    if (args.carry.map_tools || args.carry.budget.is_some()) && from.dialect.name == to.0.name {
        let error = format!("{} is a log of `{}` already and is copied unchanged", input.name(), to.0.name);
        let hint = "leave out `--map-tools` and `--budget`, or name another dialect".to_owned();
        return Err(CommandError::Usage(error, Some(hint)));
    }
    if (args.carry.budget.is_some() || args.verify) && !input.opens_again() {
        let error = "`--budget` and `--verify` read the input twice, and stdin can be read once".to_owned();
        return Err(CommandError::Usage(error, Some("name a file".to_owned())));
    }
    let outline = outline((opened, input), from, to, &args.source)?;
    Ok(options(&args.source)
        .with_map_tools(args.carry.map_tools)
        .with_cuts(verify::cuts((input, from), outline.as_ref(), (&args.carry, &args.source))?)
        .with_outline(outline)
        .with_include_raw(args.raw)
        .with_seed_schema(args.seed_schema)
        .with_source_name(input.stem())
        .with_source_place(input.place())
        .with_backend(backends::chosen(&args.backend, to.0)?)
        .with_model(args.model.clone())
        .with_now(now())
        .with_whole(!matches!(input, InputPlace::Stdin | InputPlace::Followed(_))))
}

/// Opens the file of each session after the first, if the sessions of an input go to separate files.
pub(crate) type NextFile<'n> = Option<&'n mut dyn FnMut() -> Result<Sink, CommandError>>;

pub(crate) fn convert(
    opened: Opened,
    input: &InputPlace,
    from: Identified,
    to: (&'static Dialect, Role),
    (mut sink, next): (Sink, NextFile<'_>),
    options: &Options,
    bar: &ProgressBar,
) -> Result<Converted, CommandError> {
    let pipe = Pipe::new((from.dialect, from.spec.role), to, options);
    let mut pipe = pipe.map_err(|_| CommandError::NoTargetRole(to.0, from.spec.role))?;
    let is_copy = pipe.is_copy();
    let converted = |report| {
        let mut converted = Converted::new(input.name(), from, to, report);
        converted.is_copy = is_copy;
        converted
    };
    // Lines over the frame limit are not parsed, but they are carried over.
    let carried = |report: &Report| {
        report.kept > 0 && report.problems.iter().any(|problem| problem.code == Code::TooLarge)
    };
    let nothing_read = |converted: &Converted| {
        !converted.is_copy && converted.report.read == 0 && !carried(&converted.report)
    };
    let refuse = || {
        Err(CommandError::NothingRead {
            name: input.name(),
            dialect: from.dialect,
            looks_like: from.looks_like,
        })
    };

    let finish = |sink: Sink, converted: &Converted| match next {
        Some(next) => sink.finish_apart(&converted.report.further_sessions, next),
        None => sink.finish(),
    };

    if let Some(bytes) = opened.whole() {
        // The input is small: convert it in memory and check the result before any byte is written.
        let mut out = Vec::new();
        pipe.push(bytes, &mut out);
        let converted = converted(pipe.finish(&mut out));
        if nothing_read(&converted) {
            return refuse();
        }
        interlingua::json::Output::write(&mut sink, &out);
        bar.inc(bytes.len() as u64);
        finish(sink, &converted)?;
        return Ok(converted);
    }
    let failed = |error| CommandError::Read(input.name(), error);
    opened.each(failed, |bytes| {
        pipe.push(bytes, &mut sink);
        // Input from a pipe may pause here, so flush the output first.
        sink.flush();
        bar.inc(bytes.len() as u64);
        sink.take_error()
    })?;
    let converted = converted(pipe.finish(&mut sink));
    if nothing_read(&converted) {
        return refuse();
    }
    finish(sink, &converted)?;
    Ok(converted)
}

/// Reads the source a first time to build the outline of its history, if the target is a log of another agent. An input
/// that can be read only once has no outline.
pub(crate) fn outline(
    (opened, input): (&Opened, &InputPlace),
    from: &Identified,
    to: (&'static Dialect, Role),
    source: &SourceFlags,
) -> Result<Option<Arc<Outline>>, CommandError> {
    let is_log = to.0.plane == Plane::Log && to.1 == Role::Log;
    if !is_log || to.0.name == from.dialect.name || !(opened.whole().is_some() || input.opens_again()) {
        return Ok(None);
    }
    let Ok(mut first) = OutlineReader::new((from.dialect, from.spec.role), &options(source)) else {
        return Ok(None);
    };
    if let Some(bytes) = opened.whole() {
        first.push(bytes);
    } else {
        let failed = |error| CommandError::Read(input.name(), error);
        input.open(source.max_unpacked)?.each(failed, |bytes| {
            first.push(bytes);
            Ok(())
        })?;
    }
    Ok(Some(Arc::new(first.finish())))
}

/// The current time in milliseconds since 1970.
pub(crate) fn now() -> Option<u64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

pub(crate) fn options(source: &SourceFlags) -> Options {
    Options::default().with_limits(Limits { bytes: source.max_frame, ..Limits::default() })
}

fn progress(found: &[FoundFile], talk: &Talk) -> ProgressBar {
    if !talk.is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(found.iter().map(|file| file.bytes).sum());
    let style =
        ProgressStyle::with_template("{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left");
    // The template is a constant; if it is invalid, the default bar is used.
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    talk::draws(&bar);
    bar
}

fn is_several(path: &Path) -> bool {
    is_directory(path) || sessions::is_pattern(path) || sessions::is_store(path)
}

fn is_directory(path: &Path) -> bool {
    // A path that ends in a separator is a directory, even if the directory does not exist yet.
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
}
