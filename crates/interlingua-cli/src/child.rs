//! Programs that a command starts and waits for.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// The path of a program that can be started by its name.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let paths = std::env::split_paths(&folders)
        .map(|folder| folder.join(program).with_extension(std::env::consts::EXE_EXTENSION));
    paths.into_iter().find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &std::path::Path) -> bool {
    path.is_file()
}

/// Runs a program to its end. Ctrl-C and the end of the terminal are signals for the program, which gets them as well. A
/// service manager stops only this command, so the program is ended here.
pub(crate) async fn run(command: Command) -> io::Result<ExitStatus> {
    let mut child = tokio::process::Command::from(command).spawn()?;
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        loop {
            tokio::select! {
                status = child.wait() => return status,
                _ = terminate.recv() => child.start_kill()?,
                _ = hangup.recv() => {}
                _ = interrupt.recv() => {}
                _ = quit.recv() => {}
            }
        }
    }
    #[cfg(not(unix))]
    loop {
        tokio::select! {
            status = child.wait() => return status,
            _ = tokio::signal::ctrl_c() => {}
        }
    }
}

/// The exit code that a shell reports for the program.
pub(crate) fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
