//! Lines to events. A `response_item` is an item, its echo beside it the same item again (see [`super::echo`]); every
//! other line is a notice, whatever its type.

use super::commands::{Commands, Ran};
use super::echo::{Echoes, Form, Found, Sort, Voice};
use crate::json::{Latest, Raw, Str, escape_into};
use crate::model::{
    Args, Author, CallKind, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Notice,
    Of, Opaque, OpaqueKind, Origin, Part, Rewind, Session, Shape, Status, ToolCall, ToolResult, Turn, Usage,
    issuers,
};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Claim, Kind, Limits, TapeBuf, Val, WantedNames};

#[derive(Default)]
pub(super) struct CodexReader {
    session: Option<String>,
    cwd: Latest,
    version: Latest,
    model: Latest,
    approval: Latest,
    sandbox: Latest,
    total: Latest,
    echoes: Echoes,
    arguments: Arguments,
    commands: Commands,
}

/// The members that every line has, found in one pass.
struct RolloutLine<'t> {
    kind: Option<Val<'t>>,
    time: Option<Val<'t>>,
    payload: Val<'t>,
    payload_kind: Option<Val<'t>>,
}

impl Reader for CodexReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["type", "payload", "timestamp"]);
        let [kind, payload, time] = doc.root.find(&WANTED);
        let payload = payload.filter(|payload| payload.kind() == Kind::Object);
        let word = word_of(kind);
        // The oldest rollouts have items without an envelope, and a head that has no type at all.
        let bare = matches!(word, "message" | "reasoning" | "function_call" | "function_call_output");
        let old_head =
            kind.is_none() && doc.root.get("id").is_some() && doc.root.get("instructions").is_some();
        if payload.is_none() && !bare && !old_head {
            doc.report_foreign(super::DIALECT.name, out);
        }
        let old = payload.is_none().then_some(doc.root);
        let payload = payload.unwrap_or(doc.root);
        let line = RolloutLine { kind, time, payload, payload_kind: payload.get("type") };
        let words = match old {
            Some(_) if bare => ("response_item", word),
            Some(_) if old_head => ("session_meta", ""),
            _ => (word, word_of(line.payload_kind)),
        };
        if let Some((voice, form)) = spoken(words, payload) {
            return self.said(&line, voice, form, out);
        }
        self.close(out);
        match words {
            ("response_item", word) if self.tool(payload, word, None, time, out) => {
                note_tag(kind, Field::Structure);
                return;
            }
            ("session_meta", _) => self.session(payload, out),
            ("turn_context", _) => self.settings(payload, out),
            ("event_msg", "exec_command_end") => {
                self.commands.ended(payload.str_or_empty("call_id"), payload);
            }
            ("event_msg", "item_completed") => {
                if let Some(item) = payload.get("item") {
                    self.commands.ended(item.str_or_empty("id"), item);
                }
            }
            _ => {}
        }
        notice(&line, out);
        if words == ("event_msg", "thread_rolled_back") {
            note_tag(kind, Field::Structure);
            let turns = payload.note_u64("num_turns", Field::RewindTurns);
            out.event(&Event::Rewound(Rewind { to: None, turns }));
        }
        if words == ("event_msg", "token_count") {
            note_tag(kind, Field::Structure);
            self.usage(payload, out);
        }
    }

    fn finish(&mut self, out: &mut Events<'_>) {
        self.close(out);
    }
}

/// The text of a type; empty if there is none.
fn word_of(kind: Option<Val<'_>>) -> &str {
    match kind {
        Some(kind) if kind.kind() == Kind::String => &kind.text()[1..kind.text().len() - 1],
        _ => "",
    }
}

/// Notes a type, which stays where it is. Returns its word.
fn note_tag(kind: Option<Val<'_>>, field: Field) -> Option<Str<'_>> {
    kind.and_then(|kind| kind.note_text(field))
}

/// Whose words a message holds, where its first text shows that they are not the author's own.
fn origin(voice: Voice, text: &str) -> Option<Origin> {
    let begins = |tags: &[&str]| tags.iter().any(|tag| text.starts_with(tag));
    match voice {
        Voice::Agent => Some(Origin::Agent),
        Voice::User if begins(INJECTED) => Some(Origin::Harness),
        Voice::User if begins(SUMMARIES) => Some(Origin::Summary),
        Voice::User | Voice::Assistant | Voice::Reasoning | Voice::Developer | Voice::System => None,
    }
}

/// What the texts begin with that Codex puts into a conversation in the user's name.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "# AGENTS.md instructions",
];

/// What the texts begin with that stand for a conversation which was compacted.
const SUMMARIES: &[&str] = &["Another language model started to solve this problem and produced a summary"];

/// Whose words a line holds, and whether as what was sent or as what the screen showed.
fn spoken(words: (&str, &str), payload: Val<'_>) -> Option<(Voice, Form)> {
    match words {
        ("response_item", "message") => match payload.str_or_empty("role") {
            "user" => Some((Voice::User, Form::Item)),
            "assistant" => Some((Voice::Assistant, Form::Item)),
            "system" => Some((Voice::System, Form::Item)),
            "developer" => Some((Voice::Developer, Form::Item)),
            _ => None,
        },
        ("response_item", "agent_message") => Some((Voice::Agent, Form::Item)),
        ("response_item", "reasoning") => Some((Voice::Reasoning, Form::Item)),
        ("event_msg", "user_message") => Some((Voice::User, Form::Shown)),
        ("event_msg", "agent_message") => Some((Voice::Assistant, Form::Shown)),
        ("event_msg", "agent_reasoning" | "agent_reasoning_raw_content") => {
            Some((Voice::Reasoning, Form::Shown))
        }
        ("event_msg", "item_completed") => match payload.get("item")?.str_or_empty("type") {
            "UserMessage" => Some((Voice::User, Form::Done)),
            "AgentMessage" => Some((Voice::Assistant, Form::Done)),
            "Reasoning" => Some((Voice::Reasoning, Form::Done)),
            _ => None,
        },
        _ => None,
    }
}

impl CodexReader {
    /// Completes the item that waited for a second line which did not come.
    fn close(&mut self, out: &mut Events<'_>) {
        if let Some((_, item)) = self.echoes.open.take() {
            out.complete(item);
        }
    }

    /// A message or reasoning, in one form or the other.
    fn said(&mut self, line: &RolloutLine<'_>, voice: Voice, form: Form, out: &mut Events<'_>) {
        let payload = line.payload;
        let holder = if form == Form::Done { payload.get("item").unwrap_or(payload) } else { payload };
        let (marks, frame) = ([holder.get("id"), line.time], out.frame_number());
        let (mut texts, mut others) = (0, 0);
        self.echoes.begin();
        for_each_element(payload, voice, form, &mut |element, sort| match text_of(element) {
            Some(text) => {
                self.echoes.hear(text, sort);
                texts += 1;
            }
            None => others += u32::from(is_part(element)),
        });
        let found = match form {
            Form::Item if others > 0 || self.echoes.too_long => Found::New,
            _ => self.echoes.find(voice, form, frame),
        };
        // An echo that is too long to be compared may or may not be one: its line is kept as it is.
        if found == Found::Apart || (form != Form::Item && (texts == 0 || self.echoes.too_long)) {
            self.close(out);
            return notice(line, out);
        }
        if found == Found::Beside && self.echoes.item(voice).is_some_and(|item| out.is_refused(item)) {
            return self.close(out);
        }
        note_tag(line.kind, Field::Structure);
        note_tag(line.payload_kind, Field::Structure);
        if form == Form::Done {
            holder.note_str("type", Field::Structure);
        }
        if form == Form::Item && voice != Voice::Reasoning && voice != Voice::Agent {
            payload.note_str("role", Field::ItemAuthor);
        }
        if found == Found::Beside {
            self.echoes.take_same(voice, marks);
        }
        // What has been said of the item already, and the number of its next part.
        let (item, known, first) = match (found, self.echoes.open) {
            (Found::Beside, Some((_, item))) => (Some(item), self.echoes.known(voice), 0),
            (Found::Beside, None) => (None, texts, 0),
            _ => {
                if let Some((item, first)) = self.echoes.extend(voice, form, frame) {
                    self.echoes.take_same(voice, marks);
                    (Some(item), 0, first)
                } else {
                    self.close(out);
                    let mut head = out.head(voice.kind(), voice.author());
                    begin(&mut head, holder, line.time);
                    head.origin = self.echoes.first().and_then(|text| origin(voice, text));
                    let list = voice == Voice::Reasoning || texts as u32 + others > 1;
                    head.shape = if list { Shape::List } else { Shape::One };
                    let form = if self.echoes.too_long { Form::Both } else { form };
                    self.echoes.remember(voice, form, frame, marks);
                    let item = out.start(head);
                    self.echoes.became(voice, item);
                    (Some(item), 0, 0)
                }
            }
        };
        let mut number = 0;
        for_each_element(payload, voice, form, &mut |element, sort| {
            if let Some(item) = item.filter(|_| number >= known) {
                self.element(element, voice, sort, (first + number) as u32, item, out);
            } else if let Some(text) = text_of(element) {
                element.note_str("type", Field::Structure);
                text.take_text(sort.field(voice));
            }
            number += 1;
        });
        self.echoes.open = item.filter(|_| form != Form::Item).map(|item| (voice, item));
        if let Some(item) = item.filter(|_| form == Form::Item) {
            if voice == Voice::Reasoning
                && let Some(value) = payload.take_str("encrypted_content", Field::Encrypted)
            {
                let state =
                    Opaque { kind: OpaqueKind::Encrypted, issuer: Str::escaped(issuers::OPENAI), value };
                out.delta(item, number as u32, Part::Opaque(state));
            }
            complete(item, payload, None, Ran::default(), out);
        }
    }

    /// Reads one element of what was said. Unknown ones stay where they are.
    fn element(
        &mut self,
        val: Val<'_>,
        voice: Voice,
        sort: Sort,
        number: u32,
        item: ItemId,
        out: &mut Events<'_>,
    ) {
        if let Some(value) = read_part(val, sort, sort.field(voice), Of::Message) {
            out.delta(item, number, value);
        } else if voice != Voice::Reasoning {
            self.tool(val, val.str_or_empty("type"), Some(item), None, out);
        }
    }

    /// Reads a call or its result; `false` if it is neither.
    fn tool<'t>(
        &mut self,
        val: Val<'t>,
        word: &str,
        within: Option<ItemId>,
        time: Option<Val<'t>>,
        out: &mut Events<'_>,
    ) -> bool {
        const WANTED: WantedNames<6> =
            WantedNames::new(["call_id", "namespace", "name", "input", "action", "arguments"]);
        // Tools the vendor trained have no name but their type.
        let (kind, name) = match word {
            "function_call" => (CallKind::Function, ""),
            "custom_tool_call" => (CallKind::FreeText, ""),
            "local_shell_call" => (CallKind::Vendor, "local_shell"),
            "tool_search_call" => (CallKind::Vendor, "tool_search"),
            "web_search_call" => (CallKind::Server, "web_search"),
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" | "function_result" => {
                val.note_str("type", Field::Structure);
                self.read_result(val, within, time, out);
                return true;
            }
            _ => return false,
        };
        let [call_id, namespace, own_name, input, action, arguments] = val.find(&WANTED);
        let take = |val: Option<Val<'t>>, field| val.and_then(|val| val.take_text(field));
        val.note_str("type", Field::CallKind);
        let call = ToolCall {
            call_id: take(call_id, Field::CallId),
            kind,
            namespace: take(namespace, Field::CallNamespace),
            name: take(own_name, Field::CallName).unwrap_or(Str::escaped(name)),
        };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        begin(&mut head, val, time);
        head.within = within;
        let item = out.start(head);
        if let Some(input) = take(input, Field::CallArgs) {
            out.delta(item, 0, Part::Args(Args::Text(input)));
        } else if let Some(action) = action.filter(|action| action.kind() == Kind::Object) {
            out.delta(item, 0, Part::Args(Args::Json(action.take(Field::CallArgs))));
        } else if let Some(arguments) = arguments {
            self.arguments.read(arguments, item, out);
        }
        complete(item, val, None, Ran::default(), out);
        true
    }

    fn session(&mut self, meta: Val<'_>, out: &mut Events<'_>) {
        let known = self.session.as_deref();
        // Another id: the head of the thread this one was forked from, copied along with its history. It stays as it is.
        if known.is_some_and(|known| known != meta.str_or_empty("id")) {
            return;
        }
        let first = known.is_none();
        let vcs = |name, field| meta.get("git").and_then(|git| git.note_str(name, field));
        let forked = meta.note_str("forked_from_id", Field::SessionParent);
        let session = Session {
            parent: forked.or_else(|| meta.note_str("parent_thread_id", Field::SessionParent)),
            cwd: self.cwd.changed(meta.note_str("cwd", Field::SessionCwd)),
            cli_version: self.version.changed(meta.note_str("cli_version", Field::SessionVersion)),
            provider: meta.note_str("model_provider", Field::SessionProvider),
            branch: vcs("branch", Field::SessionBranch),
            commit: vcs("commit_hash", Field::SessionCommit),
            repository: vcs("repository_url", Field::SessionRepository),
            start: meta.get("timestamp").filter(Val::is_time).map(|time| time.note(Field::SessionStart)),
            ..Session::default()
        };
        let id = meta.note_str("id", Field::SessionId);
        if first {
            self.session = Some(id.as_ref().map_or("", Str::as_escaped).to_owned());
            out.event(&Event::SessionStarted(Session {
                id,
                agent: Some(Str::escaped(super::DIALECT.name)),
                ..session
            }));
        } else {
            out.event(&Event::SessionUpdated(session));
        }
    }

    fn settings(&mut self, context: Val<'_>, out: &mut Events<'_>) {
        let model = self.model.changed(context.note_str("model", Field::SessionModel));
        let cwd = self.cwd.changed(context.note_str("cwd", Field::SessionCwd));
        let changed = |latest: &mut Latest, name, field| {
            let policy = context.get(name).filter(|policy| !policy.is_null())?;
            latest.changed(Some(Str::escaped(policy.note(field).as_str()))).map(|_| policy.raw())
        };
        let approval_policy = changed(&mut self.approval, "approval_policy", Field::ApprovalPolicy);
        let sandbox_policy = changed(&mut self.sandbox, "sandbox_policy", Field::SandboxPolicy);
        let session = Session { cwd, model, approval_policy, sandbox_policy, ..Session::default() };
        if session != Session::default() {
            out.event(&Event::SessionUpdated(session));
        }
    }

    /// The count is repeated at every step. The total tells whether there is news; what it rose by is the last call's
    /// usage, which is also right in a fork, whose total begins with its parent's.
    fn usage(&mut self, payload: Val<'_>, out: &mut Events<'_>) {
        let Some(info) = payload.get("info") else { return };
        let total = info.get("total_token_usage").map(|total| Str::escaped(total.text()));
        let Some(last) = info.get("last_token_usage") else { return };
        if self.total.changed(total).is_none() {
            return;
        }
        let (cached, written) = (
            last.note_u64("cached_input_tokens", Field::UsageCacheRead),
            last.note_u64("cache_write_input_tokens", Field::UsageCacheWrite),
        );
        let cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let usage = Usage {
            input: last.note_u64("input_tokens", Field::UsageInput).map(|input| input.saturating_sub(cache)),
            cache_read: cached,
            cache_write: written,
            cache_write_long: None,
            output: last.note_u64("output_tokens", Field::UsageOutput),
            reasoning: last.note_u64("reasoning_output_tokens", Field::UsageReasoning),
            ..Usage::default()
        };
        out.event(&Event::Usage(Turn { usage: Some(usage), ..Turn::default() }));
    }
}

/// Reads arguments, which Codex writes as JSON in a string. The memory is used again.
#[derive(Default)]
struct Arguments {
    plain: String,
    again: String,
    tape: TapeBuf,
}

impl Arguments {
    fn read(&mut self, arguments: Val<'_>, item: ItemId, out: &mut Events<'_>) {
        let Some(text) = arguments.str() else {
            // A hole could not tell an object from a string, so an object also stays where it is.
            return out.delta(item, 0, Part::Args(Args::Json(arguments.note(Field::CallArgs))));
        };
        self.plain.clear();
        self.again.clear();
        text.decode_into(&mut self.plain);
        escape_into(&self.plain, &mut self.again);
        let exact = self.again == text.as_escaped();
        // What decoding had to replace is not the same JSON any more.
        let sound = exact || !self.plain.contains(char::REPLACEMENT_CHARACTER);
        let limits = Limits { depth: 100, ..Limits::default() };
        let object = self.plain.starts_with('{') && self.plain.ends_with('}');
        if !sound || !object || self.tape.parse(&self.plain, &limits).is_err() {
            arguments.claim(Claim::Taken(Field::CallArgs));
            return out.delta(item, 0, Part::Args(Args::Text(text)));
        }
        // Another spelling of the same text cannot be made again from the value.
        let claim = if exact { Claim::Taken(Field::CallArgs) } else { Claim::Noted(Field::CallArgs) };
        arguments.claim(claim);
        out.delta(item, 0, Part::Args(Args::Json(Raw::new(&self.plain))));
    }
}

impl CodexReader {
    fn read_result(
        &mut self,
        val: Val<'_>,
        within: Option<ItemId>,
        time: Option<Val<'_>>,
        out: &mut Events<'_>,
    ) {
        let output = ["output", "result", "tools"].into_iter().find_map(|name| val.get(name));
        // A list of texts and images is read part by part; any other value is one JSON value.
        let list = output.is_some_and(|list| list.kind() == Kind::Array && list.elements().all(is_part));
        let list = list && within.is_none();
        let ran = self.commands.of(val.str_or_empty("call_id"), output);
        let result = ToolResult { call_id: val.take_str("call_id", Field::ResultCallId), name: None };
        let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
        begin(&mut head, val, time);
        head.within = within;
        head.shape = if list { Shape::List } else { Shape::One };
        let item = out.start(head);
        let mut is_error = None;
        if let Some(output) = output.filter(|output| !output.is_null()) {
            if let Some(text) = output.take_text(Field::ResultText) {
                out.delta(item, 0, Part::Text(text));
            } else if list {
                for (number, part) in output.elements().enumerate() {
                    if let Some(value) = read_part(part, Sort::Plain, Field::ResultText, Of::Result) {
                        out.delta(item, number as u32, value);
                    }
                }
            } else {
                is_error = output.get("success").and_then(|success| success.bool()).map(|success| !success);
                out.delta(item, 0, Part::Json(output.take(Field::ResultJson)));
            }
        }
        complete(item, val, is_error, ran, out);
    }
}

/// What a line says about its item. `val` holds the item's own id.
fn begin<'t>(head: &mut ItemHead<'t>, val: Val<'t>, time: Option<Val<'t>>) {
    head.native_id = val.take_str("id", Field::ItemId);
    head.time = time.and_then(|time| time.take_time(Field::ItemTime));
}

fn complete(id: ItemId, val: Val<'_>, is_error: Option<bool>, ran: Ran, out: &mut Events<'_>) {
    let native_status = val.take_str("status", Field::ItemStatus);
    let status = match native_status.as_ref().map(Str::as_escaped) {
        Some("incomplete") => Status::Interrupted,
        Some("failed") => Status::Failed,
        _ if is_error == Some(true) => Status::Failed,
        _ => Status::Completed,
    };
    out.event(&Event::ItemCompleted(ItemTail {
        id,
        status,
        native_status,
        is_error,
        exit_code: ran.exit_code,
        duration: ran.duration,
    }));
}

/// The innermost type says what a line is: that of the item, of the payload, of the line.
fn notice(line: &RolloutLine<'_>, out: &mut Events<'_>) {
    let inner = line.payload.get("item").and_then(|item| item.note_str("type", Field::NoticeType));
    let word = inner
        .or_else(|| note_tag(line.payload_kind, Field::NoticeType))
        .or_else(|| note_tag(line.kind, Field::NoticeType));
    let mut head = out.head(ItemKind::Notice(Notice { event_type: word }), Author::System);
    head.time = line.time.and_then(|time| time.take_time(Field::ItemTime));
    let item = out.start(head);
    out.complete(item);
}

/// The texts and other elements of a message, of reasoning, or of an echo of either, from the members that hold them
/// in that form. Where a member is of another type than it should be, it is left alone.
fn for_each_element<'t>(payload: Val<'t>, voice: Voice, form: Form, each: &mut dyn FnMut(Val<'t>, Sort)) {
    let plain = |name| (name, Sort::Plain);
    let reasoning = voice == Voice::Reasoning;
    let members: &[_] = match form {
        Form::Shown if !reasoning => &[plain("message")],
        Form::Shown if payload.str_or_empty("type") == "agent_reasoning" => &[("text", Sort::Summary)],
        Form::Shown => &[plain("text")],
        Form::Done if reasoning => &[("summary_text", Sort::Summary), plain("raw_content")],
        Form::Item if reasoning => &[("summary", Sort::Summary), plain("content")],
        Form::Item | Form::Done | Form::Both => &[plain("content")],
    };
    let holder = payload.get("item").filter(|_| form == Form::Done).unwrap_or(payload);
    for &(name, sort) in members {
        let Some(val) = holder.get(name) else { continue };
        let string = form == Form::Shown || (form == Form::Item && !reasoning);
        if val.kind() == Kind::String && string {
            each(val, sort);
        } else if form != Form::Shown {
            val.elements().for_each(|element| each(element, sort));
        }
    }
}

fn text_of(element: Val<'_>) -> Option<Val<'_>> {
    let text = match element.str_or_empty("type") {
        "input_text" | "output_text" | "text" | "Text" | "summary_text" | "reasoning_text" => {
            element.get("text")?
        }
        _ => element,
    };
    (text.kind() == Kind::String).then_some(text)
}

/// Whether an element is a part of the message or result itself.
fn is_part(part: Val<'_>) -> bool {
    let is = |word: &str, name: &str| {
        part.str_or_empty("type") == word && part.get(name).is_some_and(|value| value.kind() == Kind::String)
    };
    text_of(part).is_some() || is("input_image", "image_url") || is("refusal", "refusal")
}

fn read_part(part: Val<'_>, sort: Sort, text_field: Field, of: Of) -> Option<Part<'_>> {
    let value = if let Some(text) = text_of(part) {
        let text = text.take_text(text_field)?;
        if sort == Sort::Summary { Part::Summary(text) } else { Part::Text(text) }
    } else if !is_part(part) {
        return None;
    } else if let Some(text) = part.take_str("refusal", Field::Refusal) {
        Part::Refusal(text)
    } else {
        let url = part.get("image_url")?;
        url.take(of.media());
        let text = &url.text()[1..url.text().len() - 1];
        let (media_type, source) =
            match text.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
                Some((kind, data)) => (Some(Str::escaped(kind)), MediaSource::Base64(Str::escaped(data))),
                None => (None, MediaSource::Url(Str::escaped(text))),
            };
        Part::Media(Media { media_type, source, name: None, context: None, citable: None })
    };
    part.note_str("type", Field::Structure);
    Some(value)
}
