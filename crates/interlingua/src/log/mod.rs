//! Giving a line back: the values of the model go to their native places.
//!
//! A log writer says where its dialect puts each value ([`NativeValues`]). If the source line was kept, its holes are filled
//! from there and every other byte stays what it was; if not, the line is built from the slots alone. One mapping
//! serves both. [`LogFile`] is the file those lines form, newline for newline.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dialects::Options;
use crate::error::{Code, Problem, Window};
use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::ledger::{Leftover, LeftoverBody, Reason, is_hole};
use crate::model::{Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Session};
use crate::pipe::lifecycle::OneByOne;
use crate::pipe::{Target, Writer};
use crate::tape::{Kind, Val};

/// Writes a log line by line: gathers an item's values, then fills the line that was kept for it or builds one.
///
/// This is [`Writer`] for logs, less what is the same for all of them: which line may be filled, what becomes of the
/// others, and that the line at hand ends before anything else is written. Notices, requests, turns and live events have
/// no line in another agent's log; a table of a log says `No` to all they hold. A kept line says everything, whatever
/// the table says: the table is about lines that are built.
pub trait LineWriter: Send {
    /// The lines written so far.
    fn lines(&mut self) -> &mut LogFile;

    /// Learns about the session.
    fn session(&mut self, session: &Session<'_>, out: &mut Target<'_>);

    /// An item begins. Unless it lies within the one at hand, end that one's line first.
    fn started(&mut self, head: &ItemHead<'_>, out: &mut Target<'_>);

    /// Gathers a part.
    fn delta(&mut self, delta: &Delta<'_>, out: &mut Target<'_>);

    /// The item is complete; its kept lines, if there are any, come now.
    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut Target<'_>);

    /// Fills the holes of a line that was kept for the item at hand, with [`LogFile::restore`].
    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut Target<'_>);

    /// Ends the line at hand: builds it with [`LogFile::build`], unless a kept line was filled.
    fn end_line(&mut self, out: &mut Target<'_>);
}

impl<W: LineWriter> Writer for W {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        let notice = matches!(head.kind, ItemKind::Notice(_));
        if notice && !self.lines().is_restoring() { Err(Reason::NoSlot) } else { Ok(()) }
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        let lines = self.lines();
        lines.restoring = owner == lines.owner;
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        if self.lines().queue.must_wait(event) {
            return;
        }
        say(self, event, out);
        // Whatever waited belongs to earlier frames.
        while let Some(events) = self.lines().queue.next() {
            for event in events {
                say(self, &event, &mut out.of_earlier_frames());
            }
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        match leftover.body {
            LeftoverBody::Kept { line, space } if leftover.owner == self.lines().owner => {
                self.restore(line, space, out);
                out.ledger.frame_restored();
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::Unparsed { .. } => {
                self.end_line(out);
                self.lines().leftover(leftover, out);
            }
            LeftoverBody::Kept { .. } | LeftoverBody::Frame(_) | LeftoverBody::NoFinalNewline => {
                self.lines().leftover(leftover, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Target<'_>) {
        self.end_line(out);
        let lines = self.lines();
        if std::mem::take(&mut lines.another_agent) > 0 && lines.built == 0 && lines.restored > 0 {
            out.ledger.lose_late(Field::SessionAgent, Reason::Invalid, 1, 0);
        }
        if lines.built > 0 || lines.restored == 0 {
            for SessionFact { field, bytes, in_next_line: _ } in lines.session.drain(..) {
                out.ledger.lose_late(field, Reason::NoSlot, 1, bytes as u64);
            }
        }
        lines.finish(out);
    }
}

/// Gathers an event into its line.
fn say(writer: &mut impl LineWriter, event: &Event<'_>, out: &mut Target<'_>) {
    match event {
        Event::SessionStarted(session) | Event::SessionUpdated(session) => writer.session(session, out),
        Event::ItemStarted(head) => writer.started(head, out),
        Event::ItemDelta(delta) => writer.delta(delta, out),
        Event::ItemCompleted(tail) => writer.completed(tail, out),
        // A kept line has them; the table of a log says that a built one does not.
        Event::Usage(_)
        | Event::TurnStarted(_)
        | Event::TurnEnded(_)
        | Event::SessionEnded(_)
        | Event::Clock(_)
        | Event::Rewound(_)
        | Event::Request(_)
        | Event::PermissionRequested(_)
        | Event::PermissionResolved(_)
        | Event::QuestionRequested(_)
        | Event::QuestionResolved(_)
        | Event::Error(_) => {}
    }
}

/// The lines of a log being written: what separates them, and what becomes of those that nobody could read.
#[derive(Debug)]
pub struct LogFile {
    owner: &'static str,
    end: End,
    /// Lines that had to be built.
    built: usize,
    /// Lines that were given back.
    restored: usize,
    /// The items that come now were made from lines of ours, which follow.
    restoring: bool,
    /// The source may bring lines of ours.
    from_record: bool,
    no_final_newline: bool,
    queue: OneByOne,
    session: Vec<SessionFact>,
    /// How often the record named another agent than the one whose lines it kept: someone changed one of the two.
    another_agent: usize,
}

/// What the output ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    Line,
    /// A piece of a line that goes on.
    Piece,
}

impl LogFile {
    /// No lines yet, in the dialect of that name.
    pub fn new(owner: &'static str, options: &Options) -> Self {
        Self {
            owner,
            end: End::Nothing,
            built: 0,
            restored: 0,
            restoring: false,
            from_record: options.source == Some("record"),
            no_final_newline: false,
            queue: OneByOne::default(),
            session: Vec::new(),
            another_agent: 0,
        }
    }

    /// Whether the items that come now will be given back as the lines they were: then nothing of them is lost.
    pub const fn is_restoring(&self) -> bool {
        self.restoring
    }

    /// The session says something that a built line has no place for.
    pub fn lose_of_session(&mut self, field: Field, text: Option<&Str<'_>>, out: &mut Target<'_>) {
        let Some(text) = text else { return };
        self.another_agent += usize::from(field == Field::SessionAgent && !text.is(self.owner));
        if self.from_record {
            // Lines that were kept say it; only lines that must be built do not.
            self.session.push(SessionFact { field, bytes: text.as_escaped().len(), in_next_line: false });
        } else {
            // Line after line repeats it.
            out.ledger.cannot_say(field, Reason::NoSlot);
            out.lose_str(field, text, Reason::NoSlot);
        }
    }

    /// The session says something that the next built line will say. What it said before, and no line has said, is lost.
    pub fn await_line(&mut self, field: Field, text: Option<&Str<'_>>, out: &mut Target<'_>) {
        let Some(text) = text else { return };
        let earlier = |fact: &SessionFact| fact.field == field && fact.in_next_line;
        if let Some(at) = self.session.iter().position(earlier) {
            let SessionFact { bytes, .. } = self.session.swap_remove(at);
            out.ledger.lose_late(field, Reason::Merged, 1, bytes as u64);
        }
        self.session.push(SessionFact { field, bytes: text.as_escaped().len(), in_next_line: true });
    }

    /// A built line says these facts of the session.
    pub fn line_says(&mut self, fields: &[Field]) {
        self.session.retain(|fact| !(fact.in_next_line && fields.contains(&fact.field)));
    }

    /// Writes a kept line with its holes filled; a hole nothing fits is a problem of the input.
    pub fn restore(
        &mut self,
        kept: Val<'_>,
        (before, after): (&str, &str),
        slots: &NativeValues,
        out: &mut Target<'_>,
    ) {
        // It says what was known of the session when it was written.
        self.session.clear();
        self.restored += 1;
        self.separate(out);
        out.json.bytes(before.as_bytes());
        let missing = slots.fill(kept, &mut out.json);
        out.json.bytes(after.as_bytes());
        for place in missing {
            let place = out.ledger.place(None, Some(format!("/{place}")));
            let (code, detail, window) = (Code::UnfilledHole, String::new(), Window::default());
            out.ledger.problem(Problem { code, place, detail, window });
        }
    }

    /// Writes a line that has only these values.
    pub fn build(&mut self, slots: &NativeValues, out: &mut Target<'_>) {
        self.built += 1;
        self.separate(out);
        out.json.frame("");
        slots.build(&mut out.json);
    }

    /// Gives back what was no document of the source; anything else that is left has no place in these lines, nor has
    /// what was damaged in another dialect.
    pub fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        match leftover.body {
            LeftoverBody::Unparsed { bytes, more, .. }
                if leftover.owner == self.owner || leftover.owner == "record" =>
            {
                self.separate(out);
                out.json.bytes(bytes);
                if more {
                    self.end = End::Piece;
                }
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::NoFinalNewline => self.no_final_newline = true,
            LeftoverBody::Unparsed { .. } => leftover.lose(out.ledger, Reason::Invalid),
            LeftoverBody::Kept { .. } | LeftoverBody::Frame(_) => leftover.lose(out.ledger, Reason::NoSlot),
        }
    }

    /// Ends the last line, unless the source did not.
    pub fn finish(&mut self, out: &mut Target<'_>) {
        if self.end == End::Line && !self.no_final_newline {
            out.json.frame("\n");
        }
    }

    /// Nothing before the first line, nothing inside a line that came in pieces.
    fn separate(&mut self, out: &mut Target<'_>) {
        if std::mem::replace(&mut self.end, End::Line) == End::Line {
            out.json.frame("\n");
        }
    }
}

/// Something that was said of the session and stands in no line yet.
#[derive(Debug)]
struct SessionFact {
    field: Field,
    /// How long its text is.
    bytes: usize,
    /// The next built line will say it.
    in_next_line: bool,
}

/// Native values with their places, in the order the dialect writes them. A place is `message/content/0/text`.
/// Values are shared, not copied, when they are put in several places: one may be a picture.
#[derive(Debug, Default)]
pub struct NativeValues(Vec<(String, Arc<Raw<'static>>)>);

impl NativeValues {
    /// So many are found by looking at each.
    const FEW: usize = 32;

    /// Puts a value at a place.
    pub fn put(&mut self, place: impl Into<String>, value: Raw<'_>) {
        self.0.push((place.into(), Arc::new(value.into_owned())));
    }

    /// Puts a string at a place.
    pub fn put_str(&mut self, place: impl Into<String>, text: &Str<'_>) {
        self.put(place, Raw::owned(format!("\"{}\"", text.as_escaped())));
    }

    /// Puts another value at a place that has one.
    pub fn replace(&mut self, place: &str, value: Raw<'_>) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == place) {
            *known = Arc::new(value.into_owned());
        }
    }

    /// Puts a string that needs no escaping at a place.
    pub fn put_literal(&mut self, place: impl Into<String>, word: &str) {
        self.put_str(place, &Str::escaped(word));
    }

    /// Puts a string at a place, instead of what stood there.
    pub fn set_str(&mut self, place: &str, text: &Str<'_>) {
        self.0.retain(|(known, _)| known != place);
        self.put_str(place, text);
    }

    /// Adds text to the string at a place, for values that arrive in pieces.
    pub fn append_str(&mut self, place: &str, text: &Str<'_>) {
        match self.0.iter_mut().find(|(known, _)| known == place) {
            Some((_, value)) => Arc::make_mut(value).append(text),
            None => self.put_str(place, text),
        }
    }

    /// Puts everything here under a place of `other`.
    pub fn copy_under(&self, place: &str, other: &mut NativeValues) {
        other.0.extend(self.0.iter().map(|(inner, value)| (format!("{place}/{inner}"), value.clone())));
    }

    /// Puts the value that stands at `place` at another place of `other`, too.
    pub fn share(&self, place: &str, to: &str, other: &mut NativeValues) {
        if let Some((_, value)) = self.0.iter().find(|(known, _)| known == place) {
            other.0.push((to.to_owned(), Arc::clone(value)));
        }
    }

    /// Shows every value with its place.
    pub fn each(&self, mut show: impl FnMut(&str, &Raw<'_>)) {
        self.0.iter().for_each(|(place, value)| show(place, value));
    }

    /// Puts everything here behind what `other` has.
    pub fn copy_into(&self, other: &mut NativeValues) {
        other.0.extend(self.0.iter().cloned());
    }

    /// The value at a place.
    pub fn get(&self, place: &str) -> Option<&Raw<'static>> {
        self.0.iter().find(|(known, _)| known == place).map(|(_, value)| &**value)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether nothing has been put.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes a kept line with its holes filled. Returns the places nothing was found for.
    pub fn fill(&self, line: Val<'_>, out: &mut JsonWriter<'_>) -> Vec<String> {
        let mut index = BTreeMap::new();
        if self.0.len() > Self::FEW {
            self.0.iter().for_each(|(place, value)| _ = index.entry(place.as_str()).or_insert(&**value));
        }
        let (text, copied) = (line.frame_text(), line.span().start);
        let mut fill = Fill { slots: self, index, text, copied, missing: Vec::new() };
        let mut place = String::new();
        fill.value(line, &mut place, out);
        out.bytes(&fill.text.as_bytes()[fill.copied..line.span().end]);
        fill.missing
    }

    /// Writes a line that has only these values.
    pub fn build(&self, out: &mut JsonWriter<'_>) {
        let mut tree = Tree::Object(Vec::new());
        for (place, value) in &self.0 {
            tree.insert(place, value);
        }
        tree.write(out);
    }
}

struct Fill<'a> {
    slots: &'a NativeValues,
    /// The slots by place, if there are more than a few.
    index: BTreeMap<&'a str, &'a Raw<'static>>,
    text: &'a str,
    copied: usize,
    missing: Vec<String>,
}

impl Fill<'_> {
    fn value(&mut self, val: Val<'_>, place: &mut String, out: &mut JsonWriter<'_>) {
        match val.kind() {
            Kind::Object => {
                for (name, member) in val.members() {
                    self.step(name.as_escaped(), member, place, out);
                }
            }
            Kind::Array => {
                for (index, element) in val.elements().enumerate() {
                    self.step(&index.to_string(), element, place, out);
                }
            }
            Kind::String => {
                let inner = &val.text()[1..val.text().len() - 1];
                if !inner.is_empty() && inner.bytes().all(|byte| byte == b'~') {
                    self.hole(val, inner, place, out);
                }
            }
            Kind::Null | Kind::Bool | Kind::Number => {}
        }
    }

    fn step(&mut self, name: &str, val: Val<'_>, place: &mut String, out: &mut JsonWriter<'_>) {
        let length = place.len();
        if !place.is_empty() {
            place.push('/');
        }
        place.push_str(name);
        self.value(val, place, out);
        place.truncate(length);
    }

    fn value_of(&self, place: &str) -> Option<&'_ Raw<'static>> {
        if self.index.is_empty() { self.slots.get(place) } else { self.index.get(place).copied() }
    }

    fn hole(&mut self, val: Val<'_>, inner: &str, place: &str, out: &mut JsonWriter<'_>) {
        let span = val.span();
        out.bytes(&self.text.as_bytes()[self.copied..span.start]);
        self.copied = span.end;
        if inner.len() > 1 {
            // A genuine string of tildes: it was given one more.
            out.bytes(b"\"");
            out.bytes(&val.text().as_bytes()[2..]);
        } else if let Some(value) = self.value_of(place) {
            out.bytes(value.as_str().as_bytes());
        } else {
            out.bytes(b"null");
            self.missing.push(place.to_owned());
        }
    }
}

enum Tree<'a> {
    Object(Vec<(&'a str, Tree<'a>)>),
    Array(Vec<Tree<'a>>),
    Leaf(&'a Raw<'a>),
}

impl<'a> Tree<'a> {
    fn insert(&mut self, place: &'a str, value: &'a Raw<'a>) {
        let (name, deeper) =
            place.split_once('/').map_or((place, None), |(name, deeper)| (name, Some(deeper)));
        let fresh = || match deeper.and_then(|rest| rest.bytes().next()) {
            None => Tree::Leaf(value),
            Some(b'0'..=b'9') => Tree::Array(Vec::new()),
            Some(_) => Tree::Object(Vec::new()),
        };
        let child = match self {
            Tree::Object(members) => {
                let at = members.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    members.push((name, fresh()));
                    members.len() - 1
                });
                &mut members[at].1
            }
            Tree::Array(elements) => {
                let at = name.parse::<usize>().unwrap_or(0).min(elements.len());
                if at == elements.len() {
                    elements.push(fresh());
                }
                &mut elements[at]
            }
            Tree::Leaf(_) => return,
        };
        if let Some(deeper) = deeper {
            child.insert(deeper, value);
        }
    }

    fn write(&self, out: &mut JsonWriter<'_>) {
        match self {
            Tree::Object(members) => {
                out.object();
                for (name, value) in members {
                    out.key(name);
                    value.write(out);
                }
                out.end_object();
            }
            Tree::Array(elements) => {
                out.array();
                for element in elements {
                    element.write(out);
                }
                out.end_array();
            }
            Tree::Leaf(value) => {
                out.raw(value);
            }
        }
    }
}

/// Whether a kept value has a hole in it.
pub fn has_hole(val: Val<'_>) -> bool {
    match val.kind() {
        Kind::String => is_hole(val),
        Kind::Object => val.members().any(|(_, member)| has_hole(member)),
        Kind::Array => val.elements().any(has_hole),
        Kind::Null | Kind::Bool | Kind::Number => false,
    }
}

/// A stable id in the form of a UUID for an item that has none, from the session and its number.
pub fn made_up_id(session: Option<&str>, item: ItemId) -> String {
    let seed = session
        .unwrap_or("")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let ItemId(number) = item;
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{number:012x}",
        seed >> 32,
        seed >> 16 & 0xffff,
        seed & 0xfff,
        seed >> 12 & 0xfff
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonBuffer;
    use crate::tape::{Limits, TapeBuf};

    #[test]
    fn a_genuine_tilde_loses_the_one_it_was_given() {
        let mut buf = TapeBuf::default();
        let tape = buf.parse(r#"{"a":"~~","b":"~","c":"~~~"}"#, &Limits::default()).expect("legal");
        let mut slots = NativeValues::default();
        slots.put("b", Raw::new("1"));
        let mut out = JsonBuffer::default();
        assert!(slots.fill(tape.root(), &mut out.hold()).is_empty());
        assert_eq!(out.held(), r#"{"a":"~","b":1,"c":"~~"}"#);
    }
}
