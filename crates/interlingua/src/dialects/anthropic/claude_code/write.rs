//! Events to lines. A line that was kept comes back byte for byte; a session of another agent becomes lines that
//! Claude Code resumes.

use std::collections::{HashSet, VecDeque};

use crate::dialects::Options;
use crate::json::{Raw, Str, is_rfc3339};
use crate::ledger::{Reason, is_hole};
use crate::log::{LineWriter, LogFile, NativeValues, has_hole, made_up_id};
use crate::model::{
    Args, Author, CallKind, Delta, EachField, Field, ItemHead, ItemId, ItemKind, ItemTail, Media,
    MediaSource, Of, Opaque, OpaqueKind, Part, Session, ToolCall, ToolResult, issuers,
};
use crate::pipe::Target;
use crate::tape::Val;
use crate::wire::{self, Letters};

/// Claude Code 2.1.197 waits for ever on a line without a version; this is the one whose resume was tried.
const VERSION: &str = "2.1.325";

pub(super) struct ClaudeWriter {
    session: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    /// The line being gathered.
    line: Option<Line>,
    chain: Chain,
    /// Ids made up for calls that came without one and wait for their result.
    nameless_calls: VecDeque<String>,
    last_time: Option<Raw<'static>>,
    lines: LogFile,
}

/// How lines hang together.
#[derive(Default)]
struct Chain {
    /// The `uuid` of the last line built, with its quotes.
    last: Option<String>,
    /// Hashes of the ids of all lines built, eight bytes each: a parent must be one of them, or nobody finds the line.
    built: HashSet<u64>,
    /// The `message.id` that assistant lines in a row share: one response, one block a line, as Claude Code writes them.
    response: Option<String>,
}

/// What one line will say.
struct Line {
    slots: NativeValues,
    blocks: Vec<Block>,
    author: Author,
    /// The item the line is. It is a message that holds the others, or stands alone.
    item: ItemId,
    is_message: bool,
    /// Messages within it, which no line of Claude Code has: their content is the line's.
    messages_within: Vec<ItemId>,
    /// Lines that were kept for it have been written.
    restored: bool,
}

/// One content block: its slots relative to the block.
struct Block {
    item: ItemId,
    part: u32,
    kind: BlockKind,
    slots: NativeValues,
    /// What a result says, part by part.
    result: Vec<(u32, ResultPart)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Image,
    Document,
    Thinking,
    Redacted,
    ToolUse(CallKind),
    ToolResult,
}

impl BlockKind {
    const fn word(self) -> &'static str {
        match self {
            BlockKind::Text => "text",
            BlockKind::Image => "image",
            BlockKind::Document => "document",
            BlockKind::Thinking => "thinking",
            BlockKind::Redacted => "redacted_thinking",
            BlockKind::ToolUse(_) => "tool_use",
            BlockKind::ToolResult => "tool_result",
        }
    }

    const fn of(self) -> Of {
        match self {
            BlockKind::Text | BlockKind::Image | BlockKind::Document => Of::Message,
            BlockKind::Thinking | BlockKind::Redacted => Of::Reasoning,
            BlockKind::ToolUse(_) => Of::Call,
            BlockKind::ToolResult => Of::Result,
        }
    }
}

/// A part of a result. Texts are escaped.
enum ResultPart {
    Text(String),
    Json(Raw<'static>),
    Media(BlockKind, NativeValues),
}

impl ClaudeWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            session: options.source_name.as_deref().map(|name| Str::from_plain(name).as_escaped().to_owned()),
            cwd: None,
            branch: None,
            model: None,
            line: None,
            chain: Chain::default(),
            nameless_calls: VecDeque::new(),
            last_time: None,
            lines: LogFile::new(super::DIALECT.name, options),
        }
    }
}

impl LineWriter for ClaudeWriter {
    fn lines(&mut self) -> &mut LogFile {
        &mut self.lines
    }

    fn session(&mut self, session: &Session<'_>, out: &mut Target<'_>) {
        #[rustfmt::skip]
        let Session {
            id, parent, cwd, cli_version, model, provider, branch, commit, repository, title, start, agent, .. } = session;
        for (field, text) in [
            (Field::SessionParent, parent),
            (Field::SessionVersion, cli_version),
            (Field::SessionProvider, provider),
            (Field::SessionCommit, commit),
            (Field::SessionRepository, repository),
            (Field::SessionTitle, title),
        ] {
            self.lines.lose_of_session(field, text.as_ref(), out);
        }
        self.lines.lose_of_session(Field::SessionAgent, agent.as_ref(), out);
        let start = start.as_ref().map(|start| Str::escaped(start.as_str().trim_matches('"')));
        self.lines.lose_of_session(Field::SessionStart, start.as_ref(), out);
        for (field, known, news) in [
            (Field::SessionId, &mut self.session, id),
            (Field::SessionCwd, &mut self.cwd, cwd),
            (Field::SessionBranch, &mut self.branch, branch),
            (Field::SessionModel, &mut self.model, model),
        ] {
            self.lines.await_line(field, news.as_ref(), out);
            if let Some(news) = news {
                *known = Some(news.as_escaped().to_owned());
            }
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Target<'_>) {
        let open = self.line.as_ref().filter(|line| !line.restored);
        let within = open.is_some_and(|line| head.within == Some(line.item));
        if within {
            // A block has neither id nor time, and hangs on nothing.
            self.lose_head(head, [Field::ItemId, Field::ItemParent, Field::ItemTime, Field::ItemModel], out);
        } else {
            self.end_line(out);
            self.line = Some(self.open_line(head, out));
        }
        let ItemHead { id, kind, author, .. } = head;
        let mut slots = NativeValues::default();
        let kind = match kind {
            ItemKind::Message if within => {
                if let Some(line) = &mut self.line {
                    if line.author != *author {
                        out.lose(Field::ItemAuthor, Reason::Narrowed);
                    }
                    line.messages_within.push(*id);
                }
                return;
            }
            ItemKind::Message | ItemKind::Notice(_) => return,
            ItemKind::Reasoning => BlockKind::Thinking,
            ItemKind::ToolCall(call) if self.lines.is_restoring() => {
                let ToolCall { call_id, kind, namespace, name } = call;
                for (place, value) in
                    [("id", call_id.as_ref()), ("name", Some(name)), ("server_name", namespace.as_ref())]
                {
                    if let Some(value) = value {
                        slots.put_str(place, value);
                    }
                }
                BlockKind::ToolUse(*kind)
            }
            ItemKind::ToolCall(call) => {
                self.begin_call(call, *id, &mut slots, out);
                BlockKind::ToolUse(call.kind)
            }
            ItemKind::ToolResult(ToolResult { call_id, name: _ }) => {
                match call_id {
                    Some(call_id) if self.lines.is_restoring() => slots.put_str("tool_use_id", call_id),
                    Some(call_id) => {
                        slots
                            .put_str("tool_use_id", &api_word(call_id, usize::MAX, Field::ResultCallId, out));
                    }
                    None => {}
                }
                BlockKind::ToolResult
            }
        };
        if let Some(line) = &mut self.line {
            line.blocks.push(Block { item: *id, part: 0, kind, slots, result: Vec::new() });
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Target<'_>) {
        let restoring = self.lines.is_restoring();
        let Some(line) = &mut self.line else { return };
        let Delta { item, part, value, arrival: _ } = delta;
        let said;
        let value = match value {
            Part::Media(media) if !restoring => match sayable(media, out) {
                Ok(media) => {
                    said = Part::Media(media);
                    &said
                }
                Err(reason) => {
                    let of = if line.is_result(*item) { Of::Result } else { Of::Message };
                    return out.lose_part(of, value, reason);
                }
            },
            value => value,
        };
        if (*item == line.item && line.is_message) || line.messages_within.contains(item) {
            let kind = match value {
                Part::Media(media) => media_kind(media),
                _ => BlockKind::Text,
            };
            let goes_on = line
                .blocks
                .last()
                .is_some_and(|block| block.item == *item && block.part == *part && block.kind == kind);
            if !goes_on {
                let (slots, result) = (NativeValues::default(), Vec::new());
                line.blocks.push(Block { item: *item, part: *part, kind, slots, result });
            }
        }
        match line.blocks.iter_mut().rev().find(|block| block.item == *item) {
            Some(block) => {
                if let Err(reason) = block.add(*part, value)
                    && !restoring
                {
                    out.lose_part(block.kind.of(), value, reason);
                }
            }
            // A notice: its line comes back as it was.
            None if restoring => {}
            None => out.lose_part(Of::Notice, value, Reason::NoSlot),
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut Target<'_>) {
        let restoring = self.lines.is_restoring();
        let ItemTail { id, is_error, .. } = tail;
        let Some(line) = &mut self.line else { return };
        if let (Some(block), Some(is_error)) =
            (line.blocks.iter_mut().rev().find(|block| block.item == *id), is_error)
        {
            block.slots.put("is_error", Raw::new(if *is_error { "true" } else { "false" }));
        }
        // Reasoning of which only another provider's state is left is no block, and a line without blocks is no line.
        line.blocks.retain(|block| restoring || block.item != *id || block.says_anything());
        if *id == line.item && line.blocks.is_empty() && !restoring {
            for field in
                [Field::ItemAuthor, Field::ItemId, Field::ItemParent, Field::ItemTime, Field::ItemModel]
            {
                out.lose(field, Reason::NoSlot);
            }
        }
    }

    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut Target<'_>) {
        let mut line = self.line.take();
        let empty = NativeValues::default();
        let slots = match &mut line {
            Some(line) => {
                line.restored = true;
                line.place_blocks(kept, out);
                &line.slots
            }
            None => &empty,
        };
        self.lines.restore(kept, space, slots, out);
        self.line = line;
    }

    fn end_line(&mut self, out: &mut Target<'_>) {
        let Some(line) = self.line.take() else { return };
        if !line.restored && !line.blocks.is_empty() {
            self.build_line(&line, out);
        }
    }
}

impl ClaudeWriter {
    /// The line that the item begins; `out` learns what such a line cannot say.
    fn open_line(&self, head: &ItemHead<'_>, out: &mut Target<'_>) -> Line {
        let ItemHead { id, kind, author, native_id, parent, time, model, .. } = head;
        let restoring = self.lines.is_restoring();
        let mut slots = NativeValues::default();
        for (place, value) in [("uuid", native_id), ("message/model", model)] {
            if let Some(value) = value {
                slots.put_str(place, value);
            }
        }
        if let Some(parent) = parent {
            if restoring || self.chain.built.contains(&wire::fingerprint(parent.as_escaped().as_bytes())) {
                slots.put_str("parentUuid", parent);
            } else {
                out.lose_str(Field::ItemParent, parent, Reason::NoSlot);
            }
        }
        if let Some(time) = time {
            if restoring || is_date(time) {
                slots.put("timestamp", time.reborrow());
            } else {
                out.lose_raw(Field::ItemTime, time, Reason::Refused);
            }
        }
        if !restoring {
            if !is_assistant(*author) {
                out.lose_some(Field::ItemModel, model.as_ref(), Reason::NoSlot);
            }
            if *kind == ItemKind::Message && !matches!(author, Author::User | Author::Assistant) {
                out.lose(Field::ItemAuthor, Reason::Narrowed);
            }
        }
        let is_message = *kind == ItemKind::Message;
        let (blocks, messages_within) = (Vec::new(), Vec::new());
        Line { slots, blocks, author: *author, item: *id, is_message, messages_within, restored: false }
    }

    /// What the API takes of a call.
    fn begin_call(
        &mut self,
        call: &ToolCall<'_>,
        item: ItemId,
        slots: &mut NativeValues,
        out: &mut Target<'_>,
    ) {
        let ToolCall { call_id, kind, namespace, name } = call;
        match kind {
            CallKind::Function | CallKind::FreeText => {}
            CallKind::Vendor | CallKind::Server | CallKind::Mcp => {
                out.lose(Field::CallKind, Reason::Narrowed);
            }
        }
        if let Some(id) = call_id {
            slots.put_str("id", &api_word(id, usize::MAX, Field::CallId, out));
        } else {
            out.ledger.note("made up the id of a call");
            let id = format!("call_{}", item.0);
            slots.put_literal("id", &id);
            self.nameless_calls.push_back(id);
        }
        let name = match namespace {
            Some(group) => {
                out.ledger.note("tool group put before the tool's name");
                Str::from_plain(&format!("{}__{}", group.decode(), name.decode()))
            }
            None => name.reborrow(),
        };
        slots.put_str("name", &api_word(&name, 64, Field::CallName, out));
    }

    fn lose_head<const N: usize>(&self, head: &ItemHead<'_>, fields: [Field; N], out: &mut Target<'_>) {
        if self.lines.is_restoring() {
            return;
        }
        head.clone().each_field(&mut |field, value| {
            if let (true, Some(text)) = (fields.contains(&field), value.source()) {
                out.lose_str(field, &Str::escaped(text), Reason::NoSlot);
            }
        });
    }

    fn build_line(&mut self, line: &Line, out: &mut Target<'_>) {
        let id = match line.slots.get("uuid") {
            Some(id) => id.clone(),
            None => Raw::owned(format!("\"{}\"", made_up_id(self.session.as_deref(), line.item))),
        };
        let assistant = is_assistant(line.author);
        let mut built = NativeValues::default();
        let parent = line.slots.get("parentUuid").cloned();
        let last = || self.chain.last.clone().map(Raw::owned);
        built.put("parentUuid", parent.or_else(last).unwrap_or(Raw::new("null")));
        built.put("isSidechain", Raw::new("false"));
        built.put_literal("userType", "external");
        for (place, value) in [("cwd", &self.cwd), ("sessionId", &self.session), ("gitBranch", &self.branch)]
        {
            if let Some(value) = value {
                built.put_literal(place, value);
            }
        }
        built.put_literal("version", VERSION);
        let word = if assistant { "assistant" } else { "user" };
        built.put_literal("type", word);
        if matches!(line.author, Author::System | Author::Developer) {
            // The log has no system messages; what a harness injects is a user line marked as meta.
            built.put("isMeta", Raw::new("true"));
            out.ledger.note("system message written as a meta user line");
        }
        self.lines.line_says(&[Field::SessionId, Field::SessionCwd, Field::SessionBranch]);
        if assistant {
            self.build_response_head(line, &mut built);
        } else {
            self.chain.response = None;
        }
        built.put_literal("message/role", word);
        self.build_content(line, assistant, &mut built, out);
        if assistant {
            built.put("message/stop_reason", Raw::new("null"));
            built.put("message/stop_sequence", Raw::new("null"));
        }
        built.put("uuid", id.clone());
        if let Some(time) = line.slots.get("timestamp") {
            self.last_time = Some(time.clone());
        }
        let time = self.last_time.clone().unwrap_or_else(|| {
            // Without any time Claude Code does not find the session.
            out.ledger.note("made up the time of a line");
            Raw::new("\"1970-01-01T00:00:00.000Z\"")
        });
        built.put("timestamp", time);
        self.chain.built.insert(wire::fingerprint(id.as_str().trim_matches('"').as_bytes()));
        self.chain.last = Some(id.as_str().to_owned());
        self.lines.build(&built, out);
    }

    /// `"id":…,"type":"message","model":…`, without which Claude Code 2.1.197 waits for ever.
    fn build_response_head(&mut self, line: &Line, built: &mut NativeValues) {
        let response = self.chain.response.get_or_insert_with(|| {
            format!("msg_{}", made_up_id(self.session.as_deref(), line.item).replace('-', ""))
        });
        built.put_literal("message/id", response);
        built.put_literal("message/type", "message");
        match (line.slots.get("message/model"), &self.model) {
            (Some(model), _) => built.put("message/model", model.clone()),
            (None, Some(model)) => {
                built.put_literal("message/model", model);
                self.lines.line_says(&[Field::SessionModel]);
            }
            (None, None) => built.put_literal("message/model", "unknown"),
        }
    }

    fn build_content(
        &mut self,
        line: &Line,
        assistant: bool,
        built: &mut NativeValues,
        out: &mut Target<'_>,
    ) {
        if let ([Block { kind: BlockKind::Text, slots, .. }], false) = (&line.blocks[..], assistant)
            && let Some(text) = slots.get("text")
        {
            return built.put("message/content", text.clone());
        }
        let mut number = 0;
        for block in &line.blocks {
            for values in self.build_block(block, out) {
                values.copy_under(&format!("message/content/{number}"), built);
                number += 1;
            }
        }
    }

    /// The blocks that become of one: reasoning in several parts is several blocks.
    fn build_block(&mut self, block: &Block, out: &mut Target<'_>) -> Vec<NativeValues> {
        let mut built = NativeValues::default();
        built.put_literal("type", block.kind.word());
        let ItemId(number) = block.item;
        match block.kind {
            BlockKind::Text | BlockKind::Image | BlockKind::Document | BlockKind::Redacted => {
                block.slots.copy_into(&mut built);
            }
            BlockKind::Thinking => {
                let mut blocks = Vec::new();
                let signature = block.slots.get("signature").cloned().unwrap_or(Raw::new("\"\""));
                block.slots.each(|place, text| {
                    if place == "thinking" || place.starts_with("thinking/") {
                        let mut built = NativeValues::default();
                        built.put_literal("type", block.kind.word());
                        built.put("thinking", text.reborrow());
                        built.put("signature", signature.clone());
                        blocks.push(built);
                    }
                });
                if blocks.is_empty() {
                    // The text was left out by whoever signed it.
                    built.put_literal("thinking", "");
                    built.put("signature", signature);
                    blocks.push(built);
                }
                return blocks;
            }
            BlockKind::ToolUse(kind) => {
                for place in ["id", "name"] {
                    block.slots.share(place, place, &mut built);
                }
                built.put("input", tool_input(block.slots.get("input"), kind, out));
            }
            BlockKind::ToolResult => {
                if let Some(id) = block.slots.get("tool_use_id") {
                    built.put("tool_use_id", id.clone());
                } else {
                    out.ledger.note("result without an id taken for that of the first open call");
                    let waiting = self.nameless_calls.pop_front();
                    built.put_literal("tool_use_id", &waiting.unwrap_or_else(|| format!("call_{number}")));
                }
                block.build_result(&mut built);
                if let Some(is_error) = block.slots.get("is_error") {
                    built.put("is_error", is_error.clone());
                }
            }
        }
        vec![built]
    }
}

impl Line {
    /// The kept line has a place for so many blocks only.
    fn lose_blocks(&self, places: usize, out: &mut Target<'_>) {
        for block in self.blocks.iter().skip(places) {
            let of = block.kind.of();
            let field = if of == Of::Call { Field::CallArgs } else { of.text() };
            out.ledger.lose_late(field, Reason::Invalid, 1, 0);
        }
    }

    fn is_result(&self, item: ItemId) -> bool {
        self.blocks.iter().any(|block| block.item == item && block.kind == BlockKind::ToolResult)
    }

    /// Numbers the blocks as they stand in the kept line: unknown blocks there have no hole and none of ours. A record in
    /// which someone changed one of the two says more than its line; that is lost, and `out` learns it.
    fn place_blocks(&mut self, kept: Val<'_>, out: &mut Target<'_>) {
        let inside = |outer, name| kept.get(outer).and_then(|outer| outer.get(name));
        for (field, value, place) in [
            (Field::ItemId, kept.get("uuid"), "uuid"),
            (Field::ItemParent, kept.get("parentUuid"), "parentUuid"),
            (Field::ItemTime, kept.get("timestamp"), "timestamp"),
            (Field::ItemModel, inside("message", "model"), "message/model"),
        ] {
            let says =
                |own: &&Raw<'_>| value.is_some_and(|value| is_hole(value) || value.text() == own.as_str());
            if let Some(own) = self.slots.get(place).filter(|own| !says(own)) {
                out.ledger.lose_late(field, Reason::Invalid, 1, own.as_str().len() as u64);
            }
        }
        let (content, place) = match (inside("message", "content"), inside("attachment", "prompt")) {
            (Some(content), _) => (content, "message/content"),
            (None, Some(prompt)) => (prompt, "attachment/prompt"),
            (None, None) => return self.lose_blocks(0, out),
        };
        let holes = content.elements().filter(|block| has_hole(*block)).count();
        self.lose_blocks(if is_hole(content) { 1 } else { holes }, out);
        let ours =
            content.elements().enumerate().filter(|(_, block)| has_hole(*block)).map(|(number, _)| number);
        for (number, block) in ours.zip(&self.blocks) {
            block.slots_for_holes().copy_under(&format!("{place}/{number}"), &mut self.slots);
        }
        if let [block] = &self.blocks[..] {
            block.slots.share("text", place, &mut self.slots);
        }
    }
}

impl Block {
    /// Adds a part; gives it back with the reason if the block cannot say it.
    fn add(&mut self, part: u32, value: &Part<'_>) -> Result<(), Reason> {
        if self.kind == BlockKind::ToolResult {
            return self.add_to_result(part, value);
        }
        match (self.kind, value) {
            (BlockKind::Thinking | BlockKind::Redacted, Part::Text(text) | Part::Summary(text)) => {
                if self.slots.get("thinking").is_none() {
                    self.part = part;
                }
                // The first text is the block's; further ones are blocks of their own if the line must be built.
                if part == self.part {
                    self.slots.append_str("thinking", text);
                } else {
                    self.slots.append_str(&format!("thinking/{part}"), text);
                }
            }
            (BlockKind::Thinking | BlockKind::Redacted, Part::Opaque(Opaque { kind, issuer, value })) => {
                if !issuer.is(issuers::ANTHROPIC) {
                    return Err(Reason::Foreign);
                }
                match kind {
                    OpaqueKind::Signature => self.slots.append_str("signature", value),
                    OpaqueKind::Encrypted => {
                        self.kind = BlockKind::Redacted;
                        self.slots.append_str("data", value);
                    }
                }
            }
            (BlockKind::ToolUse(_), Part::Args(Args::Json(json))) => self.slots.put("input", json.reborrow()),
            (BlockKind::ToolUse(_), Part::Args(Args::Text(text))) => self.slots.append_str("input", text),
            (BlockKind::Text, Part::Text(text) | Part::Summary(text) | Part::Refusal(text)) => {
                self.slots.append_str("text", text);
            }
            (BlockKind::Text, Part::Json(json)) => self.slots.put_str("text", &Str::plain(json.as_str())),
            (BlockKind::Image | BlockKind::Document, Part::Media(media)) => put_media(media, &mut self.slots),
            (_, Part::Opaque(_)) => return Err(Reason::Foreign),
            (
                _,
                Part::Text(_)
                | Part::Summary(_)
                | Part::Refusal(_)
                | Part::Json(_)
                | Part::Media(_)
                | Part::Args(_)
                | Part::File(_)
                | Part::Citation(_)
                | Part::Cache(_),
            ) => return Err(Reason::NoSlot),
        }
        Ok(())
    }

    fn add_to_result(&mut self, part: u32, value: &Part<'_>) -> Result<(), Reason> {
        let added = match value {
            Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => {
                if let Some((known, ResultPart::Text(so_far))) = self.result.last_mut()
                    && *known == part
                {
                    so_far.push_str(text.as_escaped());
                    return Ok(());
                }
                ResultPart::Text(text.as_escaped().to_owned())
            }
            Part::Json(json) => ResultPart::Json(json.clone().into_owned()),
            Part::Media(media) => {
                let mut slots = NativeValues::default();
                put_media(media, &mut slots);
                ResultPart::Media(media_kind(media), slots)
            }
            Part::Opaque(_) => return Err(Reason::Foreign),
            Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Cache(_) => return Err(Reason::NoSlot),
        };
        self.result.push((part, added));
        Ok(())
    }

    /// Whether there is anything to write.
    fn says_anything(&self) -> bool {
        match self.kind {
            BlockKind::Thinking => {
                self.slots.get("thinking").is_some() || self.slots.get("signature").is_some()
            }
            BlockKind::Redacted => self.slots.get("data").is_some(),
            BlockKind::Text | BlockKind::Image | BlockKind::Document => !self.slots.is_empty(),
            BlockKind::ToolUse(_) | BlockKind::ToolResult => true,
        }
    }

    /// Where the values stand in a line that was kept: it knows whether a result is a string, a value or a list.
    fn slots_for_holes(&self) -> NativeValues {
        let mut slots = NativeValues::default();
        self.slots.copy_into(&mut slots);
        for (number, (_, part)) in self.result.iter().enumerate() {
            match part {
                ResultPart::Text(text) => {
                    if number == 0 {
                        slots.put_literal("content", text);
                    }
                    slots.put_literal(format!("content/{number}/text"), text);
                }
                ResultPart::Json(json) => slots.put("content", json.clone()),
                ResultPart::Media(_, media) => media.copy_under(&format!("content/{number}"), &mut slots),
            }
        }
        slots
    }

    /// One text is a string, as Claude Code writes it; anything more is a list.
    fn build_result(&self, built: &mut NativeValues) {
        match &self.result[..] {
            [] => built.put_literal("content", ""),
            [(_, ResultPart::Text(text))] => built.put_literal("content", text),
            [(_, ResultPart::Json(json))] => built.put_str("content", &Str::plain(json.as_str())),
            parts => {
                for (number, (_, part)) in parts.iter().enumerate() {
                    let place = format!("content/{number}");
                    match part {
                        ResultPart::Text(text) => {
                            built.put_literal(format!("{place}/type"), "text");
                            built.put_literal(format!("{place}/text"), text);
                        }
                        ResultPart::Json(json) => {
                            built.put_literal(format!("{place}/type"), "text");
                            built.put_str(format!("{place}/text"), &Str::plain(json.as_str()));
                        }
                        ResultPart::Media(kind, media) => {
                            built.put_literal(format!("{place}/type"), kind.word());
                            media.copy_under(&place, built);
                        }
                    }
                }
            }
        }
    }
}

const fn is_assistant(author: Author) -> bool {
    match author {
        Author::Assistant => true,
        Author::User | Author::Tool | Author::System | Author::Developer => false,
    }
}

/// Whether a time is one that Claude Code reads.
fn is_date(time: &Raw<'_>) -> bool {
    is_rfc3339(time.as_str().trim_matches('"').as_bytes())
}

/// An id or a name in letters that the API takes.
fn api_word<'a>(text: &'a Str<'_>, most: usize, field: Field, out: &mut Target<'_>) -> Str<'a> {
    let word = wire::alias(text, Letters::Word, most);
    if word.as_escaped() != text.as_escaped() {
        out.ledger.note("id or name of a call replaced by one the API takes");
        out.lose_str(field, text, Reason::Refused);
    }
    word
}

/// The API takes an object. Free text becomes its one member; text that is an object is that object.
fn tool_input(input: Option<&Raw<'_>>, kind: CallKind, out: &mut Target<'_>) -> Raw<'static> {
    let Some(input) = input else { return Raw::new("{}") };
    if !input.as_str().starts_with('"') {
        return input.clone().into_owned();
    }
    let text = Str::escaped(input.as_str().trim_matches('"'));
    let plain = text.decode();
    if kind != CallKind::FreeText && plain.trim().is_empty() {
        return Raw::new("{}");
    }
    if kind != CallKind::FreeText && wire::is_object(&mut crate::tape::TapeBuf::default(), plain.trim()) {
        return Raw::owned(plain.trim().to_owned());
    }
    out.ledger.note("arguments that are no JSON object became the member `input`");
    Raw::owned(format!("{{\"input\":{}}}", input.as_str()))
}

fn media_kind(media: &Media<'_>) -> BlockKind {
    let pdf = media.media_type.as_ref().is_some_and(|media_type| media_type.is("application/pdf"));
    if pdf { BlockKind::Document } else { BlockKind::Image }
}

fn put_media(media: &Media<'_>, slots: &mut NativeValues) {
    let Media { media_type, source, name, .. } = media;
    let (kind, member, value) = match source {
        MediaSource::Base64(data) => ("base64", "data", data),
        MediaSource::Url(url) => ("url", "url", url),
        MediaSource::File(id) => ("file", "file_id", id),
        MediaSource::Text(text) => ("text", "data", text),
    };
    slots.put_literal("source/type", kind);
    if let Some(media_type) = media_type {
        slots.put_str("source/media_type", media_type);
    }
    slots.put_str(format!("source/{member}"), value);
    if let Some(name) = name {
        slots.put_str("title", name);
    }
}

/// As much of the media as a block that the API takes can say; `out` learns the rest.
fn sayable<'a>(media: &'a Media<'a>, out: &mut Target<'_>) -> Result<Media<'a>, Reason> {
    let Media { media_type, source, name, .. } = media;
    let known = media_type.as_ref().map(Str::decode);
    let pdf = known.as_deref() == Some("application/pdf");
    let picture = matches!(known.as_deref(), Some("image/jpeg" | "image/png" | "image/gif" | "image/webp"));
    let guess = match (source, known.as_deref()) {
        // Each provider has its own store of files.
        (MediaSource::File(_), _) => return Err(Reason::Foreign),
        (MediaSource::Base64(_), None) => {
            out.ledger.note("picture without a type taken for a PNG");
            Some(Str::escaped("image/png"))
        }
        (MediaSource::Text(_), _) => return Err(Reason::NoSlot),
        (MediaSource::Url(_), None) => None,
        (_, Some(_)) if !pdf && !picture => return Err(Reason::Refused),
        (_, Some(_)) => None,
    };
    let media_type = match source {
        MediaSource::Url(_) if !pdf => {
            out.lose_some(Field::MediaType, media_type.as_ref(), Reason::NoSlot);
            None
        }
        MediaSource::Base64(_) | MediaSource::Url(_) | MediaSource::File(_) | MediaSource::Text(_) => {
            media_type.clone().or(guess)
        }
    };
    if !pdf {
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
    }
    Ok(Media {
        media_type,
        source: source.clone(),
        name: name.clone().filter(|_| pdf),
        context: None,
        citable: None,
    })
}
