//! The laws of readers: a claimed value affects the events, and is claimed for the field it becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use interlingua::dialects::Options;
use interlingua::ledger::{Leftover, LeftoverBody};
use interlingua::model::{Delta, Event, Field, ItemId, ItemKindTag, ItemTail};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use interlingua::tape::Claim;

use super::books::{Breach, Source};
use super::leaves::Words;
use super::watch::{SeenLeaf, gather};
use super::{Case, Sample};

pub const READER: &str = "a claimed leaf matters to the events";
pub const NAMED: &str = "a leaf is claimed for the field that it becomes";

/// A class of similar leaves: path, field, type.
pub type ClaimClass<'c> = (&'c str, Field, u8);

/// Changes leaves that are taken or noted: events, problems or claims must change.
pub fn reader_law<'c>(
    source: &'c Source<'_>,
    words: &Words,
    sample: &mut Sample<ClaimClass<'c>>,
) -> Vec<Breach> {
    let case = source.case;
    let mut breaches = Vec::new();
    for leaf in &source.leaves {
        let (Claim::Taken(field) | Claim::Noted(field)) = leaf.claim else { continue };
        if !sample.wants((&leaf.path, field, leaf.kind as u8)) {
            continue;
        }
        // A value that is now rejected had an effect, too; so had a value that is no longer claimed, such as an id that
        // is taken only where it repeats the id of the line before.
        let matters =
            |value: &String| !source.story.is_told_by(case.way, source.around(leaf, value), |_, _| false);
        if !words.others(case.way.0.name, &leaf.path, source.text(leaf), leaf.kind).iter().any(matters) {
            let how = format!("claimed ({}), but no event tells", field.word());
            breaches.push(Breach::new(READER, case, case.way, &leaf.path, how));
        }
    }
    breaches
}

/// Locates the values of events in their frame: the claim at that position must name the same field.
pub fn naming_law(case: &Case) -> Vec<Breach> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let writer = Places { values: Vec::new(), kinds: BTreeMap::new(), found: Arc::clone(&found) };
    let pipe = Pipe::with_writer(case.way, Box::new(writer), &Options::default()).expect("readable");
    pipe.finish_with(&case.bytes, &mut Vec::new());
    let found = std::mem::take(&mut *found.lock().expect("no panic while held"));
    found.into_iter().map(|(path, how)| Breach::new(NAMED, case, case.way, &path, how)).collect()
}

/// Stores the positions of event values until their frame is done.
struct Places {
    /// Addresses, and the field.
    values: Vec<(Range<usize>, Field)>,
    kinds: BTreeMap<ItemId, ItemKindTag>,
    /// The path, and the finding.
    found: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Writer for Places {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let of = match event {
            Event::ItemStarted(head) => {
                self.kinds.insert(head.id, ItemKindTag::item(&head.kind));
                ItemKindTag::item(&head.kind)
            }
            Event::ItemDelta(Delta { item: id, .. }) | Event::ItemCompleted(ItemTail { id, .. }) => {
                self.kinds.get(id).copied().unwrap_or(ItemKindTag::Message)
            }
            _ => ItemKindTag::Message,
        };
        event.clone().each_field(of, &mut |field, value| {
            if let Some(text) = value.source().filter(|text| !text.is_empty()) {
                // The address is only compared with the address of the frame.
                let start = text.as_ptr() as usize;
                self.values.push((start..start + text.len(), field));
            }
        });
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
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

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}
