//! Lines to events. A `response_item` is an item, its echo beside it the same item again (see [`super::echo`]); every
//! other line is a notice, whatever its type.

use super::commands::{Commands, Ran};
use super::echo::{Echoes, Form, Found, Voice};
use crate::dialects::openai::items::{call_of, is_result, text_of};
use crate::json::{Latest, Raw, Str};
use crate::log::SessionNews;
use crate::model::{
    Args, Author, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Notice, Of, Opaque,
    OpaqueKind, Origin, Part, Rewind, Session, Shape, Status, ToolCall, ToolResult, Turn, Usage, issuers,
};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Claim, Kind, Limits, Member as _, TapeBuf, Val, WantedNames};
use crate::wire::media::from_data_url;

#[derive(Default)]
pub(super) struct CodexReader {
    session: SessionNews,
    total: Latest,
    echoes: Echoes,
    arguments: Arguments,
    commands: Commands,
}

/// A payload, or an item in one, with the members that any may have, found in one pass.
#[derive(Clone, Copy)]
struct Payload<'t> {
    val: Val<'t>,
    kind: Option<Val<'t>>,
    id: Option<Val<'t>>,
    status: Option<Val<'t>>,
    /// What has been completed, in events that show items.
    item: Option<Val<'t>>,
    /// That of its line.
    time: Option<Val<'t>>,
}

impl<'t> Payload<'t> {
    fn new(val: Val<'t>, time: Option<Val<'t>>) -> Self {
        const WANTED: WantedNames<4> = WantedNames::new(["type", "id", "status", "item"]);
        let [kind, id, status, item] = val.find(&WANTED);
        Self { val, kind, id, status, item, time }
    }
}

impl Reader for CodexReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["type", "payload", "timestamp"]);
        let [kind, enveloped, time] = doc.root.find(&WANTED);
        let enveloped = enveloped.filter(|payload| payload.kind() == Kind::Object);
        let payload = Payload::new(enveloped.unwrap_or(doc.root), time);
        let words = if enveloped.is_some() {
            (kind.word(), payload.kind.word())
        } else {
            words_of_bare(payload).unwrap_or_else(|| {
                doc.report_foreign(super::DIALECT.name, out);
                (kind.word(), kind.word())
            })
        };
        if let Some((voice, form)) = spoken(words, payload) {
            return self.said(kind, payload, voice, form, out);
        }
        self.close(out);
        match words {
            ("response_item", word) if self.tool(payload, word, None, out) => {
                kind.note_text(Field::Structure);
                return;
            }
            ("session_meta", _) => self.session(payload.val, out),
            ("turn_context", _) => self.settings(payload.val, out),
            ("event_msg", "exec_command_end") => {
                self.commands.ended(payload.val.str_or_empty("call_id"), payload.val);
            }
            ("event_msg", "item_completed") => {
                if let Some(item) = payload.item {
                    self.commands.ended(item.str_or_empty("id"), item);
                }
            }
            _ => {}
        }
        notice(kind, payload, out);
        match words {
            ("event_msg", "thread_rolled_back") => {
                kind.note_text(Field::Structure);
                let turns = payload.val.note_u64("num_turns", Field::RewindTurns);
                out.event(&Event::Rewound(Rewind { to: None, turns }));
            }
            ("event_msg", "token_count") => {
                kind.note_text(Field::Structure);
                self.usage(payload.val, out);
            }
            _ => {}
        }
    }

    fn finish(&mut self, out: &mut Events<'_>) {
        self.close(out);
    }
}

/// The oldest rollouts have items without an envelope, and a head that has no type at all.
fn words_of_bare(line: Payload<'_>) -> Option<(&'static str, &str)> {
    match line.kind.word() {
        word @ ("message" | "reasoning" | "function_call" | "function_call_output") => {
            Some(("response_item", word))
        }
        _ if line.kind.is_none() && line.id.is_some() && line.val.get("instructions").is_some() => {
            Some(("session_meta", ""))
        }
        _ => None,
    }
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
fn spoken(words: (&str, &str), payload: Payload<'_>) -> Option<(Voice, Form)> {
    Some(match words {
        ("response_item", "message") => match payload.val.str_or_empty("role") {
            "user" => (Voice::User, Form::Item),
            "assistant" => (Voice::Assistant, Form::Item),
            "system" => (Voice::System, Form::Item),
            "developer" => (Voice::Developer, Form::Item),
            _ => return None,
        },
        ("response_item", "agent_message") => (Voice::Agent, Form::Item),
        ("response_item", "reasoning") => (Voice::Reasoning, Form::Item),
        ("event_msg", "user_message") => (Voice::User, Form::Shown),
        ("event_msg", "agent_message") => (Voice::Assistant, Form::Shown),
        ("event_msg", "agent_reasoning" | "agent_reasoning_raw_content") => (Voice::Reasoning, Form::Shown),
        ("event_msg", "item_completed") => match payload.item?.str_or_empty("type") {
            "UserMessage" => (Voice::User, Form::Done),
            "AgentMessage" => (Voice::Assistant, Form::Done),
            "Reasoning" => (Voice::Reasoning, Form::Done),
            _ => return None,
        },
        _ => return None,
    })
}

impl CodexReader {
    /// Completes the item that waited for a second line which did not come.
    fn close(&mut self, out: &mut Events<'_>) {
        if let Some((_, item)) = self.echoes.open.take() {
            out.complete(item);
        }
    }

    /// A message or reasoning, in one form or the other.
    fn said<'t>(
        &mut self,
        line_kind: Option<Val<'t>>,
        payload: Payload<'t>,
        voice: Voice,
        form: Form,
        out: &mut Events<'_>,
    ) {
        let inner = payload.item.filter(|_| form == Form::Done);
        let holder = inner.map_or(payload, |item| Payload::new(item, payload.time));
        let members = members_with_words(holder, voice, form);
        let frame = out.frame_number();
        let (mut texts, mut others) = (0, 0);
        self.echoes.begin();
        for (element, field) in elements(members, voice, form) {
            match text_of(element) {
                Some(text) => {
                    self.echoes.hear(text, field);
                    texts += 1;
                }
                None => others += u32::from(is_part(element)),
            }
        }
        let found = match form {
            Form::Item if others > 0 || self.echoes.too_long => Some(Found::New),
            // An echo that is too long to be compared may or may not be one.
            Form::Done | Form::Shown if texts == 0 || self.echoes.too_long => None,
            Form::Item | Form::Done | Form::Shown | Form::Both => self.echoes.find(voice, form, frame),
        };
        let Some(found) = found else {
            self.close(out);
            return notice(line_kind, payload, out);
        };
        if found == Found::Beside && self.echoes.item(voice).is_some_and(|item| out.is_refused(item)) {
            return self.close(out);
        }
        line_kind.note_text(Field::Structure);
        payload.kind.note_text(Field::Structure);
        holder.kind.note_text(Field::Structure);
        if form == Form::Item && voice != Voice::Reasoning && voice != Voice::Agent {
            payload.val.note_str("role", Field::ItemAuthor);
        }
        let marks = [holder.id, holder.time];
        // The item, how many of the elements have been said of it already, and the number of its next part.
        let (item, known, first) = match found {
            Found::Beside => {
                self.echoes.take_same(voice, marks);
                (self.echoes.open.map(|(_, item)| item), self.echoes.known(voice), 0)
            }
            Found::More { item, parts } => {
                self.echoes.take_same(voice, marks);
                (Some(item), 0, parts)
            }
            Found::New => {
                self.close(out);
                let mut head = out.head(voice.kind(), voice.author());
                begin(&mut head, holder);
                head.origin = self.echoes.first().and_then(|text| origin(voice, text));
                let list = voice == Voice::Reasoning || texts + others > 1;
                head.shape = if list { Shape::List } else { Shape::One };
                let item = out.start(head);
                self.echoes.remember(voice, form, frame, marks, item);
                (Some(item), 0, 0)
            }
        };
        let mut number = 0;
        for (element, field) in elements(members, voice, form) {
            if let Some(item) = item.filter(|_| number >= known) {
                self.element(element, voice, field, (first + number) as u32, item, out);
            } else if let Some(text) = text_of(element) {
                element.note_str("type", Field::Structure);
                text.take_text(field);
            }
            number += 1;
        }
        self.echoes.open = item.filter(|_| form != Form::Item).map(|item| (voice, item));
        if let Some(item) = item.filter(|_| form == Form::Item) {
            if voice == Voice::Reasoning
                && let Some(value) = payload.val.take_str("encrypted_content", Field::Encrypted)
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
        field: Field,
        number: u32,
        item: ItemId,
        out: &mut Events<'_>,
    ) {
        if let Some(value) = read_part(val, field, Of::Message) {
            out.delta(item, number, value);
        } else if voice != Voice::Reasoning {
            let inner = Payload::new(val, None);
            self.tool(inner, inner.kind.word(), Some(item), out);
        }
    }

    /// Reads a call or its result; `false` if it is neither.
    fn tool(
        &mut self,
        payload: Payload<'_>,
        word: &str,
        within: Option<ItemId>,
        out: &mut Events<'_>,
    ) -> bool {
        const WANTED: WantedNames<6> =
            WantedNames::new(["call_id", "namespace", "name", "input", "action", "arguments"]);
        if is_result(word) {
            payload.kind.note_text(Field::Structure);
            self.read_result(payload, within, out);
            return true;
        }
        // Tools the vendor trained have no name but their type.
        let Some((kind, name)) = call_of(word) else { return false };
        let [call_id, namespace, own_name, input, action, arguments] = payload.val.find(&WANTED);
        payload.kind.note_text(Field::CallKind);
        let call = ToolCall {
            call_id: call_id.take_text(Field::CallId),
            kind,
            namespace: namespace.take_text(Field::CallNamespace),
            name: own_name.take_text(Field::CallName).unwrap_or(Str::escaped(name)),
        };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        begin(&mut head, payload);
        head.within = within;
        let item = out.start(head);
        if let Some(input) = input.take_text(Field::CallArgs) {
            out.delta(item, 0, Part::Args(Args::Text(input)));
        } else if let Some(action) = action.filter(|action| action.kind() == Kind::Object) {
            out.delta(item, 0, Part::Args(Args::Json(action.take(Field::CallArgs))));
        } else if let Some(arguments) = arguments {
            self.arguments.read(arguments, item, out);
        }
        complete(item, payload, None, Ran::default(), out);
        true
    }

    fn session(&mut self, meta: Val<'_>, out: &mut Events<'_>) {
        // Another id: the head of the thread this one was forked from, copied along with its history. It stays as it is.
        if self.session.known().id.as_ref().is_some_and(|id| id.as_escaped() != meta.str_or_empty("id")) {
            return;
        }
        let vcs = |name, field| meta.get("git").and_then(|git| git.note_str(name, field));
        let forked = meta.note_str("forked_from_id", Field::SessionParent);
        let told = Session {
            id: meta.note_str("id", Field::SessionId),
            parent: forked.or_else(|| meta.note_str("parent_thread_id", Field::SessionParent)),
            cwd: meta.note_str("cwd", Field::SessionCwd),
            cli_version: meta.note_str("cli_version", Field::SessionVersion),
            provider: meta.note_str("model_provider", Field::SessionProvider),
            branch: vcs("branch", Field::SessionBranch),
            commit: vcs("commit_hash", Field::SessionCommit),
            repository: vcs("repository_url", Field::SessionRepository),
            start: meta.get("timestamp").filter(Val::is_time).map(|time| time.note(Field::SessionStart)),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
    }

    fn settings<'t>(&mut self, context: Val<'t>, out: &mut Events<'_>) {
        const WANTED: WantedNames<4> =
            WantedNames::new(["model", "cwd", "approval_policy", "sandbox_policy"]);
        let [model, cwd, approval, sandbox] = context.find(&WANTED);
        let policy = |policy: Option<Val<'t>>, field| {
            policy.filter(|policy| !policy.is_null()).map(|policy| policy.note(field))
        };
        let told = Session {
            model: model.note_text(Field::SessionModel),
            cwd: cwd.note_text(Field::SessionCwd),
            approval_policy: policy(approval, Field::ApprovalPolicy),
            sandbox_policy: policy(sandbox, Field::SandboxPolicy),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
    }

    /// The count is repeated at every step. The total tells whether there is news; what it rose by is the last call's
    /// usage, which is also right in a fork, whose total begins with its parent's.
    fn usage(&mut self, payload: Val<'_>, out: &mut Events<'_>) {
        const INFO: WantedNames<2> = WantedNames::new(["total_token_usage", "last_token_usage"]);
        const COUNTS: WantedNames<5> = WantedNames::new([
            "input_tokens",
            "cached_input_tokens",
            "cache_write_input_tokens",
            "output_tokens",
            "reasoning_output_tokens",
        ]);
        let Some([total, Some(last)]) = payload.get("info").map(|info| info.find(&INFO)) else { return };
        if self.total.changed(total.map(|total| Str::escaped(total.text()))).is_none() {
            return;
        }
        let [input, cached, written, output, reasoning] = last.find(&COUNTS);
        let cache_read = cached.note_count(Field::UsageCacheRead);
        let cache_write = written.note_count(Field::UsageCacheWrite);
        let cache = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let usage = Usage {
            input: input.note_count(Field::UsageInput).map(|input| input.saturating_sub(cache)),
            cache_read,
            cache_write,
            output: output.note_count(Field::UsageOutput),
            reasoning: reasoning.note_count(Field::UsageReasoning),
            ..Usage::default()
        };
        out.event(&Event::Usage(Turn { usage: Some(usage), ..Turn::default() }));
    }
}

/// Reads arguments, which Codex writes as JSON in a string. The memory is used again.
#[derive(Default)]
struct Arguments {
    plain: String,
    tape: TapeBuf,
}

impl Arguments {
    fn read(&mut self, arguments: Val<'_>, item: ItemId, out: &mut Events<'_>) {
        let Some(text) = arguments.str() else {
            // A hole could not tell an object from a string, so an object also stays where it is.
            return out.delta(item, 0, Part::Args(Args::Json(arguments.note(Field::CallArgs))));
        };
        self.plain.clear();
        text.decode_into(&mut self.plain);
        let exact = has_plain_escapes(text.as_escaped()) || Str::plain(&self.plain) == text;
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

/// Whether every escape is of the sort that everyone writes: then escaping the plain text gives this very text again.
fn has_plain_escapes(escaped: &str) -> bool {
    let mut rest = escaped.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !matches!(rest.get(at + 1), Some(b'"' | b'\\' | b'n' | b't' | b'r' | b'b' | b'f')) {
            return false;
        }
        rest = &rest[at + 2..];
    }
    true
}

impl CodexReader {
    fn read_result(&mut self, payload: Payload<'_>, within: Option<ItemId>, out: &mut Events<'_>) {
        const WANTED: WantedNames<4> = WantedNames::new(["call_id", "output", "result", "tools"]);
        let [call_id, output, result, tools] = payload.val.find(&WANTED);
        let output = output.or(result).or(tools);
        // A list of texts and images is read part by part; any other value is one JSON value.
        let list = output.is_some_and(|list| list.kind() == Kind::Array && list.elements().all(is_part));
        let list = list && within.is_none();
        let ran = self.commands.of(call_id.word(), output);
        let result = ToolResult { call_id: call_id.take_text(Field::ResultCallId), name: None };
        let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
        begin(&mut head, payload);
        head.within = within;
        head.shape = if list { Shape::List } else { Shape::One };
        let item = out.start(head);
        let mut is_error = None;
        if let Some(output) = output.filter(|output| !output.is_null()) {
            if let Some(text) = output.take_text(Field::ResultText) {
                out.delta(item, 0, Part::Text(text));
            } else if list {
                for (number, part) in output.elements().enumerate() {
                    if let Some(value) = read_part(part, Field::ResultText, Of::Result) {
                        out.delta(item, number as u32, value);
                    }
                }
            } else {
                is_error = output.get("success").and_then(|success| success.bool()).map(|success| !success);
                out.delta(item, 0, Part::Json(output.take(Field::ResultJson)));
            }
        }
        complete(item, payload, is_error, ran, out);
    }
}

/// What a line says about its item.
fn begin<'t>(head: &mut ItemHead<'t>, payload: Payload<'t>) {
    head.native_id = payload.id.take_text(Field::ItemId);
    head.time = payload.time.take_time(Field::ItemTime);
}

fn complete(id: ItemId, payload: Payload<'_>, is_error: Option<bool>, ran: Ran, out: &mut Events<'_>) {
    let native_status = payload.status.take_text(Field::ItemStatus);
    let status = match native_status.as_ref().map(Str::as_escaped) {
        Some("incomplete") => Status::Interrupted,
        Some("failed") => Status::Failed,
        _ if is_error == Some(true) => Status::Failed,
        _ => Status::Completed,
    };
    let Ran { exit_code, duration } = ran;
    out.event(&Event::ItemCompleted(ItemTail { id, status, native_status, is_error, exit_code, duration }));
}

/// The innermost type says what a line is: that of the item, of the payload, of the line.
fn notice(line_kind: Option<Val<'_>>, payload: Payload<'_>, out: &mut Events<'_>) {
    let inner = payload.item.and_then(|item| item.note_str("type", Field::NoticeType));
    let event_type = inner
        .or_else(|| payload.kind.note_text(Field::NoticeType))
        .or_else(|| line_kind.note_text(Field::NoticeType));
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.time = payload.time.take_time(Field::ItemTime);
    let item = out.start(head);
    out.complete(item);
}

/// The members that hold the words of a message, of reasoning, or of an echo of either, and what their texts are.
fn members_with_words(holder: Payload<'_>, voice: Voice, form: Form) -> [(Option<Val<'_>>, Field); 2] {
    let (name, more) = match (voice, form) {
        (Voice::Reasoning, Form::Shown) => ("text", None),
        (_, Form::Shown) => ("message", None),
        (Voice::Reasoning, Form::Done) => ("summary_text", Some("raw_content")),
        (Voice::Reasoning, Form::Item | Form::Both) => ("summary", Some("content")),
        _ => ("content", None),
    };
    let summary = more.is_some() || holder.kind.word() == "agent_reasoning";
    let field = if summary { Field::ReasoningSummary } else { voice.text() };
    [(holder.val.get(name), field), (more.and_then(|name| holder.val.get(name)), voice.text())]
}

/// The texts and other elements in such members. Where a member is of another type than it should be, it is left alone.
fn elements(
    members: [(Option<Val<'_>>, Field); 2],
    voice: Voice,
    form: Form,
) -> impl Iterator<Item = (Val<'_>, Field)> {
    let takes_string = form == Form::Shown || (form == Form::Item && voice != Voice::Reasoning);
    members.into_iter().flat_map(move |(member, field)| {
        let string = member.filter(|member| takes_string && member.kind() == Kind::String);
        let list = member.filter(|_| form != Form::Shown);
        let listed = list.into_iter().flat_map(|list| list.elements());
        string.into_iter().chain(listed).map(move |element| (element, field))
    })
}

/// Whether an element is a part of the message or result itself.
fn is_part(part: Val<'_>) -> bool {
    let is = |word: &str, name: &str| part.str_or_empty("type") == word && part.has_str(name);
    text_of(part).is_some() || is("input_image", "image_url") || is("refusal", "refusal")
}

fn read_part(part: Val<'_>, text_field: Field, of: Of) -> Option<Part<'_>> {
    let value = if let Some(text) = text_of(part) {
        let text = text.take_text(text_field)?;
        if text_field == Field::ReasoningSummary { Part::Summary(text) } else { Part::Text(text) }
    } else if !is_part(part) {
        return None;
    } else if let Some(text) = part.take_str("refusal", Field::Refusal) {
        Part::Refusal(text)
    } else {
        let url = part.get("image_url")?;
        url.take(of.media());
        let address = Some(url).word();
        Part::Media(
            from_data_url(address).unwrap_or(Media::new(None, MediaSource::Url(Str::escaped(address)))),
        )
    };
    part.note_str("type", Field::Structure);
    Some(value)
}
