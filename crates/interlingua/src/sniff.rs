//! Which dialect is this? Looks at the first documents, never at the whole input.

use crate::dialects::{DIALECTS, Dialect, Role};
use crate::framing::{Frame, FrameKind, Framing};
use crate::tape::{Limits, TapeBuf, Val};

/// How much of the input is looked at.
pub const HEAD: usize = 256 << 10;

/// The beginning of an input, as far as dialects can judge it.
#[derive(Clone, Copy, Debug)]
pub struct Head<'h> {
    /// A document from it.
    pub doc: Val<'h>,
    /// How it stood there.
    pub kind: FrameKind<'h>,
}

/// What the input seems to be.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// The role.
    pub role: Role,
    /// How many of the documents looked at speak for it, weighted.
    pub score: u32,
}

/// The best of [`guesses`].
pub fn sniff(head: &[u8], complete: bool) -> Option<Guess> {
    guesses(head, complete).into_iter().next()
}

/// Asks every dialect in the registry about the first documents; the best answer comes first.
///
/// `head` is the beginning of the input: [`HEAD`] bytes, or more if its first document is longer than that. `complete`
/// says that it is all of it.
pub fn guesses(head: &[u8], complete: bool) -> Vec<Guess> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let framing = if starts_like_sse(head) { Framing::Sse } else { Framing::Lines };
    let mut guesses = guess_array(head);
    if !guesses.is_empty() {
        return guesses;
    }
    let (mut seen, mut looked_at) = (0, 0);
    let mut ask = |frame: Frame<'_>| {
        // Twenty documents are enough; a torn last one is nobody's.
        if seen < 20 && (complete || frame.kind != FrameKind::LastLine) {
            looked_at += u32::from(!frame.bytes.trim_ascii().is_empty());
            seen += u32::from(ask_all(frame.bytes, frame.kind, &mut guesses));
        }
    };
    let mut framer = framing.framer(head.len());
    framer.push(head, &mut ask);
    framer.finish(&mut ask);
    // A text that shows a line of a log is none; a damaged log still is one.
    if !guesses.is_empty() && seen * 4 < looked_at {
        guesses.clear();
        if !head.trim_ascii_start().starts_with(b"{") {
            return guesses;
        }
    }
    // A document over several lines; some of them may be documents of their own.
    if guesses.is_empty() {
        ask_all(head, FrameKind::Whole, &mut guesses);
    }
    if guesses.is_empty() {
        // Documents over several lines, or one with a long list, of which we may only have the beginning.
        let mut paths = Vec::new();
        for spec in DIALECTS.iter().flat_map(|dialect| dialect.roles) {
            if let Framing::Documents(path) | Framing::LinesOrDocuments(path) = spec.framing
                && !paths.contains(&path)
            {
                paths.push(path);
                let mut seen = 0;
                Framing::Documents(path).framer(head.len()).push(head, &mut |frame| {
                    if seen < 20 && matches!(frame.kind, FrameKind::Head | FrameKind::Document) {
                        seen += u32::from(ask_all(frame.bytes, frame.kind, &mut guesses));
                    }
                });
            }
        }
    }
    // The sort is stable: the first dialect in the registry wins a draw.
    guesses.sort_by_key(|guess| std::cmp::Reverse(guess.score));
    guesses
}

/// Whether it is a stream that is an array, of which we may only have the beginning: its lines may look like documents of
/// their own.
fn guess_array(head: &[u8]) -> Vec<Guess> {
    let mut guesses = Vec::new();
    if head.trim_ascii_start().starts_with(b"[") {
        ask_all(head, FrameKind::Whole, &mut guesses);
    }
    if guesses.is_empty() && head.trim_ascii_start().starts_with(b"[") {
        let mut seen = 0;
        Framing::EventsOrArray.framer(head.len()).push(head, &mut |frame| {
            if seen < 20 {
                seen += u32::from(ask_all(frame.bytes, frame.kind, &mut guesses));
            }
        });
        let is_array = |guess: &Guess| {
            guess.dialect.role(guess.role).is_some_and(|spec| spec.framing == Framing::EventsOrArray)
        };
        guesses.retain(is_array);
    }
    guesses.sort_by_key(|guess| std::cmp::Reverse(guess.score));
    guesses
}

/// The dialect that a document belongs to, if it is surely not `own`'s: for readers that meet a line they do not know.
pub fn foreign(own: &str, doc: Val<'_>, kind: FrameKind<'_>) -> Option<&'static Dialect> {
    let head = Head { doc, kind };
    let sure = |dialect: &Dialect| (dialect.sniff)(&head).is_some_and(|(_, score)| score >= SURE);
    let own_line = DIALECTS.iter().any(|dialect| dialect.name == own && (dialect.sniff)(&head).is_some());
    DIALECTS.iter().copied().find(|dialect| !own_line && dialect.name != own && sure(dialect))
}

/// From this score on, a single document is enough to say whose it is.
const SURE: u32 = 5;

/// Whether the bytes were a document.
fn ask_all(bytes: &[u8], kind: FrameKind<'_>, guesses: &mut Vec<Guess>) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut buf = TapeBuf::default();
    let Ok(tape) = buf.parse(text, &Limits::default()) else { return false };
    let head = Head { doc: tape.root(), kind };
    for &dialect in DIALECTS {
        let Some((role, score)) = (dialect.sniff)(&head) else { continue };
        match guesses.iter_mut().find(|guess| guess.dialect.name == dialect.name && guess.role == role) {
            Some(guess) => guess.score += score,
            None => guesses.push(Guess { dialect, role, score }),
        }
    }
    true
}

fn starts_like_sse(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| start.starts_with(field))
}
