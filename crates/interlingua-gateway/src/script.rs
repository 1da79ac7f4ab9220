//! The scripted model: a backend without a network that answers from a script, in every dialect of a model API. It is
//! the demonstration without a key, and a test double for clients and agents.
//!
//! ```toml
//! [[turn]]
//! reasoning = "The user wants a file."
//! calls = [{ name = "read", arguments = '{"path":"a.txt"}' }]
//!
//! [[turn]]
//! text = "You said: {user}"
//! ```
//!
//! The turn is chosen by the number of the assistant's turns in the request, so that the script holds no state and any
//! number of conversations can run beside each other. After the last turn, the last turn is repeated.
//!
//! A request that demands JSON gets the text if the text is JSON, and else the smallest value of its schema.
//!
//! Agents send requests beside the conversation: for a title, for a summary, for the choice of a model. With a table
//! `[side]`, that turn answers every request that does not declare all tools of the script's calls:
//!
//! ```toml
//! [side]
//! text = "A title"
//! ```

use std::fmt;

use bytes::Bytes;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::{Raw, Str};
use interlingua::model::{
    Args, Author, Event, FailureClass, Format, ItemId, ItemKind, Part, StopClass, Usage,
};
use interlingua::pipe::{AnswerWriter, EventReader, function_call};
use serde::Deserialize;

use crate::schema_sample::{is_json, sample};

/// A script of turns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Script {
    /// The turns of the assistant.
    #[serde(rename = "turn", default)]
    turns: Vec<ScriptTurn>,
    /// The answer to requests beside the conversation, which do not declare all tools of the script's calls.
    side: Option<ScriptTurn>,
}

/// One turn of the assistant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct ScriptTurn {
    /// Reasoning before the text.
    reasoning: Option<String>,
    /// State that the client must send back with the reasoning.
    signature: Option<String>,
    /// The text; `{user}` stands for the last text of the user.
    text: Option<String>,
    /// Calls of functions, in parallel.
    calls: Vec<ScriptCall>,
    /// The stop reason; by default `tool_use` with calls, and `end_turn` without.
    stop: Option<String>,
    /// The usage in tokens; by default an estimate.
    usage: Option<ScriptUsage>,
    /// An error instead of the answer, or after its content if there is content.
    error: Option<ScriptFailure>,
    /// Milliseconds before each piece of a stream, and before a whole answer.
    delay_ms: u64,
    /// Whether the stream ends after its content, without its final event.
    cut: bool,
}

/// A call of a function.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    name: String,
    /// The arguments as JSON.
    #[serde(default = "no_arguments")]
    arguments: String,
    /// The id; by default one made of the number of the turn and the call.
    id: Option<String>,
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct ScriptUsage {
    input: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

/// An error of the backend.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScriptFailure {
    /// The class of the failure, such as `rate_limit`.
    class: String,
    #[serde(default)]
    message: String,
    /// Milliseconds until the client may try again.
    retry_after_ms: Option<u64>,
}

fn no_arguments() -> String {
    "{}".to_owned()
}

/// An error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text is not TOML, or has an unknown member: the message of the parser, with line and column.
    Toml(String),
    /// A word that is no stop reason.
    Stop(String),
    /// A word that is no class of failures.
    Class(String),
    /// Arguments that are not JSON, by the name of the tool.
    Arguments(String),
    /// The script has no turns.
    Empty,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptError::Toml(message) => f.write_str(message.trim()),
            ScriptError::Stop(word) => write!(f, "`{word}` is no stop reason"),
            ScriptError::Class(word) => write!(f, "`{word}` is no class of failures"),
            ScriptError::Arguments(name) => write!(f, "the arguments of a call of `{name}` are not JSON"),
            ScriptError::Empty => f.write_str("the script has no `[[turn]]`"),
        }
    }
}

impl std::error::Error for ScriptError {}

impl Default for Script {
    /// A single turn that repeats the user's words.
    fn default() -> Self {
        let text = "This is the scripted model of Interlingua. You said: {user}".to_owned();
        Self { turns: vec![ScriptTurn { text: Some(text), ..ScriptTurn::default() }], side: None }
    }
}

/// An answer of the scripted model.
#[derive(Debug, Default)]
pub(crate) struct ScriptedAnswer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Milliseconds until the client may try again.
    pub(crate) retry_after: Option<u64>,
    /// Milliseconds before each piece.
    pub(crate) delay: u64,
    /// The body in pieces.
    pub(crate) pieces: Vec<Bytes>,
}

/// The facts of a request that a script needs.
#[derive(Debug, Default)]
pub(crate) struct AskedRequest {
    /// The number of turns of the assistant.
    turns: usize,
    /// The last text of the user.
    pub(crate) user: String,
    /// The names of the declared tools.
    tools: Vec<String>,
    /// The smallest JSON value that the request accepts, if it demands JSON.
    json: Option<String>,
}

impl Script {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Self = toml::from_str(text).map_err(|error| ScriptError::Toml(error.to_string()))?;
        if script.turns.is_empty() {
            return Err(ScriptError::Empty);
        }
        for turn in script.turns.iter().chain(&script.side) {
            if let Some(stop) = turn.stop.as_ref().filter(|stop| stop_class(stop).is_none()) {
                return Err(ScriptError::Stop(stop.clone()));
            }
            if let Some(error) = turn.error.as_ref().filter(|error| failure_class(&error.class).is_none()) {
                return Err(ScriptError::Class(error.class.clone()));
            }
            if let Some(call) = turn.calls.iter().find(|call| !is_json(&call.arguments)) {
                return Err(ScriptError::Arguments(call.name.clone()));
            }
        }
        Ok(script)
    }

    /// The answer to a request of this dialect, whole or streamed.
    pub(crate) fn answer(
        &self,
        dialect: &'static Dialect,
        role: Role,
        model: &str,
        body: &[u8],
    ) -> ScriptedAnswer {
        let asked = AskedRequest::of(dialect, body);
        let number = asked.turns.min(self.turns.len().saturating_sub(1));
        let side = self.side.as_ref().filter(|_| !self.has_tools(&asked));
        let Some(turn) = side.or_else(|| self.turns.get(number)) else { return ScriptedAnswer::default() };
        turn.answer(dialect, role, model, number, &asked, body.len())
    }

    /// Whether the request declares all tools of the script's calls.
    fn has_tools(&self, asked: &AskedRequest) -> bool {
        let mut calls = self.turns.iter().flat_map(|turn| &turn.calls);
        calls.all(|call| asked.tools.contains(&call.name))
    }
}

impl AskedRequest {
    pub(crate) fn of(dialect: &'static Dialect, body: &[u8]) -> Self {
        let mut asked = Self::default();
        let (mut in_turn, mut user): (bool, Option<ItemId>) = (false, None);
        // The id of the message in `asked.user`. A message may hold the results of calls before its text.
        let mut told: Option<ItemId> = None;
        let each = |event: &Event<'_>| match event {
            Event::Request(request) => {
                asked.tools.extend(request.tools.iter().map(|tool| tool.name.decode().into_owned()));
                asked.json = match &request.format {
                    Some(Format::Schema(format)) => Some(sample(format.schema.as_str())),
                    Some(Format::JsonObject) => Some("{}".to_owned()),
                    _ => None,
                };
            }
            Event::ItemStarted(head) => {
                let is_assistant = head.author == Author::Assistant;
                asked.turns += usize::from(is_assistant && !in_turn);
                in_turn = is_assistant;
                if head.author == Author::User && matches!(head.kind, ItemKind::Message) {
                    user = Some(head.id);
                }
            }
            Event::ItemDelta(delta) if user == Some(delta.item) => {
                if let Part::Text(text) = &delta.value {
                    if told != user {
                        asked.user.clear();
                    }
                    told = user;
                    asked.user.push_str(&text.decode());
                }
            }
            _ => {}
        };
        let Ok(mut reader) = EventReader::new((dialect, Role::Request), &Options::default()) else {
            return asked;
        };
        let mut each = each;
        reader.push(body, &mut each);
        reader.finish(&mut each);
        asked
    }
}

impl ScriptTurn {
    fn answer(
        &self,
        dialect: &'static Dialect,
        role: Role,
        model: &str,
        number: usize,
        asked: &AskedRequest,
        request_size: usize,
    ) -> ScriptedAnswer {
        let has_content = self.text.is_some() || self.reasoning.is_some() || !self.calls.is_empty();
        let fails_at_once = self.error.as_ref().filter(|_| !has_content || role == Role::Response);
        let written_as = if fails_at_once.is_some() { Role::Response } else { role };
        let mut done = ScriptedAnswer { status: 200, delay: self.delay_ms, ..ScriptedAnswer::default() };
        let Ok(mut answer) = AnswerWriter::new((dialect, written_as), &Options::default()) else {
            return done;
        };
        let mut out = Vec::new();
        if let Some(error) = fails_at_once {
            let class = failure_class(&error.class).unwrap_or(FailureClass::Other);
            answer.fail(class, &error.message, error.retry_after_ms, &mut out);
            answer.finish(&mut out);
            (done.status, done.retry_after) = (class.status(), error.retry_after_ms);
            done.pieces.push(out.into());
            return done;
        }
        let pieces = &mut done.pieces;
        // A piece of a stream has an event or more.
        let mut flush = |out: &mut Vec<u8>| {
            if role == Role::Stream && !out.is_empty() {
                pieces.push(std::mem::take(out).into());
            }
        };
        answer.begin(&format!("script-{}", number + 1), model, &mut out);
        flush(&mut out);
        if let Some(reasoning) = &self.reasoning {
            answer.reasoning(reasoning, self.signature.as_deref(), &mut out);
            flush(&mut out);
        }
        let text = self.text.as_ref().map(|text| text.replace("{user}", &asked.user));
        let text = text.map(|text| asked.json.clone().filter(|_| !is_json(&text)).unwrap_or(text));
        if let Some(text) = &text {
            let item = answer.start(ItemKind::Message, &mut out);
            for word in text.split_inclusive(' ') {
                answer.piece(item, 0, Part::Text(Str::from_plain(word)), &mut out);
                flush(&mut out);
            }
            answer.complete(item, &mut out);
        }
        for (at, call) in self.calls.iter().enumerate() {
            let made = || format!("call_{}_{}", number + 1, at + 1);
            let id = call.id.clone().unwrap_or_else(made);
            let item = answer.start(ItemKind::ToolCall(function_call(&id, &call.name)), &mut out);
            let arguments = Raw::owned(call.arguments.clone());
            answer.piece(item, 0, Part::Args(Args::Json(arguments)), &mut out);
            answer.complete(item, &mut out);
            flush(&mut out);
        }
        if self.cut {
            flush(&mut out);
            return done;
        }
        if let Some(error) = &self.error {
            let class = failure_class(&error.class).unwrap_or(FailureClass::Other);
            answer.fail(class, &error.message, error.retry_after_ms, &mut out);
        } else {
            let usual = if self.calls.is_empty() { StopClass::End } else { StopClass::ToolUse };
            let stop = self.stop.as_deref().and_then(stop_class).unwrap_or(usual);
            answer.end(stop, self.usage(text.as_deref(), request_size), &mut out);
        }
        answer.finish(&mut out);
        done.pieces.push(out.into());
        done
    }

    /// The usage of the script, or an estimate of four bytes per token.
    fn usage(&self, text: Option<&str>, request_size: usize) -> Usage {
        let stated = self.usage.unwrap_or_default();
        let tokens = |bytes: usize| (bytes as u64).div_ceil(4);
        let mut usage = Usage::default();
        let Usage { input, cache_read, output, reasoning, .. } = &mut usage;
        *input = stated.input.or(Some(tokens(request_size)));
        *cache_read = stated.cache_read;
        *output = stated.output.or(Some(tokens(text.map_or(0, str::len))));
        *reasoning = stated.reasoning;
        usage
    }
}

fn stop_class(word: &str) -> Option<StopClass> {
    StopClass::WORDS.value(&Str::escaped(word))
}

fn failure_class(word: &str) -> Option<FailureClass> {
    FailureClass::WORDS.value(&Str::escaped(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_with_a_mistake_is_refused() {
        let fault = |text: &str| Script::parse(text).expect_err(text);
        assert_eq!(fault(""), ScriptError::Empty);
        assert_eq!(fault("[[turn]]\nstop = \"tired\""), ScriptError::Stop("tired".to_owned()));
        assert_eq!(fault("[[turn]]\nerror = { class = \"odd\" }"), ScriptError::Class("odd".to_owned()));
        let call = "[[turn]]\ncalls = [{ name = \"look\", arguments = \"{\" }]";
        assert_eq!(fault(call), ScriptError::Arguments("look".to_owned()));
        assert!(fault("[[turn]]\ntexts = 1").to_string().contains("line 2"));
    }

    #[test]
    fn the_turn_follows_the_conversation() {
        let script =
            Script::parse("[[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two {user}\"").expect("sound");
        let chat = Dialect::named("openai-chat").expect("registered");
        let said = |body: &str| {
            let answer = script.answer(chat, Role::Response, "m", body.as_bytes());
            String::from_utf8(answer.pieces.concat()).expect("text")
        };
        assert!(said(r#"{"messages":[{"role":"user","content":"a"}]}"#).contains(r#""content":"one""#));
        let second = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"one"},{"role":"user","content":"b"}]}"#;
        assert!(said(second).contains(r#""content":"two b""#));
    }

    #[test]
    fn the_users_text_is_found_after_results_in_the_same_message() {
        let script =
            Script::parse("[[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two {user}\"").expect("sound");
        let anthropic = Dialect::named("anthropic").expect("registered");
        let said = |last: &str| {
            let body = format!(
                r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"n","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"r"}}{last}]}}]}}"#
            );
            let answer = script.answer(anthropic, Role::Response, "m", body.as_bytes());
            String::from_utf8(answer.pieces.concat()).expect("text")
        };
        assert!(said(r#",{"type":"text","text":"b"}"#).contains(r#""text":"two b""#));
        assert!(said("").contains(r#""text":"two a""#));
    }

    #[test]
    fn a_request_without_the_tools_of_the_script_gets_the_side_answer() {
        let text =
            "[side]\ntext = \"a title\"\n[[turn]]\ncalls = [{ name = \"look\" }]\n[[turn]]\ntext = \"done\"";
        let chat = Dialect::named("openai-chat").expect("registered");
        let said = |script: &str, tools: &[&str]| {
            let tools: Vec<String> = tools
                .iter()
                .map(|name| format!(r#"{{"type":"function","function":{{"name":"{name}"}}}}"#))
                .collect();
            let body =
                format!(r#"{{"tools":[{}],"messages":[{{"role":"user","content":"a"}}]}}"#, tools.join(","));
            let script = Script::parse(script).expect("sound");
            let answer = script.answer(chat, Role::Response, "m", body.as_bytes());
            String::from_utf8(answer.pieces.concat()).expect("text")
        };
        assert!(said(text, &[]).contains("a title"));
        assert!(said(text, &["other"]).contains("a title"));
        assert!(said(text, &["other", "look"]).contains(r#""name":"look""#));
        // Without a side answer, the turn alone decides.
        let plain = text.split_once("[[").map(|(_, turns)| format!("[[{turns}")).unwrap_or_default();
        assert!(said(&plain, &[]).contains(r#""name":"look""#));
        let wrong =
            Script::parse("[side]\nstop = \"tired\"\n[[turn]]\ntext = \"a\"").expect_err("no such stop");
        assert_eq!(wrong, ScriptError::Stop("tired".to_owned()));
    }

    #[test]
    fn a_request_that_demands_json_gets_json() {
        let chat = Dialect::named("openai-chat").expect("registered");
        let body = r#"{"messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema","json_schema":
            {"name":"n","schema":{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}}}}"#;
        let said = |text: &str| {
            let script = Script::parse(&format!("[[turn]]\ntext = '{text}'")).expect("sound");
            let answer = script.answer(chat, Role::Response, "m", body.as_bytes());
            String::from_utf8(answer.pieces.concat()).expect("text")
        };
        assert!(said("prose").contains(r#"{\"ok\":false}"#), "{}", said("prose"));
        assert!(said(r#"{"ok":true}"#).contains(r#"{\"ok\":true}"#), "{}", said(r#"{"ok":true}"#));
    }
}
