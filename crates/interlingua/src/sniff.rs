//! Which dialect is this? Looks at the first documents, never at the whole input.
//!
//! Every dialect judges every document by its marks: members of the right type that only it has. Of what they say an
//! answer comes only if the bytes are cut as that dialect cuts them, a share of the documents agrees, at least one of them
//! is no weak sign, and nobody else comes close. Otherwise it is a question, and whoever asked must say what it is.

mod unread;

use unread::DocumentPlace;
pub use unread::UnreadForm;

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

/// What the input may be.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// The role.
    pub role: Role,
    /// How much the documents looked at speak for it, together.
    pub score: u32,
    /// How many of them do.
    pub documents: u32,
    /// How much the one does that says most.
    pub surest: u32,
}

/// Everything that an input may be, best first, and what is known of it besides.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// What dialects say, best first.
    pub guesses: Vec<Guess>,
    /// What merely agrees: of use to whoever knows the dialect.
    faint: Vec<Guess>,
    /// A form that is known and that no dialect reads.
    pub unread: Option<&'static UnreadForm>,
    /// So many documents were judged that later ones are not looked at.
    is_final: bool,
}

/// What follows from the candidates.
#[derive(Clone, Debug)]
pub enum Detection {
    /// Nobody knows it.
    Unknown,
    /// It is this.
    Clear(Guess),
    /// It may be each of these, and its content does not decide.
    Unclear(Vec<Guess>),
}

impl Candidates {
    /// Whether the best candidate is far enough before the others.
    pub fn decide(&self) -> Detection {
        self.decide_among(|_| true)
    }

    /// The same for someone who knows the dialect: what it is there, however little speaks for it.
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

    /// The answer of [`Candidates::decide`] where the first documents of an unfinished input are enough for it, so that a
    /// pipe need not be read any further. `dialect` is the one that was named, if any.
    ///
    /// An input that is one document is decided at its end: a second document makes it something else. The base of
    /// dialects with flavours is decided only when no further document is looked at, because a flavour's own members may
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

    /// The same among some of the candidates only.
    pub fn decide_among(&self, wanted: impl Fn(&Guess) -> bool) -> Detection {
        let mut guesses = self.guesses.iter().filter(|guess| wanted(guess));
        let Some(best) = guesses.next() else { return Detection::Unknown };
        let mut close = vec![*best];
        for guess in guesses {
            // A rival stands for all flavours of its language.
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
    /// Whether it is another answer than that better one, and not merely another flavour of it.
    fn is_apart_from(&self, better: &Guess) -> bool {
        let flavours = [self, better].map(|guess| guess.dialect.flavour_of);
        let same_language = language(self.dialect) == language(better.dialect) && self.role == better.role;
        // The flavour whose own marks were seen is meant, and without any its base, as which all of them can be read. The
        // marks of two flavours are a contradiction.
        let is_draw = self.score == better.score && self.dialect.name != better.dialect.name;
        !same_language || is_draw && flavours.iter().all(Option::is_some)
    }
}

fn language(dialect: &Dialect) -> &'static str {
    dialect.flavour_of.unwrap_or(dialect.name)
}

/// A document that says no more than this agrees with a dialect, and is no reason to think of it.
const SILENT: u32 = 1;

/// A document that says no more than this may be of many dialects, and of none.
const WEAK: u32 = 3;

/// From this score on, a single document is enough to say whose it is.
const SURE: u32 = 5;

/// Nothing else looks like a document that says so much: fewer of them are enough.
const UNMISTAKABLE: u32 = 10;

/// A sum of scores that decides an input whose rest is still to come.
const EARLY_SCORE: u32 = 15;

/// So many documents are enough, if one of them says something.
const DOCUMENTS: u32 = 20;

/// What is said once for a whole input is said in one of so many documents.
const BEGINNING: u32 = 3;

/// So many are looked at if none does: a newer version of an agent may begin with lines that nobody knows.
const MOST_DOCUMENTS: u32 = 200;

/// What the input is, if that is clear.
pub fn sniff(head: &[u8], complete: bool) -> Option<Guess> {
    match candidates(head, complete).decide() {
        Detection::Clear(guess) => Some(guess),
        Detection::Unknown | Detection::Unclear(_) => None,
    }
}

/// Asks every dialect in the registry about the first documents.
///
/// `head` is the beginning of the input: [`HEAD`] bytes, or more if its first document is longer than that. `complete`
/// says that it is all of it.
pub fn candidates(head: &[u8], complete: bool) -> Candidates {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = head.trim_ascii_start();
    if start.starts_with(b"[") {
        return of_array(head);
    }
    // Lines of a document over several lines may look like documents of their own.
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
    // Documents over several lines, or one with a long list, of which we may only have the beginning.
    of_documents(head).unwrap_or(poll).candidates()
}

/// A stream that is an array, or a list of messages; we may only have the beginning.
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

/// Lines, or events.
fn of_frames(head: &[u8], complete: bool) -> Poll {
    let is_sse = starts_like_sse(head);
    let framing = if is_sse { Framing::Sse } else { Framing::Lines };
    let suits = |framing: Framing| match framing {
        Framing::Sse | Framing::EventsOrArray => is_sse,
        Framing::Lines | Framing::Whole | Framing::Documents(_) | Framing::LinesOrDocuments(..) => !is_sse,
    };
    let (mut poll, mut frames, mut begins_with_one) = (Poll::default(), 0, true);
    let mut ask = |frame: Frame<'_>| {
        // A torn last one is nobody's.
        if poll.wants_more() && (complete || frame.kind != FrameKind::LastLine) {
            frames += u32::from(!frame.bytes.trim_ascii().is_empty());
            let is_document = poll.ask(frame.bytes, frame.kind, suits);
            begins_with_one &= is_document || frames != 1;
        }
    };
    let mut cutter = framing.framer(head.len());
    cutter.push(head, &mut ask);
    cutter.finish(&mut ask);
    // A text that shows a line of a log is none; a damaged log still is one, but is seldom damaged where it begins.
    if poll.seen * if begins_with_one { 4 } else { 2 } < frames {
        poll.guesses.clear();
    }
    // What is one document has no second.
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
        all.seen = all.seen.max(more.seen);
        all
    })
}

/// The dialect that a document belongs to, if it is surely not `own`'s: for readers that meet a line they do not know.
pub fn foreign(own: &str, doc: Val<'_>, kind: FrameKind<'_>) -> Option<&'static Dialect> {
    let head = Head { doc, kind };
    let sure = |dialect: &Dialect| (dialect.sniff)(&head).is_some_and(|(_, score)| score >= SURE);
    let own_line = DIALECTS.iter().any(|dialect| dialect.name == own && (dialect.sniff)(&head).is_some());
    DIALECTS.iter().copied().find(|dialect| !own_line && dialect.name != own && sure(dialect))
}

/// What dialects said of the documents so far.
#[derive(Default)]
struct Poll {
    guesses: Vec<Guess>,
    /// How many documents they were asked about.
    seen: u32,
    /// The first that said something came late: those after it must show whether it was one of many.
    was_late: bool,
    /// Forms that nobody reads, and how many documents speak for each. One at the beginning is enough.
    unread: Vec<(&'static UnreadForm, u32)>,
}

impl Poll {
    /// Whether another document may tell more.
    const fn wants_more(&self) -> bool {
        self.seen < DOCUMENTS || self.seen < MOST_DOCUMENTS && (self.was_late || self.guesses.is_empty())
    }

    /// Asks about some bytes those dialects whose bytes are cut in a way that suits. Whether it was a document.
    fn ask(&mut self, bytes: &[u8], kind: FrameKind<'_>, suits: impl Fn(Framing) -> bool) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let mut buf = TapeBuf::default();
        let Ok(tape) = buf.parse(text, &Limits::default()) else { return false };
        let head = Head { doc: tape.root(), kind };
        let place = if self.seen == 0 { DocumentPlace::First } else { DocumentPlace::Later };
        self.was_late |= self.guesses.is_empty() && self.seen >= DOCUMENTS;
        self.seen += 1;
        if let Some(form) = UnreadForm::of(head.doc, place) {
            match self.unread.iter_mut().find(|(known, _)| known.about == form.about) {
                Some((_, documents)) => *documents += 1,
                None if self.seen <= BEGINNING => self.unread.push((form, DOCUMENTS)),
                None => self.unread.push((form, 1)),
            }
        }
        for &dialect in DIALECTS {
            let Some((role, score)) = (dialect.sniff)(&head) else { continue };
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
        // Logs have lines that say nothing of whose they are; that most do not is no log.
        self.guesses.retain(|guess| {
            let share = if guess.surest >= UNMISTAKABLE { 5 } else { 3 };
            guess.documents * share >= seen && !looks_like(guess.dialect)
        });
        // A flavour that nothing speaks for but what its base has comes after it.
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
