//! The command line: flags, commands and talk. Other crates find sessions, write reports and show conversations; this
//! crate joins these crates and writes the outputs.
//!
//! ```text
//! flags -> interlingua-sessions (files, stdin, directories, patterns) -> interlingua::pipe -> outputs
//!                                                                     \-> interlingua-report -> stderr, --report
//! ```
//!
//! stdout is for data, stderr for messages. All prose is in `render` and `error`; no meaning depends on colour.

mod acp;
mod agents;
mod attribute;
mod audit;
mod backends;
mod backup;
mod check;
mod child;
mod continuation;
mod convert;
mod dialects;
mod error;
mod find;
mod flags;
mod jobs;
mod join;
mod list;
mod matrix;
mod orders;
mod outputs;
mod receipts;
mod route;
mod run;
mod serve;
mod show;
mod signed;
mod stats;
mod stop;
mod talk;
mod top;
mod traffic;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use error::{CommandError, Exit};
use flags::{Cli, Command};
use talk::Talk;

/// The definitions of all commands and flags: for completions, the manual page and the reference in `docs/`.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with these arguments. The first argument is the name of the program.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut cli = match command().try_get_matches_from(args).and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let talk = cli.command.talk();
    if !cli.command.handles_signals() {
        stop::listen(talk.quiet);
    }
    let mut resolved = list::resolve(cli.command.sessions(), &talk);
    if let (Ok(()), Command::Stats(args)) = (&resolved, &mut cli.command)
        && args.here
    {
        resolved = list::here(&talk).map(|found| args.inputs.extend(found));
    }
    if let Err(error) = resolved {
        Talk::error(&error);
        return error.exit().into();
    }
    let exit = match cli.command {
        Command::Convert(args) => convert::run(&args, &talk),
        Command::Check(args) if args.audit.audit => audit::run(&args, &talk),
        Command::Check(args) => check::run(&args, &talk),
        Command::Attribute(args) => attribute::run(&args, &talk),
        Command::Show(args) => show::run(&args, &talk),
        Command::List(args) => list::run(&args, &talk),
        Command::Backup(args) => backup::save(&args, &talk),
        Command::Restore(args) => backup::restore(&args, &talk),
        Command::Find(args) => find::run(&args, &talk),
        Command::Continue(args) => continuation::run(&args, &talk),
        Command::Stats(args) => stats::run(&args, &talk),
        Command::Dialects(args) => dialects::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Translate(args) => orders::translate(&args, &talk),
        Command::Receipt(args) => orders::receipt(&args, &talk),
        Command::Keygen(args) => signed::keygen(&args),
        Command::Sign(args) => signed::sign(&args, &talk),
        Command::Verify(args) => signed::verify(&args),
        Command::Prove(args) => signed::prove(&args),
        Command::Redact(args) => signed::redact(&args, &talk),
        Command::Log(args) => signed::log(&args, &talk),
        Command::Serve(args) => serve::serve(&args, &talk),
        Command::Mock(args) => serve::mock(&args, &talk),
        Command::With(args) => serve::with(&args, &talk),
        Command::Route(args) => route::run(&args),
        Command::Top(args) => top::run(&args, &talk),
        Command::Run(args) => run::run(&args, &talk),
        Command::Acp(args) => acp::run(&args, &talk),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), NAME, &mut script);
            talk::data(&script)
        }
        Command::Man { command: name } => man(name.as_deref()),
    };
    match exit {
        Ok(exit) => exit.into(),
        // The reader of our stdout closed it, as `head` does: success.
        Err(error) if error.is_broken_pipe() => Exit::Done.into(),
        Err(error) => {
            Talk::error(&error);
            error.exit().into()
        }
    }
}

/// Prints clap's message, or ours where ours has a better hint.
fn usage(error: &clap::Error) -> ExitCode {
    if let Some(ours) = CommandError::from_usage(error) {
        Talk::error(&ours);
        return ours.exit().into();
    }
    // Help and version go to stdout. A failure to print them cannot be reported.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

fn man(name: Option<&str>) -> Result<Exit, CommandError> {
    let mut whole = command();
    whole.build();
    let page = match name {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let page = page.ok_or_else(|| CommandError::UnknownCommand(name.unwrap_or_default().to_owned()))?;
    let mut roff = Vec::new();
    let version = concat!("interlingua ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(page).source(version).render(&mut roff).map_err(CommandError::Output)?;
    talk::data(&roff)
}

const NAME: &str = "interlingua";
