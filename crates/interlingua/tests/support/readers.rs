//! The laws of readers: what is claimed matters to the events, and is claimed for the field that it becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use interlingua::dialects::Options;
use interlingua::ledger::{Leftover, LeftoverBody};
use interlingua::model::{Delta, Event, Field, ItemId, ItemTail, Of};
use interlingua::pipe::{Pipe, Target, Writer};
use interlingua::tape::Claim;

use super::Case;
use super::books::{Breach, Source};
use super::leaves::Words;
use super::watch::{Look, SeenLeaf, gather, watch};

pub const READER: &str = "a claimed leaf matters to the events";
pub const NAMED: &str = "a leaf is claimed for the field that it becomes";

/// Changes each leaf that is claimed, taken or noted: events, problems or claims must change.
pub fn reader_law(source: &Source<'_>, words: &Words, most: usize) -> Vec<Breach> {
    let case = source.case;
    let (seen, report) = watch(case.way, &case.bytes, Look::Leaves);
    let claims = |frames: &[super::watch::SeenFrame]| -> Vec<Claim> {
        frames.iter().flat_map(|frame| &frame.leaves).map(|leaf| leaf.claim).collect()
    };
    let before = claims(&seen.frames);
    let mut tried: BTreeMap<(&str, Field), usize> = BTreeMap::new();
    let mut breaches = Vec::new();
    for leaf in &source.leaves {
        let (Claim::Taken(field) | Claim::Noted(field)) = leaf.claim else { continue };
        let count = tried.entry((&leaf.path, field)).or_default();
        *count += 1;
        if *count > most {
            continue;
        }
        let matters = |value: &String| {
            let (again, other) = watch(case.way, &source.with(leaf, value), Look::Leaves);
            // A value that is now refused has mattered, too; so has one that is no longer claimed, such as an id that
            // is only taken where it repeats the one on the line before.
            again.events != seen.events
                || other.problems.len() != report.problems.len()
                || claims(&again.frames) != before
        };
        if !words.others(case.way.0.name, &leaf.path, source.text(leaf), leaf.kind).iter().any(matters) {
            let how = format!("claimed ({}), but no event tells", field.word());
            breaches.push(Breach::new(READER, case, case.way, &leaf.path, how));
        }
    }
    breaches
}

/// Looks where the values of the events lie in their frame: who claimed that place must have named the field.
pub fn naming_law(case: &Case) -> Vec<Breach> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let writer = Places { values: Vec::new(), kinds: BTreeMap::new(), found: Arc::clone(&found) };
    let mut pipe = Pipe::with_writer(case.way, Box::new(writer), &Options::default()).expect("readable");
    pipe.finish_with(&case.bytes, &mut Vec::new());
    let found = std::mem::take(&mut *found.lock().expect("no panic while held"));
    found.into_iter().map(|(path, how)| Breach::new(NAMED, case, case.way, &path, how)).collect()
}

/// Remembers where the values of events lie until their frame is done.
struct Places {
    /// Addresses, and the field.
    values: Vec<(Range<usize>, Field)>,
    kinds: BTreeMap<ItemId, Of>,
    /// Path, and what was found.
    found: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Writer for Places {
    fn event(&mut self, event: &Event<'_>, _: &mut Target<'_>) {
        let of = match event {
            Event::ItemStarted(head) => {
                self.kinds.insert(head.id, Of::item(&head.kind));
                Of::item(&head.kind)
            }
            Event::ItemDelta(Delta { item: id, .. }) | Event::ItemCompleted(ItemTail { id, .. }) => {
                self.kinds.get(id).copied().unwrap_or(Of::Message)
            }
            _ => Of::Message,
        };
        event.clone().each_field(of, &mut |field, value| {
            if let Some(text) = value.source().filter(|text| !text.is_empty()) {
                // Only compared with the address of the frame.
                let start = text.as_ptr() as usize;
                self.values.push((start..start + text.len(), field));
            }
        });
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        if let LeftoverBody::Frame(tape) = leftover.body {
            let base = tape.text().as_ptr() as usize;
            let mut leaves = Vec::new();
            gather(tape.root(), Claim::Free, &mut String::new(), &mut leaves);
            let mut found = self.found.lock().expect("no panic while held");
            for SeenLeaf { path, span, claim, .. } in leaves {
                let place = base + span.start..base + span.end;
                let became: BTreeSet<Field> = self
                    .values
                    .iter()
                    .filter(|(value, _)| value.start < place.end && place.start < value.end)
                    .map(|(_, field)| *field)
                    .collect();
                let wrong = match claim {
                    Claim::Placed => false,
                    Claim::Free => !became.is_empty(),
                    Claim::Taken(field) | Claim::Noted(field) => {
                        !became.is_empty() && !became.contains(&field)
                    }
                };
                if wrong {
                    let words: Vec<&str> = became.iter().map(|field| field.word()).collect();
                    found.insert((path, format!("{claim:?}, but becomes {}", words.join(", "))));
                }
            }
        }
        if !matches!(leftover.body, LeftoverBody::Kept { .. }) {
            self.values.clear();
        }
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut Target<'_>) {}
}
