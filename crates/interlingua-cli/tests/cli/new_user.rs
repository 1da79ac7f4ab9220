//! The first hour with the command: flags work as documented, exit codes come with a reason, and hints help without the
//! repository.

use crate::support::{Dir, log};
use interlingua::dialects::{Dialect, Role};

const REQUEST: &str = r#"{"model":"claude-opus-5-5","max_tokens":900,"messages":[{"role":"user","content":"When is high water?"}]}"#;

#[test]
fn a_model_that_the_user_names_is_an_override_and_no_loss() {
    let dir = Dir::new("user_model");
    dir.write("request.json", REQUEST);
    for (to, model) in [
        ("gemini", "gemini-3.8-flash"),
        ("openai-chat", "gpt-6.1-sol"),
        ("openai-responses", "gpt-6.1-sol"),
        ("kimi", "kimi-k3"),
    ] {
        let ran = dir.run(&format!("convert request.json --to {to} --model {model} --strict"));
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.stderr);
        assert!(ran.stdout().contains(model), "{to}: {}", ran.stdout());
        assert!(!ran.stdout().contains("claude"), "{to}: {}", ran.stdout());
        assert!(
            ran.stderr.contains("another model is asked for than the source names, as the caller wants"),
            "{to}: {}",
            ran.stderr
        );
    }
}

/// The budget and the model of a work order belong to the caller's request, too.
#[test]
fn a_receipt_of_an_order_with_a_model_of_its_own_is_complete() {
    let dir = Dir::new("user_receipt");
    let order = format!(
        r#"{{"schema":"interlingua.work-order/1","task":"t","dialect":"anthropic","request":{REQUEST},"backend":{{"dialect":"openai-chat","name":"vllm"}},"model":"qwen3-32b","policy":{{"all":"fail"}},"budget":{{"max_output_tokens":500}}}}"#
    );
    let answer = r#"{"id":"c","object":"chat.completion","created":1,"model":"qwen3-32b","choices":[{"index":0,"message":{"role":"assistant","content":"Noon."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
    dir.write("order.json", order).write("answer.json", answer);
    let ran = dir.run("translate order.json -o sent.json --receipt before.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sent = String::from_utf8(dir.read("sent.json")).expect("text");
    assert!(sent.contains("qwen3-32b") && sent.contains("500") && !sent.contains("900"), "{sent}");
    let before = String::from_utf8(dir.read("before.json")).expect("text");
    assert!(
        before.contains(r#""outcome":"Complete""#) || before.contains(r#""outcome": "Complete""#),
        "{before}"
    );
}

#[test]
fn a_model_that_the_target_does_not_have_is_pointed_out() {
    let dir = Dir::new("user_foreign_model");
    let remark = "the model's name is not one of the target's models; the server may refuse it";
    for (model, to, is_foreign) in [
        ("claude-opus-5-5", "gemini", true),
        ("claude-opus-5-5", "openai-chat", true),
        ("claude-opus-5-5", "openai-responses", true),
        ("claude-opus-5-5", "kimi", true),
        ("gemini-3.8-flash", "gemini", false),
        ("gpt-6.1-sol", "openai-responses", false),
        ("o4-mini", "openai-chat", false),
        ("kimi-k3", "kimi", false),
        ("qwen3-32b", "openai-chat --backend vllm", false),
        ("claude-opus-5-5", "openai-chat --backend openrouter", false),
    ] {
        dir.write("request.json", REQUEST.replace("claude-opus-5-5", model));
        let ran = dir.run(&format!("convert request.json --from anthropic --to {to}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains(remark), is_foreign, "{model} to {to}: {}", ran.stderr);
    }
}

/// An exit code alone does not explain a failure.
#[test]
fn each_failure_has_a_line_that_says_why_also_when_quiet() {
    let dir = Dir::new("user_quiet");
    dir.write("a.jsonl", log(2)).write("b.jsonl", log(3)).write("bad.jsonl", log(2) + "{\"broken\n");
    dir.write("request.json", REQUEST);
    for (args, code, said) in [
        ("convert a.jsonl --to codex -o o.jsonl --strict -q", 3, "error: `--strict`: "),
        (
            "convert bad.jsonl --to record -o o.json --strict -q",
            3,
            "error: `--strict`: 1 error in the input\n",
        ),
        ("convert a.jsonl b.jsonl --to codex -o out --strict -q", 3, "error: `--strict`: "),
        ("convert a.jsonl --to codex -o o.jsonl --policy all=fail -q", 3, "error: "),
        ("convert [ --to record -o o -q", 2, "error: `[` is no pattern: "),
        ("convert [ --to record -q", 2, "error: `[` is no pattern: "),
        ("convert a.jsonl x[ --to record -o o -q", 2, "error: `x[` is no pattern: "),
        ("check [ -q", 2, "error: `[` is no pattern: "),
        ("stats [ -q", 2, "error: `[` is no pattern: "),
        ("convert nowhere --to record -q", 1, "error: "),
        ("convert nowhere a.jsonl --to record -o out -q", 1, "error: "),
        ("show nowhere -q", 1, "error: "),
        ("translate nowhere -q", 1, "error: "),
    ] {
        let ran = dir.run(args);
        assert!(ran.stderr.starts_with(said), "{args}: {}", ran.stderr);
        assert_eq!(ran.code, Some(code), "{args}: {}", ran.stderr);
        assert!(!ran.stderr.contains("docs/"), "{args}: {}", ran.stderr);
    }
}

#[test]
fn several_inputs_do_not_become_a_directory_with_the_name_of_a_file() {
    let dir = Dir::new("user_two");
    dir.write("a.jsonl", log(1)).write("b.jsonl", log(2)).write("logs/c.jsonl", log(1));
    for (args, name) in [
        ("convert a.jsonl b.jsonl --to record -o two.json", "two.json"),
        ("convert logs --to record -o x/two.jsonl", "x/two.jsonl"),
        ("convert *.jsonl --to record -o two.JSON", "two.JSON"),
    ] {
        dir.run(args).expect(
            2,
            &format!(
                "error: `{name}` is the name of a file, and several outputs need a directory\n\
                 hint: name a directory, or `-o {name}/` for a directory of that name\n"
            ),
        );
        assert!(!dir.path().join(name).exists() && !dir.path().join("x").exists());
    }
    assert_eq!(dir.run("convert a.jsonl b.jsonl --to record -o two.json/ -q").code, Some(0));
    assert!(dir.path().join("two.json/a.record.json").exists());
    // An existing directory decides, regardless of its extension.
    assert_eq!(dir.run("convert a.jsonl b.jsonl --to record -o two.json -q").code, Some(0));
}

#[test]
fn a_run_that_fails_leaves_no_empty_directory() {
    let dir = Dir::new("user_empty_directory");
    dir.write("a.jsonl", log(1)).write("notes.txt", "hello\n").write("in/deep/notes.txt", "hello\n");
    for args in [
        "convert a.jsonl --to codex --join -o out/ -q",
        "convert nowhere --to record --join -o out/ -q",
        "convert notes.txt nowhere --to record -o out/deep/er -q",
        "convert in --to record -o out -q",
        "convert a.jsonl --to record --from codex -o out/ -q",
    ] {
        let ran = dir.run(args);
        assert_ne!(ran.code, Some(0), "{args}");
        assert!(!dir.path().join("out").exists(), "{args}: {}", ran.stderr);
    }
    // A directory that already existed stays, and so does a directory with files.
    std::fs::create_dir(dir.path().join("mine")).expect("a directory can be made");
    assert_eq!(dir.run("convert in --to record -o mine -q").code, Some(1));
    assert!(dir.path().join("mine").exists());
    assert_eq!(dir.run("convert a.jsonl nowhere --to record -o out -q").code, Some(1));
    assert!(dir.path().join("out/a.record.json").exists());
    assert_eq!(dir.run("convert a.jsonl --to record --join -o new/ --report new/r.json -q").code, Some(0));
    assert!(dir.path().join("new/r.json").exists());
}

#[test]
fn the_extension_of_the_output_decides_how_a_session_is_shown() {
    let dir = Dir::new("user_show_form");
    dir.write("a.jsonl", log(2));
    for (flags, name, form, begins) in [
        ("", "x.html", "HTML", "<!doctype html>"),
        ("", "x.HTM", "HTML", "<!doctype html>"),
        ("", "x.md", "Markdown", "# "),
        ("--markdown", "y.html", "Markdown", "# "),
        ("--html", "y.txt", "HTML", "<!doctype html>"),
        ("", "x.txt", "plain text", "hi 0"),
        ("", "x.pdf", "plain text", "hi 0"),
    ] {
        let ran = dir.run(format!("show a.jsonl {flags} -o {name}").replace("  ", " ").as_str());
        assert!(ran.stderr.ends_with(&format!("writing {name} ({form})\n")), "{}", ran.stderr);
        let shown = String::from_utf8(dir.read(name)).expect("text");
        assert!(shown.to_lowercase().starts_with(begins), "{name}: {}", &shown[..40]);
    }
}

#[test]
fn help_and_hints_name_no_page_that_an_installed_command_lacks() {
    let dir = Dir::new("user_hints");
    dir.write("bad.toml", "x = 1\n").write("order.json", "{}").write("a.jsonl", log(1));
    dir.write(
        "record.json",
        r#"{"version":"3.0.0","id":"r","session":{"session-id":1,"entries":[{"type":"nothing"}]}}"#,
    );
    for args in [
        "convert a.jsonl --to openai-chat --backends bad.toml --backend x",
        "matrix --list-backends --backends bad.toml",
        "stats a.jsonl --prices bad.toml",
        "translate order.json",
        "receipt verify order.json",
        "check record.json --from record",
        "convert --help",
        "translate --help",
        "stats --help",
        "help translate",
    ] {
        let ran = dir.run(args);
        for text in [ran.stdout(), &ran.stderr] {
            assert!(!text.contains("docs/") && !text.contains(".md`"), "{args}: {text}");
        }
    }
    let help = dir.run("help translate");
    assert!(help.stdout().contains("interlingua.work-order/1"), "{}", help.stdout());
}

#[test]
fn the_matrix_of_two_logs_lists_what_is_carried_and_what_is_not() {
    let dir = Dir::new("user_matrix");
    let logs: Vec<&'static Dialect> = interlingua::dialects::DIALECTS
        .iter()
        .copied()
        .filter(|dialect| dialect.plane == interlingua::dialects::Plane::Log)
        .collect();
    let is_written = |to: &&&Dialect| to.role(Role::Log).is_some_and(|spec| spec.write.is_some());
    for Dialect { name: from, .. } in &logs {
        for to in logs.iter().filter(is_written).map(|to| to.name).filter(|to| to != from) {
            let ran = dir.run(&format!("matrix {from} {to}"));
            let has = |fidelity: &str| ran.stdout().lines().any(|line| line.contains(fidelity));
            // Between some logs no field is exact, because nearly all leave out the messages of subagents.
            let is_carried = has("  exact  ") || has("  lossy  ");
            assert!(has("message text ") && is_carried, "{from} to {to}: {}", ran.stdout());
            assert!(!ran.stdout().contains("no-slot"), "{from} to {to}: {}", ran.stdout());
        }
    }
    let ran = dir.run("matrix claude-code codex");
    assert!(
        ran.stdout()
            .lines()
            .any(|line| line.starts_with("error mark of a result ") && line.contains(" none "))
    );
    assert_eq!(dir.run("matrix claude-code anthropic").code, Some(2));
}

#[test]
fn a_report_begins_with_the_parts_that_a_person_misses() {
    let dir = Dir::new("user_losses");
    let line = |uuid: &str, rest: &str| {
        format!(r#"{{"uuid":"{uuid}","sessionId":"s","timestamp":"2026-11-01T10:00:00.000Z",{rest}}}"#)
    };
    let agent = r#""isSidechain":true,"agentId":"a0123456789abcdef""#;
    let log = [
        line("u1", r#""type":"user","message":{"role":"user","content":"go"}"#),
        line(
            "a1",
            r#""type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Task","input":{}}]}"#,
        ),
        line("u2", &format!(r#"{agent},"type":"user","message":{{"role":"user","content":"look"}}"#)),
        line(
            "a2",
            &format!(
                r#"{agent},"type":"assistant","message":{{"id":"m2","role":"assistant","content":[{{"type":"tool_use","id":"t2","name":"Read","input":{{}}}}]}}"#
            ),
        ),
        line(
            "u3",
            &format!(
                r#"{agent},"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t2","content":"ok"}}]}}"#
            ),
        ),
        line(
            "u4",
            r#""type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}"#,
        ),
    ];
    dir.write("x.jsonl", log.join("\n") + "\n");
    let said = dir.run("convert x.jsonl --to codex -o y.jsonl").stderr;
    let sentence = said.lines().nth(1).unwrap_or_default();
    assert!(sentence.contains("; not carried over: 1 subagent (1 call, 1 result)"), "{said}");
    assert!(!said.contains("no-slot") && said.contains("the target has no field for it"), "{said}");
}

#[test]
fn each_session_of_a_file_has_its_own_title_and_facts() {
    let dir = Dir::new("user_sessions");
    let line = |session: &str, cwd: &str, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"u{session}","sessionId":"{session}","cwd":"{cwd}","timestamp":"2026-11-01T10:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    for (name, cwd, text) in [
        ("one", "/first", "<environment_context>x</environment_context> first question"),
        ("two", "/second", "<user_info>y</user_info><user_query> second question </user_query>"),
        ("three", "/third", "<recommended_plugins>z</recommended_plugins>third question"),
    ] {
        dir.write(&format!("{name}.jsonl"), line(name, cwd, text));
        dir.run(&format!("convert {name}.jsonl --to record -o {name}.json -q")).expect(0, "");
    }
    let all: Vec<u8> =
        ["one", "two", "three"].iter().flat_map(|name| dir.read(&format!("{name}.json"))).collect();
    dir.write("all.json", all);
    for form in ["", " --markdown", " --html"] {
        let shown = dir.run(&format!("show all.json{form}"));
        let text = shown.stdout();
        assert!(text.contains("3 sessions"), "{text}");
        for (title, folder) in [("first", "/first"), ("second", "/second"), ("third", "/third")] {
            let title = format!("{title} question");
            let at = text.find(&title).unwrap_or_else(|| panic!("{form}: no {title} in {text}"));
            let facts: String = text[at..].chars().take(400).collect();
            assert!(facts.contains(folder), "{form}: {facts}");
        }
    }
}

/// SQL comments and command options look like the file names in a diff.
#[test]
fn changed_lines_that_look_like_names_of_files_are_shown() {
    let dir = Dir::new("user_diffs");
    dir.write(
        "x.json",
        r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"user","content":"go"},{"type":"tool-call","name":"edit","call-id":"c","input":{}},{"type":"tool-result","call-id":"c","output":"ok","files":[{"path":"a.sql","action":"patch","diff":"--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n--- old comment\n-gone\n+++ counter\n+come\n"}]}]}}"#,
    );
    let shown = dir.run("show x.json --full");
    for line in ["--- old comment", "+++ counter", "-gone", "+come"] {
        assert!(shown.stdout().contains(line), "{line}: {}", shown.stdout());
    }
    assert!(!shown.stdout().contains("--- a.sql"), "{}", shown.stdout());
    let counted = dir.run("stats x.json --json");
    assert!(counted.stdout().contains(r#""added":2,"removed":2"#), "{}", counted.stdout());
}

#[test]
fn a_title_is_no_wrapper_of_a_program() {
    let dir = Dir::new("titles");
    let line = |number: usize, text: &str| {
        let text = serde_json::to_string(text).expect("JSON");
        format!(
            r#"{{"type":"user","uuid":"u{number}","sessionId":"s","cwd":"/w","message":{{"role":"user","content":{text}}}}}"#
        ) + "\n"
    };
    for (texts, title) in [
        (
            &["<attached_files>\n<file>x</file>\n</attached_files>\n<userRequest>tie the knot</userRequest>"]
                [..],
            "tie the knot",
        ),
        (&["<User-Query>tie the knot</User-Query>"], "tie the knot"),
        (
            &[
                "## Context from my IDE setup:\n\n## Open tabs:\n- x\n\n## My request for Codex:\ntie the knot",
            ],
            "tie the knot",
        ),
        (
            &["Message Type: NEW_TASK\nTask name: /root/x\nSender: /root\nPayload:\ntie the knot"],
            "tie the knot",
        ),
        (
            &[
                "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
                "tie the knot",
            ],
            "tie the knot",
        ),
        (&["<command-message>init</command-message>\n<command-name>/init</command-name>"], "/init"),
        (&["<environment_context>\n<cwd>/w</cwd>\n</environment_context>"], "A session"),
        (&["<b> is not closed"], "\\<b\\> is not closed"),
    ] {
        let log: String = texts.iter().enumerate().map(|(number, text)| line(number, text)).collect();
        dir.write("x.jsonl", log);
        let shown = dir.run("show x.jsonl --markdown");
        assert_eq!(shown.stdout().lines().next(), Some(format!("# {title}").as_str()), "{texts:?}");
    }
}
