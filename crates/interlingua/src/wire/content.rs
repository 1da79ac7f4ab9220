//! Content that is being gathered: written as a string if it is a single text, else as a list of parts.

use super::profile::BlankText;
use crate::json::{JsonBuffer, JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{Arrival, Delta, Field, ItemId, Part};
use crate::pipe::{ReadPlace, WriterOutput};

/// A text held until it is decided whether the target accepts it, with the number of its frame.
#[derive(Debug)]
pub(crate) struct HeldText {
    text: String,
    read: ReadPlace,
}

impl HeldText {
    pub(crate) fn new(text: &Str<'_>, out: &WriterOutput<'_>) -> Self {
        Self { text: text.as_escaped().to_owned(), read: out.read_place() }
    }

    pub(crate) fn text(&self) -> Str<'_> {
        Str::escaped(&self.text)
    }

    /// Books the text as lost reasoning.
    pub(crate) fn lose_thought(&self, reason: Reason, out: &mut WriterOutput<'_>) {
        match out.at(self.read) {
            Some(mut out) => out.lose_thought(&self.text(), reason),
            None => out.ledger.lose_late(Field::ReasoningText, reason, 1, self.text.len() as u64),
        }
    }

    /// Books the text as lost. If its frame is still current, the loss goes to the frame's last value of the field
    /// that is not booked yet.
    pub(crate) fn lose(&self, field: Field, reason: Reason, out: &mut WriterOutput<'_>) {
        match out.at(self.read) {
            Some(mut out) => out.lose_str(field, &self.text(), reason),
            None => out.ledger.lose_late(field, reason, 1, self.text.len() as u64),
        }
    }
}

/// Parts that are being gathered.
#[derive(Debug, Default)]
pub(crate) struct WireContent {
    held: JsonBuffer,
    parts: u32,
    /// The number of parts a string cannot represent: parts other than text, or text with a mark.
    others: u32,
    /// The last added part of an item; `None` after a part of our own.
    last: Option<(ItemId, u32)>,
    /// The last part is a text whose string is still open.
    open: bool,
    /// The last part is a plain text.
    ends_in_text: bool,
    form: TextForm,
    /// The beginning of a text that is blank so far, if the target refuses blank texts.
    blank: Vec<HeldText>,
}

/// The text part of most dialects, up to its text.
pub(crate) const TEXT_PART: &str = r#"{"type":"text","text":""#;

/// A dialect's form of a text part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextForm {
    /// The JSON of the part, up to its text.
    pub(crate) head: &'static str,
    /// The handling of blank texts.
    pub(crate) blank: BlankText,
}

impl Default for TextForm {
    fn default() -> Self {
        Self { head: TEXT_PART, blank: BlankText::Take }
    }
}

impl WireContent {
    pub(crate) fn new(form: TextForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// Whether the target refuses the piece: a complete, blank text.
    pub(crate) fn refuses(&self, delta: &Delta<'_>) -> bool {
        let Delta { item, part, value, arrival } = delta;
        let (Part::Text(text) | Part::Summary(text) | Part::Refusal(text)) = value else { return false };
        self.form.blank == BlankText::Refuse
            && *arrival == Arrival::Whole
            && self.last != Some((*item, *part))
            && is_blank(text)
    }

    /// Adds text, or a piece of it; pieces of the same part are joined.
    pub(crate) fn text(&mut self, item: ItemId, part: u32, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        if self.last != Some((item, part)) {
            self.end(out);
            self.last = Some((item, part));
        }
        if !self.open {
            if self.form.blank == BlankText::Refuse && is_blank(text) {
                return self.blank.push(HeldText::new(text, out));
            }
            self.parts += 1;
            self.open = true;
            let mut json = self.held.hold();
            json.up_to_value(self.form.head);
            for held in self.blank.drain(..) {
                json.piece(&held.text());
            }
        }
        self.held.hold().piece(text);
    }

    /// Starts a part that is not text and belongs to no item; the returned writer writes it.
    pub(crate) fn part(&mut self, out: &mut WriterOutput<'_>) -> JsonWriter<'_> {
        self.end(out);
        self.parts += 1;
        self.others += 1;
        self.ends_in_text = false;
        self.held.hold()
    }

    /// Adds a part of an item that is not text.
    pub(crate) fn item_part(
        &mut self,
        item: ItemId,
        part: u32,
        json: &JsonBuffer,
        out: &mut WriterOutput<'_>,
    ) {
        self.part(out).values(json.bytes());
        self.last = Some((item, part));
    }

    /// Continues the part that [`WireContent::part`] started.
    pub(crate) fn more(&mut self) -> JsonWriter<'_> {
        self.held.hold()
    }

    /// Adds members to the given part if it is the last part; returns whether it is.
    pub(crate) fn add_members(
        &mut self,
        item: ItemId,
        part: u32,
        write: impl FnOnce(&mut JsonWriter<'_>),
    ) -> bool {
        if self.last != Some((item, part)) || self.parts == 0 || !self.blank.is_empty() {
            return false;
        }
        if std::mem::take(&mut self.open) {
            self.held.hold().close_string();
            self.others += 1;
        } else if !self.held.reopen_object() {
            return false;
        }
        let mut json = self.held.hold();
        write(&mut json);
        json.end_object();
        self.ends_in_text = false;
        // A second mark, or more text, does not belong to this part.
        self.last = None;
        true
    }

    /// Moves all parts of another, ended content into this content.
    pub(crate) fn absorb(&mut self, other: &mut WireContent) {
        if self.parts == 0 {
            std::mem::swap(&mut self.held, &mut other.held);
        } else if other.parts > 0 {
            self.held.hold().values(other.held.bytes());
        }
        self.parts += other.parts;
        self.others += other.others;
        self.last = None;
        other.clear();
    }

    /// Ends the last text. A text that is still blank is booked as lost.
    pub(crate) fn end(&mut self, out: &mut WriterOutput<'_>) {
        self.last = None;
        if std::mem::take(&mut self.open) {
            self.held.hold().close_string().end_object();
            self.ends_in_text = true;
        }
        if !self.blank.is_empty() {
            self.lose_blank(out);
        }
    }

    #[cold]
    fn lose_blank(&mut self, out: &mut WriterOutput<'_>) {
        for held in self.blank.drain(..) {
            held.lose(Field::MessageText, Reason::Refused, out);
        }
    }

    /// Trims whitespace off the end of the last part, if it is a text; returns whether there was any.
    pub(crate) fn trim_end(&mut self) -> bool {
        const SPACES: [&str; 6] = [" ", "\\n", "\\t", "\\r", "\\u0020", "\\u00a0"];
        let text = self.held.held().strip_suffix("\"}").filter(|_| self.ends_in_text);
        let Some(text) = text else { return false };
        let mut rest = text;
        while let Some(shorter) = SPACES.iter().find_map(|space| rest.strip_suffix(space)) {
            // A preceding backslash makes the escape a literal text.
            let slashes = shorter.bytes().rev().take_while(|byte| *byte == b'\\').count();
            if slashes % 2 == 1 {
                break;
            }
            rest = shorter;
        }
        let cut = text.len() - rest.len();
        // Blank texts are refused earlier.
        if cut > 0 && !rest.ends_with(self.form.head) {
            self.held.cut_before(2, cut);
        }
        cut > 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Removes a member, in exactly this spelling, from every part of the ended content; returns whether any part had
    /// it. Quotes inside a text are escaped, so no text can match the member.
    pub(crate) fn remove_member(&mut self, member: &str) -> bool {
        // A text part with a further member counts in `others`.
        let has = self.others > 0 && memchr::memmem::find(self.held.bytes(), member.as_bytes()).is_some();
        if has {
            let without = self.held.held().replace(member, "");
            self.held.clear();
            self.held.hold().bytes(without.as_bytes());
        }
        has
    }

    /// Whether the content is a single plain text, which a string can represent.
    pub(crate) fn is_one_text(&self) -> bool {
        (self.parts, self.others) == (1, 0)
    }

    /// Whether the first part is a text with the given beginning.
    pub(crate) fn begins_with(&self, mark: &str) -> bool {
        self.held.bytes().get(self.form.head.len()..).is_some_and(|text| text.starts_with(mark.as_bytes()))
    }

    /// Writes the ended content, as a string if it is a single text, and resets it.
    pub(crate) fn write(&mut self, json: &mut JsonWriter<'_>) {
        self.write_marked("", json);
    }

    /// The same with a mark at the beginning of the first part, which is a text if there is a mark.
    pub(crate) fn write_marked(&mut self, mark: &str, json: &mut JsonWriter<'_>) {
        let held = self.held.bytes();
        let form = self.form.head;
        let text = held.get(form.len()..).unwrap_or_default();
        match (self.parts, self.others) {
            (0, _) => _ = json.literal(mark),
            // The part contains the string with its quotes, and ends with a brace.
            (1, 0) if mark.is_empty() => {
                json.values(held.get(form.len() - 1..held.len() - 1).unwrap_or_default());
            }
            (1, 0) => {
                json.open_string().piece(&Str::escaped(mark));
                // The quote and the brace at the end belong to the part.
                json.bytes(text.strip_suffix(b"\"}").unwrap_or(text));
                json.close_string();
            }
            _ if mark.is_empty() => _ = json.array().values(held).end_array(),
            _ => {
                json.array().up_to_value(form);
                json.bytes(mark.as_bytes());
                json.bytes(text);
                json.end_array();
            }
        }
        self.clear();
    }

    /// Writes the ended content, which consists of texts only, as one string with a line per text, and resets it;
    /// returns the number of texts.
    pub(crate) fn write_lines(&mut self, json: &mut JsonWriter<'_>) -> u32 {
        let texts = self.parts;
        if texts <= 1 {
            self.write(json);
            return texts;
        }
        let form = self.form.head;
        // An unescaped quote followed by a brace cannot occur inside a text.
        let between = format!("\"}},{form}");
        let held = self.held.bytes().get(form.len()..).unwrap_or_default();
        let mut rest = held.strip_suffix(b"\"}").unwrap_or(held);
        json.open_string();
        while let Some(at) = memchr::memmem::find(rest, between.as_bytes()) {
            json.bytes(rest.get(..at).unwrap_or_default());
            json.piece(&Str::escaped("\\n"));
            rest = rest.get(at + between.len()..).unwrap_or_default();
        }
        json.bytes(rest);
        json.close_string();
        self.clear();
        texts
    }

    /// Writes the parts of the ended content into an open list, and resets the content.
    pub(crate) fn write_parts(&mut self, json: &mut JsonWriter<'_>) {
        if self.parts > 0 {
            json.values(self.held.bytes());
        }
        self.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.held.clear();
        self.blank.clear();
        (self.parts, self.others, self.last, self.open, self.ends_in_text) = (0, 0, None, false, false);
    }
}

/// Whether a text consists of whitespace only.
pub(crate) fn is_blank(text: &Str<'_>) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    !text.as_escaped().bytes().next().is_some_and(plain) && text.decode().trim().is_empty()
}
