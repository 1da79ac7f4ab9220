//! Events to lines. Lines that were kept come back byte for byte; a session of another agent becomes a rollout that Codex
//! resumes: its head, then each item with the echo that makes it visible in lists.

use std::collections::{BTreeSet, VecDeque};

use super::echo::is_image_mark;
use crate::dialects::Options;
use crate::json::{Raw, Str, escape_into, is_rfc3339};
use crate::ledger::{Reason, is_hole};
use crate::log::{LineWriter, LogFile, NativeValues, has_hole, made_up_id};
use crate::model::{
    Args, Author, CallKind, Delta, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Of,
    Opaque, Part, Session, ToolCall, ToolResult, issuers,
};
use crate::pipe::Target;
use crate::tape::{Kind, Val};

pub(super) struct CodexWriter {
    /// What the first line says.
    head: NativeValues,
    head_written: bool,
    /// The item being gathered, its units and those of the items within it.
    item: Option<ItemId>,
    units: Vec<Unit>,
    /// Lines that were kept for it have been written; this many of them echo a single text.
    restored: Option<usize>,
    /// Parts of the item that a kept line had a place for.
    placed: usize,
    /// Calls with free text, whose results have a type of their own.
    free_calls: BTreeSet<String>,
    /// Ids made up for calls that came without one and wait for their result.
    nameless_calls: VecDeque<Raw<'static>>,
    last_time: Option<Raw<'static>>,
    lines: LogFile,
}

/// What becomes one `response_item`: an item, or a stretch of a message between the items within it.
struct Unit {
    item: ItemId,
    kind: UnitKind,
    /// Where the item's own values stand, under `payload`.
    slots: NativeValues,
    /// Its texts and images: what each is, its number, and the (escaped) string.
    parts: Vec<(Class, u32, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    Message(Author),
    Reasoning,
    Call(CallKind),
    Result,
    Notice,
}

impl UnitKind {
    const fn of(self) -> Of {
        match self {
            UnitKind::Message(_) => Of::Message,
            UnitKind::Reasoning => Of::Reasoning,
            UnitKind::Call(_) => Of::Call,
            UnitKind::Result => Of::Result,
            UnitKind::Notice => Of::Notice,
        }
    }
}

/// What an element of a content list is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Text,
    Summary,
    Refusal,
    Image,
    /// Not a part of the item but an item within it.
    Within,
    /// A JSON value, which a kept line has as it is and a built one as text.
    Json,
}

impl CodexWriter {
    pub(super) fn new(options: &Options) -> Self {
        let mut head = NativeValues::default();
        if let Some(name) = &options.source_name {
            head.put_str("id", &Str::plain(name));
        }
        Self {
            head,
            head_written: false,
            item: None,
            units: Vec::new(),
            restored: None,
            placed: 0,
            free_calls: BTreeSet::new(),
            nameless_calls: VecDeque::new(),
            last_time: None,
            lines: LogFile::new(super::DIALECT.name, options),
        }
    }
}

impl LineWriter for CodexWriter {
    fn lines(&mut self) -> &mut LogFile {
        &mut self.lines
    }

    /// Parent, version, model, provider and title of another agent's session mean nothing to Codex.
    fn session(&mut self, session: &Session<'_>, out: &mut Target<'_>) {
        #[rustfmt::skip]
        let Session {
            id, parent, cwd, cli_version, model, provider, branch, commit, repository, title, start, agent, .. } = session;
        for (field, text) in [
            (Field::SessionParent, parent),
            (Field::SessionVersion, cli_version),
            (Field::SessionModel, model),
            (Field::SessionProvider, provider),
            (Field::SessionTitle, title),
        ] {
            self.lines.lose_of_session(field, text.as_ref(), out);
        }
        self.lines.lose_of_session(Field::SessionAgent, agent.as_ref(), out);
        // A date, with its quotes; anything else has no place.
        let (date, other) = match start {
            Some(start) if is_date(start) => (Some(Str::escaped(start.as_str().trim_matches('"'))), None),
            Some(start) => (None, Some(Str::escaped(start.as_str()))),
            None => (None, None),
        };
        self.lines.lose_of_session(Field::SessionStart, other.as_ref(), out);
        let usable = id.as_ref().is_none_or(|id| is_uuid(id.as_escaped()));
        for (field, place, value) in [
            (Field::SessionId, "id", id),
            (Field::SessionCwd, "cwd", cwd),
            (Field::SessionCommit, "git/commit_hash", commit),
            (Field::SessionBranch, "git/branch", branch),
            (Field::SessionRepository, "git/repository_url", repository),
            (Field::SessionStart, "timestamp", &date),
        ] {
            let Some(value) = value else { continue };
            // The head is the first line, and nothing is added to it.
            if self.head_written || (field == Field::SessionId && !usable) {
                self.lines.lose_of_session(field, Some(value), out);
            } else {
                self.lines.await_line(field, Some(value), out);
            }
            if !self.head_written {
                self.head.set_str(place, value);
            }
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Target<'_>) {
        if head.within.is_none() || head.within != self.item || self.restored.is_some() {
            self.end_line(out);
            self.item = Some(head.id);
        }
        let unit = Unit::new(head);
        if !self.lines.is_restoring() {
            match unit.kind {
                UnitKind::Message(Author::Tool) => out.lose(Field::ItemAuthor, Reason::Narrowed),
                UnitKind::Call(CallKind::Vendor | CallKind::Server | CallKind::Mcp) => {
                    out.lose(Field::CallKind, Reason::Narrowed);
                }
                UnitKind::Message(_)
                | UnitKind::Call(CallKind::Function | CallKind::FreeText)
                | UnitKind::Reasoning
                | UnitKind::Result
                | UnitKind::Notice => {}
            }
            if let Some(time) = head.time.as_ref().filter(|time| !is_date(time)) {
                out.lose_raw(Field::ItemTime, time, Reason::Refused);
            }
        }
        self.units.push(unit);
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Target<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(mut at) = self.units.iter().rposition(|unit| unit.item == *item) else { return };
        let kind = self.units[at].kind;
        if !self.lines.is_restoring()
            && let Err(reason) = sayable(kind, value)
        {
            return out.lose_part(kind.of(), value, reason);
        }
        if let (Part::Media(Media { media_type, source: MediaSource::Url(_), .. }), false) =
            (value, self.lines.is_restoring())
        {
            out.lose_some(Field::MediaType, media_type.as_ref(), Reason::NoSlot);
        }
        if at + 1 < self.units.len() && matches!(kind, UnitKind::Message(_)) {
            // Content after an item within the message goes on behind it.
            self.units.push(Unit::empty(*item, kind));
            at = self.units.len() - 1;
        }
        self.units[at].add(*part, value, out);
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut Target<'_>) {
        let ItemTail { id, native_status, .. } = tail;
        let Some(unit) = self.units.iter_mut().find(|unit| unit.item == *id) else { return };
        if let Some(status) = native_status {
            unit.slots.put_str("status", status);
        }
        let whole = self.item == Some(*id);
        if !self.lines.is_restoring() && whole && !self.units.iter().any(Unit::has_line) {
            for field in [Field::ItemAuthor, Field::ItemTime] {
                out.lose(field, Reason::NoSlot);
            }
        }
    }

    /// A line we wrote earlier: fill its holes. All lines of an item are filled from the same values.
    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut Target<'_>) {
        let mut slots = NativeValues::default();
        let (own, within): (Vec<&Unit>, Vec<&Unit>) =
            self.units.iter().partition(|unit| Some(unit.item) == self.item);
        if let Some(unit) = own.first() {
            unit.slots.copy_under("payload", &mut slots);
            for (place, name) in [("timestamp", "timestamp"), ("payload/item/id", "id")] {
                unit.slots.get(name).into_iter().for_each(|value| slots.put(place, value.clone()));
            }
        }
        let parts = || own.iter().flat_map(|unit| &unit.parts);
        let texts = || parts().filter(|(class, ..)| matches!(class, Class::Text | Class::Summary));
        let mut placed = 0;
        for name in ["message", "content", "output", "result", "tools"] {
            if kept.get("payload").and_then(|payload| payload.get(name)).is_some_and(is_hole) {
                placed = parts().count();
                let place = format!("payload/{name}");
                // What the screen showed has no marks around pictures.
                let shown = |text: &str| name != "message" || !is_image_mark(text);
                texts()
                    .filter(|(.., text)| shown(text))
                    .for_each(|(.., text)| slots.append_str(&place, &Str::escaped(text)));
            }
        }
        let echoes = self.restored.get_or_insert(0);
        let payload = kept.get("payload");
        if payload.and_then(|payload| payload.get("text")).is_some_and(has_hole) {
            texts().nth(*echoes).into_iter().for_each(|(.., text)| slots.put_literal("payload/text", text));
            *echoes += 1;
            placed = *echoes;
        }
        let inner = payload.and_then(|payload| payload.get("item"));
        for (base, val) in [("payload", payload), ("payload/item", inner)] {
            for (name, list) in val.into_iter().flat_map(|val| val.members()) {
                let mut used = [0; 6];
                for (number, element) in list.elements().enumerate().filter(|(_, element)| has_hole(*element))
                {
                    let place = format!("{base}/{}/{number}", name.as_escaped());
                    let class = Class::of(element, name.as_escaped());
                    let nth = used[class as usize];
                    used[class as usize] += 1;
                    if let (Class::Within, Some(unit)) = (class, within.get(nth)) {
                        unit.slots.copy_under(&place, &mut slots);
                        for ((.., text), name) in
                            unit.parts.iter().flat_map(|part| [(part, "output"), (part, "result")])
                        {
                            slots.put_literal(format!("{place}/{name}"), text);
                        }
                    } else if let Some((.., text)) = parts().filter(|(known, ..)| *known == class).nth(nth) {
                        let place =
                            if is_hole(element) { place } else { format!("{place}/{}", class.member()) };
                        slots.put_literal(place, text);
                        placed += 1;
                    }
                }
            }
        }
        self.placed = self.placed.max(placed);
        self.lines.restore(kept, space, &slots, out);
        self.head_written = true;
    }

    /// Ends the item at hand; builds its lines unless they were restored.
    fn end_line(&mut self, out: &mut Target<'_>) {
        let item = self.item.take();
        let units = std::mem::take(&mut self.units);
        let placed = std::mem::take(&mut self.placed);
        if self.restored.take().is_some() {
            // A record in which someone changed one of the two says more than the lines that were kept for it.
            let own = units.iter().filter(|unit| Some(unit.item) == item);
            let parts =
                own.flat_map(|unit| unit.parts.iter().map(|(.., text)| (unit.kind.of().text(), text)));
            for (field, text) in parts.skip(placed) {
                out.ledger.lose_late(field, Reason::Invalid, 1, text.len() as u64);
            }
            return;
        }
        for unit in units {
            if let Some(time) = unit.slots.get("timestamp").filter(|time| is_date(time)) {
                self.last_time = Some(time.clone());
            }
            if unit.has_line() {
                self.build(&unit, out);
            }
        }
    }
}

impl CodexWriter {
    fn build(&mut self, unit: &Unit, out: &mut Target<'_>) {
        let mut line = NativeValues::default();
        let text: String = unit
            .parts
            .iter()
            .filter(|(class, ..)| *class != Class::Image)
            .map(|(.., text)| text.as_str())
            .collect();
        let mut echo = None;
        match unit.kind {
            UnitKind::Notice => return,
            UnitKind::Message(author) => {
                let (role, word, echoed) = match author {
                    Author::Assistant => ("assistant", "output_text", Some("agent_message")),
                    Author::User | Author::Tool => ("user", "input_text", Some("user_message")),
                    Author::System => ("system", "input_text", None),
                    Author::Developer => ("developer", "input_text", None),
                };
                line.put_literal("payload/type", "message");
                line.put_literal("payload/role", role);
                unit.build_parts("payload/content", word, &mut line);
                echo = echoed.filter(|_| !text.is_empty());
            }
            UnitKind::Reasoning => {
                line.put_literal("payload/type", "reasoning");
                unit.build_parts("payload/summary", "summary_text", &mut line);
                let state = unit.slots.get("encrypted_content").cloned();
                line.put("payload/encrypted_content", state.unwrap_or(Raw::new("null")));
            }
            UnitKind::Call(kind) => self.build_call(unit, kind, &mut line, out),
            UnitKind::Result => {
                let call_id = unit.slots.get("call_id").cloned().unwrap_or_else(|| {
                    out.ledger.note("result without an id taken for that of the first open call");
                    let ItemId(number) = unit.item;
                    let waiting = self.nameless_calls.pop_front();
                    waiting.unwrap_or_else(|| Raw::owned(format!("\"call_{number}\"")))
                });
                let free = self.free_calls.remove(call_id.as_str());
                line.put_literal(
                    "payload/type",
                    if free { "custom_tool_call_output" } else { "function_call_output" },
                );
                line.put("payload/call_id", call_id);
                match &unit.parts[..] {
                    [] => line.put_literal("payload/output", ""),
                    [(class, _, text)] if *class != Class::Image => line.put_literal("payload/output", text),
                    _ => unit.build_parts("payload/output", "input_text", &mut line),
                }
            }
        }
        self.build_head(out);
        let mut echo_line = NativeValues::default();
        if let Some(word) = echo {
            echo_line.put_literal("payload/type", word);
            echo_line.put_literal("payload/message", &text);
        }
        // The order Codex itself writes them in.
        if echo == Some("agent_message") {
            self.build_line("event_msg", &echo_line, out);
        }
        self.build_line("response_item", &line, out);
        if echo == Some("user_message") {
            self.build_line("event_msg", &echo_line, out);
        }
    }

    fn build_call(&mut self, unit: &Unit, kind: CallKind, line: &mut NativeValues, out: &mut Target<'_>) {
        let ItemId(number) = unit.item;
        let call_id = unit.slots.get("call_id").cloned().unwrap_or_else(|| {
            out.ledger.note("made up the id of a call");
            let id = Raw::owned(format!("\"call_{number}\""));
            self.nameless_calls.push_back(id.clone());
            id
        });
        let (word, member, empty) = match kind {
            CallKind::FreeText => ("custom_tool_call", "input", ""),
            CallKind::Function | CallKind::Mcp => ("function_call", "arguments", "{}"),
            CallKind::Server | CallKind::Vendor => {
                out.ledger.note("another vendor's own tool written as a function call");
                ("function_call", "arguments", "{}")
            }
        };
        line.put_literal("payload/type", word);
        for name in ["name", "namespace", member] {
            match unit.slots.get(name) {
                Some(value) => line.put(format!("payload/{name}"), value.clone()),
                None if name == member => line.put_literal(format!("payload/{name}"), empty),
                None => {}
            }
        }
        if kind == CallKind::FreeText {
            self.free_calls.insert(call_id.as_str().to_owned());
        }
        line.put("payload/call_id", call_id);
    }

    /// The first line, without which Codex does not take the file for a rollout.
    fn build_head(&mut self, out: &mut Target<'_>) {
        if std::mem::replace(&mut self.head_written, true) {
            return;
        }
        let start = self.head.get("timestamp").cloned().or_else(|| self.last_time.clone());
        self.lines.line_says(&[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionCommit,
            Field::SessionBranch,
            Field::SessionRepository,
            Field::SessionStart,
        ]);
        self.last_time = self.last_time.take().or_else(|| start.clone());
        let id =
            self.head.get("id").filter(|id| is_uuid(id.as_str().trim_matches('"'))).cloned().unwrap_or_else(
                || {
                    out.ledger.note("made up the session id");
                    Raw::owned(format!("\"{}\"", made_up_id(self.head.get("id").map(Raw::as_str), ItemId(0))))
                },
            );
        let cwd = self.head.get("cwd").cloned().unwrap_or_else(|| {
            out.ledger.note("made up the working directory");
            Raw::new("\"/\"")
        });
        let mut line = NativeValues::default();
        line.put("payload/id", id);
        line.put("payload/timestamp", start.unwrap_or(Raw::new(EPOCH)));
        line.put("payload/cwd", cwd);
        // Codex wants a version; this is the one whose resume was tried with such a file.
        for (place, word) in [("originator", "interlingua"), ("cli_version", "0.166.0"), ("source", "cli")] {
            line.put_literal(format!("payload/{place}"), word);
        }
        for place in ["git/commit_hash", "git/branch", "git/repository_url"] {
            self.head
                .get(place)
                .into_iter()
                .for_each(|value| line.put(format!("payload/{place}"), value.clone()));
        }
        self.build_line("session_meta", &line, out);
    }

    fn build_line(&mut self, kind: &str, payload: &NativeValues, out: &mut Target<'_>) {
        let mut line = NativeValues::default();
        let time = self.last_time.clone().unwrap_or_else(|| {
            out.ledger.note("made up the time of a line");
            Raw::new(EPOCH)
        });
        line.put("timestamp", time);
        line.put_literal("type", kind);
        payload.copy_into(&mut line);
        self.lines.build(&line, out);
    }
}

/// Codex drops lines without a time.
const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";

impl Unit {
    fn empty(item: ItemId, kind: UnitKind) -> Self {
        Self { item, kind, slots: NativeValues::default(), parts: Vec::new() }
    }

    fn new(head: &ItemHead<'_>) -> Self {
        let ItemHead { id, kind, author, native_id, time, .. } = head;
        let (unit_kind, values) = match kind {
            ItemKind::Message => (UnitKind::Message(*author), [None; 3]),
            ItemKind::Reasoning => (UnitKind::Reasoning, [None; 3]),
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                (UnitKind::Call(*kind), [call_id.as_ref(), Some(name), namespace.as_ref()])
            }
            // The call has said its name.
            ItemKind::ToolResult(ToolResult { call_id, name: _ }) => {
                (UnitKind::Result, [call_id.as_ref(), None, None])
            }
            ItemKind::Notice(_) => (UnitKind::Notice, [None; 3]),
        };
        let mut unit = Unit::empty(*id, unit_kind);
        if let Some(time) = time {
            unit.slots.put("timestamp", time.reborrow());
        }
        for (place, value) in
            ["call_id", "name", "namespace"].into_iter().zip(values).chain([("id", native_id.as_ref())])
        {
            if let Some(value) = value {
                unit.slots.put_str(place, value);
            }
        }
        unit
    }

    /// Whether there is anything to write.
    fn has_line(&self) -> bool {
        match self.kind {
            UnitKind::Notice => false,
            UnitKind::Message(_) => !self.parts.is_empty(),
            UnitKind::Reasoning => !self.parts.is_empty() || self.slots.get("encrypted_content").is_some(),
            UnitKind::Call(_) | UnitKind::Result => true,
        }
    }

    fn add(&mut self, part: u32, value: &Part<'_>, out: &mut Target<'_>) {
        let (class, text) = match value {
            Part::Text(text) => (Class::Text, text),
            Part::Summary(text) => (Class::Summary, text),
            Part::Refusal(text) => (Class::Refusal, text),
            Part::Media(media) => return self.add_media(part, media, out),
            Part::Json(json) => {
                for place in ["output", "result", "tools"] {
                    self.slots.put(place, json.reborrow());
                }
                let text = Str::plain(json.as_str()).into_owned();
                return self.parts.push((Class::Json, part, text.as_escaped().to_owned()));
            }
            Part::Args(args) => return self.add_args(args),
            Part::Opaque(Opaque { issuer, value, .. }) => {
                if !issuer.is(issuers::OPENAI) {
                    // A record in which someone changed it: the line that was kept has no word for it.
                    out.ledger.lose_late(Field::Issuer, Reason::Invalid, 1, issuer.as_escaped().len() as u64);
                }
                return self.slots.append_str("encrypted_content", value);
            }
            // Neither comes from a rollout, so no kept line waits for it, and a built one has no place.
            Part::File(_) | Part::Citation(_) | Part::Cache(_) => return,
        };
        match self.parts.last_mut() {
            Some((known, number, so_far)) if (*known, *number) == (class, part) => {
                so_far.push_str(text.as_escaped());
            }
            _ => self.parts.push((class, part, text.as_escaped().to_owned())),
        }
    }

    fn add_args(&mut self, args: &Args<'_>) {
        let mut escaped = String::new();
        match args {
            Args::Text(text) => escaped.push_str(text.as_escaped()),
            Args::Json(json) => {
                self.slots.put("action", json.reborrow());
                escape_into(json.as_str(), &mut escaped);
            }
        }
        for place in ["arguments", "input"] {
            self.slots.append_str(place, &Str::escaped(&escaped));
        }
    }

    fn add_media(&mut self, part: u32, media: &Media<'_>, out: &mut Target<'_>) {
        let Media { media_type, source, .. } = media;
        let url = match source {
            MediaSource::Base64(data) => {
                let media_type = media_type.as_ref().map_or_else(
                    || {
                        out.ledger.note("picture without a type taken for a PNG");
                        "image/png"
                    },
                    Str::as_escaped,
                );
                format!("data:{media_type};base64,{}", data.as_escaped())
            }
            MediaSource::Url(url) | MediaSource::File(url) | MediaSource::Text(url) => {
                url.as_escaped().to_owned()
            }
        };
        self.parts.push((Class::Image, part, url));
    }

    fn build_parts(&self, place: &str, word: &str, line: &mut NativeValues) {
        if self.parts.is_empty() {
            line.put(place, Raw::new("[]"));
        }
        for (number, (class, _, text)) in self.parts.iter().enumerate() {
            // Codex reads no other elements: a refusal is text.
            let (word, member) = match class {
                Class::Image => ("input_image", "image_url"),
                Class::Text | Class::Summary | Class::Refusal | Class::Json | Class::Within => (word, "text"),
            };
            line.put_literal(format!("{place}/{number}/type"), word);
            line.put_literal(format!("{place}/{number}/{member}"), text);
        }
    }
}

impl Class {
    const fn member(self) -> &'static str {
        match self {
            Class::Text | Class::Summary | Class::Within | Class::Json => "text",
            Class::Refusal => "refusal",
            Class::Image => "image_url",
        }
    }

    /// What an element of the list `name` in a kept line is.
    fn of(element: Val<'_>, name: &str) -> Self {
        // The reader goes by the list, too: whatever stands in a summary is one.
        let text = if name.starts_with("summary") { Class::Summary } else { Class::Text };
        match element.str_or_empty("type") {
            "input_text" | "output_text" | "text" | "Text" | "reasoning_text" | "summary_text" => text,
            "refusal" => Class::Refusal,
            "input_image" => Class::Image,
            _ if element.kind() == Kind::String => text,
            _ => Class::Within,
        }
    }
}

/// Whether a built line can say a part of such an item, and if not, why.
fn sayable(kind: UnitKind, value: &Part<'_>) -> Result<(), Reason> {
    match (kind, value) {
        (UnitKind::Reasoning, Part::Opaque(Opaque { kind: _, issuer, value: _ })) => {
            if issuer.is(issuers::OPENAI) { Ok(()) } else { Err(Reason::Foreign) }
        }
        (_, Part::Opaque(_)) => Err(Reason::Foreign),
        (UnitKind::Call(_), Part::Args(_)) => Ok(()),
        // What the model is sent back as its own words may hold no picture.
        (UnitKind::Message(Author::Assistant), Part::Media(_)) => Err(Reason::Refused),
        (UnitKind::Message(_) | UnitKind::Result, Part::Media(media)) => {
            let Media { media_type, source, .. } = media;
            let picture = media_type.as_ref().is_none_or(|kind| kind.as_escaped().starts_with("image/"));
            match source {
                // Each provider has its own store of files.
                MediaSource::File(_) => Err(Reason::Foreign),
                MediaSource::Base64(_) | MediaSource::Url(_) if picture => Ok(()),
                MediaSource::Base64(_) | MediaSource::Url(_) | MediaSource::Text(_) => Err(Reason::Refused),
            }
        }
        (
            UnitKind::Message(_) | UnitKind::Result | UnitKind::Reasoning,
            Part::Text(_) | Part::Summary(_) | Part::Refusal(_) | Part::Json(_),
        ) => Ok(()),
        (
            UnitKind::Message(_)
            | UnitKind::Result
            | UnitKind::Reasoning
            | UnitKind::Call(_)
            | UnitKind::Notice,
            Part::Text(_)
            | Part::Summary(_)
            | Part::Refusal(_)
            | Part::Json(_)
            | Part::Media(_)
            | Part::Args(_)
            | Part::File(_)
            | Part::Citation(_)
            | Part::Cache(_),
        ) => Err(Reason::NoSlot),
    }
}

/// Whether a time is one that Codex reads.
fn is_date(time: &Raw<'_>) -> bool {
    is_rfc3339(time.as_str().trim_matches('"').as_bytes())
}

/// Whether a text is in the form that Codex's own ids have.
fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
