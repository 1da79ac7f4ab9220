//! `convert`: one input to one output, or many files to a directory, in parallel.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use indicatif::{ProgressBar, ProgressStyle};
use interlingua::dialects::ours::{record, record_v2};
use interlingua::dialects::{Dialect, Options, Plane, Role, RoleSpec};
use interlingua::error::Code;
use interlingua::ledger::{LossPolicy, Report};
use interlingua::log::{Outline, OutlineReader};
use interlingua::model::Usage;
use interlingua::pipe::Pipe;
use interlingua::sniff::{Detection, Guess};
use interlingua::tape::Limits;

use crate::backends;
use crate::error::{CommandError, Exit};
use crate::flags::{Convert, SourceFlags};
use crate::outputs::{self, FilePlace, NewFolders, Sink, Taken};
use crate::report::ReportWriter;
use crate::show::safe;
use crate::sources::{self, FoundFile, FoundFiles, InputPlace, Opened};
use crate::stores;
use crate::summary::Summary;
use crate::talk::{self, Talk};
use crate::{globs, jobs, joined, render};

/// The dialect and role of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identified {
    pub(crate) dialect: &'static Dialect,
    pub(crate) spec: &'static RoleSpec,
    pub(crate) how: How,
    /// The dialect that detection finds, if it differs from the dialect named by the user.
    pub(crate) looks_like: Option<&'static Dialect>,
}

/// How the dialect was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Detected,
    Named,
}

/// The result of converting one file.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) name: String,
    pub(crate) output: Option<PathBuf>,
    pub(crate) from: Identified,
    pub(crate) to: (&'static Dialect, Role),
    /// Source and target dialect are the same: the bytes were copied without parsing.
    pub(crate) is_copy: bool,
    pub(crate) report: Report,
}

impl Converted {
    /// Whether the output of a conversation role holds no content of the conversation and no kept source lines.
    pub(crate) fn has_no_content(&self) -> bool {
        let is_about_one = match self.to.1 {
            Role::Request | Role::Response | Role::Stream | Role::Live | Role::Log => true,
            Role::Count | Role::Counted | Role::Models | Role::Input => false,
        };
        is_about_one && !self.is_copy && self.report.content.is_empty() && self.report.kept == 0
    }
}

pub(crate) fn run(args: &Convert, talk: &Talk) -> Result<Exit, CommandError> {
    let stdin = [PathBuf::from("-")];
    let inputs = if args.inputs.is_empty() { &stdin[..] } else { &args.inputs[..] };
    // `-` as output means stdout, as `-` as input means stdin.
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    sources::check_patterns(inputs)?;
    if args.report.as_deref() == Some(Path::new("-")) && output.is_none() {
        return Err(CommandError::StdoutTwice);
    }
    let summary = match (inputs, output) {
        (_, Some(output)) if args.join => joined::join(inputs, output, is_directory(output), args, talk)?,
        (_, None) if args.join => return Err(CommandError::NeedsOutput),
        ([one], output) if !is_several(one) && !output.is_some_and(is_directory) => {
            if !keeps_joined(args) && joined::is_joined(one) {
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
        return Ok(Exit::Unreadable);
    }
    let is_there = |(_, error): &(String, CommandError)| matches!(error, CommandError::Exists(_));
    if summary.files == 0 && !summary.skipped.iter().any(is_there) {
        return Err(CommandError::NothingRecognised(summary.skipped.len()));
    }
    if let Some(refusal) = summary.refusal {
        return Err(CommandError::Refused(refusal));
    }
    let strict_failure = args.strict && summary.unsound;
    if strict_failure {
        Talk::always(&render::strict(&summary));
    }
    Ok(if strict_failure { Exit::Failed } else { Exit::Done })
}

/// Converts one input to a file or to stdout.
fn single(path: &Path, output: Option<&Path>, args: &Convert, talk: &Talk) -> Result<Summary, CommandError> {
    let input = InputPlace::of(path);
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
    let opened = input.open_live(&args.source)?;
    let identity = identify(&opened, &input.name(), &args.source)?;
    talk.say(&render::reading(&input.name(), &identity));
    let role = args
        .target()
        .role_for(identity.spec.role)
        .ok_or(CommandError::NoTargetRole(args.target(), identity.spec.role))?;
    let to = (args.target(), role);
    // If stdout is a file named `.json`, the output must be a single record. It is spooled until the number of records
    // is known.
    let is_document = output.is_none() && is_record(to.0) && outputs::stdout_is_named_json();
    let spool = is_document.then(outputs::Spool::new).transpose()?;
    let sink = match (output, &spool) {
        (Some(path), _) => Sink::file(path, input.path())?,
        (None, Some(spool)) => spool.sink()?,
        (None, None) => Sink::stdout_for_data(),
    };
    let options = conversion_options((&opened, &input), &identity, to, args)?;
    let mut account = RunAccount::begin(args)?;
    let mut number = 1;
    let mut next = || {
        number += 1;
        further_file(&outputs::further(output.unwrap_or(Path::new("")), number), input.path())
    };
    let hidden = ProgressBar::hidden();
    let next: NextFile<'_> = if spool.is_some() { None } else { Some(&mut next) };
    let converted = convert(opened, &input, identity, to, (sink, next), &options, &hidden)?;
    if let Some(spool) = spool {
        if record::has_several(&converted.report) {
            return Err(CommandError::SeveralRecords(input.name()));
        }
        spool.pass_on()?;
    } else if output.is_none() && record::has_several(&converted.report) {
        talk.say(RECORDS_FOLLOW);
    }
    let converted = Converted { output: output.map(Path::to_owned), ..converted };
    talk.say(&render::converted(&converted, talk.verbose));
    account.add(&converted);
    account.end()
}

/// Message for several records on stdout.
const RECORDS_FOLLOW: &str =
    "several records follow one another on stdout; `-o FILE` or `-o DIR/` writes a file for each\n";

fn is_record(dialect: &Dialect) -> bool {
    [record::DIALECT.name, record_v2::DIALECT.name].contains(&dialect.name)
}

/// Opens the file for a record after the first. Only the first record gets the file name that the user gave, so an
/// existing file of another name is kept unless its content is the same.
pub(crate) fn further_file(path: &Path, source: Option<&Path>) -> Result<Sink, CommandError> {
    if path.exists() { Sink::again(path) } else { Sink::file(path, source) }
}

/// Converts many files into a directory, with as many jobs as the flags ask for.
fn many(inputs: &[PathBuf], output: &Path, args: &Convert, talk: &Talk) -> Result<Summary, CommandError> {
    if looks_like_a_file(output) {
        return Err(CommandError::FileForSeveral(output.to_owned()));
    }
    let folders = output_directory(output, args)?;
    let mut found = sources::find(inputs, Some(output));
    if !keeps_joined(args) {
        found.separate();
    }
    found.leave_outputs(output, args.target());
    let FoundFiles { files, skipped, failed, earlier, .. } = found;
    let read = files.iter().filter_map(|file| file.input.path());
    let read: Vec<&Path> = read.chain(args.backend.backends.as_deref()).collect();
    outputs::check_places(report_place(args).as_slice(), &read)?;
    let taken = Taken::new(&files, args.report.as_deref());
    outputs::open_files().expect(files.len());
    let mut account = RunAccount::begin(args)?;
    account.summary = Summary { skipped, failed, ..Summary::default() };
    let bar = progress(&files, talk);
    let work = |file: &FoundFile| one_of_many(file, (output, &folders), (&taken, &earlier), args, &bar);
    jobs::each(&files, &args.bulk, work, |file, result| match result {
        Ok(converted) => {
            if talk.verbose {
                bar.suspend(|| talk.say(&render::converted_line(&converted)));
            }
            account.add(&converted);
        }
        Err(error) => account.summary.leave_out(file, error),
    });
    bar.finish_and_clear();
    tell(&account.summary, talk);
    account.end()
}

/// The progress messages, report and summary of a run.
pub(crate) struct RunAccount<'a> {
    args: &'a Convert,
    policy: LossPolicy,
    pub(crate) summary: Summary,
    report: Option<ReportWriter>,
}

impl<'a> RunAccount<'a> {
    /// Opens the report if the flags ask for a report. The report path has been checked already.
    pub(crate) fn begin(args: &'a Convert) -> Result<Self, CommandError> {
        let open = |_: &PathBuf| ReportWriter::new("convert", report_file(args));
        let strict = if args.strict { LossPolicy::strict() } else { LossPolicy::default() };
        Ok(Self {
            args,
            policy: strict.and(args.policy.clone().unwrap_or_default()),
            summary: Summary::default(),
            report: args.report.as_ref().map(open).transpose()?,
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

    pub(crate) fn end(self) -> Result<Summary, CommandError> {
        let Self { summary, report, .. } = self;
        if let Some(report) = report {
            report.finish(&summary.skipped, Some(&summary))?;
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

pub(crate) fn tell(summary: &Summary, talk: &Talk) {
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
const FILE_ENDS: [&str; 10] = ["json", "jsonl", "ndjson", "sse", "txt", "log", "md", "html", "gz", "zst"];

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
    let from = identify(&opened, &input.name(), &args.source)?;
    let no_role = CommandError::NoTargetRole(args.target(), from.spec.role);
    let role = args.target().role_for(from.spec.role).ok_or(no_role)?;
    let options = Options {
        told_responses: told,
        ..conversion_options((&opened, input), &from, (args.target(), role), args)?
    };
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
    let opened = file.input.open(args.source.max_unpacked)?;
    let identity = identify(&opened, &name, &args.source)?;
    let role = args
        .target()
        .role_for(identity.spec.role)
        .ok_or(CommandError::NoTargetRole(args.target(), identity.spec.role))?;
    let framing = args.target().role(role).map_or(identity.spec.framing, |spec| spec.framing);
    let path = taken.claim(output, &file.base, args.target().name, framing);
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
            Sink::file(path, file.input.path())
        }
    };
    let sink = open(&path)?;
    let mut next = || open(&taken.claim(output, &file.base, args.target().name, framing));
    // The bar counts bytes on disk, so a compressed file is added as a whole when it is done.
    let (shown, at_the_end) =
        if opened.is_packed() { (&ProgressBar::hidden(), file.bytes) } else { (bar, 0) };
    let to = (args.target(), role);
    let options = conversion_options((&opened, &file.input), &identity, to, args)?;
    let converted = convert(opened, &file.input, identity, to, (sink, Some(&mut next)), &options, shown)?;
    bar.inc(at_the_end);
    Ok(Converted { output: Some(path), ..converted })
}

fn conversion_options(
    (opened, input): (&Opened, &InputPlace),
    from: &Identified,
    to: (&'static Dialect, Role),
    args: &Convert,
) -> Result<Options, CommandError> {
    Ok(Options {
        outline: outline((opened, input), from, to, &args.source)?,
        include_raw: args.raw,
        source_name: input.stem(),
        source_place: input.place(),
        backend: backends::chosen(&args.backend, to.0)?,
        model: args.model.clone(),
        now: now(),
        whole: !matches!(input, InputPlace::Stdin),
        ..options(&args.source)
    })
}

/// Opens the file of each record after the first, if the records of an input go to separate files.
type NextFile<'n> = Option<&'n mut dyn FnMut() -> Result<Sink, CommandError>>;

fn convert(
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
    let converted = |report| Converted { name: input.name(), output: None, from, to, is_copy, report };
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
        Some(next) if record::has_several(&converted.report) => sink.finish_apart(next),
        _ => sink.finish(),
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
fn outline(
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
fn now() -> Option<u64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

pub(crate) fn options(source: &SourceFlags) -> Options {
    Options { limits: Limits { bytes: source.max_frame, ..Limits::default() }, ..Options::default() }
}

/// The dialect and role of the input: from the flags, or detected.
pub(crate) fn identify(opened: &Opened, name: &str, flags: &SourceFlags) -> Result<Identified, CommandError> {
    if opened.is_blank() {
        return Err(CommandError::Empty(name.to_owned()));
    }
    let detection = match flags.from {
        Some(dialect) => opened.candidates.decide_for(dialect),
        None => opened.candidates.decide(),
    };
    let (dialect, how, guess) = match (flags.from, detection) {
        (None, Detection::Clear(guess)) => (guess.dialect, How::Detected, Some(guess)),
        (Some(dialect), Detection::Clear(guess)) => (dialect, How::Named, Some(guess)),
        (Some(dialect), Detection::Unknown) => (dialect, How::Named, None),
        (None, Detection::Unknown) => return Err(opened.undetected(name)),
        (from, Detection::Unclear(close)) => {
            // `--from` or `--role` may settle an ambiguous detection.
            let fits = |guess: &&Guess| flags.role.is_none_or(|role| role == guess.role);
            match (from, &close.iter().filter(fits).collect::<Vec<_>>()[..]) {
                (Some(dialect), [guess]) => (dialect, How::Named, Some(**guess)),
                (None, [guess]) if close.len() > 1 => (guess.dialect, How::Detected, Some(**guess)),
                (Some(dialect), _) if flags.role.is_some() => (dialect, How::Named, None),
                _ => return Err(CommandError::Unclear { name: name.to_owned(), close }),
            }
        }
    };
    let looks_like = match opened.candidates.decide() {
        Detection::Clear(best) if guess.is_none() => Some(best.dialect),
        Detection::Clear(_) | Detection::Unclear(_) | Detection::Unknown => None,
    };
    let mut readable = dialect.roles.iter().filter(|spec| spec.read.is_some());
    let spec = match (flags.role, guess) {
        (Some(role), _) => {
            let spec = readable.find(|spec| spec.role == role);
            spec.ok_or(CommandError::CannotRead(dialect, role))?
        }
        (None, Some(guess)) => {
            let spec = readable.find(|spec| spec.role == guess.role);
            spec.ok_or(CommandError::CannotRead(dialect, guess.role))?
        }
        (None, None) => {
            let only = readable.next().filter(|_| readable.next().is_none());
            let unclear = || CommandError::UnclearRole { name: name.to_owned(), dialect, looks_like };
            only.ok_or_else(unclear)?
        }
    };
    Ok(Identified { dialect, spec, how, looks_like })
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
    is_directory(path) || globs::pattern(path).is_some() || stores::is_store(path)
}

fn is_directory(path: &Path) -> bool {
    // A path that ends in a separator is a directory, even if the directory does not exist yet.
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
}
