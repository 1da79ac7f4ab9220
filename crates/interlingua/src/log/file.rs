//! The output file of a log: its frames, the separators between them, and the facts of the session.

use std::collections::BTreeMap;

use super::LogRules;
use super::fill::{Filled, Fillings, fill};
use super::gather::GatheredItem;
use super::identity::{MadeUpId, SessionIds};
use super::values::NativeValue;
use crate::dialects::Options;
use crate::dialects::ours::record;
use crate::error::{Code, Problem, Window};
use crate::framing::Framing;
use crate::json::{JsonBuffer, Raw, Str, is_rfc3339};
use crate::ledger::{Leftover, LeftoverBody, Reason};
use crate::model::{EachField as _, Field, Session, time};
use crate::pipe::WriterOutput;
use crate::tape::Val;
use crate::wire::alias;

/// The frames of a log being written.
#[derive(Debug)]
pub(super) struct LogFile {
    rules: &'static LogRules,
    end: End,
    /// The number of built frames.
    built: usize,
    /// The number of restored frames.
    restored: usize,
    /// The source is a record and may contain kept frames of this dialect.
    from_record: bool,
    no_final_newline: bool,
    /// A session has begun, after the given number of frames.
    started: Option<usize>,
    facts: SessionFacts,
    made_up: MadeUpId,
    /// How often the record's session named a different agent than the agent of the kept frames: an editor changed the
    /// record.
    another_agent: usize,
    /// A buffer for a restored head or tail that must be cut.
    cut: JsonBuffer,
}

/// The end of the output so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    /// A line: a newline is due before the next line.
    Line,
    /// No separator is due: after a piece that continues, or a frame restored with its surrounding bytes.
    Literal,
    /// The head of a built document, up to its list.
    Head,
    /// An element of the list: a comma is due before the next element.
    Element,
}

/// The facts of the session.
#[derive(Debug, Default)]
struct SessionFacts {
    /// The latest value of each fact, as JSON.
    known: BTreeMap<Field, String>,
    /// Facts that no frame contains yet.
    pending: Vec<PendingFact>,
}

/// A fact of the session that no frame contains yet.
#[derive(Debug)]
struct PendingFact {
    field: Field,
    /// The length of the fact's text.
    bytes: usize,
    /// The next built frame will contain the fact.
    in_next_frame: bool,
}

impl LogFile {
    /// A file without frames.
    pub(super) fn new(rules: &'static LogRules, options: &Options) -> Self {
        Self {
            rules,
            end: End::Nothing,
            built: 0,
            restored: 0,
            from_record: options.source.is_some_and(record::is_record),
            no_final_newline: false,
            started: None,
            facts: SessionFacts::default(),
            made_up: MadeUpId::new(options),
            another_agent: 0,
            cut: JsonBuffer::default(),
        }
    }

    /// Whether the source is a record and may contain kept frames of this dialect.
    pub(super) fn is_from_record(&self) -> bool {
        self.from_record
    }

    /// Whether a frame of the session has been written.
    pub(super) fn has_frames(&self) -> bool {
        self.built + self.restored > self.started.unwrap_or(0)
    }

    /// Whether the source is a record and all frames so far are kept frames.
    pub(super) fn gives_all_back(&self) -> bool {
        self.from_record && self.restored > 0 && self.built == 0
    }

    /// Writes a built frame.
    pub(super) fn write(&mut self, value: &NativeValue<'_>, out: &mut WriterOutput<'_>) {
        self.built += 1;
        self.separate(out);
        out.json.begin_frame("");
        value.write(&mut out.json);
        out.json.end_frame("");
        self.end = match self.end {
            End::Head | End::Element => End::Element,
            End::Nothing | End::Line | End::Literal => End::Line,
        };
    }

    /// The value of a session fact, for a frame that will contain it.
    pub(super) fn say(&mut self, field: Field) -> Option<Raw<'static>> {
        let value = self.known(field).filter(|value| self.rules.takes(field, value))?;
        self.facts.pending.retain(|fact| !(fact.in_next_frame && fact.field == field));
        Some(value)
    }

    /// The id of the session in the form that the program accepts, and whether the id is made up and not yet reported.
    /// Frames with a made-up id stay in one session, even if the source names its own id later.
    pub(super) fn say_session_id(&mut self) -> (Raw<'static>, bool) {
        let made_up = self.made_up.id();
        let own = if made_up.is_none() { self.say(Field::SessionId) } else { None };
        let form = own.as_ref().and_then(|id| self.rules.session_ids.form_of(id.as_str().trim_matches('"')));
        match form {
            Some(form) => (Raw::owned(format!("\"{form}\"")), false),
            None => (made_up.unwrap_or(Raw::new("\"\"")), self.made_up.is_news()),
        }
    }

    /// The id of a call in a form that the API accepts, the same for the call and its result.
    pub(super) fn call_id<'g>(&self, id: &'g Str<'_>) -> Str<'g> {
        alias(id, self.rules.call_ids)
    }

    /// The id of the session as written in frames, or as read from the source.
    pub(super) fn session(&self) -> Raw<'static> {
        self.made_up.id().or_else(|| self.known(Field::SessionId)).unwrap_or(Raw::new("\"\""))
    }

    /// Prepares for an item about to be written. The first item contributes to the id of a session without an id.
    pub(super) fn identify(&mut self, item: GatheredItem<'_>) {
        let known = self.known(Field::SessionId);
        let known = known.as_ref().map(|id| id.as_str().trim_matches('"')).filter(|id| !id.is_empty());
        let has_form = known.is_some_and(|id| self.rules.session_ids.form_of(id).is_some());
        // A log without session ids derives frame ids from the source's session id.
        let needs_none = self.rules.session_ids == SessionIds::Nowhere && known.is_some();
        if !has_form && !needs_none {
            self.made_up.make(self.rules.session_ids, known, item);
        }
    }

    /// The value of a session fact, without marking it as written.
    pub(super) fn known(&self, field: Field) -> Option<Raw<'static>> {
        self.facts.known.get(&field).cloned().map(Raw::owned)
    }

    /// Whether a session has begun.
    pub(super) const fn has_session(&self) -> bool {
        self.started.is_some()
    }

    /// Starts a session. Most files have a single session.
    pub(super) fn begin_session(&mut self, out: &mut WriterOutput<'_>) {
        // The event of the first session may follow some of its frames.
        let before = if self.has_session() { self.built + self.restored } else { 0 };
        if self.started.replace(before).is_some() {
            if self.has_head() {
                self.end_document(out);
                out.json.frame("\n");
            }
            self.lose_pending(out);
            if self.from_record && self.built == 0 {
                // Kept frames give back the file of the source, which holds all its sessions.
                out.ledger.note("a further session follows in the same file");
            } else {
                self.separate(out);
                self.end = End::Nothing;
                out.end_session("another session of the input, which is a log of its own");
            }
            self.facts.known.clear();
            self.made_up.next_session();
        }
    }

    /// Stores the facts of a session.
    pub(super) fn learn(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        session.clone().each_field(&mut |field, value| {
            let Some(text) = value.source() else { return };
            let date = (field == Field::SessionStart).then(|| time::utc(&Raw::new(text))).flatten();
            let json = match field {
                Field::SessionStart if date.is_some() => {
                    Raw::owned(format!("\"{}\"", date.unwrap_or_default()))
                }
                Field::SessionStart | Field::ApprovalPolicy | Field::SandboxPolicy => Raw::new(text),
                _ => Raw::owned(format!("\"{text}\"")),
            };
            self.another_agent += usize::from(field == Field::SessionAgent && text != self.rules.dialect);
            // The ledger finds the leaf by the text, with or without quotes.
            let bare = Raw::new(text);
            self.learn_fact(field, &bare.text().unwrap_or(Str::escaped(text)), &json, out);
        });
    }

    fn learn_fact(&mut self, field: Field, text: &Str<'_>, json: &Raw<'_>, out: &mut WriterOutput<'_>) {
        let in_head = !self.has_frames() && self.rules.session_head.contains(&field);
        let in_next_frame = in_head || self.rules.session.contains(&field);
        let bytes = text.as_escaped().len();
        let pending = &mut self.facts.pending;
        if in_next_frame && self.rules.takes(field, json) {
            // An earlier value that no frame contains is lost, unless kept frames contain it.
            let earlier = |fact: &PendingFact| fact.field == field && fact.in_next_frame;
            if let Some(at) = pending.iter().position(earlier) {
                let PendingFact { bytes, .. } = pending.swap_remove(at);
                if self.from_record {
                    pending.push(PendingFact { field, bytes, in_next_frame: false });
                } else {
                    out.ledger.lose_late(field, Reason::Merged, 1, bytes as u64);
                }
            }
            pending.push(PendingFact { field, bytes, in_next_frame: true });
        } else if self.from_record {
            // Kept frames contain the fact; built frames do not.
            pending.push(PendingFact { field, bytes, in_next_frame: false });
        } else {
            // The fact is repeated on every line, so the loss is booked by field.
            out.ledger.cannot_say(field, Reason::NoSlot);
            out.lose_str(field, text, Reason::NoSlot);
        }
        self.facts.known.insert(field, json.as_str().to_owned());
    }

    /// Writes a kept frame with its holes filled; a hole without a matching value is reported as a problem of the
    /// input. Returns the number of holes.
    pub(super) fn restore(
        &mut self,
        kept: Val<'_>,
        (before, after): (&str, &str),
        fillings: Fillings<'_>,
        said: &mut Vec<usize>,
        out: &mut WriterOutput<'_>,
    ) -> usize {
        // The kept frame contains the session facts known when it was written.
        self.facts.pending.clear();
        self.restored += 1;
        let literal = [before, after].iter().any(|mark| mark.contains(['\n', ',', ']', '[', '|']));
        if !literal {
            self.separate(out);
        }
        let is_line = !literal && self.ends_lines() && is_reformatted(kept.frame_text());
        let fillings = Fillings { is_line, ..fillings };
        out.json.bytes(before.strip_prefix('|').unwrap_or(before).as_bytes());
        let (is_head, is_tail) = (after == "[", before.starts_with(']'));
        let Filled { missing, holes } = if is_head || is_tail {
            self.cut.clear();
            let filled = fill(kept, fillings, said, &mut self.cut.hold());
            self.write_cut(is_head, out);
            filled
        } else {
            fill(kept, fillings, said, &mut out.json)
        };
        if !is_head {
            out.json.bytes(after.as_bytes());
        }
        self.end = if literal { End::Literal } else { End::Line };
        for place in missing {
            let place = out.ledger.place(None, Some(place));
            let (code, detail, window) = (Code::UnfilledHole, String::new(), Window::default());
            out.ledger.problem(Problem { code, place, detail, window });
        }
        holes
    }

    /// The path to the list of frames in a document.
    const fn path(&self) -> &'static [&'static str] {
        match self.rules.framing {
            Framing::Documents(path) | Framing::LinesOrDocuments(path, _) => path,
            Framing::Lines | Framing::Sse | Framing::EventsOrArray | Framing::Whole => &[],
        }
    }

    /// Writes a head without its closing brackets, or a tail without its opening brackets: the framer added those
    /// brackets.
    fn write_cut(&self, is_head: bool, out: &mut WriterOutput<'_>) {
        let (text, path) = (self.cut.bytes(), self.path());
        if text.starts_with(b"[") {
            // The document is the list itself; its closing bracket precedes the tail.
            return out.json.bytes(if is_head { b"[" } else { b"" });
        }
        if is_head {
            let end = text.len().saturating_sub(path.len() + 1);
            return out.json.bytes(text.get(..end).unwrap_or_default());
        }
        let opened: usize = path.iter().rev().skip(1).map(|name| name.len() + 4).sum();
        let rest = text.get(1 + opened..).unwrap_or_default();
        if rest.trim_ascii_start().first() == Some(&b'"') {
            out.json.bytes(b",");
        }
        out.json.bytes(rest);
    }

    /// Restores bytes of this dialect that were not a document. Any other leftover has no place in these frames, and
    /// neither have damaged bytes of a different dialect.
    pub(super) fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        match leftover.body {
            LeftoverBody::Unparsed { bytes, more, .. }
                if leftover.owner == self.rules.dialect || record::is_record(leftover.owner) =>
            {
                self.separate(out);
                out.json.bytes(bytes);
                self.end = if more { End::Literal } else { End::Line };
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::NoFinalNewline => self.no_final_newline = true,
            LeftoverBody::Unparsed { .. } => leftover.lose(out.ledger, Reason::Invalid),
            LeftoverBody::Kept { .. } | LeftoverBody::Frame(_) => leftover.lose(out.ledger, Reason::NoSlot),
        }
    }

    /// Ends the file as its framing requires, unless the source ended differently.
    pub(super) fn finish(&mut self, out: &mut WriterOutput<'_>) {
        if std::mem::take(&mut self.another_agent) > 0 && self.built == 0 && self.restored > 0 {
            out.ledger.lose_late(Field::SessionAgent, Reason::Invalid, 1, 0);
        }
        self.lose_pending(out);
        if self.end == End::Line && self.ends_lines() && !self.no_final_newline {
            out.json.frame("\n");
        }
        self.end_document(out);
    }

    /// Books the session facts that no frame contains as lost.
    fn lose_pending(&mut self, out: &mut WriterOutput<'_>) {
        if self.built > 0 || self.restored == 0 {
            for PendingFact { field, bytes, in_next_frame: _ } in self.facts.pending.drain(..) {
                out.ledger.lose_late(field, Reason::NoSlot, 1, bytes as u64);
            }
        }
    }

    /// Ends a built document.
    fn end_document(&mut self, out: &mut WriterOutput<'_>) {
        if self.has_head() {
            out.json.frame("]");
            out.json.frame(&"}".repeat(self.path().len()));
            self.end = End::Literal;
        }
    }

    /// Whether the head of a document has been built, and its end has not.
    pub(super) const fn has_head(&self) -> bool {
        matches!(self.end, End::Head | End::Element)
    }

    /// Writes the head of a document that holds the frames in a list: an object that ends with the list, still open.
    pub(super) fn write_head(&mut self, head: &NativeValue<'_>, out: &mut WriterOutput<'_>) {
        self.cut.clear();
        head.write(&mut self.cut.hold());
        self.built += 1;
        self.write_cut(true, out);
        self.end = End::Head;
    }

    /// Whether frames are lines.
    const fn ends_lines(&self) -> bool {
        matches!(self.rules.framing, Framing::Lines | Framing::LinesOrDocuments(..))
    }

    /// Writes the separator that is due before the next frame.
    fn separate(&self, out: &mut WriterOutput<'_>) {
        match self.end {
            End::Line if self.ends_lines() => _ = out.json.frame("\n"),
            End::Element => _ = out.json.frame(","),
            End::Line | End::Head | End::Literal | End::Nothing => {}
        }
    }
}

/// Whether another program indented an entry of a record. A record that we write has no white space after the bracket of an
/// entry, so a line break inside a kept frame is the log's own.
fn is_reformatted(entry: &str) -> bool {
    entry.trim_ascii_start().as_bytes().get(1).is_some_and(u8::is_ascii_whitespace)
}

/// Whether agents accept the time.
pub fn is_date(time: &Raw<'_>) -> bool {
    is_rfc3339(time.as_str().trim_matches('"').as_bytes())
}

/// Whether a text is a UUID.
pub fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
