//! `POST /v1/responses/compact`: a conversation becomes a shorter list of items, which the client sends instead.
//!
//! A server with the Responses API compacts conversations itself. For any other backend the gateway asks the model for a
//! summary. The client gets the messages of the user and an item `compaction` with the summary, as OpenAI's API returns
//! them. Only a gateway can read the summary of such an item, so every later request gets a message in place of the item.

use interlingua::json::Str;
use interlingua::model::FailureClass;
use interlingua::tape::{Limits, TapeBuf, Val};

use crate::call::FailedCall;
use crate::stored_responses::{input_items, join, rewritten};

/// The path of the endpoint.
pub(crate) const PATH: &str = "/v1/responses/compact";

/// The beginning of the content of items that a gateway has written.
const MARK: &str = "interlingua-compaction:";

/// The last message of a request for a summary.
const INSTRUCTION: &str = "Summarize the conversation so far for a model that continues the work without it. \
    The messages of the user are kept; all other messages, tool calls and tool results are removed. Include the goal and \
    the constraints of the user, decisions with their reasons, names of files, commands, identifiers and values exactly \
    as they were written, results of tools that are still needed, the state of the work, the next steps, and open \
    questions. Answer with the summary alone, as plain text. Call no tools.";

/// The words before a summary in a later request.
const HEADING: &str = "Summary of the conversation up to this message, written by the model when earlier messages, tool \
    calls and tool results were removed:";

/// The members of the client's request that the request for a summary leaves out or sets itself: the summary is a whole
/// text, and the gateway does not store the response.
const REPLACED: [&str; 6] = ["input", "previous_response_id", "stream", "store", "text", "tool_choice"];

/// A conversation that a model compacts for the gateway.
#[derive(Debug)]
pub(crate) struct Compaction {
    /// The messages of the user, separated by commas.
    user_messages: String,
}

impl Compaction {
    /// The compaction that a request asks for, and the request for the summary.
    pub(crate) fn of(body: &[u8]) -> Result<(Self, Vec<u8>), FailedCall> {
        let user_messages = items(body, |item| {
            let content =
                item.get("content").filter(|_| item.get("role").is_some_and(|role| role.is("user")))?;
            // The items of a response have their content as a list.
            let parts = match content.str() {
                Some(_) => format!(r#"[{{"type":"input_text","text":{}}}]"#, content.text()),
                None => content.text().to_owned(),
            };
            Some(format!(r#"{{"type":"message","role":"user","content":{parts}}}"#))
        });
        let restored = restored(body)?;
        let body = restored.as_deref().unwrap_or(body);
        let mut input = input_items(body).filter(|items| !items.is_empty()).ok_or_else(|| {
            FailedCall::new(FailureClass::InvalidRequest, "the request has no `input` to compact")
        })?;
        join(&mut input, &user_message(INSTRUCTION));
        let (input, mut with) = (format!("[{input}]"), Vec::new());
        with.extend([("input", &*input), ("stream", "false"), ("store", "false")]);
        if has_member(body, "tools") {
            with.push(("tool_choice", "\"none\""));
        }
        let request = rewritten(body, &REPLACED, &with)?;
        Ok((Self { user_messages }, request))
    }

    /// The response for the client, from the response with the summary.
    pub(crate) fn response(&self, summary: &[u8], call: &str, seconds: u64) -> Result<Vec<u8>, FailedCall> {
        let incomplete = |what: &str| FailedCall::new(FailureClass::Incomplete, what);
        let text = std::str::from_utf8(summary).map_err(|_| incomplete("the summary is not UTF-8"))?;
        let mut tape = TapeBuf::default();
        let tape = tape.parse(text, &Limits::default()).map_err(|_| incomplete("the summary is not JSON"))?;
        let root = tape.root();
        if !root.get("status").is_some_and(|status| status.is("completed")) {
            return Err(incomplete("the model did not complete the summary of the conversation"));
        }
        let mut written = String::new();
        for item in root.get("output").into_iter().flat_map(|output| output.elements()) {
            for part in item.get("content").into_iter().flat_map(|content| content.elements()) {
                if part.get("type").is_some_and(|kind| kind.is("output_text"))
                    && let Some(text) = part.get("text").and_then(|text| text.str())
                {
                    written.push_str(&text.decode());
                }
            }
        }
        if written.trim().is_empty() {
            return Err(incomplete("the model wrote no summary of the conversation"));
        }
        let mut output = self.user_messages.clone();
        let content = Str::plain(&written);
        join(
            &mut output,
            &format!(
                r#"{{"type":"compaction","id":"cmp_{call}","encrypted_content":"{MARK}{}"}}"#,
                content.as_escaped()
            ),
        );
        let usage = root.get("usage").map_or("null", |usage| usage.text());
        let response = format!(
            r#"{{"id":"resp_{call}","object":"response.compaction","created_at":{seconds},"output":[{output}],"usage":{usage}}}"#
        );
        Ok(response.into_bytes())
    }
}

/// The request with messages in place of the items that a gateway has written; `None` if the request has none.
pub(crate) fn restored(body: &[u8]) -> Result<Option<Vec<u8>>, FailedCall> {
    if memchr::memmem::find(body, MARK.as_bytes()).is_none() {
        return Ok(None);
    }
    let mut has_summary = false;
    let input = items(body, |item| {
        let summary = summary_of(item).map(|summary| user_message(&format!("{HEADING}\n\n{summary}")));
        has_summary |= summary.is_some();
        Some(summary.unwrap_or_else(|| item.text().to_owned()))
    });
    // The mark can also be in the text of a message.
    if !has_summary {
        return Ok(None);
    }
    rewritten(body, &["input"], &[("input", &format!("[{input}]"))]).map(Some)
}

/// The summary in an item that a gateway has written.
fn summary_of(item: Val<'_>) -> Option<String> {
    item.get("type").filter(|kind| kind.is("compaction"))?;
    let content = item.get("encrypted_content")?.str()?.decode().into_owned();
    content.strip_prefix(MARK).map(str::to_owned)
}

/// The chosen items of a request's input, separated by commas. A text is a message of the user.
fn items(body: &[u8], mut chosen: impl FnMut(Val<'_>) -> Option<String>) -> String {
    let input = format!("[{}]", input_items(body).unwrap_or_default());
    let mut tape = TapeBuf::default();
    let mut items = String::new();
    if let Ok(tape) = tape.parse(&input, &Limits::default()) {
        for item in tape.root().elements().filter_map(&mut chosen) {
            join(&mut items, &item);
        }
    }
    items
}

fn has_member(body: &[u8], name: &str) -> bool {
    let mut tape = TapeBuf::default();
    let text = std::str::from_utf8(body).unwrap_or_default();
    tape.parse(text, &Limits::default()).is_ok_and(|tape| tape.root().get(name).is_some())
}

fn user_message(text: &str) -> String {
    let text = Str::plain(text);
    format!(
        r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{}"}}]}}"#,
        text.as_escaped()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"{"model":"m","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}],"text":{"verbosity":"low"},"tools":[],"instructions":"i"}"#;

    #[test]
    fn a_summary_survives_the_way_to_the_client_and_back() {
        let (compaction, request) = Compaction::of(REQUEST.as_bytes()).expect("JSON");
        let request = String::from_utf8(request).expect("text");
        assert!(request.starts_with(r#"{"model":"m","tools":[],"instructions":"i","input":[{"role":"user""#));
        assert!(
            request.ends_with(r#"Call no tools."}]}],"stream":false,"store":false,"tool_choice":"none"}"#)
        );
        let answer = r#"{"status":"completed","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"The \"file\"\n"},{"type":"output_text","text":"é"}]}],"usage":{"input_tokens":1}}"#;
        let response = compaction.response(answer.as_bytes(), "7", 5).expect("a summary");
        let response = String::from_utf8(response).expect("text");
        let output = r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"compaction","id":"cmp_7","encrypted_content":"interlingua-compaction:The \"file\"\né"}]"#;
        assert_eq!(
            response,
            format!(
                r#"{{"id":"resp_7","object":"response.compaction","created_at":5,"output":{output},"usage":{{"input_tokens":1}}}}"#
            )
        );
        let next = format!(r#"{{"input":{output},"model":"m"}}"#);
        let restored = restored(next.as_bytes()).expect("JSON").expect("a summary");
        let restored = String::from_utf8(restored).expect("text");
        let (heading, file) = (HEADING, r#"The \"file\"\né"#);
        assert_eq!(
            restored,
            format!(
                r#"{{"model":"m","input":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":"a"}}]}},{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{heading}\n\n{file}"}}]}}]}}"#
            )
        );
        // A second compaction does not keep the first summary beside its own.
        let (again, request) = Compaction::of(next.as_bytes()).expect("JSON");
        assert_eq!(again.user_messages, user_message("a"));
        assert!(String::from_utf8(request).expect("text").contains(file));
    }

    #[test]
    fn other_requests_stay() {
        for body in [
            REQUEST,
            r#"{"input":"interlingua-compaction: a text"}"#,
            r#"{"input":[{"type":"compaction","encrypted_content":"gAAAA"},{"role":"user","content":"interlingua-compaction:x"}]}"#,
        ] {
            assert!(restored(body.as_bytes()).expect("JSON").is_none(), "{body}");
        }
    }

    #[test]
    fn a_conversation_without_a_whole_summary_is_not_replaced() {
        let (compaction, _) = Compaction::of(br#"{"model":"m","input":"a"}"#).expect("JSON");
        for answer in [
            "{}",
            r#"{"status":"incomplete","output":[{"content":[{"type":"output_text","text":"half"}]}]}"#,
            r#"{"status":"completed","output":[]}"#,
        ] {
            let failure = compaction.response(answer.as_bytes(), "7", 5).expect_err(answer);
            assert_eq!(failure.class, FailureClass::Incomplete);
        }
        for body in [r#"{"model":"m"}"#, r#"{"model":"m","input":[]}"#] {
            let failure = Compaction::of(body.as_bytes()).expect_err(body);
            assert_eq!(failure.class, FailureClass::InvalidRequest);
        }
    }
}
