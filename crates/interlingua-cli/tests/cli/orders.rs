//! Work orders, receipts, the matrix and backends, tested through the command.

use crate::support::Dir;

const ORDER: &str = r#"{"schema":"interlingua.work-order/1","task":"tides","request":{"model":"claude-opus-5-5","max_tokens":900,"cache_control":{"type":"ephemeral"},
"messages":[{"role":"user","content":"When is high water?"}]},"backend":{"dialect":"openai-chat","name":"vllm"},"model":"tide-1"}"#;
const ANSWER: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"tide-1","choices":[{"index":0,"finish_reason":"stop",
"message":{"role":"assistant","content":"At noon."}}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}"#;

fn text(dir: &Dir, name: &str) -> String {
    String::from_utf8(dir.read(name)).expect("it is text")
}

#[test]
fn an_order_becomes_a_request_an_answer_and_a_chain_of_receipts() {
    let dir = Dir::new("orders");
    dir.write("order.json", ORDER);
    dir.write("answer.json", ANSWER);
    let ran = dir.run("translate order.json -o request.json --receipt one.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        text(&dir, "request.json"),
        r#"{"model":"tide-1","max_tokens":900,"messages":[{"role":"user","content":"When is high water?"}]}"#
    );
    assert!(
        ran.stderr.starts_with("Partial: anthropic to openai-chat at vllm, tide-1, 1 value lost\n"),
        "{}",
        ran.stderr
    );
    let ran = dir.run(
        "translate order.json --response answer.json --receipt two.json --previous one.json -o returned.json",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(text(&dir, "returned.json").contains(r#""text":"At noon.""#));
    let ran = dir.run("receipt verify two.json --sent request.json --response answer.json --returned returned.json --previous one.json");
    assert_eq!((ran.stdout(), ran.code), ("two.json: valid\n", Some(0)));
    // Without files to compare, the message is about the receipt's form only.
    let ran = dir.run("receipt verify two.json");
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout().starts_with("two.json: valid form; only the receipt itself was checked"),
        "{}",
        ran.stdout()
    );
    // No later receipt covers the newest receipt, but its own digest reveals a change.
    for (from, to) in [("\"Complete\"", "\"Partial\""), ("vllm", "vllm2"), ("\"count\":", "\"count\": ")] {
        let changed = text(&dir, "two.json").replacen(from, to, 1);
        assert_ne!(changed, text(&dir, "two.json"), "{from}");
        dir.write("changed.json", changed);
        let ran = dir.run("receipt verify changed.json");
        assert_eq!(ran.code, Some(3), "{from}");
        assert!(ran.stdout().contains("/digest: not the hash of the bytes before it"), "{}", ran.stdout());
    }
    let whole = text(&dir, "two.json");
    let (before, _) = whole.split_once(",\"digest\"").expect("a receipt ends with its digest");
    dir.write("changed.json", format!("{before}}}\n"));
    assert!(dir.run("receipt verify changed.json").stdout().contains("/digest: missing"));
    // A changed previous receipt breaks the chain.
    dir.write("forged.json", text(&dir, "one.json").replace("Partial", "Complete"));
    let ran = dir.run("receipt verify two.json --previous forged.json");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stdout().contains("/previous: the receipt says"), "{}", ran.stdout());
    let ran = dir.run("receipt diff one.json forged.json");
    assert_eq!((ran.stdout(), ran.code), ("/outcome: \"Partial\" -> \"Complete\"\n", Some(3)));
    let ran = dir.run("receipt diff one.json one.json");
    assert_eq!((ran.stdout(), ran.code), ("", Some(0)));
}

#[test]
fn what_must_not_be_lost_is_refused_and_the_receipt_says_so() {
    let dir = Dir::new("refused");
    dir.write("order.json", ORDER.replace(r#","model":"tide-1"}"#, r#","policy":{"settings":"fail"}}"#));
    let ran = dir.run("translate order.json --receipt receipt.json");
    assert_eq!((ran.stdout(), ran.code), ("", Some(3)));
    assert!(
        ran.stderr.starts_with("error: CAPABILITY_UNSUPPORTED: `/cache_control/type`: cache marks on settings and tools (`request/cache`) would be lost in openai-chat, the target has no field for it\nhint: supported by anthropic"),
        "{}",
        ran.stderr
    );
    assert!(
        text(&dir, "receipt.json").contains(r#""outcome":"Failed","error":{"code":"CAPABILITY_UNSUPPORTED""#)
    );
    // The same for a plain conversion.
    dir.write(
        "request.json",
        r#"{"model":"m","max_tokens":9,"cache_control":{"type":"ephemeral"},"system":"s","messages":[{"role":"user","content":"x"}]}"#,
    );
    for (policy, code) in
        [("request/cache=fail", 3), ("all=fail,request/cache=allow", 0), ("no-slot=warn", 0)]
    {
        let ran = dir.run(&format!("convert request.json --to openai-chat --policy {policy}"));
        assert_eq!(ran.code, Some(code), "{policy}: {}", ran.stderr);
    }
}

#[test]
fn an_order_or_a_file_of_backends_that_makes_no_sense_says_where() {
    let dir = Dir::new("senseless");
    dir.write("order.json", ORDER.replace("\"task\"", "\"tusk\""));
    let ran = dir.run("translate order.json");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.starts_with("error: `order.json`: /tusk: unknown; known are schema, task,"),
        "{}",
        ran.stderr
    );
    dir.write("request.json", r#"{"model":"qwen","max_tokens":9,"temperature":0.4,"system":"s","messages":[{"role":"user","content":"x"}]}"#);
    for (toml, said) in [
        (
            "[[backend]]\nname = \"a\"\ndialect = \"openai-chat\"\nprefil = true\n",
            "backend `a`: there is no rule `prefil`",
        ),
        (
            "[[backend]]\nname = \"a\"\ndialect = \"openai-chat\"\nprefill = 3\n",
            "backend `a`: `prefill` wants `true` or `false`",
        ),
        (
            "[[backend]]\nname = \"a\"\ndialect = \"klingon\"\n",
            "backend `a`: `klingon` is no dialect of a model API",
        ),
        ("backend = 3\n", "`backend` is not `[[backend]]`"),
    ] {
        dir.write("backends.toml", toml);
        let ran = dir.run("convert request.json --to openai-chat --backend a --backends backends.toml");
        assert_eq!(ran.code, Some(1), "{toml}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    dir.write("backends.toml", "[[backend]]\nname = \"a\"\ndialect = \"openai-chat\"\nbase = \"vllm\"\n[[backend.model]]\nmatch = \"q*\"\nrefuses = [\"request/temperature\"]\n");
    let ran = dir.run("convert request.json --to openai-chat --backend a --backends backends.toml -q");
    assert!(
        !ran.stdout().contains("temperature") && ran.stdout().contains("\"max_tokens\":9"),
        "{}",
        ran.stdout()
    );
    let ran = dir.run("convert request.json --to openai-chat --backend nobody");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no backend `nobody` speaks `openai-chat`"), "{}", ran.stderr);
}

#[test]
fn the_matrix_is_the_table_that_writers_keep_to() {
    let dir = Dir::new("matrix");
    let ran = dir.run("matrix anthropic openai-chat --format markdown");
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout().starts_with("| feature | in | fidelity | how |\n|---|---|---|---|\n"),
        "{}",
        ran.stdout()
    );
    assert!(
        ran.stdout().contains(
            "| cache marks on settings and tools | request | none | the target has no field for it |"
        ),
        "{}",
        ran.stdout()
    );
    let ran = dir.run("matrix --format json");
    assert!(ran.stdout().starts_with("[{\"feature\":"), "{}", ran.stdout());
    let ran = dir.run("matrix --list-backends");
    assert!(ran.stdout().contains("max-temperature"), "{}", ran.stdout());
    for dialect in ["copilot", "openai-responses", "anthropic"] {
        let mut rows = ran.stdout().lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert!(rows.any(|row| row.starts_with(&["github", dialect])), "{dialect}: {}", ran.stdout());
    }
}
