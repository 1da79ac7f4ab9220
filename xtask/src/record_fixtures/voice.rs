//! The output of the scripted model: one reply as the events of either API.

use super::cases::ScriptedBlock;

/// Writes one reply as server-sent events.
pub(super) struct ScriptedVoice {
    pub(super) n: usize,
    pub(super) model: String,
    pub(super) repo: String,
    pub(super) out: String,
    pub(super) events: usize,
}

impl ScriptedVoice {
    pub(super) fn messages(mut self, blocks: &[ScriptedBlock], cut: bool) -> String {
        let (n, model) = (self.n, self.model.clone());
        let usage = |output: usize| {
            format!(
                r#"{{"input_tokens":{},"cache_creation_input_tokens":20,"cache_read_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":0}},"output_tokens":{output},"service_tier":"standard"}}"#,
                100 + n,
                1000 * (n - 1)
            )
        };
        self.emit("message_start", &format!(
            r#""message":{{"id":"msg_demo{n:02}","type":"message","role":"assistant","model":{model},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{}}}"#,
            usage(1)
        ));
        let mut stop = "end_turn";
        for (index, block) in blocks.iter().enumerate() {
            let (start, deltas) = match block {
                ScriptedBlock::Thinking(parts) => {
                    let mut deltas = parts
                        .iter()
                        .map(|part| format!(r#"{{"type":"thinking_delta","thinking":{}}}"#, quote(part)))
                        .collect::<Vec<_>>();
                    deltas.push(format!(r#"{{"type":"signature_delta","signature":"{SIGNATURE}"}}"#));
                    (r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned(), deltas)
                }
                ScriptedBlock::Redacted(data) => {
                    (format!(r#"{{"type":"redacted_thinking","data":"{data}"}}"#), Vec::new())
                }
                ScriptedBlock::Call { id, name, input, .. } => {
                    stop = "tool_use";
                    let input = input.replace("{repo}", &self.repo);
                    let deltas = halves(&input)
                        .map(|half| {
                            format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, quote(half))
                        })
                        .to_vec();
                    (format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#), deltas)
                }
                ScriptedBlock::Text(text) => {
                    let deltas = halves(text)
                        .map(|half| format!(r#"{{"type":"text_delta","text":{}}}"#, quote(half)))
                        .to_vec();
                    (r#"{"type":"text","text":""}"#.to_owned(), deltas)
                }
                ScriptedBlock::Freeform { .. } | ScriptedBlock::WebSearch(_) => continue,
            };
            self.emit("content_block_start", &format!(r#""index":{index},"content_block":{start}"#));
            for delta in deltas {
                self.emit("content_block_delta", &format!(r#""index":{index},"delta":{delta}"#));
            }
            if cut && index + 1 == blocks.len() {
                return self.out;
            }
            self.emit("content_block_stop", &format!(r#""index":{index}"#));
        }
        self.emit(
            "message_delta",
            &format!(r#""delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{}"#, usage(30 + n)),
        );
        self.emit("message_stop", "");
        self.out
    }

    pub(super) fn responses(mut self, blocks: &[ScriptedBlock], cut: bool) -> String {
        let (n, model) = (self.n, self.model.clone());
        let response = |status: &str, rest: &str| {
            format!(
                r#""response":{{"id":"resp_demo{n:02}","object":"response","created_at":1790000000,"model":{model},"status":"{status}"{rest}}}"#
            )
        };
        self.emit("response.created", &response("in_progress", r#","output":[]"#));
        let mut output = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let id = format!("demo{n:02}{index}");
            let at = format!(r#""output_index":{index},"item_id":"{id}""#);
            let mut deltas = Vec::new();
            let (open, done) = match block {
                ScriptedBlock::Thinking(parts) => {
                    let mut summary = Vec::new();
                    for (part_index, part) in parts.iter().enumerate() {
                        let (at, text) = (format!(r#"{at},"summary_index":{part_index}"#), quote(part));
                        deltas.push((
                            "response.reasoning_summary_part.added",
                            format!(r#"{at},"part":{{"type":"summary_text","text":""}}"#),
                        ));
                        deltas.push((
                            "response.reasoning_summary_text.delta",
                            format!(r#"{at},"delta":{text}"#),
                        ));
                        deltas
                            .push(("response.reasoning_summary_text.done", format!(r#"{at},"text":{text}"#)));
                        summary.push(format!(r#"{{"type":"summary_text","text":{text}}}"#));
                    }
                    let item = |summary: &str| {
                        format!(
                            r#"{{"type":"reasoning","id":"{id}","summary":[{summary}],"encrypted_content":"{SIGNATURE}"}}"#
                        )
                    };
                    (item(""), item(&summary.join(",")))
                }
                ScriptedBlock::Text(text) => {
                    for half in halves(text) {
                        deltas.push((
                            "response.output_text.delta",
                            format!(r#"{at},"content_index":0,"delta":{}"#, quote(half)),
                        ));
                    }
                    let item = |content: &str| {
                        format!(
                            r#"{{"type":"message","id":"{id}","role":"assistant","status":"completed","content":[{content}]}}"#
                        )
                    };
                    (
                        item(""),
                        item(&format!(r#"{{"type":"output_text","text":{},"annotations":[]}}"#, quote(text))),
                    )
                }
                ScriptedBlock::Call { id: call_id, namespace, name, input } => {
                    let namespace = match *namespace {
                        "" => String::new(),
                        name => format!(r#","namespace":"{name}""#),
                    };
                    for half in halves(input) {
                        deltas.push((
                            "response.function_call_arguments.delta",
                            format!(r#"{at},"delta":{}"#, quote(half)),
                        ));
                    }
                    let item = |input: &str| {
                        format!(
                            r#"{{"type":"function_call","id":"{id}","call_id":"{call_id}","name":"{name}"{namespace},"arguments":{},"status":"completed"}}"#,
                            quote(input)
                        )
                    };
                    (item(""), item(input))
                }
                ScriptedBlock::Freeform { id: call_id, name, input } => {
                    let item = |input: &str| {
                        format!(
                            r#"{{"type":"custom_tool_call","id":"{id}","call_id":"{call_id}","name":"{name}","input":{},"status":"completed"}}"#,
                            quote(input)
                        )
                    };
                    (item(""), item(input))
                }
                ScriptedBlock::WebSearch(query) => {
                    let item = format!(
                        r#"{{"type":"web_search_call","id":"{id}","status":"completed","action":{{"type":"search","query":"{query}"}}}}"#
                    );
                    (item.clone(), item)
                }
                ScriptedBlock::Redacted(_) => continue,
            };
            self.emit("response.output_item.added", &format!(r#""output_index":{index},"item":{open}"#));
            for (name, delta) in deltas {
                self.emit(name, &delta);
            }
            if cut && index + 1 == blocks.len() {
                return self.out;
            }
            self.emit("response.output_item.done", &format!(r#""output_index":{index},"item":{done}"#));
            output.push(done);
        }
        let (input, cached, written) = (1000 + n, 100 * (n - 1), 50 + n);
        let usage = format!(
            r#","output":[{}],"usage":{{"input_tokens":{input},"input_tokens_details":{{"cached_tokens":{cached}}},"output_tokens":{written},"output_tokens_details":{{"reasoning_tokens":7}},"total_tokens":{}}}"#,
            output.join(","),
            input + written
        );
        self.emit("response.completed", &response("completed", &usage));
        self.out
    }

    fn emit(&mut self, name: &str, members: &str) {
        let comma = if members.is_empty() { "" } else { "," };
        let number = if name.starts_with("response.") {
            format!(r#","sequence_number":{}"#, self.events)
        } else {
            String::new()
        };
        self.events += 1;
        let data = format!(r#"{{"type":"{name}"{number}{comma}{members}}}"#);
        self.out.extend(["event: ", name, "\ndata: ", &data, "\n\n"]);
    }
}

pub(super) fn halves(text: &str) -> [&str; 2] {
    let mut at = text.len() / 2;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (first, second) = text.split_at(at);
    [first, second]
}

pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => quoted.extend(["\\u", &format!("{:04x}", u32::from(c))]),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// "made by the fixture recorder"
const SIGNATURE: &str = "bWFkZSBieSB0aGUgZml4dHVyZSByZWNvcmRlcg==";
