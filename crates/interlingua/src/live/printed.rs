//! Shared parts of the readers of printed streams: the turn, the time of a line, and the notice of a line.

use crate::json::{Raw, Str};
use crate::log::words_of_unknown;
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemKind, Notice, Part, Stop, StopClass, Turn,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Limits, Member as _, TapeBuf, Val};

/// The turn of a stream. The turn begins once and ends once, whatever lines announce the turn.
#[derive(Debug, Default)]
pub(crate) struct StreamTurn {
    is_open: bool,
}

impl StreamTurn {
    /// Begins the turn, unless the turn is open.
    pub(crate) fn begin(&mut self, out: &mut EventSink<'_>) {
        if !std::mem::replace(&mut self.is_open, true) {
            out.event(&Event::TurnStarted(Turn::default()));
        }
    }

    /// Ends the turn. The end of a turn without content begins the turn first.
    pub(crate) fn end(&mut self, turn: Turn<'_>, out: &mut EventSink<'_>) {
        self.begin(out);
        self.is_open = false;
        out.event(&Event::TurnEnded(turn));
    }

    /// Another reader has ended the turn.
    pub(crate) fn has_ended(&mut self) {
        self.is_open = false;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }
}

/// A stop reason in the agent's own word.
pub(crate) const fn stop(class: StopClass, raw: Option<Str<'_>>) -> Stop<'_> {
    Stop { class, raw, sequence: None, detail: None }
}

/// A failure that the agent describes in words.
pub(crate) fn failure<'t>(code: Option<Str<'t>>, message: Str<'t>) -> Event<'t> {
    let class = FailureClass::Other;
    Event::Error(Failure { class, status: None, code, message, request_id: None, retry_after: None })
}

/// Emits the time of a line before an event that is not an item.
pub(crate) fn clock(time: Option<Val<'_>>, out: &mut EventSink<'_>) {
    if let Some(time) = time.filter(Val::is_time) {
        out.event(&Event::Clock(time.note(Field::EventTime)));
    }
}

/// Takes the time of an item that is a number of milliseconds.
pub(crate) fn take_millis(time: Option<Val<'_>>) -> Option<Raw<'_>> {
    let is_date = |time: &Val<'_>| time.u64().is_some_and(|millis| 0 < millis && millis < END_OF_TIME);
    time.filter(is_date).map(|time| time.take(Field::ItemTime))
}

/// The first millisecond after the year 9999.
const END_OF_TIME: u64 = 253_402_300_800_000;

/// A notice for a line outside the conversation, named by the line's type, with the line's text for people.
pub(crate) fn notice(line: Val<'_>, out: &mut EventSink<'_>) {
    let event_type = line.note_str("type", Field::NoticeType);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.time = line.get("timestamp").take_time(Field::ItemTime);
    let item = out.start(head);
    if let Some(words) = words_of_unknown(line) {
        out.delta(item, 0, Part::Text(words));
    }
    out.complete(item);
}

/// Whether the JSON in `text` has the same value, regardless of spelling.
pub(crate) fn same_json(val: Val<'_>, text: &Str<'_>) -> bool {
    let text = text.decode();
    let mut buf = TapeBuf::default();
    buf.parse(&text, &Limits::default()).is_ok_and(|tape| equal(val, tape.root()))
}

fn equal(one: Val<'_>, two: Val<'_>) -> bool {
    if one.kind() != two.kind() {
        return false;
    }
    match one.kind() {
        Kind::Null => true,
        Kind::Bool | Kind::Number => one.text() == two.text(),
        Kind::String => one.str().zip(two.str()).is_some_and(|(one, two)| one.decode() == two.decode()),
        Kind::Array => {
            one.elements().count() == two.elements().count()
                && one.elements().zip(two.elements()).all(|(one, two)| equal(one, two))
        }
        Kind::Object => {
            one.members().count() == two.members().count()
                && one
                    .members()
                    .zip(two.members())
                    .all(|((name, one), (other, two))| name.decode() == other.decode() && equal(one, two))
        }
    }
}
