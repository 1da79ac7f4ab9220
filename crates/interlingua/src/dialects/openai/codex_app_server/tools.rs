//! Tools: a command, a patch, a call of an MCP server or of the client, a search, a call of another agent. One native item
//! becomes a call and its result.

use super::messages::media;
use super::session::{Threads, number};
use crate::dialects::openai::live_items::{
    RepeatedMembers, StreamedTexts, TextSort, changed_file, object_of,
};
use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Field, ItemId, ItemKind, ItemTail, Part, Status, ToolCall, ToolResult,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};

/// A tool whose result is not complete.
pub(super) struct OpenTool {
    id: Str<'static>,
    /// The agent of another thread, and the call that started it.
    agent: Option<Str<'static>>,
    parent_call: Option<Str<'static>>,
    /// The result, once it has begun.
    result: Option<ItemId>,
    texts: StreamedTexts,
    began: RepeatedMembers,
}

/// The members of an item that are the arguments of its call.
fn argument_names(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "commandExecution" => &["command", "cwd"],
        "fileChange" => &["changes"],
        "mcpToolCall" | "dynamicToolCall" => &["arguments"],
        "collabAgentToolCall" => &["prompt", "model", "reasoningEffort", "receiverThreadIds"],
        "webSearch" => &["query", "action"],
        "imageView" => &["path"],
        "imageGeneration" => &["revisedPrompt"],
        "sleep" => &["durationMs"],
        "functionCallOutput" => &[],
        _ => return None,
    })
}

impl OpenTool {
    /// Starts a tool: emits its call. Returns `None` if the item is no tool.
    pub(super) fn start(
        params: Val<'_>,
        item: Val<'_>,
        threads: &mut Threads,
        out: &mut EventSink<'_>,
    ) -> Option<Self> {
        let kind = item.str_or_empty("type");
        let is_spawned = kind == "subAgentActivity" && item.str_or_empty("kind") == "started";
        let names = match argument_names(kind) {
            Some(names) => names,
            // The start of an agent has the id of the call that started it.
            None if is_spawned => &["kind", "agentThreadId", "agentPath", "model", "reasoningEffort"],
            None => return None,
        };
        let mut head = out.head(ItemKind::ToolCall(call(item, kind)), Author::Assistant);
        head.time = number(params, "startedAtMs", Field::ItemTime);
        threads.place(&mut head, params);
        let (agent, parent_call) = (head.agent.clone(), head.parent_call.clone());
        let id = out.start(head);
        let arguments = match names {
            ["arguments"] => item.get("arguments").map(|arguments| arguments.take(Field::CallArgs)),
            names => Some(object_of(item, names, Field::CallArgs)),
        };
        if let Some(arguments) = arguments {
            out.delta(id, 0, Part::Args(Args::Json(arguments)));
        }
        out.complete(id);
        let call_id = item.get("id").and_then(|id| id.str()).unwrap_or_default();
        remember_agents(item, &call_id, threads);
        let mut claimed = vec!["tool", "server", "namespace", "name"];
        // The result holds the changed files.
        claimed.extend(names.iter().filter(|name| **name != "changes"));
        Some(Self {
            id: call_id.into_owned(),
            agent: agent.map(Str::into_owned),
            parent_call: parent_call.map(Str::into_owned),
            result: None,
            texts: StreamedTexts::default(),
            began: RepeatedMembers::of(item, &claimed),
        })
    }

    /// Reads a piece of the output.
    pub(super) fn piece(&mut self, params: Val<'_>, delta: Val<'_>, out: &mut EventSink<'_>) {
        let result = if let Some(result) = self.result {
            result
        } else {
            params.note_str("itemId", Field::ResultCallId);
            self.begin_result(None, out)
        };
        self.texts.piece(result, TextSort::Output, 0, delta, out);
    }

    /// Reads the whole item: emits the result.
    pub(super) fn completed(
        mut self,
        params: Val<'_>,
        item: Val<'_>,
        threads: &mut Threads,
        out: &mut EventSink<'_>,
    ) {
        self.began.claim(item);
        remember_agents(item, &self.id, threads);
        if item.get("id").is_some_and(|id| id.claimed().field().is_none()) {
            item.note_str("id", Field::ResultCallId);
        }
        let result = match self.result {
            Some(result) => result,
            None => self.begin_result(Some(params), out),
        };
        self.content(item, result, out);
        let tail = tail(item, result);
        out.end(tail);
    }

    /// Ends a tool whose end did not arrive.
    pub(super) fn interrupted(mut self, out: &mut EventSink<'_>) {
        let result = match self.result {
            Some(result) => result,
            None => self.begin_result(None, out),
        };
        out.end(ItemTail::new(result, Status::Interrupted));
    }

    fn begin_result(&mut self, params: Option<Val<'_>>, out: &mut EventSink<'_>) -> ItemId {
        let result = ToolResult { call_id: Some(self.id.reborrow()), name: None };
        let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
        head.time = params.and_then(|params| number(params, "completedAtMs", Field::ItemTime));
        head.agent = self.agent.as_ref().map(Str::reborrow);
        head.parent_call = self.parent_call.as_ref().map(Str::reborrow);
        let id = out.start(head);
        self.result = Some(id);
        id
    }

    /// Emits the content of the result.
    fn content(&mut self, item: Val<'_>, result: ItemId, out: &mut EventSink<'_>) {
        if let Some(text) = item.get("aggregatedOutput") {
            self.texts.whole(result, TextSort::Output, 0, text, out);
        }
        let mut number = self.texts.count();
        let mut add = |part: Part<'_>, out: &mut EventSink<'_>| {
            out.delta(result, number, part);
            number += 1;
        };
        match item.str_or_empty("type") {
            "fileChange" => {
                for change in item.get("changes").into_iter().flat_map(|changes| changes.elements()) {
                    out.within(change, |out| {
                        if let Some(file) = changed_file(change) {
                            add(Part::File(file), out);
                        }
                    });
                }
            }
            "mcpToolCall" => {
                let content = item.get("result").and_then(|result| result.get("content"));
                for part in content.into_iter().flat_map(|content| content.elements()) {
                    out.within(part, |out| add(result_part(part), out));
                }
            }
            "dynamicToolCall" => {
                for part in item.get("contentItems").into_iter().flat_map(|content| content.elements()) {
                    out.within(part, |out| add(result_part(part), out));
                }
            }
            "functionCallOutput" => match item.get("output") {
                Some(output) if output.kind() == Kind::Array => {
                    for part in output.elements() {
                        out.within(part, |out| add(result_part(part), out));
                    }
                }
                Some(output) => {
                    if let Some(text) = output.take_text(Field::ResultText) {
                        add(Part::Text(text), out);
                    }
                }
                None => {}
            },
            "collabAgentToolCall" => {
                let states = item.get("agentsStates").filter(|states| states.members().next().is_some());
                if let Some(states) = states {
                    add(Part::Json(states.take(Field::ResultJson)), out);
                }
            }
            "webSearch" => {
                let results = item.get("results").filter(|results| results.kind() == Kind::Array);
                if let Some(results) = results {
                    add(Part::Json(results.take(Field::ResultJson)), out);
                }
            }
            "imageGeneration" => {
                if let Some(path) = item.take_str("savedPath", Field::FilePath) {
                    let action = Str::escaped("write");
                    add(Part::File(crate::model::FileRef { path, action, diff: None }), out);
                }
            }
            _ => {}
        }
        let error = item.get("error").or(item.get("failure"));
        let error = error.filter(|error| error.kind() == Kind::Object);
        if let Some(message) = error.and_then(|error| error.take_str("message", Field::ResultText)) {
            add(Part::Text(message), out);
        }
    }
}

/// The call of a tool.
fn call<'t>(item: Val<'t>, kind: &str) -> ToolCall<'t> {
    let (name, namespace, call_kind) = match kind {
        "mcpToolCall" => ("tool", "server", CallKind::Mcp),
        "dynamicToolCall" => ("tool", "namespace", CallKind::Function),
        "collabAgentToolCall" => ("tool", "", CallKind::Function),
        "functionCallOutput" => ("name", "namespace", CallKind::Function),
        "webSearch" | "imageGeneration" => ("type", "", CallKind::Server),
        _ => ("type", "", CallKind::Function),
    };
    if name != "type" {
        item.note_str("type", Field::Structure);
    }
    ToolCall {
        call_id: item.take_str("id", Field::CallId),
        kind: call_kind,
        namespace: item.take_str(namespace, Field::CallNamespace),
        name: item.take_str(name, Field::CallName).unwrap_or_default(),
    }
}

/// Remembers the threads that a call started.
fn remember_agents(item: Val<'_>, call: &Str<'_>, threads: &mut Threads) {
    if item.str_or_empty("tool") == "spawnAgent" {
        for thread in item.get("receiverThreadIds").into_iter().flat_map(|ids| ids.elements()) {
            if let Some(thread) = thread.str() {
                threads.started_by(&thread, call);
            }
        }
    }
    if let Some(thread) = item.get("agentThreadId").and_then(|thread| thread.str()) {
        threads.started_by(&thread, call);
    }
}

/// A part of a result: a text, a picture, or any other value as JSON.
fn result_part(part: Val<'_>) -> Part<'_> {
    let url = ["imageUrl", "image_url", "audioUrl"].into_iter().find_map(|name| {
        let medium = media(part, name, Field::ResultMedia)?;
        part.note_str("type", Field::Structure);
        Some(medium)
    });
    let inline = || {
        let data = part.get("data").filter(|data| data.str().is_some() && part.has_str("mimeType"))?;
        part.note_str("type", Field::Structure);
        let mut medium = crate::model::Media::new(
            part.take_str("mimeType", Field::MediaType),
            crate::model::MediaSource::Base64(data.take_text(Field::ResultMedia)?),
        );
        medium.name = part.take_str("name", Field::MediaName);
        Some(Part::Media(medium))
    };
    let text = || {
        let text = part.take_str("text", Field::ResultText)?;
        part.note_str("type", Field::Structure);
        Some(Part::Text(text))
    };
    url.or_else(inline).or_else(text).unwrap_or_else(|| Part::Json(part.take(Field::ResultJson)))
}

/// The end of a result.
fn tail(item: Val<'_>, result: ItemId) -> ItemTail<'_> {
    let native_status = item.note_str("status", Field::ItemStatus);
    let code = item.get("exitCode").filter(|code| code.kind() == Kind::Number);
    let exit_code = code.and_then(|code| code.text().parse::<i64>().ok());
    if exit_code.is_some() {
        code.map(|code| code.note(Field::ResultExitCode));
    }
    let success = item.take_bool("success", Field::ResultIsError);
    let failed = matches!(item.str_or_empty("status"), "failed" | "declined" | "interrupted")
        || exit_code.is_some_and(|code| code != 0)
        || success == Some(false);
    let is_command = item.get("command").is_some();
    ItemTail {
        id: result,
        status: if failed { Status::Failed } else { Status::Completed },
        native_status,
        is_error: failed.then_some(true),
        exit_code,
        duration: if is_command || item.get("arguments").is_some() {
            item.note_u64("durationMs", Field::ResultDuration)
        } else {
            None
        },
    }
}
