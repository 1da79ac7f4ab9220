//! The counts of `stats`, its costs, and the consistency of its totals.

use crate::support;
use std::fmt::Write as _;

use crate::support::{Dir, Ran};

/// A session of Claude Code with every kind of event.
const SESSION: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"11111111-aaaa","timestamp":"2026-02-10T23:59:00.000Z","cwd":"/w","message":{"role":"user","content":"When is high water?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"11111111-aaaa","timestamp":"2026-02-10T23:59:10.000Z","requestId":"req_1","message":{"role":"assistant","id":"msg_0000000000000001","model":"claude-opus-4-6","content":[{"type":"thinking","thinking":"tides","signature":"s"}],"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":1000,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":150,"ephemeral_1h_input_tokens":50}}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"11111111-aaaa","timestamp":"2026-02-10T23:59:11.000Z","requestId":"req_1","message":{"role":"assistant","id":"msg_0000000000000001","model":"claude-opus-4-6","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"tide"}}],"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":1000,"output_tokens":90,"cache_creation":{"ephemeral_5m_input_tokens":150,"ephemeral_1h_input_tokens":50}}}}
{"type":"user","uuid":"u2","parentUuid":"a2","sessionId":"11111111-aaaa","timestamp":"2026-02-10T23:59:13.500Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 2\nno tide"}]}}
{"type":"assistant","uuid":"a3","parentUuid":"u2","sessionId":"11111111-aaaa","timestamp":"2026-02-11T00:00:20.000Z","message":{"role":"assistant","id":"msg_0000000000000002","model":"claude-opus-4-6","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t2","name":"Bash","input":{}},{"type":"tool_use","id":"t3","name":"Read","input":{}}],"usage":{"input_tokens":5,"cache_read_input_tokens":1200,"output_tokens":30}}}
{"type":"user","uuid":"u3","parentUuid":"a3","sessionId":"11111111-aaaa","timestamp":"2026-02-11T00:00:21.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"ok"}]}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"11111111-aaaa","timestamp":"2026-02-11T00:00:22.000Z","isMeta":true,"message":{"role":"user","content":"not a person"}}
{"type":"assistant","uuid":"a4","parentUuid":"u4","sessionId":"11111111-aaaa","timestamp":"2026-02-11T00:00:25.000Z","message":{"role":"assistant","id":"msg_0000000000000003","model":"claude-unheard-9","content":[{"type":"text","text":"At noon."}],"usage":{"input_tokens":7,"output_tokens":3}}}
"#;

const CODEX: &str = r#"{"timestamp":"2026-02-11T10:00:00.000Z","type":"session_meta","payload":{"id":"22222222-bbbb","timestamp":"2026-02-11T10:00:00.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.98.0"}}
{"timestamp":"2026-02-11T10:00:01.000Z","type":"turn_context","payload":{"model":"gpt-5.2","cwd":"/w"}}
{"timestamp":"2026-02-11T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}
{"timestamp":"2026-02-11T10:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":10,"reasoning_output_tokens":4},"last_token_usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":10,"reasoning_output_tokens":4}}}}
{"timestamp":"2026-02-11T10:00:04.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":10,"reasoning_output_tokens":4},"last_token_usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":10,"reasoning_output_tokens":4}}}}
{"timestamp":"2026-02-11T10:00:05.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ho"}]}}
"#;

/// The text between two markers.
#[track_caller]
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {text}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} in {rest}")).0
}

#[test]
fn a_session_is_counted() {
    let dir = Dir::new("stats_session");
    dir.write("x.jsonl", SESSION);
    let ran = dir.run("stats x.jsonl");
    assert_eq!(
        ran.stdout(),
        "1 session in 1 file (claude-code)
  from         2026-02-10T23:59:00.000Z to 2026-02-11T00:00:25.000Z
  time         1m 25s in sessions, 3.5s in tools
  turns        1
  messages     2 to and 2 of models, 0 others; 1 thought

tokens 2,545
  model                  input  cached written  (long)  output (think)      cost
  claude-opus-4-6           15   2,200     200      50     120       0   $0.0056
  claude-unheard-9           7       0       0       0       3       0   unknown
  total                     22   2,200     200      50     123       0  ≥$0.0056

days (UTC)
  2026-02-11    1,245  ≥$0.0014  ████████████████████████████████████████████
  2026-02-10    1,300   $0.0042  ██████████████████████████████████████████████

cost ≥$0.0056
  $0.0056 computed with prices of 2026-11-09
    (the price table of the Python package litellm 1.108.4, published on 9 Nov…)
  unknown for 1 response with 10 tokens, which have no price:
    claude-unheard-9

tools 3 calls, 1 failed (1 said so, 1 by exit code)
  tool                     calls      ok  failed no result    time
  Bash                         2       1       1         0    3.5s  ████████████
  Read                         1       0       0         1     0ms  ██████
  total                        3       1       1         1    3.5s
"
    );
    assert_eq!((ran.stderr.as_str(), ran.code), ("", Some(0)));
    for line in ran.stdout().lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_json_has_every_number_and_sums_add_up() {
    let dir = Dir::new("stats_json");
    dir.write("a.jsonl", SESSION).write("b.jsonl", CODEX).write("notes.txt", "hello\n");
    let ran = dir.run("stats . --json -q");
    let spent = |responses,
                 input,
                 read,
                 write,
                 long,
                 output,
                 reasoning,
                 tokens,
                 usd,
                 unknown,
                 unknown_tokens| {
        let mut text = String::new();
        let counts: [(&str, u64); 8] = [
            ("responses", responses),
            ("input", input),
            ("cache_read", read),
            ("cache_write", write),
            ("cache_write_long", long),
            ("output", output),
            ("reasoning", reasoning),
            ("tokens", tokens),
        ];
        for (name, count) in counts {
            write!(text, r#""{name}":{count},"#).expect("memory takes everything");
        }
        let (usd, unknown, unknown_tokens): (&str, u64, u64) = (usd, unknown, unknown_tokens);
        text + &format!(
            r#""cost":{{"usd":{usd},"told":0,"computed":{usd},"estimated":0,"estimated_tokens":0,"unknown_responses":{unknown},"unknown_tokens":{unknown_tokens}}}"#
        )
    };
    // 15 x 5 + 2200 x 0.5 + 150 x 6.25 + 50 x 10 + 120 x 25, and 600 x 1.75 + 400 x 0.175 + 10 x 14, per million.
    let opus = spent(2, 15, 2200, 200, 50, 120, 0, 2535, "0.0056125", 0, 0);
    let gpt = spent(1, 600, 400, 0, 0, 10, 4, 1010, "0.00126", 0, 0);
    let unheard = spent(1, 7, 0, 0, 0, 3, 0, 10, "0", 1, 10);
    let first_day = spent(1, 10, 1000, 200, 50, 90, 0, 1300, "0.0042375", 0, 0);
    let second_day = spent(3, 612, 1600, 0, 0, 43, 4, 2255, "0.002635", 1, 10);
    let total = spent(4, 622, 2600, 200, 50, 133, 4, 3555, "0.0068725", 1, 10);
    let usage = between(ran.stdout(), r#""files_changed":[],"usage":"#, r#","prices":"#);
    assert_eq!(
        usage,
        format!(
            r#"{{"total":{{{total}}},"by_model":[{{"model":"claude-opus-4-6",{opus}}},{{"model":"claude-unheard-9",{unheard}}},{{"model":"gpt-5.2",{gpt}}}],"by_day":[{{"day":"2026-02-10",{first_day}}},{{"day":"2026-02-11",{second_day}}}],"repeated_responses":0}}"#
        )
    );
    assert!(ran.stdout().starts_with(r#"{"version":1,"files":[{"input":"./a.jsonl","dialect":"claude-code","sessions":1,"turns":1,"errors":0,"tools":{"calls":3,"#), "{}", ran.stdout());
    let counted = between(ran.stdout(), r#""failed":[],"#, r#","files_changed""#);
    assert_eq!(
        counted,
        concat!(
            r#""sessions":2,"first":"2026-02-10T23:59:00.000Z","last":"2026-02-11T10:00:05.000Z","turns":2,"#,
            r#""messages":{"user":3,"assistant":3,"other":0},"reasoning":1,"subagents":{"count":0,"tool_calls":0},"#,
            r#""permissions":{"asked":0,"denied":0},"compactions":0,"copied_items":0,"#,
            r#""milliseconds":{"sessions":90000,"tools":3500},"tools":{"total":{"calls":3,"ok":1,"failed":1,"no_result":1,"#,
            r#""failed_by_error":1,"failed_by_exit_code":1,"milliseconds":3500},"by_name":[{"name":"Bash","calls":2,"ok":1,"#,
            r#""failed":1,"no_result":0,"failed_by_error":1,"failed_by_exit_code":1,"milliseconds":3500},"#,
            r#"{"name":"Read","calls":1,"ok":0,"failed":0,"no_result":1,"failed_by_error":0,"failed_by_exit_code":0,"#,
            r#""milliseconds":0}]}"#
        )
    );
}

/// A fork copies items of its parent, and a response belongs to one session only.
#[test]
fn what_several_files_repeat_counts_once() {
    let dir = Dir::new("stats_copies");
    let fork = SESSION.replace("11111111-aaaa", "33333333-cccc");
    dir.write("a.jsonl", SESSION).write("fork.jsonl", &fork).write("same.jsonl", SESSION);
    let alone = dir.run("stats a.jsonl --json");
    let all = dir.run("stats . --json -j 1");
    assert_eq!(total(&all), total(&alone));
    assert!(all.stdout().contains(r#""repeated_responses":3"#), "{}", all.stdout());
    // The copy of the file is the same session; the fork is another session.
    assert!(all.stdout().contains(r#""sessions":2,"first""#), "{}", all.stdout());
    assert_eq!(dir.run("stats . --json -j 7").stdout, all.stdout);
    let told = dir.run("stats .");
    assert!(told.stdout().contains("  3 responses in several files, counted once\n"), "{}", told.stdout());
    assert!(told.stdout().contains("\n  copies       1 file, counted once\n"), "{}", told.stdout());
    assert!(all.stdout().contains(r#""copied_files":1"#), "{}", all.stdout());
    // Codex has no response ids: equal times and counts identify a copy.
    dir.write("c1/b.jsonl", CODEX).write("c2/b.jsonl", CODEX.replace("22222222-bbbb", "44444444-dddd"));
    assert_eq!(total(&dir.run("stats c1 c2 --json")), total(&dir.run("stats c1 --json")));
    // A line that the log repeats much later adds nothing either.
    let lines: Vec<&str> = SESSION.lines().collect();
    let padding: String = (10..60).fold(String::new(), |text, number| {
        text + &lines[7]
            .replace("0000000003", &format!("00000000{number}"))
            .replace("\"a4\"", &format!("\"p{number}\""))
            + "\n"
    });
    let once = [SESSION, &padding].concat();
    let again = [&once, lines[2], "\n"].concat();
    dir.write("once", &once).write("again", &again);
    assert_eq!(total(&dir.run("stats once --json")), total(&dir.run("stats again --json")));
}

/// The total usage in the JSON.
fn total(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    between(ran.stdout(), r#""usage":{"total":{"#, "}").to_owned()
}

#[test]
fn a_response_counts_as_last_reported_on_the_day_it_began() {
    let dir = Dir::new("stats_last");
    let late = SESSION.replace("2026-02-10T23:59:11.000Z", "2026-02-11T00:00:01.000Z");
    dir.write("x.jsonl", &late);
    let ran = dir.run("stats x.jsonl --json");
    let first_day = between(ran.stdout(), r#""day":"2026-02-10","#, "}");
    assert!(first_day.contains(r#""output":90,"#), "{first_day}");
    // The same if the two reports are in two files.
    let lines: Vec<&str> = SESSION.lines().collect();
    dir.write("one.jsonl", lines[..2].join("\n")).write("two.jsonl", lines[2..].join("\n"));
    for order in ["one.jsonl two.jsonl", "two.jsonl one.jsonl"] {
        assert_eq!(total(&dir.run(&format!("stats --json {order}"))), total(&ran));
    }
}

#[test]
fn a_call_that_is_repeated_is_one_and_an_id_used_again_is_another() {
    let dir = Dir::new("stats_calls");
    let lines: Vec<&str> = SESSION.lines().collect();
    let calls = |log: String| {
        dir.write("x.jsonl", log);
        let ran = dir.run("stats x.jsonl --json");
        between(ran.stdout(), r#""tools":{"total":{"#, r#","failed_by"#).to_owned()
    };
    let same = [SESSION, lines[2], "\n", lines[3], "\n"].concat();
    assert_eq!(calls(same), r#""calls":3,"ok":1,"failed":1,"no_result":1"#);
    let again = [SESSION, &lines[2].replace("23:59:11", "23:59:51"), "\n"].concat();
    assert_eq!(calls(again), r#""calls":4,"ok":1,"failed":1,"no_result":2"#);
    // The result first, as in shuffled lines.
    let shuffled = [lines[3], lines[2], lines[0]].join("\n");
    assert_eq!(calls(shuffled), r#""calls":1,"ok":0,"failed":1,"no_result":0"#);
}

#[test]
fn a_process_that_returned_zero_has_not_failed() {
    let dir = Dir::new("stats_exit");
    let result = |id: &str, code: i32| {
        format!(
            r#"{{"type":"tool-call","name":"sh","call-id":"{id}","input":{{}}}},{{"type":"tool-result","call-id":"{id}","output":"x","exit-code":{code},"duration":7}}"#
        )
    };
    let record = format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s","agent-meta":{{"model-id":"m","model-provider":"p"}},"entries":[{},{}]}}}}"#,
        result("a", 0),
        result("b", 3)
    );
    dir.write("x.json", record);
    let ran = dir.run("stats x.json --json");
    let tools = between(ran.stdout(), r#""tools":{"total":{"#, "}");
    assert_eq!(
        tools,
        r#""calls":2,"ok":1,"failed":1,"no_result":0,"failed_by_error":0,"failed_by_exit_code":1,"milliseconds":14"#
    );
}

#[test]
fn lines_before_the_first_name_of_the_session_belong_to_it() {
    let dir = Dir::new("stats_nameless");
    let first = r#"{"type":"progress","uuid":"p","timestamp":"2026-02-10T23:58:00.000Z"}"#;
    dir.write("x.jsonl", [first, "\n", SESSION].concat());
    let ran = dir.run("stats x.jsonl --from claude-code --json");
    assert!(ran.stdout().contains(r#""sessions":1,"first":"2026-02-10T23:58:00.000Z""#), "{}", ran.stdout());
    assert!(ran.stdout().contains(r#""milliseconds":{"sessions":145000,"#), "{}", ran.stdout());
}

/// A live stream reports the usage and the cost of the whole turn at its end.
#[test]
fn the_cost_of_a_turn_is_that_of_its_responses() {
    let dir = Dir::new("stats_turn");
    dir.write(
        "x.jsonl",
        r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-4-6","cwd":"/w","tools":[]}
{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"msg_0000000000000009","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":10,"output_tokens":1}}}
{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"hi","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":8}}
"#,
    );
    let ran = dir.run("stats x.jsonl --json");
    let total = total(&ran);
    assert!(total.contains(r#""input":10,"#) && total.contains(r#""output":8,"#), "{total}");
    assert!(total.contains(r#""usd":0.5,"told":0.5,"computed":0,"#), "{total}");
}

#[test]
fn with_several_models_in_a_record_none_is_guessed() {
    let dir = Dir::new("stats_models");
    let lines: Vec<&str> = CODEX.lines().collect();
    let other = lines[3].replace("1000", "3000");
    dir.write("x.jsonl", [CODEX, &lines[1].replace("gpt-5.2", "gpt-5.1"), "\n", &other, "\n"].concat());
    assert_eq!(dir.run("convert -q x.jsonl --to record -o x.json").code, Some(0));
    let names = |form: &str| {
        let ran = dir.run(&format!("stats x.{form} --json"));
        let rows = between(ran.stdout(), r#""by_model":["#, r#"],"by_day""#).to_owned();
        rows.split(r#""model":"#)
            .skip(1)
            .map(|row| row.split(',').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("jsonl"), [r#""gpt-5.1""#, r#""gpt-5.2""#]);
    assert_eq!(names("json"), names("jsonl"));
    // A record whose usage does not name the model.
    let record = String::from_utf8(dir.read("x.json")).expect("text");
    let record = record.replace(r#","model-id":"gpt-5.2""#, "").replace(r#","model-id":"gpt-5.1""#, "");
    dir.write("x.json", record);
    assert_eq!(names("json"), ["null", r#""gpt-5.1""#]);
}

/// Each session of a file has its own model.
#[test]
fn several_records_in_one_file_are_several_sessions() {
    let dir = Dir::new("stats_several");
    let other =
        CODEX.replace("22222222-bbbb", "66666666-ffff").replace("gpt-5.2", "gpt-5.1").replace("1000", "3000");
    dir.write("a.jsonl", CODEX).write("b.jsonl", other);
    dir.run("convert a.jsonl b.jsonl --to record -o . -q").expect(0, "");
    dir.write("both.json", [dir.read("a.record.json"), dir.read("b.record.json")].concat());
    let rest = |ran: &Ran| between(ran.stdout(), r#""failed":[],"#, r#","prices":"#).to_owned();
    let both = dir.run("stats both.json --json");
    assert_eq!(rest(&both), rest(&dir.run("stats a.jsonl b.jsonl --json")));
    assert!(rest(&both).starts_with(r#""sessions":2,"#), "{}", both.stdout());
}

#[test]
fn the_long_lived_part_of_a_cache_is_part_of_it() {
    let dir = Dir::new("stats_long");
    dir.write(
        "x.json",
        r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"claude-opus-4-6","model-provider":"p"},
        "entries":[{"type":"assistant","content":"x","token-usage":{"cache-write-long":50,"output":1}}]}}"#,
    );
    let total = total(&dir.run("stats x.json --json"));
    assert!(total.contains(r#""cache_write":50,"cache_write_long":50,"output":1,"#), "{total}");
    assert!(total.contains(r#""tokens":51,"#) && total.contains(r#""usd":0.000525,"#), "{total}");
}

#[test]
fn a_record_says_what_its_log_says() {
    let dir = Dir::new("stats_record");
    for (name, log) in [("a", SESSION), ("b", CODEX)] {
        dir.write(&format!("{name}.jsonl"), log);
        assert_eq!(dir.run(&format!("convert -q {name}.jsonl --to record -o {name}.json")).code, Some(0));
        let [log, record] = ["jsonl", "json"].map(|form| dir.run(&format!("stats --json {name}.{form}")));
        let rest = |ran: &Ran| between(ran.stdout(), r#""failed":[],"#, r#","prices":"#).to_owned();
        assert_eq!(rest(&log), rest(&record));
    }
}

#[test]
fn the_users_prices_take_the_place_of_ours() {
    let dir = Dir::new("stats_prices");
    dir.write("x.jsonl", CODEX);
    dir.write("mine.toml", "date = 2026-11-16\nsource = \"my contract\"\n[models.\"gpt-5.2\"]\ninput = 100\noutput = 0\ncache-read = 0\n");
    let ran = dir.run("stats x.jsonl --prices mine.toml");
    assert!(
        ran.stdout().contains("cost $0.06\n  $0.06 computed with prices of 2026-11-16\n    (my contract)\n"),
        "{}",
        ran.stdout()
    );
    // A missing price is not derived from the other prices.
    dir.write("mine.toml", "date = \"x\"\nsource = \"me\"\n[models.\"gpt-5.2\"]\ninput = 100\n");
    assert!(dir.run("stats x.jsonl --prices mine.toml").stdout().contains("cost unknown\n"));
    dir.write("mine.toml", "date = \"x\"\nsource = \"me\"\n[models.a]\ninptu = 100\n");
    dir.run("stats x.jsonl --prices mine.toml").expect(
        1,
        "error: `mine.toml`: model `a`: there is no price `inptu`\nhint: a file of prices holds `date`, `source` and, under `[models]`, lines such as `\"gpt-5.2\" = { input = 1.75, output = 14 }`, in dollars per million tokens\n",
    );
    dir.run("stats x.jsonl --prices nowhere.toml").expect(
        1,
        "error: cannot read `nowhere.toml`: no such file\nhint: is the path right? `-` reads stdin\n",
    );
}

#[test]
fn what_the_log_tells_of_its_cost_is_not_computed() {
    let dir = Dir::new("stats_told");
    let line = |id: &str, model: &str, cost: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-11-15T10:00:00.000Z","message":{{"role":"assistant","model":"{model}","responseId":"{id}","content":[{{"type":"text","text":"hi"}}],"stopReason":"stop","usage":{{"input":1000000,"output":0,"cacheRead":0,"cacheWrite":0,"cost":{{"total":{cost}}}}}}}}}"#
        ) + "\n"
    };
    let head = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T10:00:00.000Z","cwd":"/w"}"#;
    let log = [
        head,
        "\n",
        &line("r1", "gpt-5.2", "0.25"),
        &line("r2", "gpt-5.2", "null"),
        &line("r3", "odd", "1e-7"),
    ]
    .concat();
    dir.write("x.jsonl", log);
    let ran = dir.run("stats x.jsonl");
    assert!(
        ran.stdout()
            .contains("cost $2.00\n  $0.25 as the logs tell\n  $1.75 computed with prices of 2026-11-09\n"),
        "{}",
        ran.stdout()
    );
    let ran = dir.run("stats x.jsonl --json");
    assert!(
        ran.stdout()
            .contains(r#""cost":{"usd":2.0000001,"told":0.2500001,"computed":1.75,"estimated":0,"estimated_tokens":0,"unknown_responses":0"#),
        "{}",
        ran.stdout()
    );
}

#[test]
fn files_that_changed_are_listed_with_their_lines() {
    let dir = Dir::new("stats_files");
    let entry = |path: &str, action: &str, diff: &str| {
        format!(
            r#"{{"type":"tool-call","name":"edit","call-id":"c{path}{action}","input":{{}}}},{{"type":"tool-result","call-id":"c{path}{action}","output":"ok","files":[{{"path":"{path}","action":"{action}"{diff}}}]}}"#
        )
    };
    let entries = [
        entry("src/a.rs", "patch", r#","diff":"--- a\n+++ b\n@@ -1 +1,2 @@\n-old\n+new\n+more\n""#),
        entry("src/a.rs", "write", ""),
        entry("src/b.rs", "read", ""),
    ];
    let record = format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s","agent-meta":{{"model-id":"m","model-provider":"p"}},"entries":[{}]}}}}"#,
        entries.join(",")
    );
    dir.write("x.json", record);
    let ran = dir.run("stats x.json");
    assert!(
        ran.stdout().ends_with(
            "\nfiles changed 1, +2 -1\n  without 1 change, of which the logs do not tell what they were\n     2x             +2 -1  src/a.rs\n"
        ),
        "{}",
        ran.stdout()
    );
    let ran = dir.run("stats x.json --json");
    assert!(
        ran.stdout().contains(
            r#""files_changed":[{"path":"src/a.rs","times":2,"without_diff":1,"added":2,"removed":1}]"#
        ),
        "{}",
        ran.stdout()
    );
}

#[test]
fn what_is_no_session_is_refused_or_skipped() {
    let dir = Dir::new("stats_no_session");
    dir.write(
        "in/request.json",
        r#"{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user","content":"x"}]}"#,
    );
    dir.run("stats in/request.json").expect(
        1,
        "error: `in/request.json` is no session: it is a `request` of `anthropic`\n\
         hint: give a log, a live stream of an agent or a record\n",
    );
    dir.write("in/x.jsonl", SESSION);
    let ran = dir.run("stats in -v");
    assert_eq!(ran.stderr, "skipped in/request.json: it is a `request` of `anthropic`, no session\n");
    assert!(
        ran.stdout().ends_with(
            "\nfiles\n  in/x.jsonl: claude-code, 1 session, 1 turn, 3 calls (1 failed), 2,545 tokens, ≥$0.0056\n"
        ),
        "{}",
        ran.stdout()
    );
    // An unreadable input does not stop the others.
    let ran = dir.run("stats in/x.jsonl nowhere.jsonl");
    assert!(ran.stdout().starts_with("1 session in 1 file"), "{}", ran.stdout());
    assert_eq!(ran.code, Some(1));
}

#[test]
fn oversight_subagents_and_compactions_are_counted() {
    let dir = Dir::new("stats_oversight");
    let events = [
        r#"{"type":"system-event","event-type":"permission-requested","data":{"id":"p1","action":"Bash"}}"#,
        r#"{"type":"system-event","event-type":"permission-resolved","data":{"id":"p1","action":"Bash","answer":{"reject":"no"}}}"#,
        r#"{"type":"system-event","event-type":"permission-requested","data":{"id":"p2","action":"Bash"}}"#,
        r#"{"type":"system-event","event-type":"permission-resolved","data":{"id":"p2","action":"Bash","answer":"accept"}}"#,
        r#"{"type":"system-event","event-type":"permission-requested","data":{"id":"p3","action":"Bash"}}"#,
        // The compaction is recorded twice: as an event and as the summary message.
        r#"{"type":"system-event","event-type":"compacted","data":{"trigger":"auto","before":9000}}"#,
        r#"{"type":"user","origin":"summary","content":"what was said"}"#,
        r#"{"type":"user","origin":"agent","agent":"scout","content":"look around"}"#,
        r#"{"type":"tool-call","agent":"scout","name":"ls","call-id":"c1","input":{}}"#,
        r#"{"type":"user","agent":"scout","content":"go on"}"#,
        r#"{"type":"user","copied-from":"elsewhere","content":"said in another session"}"#,
        r#"{"type":"tool-call","copied-from":"elsewhere","name":"ls","call-id":"c2","input":{}}"#,
        r#"{"type":"user","origin":"own","content":"typed"}"#,
        r#"{"type":"user","origin":"command","content":"/clear"}"#,
    ];
    let record = format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s","agent-meta":{{"model-id":"m","model-provider":"p"}},"entries":[{}]}}}}"#,
        events.join(",")
    );
    dir.write("x.json", record);
    let ran = dir.run("stats x.json");
    assert_eq!(
        ran.stdout(),
        "1 session in 1 file (record)
  time         0ms in sessions, 0ms in tools
  turns        1
  messages     5 to and 0 of models, 0 others; 0 thoughts
  sub-agents   1, with 1 tool call
  permissions  3 asked, 1 denied
  compactions  1
  copied       2 items of other sessions, not counted

tools 1 call, 0 failed (0 said so, 0 by exit code)
  tool                     calls      ok  failed no result    time
  ls                           1       0       0         1     0ms  ████████████
"
    );
}

/// Colours are for terminals only, and log text cannot reach a terminal unescaped.
#[test]
fn names_from_a_log_cannot_speak_to_the_terminal() {
    let dir = Dir::new("stats_hostile");
    dir.write(
        "x.jsonl",
        SESSION
            .replace("\"Read\"", "\"\\u001b[2J\\u0007Read\"")
            .replace("claude-unheard-9", "\\u001b[31mred"),
    );
    let ran = dir.run("stats x.jsonl");
    assert_eq!(ran.code, Some(0));
    assert!(!ran.stdout().contains(['\u{1b}', '\u{7}']), "{}", ran.stdout());
}

/// Very large numbers: sums saturate and no calculation overflows.
#[test]
fn absurd_numbers_are_survived() {
    let dir = Dir::new("stats_absurd");
    let most = u64::MAX.to_string();
    let mut log = SESSION.replace("\"output_tokens\":30", &format!("\"output_tokens\":{most}"));
    log = log.replace(
        "\"input_tokens\":7",
        &format!("\"input_tokens\":{most},\"cache_read_input_tokens\":{most}"),
    );
    let far = SESSION.replace("2026-02-11", "9999-12-31").replace("2026-02-10", "1970-01-01");
    let result = r#"{"type":"user","uuid":"u9","sessionId":"11111111-aaaa","timestamp":"0000-01-01T00:00:00Z","toolUseResult":{"durationMs":18446744073709551615},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"x"}]}}"#;
    dir.write("a.jsonl", [&log, result, "\n"].concat())
        .write("b.jsonl", far.replace("11111111-aaaa", "55555555-eeee"));
    for command in ["stats .", "stats . --json"] {
        let ran = dir.run(command);
        assert_eq!((ran.stderr.as_str(), ran.code), ("", Some(0)), "{}", ran.stdout());
    }
}

#[test]
fn a_log_without_end_takes_no_memory() {
    let dir = Dir::new("stats_memory");
    // The same lines repeated add nothing to memory.
    let line = format!(
        "{}\n",
        SESSION.lines().nth(2).expect("it has three lines").replace("tide", &"tide ".repeat(2000))
    );
    dir.write("x.jsonl", [SESSION, &line.repeat(20_000)].concat());
    let limited =
        format!("ulimit -v 131072; exec {} stats x.jsonl --json", env!("CARGO_BIN_EXE_interlingua"));
    let output = std::process::Command::new("sh")
        .args(["-c", &limited])
        .current_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/stats_memory"))
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#""calls":3,"#));
}

/// Two files of one session, of which the second repeats half of the first: every count equals that of the first alone.
#[test]
fn a_session_in_two_files_is_counted_once_whatever_agent_wrote_it() {
    let dir = Dir::new("stats_two_files");
    let figures = |ran: &Ran| {
        let all = between(ran.stdout(), r#""failed":[],"sessions":"#, r#","prices":"#).to_owned();
        all.split(r#","repeated_responses""#).next().unwrap_or_default().to_owned()
    };
    let mut compared: Vec<String> = Vec::new();
    for fixture in support::fixtures("jsonl") {
        let log = std::fs::read_to_string(&fixture).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        dir.write("log/whole.jsonl", &log);
        let alone = dir.run("stats log --json -q");
        if alone.code != Some(0) || lines.len() < 4 {
            continue;
        }
        dir.write("log/half.jsonl", lines[..lines.len() / 2].join("\n") + "\n");
        let both = dir.run("stats log --json -q");
        std::fs::remove_file(dir.path().join("log/half.jsonl")).expect("it is there");
        // A file without a session id is a separate session; for some dialects, half a file is not recognised.
        let sessions = |ran: &Ran| between(ran.stdout(), r#""failed":[],"sessions":"#, ",").to_owned();
        if both.stdout().matches(r#""input":"log/"#).count() != 2 || sessions(&both) != sessions(&alone) {
            continue;
        }
        assert_eq!(figures(&both), figures(&alone), "{fixture:?}");
        compared.push(between(alone.stdout(), r#""dialect":""#, "\"").to_owned());
    }
    compared.sort_unstable();
    compared.dedup();
    assert!(compared.len() >= 6, "{compared:?}");
}

/// A file without a session id is identified by its bytes.
#[test]
fn a_copy_of_a_file_is_counted_once_whatever_agent_wrote_it() {
    let dir = Dir::new("stats_copied_files");
    let mut compared = 0;
    for fixture in support::fixtures("jsonl") {
        let log = std::fs::read(&fixture).expect("a fixture can be read");
        dir.write("log/one.jsonl", &log);
        let _ = std::fs::remove_file(dir.path().join("log/two.jsonl"));
        let one = dir.run("stats log --json -q");
        dir.write("log/two.jsonl", &log);
        let two = dir.run("stats log --json -q");
        if one.code != Some(0) {
            continue;
        }
        let figures =
            |ran: &Ran| between(ran.stdout(), r#""failed":[],"sessions":"#, r#","prices":"#).to_owned();
        assert_eq!(figures(&two), figures(&one), "{fixture:?}");
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

/// Blocks of a message carry only the members that differ from it.
#[test]
fn the_calls_of_a_subagent_are_its_own() {
    let dir = Dir::new("stats_subagent");
    let own = SESSION.replace(
        r#""sessionId":"11111111-aaaa","#,
        r#""sessionId":"11111111-aaaa","isSidechain":true,"agentId":"a0123456789abcdef","#,
    );
    dir.write("agent.jsonl", own);
    let ran = dir.run("stats agent.jsonl --json");
    assert!(ran.stdout().contains(r#""subagents":{"count":1,"tool_calls":3}"#), "{}", ran.stdout());
    assert!(dir.run("stats agent.jsonl").stdout().contains("  sub-agents   1, with 3 tool calls\n"));
    // Codex gives a subagent its own session.
    let spawned = [
        r#"{"timestamp":"2026-11-15T10:00:00.000Z","type":"session_meta","payload":{"id":"0198aaaa-0000-7000-8000-000000000002","timestamp":"2026-11-15T10:00:00.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.140.0","source":{"subagent":{"thread_spawn":{"parent_thread_id":"0198aaaa-0000-7000-8000-000000000001","depth":1}}}}}"#,
        r#"{"timestamp":"2026-11-15T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]}}"#,
        r#"{"timestamp":"2026-11-15T10:00:03.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}}"#,
        r#"{"timestamp":"2026-11-15T10:00:04.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"ok"}}"#,
    ];
    dir.write("codex.jsonl", spawned.join("\n") + "\n");
    let ran = dir.run("stats codex.jsonl --json");
    assert!(ran.stdout().contains(r#""subagents":{"count":1,"tool_calls":1}"#), "{}", ran.stdout());
}

/// The newest models have prices; the costs of models without a row are marked as estimated.
#[test]
fn the_cost_of_an_unknown_model_is_estimated_by_its_family() {
    let dir = Dir::new("stats_estimated");
    dir.write(
        "x.jsonl",
        SESSION.replace("claude-unheard-9", "claude-opus-9").replace("opus-4-6", "opus-5-5"),
    );
    let ran = dir.run("stats x.jsonl");
    // 7 x 4 + 3 x 20, per million.
    assert!(
        ran.stdout()
            .contains("claude-opus-9              7       0       0       0       3       0 ~<$0.0001\n"),
        "{}",
        ran.stdout()
    );
    assert!(
        ran.stdout().contains(
            "  <$0.0001 estimated for 10 tokens, with prices of the same family:\n    claude-opus-9 as claude-opus-5-5\n"
        ),
        "{}",
        ran.stdout()
    );
    assert!(!ran.stdout().contains("unknown"), "{}", ran.stdout());
    let json = dir.run("stats x.jsonl --json");
    let row = between(json.stdout(), r#""model":"claude-opus-9","#, r#"}],"by_day""#);
    assert!(
        row.ends_with(r#""cost":{"usd":0.000088,"told":0,"computed":0,"estimated":0.000088,"estimated_tokens":10,"unknown_responses":0,"unknown_tokens":0},"estimated_by":"claude-opus-5-5""#),
        "{row}"
    );
}

#[test]
fn ids_that_share_a_hash_are_counted_both() {
    // The unkeyed `SipHash` of both is 13af953b1da64cf5.
    let [one, two] = ["call_id_focdbmkjhamdlplb", "call_id_oahjgbibnpakgbfj"];
    let log = |session: [&str; 2], uuid: [&str; 2], response: [&str; 2], call: [&str; 2]| {
        let mut log = String::new();
        for number in 0..2 {
            let [session, uuid, response, call] = [session, uuid, response, call].map(|ids| ids[number]);
            let _ = writeln!(
                log,
                r#"{{"type":"assistant","uuid":"{uuid}","parentUuid":null,"sessionId":"{session}","timestamp":"2026-02-10T23:59:1{number}.000Z","message":{{"role":"assistant","id":"{response}","model":"claude-opus-4-6","content":[{{"type":"text","text":"Let me look."}},{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}],"usage":{{"input_tokens":10,"output_tokens":5}}}}}}"#
            );
        }
        log
    };
    let (same, different, colliding) =
        (["s", "s"], ["first_long_id_of_two", "second_long_id_of_two"], [one, two]);
    let places = [
        [colliding, different, different, different],
        [same, colliding, different, different],
        [same, different, colliding, different],
        [same, different, different, colliding],
    ];
    for (number, [session, uuid, response, call]) in places.into_iter().enumerate() {
        let dir = Dir::new(&format!("stats_collide_{number}"));
        dir.write("x.jsonl", log(session, uuid, response, call));
        let plain = |ids: [&'static str; 2]| if ids == colliding { different } else { ids };
        dir.write("y.jsonl", log(plain(session), plain(uuid), plain(response), plain(call)));
        let counted = |name: &str| dir.run(&format!("stats {name} --json")).stdout().replace(name, "");
        assert_eq!(counted("x.jsonl"), counted("y.jsonl"), "place {number}");
    }
}
