//! The law of writers: a wrapper around the real writer changes one field of one event, and the effect must match the
//! support table of the target.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use interlingua::dialects::{Options, WriteSpec};
use interlingua::ledger::{Leftover, Reason, Report};
use interlingua::model::{Delta, Event, Field, ItemHead, ItemId, ItemKindTag, ItemTail, Support};
use interlingua::pipe::{Pipe, Writer, WriterOutput};

use super::books::{Breach, Essence, Fates};
use super::{Case, Outcome, Sample, Way, unless_other};

pub const WRITER: &str = "what a table says of a field is so";

/// Changes fields of events before the writer of `to` gets them.
pub fn writer_law(case: &Case, to: Way, sample: &mut Sample<Field>) -> Vec<Breach> {
    let spec = to.0.role(to.1).and_then(|spec| spec.write.as_ref()).expect("a target is written");
    let (before, seen) = run(case, spec);
    let (fates, essence) = (Fates::of(&before.report), Essence::of(&before.report));
    let mut breaches = Vec::new();
    for seat in seen.seats {
        let Seat { field, frame, .. } = seat;
        if !sample.wants(field) {
            continue;
        }
        let changes = |tampering: Tampering| rerun(case, spec, tampering, &before.bytes).is_none();
        let told = |tampering: Tampering| {
            let after = rerun(case, spec, tampering, &before.bytes);
            after.is_none_or(|report| Essence::of(&report) != essence)
        };
        let how = match (spec.support)(field) {
            Support::Exactly | Support::Emulated(_) if !seat.tamperings().into_iter().any(changes) => {
                "said to be said, but no change shows"
            }
            Support::Exactly | Support::Emulated(_) if !seen.refused && fates.gives_up(field) => {
                "said to be said, but lost here"
            }
            Support::Exactly | Support::Emulated(_) => continue,
            // A value without a leaf cannot be booked.
            Support::Less(_) if !fates.is_mapped_in(frame, field) || fates.is_lost_in(frame, field) => {
                continue;
            }
            Support::Less(_) if seat.tamperings().into_iter().any(told) => continue,
            Support::Less(_) => "said to be said in part, but neither a change nor a loss shows",
            Support::No(_) if changes(seat.once()) => "said not to be said, but a change shows",
            Support::No(_) if fates.is_mapped_in(frame, field) => "said not to be said, but booked as mapped",
            Support::No(_) => continue,
        };
        let how = format!("{how} (value {} of its name in an event of frame {frame})", seat.nth);
        breaches.push(Breach::new(WRITER, case, to, field.word(), how));
    }
    breaches
}

/// A value in the events: the `nth` value of its field in that event.
#[derive(Clone, Copy)]
struct Seat {
    event: usize,
    field: Field,
    nth: usize,
    frame: u64,
}

impl Seat {
    fn once(self) -> Tampering {
        Tampering { seat: self, steps: 1, later: false }
    }

    /// Ways to change the value, from the smallest change on. Several words of a closed set may map to one, so more
    /// than the next word is tried. Facts of a turn or a session are repeated, and the last value counts, so later
    /// events are changed as well.
    fn tamperings(self) -> Vec<Tampering> {
        let word = self.field.word();
        let is_retold = ["turn/", "usage/", "session/"].iter().any(|group| word.starts_with(group));
        let mut ways: Vec<Tampering> = (1..=4).map(|steps| Tampering { steps, ..self.once() }).collect();
        if is_retold {
            ways.extend((1..=4).map(|steps| Tampering { steps, later: true, ..self.once() }));
        }
        ways
    }
}

/// A change of a value.
#[derive(Clone, Copy)]
struct Tampering {
    seat: Seat,
    /// How often the value is changed to the next value.
    steps: usize,
    /// Whether the same field changes in all later events, too.
    later: bool,
}

impl Tampering {
    fn is_in(&self, event: usize) -> bool {
        event == self.seat.event || self.later && event > self.seat.event
    }

    fn is_at(&self, event: usize, field: Field, nth: usize) -> bool {
        // Our word and the source's word for the same fact: a writer may use either, so both change.
        let both = match self.seat.field {
            Field::StopReason | Field::ItemStatus => field == self.seat.field,
            Field::ErrorCode => matches!(field, Field::ErrorCode | Field::ErrorClass),
            _ => false,
        };
        both || field == self.seat.field && (nth == self.seat.nth || event > self.seat.event)
    }
}

#[derive(Default)]
struct Seen {
    seats: Vec<Seat>,
    /// Whether the target had no place for an item.
    refused: bool,
}

/// The unchanged conversion.
fn run(case: &Case, spec: &WriteSpec) -> (Outcome, Seen) {
    let (pipe, seen) = tampered(case, spec, None);
    let mut bytes = Vec::new();
    let report = pipe.finish_with(&case.bytes, &mut bytes);
    let seen = std::mem::take(&mut *seen.lock().expect("no panic while held"));
    (Outcome { bytes, report }, seen)
}

/// The conversion with a changed value: its report, unless the output differs.
fn rerun(case: &Case, spec: &WriteSpec, change: Tampering, before: &[u8]) -> Option<Report> {
    unless_other(tampered(case, spec, Some(change)).0, [&case.bytes[..]], before)
}

fn tampered(case: &Case, spec: &WriteSpec, change: Option<Tampering>) -> (Pipe, Arc<Mutex<Seen>>) {
    let options = Options::default().with_trace(change.is_none());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let writer = Tamper {
        inner: (spec.make)(&options),
        change,
        events: 0,
        kinds: BTreeMap::new(),
        seen: Arc::clone(&seen),
    };
    let pipe = Pipe::with_writer_and_support(case.way, (Box::new(writer), spec.support), &options)
        .expect("readable");
    (pipe, seen)
}

/// Passes all events to the real writer, with one value changed.
struct Tamper {
    inner: Box<dyn Writer>,
    change: Option<Tampering>,
    /// The number of events so far.
    events: usize,
    kinds: BTreeMap<ItemId, ItemKindTag>,
    seen: Arc<Mutex<Seen>>,
}

impl Tamper {
    fn of(&mut self, event: &Event<'_>) -> ItemKindTag {
        match event {
            Event::ItemStarted(head) => {
                let of = ItemKindTag::item(&head.kind);
                self.kinds.insert(head.id, of);
                of
            }
            Event::ItemDelta(Delta { item: id, .. }) | Event::ItemCompleted(ItemTail { id, .. }) => {
                self.kinds.get(id).copied().unwrap_or(ItemKindTag::Message)
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => ItemKindTag::Message,
        }
    }

    /// The event with the value changed, if the change applies to this event. The other values still borrow from their
    /// frame.
    fn changed<'a>(&self, event: &Event<'a>, of: ItemKindTag) -> Option<Event<'a>> {
        let tampering = self.change.filter(|tampering| tampering.is_in(self.events))?;
        let mut event = event.clone();
        let mut count: BTreeMap<Field, usize> = BTreeMap::new();
        event.each_field(of, &mut |field, value| {
            let nth = count.entry(field).or_default();
            if tampering.is_at(self.events, field, *nth) {
                (0..tampering.steps).for_each(|_| value.change());
            }
            *nth += 1;
        });
        Some(event)
    }
}

impl Writer for Tamper {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        let event = Event::ItemStarted(head.clone());
        let verdict = match self.changed(&event, ItemKindTag::item(&head.kind)) {
            Some(Event::ItemStarted(changed)) => self.inner.takes(&changed),
            _ => self.inner.takes(head),
        };
        if verdict.is_err() {
            self.seen.lock().expect("no panic while held").refused = true;
        }
        verdict
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.inner.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.inner.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let of = self.of(event);
        let number = self.events;
        if self.change.is_none() {
            let mut seen = self.seen.lock().expect("no panic while held");
            let mut count: BTreeMap<Field, usize> = BTreeMap::new();
            let frame = out.ledger.frame_number();
            event.clone().each_field(of, &mut |field, _| {
                let nth = count.entry(field).or_default();
                seen.seats.push(Seat { event: number, field, nth: *nth, frame });
                *nth += 1;
            });
        }
        match self.changed(event, of) {
            Some(changed) => self.inner.event(&changed, out),
            None => self.inner.event(event, out),
        }
        self.events += 1;
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.inner.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.inner.finish(out);
    }
}
