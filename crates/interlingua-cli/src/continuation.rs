//! `continue`: a session of one agent, carried on in another.

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::ProgressBar;
use interlingua::dialects::{Dialect, Role};
use interlingua::json::Str;
use interlingua_library::carry::{SUCCESSORS, new_id};
use interlingua_library::{CarriedSession, Comparison, Environment, NewSession, Successor, SuccessorPlace};
use interlingua_report::json::document;
use interlingua_report::render::plural;
use interlingua_report::{Identified, render, safe};
use interlingua_sessions::{InputPlace, OpenLine, PrivateFolder};

use crate::child;
use crate::convert::{self, now, options, outline};
use crate::error::{CommandError, Exit};
use crate::flags::{CarryFlags, SourceFlags, TalkFlags};
use crate::list::{self, Choice};
use crate::outputs::Sink;
use crate::serve;
use crate::stop;
use crate::talk::{self, Talk};
use crate::verify;

/// Carry a session on in another agent
///
/// The session is converted, compared with its source, and put where the other agent looks for it. The source is never
/// changed. Again later, the new part of the source comes along; a session that has gone on in the other agent is never
/// overwritten.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct Continue {
    /// The session: the beginning of its id, `latest`, `latest:AGENT` or a file; without it, a list to choose from
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<PathBuf>,

    /// The agent that goes on
    #[arg(long = "in", value_name = "AGENT", value_parser = agents(), required = true)]
    agent: String,

    /// The directory where it goes on (default: the directory of the session, if it exists here; else this directory)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Start the agent with the session
    #[arg(long, conflicts_with_all = ["dry_run", "undo"])]
    run: bool,

    /// The model for the agent
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Show what comes along, and write nothing
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,

    /// Print the new session, its commands and the comparison as JSON
    #[arg(long, conflicts_with_all = ["run", "undo"])]
    json: bool,

    /// Remove the sessions that were made of this session for the agent
    #[arg(long)]
    undo: bool,

    #[command(flatten)]
    carry: CarryFlags,

    #[command(flatten)]
    source: SourceFlags,

    #[command(flatten)]
    pub(crate) talk: TalkFlags,
}

fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(SUCCESSORS.iter().flat_map(|agent| {
        // `claude` is a name of `claude-code`, but `kimi` may be either of two programs.
        let short = Successor::named(agent.program).filter(|named| named.dialect == agent.dialect);
        short.map(|_| agent.program).into_iter().filter(|name| *name != agent.dialect).chain([agent.dialect])
    }))
}

pub(crate) fn run(args: &Continue, talk: &Talk) -> Result<Exit, CommandError> {
    let Some(agent) = Successor::named(&args.agent) else {
        return Err(CommandError::Usage(format!("no agent `{}` goes on with sessions", args.agent), None));
    };
    if args.model.is_some() && agent.model_flag.is_none() {
        let text = format!("`{}` has no flag for a model when it goes on with a session", agent.program);
        let hint = "leave out `--model`, and choose the model in the agent".to_owned();
        return Err(CommandError::Usage(text, Some(hint)));
    }
    if args.run && child::on_path(agent.program).is_none() {
        return Err(CommandError::NoSuccessor(agent));
    }
    let path = match &args.session {
        Some(path) => path.clone(),
        None => chosen(agent, talk)?,
    };
    let path =
        std::path::absolute(&path).map_err(|error| CommandError::Read(safe::path_name(&path), error))?;
    let environment = Environment::of_process();
    if args.undo {
        return undo(&path, agent, &environment, talk);
    }
    let source = Source::open(&path, args)?;
    if let InputPlace::Snapshot(copy) = &source.input
        && copy.open_line() > 0
    {
        let bytes = plural(copy.open_line(), "byte");
        talk.say(&format!("left out: the last line of the source, which has no end so far ({bytes})\n"));
    }
    let cwd = directory(args, &source, talk)?;
    if source.identity.dialect.name == agent.dialect {
        let name = agent.dialect;
        let hint = "the agent's own command resumes it".to_owned();
        return Err(CommandError::Usage(format!("the session is one of `{name}` already"), Some(hint)));
    }
    let carrying = Carrying { source, agent, environment: &environment, cwd: &cwd };
    let (uuid, earlier) = carrying.free_id(talk)?;
    let new = NewSession { environment: &environment, uuid: &uuid, cwd: &cwd, now: now().unwrap_or(0) };
    let placement = agent.place(&new).ok_or_else(no_home)?;
    let folder = PrivateFolder::new().map_err(CommandError::Output)?;
    let written = folder.numbered(1);
    let comparison = carrying.write(&placement, &written, args, talk)?;
    if args.dry_run {
        talk.say("nothing was written\n");
        return Ok(Exit::Done);
    }
    let put = placement.put(&written, &new, (&path, agent), earlier.as_ref());
    let carried = put.map_err(CommandError::Carry)?;
    if !carried.is_unchanged() {
        let error = io::Error::other("the file is not as it was written");
        return Err(CommandError::Read(safe::path_name(&carried.file), error));
    }
    talk.say(&format!("{} is written to {}\n", carried.id, safe::path_name(&carried.file)));
    let mut placement = placement;
    replace_path(&mut placement, &carried.file);
    if let (Some(model), Some(flag)) = (&args.model, agent.model_flag) {
        placement.resume.extend([flag.into(), model.into()]);
    }
    if args.json {
        return talk::data(to_json(agent, &placement, (&carried, &cwd), &comparison).as_bytes());
    }
    // The agent may run for hours.
    drop((folder, carrying));
    if args.run { start(agent, &placement, &cwd, talk) } else { print_commands(agent, &placement, &cwd) }
}

/// A session that is carried on.
struct Source {
    input: InputPlace,
    identity: Identified,
    /// The directory in the log.
    cwd: Option<String>,
    /// The id in the log.
    id: Option<String>,
    /// The number of sessions that are joined to this session in its record.
    joined: usize,
}

impl Source {
    fn open(path: &Path, args: &Continue) -> Result<Self, CommandError> {
        let (input, joined) = InputPlace::of(path).first_session()?;
        // The session is read several times, and its agent may go on writing.
        let input = input.snapshot(OpenLine::LeftOut)?;
        let opened = input.open(args.source.max_unpacked)?;
        let identity = opened.identify(&input.name(), &args.source.hints())?;
        let (dialect, role) = (identity.dialect, identity.spec.role);
        if !matches!(role, Role::Log | Role::Live) {
            return Err(CommandError::NoSession(input.name(), dialect, role));
        }
        let (mut cwd, mut id, mut sessions) = (None, None, 0);
        let reader = interlingua::pipe::EventReader::new((dialect, role), &options(&args.source));
        let mut reader = reader.map_err(|_| CommandError::NoSession(input.name(), dialect, role))?;
        let failed = |error| CommandError::Read(input.name(), error);
        opened.each(failed, |bytes| {
            reader.push(bytes, |event| {
                use interlingua::model::Event::{SessionStarted, SessionUpdated};
                sessions += usize::from(matches!(event, SessionStarted(_)));
                if let SessionStarted(session) | SessionUpdated(session) = event {
                    let text = |text: &Option<Str<'_>>| text.as_ref().map(|text| text.decode().into_owned());
                    cwd = cwd.take().or_else(|| text(&session.cwd));
                    id = id.take().or_else(|| text(&session.id));
                }
            });
            Ok(())
        })?;
        if sessions > 1 {
            // Agents resume one session of a file, and which one differs.
            return Err(CommandError::HoldsMany(input.name(), sessions));
        }
        Ok(Self { input, identity, cwd, id, joined })
    }
}

/// The directory where the session goes on.
fn directory(args: &Continue, source: &Source, talk: &Talk) -> Result<PathBuf, CommandError> {
    let of_session =
        || source.cwd.as_ref().map(PathBuf::from).filter(|cwd| cwd.is_absolute() && cwd.is_dir());
    let named = args.dir.clone().or_else(of_session);
    let cwd = named.clone().unwrap_or_else(|| PathBuf::from("."));
    // Agents name their folders after the real path.
    let cwd =
        std::fs::canonicalize(&cwd).map_err(|error| CommandError::Read(safe::path_name(&cwd), error))?;
    if named.is_none() {
        let reason = match &source.cwd {
            Some(of_session) => {
                format!("its directory {} is not here", safe::path_name(Path::new(of_session)))
            }
            None => "it has no directory".to_owned(),
        };
        talk.say(&format!(
            "{reason}, so the session goes on in {} (`--dir` names another)\n",
            safe::path_name(&cwd)
        ));
    }
    Ok(cwd)
}

/// A session on its way to an agent.
struct Carrying<'a> {
    source: Source,
    agent: &'static Successor,
    environment: &'a Environment,
    cwd: &'a Path,
}

impl Carrying<'_> {
    /// The id of the new session: a free one, or that of an earlier copy which has not gone on since.
    fn free_id(&self, talk: &Talk) -> Result<(String, Option<CarriedSession>), CommandError> {
        let name = self.source.input.path().map(safe::path_name).unwrap_or_default();
        let name = format!("{name}\n{}", self.source.input.stem().unwrap_or_default());
        let now = now().unwrap_or(0);
        for number in 0..u32::MAX {
            let uuid = new_id(&name, self.agent.dialect, number);
            let new = NewSession { environment: self.environment, uuid: &uuid, cwd: self.cwd, now };
            let placement = self.agent.place(&new).ok_or_else(no_home)?;
            match CarriedSession::find(self.environment, self.agent.dialect, &placement.id) {
                Some(earlier) if !earlier.has_gone_on(self.environment) => {
                    if self.agent.is_replaceable(&placement, self.environment) {
                        return Ok((uuid, Some(earlier)));
                    }
                    talk.say(&format!(
                        "{} is imported already; the session is written as a new one\n",
                        placement.id
                    ));
                }
                Some(earlier) => {
                    let place = safe::path_name(&earlier.file);
                    talk.say(&format!("{place} has gone on since; the session is written as a new one\n"));
                }
                None if self.agent.is_free(&placement, self.environment) => return Ok((uuid, None)),
                None => {}
            }
        }
        Err(CommandError::Usage("no id is free".to_owned(), None))
    }

    /// The sentence about subagents with sessions of their own: their calls and results are in the session, their sessions stay.
    fn left_behind(&self) -> String {
        let beside = self.source.input.path().map(|path| path.with_extension("").join("subagents"));
        let in_folder = beside.and_then(|folder| std::fs::read_dir(folder).ok()).map_or(0, |entries| {
            let is_log =
                |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "jsonl");
            entries.filter_map(Result::ok).filter(is_log).count()
        });
        let (known, uncounted) = match self.source.id.as_ref().map_or(Ok(0), |id| list::children(id)) {
            Ok(known) => (known, String::new()),
            Err(error) => {
                let reason = safe::one_line(&error.to_string());
                (0, format!("sessions of subagents cannot be counted: {reason}\n"))
            }
        };
        let counted = match in_folder.max(known).max(self.source.joined) {
            0 => String::new(),
            count => {
                let sessions = plural(count as u64, "session");
                format!(
                    "left in {}: {sessions} of subagents; their results come along\n",
                    self.source.identity.dialect.name
                )
            }
        };
        counted + &uncounted
    }

    /// Converts the session, reads it back, and says what comes along.
    fn write(
        &self,
        placement: &SuccessorPlace,
        written: &Path,
        args: &Continue,
        talk: &Talk,
    ) -> Result<Comparison, CommandError> {
        let Source { input, identity, .. } = &self.source;
        let dialect = Dialect::named(self.agent.dialect).unwrap_or(identity.dialect);
        let to = (dialect, Role::Log);
        let opened = input.open(args.source.max_unpacked)?;
        let outline = outline((&opened, input), identity, to, &args.source)?;
        let cuts = verify::cuts((input, identity), outline.as_ref(), (&args.carry, &args.source))?;
        let options = options(&args.source)
            .with_map_tools(args.carry.map_tools)
            .with_cuts(cuts)
            .with_outline(outline)
            .with_source_name(input.stem())
            .with_source_place(input.place())
            .with_session_id(placement.written_id.clone())
            .with_cwd(self.cwd.to_string_lossy().into_owned())
            .with_title(placement.written_title.clone())
            .with_model(args.model.clone())
            .with_now(now())
            .with_whole(true);
        let sink = Sink::private(written)?;
        let bar = ProgressBar::hidden();
        let converted = convert::convert(opened, input, *identity, to, (sink, None), &options, &bar)?;
        let copy = [written.to_owned()];
        let comparison = verify::compare((input, identity), to, &copy, &options, &args.source)?;
        let whole = || render::converted(&converted, true);
        let told = if talk.verbose { whole() } else { render::converted_briefly(&converted) };
        talk.say(&told);
        if let Some(cuts) = &options.cuts {
            talk.say(&verify::told_cuts(cuts));
        }
        talk.say(&verify::came_along(&comparison));
        talk.say(&self.left_behind());
        Ok(comparison)
    }
}

fn to_json(
    agent: &Successor,
    placement: &SuccessorPlace,
    (carried, cwd): (&CarriedSession, &Path),
    comparison: &Comparison,
) -> String {
    document(|json| {
        json.object().key("version").u64(1).key("agent").plain(agent.dialect).key("id").plain(&carried.id);
        json.key("file").plain(&carried.file.to_string_lossy());
        json.key("directory").plain(&cwd.to_string_lossy());
        json.key("commands").array();
        for arguments in placement.prepare.iter().chain([&placement.resume]) {
            json.array().plain(agent.program);
            for argument in arguments {
                json.plain(&argument.to_string_lossy());
            }
            json.end_array();
        }
        json.end_array().key("compared").object();
        let Comparison { prompts, answers, calls, results, pictures, moved, cut, of_subagents, .. } =
            comparison;
        for (name, kept) in [
            ("prompts", prompts),
            ("answers", answers),
            ("calls", calls),
            ("results", results),
            ("pictures", pictures),
        ] {
            json.key(name).object().key("all").u64(kept.all).key("kept").u64(kept.kept).end_object();
        }
        json.key("moved").u64(*moved);
        json.key("cut_results").u64(*cut).key("items_of_subagents").u64(*of_subagents);
        json.end_object().end_object();
    })
}

/// The paths in the arguments, where an earlier copy keeps its file.
fn replace_path(placement: &mut SuccessorPlace, file: &Path) {
    let planned = placement.file.clone();
    for argument in placement.resume.iter_mut().chain(placement.prepare.iter_mut().flatten()) {
        if *argument == *planned.as_os_str() {
            *argument = file.into();
        }
    }
}

/// Runs the commands of the agent, in its directory and with its terminal, until one fails.
fn start(
    agent: &Successor,
    placement: &SuccessorPlace,
    cwd: &Path,
    talk: &Talk,
) -> Result<Exit, CommandError> {
    let runtime = serve::runtime()?;
    stop::leave_to_program();
    let mut code = 0;
    for arguments in placement.prepare.iter().chain([&placement.resume]) {
        talk.say(&format!("{}\n", shell_line(agent.program, arguments)));
        let mut command = Process::new(agent.program);
        command.args(arguments).current_dir(cwd);
        let status = runtime.block_on(child::run(command)).map_err(|error| {
            let hint = "the session is written; `continue --undo` removes it".to_owned();
            CommandError::Usage(format!("`{}` does not start: {error}", agent.program), Some(hint))
        })?;
        code = child::code_of(status);
        if code != 0 {
            break;
        }
    }
    Ok(Exit::Program(code))
}

fn print_commands(agent: &Successor, placement: &SuccessorPlace, cwd: &Path) -> Result<Exit, CommandError> {
    let mut text = String::new();
    let is_here = std::env::current_dir().and_then(std::fs::canonicalize).is_ok_and(|here| here == cwd);
    if !is_here {
        text = shell_line("cd", &[cwd.into()]) + "\n";
    }
    for arguments in placement.prepare.iter().chain([&placement.resume]) {
        text += &shell_line(agent.program, arguments);
        text.push('\n');
    }
    talk::data(text.as_bytes())
}

fn shell_line(program: &str, arguments: &[OsString]) -> String {
    let words = arguments.iter().map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:@+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Removes the copies of a session in an agent.
fn undo(
    path: &Path,
    agent: &Successor,
    environment: &Environment,
    talk: &Talk,
) -> Result<Exit, CommandError> {
    let copies = CarriedSession::all(environment);
    let is_asked =
        |copy: &&CarriedSession| copy.agent == agent.dialect && (copy.source == path || copy.file == path);
    let copies: Vec<&CarriedSession> = copies.iter().filter(is_asked).collect();
    if copies.is_empty() {
        let text = format!("`{}` was not carried to `{}`", safe::path_name(path), agent.dialect);
        return Err(CommandError::Usage(text, None));
    }
    // A copy that has gone on stays, and the others are removed.
    let mut failed = None;
    for copy in copies {
        match copy.remove(environment) {
            Ok(()) => talk.say(&format!("{} is removed\n", safe::path_name(&copy.file))),
            Err(error) => {
                let before = failed.replace(CommandError::Carry(error));
                before.iter().for_each(Talk::error);
                continue;
            }
        }
        let removal = match agent.dialect {
            "opencode" => format!("opencode session delete {}", copy.id),
            "goose" => format!("goose session remove --name {}", copy.id),
            _ => continue,
        };
        talk.say(&format!("an imported session is removed by `{removal}`\n"));
    }
    failed.map_or(Ok(Exit::Done), Err)
}

/// Lets the user choose a session of another agent.
fn chosen(agent: &Successor, talk: &Talk) -> Result<PathBuf, CommandError> {
    if !io::stdin().is_terminal() {
        let hint = "`interlingua list` lists them; `latest` is the newest".to_owned();
        return Err(CommandError::Usage("no session is named".to_owned(), Some(hint)));
    }
    let choice = Choice::without(agent.dialect, talk)?;
    if choice.is_empty() {
        return Err(CommandError::Usage("no other agent has sessions on this machine".to_owned(), None));
    }
    choose(&choice, &mut io::stdin().lock(), Talk::always)
}

/// Shows sessions until a line of the input is one of their numbers. Another line is a filter, an empty line removes it.
fn choose(
    choice: &Choice,
    input: &mut impl BufRead,
    mut show: impl FnMut(&str),
) -> Result<PathBuf, CommandError> {
    let mut filter = String::new();
    loop {
        let sessions = choice.fitting(&filter);
        if sessions.is_empty() {
            show(&format!("no session fits `{}`\n", safe::one_line(&filter)));
        } else {
            show(&choice.table(&sessions));
        }
        show("number of the session, or words to filter by: ");
        let mut line = String::new();
        let read = input.read_line(&mut line);
        if read.map_err(|error| CommandError::Read("stdin".to_owned(), error))? == 0 {
            return Err(CommandError::Usage("no session is chosen".to_owned(), None));
        }
        let line = line.trim();
        match line.parse::<usize>() {
            Ok(number) => match number.checked_sub(1).and_then(|at| sessions.get(at)) {
                Some(session) => return Ok(session.input()),
                None => show(&format!("`{line}` is none of the numbers\n")),
            },
            Err(_) => line.clone_into(&mut filter),
        }
    }
}

fn no_home() -> CommandError {
    CommandError::Carry(interlingua_library::CarryError::NoHome)
}
