//! `acp`: an agent for editors, over the Agent Client Protocol on stdin and stdout.

use std::io::{self, BufRead, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlingua_daemon::{EditorInput, EditorSettings, serve_editor};
use interlingua_report::safe;
use tokio::sync::mpsc;

use crate::error::{CommandError, Exit};
use crate::flags::OfferAgent;
use crate::run::{self, StopSignals};
use crate::talk::Talk;

/// The longest line of an editor: a prompt with pictures.
const LONGEST_LINE: usize = 64 << 20;
/// How many messages wait in each direction.
const WAITING: usize = 64;

/// The time that the editor has to read the last messages.
const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// Serves the editor until its input ends.
pub(crate) fn run(args: &OfferAgent, talk: &Talk) -> Result<Exit, CommandError> {
    let agent = run::installed(&args.agent)?;
    let folder = match &args.sessions {
        Some(folder) => folder.clone(),
        None => state_folder().ok_or_else(no_folder)?,
    };
    make_private(&folder).map_err(|error| CommandError::Write(folder.clone(), error))?;
    talk.say(&format!("{} for editors; sessions are in {}\n", agent.name, safe::path_name(&folder)));
    let mut settings = EditorSettings::new(agent, folder);
    settings.model.clone_from(&args.model);
    settings.permission_mode.clone_from(&args.permission_mode);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::Output)?;
    runtime.block_on(async {
        let mut signals = StopSignals::new().map_err(CommandError::Output)?;
        let (lines, input) = mpsc::channel(WAITING);
        let (output, messages) = mpsc::channel(WAITING);
        let (written, all_written) = tokio::sync::oneshot::channel();
        let writing = move || {
            write_messages(messages);
            // Nobody waits after the time for the last messages.
            let _ = written.send(());
        };
        thread("editor-input", move || read_lines(io::stdin().lock(), &lines))
            .map_err(CommandError::Output)?;
        thread("editor-output", writing).map_err(CommandError::Output)?;
        let log = |text: &str| Talk::always(&format!("{}\n", safe::one_line(text)));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        // A signal ends the input, so that all agents are stopped.
        let input = until(input, stopped);
        let serving = serve_editor(settings, input, output, log);
        let exit = {
            tokio::pin!(serving);
            tokio::select! {
                () = &mut serving => Exit::Done,
                code = signals.any() => {
                    // The receiver is in a task that may have ended.
                    let _ = stop.send(());
                    serving.await;
                    Exit::Program(code)
                }
            }
        };
        // An editor that reads no more gets no more.
        let _ = tokio::time::timeout(LAST_MESSAGES, all_written).await;
        Ok(exit)
    })
}

/// The input up to a stop.
fn until(
    mut input: mpsc::Receiver<EditorInput>,
    mut stop: tokio::sync::oneshot::Receiver<()>,
) -> mpsc::Receiver<EditorInput> {
    let (sender, until) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                line = input.recv() => {
                    let Some(line) = line else { return };
                    if sender.send(line).await.is_err() {
                        return;
                    }
                }
                _ = &mut stop => return,
            }
        }
    });
    until
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ())
}

/// Reads lines until the input or the server ends. A line without an end is a line.
fn read_lines(mut input: impl BufRead, lines: &mpsc::Sender<EditorInput>) {
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            // An unreadable input has ended.
            Ok(0) | Err(_) => return,
        }
        let is_whole = line.ends_with(b"\n") || line.len() <= LONGEST_LINE;
        let input = if is_whole { EditorInput::Line(line) } else { skip(&mut input) };
        if lines.blocking_send(input).is_err() {
            return;
        }
    }
}

/// Reads the rest of a line that is too long.
fn skip(input: &mut dyn BufRead) -> EditorInput {
    // The next read shows an unreadable input.
    let _ = input.skip_until(b'\n');
    EditorInput::TooLong(LONGEST_LINE)
}

/// Writes messages to stdout until the server ends or the editor closes its end.
#[expect(clippy::disallowed_methods, reason = "stdout holds only the protocol, unchanged")]
fn write_messages(mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.blocking_recv() {
        let mut stdout = io::stdout().lock();
        if stdout.write_all(&message).and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}

/// The folder for sessions among the user's files.
fn state_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = || absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let state = if cfg!(windows) { absolute("LOCALAPPDATA") } else { state() };
    Some(state?.join("interlingua").join("acp"))
}

fn no_folder() -> CommandError {
    let hint = "name a folder with `--sessions DIR`".to_owned();
    CommandError::Usage("there is no folder for sessions: `HOME` is not set".to_owned(), Some(hint))
}

/// Makes a folder that only the user can open.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
