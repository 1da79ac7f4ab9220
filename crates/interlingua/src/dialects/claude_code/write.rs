//! Events to lines. A line that was kept comes back byte for byte; a session of another agent becomes lines that
//! Claude Code resumes.

use crate::dialects::Options;
use crate::ledger::Reason;
use crate::model::{
    Args, Author, Delta, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Notice, Opaque,
    OpaqueKind, Part, Session, ToolCall, ToolResult,
};
use crate::pipe::Out;
use crate::restore::{LineWriter, Lines, Slots, has_hole, made_up_id};
use crate::tape::Val;
use crate::text::{Raw, Str};

pub(super) struct ClaudeWriter {
    session: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    /// The line being gathered.
    line: Option<Line>,
    /// The chain: the last line written.
    last_id: Option<String>,
    lines: Lines,
}

/// What one line will say.
struct Line {
    slots: Slots,
    blocks: Vec<Block>,
    author: Author,
    kind: LineKind,
    /// The item the line is, and whether that is a message holding the others.
    item: ItemId,
    /// Lines that were kept for it have been written.
    restored: bool,
}

#[derive(PartialEq, Eq)]
enum LineKind {
    Message,
    Notice,
    /// An item that stands alone where Claude Code would wrap it in a message.
    Bare,
}

/// One content block: its slots relative to the block.
struct Block {
    item: ItemId,
    part: u32,
    kind: &'static str,
    slots: Slots,
    parts: u32,
}

impl ClaudeWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            session: options.source_name.clone(),
            cwd: None,
            branch: None,
            line: None,
            last_id: None,
            lines: Lines::new(super::DIALECT.name),
        }
    }
}

impl LineWriter for ClaudeWriter {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Out<'_>) {
        let within = self.line.as_ref().is_some_and(|line| head.within == Some(line.item) && !line.restored);
        if !within {
            self.end_line(out);
            self.line = Some(Line::open(head));
        }
        let Some(line) = &mut self.line else { return };
        let ItemHead { id, kind, author: _, within: _, native_id: _, parent: _, time: _, model: _, shape: _ } =
            head;
        let mut slots = Slots::default();
        let kind = match kind {
            ItemKind::Message | ItemKind::Notice(_) => return,
            ItemKind::Reasoning => "thinking",
            ItemKind::ToolCall(ToolCall { call_id, kind: _, namespace, name }) => {
                if let Some(call_id) = call_id {
                    slots.put_str("id", call_id);
                }
                slots.put_str("name", name);
                if let Some(namespace) = namespace {
                    slots.put_str("server_name", namespace);
                }
                "tool_use"
            }
            ItemKind::ToolResult(ToolResult { call_id, name: _ }) => {
                if let Some(call_id) = call_id {
                    slots.put_str("tool_use_id", call_id);
                }
                "tool_result"
            }
        };
        line.blocks.push(Block { item: *id, part: 0, kind, slots, parts: 0 });
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Out<'_>) {
        let Some(line) = &mut self.line else { return };
        let Delta { item, part, value, arrival: _ } = delta;
        if *item == line.item && line.kind == LineKind::Message {
            let kind = match value {
                Part::Media(Media { media_type, .. }) if is_pdf(media_type.as_ref()) => "document",
                Part::Media(_) => "image",
                _ => "text",
            };
            if !matches!(line.blocks.last(), Some(block) if block.item == *item && block.part == *part) {
                line.blocks.push(Block { item: *item, part: *part, kind, slots: Slots::default(), parts: 0 });
            }
        }
        match line.blocks.iter_mut().rev().find(|block| block.item == *item) {
            Some(block) => block.add(value, out),
            None => out.ledger.note("content of a notice has no place in this log"),
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let ItemTail { id, status: _, native_status: _, is_error } = tail;
        let Some(line) = &mut self.line else { return };
        if let (Some(block), Some(is_error)) =
            (line.blocks.iter_mut().rev().find(|block| block.item == *id), is_error)
        {
            block.slots.put("is_error", Raw::new(if *is_error { "true" } else { "false" }));
        }
    }

    fn session(&mut self, session: &Session<'_>) {
        #[rustfmt::skip]
        let Session {
            id, parent, cwd, cli_version, model, provider, branch, commit, repository, title, start: _, agent: _,
        } = session;
        for (path, text) in [
            ("session/parent", parent),
            ("session/cli_version", cli_version),
            ("session/model", model),
            ("session/provider", provider),
            ("session/commit", commit),
            ("session/repository", repository),
            ("session/title", title),
        ] {
            self.lines.of_session.text(path, text.as_ref());
        }
        let own = |text: &Option<Str<'_>>| text.as_ref().map(|text| text.as_escaped().to_owned());
        self.session = own(id).or_else(|| self.session.take());
        self.cwd = own(cwd).or_else(|| self.cwd.take());
        self.branch = own(branch).or_else(|| self.branch.take());
    }

    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut Out<'_>) {
        self.lines.beside.clear();
        let mut line = self.line.take();
        let empty = Slots::default();
        let slots = match &mut line {
            Some(line) => {
                line.restored = true;
                line.place_blocks(kept);
                &line.slots
            }
            None => &empty,
        };
        self.lines.restore(kept, space, slots, out);
        self.line = line;
    }

    fn end_line(&mut self, out: &mut Out<'_>) {
        let Some(mut line) = self.line.take() else { return };
        if line.restored {
            return;
        }
        self.lines.beside.lose(out.ledger);
        if line.kind == LineKind::Notice {
            line.slots.each(|place, value| {
                out.ledger.lose(&format!("notice/{place}"), Reason::NoSlot, value.as_str());
            });
            return;
        }
        let id = match line.slots.get("uuid") {
            Some(id) => id.clone(),
            None => Raw::owned(format!("\"{}\"", made_up_id(self.session.as_deref(), line.item))),
        };
        let mut built = Slots::default();
        let parent = match (line.slots.get("parentUuid"), &self.last_id) {
            (Some(parent), _) => parent.clone(),
            (None, Some(last)) => Raw::owned(last.clone()),
            (None, None) => Raw::new("null"),
        };
        built.put("parentUuid", parent);
        built.put("isSidechain", Raw::new("false"));
        built.put("userType", Raw::new("\"external\""));
        for (place, value) in [("cwd", &self.cwd), ("sessionId", &self.session), ("gitBranch", &self.branch)]
        {
            if let Some(value) = value {
                built.put_str(place, &Str::escaped(value));
            }
        }
        let user = matches!(line.author, Author::User | Author::Tool | Author::System | Author::Developer);
        let word = if user { "user" } else { "assistant" };
        built.put_str("type", &Str::escaped(word));
        if matches!(line.author, Author::System | Author::Developer) {
            // The log has no system messages; what a harness injects is a user line marked as meta.
            built.put("isMeta", Raw::new("true"));
            out.ledger.note("system message written as a meta user line");
        }
        built.put_str("message/role", &Str::escaped(word));
        if let Some(model) = line.slots.get("message/model") {
            built.put("message/model", model.clone());
        }
        line.build_content(user, &mut built);
        built.put("uuid", id.clone());
        if let Some(time) = line.slots.get("timestamp") {
            built.put("timestamp", time.clone());
        }
        self.last_id = Some(id.as_str().to_owned());
        self.lines.build(&built, out);
    }
}

impl Line {
    fn open(head: &ItemHead<'_>) -> Self {
        let ItemHead { id, kind, author, within: _, native_id, parent, time, model, shape: _ } = head;
        let mut slots = Slots::default();
        for (place, value) in [("uuid", native_id), ("parentUuid", parent), ("message/model", model)] {
            if let Some(value) = value {
                slots.put_str(place, value);
            }
        }
        if let Some(time) = time {
            slots.put("timestamp", time.reborrow());
        }
        let kind = match kind {
            ItemKind::Message => LineKind::Message,
            ItemKind::Notice(Notice { event_type }) => {
                if let Some(event_type) = event_type {
                    slots.put_str("event_type", event_type);
                }
                LineKind::Notice
            }
            ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::ToolResult(_) => LineKind::Bare,
        };
        Self { slots, blocks: Vec::new(), author: *author, kind, item: *id, restored: false }
    }

    /// Numbers the blocks as they stand in the kept line: unknown blocks there have no hole and none of ours.
    fn place_blocks(&mut self, kept: Val<'_>) {
        let content = kept.get("message").and_then(|message| message.get("content"));
        let Some(content) = content else { return };
        let ours =
            content.elements().enumerate().filter(|(_, block)| has_hole(*block)).map(|(number, _)| number);
        for (number, block) in ours.zip(&self.blocks) {
            block.slots.copy_under(&format!("message/content/{number}"), &mut self.slots);
        }
        if let [block] = &self.blocks[..] {
            block.slots.share("text", "message/content", &mut self.slots);
        }
    }

    fn build_content(&mut self, user: bool, built: &mut Slots) {
        match &self.blocks[..] {
            [Block { kind: "text", slots, .. }] if user => {
                if let Some(text) = slots.get("text") {
                    built.put("message/content", text.clone());
                }
            }
            [] => built.put("message/content", Raw::new("[]")),
            blocks => {
                for (number, block) in blocks.iter().enumerate() {
                    let place = format!("message/content/{number}");
                    built.put_str(format!("{place}/type"), &Str::escaped(block.kind));
                    block.slots.copy_under(&place, built);
                    match block.slots.get("input").map(Raw::as_str) {
                        None if block.kind == "tool_use" => {
                            built.put(format!("{place}/input"), Raw::new("{}"));
                        }
                        // Free text has no form here but an object with one member.
                        Some(text) if text.starts_with('"') => {
                            let wrapped = Raw::owned(format!("{{\"input\":{text}}}"));
                            built.replace(&format!("{place}/input"), wrapped);
                        }
                        Some(_) | None => {}
                    }
                }
            }
        }
    }
}

impl Block {
    fn add(&mut self, value: &Part<'_>, out: &mut Out<'_>) {
        match value {
            Part::Text(text) | Part::Summary(text) if self.kind == "thinking" => {
                self.slots.append_str("thinking", text);
            }
            Part::Text(text) | Part::Summary(text) | Part::Refusal(text) if self.kind == "tool_result" => {
                // One text is a string; in a list each has its place. The kept line knows which it was.
                if self.parts == 0 {
                    self.slots.put_str("content", text);
                }
                self.slots.put_str(format!("content/{}/text", self.parts), text);
                self.parts += 1;
            }
            Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => {
                self.slots.append_str("text", text);
            }
            Part::Json(json) => {
                self.slots.put(if self.kind == "tool_result" { "content" } else { "text" }, json.reborrow());
            }
            Part::Args(Args::Json(json)) => self.slots.put("input", json.reborrow()),
            Part::Args(Args::Text(text)) => self.slots.append_str("input", text),
            Part::Media(media) => {
                let place = if self.kind == "tool_result" {
                    format!("content/{}/", self.parts)
                } else {
                    String::new()
                };
                self.parts += 1;
                put_media(&place, media, &mut self.slots);
            }
            Part::Opaque(Opaque { kind, issuer: "anthropic", value }) => match kind {
                OpaqueKind::Signature => self.slots.put_str("signature", value),
                OpaqueKind::Encrypted => {
                    self.kind = "redacted_thinking";
                    self.slots.put_str("data", value);
                }
            },
            Part::Opaque(_) => out.ledger.lose("reasoning/opaque", Reason::Foreign, "\"\""),
            Part::File(_) => out.ledger.lose("file", Reason::NoSlot, "\"\""),
            Part::Citation(json) => out.ledger.lose("citation", Reason::NoSlot, json.as_str()),
        }
    }
}

fn put_media(place: &str, media: &Media<'_>, slots: &mut Slots) {
    let Media { media_type, source, name } = media;
    let (kind, member, value) = match source {
        MediaSource::Base64(data) => ("base64", "data", data),
        MediaSource::Url(url) => ("url", "url", url),
        MediaSource::File(id) => ("file", "file_id", id),
    };
    slots.put_str(format!("{place}source/type"), &Str::escaped(kind));
    if let Some(media_type) = media_type {
        slots.put_str(format!("{place}source/media_type"), media_type);
    }
    slots.put_str(format!("{place}source/{member}"), value);
    if let Some(name) = name {
        slots.put_str(format!("{place}title"), name);
    }
}

fn is_pdf(media_type: Option<&Str<'_>>) -> bool {
    media_type.is_some_and(|media_type| media_type.is("application/pdf"))
}
