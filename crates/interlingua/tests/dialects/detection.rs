//! Detection: every fixture is recognised, whole and by its beginning; handwritten requests to each API are recognised;
//! other input is not.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "examples are files")]

use crate::support::{Law, Way, asked_for, fixtures_and_ours, same};
use interlingua::dialects::{DIALECTS, Role};
use interlingua::framing::Framing;
use interlingua::sniff::{self, Candidates, Detection};

/// The result of detection as text: `anthropic request`, `anthropic or openai-chat?`, `none`.
fn answer(bytes: &[u8]) -> String {
    let head = bytes.get(..sniff::HEAD).unwrap_or(bytes);
    match candidates(head, head.len() == bytes.len()).decide() {
        Detection::Unknown => "none".to_owned(),
        Detection::Clear(guess) => format!("{} {}", guess.dialect.name, guess.role.word()),
        Detection::Unclear(close) => {
            let names: Vec<&str> = close.iter().map(|guess| guess.dialect.name).collect();
            format!("{}?", names.join(" or "))
        }
    }
}

fn candidates(head: &[u8], complete: bool) -> Candidates {
    sniff::candidates(head, complete)
}

/// A token counting request has the form of a request.
fn said_as((dialect, role): Way) -> Way {
    (dialect, if role == Role::Count { Role::Request } else { role })
}

#[test]
fn every_fixture_is_recognised_as_what_it_is() {
    let mut law = Law::new("a fixture is detected as its own dialect and role");
    for case in fixtures_and_ours() {
        let head = case.bytes.get(..sniff::HEAD).unwrap_or(&case.bytes);
        let guess = sniff::sniff(head, head.len() == case.bytes.len());
        let is = |way| guess.is_some_and(|guess| same((guess.dialect, guess.role), way));
        law.holds(is(said_as(case.way)) || is(case.way), || format!("{case}: {}", answer(&case.bytes)));
    }
    law.end();
}

#[test]
fn examples_are_called_as_they_are_detected() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("listed").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let guess = sniff::sniff(&std::fs::read(&path).expect("readable"), true);
        assert_eq!(guess.map(|guess| guess.dialect.name), Some(name.as_str()), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn an_early_answer_is_the_answer() {
    let mut law = Law::new("what the first bytes of a pipe decide is what the whole input decides");
    for case in fixtures_and_ours() {
        let whole = case.bytes.get(..sniff::HEAD).unwrap_or(&case.bytes);
        let ends = (whole.iter().enumerate()).filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let cuts = ends.take(25).chain((1..=20).map(|part| whole.len() * part / 20));
        let all = candidates(whole, whole.len() == case.bytes.len());
        let mut decided = 0;
        for cut in cuts.filter_map(|end| whole.get(..end)) {
            let so_far = candidates(cut, false);
            for named in [None, Some(case.way.0)] {
                let Some(early) = so_far.decide_early(named) else { continue };
                decided += u32::from(named.is_none());
                let late = match named {
                    Some(dialect) => all.decide_for(dialect),
                    None => all.decide(),
                };
                let is_same =
                    |late: &sniff::Guess| same((early.dialect, early.role), (late.dialect, late.role));
                law.holds(matches!(&late, Detection::Clear(late) if is_same(late)), || {
                    format!("{case}, {} bytes: {} {}", cut.len(), early.dialect.name, early.role.word())
                });
            }
        }
        // A flavour of the chat API may become apparent in any of the first twenty documents.
        let has_flavours = DIALECTS.iter().any(|other| other.flavour_of == Some(case.way.0.name));
        let framing = case.way.0.role(case.way.1).map(|spec| spec.framing);
        let comes_in_pieces = matches!(framing, Some(Framing::Lines | Framing::Sse));
        law.holds(decided > 0 || has_flavours || !comes_in_pieces, || format!("{case}: no early answer"));
    }
    law.end();
}

#[test]
fn the_beginning_of_a_fixture_is_never_taken_for_something_else() {
    let mut law = Law::new("the first lines of a fixture are its own dialect's, or nobody's");
    let mut recognised = 0;
    for case in fixtures_and_ours() {
        for lines in [20, 5, 1] {
            let ends = case.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            let Some((end, _)) = ends.into_iter().nth(lines - 1) else { continue };
            let Some(cut) = case.bytes.get(..=end) else { continue };
            for complete in [true, false] {
                let Some(guess) = sniff::sniff(cut, complete) else { continue };
                recognised += 1;
                let own = (guess.dialect, guess.role);
                // The flavour's own members may come later; until then, detection returns the base dialect.
                let base = case.way.0.flavour_of.is_some_and(|base| guess.dialect.name == base);
                let is_own = same(own, said_as(case.way)) || same(own, case.way);
                law.holds(is_own || base && guess.role == case.way.1, || {
                    format!("{case}, {lines} lines: {} {}", guess.dialect.name, guess.role.word())
                });
            }
        }
    }
    law.end();
    // With a single dialect selected there are fewer cases.
    assert!(asked_for().is_some() || recognised > 1000, "only {recognised} beginnings say what they are");
}

#[test]
fn no_order_of_the_registry_decides() {
    let mut law = Law::new("a draw is between a flavour and its base, or a question");
    for case in fixtures_and_ours() {
        let head = case.bytes.get(..sniff::HEAD).unwrap_or(&case.bytes);
        let found = candidates(head, head.len() == case.bytes.len());
        let [best, second, ..] = &found.guesses[..] else { continue };
        let related = second.dialect.flavour_of == Some(best.dialect.name);
        law.holds(best.score > second.score || related, || format!("{case}: {best:?} and {second:?}"));
    }
    law.end();
}

#[test]
fn flavours_name_their_base() {
    for dialect in DIALECTS {
        let base = dialect.flavour_of.map(|base| DIALECTS.iter().any(|other| other.name == base));
        assert_ne!(base, Some(false), "{}", dialect.name);
    }
}

/// Small handwritten requests, and responses of servers.
#[test]
fn small_messages_of_each_api_are_known() {
    let mut law = Law::new("what is said to and by an API is known");
    for (expected, body) in SMALL {
        law.holds(answer(body.as_bytes()) == *expected, || {
            format!("{body}\n  is {}, not {expected}", answer(body.as_bytes()))
        });
    }
    law.end();
}

const SMALL: &[(&str, &str)] = &[
    // Common to both APIs: a list of messages is OpenAI's form, which all servers accept; Anthropic requires
    // `max_tokens`.
    ("openai-chat request", r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#),
    ("openai-chat request", r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":64}"#),
    ("openai-chat request", r#"{"messages":[{"role":"user","content":"hi"}],"stream":false}"#),
    (
        "anthropic request",
        r#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"hi"}],"max_tokens":64}"#,
    ),
    // A line of a training data set looks the same.
    ("openai-chat?", r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}"#),
    (
        "none",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n",
    ),
    // OpenAI's Chat Completions.
    (
        "openai-chat request",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"m","max_tokens":9,"stop":["x"],"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"claude-sonnet-4-5","max_tokens":9,"stop":"x","messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"m","max_tokens":9,"user":"u","messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"m","max_tokens":9,"n":1,"seed":7,"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"claude-x","max_tokens":9,"tool_choice":"auto","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "openai-chat request",
        r#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}"#,
    ),
    (
        "openai-chat response",
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#,
    ),
    (
        "openai-chat stream",
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n",
    ),
    (
        "openai-chat stream",
        ": OPENROUTER PROCESSING\n\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n",
    ),
    (
        "openai-chat models",
        r#"{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"o"}]}"#,
    ),
    // The error of both OpenAI APIs.
    (
        "openai-chat response",
        r#"{"error":{"message":"No key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    ("openai-chat response", r#"{"error":{"message":"No endpoints","code":404}}"#),
    // Anthropic.
    (
        "anthropic request",
        r#"{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "anthropic request",
        r#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"hi"}],"stream":true}"#,
    ),
    (
        "anthropic request",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a/b.png"}}]}]}"#,
    ),
    (
        "anthropic request",
        r#"{"model":"m","max_tokens":9,"stop_sequences":["x"],"messages":[{"role":"user","content":"hi"}],"metadata":{"user_id":"u"}}"#,
    ),
    (
        "anthropic request",
        r#"{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "anthropic request",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}"#,
    ),
    (
        "anthropic response",
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#,
    ),
    ("anthropic response", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
    (
        "anthropic stream",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n",
    ),
    ("anthropic stream", "event: ping\ndata: {\"type\": \"ping\"}\n\n"),
    ("anthropic counted", r#"{"input_tokens":14}"#),
    (
        "anthropic models",
        r#"{"data":[{"type":"model","id":"m","display_name":"M","created_at":"2026-01-01T00:00:00Z"}],"has_more":false}"#,
    ),
    // Members of both APIs.
    (
        "anthropic or openai-chat?",
        r#"{"model":"m","system":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}],"n":1,"max_tokens":9}"#,
    ),
    // OpenAI's Responses API.
    ("openai-responses request", r#"{"model":"gpt-5","input":"hi"}"#),
    (
        "openai-responses request",
        r#"{"model":"gpt-5","input":[{"role":"user","content":"hi"}],"instructions":"s"}"#,
    ),
    (
        "openai-responses request",
        r#"{"model":"gpt-5","input":[{"type":"function_call_output","call_id":"c","output":"x"}],"previous_response_id":"r"}"#,
    ),
    ("openai-responses response", r#"{"id":"resp_1","object":"response","status":"completed","output":[]}"#),
    (
        "openai-responses stream",
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n",
    ),
    (
        "openai-responses stream",
        "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"x\",\"sequence_number\":1}\n\n",
    ),
    // Other OpenAI APIs.
    ("none", r#"{"model":"text-embedding-3-small","input":"hi"}"#),
    ("none", r#"{"model":"m","input":["a","b"],"encoding_format":"float"}"#),
    ("none", r#"{"model":"gpt-4o-mini-tts","input":"hi","voice":"alloy"}"#),
    ("none", r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1]}],"model":"m"}"#),
    ("none", r#"{"model":"dall-e-3","prompt":"a boat","n":1,"size":"1024x1024"}"#),
    // Gemini.
    ("gemini request", r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#),
    (
        "gemini request",
        r#"{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}],"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"stopSequences":["x"]}}"#,
    ),
    (
        "gemini response",
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"finishReason":"STOP"}]}"#,
    ),
    (
        "gemini response",
        r#"{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}"#,
    ),
    ("gemini response", r#"[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}]"#),
    (
        "gemini stream",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}],\"role\":\"model\"}}]}\n\n",
    ),
    (
        "gemini stream",
        "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n,\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"y\"}]}}]}]",
    ),
    ("gemini counted", r#"{"totalTokens":7}"#),
    ("gemini models", r#"{"models":[{"name":"models/gemini-3","displayName":"G"}]}"#),
    // Lines of agents.
    (
        "kimi-cli log",
        "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":[{\"type\":\"think\",\"think\":\"Hm.\"},{\"type\":\"text\",\"text\":\"ho\"}]}\n",
    ),
    ("kimi-cli?", "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"ho\"}\n"),
    ("claude-code?", "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"),
    (
        "opencode-stream live",
        "{\"type\":\"error\",\"timestamp\":1794730156109,\"sessionID\":\"ses_1\",\"error\":{\"name\":\"APIError\"}}\n",
    ),
    ("codex-exec live", "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n"),
    (
        "codex-app-server live",
        "{\"method\":\"item/agentMessage/delta\",\"params\":{\"threadId\":\"t\",\"turnId\":\"u\",\"itemId\":\"i\",\"delta\":\"x\"}}\n",
    ),
    ("none", "{\"id\":1,\"result\":{}}\n"),
    (
        "claude-stream?",
        "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},\"session_id\":\"s\"}\n",
    ),
];

/// Output of agents that resembles a dialect but is not supported.
#[test]
fn what_is_known_and_not_read_is_named() {
    let line = |text: &str| text.replace('\'', "\"") + "\n";
    let claude_like = concat!(
        "{'type':'assistant','uuid':'u','session_id':'s','parent_tool_use_id':null,'message':{'id':'m','type':'message',",
        "'role':'assistant','model':'q','content':[],'stop_reason':null,'usage':{'input_tokens':1,'output_tokens':1}}}",
    );
    let codex = line(
        "{'session':{'id':'s','timestamp':'2025-04-16T09:00:00Z','instructions':''},'items':[{'type':'message','role':'user','content':[{'type':'input_text','text':'hi'}]}]}",
    );
    let rows = [
        (
            "logs.json",
            line(
                "[{'sessionId':'s','messageId':0,'type':'user','message':'hi','timestamp':'2026-11-16T09:00:00Z'}]",
            ),
        ),
        ("first Codex", codex),
        ("JSON-RPC", line("{'jsonrpc':'2.0','id':1,'method':'initialize','params':{}}")),
    ];
    for (about, text) in rows {
        assert_eq!(answer(text.as_bytes()), "none", "{about}");
        let form = candidates(text.as_bytes(), true).unread.map(|form| form.about);
        assert!(form.is_some_and(|form| form.contains(about)), "{about}: {form:?}");
    }
    let read = [
        (
            "cursor-stream live",
            "{'type':'system','subtype':'init','apiKeySource':'login','cwd':'/x','session_id':'s','model':'m','permissionMode':'default'}\n{'type':'assistant','message':{'role':'assistant','content':[{'type':'text','text':'hi'}]},'session_id':'s'}",
        ),
        (
            "gemini-stream live",
            "{'type':'init','timestamp':'2026-11-16T09:00:00Z','session_id':'a','model':'auto'}\n{'type':'message','timestamp':'2026-11-16T09:00:00Z','role':'user','content':'hi'}",
        ),
        (
            "kimi-stream live",
            "{'role':'meta','type':'system.version','version':'2.1.0'}\n{'role':'assistant','content':'Yes.'}",
        ),
        ("kimi-stream live", "{'role':'assistant','content':[{'type':'think','think':'Hm.'}]}"),
    ];
    for (dialect, text) in read {
        assert_eq!(answer(line(text).as_bytes()), dialect);
    }
    // The second line distinguishes Pi's stream from Pi's log.
    let pi = "{'type':'session','version':3,'id':'i','timestamp':'2026-11-16T09:00:00Z','cwd':'/x'}\n{'type':'agent_start'}";
    assert_eq!(answer(line(pi).as_bytes()), "pi-stream live");
    // The first line identifies Qwen Code. The middle of a stream does not identify its agent.
    let qwen = "{'type':'system','subtype':'init','uuid':'u','session_id':'s','qwen_code_version':'0.24.4','permission_mode':'yolo'}";
    assert_eq!(answer((line(qwen) + &line(claude_like).repeat(9)).as_bytes()), "qwen-stream live");
    assert_eq!(answer(line(claude_like).as_bytes()), "claude-stream?");
}

#[test]
fn a_few_lines_that_look_like_a_dialect_do_not_make_a_file_of_it() {
    let log = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    let other = r#"{"event":"click","at":12}"#;
    let file = |own: usize, others: usize| {
        let lines: Vec<&str> = [vec![log; own], vec![other; others]].concat();
        lines.join("\n") + "\n"
    };
    assert_eq!(answer(file(2, 18).as_bytes()), "none");
    assert_eq!(answer(file(3, 17).as_bytes()), "none");
    assert_eq!(answer(file(4, 16).as_bytes()), "claude-code log");
    // Lines that other agents might have written as well count less, so more of them are needed.
    let unchained = log.replacen(r#""parentUuid":null,"#, "", 1);
    let weaker = |own: usize, others: usize| file(own, others).replace(log, &unchained);
    assert_eq!(answer(weaker(6, 14).as_bytes()), "none");
    assert_eq!(answer(weaker(7, 13).as_bytes()), "claude-code log");
    // Damaged lines are not counted against a dialect, up to a limit.
    let damaged = |torn: usize| format!("{log}\n{}{log}\n", "{\"type\":\n".repeat(torn));
    assert_eq!(answer(damaged(6).as_bytes()), "claude-code log");
    assert_eq!(answer(damaged(7).as_bytes()), "none");
}

/// A newer version of an agent writes lines of unknown types, also at the beginning.
#[test]
fn lines_of_no_known_type_do_not_hide_a_log() {
    let line = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    let unknown = r#"{"type":"brand-new","facts":{"x":1}}"#;
    let log = |before: usize, lines: usize, after: usize| {
        let mut log = format!("{unknown}\n").repeat(before);
        log += &format!("{line}\n").repeat(lines);
        log + &format!("{unknown}\n").repeat(after)
    };
    for (before, lines, after) in [(25, 25, 0), (0, 1, 4), (30, 8, 0), (150, 50, 0)] {
        let bytes = log(before, lines, after);
        assert_eq!(answer(bytes.as_bytes()), "claude-code log", "{before} {lines} {after}");
    }
    // A single line among many does not count.
    for (before, lines, after) in [(0, 1, 30), (40, 1, 0), (30, 1, 100)] {
        assert_eq!(answer(log(before, lines, after).as_bytes()), "none", "{before} {lines} {after}");
    }
}

/// A text that quotes lines of a log begins with other content.
#[test]
fn a_text_about_a_log_is_none() {
    let line = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    let text = format!("# A log\n\nIt has lines like\n```\n{line}\n{line}\n```\nand others.\n");
    assert_eq!(answer(text.as_bytes()), "none");
    assert_eq!(answer(format!("{{\"torn\n{line}\n{line}\n").as_bytes()), "claude-code log");
}

#[test]
fn what_is_none_is_taken_for_nothing() {
    let mut law = Law::new("what is no dialect is none");
    for text in NONE {
        law.holds(answer(text.as_bytes()) == "none", || format!("{text}\n  is {}", answer(text.as_bytes())));
    }
    let log = "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\"}\n";
    let wide = |unit: fn(u32) -> Vec<u8>| {
        log.chars().flat_map(|letter| unit(u32::from(letter))).collect::<Vec<u8>>()
    };
    let binaries: Vec<Vec<u8>> = vec![
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01".to_vec(),
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0".to_vec(),
        b"PK\x03\x04\x14\0\0\0\x08\0".to_vec(),
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec(),
        b"\xff\xfe".iter().copied().chain(wide(|letter| vec![low(letter), 0])).collect(),
        wide(|letter| vec![low(letter), 0]),
        wide(|letter| vec![0, low(letter)]),
        wide(|letter| vec![low(letter), 0, 0, 0]),
        wide(|letter| vec![0, 0, 0, low(letter)]),
        vec![0; 4096],
        b"\xff".repeat(100),
    ];
    for bytes in binaries {
        law.holds(answer(&bytes) == "none", || format!("{bytes:?}: {}", answer(&bytes)));
    }
    law.end();
}

fn low(letter: u32) -> u8 {
    u8::try_from(letter).expect("ASCII")
}

const NONE: &[&str] = &[
    "",
    " \n\t\n   ",
    "null",
    "[]",
    "{}",
    "[1,2,3]",
    "\"text\"",
    "{\"type\":\"user\"}",
    "import os\nprint({'type': 'user'})\n",
    "fn main() {\n    println!(\"{}\", 1);\n}\n",
    "{\n  let a = 1;\n  console.log({ role: 'user' });\n}\n",
    "id: 1\nname: a\ndata: b\n",
    "event: push\non:\n  push:\n    branches: [main]\n",
    ":root { --a: 1px }\nbody { color: red }\n",
    "data:text/plain,hello\n",
    "# Title\n\n```json\n{\"type\":\"user\",\"uuid\":\"x\",\"parentUuid\":null,\"sessionId\":\"s\"}\n```\n\nand more\n",
    "# Chat\n\n```json\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n```\n",
    "type,uuid\nuser,x\nassistant,y\n",
    r#"{"name":"x","version":"1.0.0","scripts":{"a":"b"},"dependencies":{},"type":"module"}"#,
    "{\n  \"name\": \"x\",\n  \"lockfileVersion\": 3,\n  \"packages\": {\"\": {\"name\": \"x\"}}\n}\n",
    r#"{"compilerOptions":{"strict":true},"include":["src"]}"#,
    r#"{"type":"FeatureCollection","features":[{"type":"Feature","id":"a","geometry":null,"properties":{"role":"user"}}]}"#,
    r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"messages":{"type":"array"}}}"#,
    r#"{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{},"tags":[]}"#,
    r#"{"cells":[{"cell_type":"code","source":["1"],"outputs":[],"metadata":{}}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#,
    r#"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"request":{"method":"GET"},"response":{"status":200}}]}}"#,
    r#"{"messages":[{"ruleId":"semi","severity":2,"message":"Missing semicolon"}],"filePath":"/a.js"}"#,
    r#"{"messages":[]}"#,
    r#"{"messages":{"hello":"Hallo"}}"#,
    r#"{"input":"src/main.ts","output":{"dir":"dist"},"external":[]}"#,
    r#"{"input":[{"type":"file","path":"a"}],"filter":{},"output":{}}"#,
    r#"{"contents":"text"}"#,
    r#"{"contents":[{"key":"a.txt","size":1}],"prefix":""}"#,
    r#"{"candidates":[{"name":"A","votes":1}]}"#,
    r#"{"choices":[{"name":"a","message":"Pick"}],"type":"list"}"#,
    r#"{"totalTokens":7,"user":"a","session":"b"}"#,
    r#"{"data":[{"id":1,"type":"articles"}],"links":{}}"#,
    r#"{"data":{"viewer":{"login":"a"}},"errors":[{"message":"x"}]}"#,
    r#"{"models":[{"name":"a"}]}"#,
    r#"{"version":"3","session":{"store":"redis"}}"#,
    r#"{"id":"x","secret":"y","url":"https://example.org/hook"}"#,
    r#"{"role":"admin","name":"a"}"#,
    r#"{"worktree":{"path":"/x"}}"#,
    "{\"a\":1}\n{\"type\":\"click\",\"id\":\"x\"}\n",
    "{\"type\":\"page\",\"sessionId\":\"s\",\"url\":\"/\"}\n{\"type\":\"click\",\"sessionId\":\"s\",\"id\":\"b\"}\n",
    "{\"type\":\"user.login\",\"time\":1700000000,\"user\":\"a\"}\n{\"type\":\"user.logout\",\"time\":1700000001}\n",
    "{\"type\":\"ADD_TODO\",\"payload\":{\"text\":\"a\"}}\n{\"type\":\"TOGGLE\",\"payload\":{\"id\":1}}\n",
    "{\"$set\":{\"name\":\"a\"}}\n{\"$set\":{\"age\":2}}\n",
    "{\"level\":30,\"time\":1700000000000,\"pid\":1,\"hostname\":\"h\",\"msg\":\"started\"}\n",
    "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":\"c\",\"completion\":\"d\"}\n",
    "{\"custom_id\":\"1\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}}\n",
    "{\"reason\":\"compiler-artifact\",\"package_id\":\"x\",\"target\":{\"kind\":[\"lib\"]}}\n",
    "127.0.0.1 - - [16/Nov/2026:09:00:00 +0000] \"GET / HTTP/1.1\" 200 612\n",
    "2026-11-16T09:00:00Z INFO started {\"type\":\"user\"}\n",
    "id: 7\nevent: message\ndata: {\"a\":1}\n\n",
    "data: hello\n\ndata: world\n\n",
    "<?xml version=\"1.0\"?>\n<a/>\n",
];

#[test]
fn a_stored_prompt_and_a_stored_response_are_of_the_responses_api() {
    for (json, want) in [
        (r#"{"prompt":{"id":"pmpt_1","version":"2"}}"#, "openai-responses request"),
        (r#"{"model":"gpt-5","prompt":{"id":"pmpt_1","variables":{"a":"b"}}}"#, "openai-responses request"),
        (
            r#"{"id":"resp_1","object":"response","status":"completed","model":"m","input":[{"role":"user","content":"x"}],"output":[]}"#,
            "openai-responses response",
        ),
        (r#"{"prompt":{"text":"x"}}"#, "none"),
        (r#"{"prompt":"Say this is a test","model":"davinci","max_tokens":7}"#, "none"),
    ] {
        assert_eq!(answer(json.as_bytes()), want, "{json}");
    }
}

/// One document among the first rules a dialect out, also if most other documents have its marks.
#[test]
fn a_head_line_of_a_similar_log_rules_a_dialect_out() {
    let log = |head: &str, line: &str| format!("{head}\n{}", format!("{line}\n").repeat(9));
    let pi = r#"{"type":"message","id":"a","parentId":"b","timestamp":"2026-02-03T06:00:01.000Z","message":{"role":"user","content":"x","timestamp":1}}"#;
    let droid =
        r#"{"type":"session_start","id":"s","title":"Tides","owner":"dev","version":2,"cwd":"/srv/tides"}"#;
    let claude = r#"{"type":"system","uuid":"u","parentUuid":null,"sessionId":"s","subtype":"x"}"#;
    let qwen = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","parts":[{"text":"x"}]}}"#;
    let kimi_cli_head = r#"{"type":"metadata","protocol_version":"1.1"}"#;
    let kimi_code_head = r#"{"type":"metadata","protocol_version":"1.4","created_at":1770098401000}"#;
    let kimi_code = r#"{"type":"a.b","time":1770098401000,"agentId":"main"}"#;
    let kimi_cli = r#"{"role":"_checkpoint","id":1}"#;
    for (head, line, alone, with_head) in [
        (droid, pi, "pi log", "none"),
        (qwen, claude, "claude-code log", "none"),
        (kimi_cli_head, kimi_code, "kimi-code log", "none"),
        (kimi_code_head, kimi_cli, "kimi-cli log", "none"),
    ] {
        assert_eq!(answer(log(line, line).as_bytes()), alone, "{line}");
        assert_eq!(answer(log(head, line).as_bytes()), with_head, "{head}");
        // A later line may be a quotation.
        let late = format!("{}{head}\n", log(line, line));
        assert_eq!(answer(late.as_bytes()), alone, "{head}");
    }
}

/// Logs that resemble logs of other agents: a log of Droid is never one of Pi. A row of Crush and the Markdown of Aider become
/// documents before they are detected.
#[test]
fn logs_of_other_agents_are_taken_for_none_of_ours() {
    let droid = [
        r#"{"type":"session_start","id":"8c1e6f0a-0000-4000-8000-000000000001","title":"Tides","sessionTitle":"Tides","owner":"dev","version":2,"cwd":"/srv/tides"}"#,
        r#"{"type":"message","id":"8c1e6f0a-0000-4000-8000-000000000002","timestamp":"2026-02-03T06:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"List the tides."}]}}"#,
        r#"{"type":"message","id":"8c1e6f0a-0000-4000-8000-000000000003","timestamp":"2026-02-03T06:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"Execute","input":{"command":"ls"}}]},"parentId":"8c1e6f0a-0000-4000-8000-000000000002"}"#,
        r#"{"type":"message","id":"8c1e6f0a-0000-4000-8000-000000000004","timestamp":"2026-02-03T06:00:03.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.txt"}]},"parentId":"8c1e6f0a-0000-4000-8000-000000000003"}"#,
        r#"{"type":"message","id":"8c1e6f0a-0000-4000-8000-000000000005","timestamp":"2026-02-03T06:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"One."}]},"parentId":"8c1e6f0a-0000-4000-8000-000000000004"}"#,
    ]
    .join("\n");
    let goose = [
        r#"{"working_dir":"/srv/tides","description":"Tides","message_count":2,"total_tokens":90}"#,
        r#"{"id":null,"role":"user","created":1770098401,"content":[{"type":"text","text":"List the tides."}]}"#,
        r#"{"id":null,"role":"assistant","created":1770098402,"content":[{"type":"toolRequest","id":"t1","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}]}"#,
    ]
    .join("\n");
    let crush = r#"{"id":"m1","session_id":"s1","role":"assistant","parts":"[{\"type\":\"text\",\"data\":{\"text\":\"One.\"}}]","model":"m","created_at":1770098401}"#;
    let aider = "# aider chat started at 2026-02-03 06:00:00\n\n#### List the tides.\n\nOne.\n";
    for (agent, log) in [("droid", &droid[..]), ("goose", &goose), ("crush", crush), ("aider", aider)] {
        let taken_for = answer(log.as_bytes());
        let expected = match agent {
            "droid" | "goose" => taken_for == format!("{agent} log"),
            _ => !taken_for.ends_with(" log"),
        };
        assert!(expected, "{agent}: {taken_for}");
    }
}
