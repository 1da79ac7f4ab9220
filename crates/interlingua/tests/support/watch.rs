//! A writer without output that records the order of events and the claims of readers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use interlingua::dialects::Options;
use interlingua::ledger::{Leftover, LeftoverBody, Report};
use interlingua::model::{Event, ItemId, ItemKind};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use interlingua::tape::{Claim, Kind, Val};

use super::{PIECE, Way};

/// The observations of one input.
#[derive(Default)]
pub struct Seen {
    /// Violations of the order of events.
    pub breaches: Vec<String>,
    /// Tool results without an earlier call.
    pub orphans: Vec<String>,
    /// The events, one line each, if requested.
    pub events: Vec<String>,
    /// The leaves of each frame, if requested.
    pub frames: Vec<SeenFrame>,
    open: Vec<ItemId>,
    done: BTreeSet<ItemId>,
    calls: BTreeSet<String>,
    turn: bool,
}

/// A frame with its leaves.
pub struct SeenFrame {
    /// The frame's number in the ledger.
    pub number: u64,
    pub text: String,
    pub leaves: Vec<SeenLeaf>,
}

/// A leaf and its claim.
pub struct SeenLeaf {
    pub path: String,
    pub span: std::ops::Range<usize>,
    pub kind: Kind,
    pub claim: Claim,
}

/// The level of detail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Only the order of events.
    Order,
    /// Also the events.
    EventSink,
    /// Also every leaf.
    Leaves,
}

/// Reads an input and records it.
pub fn watch(from: Way, bytes: &[u8], look: Look) -> (Seen, Report) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let writer = Watch { seen: Arc::clone(&seen), look };
    let mut pipe = Pipe::with_writer(from, Box::new(writer), &Options::default()).expect("readable");
    pipe.push(bytes, &mut Vec::new());
    let report = pipe.finish(&mut Vec::new());
    let seen = std::mem::take(&mut *seen.lock().expect("no panic while held"));
    (seen, report)
}

/// The events and claims of an input, for comparison.
#[derive(Default)]
pub struct Story {
    pub events: Vec<String>,
    claims: Vec<Claim>,
    problems: usize,
}

impl Story {
    pub fn of(seen: &Seen, report: &Report) -> Self {
        let leaves = seen.frames.iter().flat_map(|frame| &frame.leaves);
        Self {
            events: seen.events.clone(),
            claims: leaves.map(|leaf| leaf.claim).collect(),
            problems: report.problems.len(),
        }
    }

    /// Whether an input yields the same events, as compared by `alike`, the same claims on its leaves, and as many
    /// problems. It is read only until the result is clear.
    pub fn is_told_by<'b>(
        self: &Arc<Self>,
        from: Way,
        pieces: impl IntoIterator<Item = &'b [u8]>,
        alike: fn(&str, &str) -> bool,
    ) -> bool {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let listener =
            Listener { story: Arc::clone(self), heard: Arc::clone(&heard), alike, text: String::new() };
        let mut pipe = Pipe::with_writer(from, Box::new(listener), &Options::default()).expect("readable");
        for piece in pieces.into_iter().flat_map(|piece| piece.chunks(PIECE)) {
            pipe.push(piece, &mut Vec::new());
            if heard.lock().expect("no panic while held").other {
                return false;
            }
        }
        let report = pipe.finish(&mut Vec::new());
        let heard = heard.lock().expect("no panic while held");
        !heard.other
            && heard.events == self.events.len()
            && heard.claims == self.claims.len()
            && report.problems.len() == self.problems
    }
}

/// The progress of a comparison.
#[derive(Default)]
struct Heard {
    events: usize,
    claims: usize,
    /// A difference was found.
    other: bool,
}

struct Listener {
    story: Arc<Story>,
    heard: Arc<Mutex<Heard>>,
    alike: fn(&str, &str) -> bool,
    text: String,
}

impl Listener {
    fn hear(&mut self, what: std::fmt::Arguments<'_>) {
        let mut heard = self.heard.lock().expect("no panic while held");
        if heard.other {
            return;
        }
        self.text.clear();
        self.text.write_fmt(what).expect("memory");
        let told = self.story.events.get(heard.events);
        heard.other = !told.is_some_and(|told| *told == self.text || (self.alike)(told, &self.text));
        heard.events += 1;
    }
}

impl Writer for Listener {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        self.hear(format_args!("{event:?}"));
    }

    fn kept_with_next(&mut self, owner: &str, _: &mut WriterOutput<'_>) {
        self.hear(format_args!("with the next of {owner}"));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        match leftover.body {
            LeftoverBody::Kept { .. } | LeftoverBody::Unparsed { .. } => {
                self.hear(format_args!("{leftover:?}"));
            }
            LeftoverBody::Frame(tape) => {
                let mut heard = self.heard.lock().expect("no panic while held");
                if !heard.other {
                    compare_claims(tape.root(), Claim::Free, &self.story, &mut heard);
                }
            }
            LeftoverBody::NoFinalNewline => {}
        }
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn compare_claims(val: Val<'_>, above: Claim, story: &Story, heard: &mut Heard) {
    let claim = if above == Claim::Free { val.claimed() } else { above };
    let mut inside = false;
    for member in val.members().map(|(_, member)| member).chain(val.elements()) {
        inside = true;
        compare_claims(member, claim, story, heard);
    }
    if !inside {
        heard.other |= story.claims.get(heard.claims) != Some(&claim);
        heard.claims += 1;
    }
}

struct Watch {
    seen: Arc<Mutex<Seen>>,
    look: Look,
}

impl Writer for Watch {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let mut seen = self.seen.lock().expect("no panic while held");
        if self.look != Look::Order {
            seen.events.push(format!("{event:?}"));
        }
        seen.order(event);
    }

    fn kept_with_next(&mut self, owner: &str, _: &mut WriterOutput<'_>) {
        self.seen.lock().expect("no panic while held").events.push(format!("with the next of {owner}"));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        if let (Look::EventSink | Look::Leaves, LeftoverBody::Kept { .. } | LeftoverBody::Unparsed { .. }) =
            (self.look, leftover.body)
        {
            // Leftovers of an earlier conversion are recorded like events.
            self.seen.lock().expect("no panic while held").events.push(format!("{leftover:?}"));
        }
        if let (Look::Leaves, LeftoverBody::Frame(tape)) = (self.look, leftover.body) {
            let mut leaves = Vec::new();
            gather(tape.root(), Claim::Free, &mut String::new(), &mut leaves);
            let text = tape.text().to_owned();
            self.seen.lock().expect("no panic while held").frames.push(SeenFrame {
                number: out.ledger.frame_number(),
                text,
                leaves,
            });
        }
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {
        let mut seen = self.seen.lock().expect("no panic while held");
        let open = std::mem::take(&mut seen.open);
        seen.breaches.extend(open.iter().map(|id| format!("item {} was never completed", id.0)));
        if seen.turn {
            seen.breaches.push("a turn was never ended".to_owned());
        }
    }
}

impl Seen {
    /// The rules of order, implemented a second time to verify `lifecycle.rs`.
    fn order(&mut self, event: &Event<'_>) {
        match event {
            Event::ItemStarted(head) => {
                if self.open.contains(&head.id) || self.done.contains(&head.id) {
                    self.breaches.push(format!("item {} started twice", head.id.0));
                }
                if let Some(message) = head.within.filter(|message| !self.open.contains(message)) {
                    self.breaches.push(format!("item {} within {}, not open", head.id.0, message.0));
                }
                self.open.push(head.id);
                match &head.kind {
                    ItemKind::ToolCall(call) => {
                        self.calls.extend(call.call_id.as_ref().map(|id| id.as_escaped().to_owned()));
                    }
                    ItemKind::ToolResult(result) => {
                        let id = result.call_id.as_ref().map(|id| id.as_escaped().to_owned());
                        self.orphans.extend(id.filter(|id| !self.calls.contains(id)));
                    }
                    ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
                }
            }
            Event::ItemDelta(delta) if !self.open.contains(&delta.item) => {
                self.breaches.push(format!("delta for item {}, not open", delta.item.0));
            }
            Event::ItemCompleted(tail) => match self.open.iter().position(|id| *id == tail.id) {
                Some(at) => {
                    self.open.remove(at);
                    self.done.insert(tail.id);
                }
                None => self.breaches.push(format!("completed item {}, not open", tail.id.0)),
            },
            Event::TurnStarted(_) => self.turn = true,
            Event::TurnEnded(_) | Event::Error(_) => self.turn = false,
            _ => {}
        }
    }
}

/// Lists the leaves below `val`; a claim on a container applies to all its leaves.
pub fn gather(val: Val<'_>, above: Claim, path: &mut String, leaves: &mut Vec<SeenLeaf>) {
    let claim = if above == Claim::Free { val.claimed() } else { above };
    let length = path.len();
    let mut inside = false;
    for (name, member) in val.members() {
        inside = true;
        path.push('/');
        path.push_str(name.as_escaped());
        gather(member, claim, path, leaves);
        path.truncate(length);
    }
    for element in val.elements() {
        inside = true;
        path.push_str("[]");
        gather(element, claim, path, leaves);
        path.truncate(length);
    }
    if !inside {
        leaves.push(SeenLeaf { path: path.clone(), span: val.span(), kind: val.kind(), claim });
    }
}
