//! Detection of the dialect from the first documents, never from the whole input.
//!
//! Every dialect scores every document by its marks: members of the right type that only this dialect has. A dialect
//! is detected only if its framing fits the bytes, a share of the documents agrees, at least one of them is more than
//! a weak sign, and no other dialect has a similar score. Otherwise the result is unclear, and the caller must name
//! the dialect.

mod unread;

pub use unread::UnreadForm;

use crate::dialects::{DIALECTS, Dialect, Role};
use crate::framing::{Frame, FrameKind, Framing};
use crate::tape::{Limits, TapeBuf, Val};

/// The number of bytes examined at the beginning of the input.
pub const HEAD: usize = 256 << 10;

/// A document at the beginning of an input, for scoring by dialects.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Head<'h> {
    /// The document.
    pub doc: Val<'h>,
    /// The kind of frame the document comes from.
    pub kind: FrameKind<'h>,
    /// Whether the document is the first of the input.
    pub is_first: bool,
}

/// A candidate for the input.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Guess {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// The role.
    pub role: Role,
    /// The total score of all examined documents.
    pub score: u32,
    /// The number of documents with a score.
    pub documents: u32,
    /// The highest score of a single document.
    pub surest: u32,
}

impl Guess {
    /// A candidate whose dialect and role are known from the input's location.
    pub const fn known(dialect: &'static Dialect, role: Role) -> Self {
        Self { dialect, role, score: 10, documents: 1, surest: 10 }
    }
}

/// All candidates for an input, best first, and further findings.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Candidates {
    /// The candidates, best first.
    pub guesses: Vec<Guess>,
    /// Candidates with faint agreement only: useful if the dialect is known.
    faint: Vec<Guess>,
    /// A known form that no dialect reads.
    pub unread: Option<&'static UnreadForm>,
    /// Enough documents were scored, so later documents are not examined.
    is_final: bool,
}

/// The result of detection.
#[derive(Clone, Debug)]
pub enum Detection {
    /// No dialect matches.
    Unknown,
    /// One candidate is clear.
    Clear(Guess),
    /// Several candidates are possible, and the content does not decide.
    Unclear(Vec<Guess>),
}

impl Candidates {
    /// The result, by the lead of the best candidate over the others.
    pub fn decide(&self) -> Detection {
        self.decide_among(|_| true)
    }

    /// The same for a known dialect: its role, even with a low score.
    pub fn decide_for(&self, dialect: &Dialect) -> Detection {
        let is_it = |guess: &Guess| guess.dialect.name == dialect.name;
        match self.decide_among(is_it) {
            Detection::Unknown => {
                let faint = self.faint.iter().copied().find(is_it);
                faint.map_or(Detection::Unknown, Detection::Clear)
            }
            known => known,
        }
    }

    /// The result of [`Candidates::decide`] if the first documents of an unfinished input are sufficient, so that a
    /// pipe need not be read further. `dialect` is the dialect the caller named, if any.
    ///
    /// An input of a single document is decided at its end, because a second document changes the result. A base
    /// dialect with flavours is decided only when no further document is examined, because a flavour's own members may
    /// come later.
    pub fn decide_early(&self, dialect: Option<&Dialect>) -> Option<Guess> {
        let (detection, enough) = match dialect {
            Some(dialect) => (self.decide_for(dialect), WEAK + 1),
            None => (self.decide(), UNMISTAKABLE),
        };
        let Detection::Clear(guess) = detection else { return None };
        let is_base = || DIALECTS.iter().any(|other| other.flavour_of == Some(guess.dialect.name));
        let is_open = dialect.is_none() && !self.is_final && is_base();
        let is_single = guess.framing() == Some(Framing::Whole);
        let is_sure = guess.surest >= enough || guess.score >= EARLY_SCORE && guess.surest > WEAK;
        (is_sure && !is_open && !is_single).then_some(guess)
    }

    /// The same, limited to some of the candidates.
    pub fn decide_among(&self, wanted: impl Fn(&Guess) -> bool) -> Detection {
        let mut guesses = self.guesses.iter().filter(|guess| wanted(guess));
        let Some(best) = guesses.next() else { return Detection::Unknown };
        let mut close = vec![*best];
        for guess in guesses {
            // A rival represents all flavours of its base dialect.
            if close.iter().all(|other| guess.is_apart_from(other)) && guess.score * 3 > best.score * 2 {
                close.push(*guess);
            }
        }
        if close.len() == 1 && best.surest > WEAK {
            Detection::Clear(*best)
        } else {
            Detection::Unclear(close)
        }
    }
}

impl Guess {
    /// Whether the guess is a different result than the better guess, and not merely a different flavour.
    fn is_apart_from(&self, better: &Guess) -> bool {
        let flavours = [self, better].map(|guess| guess.dialect.flavour_of);
        let same_language = language(self.dialect) == language(better.dialect) && self.role == better.role;
        // A flavour is chosen if its own marks were seen, otherwise its base, as which all flavours can be read. Marks
        // of two flavours contradict each other.
        let is_draw = self.score == better.score && self.dialect.name != better.dialect.name;
        !same_language || is_draw && flavours.iter().all(Option::is_some)
    }
}

fn language(dialect: &Dialect) -> &'static str {
    dialect.flavour_of.unwrap_or(dialect.name)
}

/// The score of a document that proves another program: among the first documents of an input, it rules the dialect out
/// for the whole input, whatever the later documents look like.
pub const RULED_OUT: u32 = 0;

/// Up to this score, a document is compatible with a dialect but no evidence for it.
const SILENT: u32 = 1;

/// Up to this score, a document may belong to many dialects, or to none.
const WEAK: u32 = 3;

/// From this score on, a single document identifies its dialect.
const SURE: u32 = 5;

/// No other dialect has documents with this score: fewer of them are sufficient.
const UNMISTAKABLE: u32 = 10;

/// A total score that decides an input before its end.
const EARLY_SCORE: u32 = 15;

/// The number of documents examined, if at least one of them has a score.
const DOCUMENTS: u32 = 20;

/// A mark that occurs once per input is in one of this many documents.
const BEGINNING: u32 = 3;

/// The number of documents examined if none has a score: a newer version of an agent may begin with unknown lines.
const MOST_DOCUMENTS: u32 = 200;

/// The detected dialect, if the result is clear.
pub fn sniff(head: &[u8], complete: bool) -> Option<Guess> {
    match candidates(head, complete).decide() {
        Detection::Clear(guess) => Some(guess),
        Detection::Unknown | Detection::Unclear(_) => None,
    }
}

/// Scores the first documents with every dialect in the registry.
///
/// `head` is the beginning of the input: [`HEAD`] bytes, or more if its first document is longer. `complete` means
/// that `head` is the whole input.
pub fn candidates(head: &[u8], complete: bool) -> Candidates {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = head.trim_ascii_start();
    if start.starts_with(b"[") {
        return of_array(head);
    }
    // Lines of a multi-line document may look like documents.
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if start.starts_with(b"{") && first_line.len() < start.len() && !is_document(first_line) {
        let mut poll = Poll::default();
        if poll.ask(head, FrameKind::Whole, |framing| framing != Framing::Lines) {
            return poll.candidates();
        }
    }
    let poll = of_frames(head, complete);
    if !poll.guesses.is_empty() || !start.starts_with(b"{") {
        return poll.candidates();
    }
    // Multi-line documents, or a document with a long list, possibly incomplete.
    of_documents(head).unwrap_or(poll).candidates()
}

/// Candidates for an array: a stream, or a list of messages, possibly incomplete.
fn of_array(head: &[u8]) -> Candidates {
    let mut poll = Poll::default();
    if !poll.ask(head, FrameKind::Whole, |framing| framing != Framing::Lines) {
        Framing::EventsOrArray.framer(head.len()).push(head, &mut |frame| {
            if poll.wants_more() {
                poll.ask(frame.bytes, frame.kind, |framing| {
                    matches!(framing, Framing::EventsOrArray | Framing::LinesOrDocuments(..))
                });
            }
        });
    }
    poll.candidates()
}

/// Candidates for lines or events.
fn of_frames(head: &[u8], complete: bool) -> Poll {
    let is_sse = starts_like_sse(head);
    let framing = if is_sse { Framing::Sse } else { Framing::Lines };
    let suits = |framing: Framing| match framing {
        Framing::Sse | Framing::EventsOrArray => is_sse,
        Framing::Lines | Framing::Whole | Framing::Documents(_) | Framing::LinesOrDocuments(..) => !is_sse,
    };
    let (mut poll, mut frames, mut begins_with_one) = (Poll::default(), 0, true);
    let mut ask = |frame: Frame<'_>| {
        // A torn last line is not scored.
        if poll.wants_more() && (complete || frame.kind != FrameKind::LastLine) {
            frames += u32::from(!frame.bytes.trim_ascii().is_empty());
            let is_document = poll.ask(frame.bytes, frame.kind, suits);
            begins_with_one &= is_document || frames != 1;
        }
    };
    let mut cutter = framing.framer(head.len());
    cutter.push(head, &mut ask);
    cutter.finish(&mut ask);
    // A text that quotes a line of a log is not a log; a damaged log is a log, but rarely damaged at its beginning.
    if poll.seen * if begins_with_one { 4 } else { 2 } < frames {
        poll.guesses.clear();
    }
    // A dialect of a single document does not match input with several.
    let is_single = |guess: &Guess| guess.framing() == Some(Framing::Whole);
    poll.guesses.retain(|guess| frames == 1 || !is_single(guess));
    poll
}

fn of_documents(head: &[u8]) -> Option<Poll> {
    let mut paths = Vec::new();
    for spec in DIALECTS.iter().flat_map(|dialect| dialect.roles) {
        if let Framing::Documents(path) | Framing::LinesOrDocuments(path, _) = spec.framing
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    let polls = paths.into_iter().map(|path| {
        let mut poll = Poll::default();
        Framing::Documents(path).framer(head.len()).push(head, &mut |frame| {
            let is_document = matches!(frame.kind, FrameKind::Head | FrameKind::Document);
            if poll.wants_more() && is_document {
                poll.ask(frame.bytes, frame.kind, |framing| match framing {
                    Framing::Documents(own) | Framing::LinesOrDocuments(own, _) => own == path,
                    Framing::Lines | Framing::Sse | Framing::EventsOrArray | Framing::Whole => false,
                });
            }
        });
        poll
    });
    polls.filter(|poll| !poll.guesses.is_empty()).reduce(|mut all, more| {
        all.guesses.extend(more.guesses);
        all.ruled_out.extend(more.ruled_out);
        all.seen = all.seen.max(more.seen);
        all
    })
}

/// The dialect of a document that certainly does not belong to `own`: for readers with an unknown line.
pub fn foreign(own: &str, doc: Val<'_>, kind: FrameKind<'_>) -> Option<&'static Dialect> {
    let head = Head { doc, kind, is_first: false };
    let sure = |dialect: &Dialect| (dialect.sniff)(&head).is_some_and(|(_, score)| score >= SURE);
    let is_own = |dialect: &Dialect| (dialect.sniff)(&head).is_some_and(|(_, score)| score > RULED_OUT);
    let own_line = DIALECTS.iter().any(|dialect| dialect.name == own && is_own(dialect));
    DIALECTS.iter().copied().find(|dialect| !own_line && dialect.name != own && sure(dialect))
}

/// The scores of the documents so far.
#[derive(Default)]
struct Poll {
    guesses: Vec<Guess>,
    /// The number of documents scored.
    seen: u32,
    /// The first document with a score came late: the documents after it must show whether it is typical.
    was_late: bool,
    /// Forms that no dialect reads, with the number of matching documents. One match at the beginning is enough.
    unread: Vec<(&'static UnreadForm, u32)>,
    /// Dialects that one of the first documents rules out.
    ruled_out: Vec<&'static str>,
}

impl Poll {
    /// Whether a further document may change the result.
    const fn wants_more(&self) -> bool {
        self.seen < DOCUMENTS || self.seen < MOST_DOCUMENTS && (self.was_late || self.guesses.is_empty())
    }

    /// Scores bytes with the dialects whose framing fits. Returns whether the bytes are a document.
    fn ask(&mut self, bytes: &[u8], kind: FrameKind<'_>, suits: impl Fn(Framing) -> bool) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let mut buf = TapeBuf::default();
        let Ok(tape) = buf.parse(text, &Limits::default()) else { return false };
        let head = Head { doc: tape.root(), kind, is_first: self.seen == 0 };
        self.was_late |= self.guesses.is_empty() && self.seen >= DOCUMENTS;
        self.seen += 1;
        if let Some(form) = UnreadForm::of(head.doc) {
            match self.unread.iter_mut().find(|(known, _)| known.about == form.about) {
                Some((_, documents)) => *documents += 1,
                None if self.seen <= BEGINNING => self.unread.push((form, DOCUMENTS)),
                None => self.unread.push((form, 1)),
            }
        }
        for &dialect in DIALECTS {
            let Some((role, score)) = (dialect.sniff)(&head) else { continue };
            if score == RULED_OUT {
                if self.seen <= BEGINNING {
                    self.ruled_out.push(dialect.name);
                }
                continue;
            }
            if !dialect.role(role).is_some_and(|spec| suits(spec.framing)) {
                continue;
            }
            let is_it = |guess: &&mut Guess| guess.dialect.name == dialect.name && guess.role == role;
            match self.guesses.iter_mut().find(is_it) {
                Some(guess) => {
                    guess.score += score;
                    guess.documents += 1;
                    guess.surest = guess.surest.max(score);
                }
                None => self.guesses.push(Guess { dialect, role, score, documents: 1, surest: score }),
            }
        }
        true
    }

    fn candidates(mut self) -> Candidates {
        let (seen, is_final) = (self.seen, !self.wants_more());
        let unread = self.unread.iter().find(|(_, documents)| documents * 3 >= seen).map(|(form, _)| *form);
        let looks_like =
            |dialect: &Dialect| unread.is_some_and(|form| form.looks_like.contains(&dialect.name));
        // Logs have lines without marks; an input in which most lines have none is not a log.
        self.guesses.retain(|guess| {
            let share = if guess.surest >= UNMISTAKABLE { 5 } else { 3 };
            let is_excluded = looks_like(guess.dialect) || self.ruled_out.contains(&guess.dialect.name);
            guess.documents * share >= seen && !is_excluded
        });
        // A flavour without marks of its own comes after its base.
        self.guesses
            .sort_by_key(|guess| (std::cmp::Reverse(guess.score), guess.dialect.flavour_of.is_some()));
        let (guesses, faint) = self.guesses.into_iter().partition(|guess| guess.surest > SILENT);
        Candidates { guesses, faint, unread, is_final }
    }
}

impl Guess {
    fn framing(&self) -> Option<Framing> {
        self.dialect.role(self.role).map(|spec| spec.framing)
    }
}

fn is_document(line: &[u8]) -> bool {
    let text = std::str::from_utf8(line).ok();
    text.is_some_and(|text| TapeBuf::default().parse(text, &Limits::default()).is_ok())
}

fn starts_like_sse(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| start.starts_with(field))
}
