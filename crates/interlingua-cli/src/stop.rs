//! Signal handling: when the command is stopped, temporary files are removed, complete files stay, and a message is
//! printed.

#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use interlingua_report::render::{number, plural};

use interlingua_sessions::FollowEnd;

use crate::outputs::open_files;
use crate::talk::{self, Talk};

/// The input that is followed: the first signal ends the input instead of the command.
static FOLLOWED: Mutex<Option<FollowEnd>> = Mutex::new(None);

fn followed() -> MutexGuard<'static, Option<FollowEnd>> {
    FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the next signal end this input instead of the command.
pub(crate) fn end_instead(input: FollowEnd) {
    *followed() = Some(input);
}

/// Whether a program that this command started gets the signals.
static LEFT_TO_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Leaves all further signals to a program that this command starts and waits for: they end the program, and the command ends
/// with it.
pub(crate) fn leave_to_program() {
    LEFT_TO_PROGRAM.store(true, Ordering::Relaxed);
}

/// Starts a thread that waits for termination signals for as long as the command runs.
#[cfg(unix)]
#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "this is how the command ends when it is stopped"
)]
pub(crate) fn listen(quiet: bool) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;

    let ignored = ignored_signals();
    // With a handler, exceeding the file size limit of the shell (`ulimit -f`) is an ordinary write error. If the
    // handler cannot be registered, the signal kills the command.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let heard = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU]
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = Signals::new(heard) else { return };
    let listener = std::thread::Builder::new().name("stop".to_owned());
    // If the thread cannot be started, signals have their default effect.
    let _ = listener.spawn(move || {
        for signal in signals.forever() {
            if LEFT_TO_PROGRAM.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(input) = followed().take() {
                // The command goes on to the end of the input. A second signal stops it.
                input.end();
                continue;
            }
            let (done, expected) = open_files().abandon();
            interlingua_sessions::remove_private_folders();
            talk::clear_bar();
            Talk::new(quiet, false).say(&stopped(done, expected));
            // The exit code that shells report for a program ended by a signal.
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(unix)]
/// The line after a stop.
fn stopped(done: usize, expected: usize) -> String {
    let what = match (done, expected) {
        (_, 0) => "nothing was written".to_owned(),
        (done, expected) => {
            format!("{} of {} are complete", number(done as u64), plural(expected as u64, "file"))
        }
    };
    format!("stopped: {what}, and nothing half-written is left\n")
}

/// The signals that the parent process set to be ignored, one bit each from signal 1 on: `nohup` ignores HUP, and a script
/// ignores INT for its background jobs. Only Linux has a file for the mask; on other systems no signal is ignored.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(not(unix))]
pub(crate) fn listen(_quiet: bool) {}
