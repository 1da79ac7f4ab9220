//! What happens when someone stops the command: what is not complete goes away, what is complete stays, and a line says so.

use crate::outputs::open_files;
use crate::render;
use crate::talk::Talk;

/// Listens for those who want the command to end, for as long as it runs.
#[cfg(unix)]
#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "this is how the command ends when it is stopped"
)]
pub(crate) fn listen(quiet: bool) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let listener = std::thread::Builder::new().name("stop".to_owned());
    // Without the thread the command ends as any other would.
    let _ = listener.spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let (done, expected) = open_files().abandon();
            interlingua_archive::remove_copies();
            Talk::new(quiet, false).say(&render::stopped(done, expected));
            // As a shell says it of a program that a signal has ended.
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn listen(_quiet: bool) {}
