//! An entry of a record as the reader sees it: its members, independent of the profile.

use super::call_ids::SYNTHETIC;
use super::profile::{DraftProfile, OURS};
use crate::json::Raw;
use crate::model::Field;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// Declares the members that nearly every entry has, so that one pass finds them all.
macro_rules! entry_members {
    ($($member:ident = $name:literal,)*) => {
        /// An entry or a child.
        pub(super) struct ReadEntry<'t> {
            /// The whole entry.
            pub(super) map: Val<'t>,
            /// The map with the rarer members outside the draft.
            pub(super) ours: Val<'t>,
            /// Members of `token-usage` outside the draft.
            usage_rest: Option<Val<'t>>,
            pub(super) profile: DraftProfile,
            $(pub(super) $member: Option<Val<'t>>,)*
        }

        impl<'t> ReadEntry<'t> {
            pub(super) fn new(map: Val<'t>, profile: DraftProfile) -> Self {
                const NAMES: WantedNames<{ [$($name),*].len() }> = WantedNames::new([$($name),*]);
                let [$($member),*] = map.find(&NAMES);
                let entry = Self { map, ours: map, usage_rest: None, profile, $($member),* };
                if profile == DraftProfile::V3 {
                    return entry;
                }
                // In closed maps, members outside the draft are in `vendor-ext`.
                let data = entry.data.and_then(|data| data.get("data"));
                let vendor = entry.data.and_then(|data| data.get("vendor"));
                note_filler(vendor);
                let beside = entry.ext.and_then(|ext| ext.get("data"));
                if beside.is_some_and(|beside| beside.get("line").is_none()) {
                    note_filler(entry.ext.and_then(|ext| ext.get("vendor")));
                }
                let said = beside.and_then(|beside| beside.get("said"));
                let mut entry = match said {
                    Some(said) => {
                        let [$($member),*] = said.find(&NAMES);
                        let usage_rest = said.get("token-usage");
                        Self { map, ours: said, usage_rest, profile, $($member: entry.$member.or($member)),* }
                    }
                    None => entry,
                };
                entry.data = data;
                entry
            }
        }
    };
}

entry_members! {
    kind = "type",
    event_type = "event-type",
    data = "data",
    content = "content",
    input = "input",
    input_form = "input-form",
    output = "output",
    files = "files",
    encrypted = "encrypted",
    signature = "signature",
    children = "children",
    part = "part",
    id = "id",
    parent_id = "parent-id",
    call_id = "call-id",
    name = "name",
    time = "timestamp",
    native_time = "native-time",
    model = "model-id",
    status = "status",
    is_error = "is-error",
    outcome = "outcome",
    usage = "token-usage",
    stop_reason = "stop-reason",
    ext = "vendor-ext",
}

impl<'t> ReadEntry<'t> {
    /// The content of the entry.
    pub(super) fn content(&self) -> Option<Val<'t>> {
        match self.kind.word() {
            "user" | "assistant" | "reasoning" => self.content,
            "tool-call" => self.input,
            "tool-result" => self.output,
            _ => self.data.and_then(|data| data.get("content")),
        }
    }

    /// The time of the entry.
    pub(super) fn take_time(&self, field: Field) -> Option<Raw<'t>> {
        let time = [self.time, self.native_time].into_iter().flatten().find(|time| !time.is_null());
        time.map(|time| time.take(field))
    }

    /// Whether the entry exists only for its usage, or for a line without events.
    pub(super) fn is_bare(&self) -> bool {
        let empty = |data: Val<'_>| data.kind() == Kind::Object && data.members().next().is_none();
        self.event_type.is_some_and(|kind| kind.is("usage") || kind.is("line"))
            && self.data.is_some_and(empty)
    }

    /// Whether the `call-id` is marked as synthetic.
    pub(super) fn has_synthetic_call_id(&self) -> bool {
        self.call_id.is_some() && self.ours.get(SYNTHETIC).is_some_and(|mark| mark.bool() == Some(true))
    }

    /// Notes a synthetic `call-id`, which follows from the order of the entries.
    pub(super) fn note_synthetic_call_id(&self) {
        for ours in [self.call_id, self.ours.get(SYNTHETIC)].into_iter().flatten() {
            ours.note(Field::Structure);
        }
    }

    /// The elements of `children`.
    pub(super) fn children(&self) -> impl Iterator<Item = ReadEntry<'t>> + use<'t> {
        let (children, profile) = (self.children, self.profile);
        let children = children.into_iter().flat_map(|children| children.elements());
        children.map(move |child| ReadEntry::new(child, profile))
    }

    /// The entry's `token-usage`.
    pub(super) fn usage(&self) -> Option<ReadUsage<'t>> {
        let [counts, rest] =
            [self.usage, self.usage_rest].map(|map| map.filter(|map| map.kind() == Kind::Object));
        let counts = counts?;
        Some(ReadUsage { counts, rest: rest.unwrap_or(counts) })
    }

    /// The vendor and the lines: the first, the others, and the space around them.
    pub(super) fn kept(&self) -> [Option<Val<'t>>; 4] {
        const NAMES: WantedNames<4> = WantedNames::new(["vendor", "data", "more", "space"]);
        const CLOSED: WantedNames<3> = WantedNames::new(["line", "more", "space"]);
        let Some(ext) = self.ext else { return [None; 4] };
        let kept = ext.find(&NAMES);
        match (self.profile, kept) {
            (DraftProfile::V3, kept) => kept,
            (DraftProfile::V2, [vendor, data, ..]) => {
                let [line, more, space] = data.map(|data| data.find(&CLOSED)).unwrap_or_default();
                [vendor, line, more, space]
            }
        }
    }
}

/// The usage of an entry: the draft's counts, and the rest.
#[derive(Clone, Copy)]
pub(super) struct ReadUsage<'t> {
    pub(super) counts: Val<'t>,
    pub(super) rest: Val<'t>,
}

/// Notes the filler for a required vendor name.
fn note_filler(vendor: Option<Val<'_>>) {
    vendor.filter(|vendor| vendor.is(OURS)).map(|vendor| vendor.note(Field::Padding));
}
