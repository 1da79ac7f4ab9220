//! Lines outside the conversation. Each line becomes a notice, named by its innermost type. Lines of a known type keep
//! their members as the notice's data; a few types become events of the model.

use super::read::{CodexReader, Payload};
use crate::json::{Raw, Str};
use crate::log::words_of_unknown;
use crate::model::{
    Author, Compaction, Event, Failure, FailureClass, Field, ItemHead, ItemId, ItemKind, Notice, Part,
    Rewind, Stop, StopClass, Turn,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val};

/// The part of a line that becomes the data of its notice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DataOf {
    /// No data: the line holds session facts, counts, or a copy of an item.
    Nothing,
    /// Only the text of a line with an unknown type.
    Words,
    /// The whole payload, or the item inside the payload.
    Whole,
    /// All members but these, which repeat other lines.
    AllBut(&'static [&'static str]),
    /// All members but these if a call waits for its result, because the result repeats them; otherwise the whole
    /// payload.
    OfCall(&'static [&'static str]),
    /// All members but the session facts, unless they equal those of the previous line of this sort.
    Settings,
    /// The head of a thread.
    Head,
}

/// Members of an event that repeat a command or its output.
const OUTPUT: &[&str] =
    &["type", "stdout", "stderr", "aggregated_output", "formatted_output", "command", "parsed_cmd"];
/// Members of an event that repeat a patch or its result.
const CHANGES: &[&str] = &["type", "changes", "stdout", "stderr"];
/// Members of an event that repeat a tool call or its result.
const CALL: &[&str] = &["type", "invocation", "result", "arguments", "content_items"];

/// The data for an event or item of a known type.
fn data_of(words: (&str, &str), item: &str) -> DataOf {
    match words {
        // First in the match, because every second line is a `token_count`.
        ("event_msg", "token_count") => DataOf::Nothing,
        ("session_meta", _) => DataOf::Head,
        ("turn_context", _) | ("event_msg", "thread_settings_applied") => DataOf::Settings,
        ("event_msg", "item_completed" | "item_started") => match item {
            "CommandExecution" => DataOf::OfCall(OUTPUT),
            "FileChange" => DataOf::OfCall(CHANGES),
            "McpToolCall" | "DynamicToolCall" => DataOf::OfCall(CALL),
            "ImageGeneration" => DataOf::AllBut(&["type", "result"]),
            "Plan"
            | "HookPrompt"
            | "CollabAgentToolCall"
            | "SubAgentActivity"
            | "WebSearch"
            | "ImageView"
            | "Sleep"
            | "EnteredReviewMode"
            | "ExitedReviewMode"
            | "ContextCompaction" => DataOf::Whole,
            "UserMessage" | "AgentMessage" | "Reasoning" => DataOf::Nothing,
            _ => DataOf::Words,
        },
        ("event_msg", word) => match word {
            "exec_command_end" | "exec_command_begin" => DataOf::OfCall(OUTPUT),
            "patch_apply_begin" | "patch_apply_end" => DataOf::OfCall(CHANGES),
            "mcp_tool_call_begin"
            | "mcp_tool_call_end"
            | "dynamic_tool_call_request"
            | "dynamic_tool_call_response" => DataOf::OfCall(CALL),
            "image_generation_end" => DataOf::AllBut(&["type", "result"]),
            "task_complete" | "turn_complete" => DataOf::AllBut(&["type", "last_agent_message"]),
            "task_started"
            | "turn_started"
            | "web_search_begin"
            | "web_search_end"
            | "view_image_tool_call"
            | "thread_name_updated"
            | "thread_goal_updated"
            | "thread_goal_cleared"
            | "entered_review_mode"
            | "exited_review_mode"
            | "collab_agent_spawn_begin"
            | "collab_agent_spawn_end"
            | "collab_agent_interaction_begin"
            | "collab_agent_interaction_end"
            | "collab_waiting_begin"
            | "collab_waiting_end"
            | "collab_close_begin"
            | "collab_close_end"
            | "collab_resume_begin"
            | "collab_resume_end"
            | "sub_agent_activity"
            | "guardian_assessment"
            | "guardian_warning"
            | "exec_approval_request"
            | "apply_patch_approval_request"
            | "request_permissions"
            | "request_user_input"
            | "elicitation_request"
            | "hook_started"
            | "hook_completed"
            | "undo_started"
            | "undo_completed"
            | "context_compacted"
            | "plan_update"
            | "warning"
            | "deprecation_notice"
            | "background_event"
            | "model_reroute"
            | "terminal_interaction" => DataOf::Whole,
            // Items hold the text of these events.
            "user_message" | "agent_message" | "agent_reasoning" | "agent_reasoning_raw_content" => {
                DataOf::Nothing
            }
            word if word.ends_with("_delta") => DataOf::Nothing,
            _ => DataOf::Words,
        },
        ("inter_agent_communication_metadata", _) => DataOf::Whole,
        ("response_item", "message" | "reasoning" | "agent_message") => DataOf::Nothing,
        _ => DataOf::Words,
    }
}

/// A subagent started in the current session.
pub(super) struct KnownAgent {
    /// The name with which the subagent signs its messages.
    name: String,
    thread: Str<'static>,
    call: Option<Str<'static>>,
}

/// The most subagents that are remembered; after that the oldest is forgotten.
const MOST_AGENTS: usize = 64;

impl CodexReader {
    /// Reads a line outside the conversation as a notice.
    pub(super) fn read_notice(
        &mut self,
        line_kind: Option<Val<'_>>,
        payload: Payload<'_>,
        out: &mut EventSink<'_>,
    ) {
        let head = self.notice_head(line_kind, payload, out);
        let time = payload.time.take_time(Field::ItemTime);
        self.write_notice(line_kind, payload, ItemHead { time, ..head }, out);
    }

    /// Reads a line as a notice within the message that the same line became.
    pub(super) fn notice_within(
        &mut self,
        line_kind: Option<Val<'_>>,
        payload: Payload<'_>,
        within: ItemId,
        out: &mut EventSink<'_>,
    ) {
        let head = self.notice_head(line_kind, payload, out);
        self.write_notice(line_kind, payload, ItemHead { within: Some(within), ..head }, out);
    }

    /// Starts a notice, named by the innermost type: that of the item, of the payload, or of the line.
    fn notice_head<'t>(
        &self,
        line_kind: Option<Val<'t>>,
        payload: Payload<'t>,
        out: &mut EventSink<'_>,
    ) -> ItemHead<'t> {
        let inner = payload.item.and_then(|item| item.note_str("type", Field::NoticeType));
        let event_type = inner
            .or_else(|| payload.kind.note_text(Field::NoticeType))
            .or_else(|| line_kind.note_text(Field::NoticeType))
            .or_else(|| payload.val.note_str("record_type", Field::NoticeType))
            // The head line of the oldest logs has no type.
            .or_else(|| payload.val.get("instructions").map(|_| Str::escaped("session_meta")));
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        head.copied_from = self.copied.source().map(Str::into_owned);
        head
    }

    fn write_notice<'t>(
        &mut self,
        line_kind: Option<Val<'t>>,
        payload: Payload<'t>,
        mut head: ItemHead<'t>,
        out: &mut EventSink<'_>,
    ) {
        let words = (line_kind.word(), payload.kind.word());
        let holder = match words.1 {
            "thread_settings_applied" => payload.val.get("thread_settings"),
            _ => payload.item,
        };
        let holder = holder.unwrap_or(payload.val);
        let mut data_of = data_of(words, payload.item.map_or("", |item| item.str_or_empty("type")));
        if let DataOf::OfCall(members) = data_of {
            let waits = self.outcomes.ended(call_id(words.1, holder), holder);
            data_of = if waits { DataOf::AllBut(members) } else { DataOf::Whole };
        }
        if ["item_", "collab_", "sub_agent_"].iter().any(|about| words.1.starts_with(about)) {
            self.note_agent(words.1, holder, &mut head);
        }
        let words = if data_of == DataOf::Words { words_of_unknown(holder) } else { None };
        let data = match data_of {
            DataOf::Nothing | DataOf::Words => None,
            DataOf::Whole if payload.enveloped && holder.kind() == Kind::Object => {
                Some(holder.take(Field::NoticeData))
            }
            DataOf::Whole => None,
            DataOf::AllBut(members) | DataOf::OfCall(members) => self.put_together(holder, members),
            DataOf::Head => self.rest_of_head(holder),
            DataOf::Settings => self.new_settings(line_kind.word() == "turn_context", holder),
        };
        if data.is_some() && payload.kind.is_some() {
            line_kind.note_text(Field::Structure);
        }
        let item = out.start(head);
        if let Some(data) = data {
            // The item's type names the notice, so the event's own type is only structure.
            if payload.item.is_some() {
                payload.kind.note_text(Field::Structure);
            }
            out.delta(item, 0, Part::Json(data));
        }
        if let Some(words) = words {
            out.delta(item, 0, Part::Text(words));
        }
        out.complete(item);
    }

    /// Collects all members of an object except `without` into one JSON value, and notes them.
    pub(super) fn put_together<'s>(&'s mut self, holder: Val<'_>, without: &[&str]) -> Option<Raw<'s>> {
        self.data.clear();
        for (name, member) in holder.members() {
            if without.contains(&name.as_escaped()) || member.is_null() {
                continue;
            }
            self.data.push(if self.data.is_empty() { '{' } else { ',' });
            self.data.push('"');
            self.data.push_str(name.as_escaped());
            self.data.push_str("\":");
            self.data.push_str(member.note(Field::NoticeData).as_str());
        }
        if self.data.is_empty() {
            return None;
        }
        self.data.push('}');
        Some(Raw::new(&self.data))
    }

    /// Remembers a started subagent, and sets the subagent and its starting call on the head of the line's notice.
    fn note_agent<'t>(&mut self, word: &str, holder: Val<'t>, head: &mut ItemHead<'t>) {
        let text = |name: &str| holder.get(name).and_then(|val| val.str()).filter(|text| !text.is_empty());
        let (thread, name, call) = match (word, holder.str_or_empty("type")) {
            (_, "SubAgentActivity") | ("sub_agent_activity", _) => {
                let id = text("id").or_else(|| text("event_id"));
                let is_call = matches!(holder.str_or_empty("kind"), "started" | "interacted" | "interrupted");
                (text("agent_thread_id"), text("agent_path"), id.filter(|_| is_call))
            }
            (_, "CollabAgentToolCall") => {
                let mut threads =
                    holder.get("receiver_thread_ids").into_iter().flat_map(|ids| ids.elements());
                let only = threads.next().filter(|_| threads.next().is_none());
                (only.and_then(|thread| thread.str()), None, text("id"))
            }
            ("collab_agent_spawn_end", _) => (text("new_thread_id"), None, text("call_id")),
            (word, _) if word.starts_with("collab_") => (text("receiver_thread_id"), None, text("call_id")),
            _ => return,
        };
        let Some(thread) = thread else { return };
        let started = matches!(holder.str_or_empty("kind"), "started" | "spawned")
            || matches!(holder.str_or_empty("tool"), "spawnAgent" | "spawn_agent" | "spawn")
            || word == "collab_agent_spawn_end";
        if started {
            while self.agents.len() > MOST_AGENTS {
                self.agents.pop_front();
            }
            for signature in [Some(&thread), name.as_ref()].into_iter().flatten() {
                let name = signature.as_escaped().to_owned();
                let (thread, call) = (thread.clone().into_owned(), call.clone().map(Str::into_owned));
                self.agents.push_back(KnownAgent { name, thread, call });
            }
        }
        // The call that started the subagent takes precedence over a call that only sent it a message.
        head.parent_call = self.agent(&thread).and_then(|known| known.call.clone()).or(call);
        head.agent = Some(thread);
    }

    fn agent(&self, name: &Str<'_>) -> Option<&KnownAgent> {
        self.agents.iter().find(|known| known.name == name.as_escaped())
    }

    /// The subagent with this name and the call that started it, as far as they are known.
    pub(super) fn agent_named<'t>(&self, name: Str<'t>) -> (Str<'t>, Option<Str<'t>>) {
        match self.agent(&name) {
            Some(KnownAgent { thread, call, .. }) => (thread.clone(), call.clone()),
            None => (name, None),
        }
    }
}

/// Reads a line that is an event of the model. Returns `false` for any other line.
pub(super) fn read_event(line_kind: Option<Val<'_>>, payload: Payload<'_>, out: &mut EventSink<'_>) -> bool {
    let val = payload.val;
    let event = match (line_kind.word(), payload.kind.word()) {
        ("event_msg", "thread_rolled_back") => {
            Event::Rewound(Rewind { to: None, turns: val.note_u64("num_turns", Field::RewindTurns) })
        }
        ("event_msg", "turn_aborted") => {
            let stop = Stop {
                class: StopClass::Cancelled,
                raw: val.note_str("reason", Field::StopReason),
                sequence: None,
                detail: None,
            };
            let id = val.note_str("turn_id", Field::TurnId);
            Event::TurnEnded(Turn { id, stop: Some(stop), ..Turn::default() })
        }
        ("event_msg", "error" | "stream_error") if val.has_str("message") => Event::Error(failure(val)),
        ("compacted", _) => Event::Compacted(Compaction {
            summary: val.take_str("message", Field::CompactionSummary),
            history: val.take_raw("replacement_history", Field::CompactionHistory),
            ..Compaction::default()
        }),
        _ => return false,
    };
    line_kind.note_text(Field::Structure);
    payload.kind.note_text(Field::Structure);
    if let Some(time) = payload.time.filter(Val::is_time) {
        out.event(&Event::Clock(time.note(Field::EventTime)));
    }
    out.event(&event);
    true
}

/// The id of the call to which an event or item belongs.
fn call_id<'t>(word: &str, holder: Val<'t>) -> &'t str {
    holder.str_or_empty(if word.starts_with("item_") { "id" } else { "call_id" })
}

fn failure(val: Val<'_>) -> Failure<'_> {
    let info = val.get("codex_error_info");
    // `codex_error_info` is either the code itself or an object whose only member is named by the code and holds the
    // status.
    let detail = info.and_then(|info| info.members().next());
    let code = info.note_text(Field::ErrorCode).or_else(|| detail.as_ref().map(|(name, _)| name.clone()));
    let status = detail.and_then(|(_, detail)| detail.note_u64("http_status_code", Field::ErrorStatus));
    let status = status.and_then(|status| u16::try_from(status).ok());
    let class = match code.as_ref().map_or("", Str::as_escaped) {
        "context_window_exceeded" => FailureClass::ContextTooLong,
        "usage_limit_exceeded" => FailureClass::RateLimit,
        "server_overloaded" => FailureClass::Overloaded,
        "unauthorized" => FailureClass::Authentication,
        "bad_request" => FailureClass::InvalidRequest,
        "internal_server_error" => FailureClass::Server,
        _ => status.map_or(FailureClass::Other, FailureClass::of_status),
    };
    Failure {
        class,
        status,
        code,
        message: val.note_str("message", Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }
}
