//! Reads streams. Every item arrives in pieces; its end event and the response's end event repeat the whole item.

use std::collections::BTreeMap;

use super::content::Slot;
use super::items::{ItemReader, Where};
use super::{ResponseEcho, both, end, read_usage, status_of_rest};
use crate::dialects::openai::responses::ERRORS;
use crate::model::{Event, Failure, Field, Turn};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Val, WantedNames};
use crate::wire::answer::tell_before_failure;
use crate::wire::words::AnswerFacts;
use crate::wire::{note_blanks, note_tag};

/// Reads the events of a stream.
#[derive(Default)]
pub(in super::super) struct ResponseEventReader {
    echo: ResponseEcho,
    /// The items, by output index.
    items: BTreeMap<u64, ItemReader>,
    /// The output index of the item with the last event.
    last: u64,
    /// The expected sequence number of the next event.
    next: u64,
    is_over: bool,
}

/// Members that only locate a piece.
const PLACES: WantedNames<8> = WantedNames::new([
    "type",
    "sequence_number",
    "output_index",
    "item_id",
    "content_index",
    "summary_index",
    "obfuscation",
    "response",
]);

/// The location of a piece.
struct EventPlace<'t> {
    output: Option<Val<'t>>,
    item: Option<Val<'t>>,
    /// The index of the part in its list.
    part: Option<Val<'t>>,
    index: u64,
}

impl Reader for ResponseEventReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        let [tag, sequence, output, item, content, summary, padding, response] = root.find(&PLACES);
        let Some(tag) = tag.filter(|tag| tag.kind() == Kind::String && !self.is_over) else {
            if let Some(error) = root.get("error").filter(|error| !error.is_null() && !self.is_over) {
                self.fail(ERRORS.read(error), root, out);
            }
            return;
        };
        let word = tag.str().unwrap_or_default();
        let word = word.as_escaped();
        let part = content.or(summary);
        let index = part.and_then(|part| part.u64()).unwrap_or(0);
        let place = EventPlace { output, item, part, index };
        let event = word.strip_prefix("response.").unwrap_or(word);
        let ends = matches!(event, "completed" | "incomplete" | "failed" | "cancelled" | "done");
        // Without a status in the response, the event type is the stop reason.
        let says_end = ends && response.is_some_and(|response| response.get("status").is_none());
        if says_end {
            tag.note(Field::StopReason);
        }
        let known = match event {
            "created" | "queued" | "in_progress" => response
                .inspect(|response| {
                    self.echo.begin(*response, out);
                    note_tag(*response, "status", &["in_progress", "queued"]);
                })
                .is_some(),
            _ if ends => response.inspect(|response| self.end(*response, out)).is_some(),
            "error" => {
                self.fail(read_failure(root), root, out);
                true
            }
            "ping" | "keepalive" => true,
            "output_item.added" | "output_item.done" => {
                let begins = event == "output_item.added";
                root.get("item").is_some_and(|item| self.item(&place, item, begins, out))
            }
            _ => self.piece(event, &place, root, out),
        };
        if !known {
            return;
        }
        if !says_end {
            tag.note(Field::Structure);
        }
        // Padding that hides the length of tokens.
        padding.and_then(|padding| padding.note_text(Field::Padding));
        if let Some((sequence, number)) = sequence.and_then(|sequence| Some((sequence, sequence.u64()?))) {
            if number == self.next {
                sequence.note(Field::Structure);
            }
            self.next = number.saturating_add(1);
        }
    }

    fn sentinel(&mut self, text: &str, _: &mut EventSink<'_>) -> bool {
        // The end event of the response came before.
        text.trim() == "[DONE]"
    }
}

impl ResponseEventReader {
    /// The output index of a piece: stated, found by item id, or that of the last item.
    fn number_of(&self, place: &EventPlace<'_>) -> u64 {
        let by_id = || {
            let id = place.item?;
            self.items.iter().rev().find(|(_, item)| item.is_called(id)).map(|(number, _)| *number)
        };
        place.output.and_then(|output| output.u64()).or_else(by_id).unwrap_or(self.last)
    }

    /// Claims the location members whose values match the known item.
    fn note_place(&self, place: &EventPlace<'_>, number: u64, expected: bool) {
        let item = self.items.get(&number);
        place.output.map(|output| output.note_count(Field::Structure));
        if let Some(id) = place.item.filter(|id| item.is_some_and(|item| item.is_called(*id))) {
            id.note(Field::Structure);
        }
        if let Some(part) = place.part.filter(|_| expected) {
            part.note_count(Field::Structure);
        }
    }

    /// Reads the start or end of an item. Returns `false` for an unknown item type.
    fn item(&mut self, place: &EventPlace<'_>, item: Val<'_>, begins: bool, out: &mut EventSink<'_>) -> bool {
        let next = self.items.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        let number = match place.output.and_then(|output| output.u64()) {
            Some(number) => number,
            None if begins => next,
            None => self.last,
        };
        let reader = self.items.entry(number).or_insert_with(|| ItemReader::new(Where::Stream));
        if begins {
            reader.begin(item, out);
        } else {
            reader.read(item, out);
        }
        self.last = number;
        let known = reader.has_begun();
        // The index of an unknown item stays unclaimed.
        if known {
            place
                .output
                .filter(|_| !begins || number == next)
                .map(|output| output.note_count(Field::Structure));
        }
        known
    }

    /// Reads a piece of an item, or a whole part. Returns `false` for an unknown event.
    fn piece(&mut self, event: &str, place: &EventPlace<'_>, root: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let (member, slot, is_whole) = match event {
            "output_text.delta" => ("delta", Slot::Text, false),
            "refusal.delta" => ("delta", Slot::Refusal, false),
            "reasoning_summary_text.delta" => ("delta", Slot::Summary, false),
            "reasoning_text.delta" => ("delta", Slot::Thought, false),
            "function_call_arguments.delta" | "custom_tool_call_input.delta" | "mcp_call_arguments.delta" => {
                ("delta", Slot::Arguments, false)
            }
            "output_text.done" => ("text", Slot::Text, true),
            "refusal.done" => ("refusal", Slot::Refusal, true),
            "reasoning_summary_text.done" => ("text", Slot::Summary, true),
            "reasoning_text.done" => ("text", Slot::Thought, true),
            "function_call_arguments.done" | "mcp_call_arguments.done" => {
                ("arguments", Slot::Arguments, true)
            }
            "custom_tool_call_input.done" => ("input", Slot::Arguments, true),
            "content_part.added" | "reasoning_summary_part.added" | "reasoning_part.added" => {
                return self.part(place, root, PartMoment::Begins, out);
            }
            "content_part.done" | "reasoning_summary_part.done" | "reasoning_part.done" => {
                return self.part(place, root, PartMoment::Ends, out);
            }
            "output_text.annotation.added" | "output_text_annotation.added" => {
                return self.annotation(place, root, out);
            }
            _ => return self.is_progress(event, place),
        };
        let number = self.number_of(place);
        let index = if slot == Slot::Arguments { 0 } else { place.index };
        let Some(value) = root.get(member).filter(|value| value.kind() == Kind::String) else { return false };
        let reader = self.items.entry(number).or_insert_with(|| ItemReader::new(Where::Stream));
        let expected = reader.expects(slot, index);
        let known = if is_whole {
            reader.tell(slot, index, value, out)
        } else {
            reader.piece(slot, index, value, out)
        };
        self.last = number;
        if known {
            note_blanks(root);
            self.note_place(place, number, expected);
        }
        known
    }

    /// Reads the start of a part, which usually has an empty text, or its end, which repeats the part.
    fn part(
        &mut self,
        place: &EventPlace<'_>,
        root: Val<'_>,
        extent: PartMoment,
        out: &mut EventSink<'_>,
    ) -> bool {
        let number = self.number_of(place);
        let (Some(part), Some(reader)) = (root.get("part"), self.items.get_mut(&number)) else {
            return false;
        };
        let Some((_, _, slot)) = super::content::text_member(part).filter(|_| reader.has_begun()) else {
            return false;
        };
        let expected = reader.expects(slot, place.index);
        match extent {
            PartMoment::Begins if !reader.begin_part(part, place.index, out) => return false,
            PartMoment::Begins => {}
            PartMoment::Ends => reader.read_part(part, place.index, out),
        }
        self.note_place(place, number, expected);
        true
    }

    fn annotation(&mut self, place: &EventPlace<'_>, root: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let number = self.number_of(place);
        let (Some(note), Some(reader)) = (root.get("annotation"), self.items.get_mut(&number)) else {
            return false;
        };
        let at = root.get("annotation_index").and_then(|at| at.u64()).unwrap_or(0);
        let (count, expected) = (reader.annotations(place.index), reader.expects(Slot::Text, place.index));
        reader.annotate((Slot::Text, place.index), usize::try_from(at).unwrap_or(usize::MAX), note, out);
        if at == count as u64 {
            root.note_u64("annotation_index", Field::Structure);
        }
        self.note_place(place, number, expected);
        true
    }

    /// Whether an event only reports the progress of a call of the provider's own tools.
    fn is_progress(&self, event: &str, place: &EventPlace<'_>) -> bool {
        let progress = [".in_progress", ".searching", ".interpreting", ".generating", ".completed"];
        let is_it = event.contains("_call") && progress.iter().any(|word| event.ends_with(word));
        let number = self.number_of(place);
        if is_it && self.items.get(&number).is_some_and(ItemReader::has_begun) {
            self.note_place(place, number, false);
            return true;
        }
        false
    }

    fn end(&mut self, response: Val<'_>, out: &mut EventSink<'_>) {
        self.echo.begin(response, out);
        let mut facts = AnswerFacts::default();
        for (number, item) in response.get("output").into_iter().flat_map(|list| list.elements()).enumerate()
        {
            // Unknown items count in the numbering too.
            let reader = self.items.entry(number as u64).or_insert_with(|| ItemReader::new(Where::Stream));
            out.within(item, |out| reader.read(item, out));
        }
        self.is_over = true;
        if let Some(failure) = super::read_failure(response) {
            let usage = response.get("usage").filter(|usage| usage.kind() == Kind::Object).map(read_usage);
            if usage.is_some() {
                out.event(&Event::Usage(Turn { usage, ..Turn::default() }));
            }
            return out.event(&Event::Error(failure));
        }
        let rest = status_of_rest(response);
        for item in self.items.values_mut() {
            item.end(rest, out);
            facts = both(facts, item.facts());
        }
        end(response, facts, out);
    }

    /// Ends the response with an error. Some servers send the usage beside the error.
    fn fail(&mut self, failure: Failure<'_>, root: Val<'_>, out: &mut EventSink<'_>) {
        self.is_over = true;
        let usage = root.get("usage").filter(|usage| usage.kind() == Kind::Object).map(super::read_usage);
        tell_before_failure(usage, None, std::iter::empty(), out);
        out.event(&Event::Error(failure));
    }
}

/// Whether a part starts or ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartMoment {
    Begins,
    Ends,
}

/// The error in an `error` event: beside its type, or in an `error` object.
fn read_failure(root: Val<'_>) -> Failure<'_> {
    note_blanks(root);
    if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
        return ERRORS.read(error);
    }
    ERRORS.read(root)
}
