//! `top`: the calls of a running gateway as they start and end. On a terminal a view that is drawn twice a second, else a
//! line for each call that has ended.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use interlingua_gateway::{FeedEvent, FeedReader};
use interlingua_report::render::plural;
use interlingua_report::safe;

use crate::error::{CommandError, Exit};
use crate::flags::Top;
use crate::talk::{self, Screen, Talk};
use crate::traffic::{Traffic, ViewSize, line};

/// The time between two drawings.
const REDRAW: Duration = Duration::from_millis(500);

/// Shows the calls until the command is stopped or the gateway ends.
pub(crate) fn run(args: &Top, talk: &Talk) -> Result<Exit, CommandError> {
    let token = args.token_env.as_deref().map(token).transpose()?;
    let url = if args.url.contains("://") { args.url.clone() } else { format!("http://{}", args.url) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandError::Output)?.block_on(async {
        let mut feed = FeedReader::connect(&url, token.as_deref()).await?;
        let shown = async {
            if args.once {
                once(&mut feed, &url).await
            } else if Screen::is_available() {
                view(&mut feed, &url).await
            } else {
                lines(&mut feed, &url, talk).await
            }
        };
        // The view restores the screen when it is dropped, so that the command may end at any time.
        let stopped = tokio::select! {
            shown = shown => shown.map(|()| None)?,
            code = stopped() => Some(code),
        };
        if stopped.is_none() && !args.once {
            talk.say("the gateway has ended the feed\n");
        }
        Ok(stopped.map_or(Exit::Done, Exit::Program))
    })
}

/// The key of the gateway.
fn token(variable: &str) -> Result<String, CommandError> {
    std::env::var(variable).ok().filter(|value| !value.is_empty()).ok_or_else(|| {
        let message = format!("the environment variable `{variable}` is not set");
        CommandError::Usage(message, Some("set it to a key of the gateway".to_owned()))
    })
}

/// Prints the calls that are open now.
async fn once(feed: &mut FeedReader, url: &str) -> Result<(), CommandError> {
    let mut traffic = Traffic::new(url);
    while let Some(event) = feed.next().await? {
        if event == FeedEvent::Ready {
            break;
        }
        traffic.add(event);
    }
    talk::text(&traffic.open_calls(now()))
}

/// Prints a line for each call that has ended.
async fn lines(feed: &mut FeedReader, url: &str, talk: &Talk) -> Result<(), CommandError> {
    while let Some(event) = feed.next().await? {
        match event {
            FeedEvent::Ready => talk.say(&format!("watching {}\n", safe::exact_line(url))),
            FeedEvent::Ended(call) => talk::text(&line(&call))?,
            FeedEvent::Lagged { missed, .. } => {
                Talk::always(&format!("warning: {} missed: stdout is too slow\n", plural(missed, "event")));
            }
            // The lines of a pipe are calls that have ended. Starts and moves of calls are for the view.
            _ => {}
        }
    }
    Ok(())
}

/// Draws the calls on the screen.
async fn view(feed: &mut FeedReader, url: &str) -> Result<(), CommandError> {
    let mut traffic = Traffic::new(url);
    let screen = Screen::open()?;
    let mut redraw = tokio::time::interval(REDRAW);
    loop {
        tokio::select! {
            event = feed.next() => match event? {
                Some(event) => traffic.add(event),
                None => return Ok(()),
            },
            _ = redraw.tick() => {
                let size = console::Term::stdout().size_checked().map_or(ViewSize::USUAL, |(rows, columns)| {
                    ViewSize { rows: rows.into(), columns: columns.into() }
                });
                screen.draw(&traffic.view(now(), size))?;
            }
        }
    }
}

/// The time in milliseconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Waits for a signal that stops the command, and returns the exit code for the signal.
async fn stopped() -> u8 {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        if let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) {
            return tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
                _ = hangup.recv() => 129,
            };
        }
    }
    let _ = tokio::signal::ctrl_c().await;
    130
}
