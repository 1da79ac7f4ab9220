//! Events to lines. Lines that were kept come back byte for byte; a session of another agent becomes a rollout that Codex
//! resumes: its head, then each item with the echo that makes it visible in lists.

use std::collections::BTreeSet;

use crate::dialects::Options;
use crate::ledger::Reason;
use crate::ledger::is_hole;
use crate::model::{
    Args, Author, CallKind, Delta, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Notice, Opaque,
    Part, Session, ToolCall, ToolResult,
};
use crate::pipe::Out;
use crate::restore::{LineWriter, Lines, Slots, has_hole, made_up_id};
use crate::tape::{Kind, Val};
use crate::text::{Raw, Str, escape_into};

pub(super) struct CodexWriter {
    /// What the first line says.
    head: Slots,
    head_written: bool,
    /// The item being gathered, its units and those of the items within it.
    item: Option<ItemId>,
    units: Vec<Unit>,
    /// Lines that were kept for it have been written; this many of them echo a single text.
    restored: Option<usize>,
    /// Calls with free text, whose results have a type of their own.
    free_calls: BTreeSet<String>,
    last_time: Option<Raw<'static>>,
    lines: Lines,
}

/// What becomes one `response_item`: an item, or a stretch of a message between the items within it.
struct Unit {
    item: ItemId,
    kind: UnitKind,
    /// Where the item's own values stand, under `payload`.
    slots: Slots,
    /// Its texts and images: what each is, its number, and the (escaped) string.
    parts: Vec<(Class, u32, String)>,
    /// What only a kept line can say.
    unsaid: Vec<(&'static str, Reason, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    Message(Author),
    Reasoning,
    Call(CallKind),
    Result,
    Notice,
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
}

impl CodexWriter {
    pub(super) fn new(options: &Options) -> Self {
        let mut head = Slots::default();
        if let Some(name) = &options.source_name {
            head.put_str("id", &Str::plain(name));
        }
        Self {
            head,
            head_written: false,
            item: None,
            units: Vec::new(),
            restored: None,
            free_calls: BTreeSet::new(),
            last_time: None,
            lines: Lines::new(super::DIALECT.name),
        }
    }
}

impl LineWriter for CodexWriter {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Parent, version, model, provider and title of another agent's session mean nothing to Codex.
    fn session(&mut self, session: &Session<'_>) {
        #[rustfmt::skip]
        let Session {
            id, parent, cwd, cli_version, model, provider, branch, commit, repository, title, start, agent: _,
        } = session;
        for (path, text) in [
            ("session/parent", parent),
            ("session/cli_version", cli_version),
            ("session/model", model),
            ("session/provider", provider),
            ("session/title", title),
        ] {
            self.lines.of_session.text(path, text.as_ref());
        }
        let git = [("git/commit_hash", commit), ("git/branch", branch), ("git/repository_url", repository)];
        for (place, value) in [("id", id), ("cwd", cwd)].into_iter().chain(git) {
            if let Some(value) = value {
                self.head.set_str(place, value);
            }
        }
        if let Some(start) = start {
            self.head.put("timestamp", start.reborrow());
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Out<'_>) {
        if head.within.is_none() || head.within != self.item || self.restored.is_some() {
            self.end_line(out);
            self.item = Some(head.id);
        }
        self.units.push(Unit::new(head));
    }

    fn delta(&mut self, delta: &Delta<'_>, _: &mut Out<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(mut at) = self.units.iter().rposition(|unit| unit.item == *item) else { return };
        if at + 1 < self.units.len() {
            // Content after an item within the message goes on behind it.
            self.units.push(Unit::empty(*item, self.units[at].kind));
            at = self.units.len() - 1;
        }
        self.units[at].add(*part, value);
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let ItemTail { id, status: _, native_status, is_error } = tail;
        let Some(unit) = self.units.iter_mut().find(|unit| unit.item == *id) else { return };
        if let Some(status) = native_status {
            unit.slots.put_str("status", status);
            unit.lose("status", Reason::NoSlot, status.as_escaped());
        }
        if *is_error == Some(true) {
            unit.lose("is-error", Reason::Narrowed, "true");
        }
    }

    /// A line we wrote earlier: fill its holes. All lines of an item are filled from the same values.
    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut Out<'_>) {
        self.lines.beside.clear();
        let mut slots = Slots::default();
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
        for name in ["message", "content", "output"] {
            if kept.get("payload").and_then(|payload| payload.get(name)).is_some_and(is_hole) {
                let place = format!("payload/{name}");
                texts().for_each(|(.., text)| slots.append_str(&place, &Str::escaped(text)));
            }
        }
        let echoes = self.restored.get_or_insert(0);
        let payload = kept.get("payload");
        if payload.and_then(|payload| payload.get("text")).is_some_and(has_hole) {
            texts().nth(*echoes).into_iter().for_each(|(.., text)| slots.put_word("payload/text", text));
            *echoes += 1;
        }
        let inner = payload.and_then(|payload| payload.get("item"));
        for (base, val) in [("payload", payload), ("payload/item", inner)] {
            for (name, list) in val.into_iter().flat_map(|val| val.members()) {
                let mut used = [0; 5];
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
                            slots.put_word(format!("{place}/{name}"), text);
                        }
                    } else if let Some((.., text)) = parts().filter(|(known, ..)| *known == class).nth(nth) {
                        let place =
                            if is_hole(element) { place } else { format!("{place}/{}", class.member()) };
                        slots.put_word(place, text);
                    }
                }
            }
        }
        self.lines.restore(kept, space, &slots, out);
        self.head_written = true;
    }

    /// Ends the item at hand; builds its lines unless they were restored.
    fn end_line(&mut self, out: &mut Out<'_>) {
        self.item = None;
        let units = std::mem::take(&mut self.units);
        if self.restored.take().is_some() {
            return;
        }
        self.lines.beside.lose(out.ledger);
        for unit in units {
            if let Some(time) = unit.slots.get("timestamp").filter(|time| time.as_str().starts_with('"')) {
                self.last_time = Some(time.clone());
            }
            unit.unsaid.iter().for_each(|(path, reason, json)| out.ledger.lose(path, *reason, json));
            self.build(&unit, out);
        }
    }
}

impl CodexWriter {
    fn build(&mut self, unit: &Unit, out: &mut Out<'_>) {
        let mut line = Slots::default();
        let text: String =
            unit.parts.iter().filter(|(class, ..)| *class == Class::Text).map(|(.., text)| &**text).collect();
        let mut echo = None;
        match unit.kind {
            UnitKind::Notice => return,
            UnitKind::Message(_) if unit.parts.is_empty() => return,
            UnitKind::Message(author) => {
                let (role, word, echoed) = match author {
                    Author::Assistant => ("assistant", "output_text", Some("agent_message")),
                    Author::User | Author::Tool => ("user", "input_text", Some("user_message")),
                    Author::System | Author::Developer => ("developer", "input_text", None),
                };
                line.put_word("payload/type", "message");
                line.put_word("payload/role", role);
                unit.build_parts("payload/content", word, &mut line);
                echo = echoed.filter(|_| !text.is_empty());
            }
            UnitKind::Reasoning if unit.parts.is_empty() && unit.slots.get("encrypted_content").is_none() => {
                return;
            }
            UnitKind::Reasoning => {
                line.put_word("payload/type", "reasoning");
                unit.build_parts("payload/summary", "summary_text", &mut line);
                let state = unit.slots.get("encrypted_content").cloned();
                line.put("payload/encrypted_content", state.unwrap_or(Raw::new("null")));
            }
            UnitKind::Call(kind) => self.build_call(unit, kind, &mut line, out),
            UnitKind::Result => {
                let call_id = unit.slots.get("call_id").cloned().unwrap_or(Raw::new("\"\""));
                let free = self.free_calls.remove(call_id.as_str());
                line.put_word(
                    "payload/type",
                    if free { "custom_tool_call_output" } else { "function_call_output" },
                );
                line.put("payload/call_id", call_id);
                match (&unit.parts[..], unit.slots.get("output")) {
                    ([], Some(json)) => line.put_str("payload/output", &Str::plain(json.as_str())),
                    ([] | [(Class::Text, ..)], _) => line.put_word("payload/output", &text),
                    _ => unit.build_parts("payload/output", "input_text", &mut line),
                }
            }
        }
        self.build_head(out);
        let mut echo_line = Slots::default();
        if let Some(word) = echo {
            echo_line.put_word("payload/type", word);
            echo_line.put_word("payload/message", &text);
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

    fn build_call(&mut self, unit: &Unit, kind: CallKind, line: &mut Slots, out: &mut Out<'_>) {
        let ItemId(number) = unit.item;
        let call_id = unit.slots.get("call_id").cloned().unwrap_or_else(|| {
            out.ledger.note("made up the id of a call");
            Raw::owned(format!("\"call_{number}\""))
        });
        let (word, member, empty) = match kind {
            CallKind::FreeText => ("custom_tool_call", "input", ""),
            CallKind::Function | CallKind::Mcp => ("function_call", "arguments", "{}"),
            CallKind::Server | CallKind::Vendor => {
                out.ledger.note("another vendor's own tool written as a function call");
                ("function_call", "arguments", "{}")
            }
        };
        line.put_word("payload/type", word);
        for name in ["name", "namespace", member] {
            match unit.slots.get(name) {
                Some(value) => line.put(format!("payload/{name}"), value.clone()),
                None if name == member => line.put_word(format!("payload/{name}"), empty),
                None => {}
            }
        }
        if kind == CallKind::FreeText {
            self.free_calls.insert(call_id.as_str().to_owned());
        }
        line.put("payload/call_id", call_id);
    }

    /// The first line, without which Codex does not take the file for a rollout.
    fn build_head(&mut self, out: &mut Out<'_>) {
        if std::mem::replace(&mut self.head_written, true) {
            return;
        }
        let text = |time: &&Raw<'static>| time.as_str().starts_with('"');
        let start = self.head.get("timestamp").filter(text).cloned().or_else(|| self.last_time.clone());
        self.last_time = self.last_time.take().or_else(|| start.clone());
        let id = self.head.get("id").filter(|id| is_uuid(id.as_str())).cloned().unwrap_or_else(|| {
            out.ledger.note("made up the session id");
            Raw::owned(format!("\"{}\"", made_up_id(self.head.get("id").map(Raw::as_str), ItemId(0))))
        });
        let cwd = self.head.get("cwd").cloned().unwrap_or_else(|| {
            out.ledger.note("made up the working directory");
            Raw::new("\"/\"")
        });
        let mut line = Slots::default();
        line.put("payload/id", id);
        line.put("payload/timestamp", start.unwrap_or(Raw::new(EPOCH)));
        line.put("payload/cwd", cwd);
        // Codex wants a version; this is the one whose resume was tried with such a file.
        for (place, word) in [("originator", "interlingua"), ("cli_version", "0.166.0"), ("source", "cli")] {
            line.put_word(format!("payload/{place}"), word);
        }
        for place in ["git/commit_hash", "git/branch", "git/repository_url"] {
            self.head
                .get(place)
                .into_iter()
                .for_each(|value| line.put(format!("payload/{place}"), value.clone()));
        }
        self.build_line("session_meta", &line, out);
    }

    fn build_line(&mut self, kind: &str, payload: &Slots, out: &mut Out<'_>) {
        let mut line = Slots::default();
        let time = self.last_time.clone().unwrap_or_else(|| {
            out.ledger.note("made up the time of a line");
            Raw::new(EPOCH)
        });
        line.put("timestamp", time);
        line.put_word("type", kind);
        payload.copy_into(&mut line);
        self.lines.build(&line, out);
    }
}

/// Codex drops lines without a time.
const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";

impl Unit {
    fn empty(item: ItemId, kind: UnitKind) -> Self {
        Self { item, kind, slots: Slots::default(), parts: Vec::new(), unsaid: Vec::new() }
    }

    fn new(head: &ItemHead<'_>) -> Self {
        let ItemHead { id, kind, author, within: _, native_id, parent, time, model, shape: _ } = head;
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
        if let ItemKind::Notice(Notice { event_type }) = kind {
            let time = time.as_ref().map(|time| time.as_str().trim_matches('"'));
            let event_type = event_type.as_ref().map(Str::as_escaped);
            for (path, value) in [("notice/event_type", event_type), ("notice/time", time)] {
                if let Some(value) = value {
                    unit.lose(path, Reason::NoSlot, value);
                }
            }
        }
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
        // An id of another provider would be refused when the item is sent on.
        for (path, value) in [("id", native_id), ("parent", parent), ("model", model)] {
            if let Some(value) = value {
                unit.lose(path, Reason::NoSlot, value.as_escaped());
            }
        }
        unit
    }

    fn lose(&mut self, path: &'static str, reason: Reason, text: &str) {
        self.unsaid.push((path, reason, format!("\"{text}\"")));
    }

    fn add(&mut self, part: u32, value: &Part<'_>) {
        let (class, text) = match value {
            Part::Text(text) => (Class::Text, text),
            Part::Summary(text) => (Class::Summary, text),
            Part::Refusal(text) => (Class::Refusal, text),
            Part::Media(media) => return self.add_media(part, media),
            Part::Json(json) => {
                return ["output", "result", "tools"]
                    .into_iter()
                    .for_each(|place| self.slots.put(place, json.reborrow()));
            }
            Part::Args(args) => return self.add_args(args),
            Part::Opaque(Opaque { kind: _, issuer, value }) if *issuer == super::ISSUER => {
                return self.slots.put_str("encrypted_content", value);
            }
            Part::Opaque(_) => return self.lose("reasoning/opaque", Reason::Foreign, ""),
            Part::File(_) => return self.lose("file", Reason::NoSlot, ""),
            Part::Citation(_) => return self.lose("citation", Reason::NoSlot, ""),
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

    fn add_media(&mut self, part: u32, media: &Media<'_>) {
        let Media { media_type, source, name } = media;
        if let Some(name) = name {
            self.lose("media/name", Reason::NoSlot, name.as_escaped());
        }
        let media_type = media_type.as_ref().map_or("image/png", Str::as_escaped);
        let url = match source {
            MediaSource::Base64(data) => format!("data:{media_type};base64,{}", data.as_escaped()),
            MediaSource::Url(url) => url.as_escaped().to_owned(),
            MediaSource::File(id) => return self.lose("media/file", Reason::NoSlot, id.as_escaped()),
        };
        self.parts.push((Class::Image, part, url));
    }

    fn build_parts(&self, place: &str, word: &str, line: &mut Slots) {
        if self.parts.is_empty() {
            line.put(place, Raw::new("[]"));
        }
        for (number, (class, _, text)) in self.parts.iter().enumerate() {
            let word = match class {
                Class::Image => "input_image",
                Class::Refusal => "refusal",
                Class::Text | Class::Summary | Class::Within => word,
            };
            line.put_word(format!("{place}/{number}/type"), word);
            line.put_word(format!("{place}/{number}/{}", class.member()), text);
        }
    }
}

impl Class {
    const fn member(self) -> &'static str {
        match self {
            Class::Text | Class::Summary | Class::Within => "text",
            Class::Refusal => "refusal",
            Class::Image => "image_url",
        }
    }

    /// What an element of the list `name` in a kept line is.
    fn of(element: Val<'_>, name: &str) -> Self {
        // The reader goes by the list, too: whatever stands in a summary is one.
        let text = if name.starts_with("summary") { Class::Summary } else { Class::Text };
        match element.word("type") {
            "input_text" | "output_text" | "text" | "Text" | "reasoning_text" | "summary_text" => text,
            "refusal" => Class::Refusal,
            "input_image" => Class::Image,
            _ if element.kind() == Kind::String => text,
            _ => Class::Within,
        }
    }
}

/// Whether a string, with its quotes, is in the form that Codex's own ids have.
fn is_uuid(quoted: &str) -> bool {
    let id = quoted.trim_matches('"');
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
