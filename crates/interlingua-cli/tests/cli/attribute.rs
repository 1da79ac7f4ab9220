//! `attribute` on a scripted session in a real git repository: the attribution equals the truth, line by line, also after
//! a rebase and after other lines were reformatted.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Dir;
use serde_json::{Value, json};

/// A repository, and the log of a session of Claude Code that edits its files.
struct Scene {
    dir: Dir,
    log: Vec<Value>,
    calls: usize,
}

impl Scene {
    fn new(name: &str) -> Self {
        let dir = Dir::new(name);
        fs::create_dir(dir.path().join("p")).expect("a directory");
        let scene = Self { dir, log: Vec::new(), calls: 0 };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"])
            .args(args)
            .current_dir(self.dir.path().join("p"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join("p").join(path)).expect("a file")
    }

    /// A person writes a file and commits.
    fn person(&self, path: &str, content: &str) {
        self.dir.write(&format!("p/{path}"), content);
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", "person"]);
    }

    fn call(&mut self, tool: &str, input: &Value, failed: bool) {
        let cwd = self.dir.path().join("p");
        let number = self.calls;
        self.calls += 1;
        self.log.push(json!({"type": "assistant", "sessionId": "s", "uuid": format!("a{number}"), "cwd": cwd,
            "timestamp": "2026-11-15T10:00:00Z",
            "message": {"role": "assistant", "id": format!("m{number}"), "model": "claude-x",
                "content": [{"type": "tool_use", "id": format!("t{number}"), "name": tool, "input": input}]}}));
        self.log.push(json!({"type": "user", "sessionId": "s", "uuid": format!("b{number}"), "cwd": cwd,
            "timestamp": "2026-11-15T10:00:01Z",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("t{number}"),
                "content": "ok", "is_error": failed}]}}));
    }

    /// The agent replaces a text, in the file and in the log.
    fn edit(&mut self, path: &str, old: &str, new: &str) {
        let before = self.file(path);
        assert_eq!(before.matches(old).count(), 1, "{old}");
        self.dir.write(&format!("p/{path}"), before.replacen(old, new, 1));
        let place = self.dir.path().join("p").join(path);
        self.call("Edit", &json!({"file_path": place, "old_string": old, "new_string": new}), false);
    }

    fn write(&mut self, path: &str, content: &str) {
        self.dir.write(&format!("p/{path}"), content);
        let place = self.dir.path().join("p").join(path);
        self.call("Write", &json!({"file_path": place, "content": content}), false);
    }

    /// The attributed lines of each file, by number.
    fn attributed(&self, flags: &str) -> Vec<(String, Vec<u64>)> {
        let log: String = self.log.iter().map(|line| line.to_string() + "\n").collect();
        self.dir.write("s.jsonl", log);
        let ran = self.dir.run(format!("attribute s.jsonl --repo p --json {flags}").trim_end());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let json: Value = serde_json::from_str(ran.stdout()).expect("JSON");
        let files = json["files"].as_array().expect("files").iter();
        let lines = |file: &Value| {
            let ranges = file["ranges"].as_array().expect("ranges").iter();
            let number = |range: &Value, name: &str| range[name].as_u64().expect("a number");
            ranges.flat_map(|range| number(range, "start")..=number(range, "end")).collect()
        };
        files.map(|file| (file["path"].as_str().expect("a path").to_owned(), lines(file))).collect()
    }

    /// The truth: the lines with the agent's mark, and the unmarked lines that are given by number.
    fn marked(&self, path: &str, unmarked: &[u64]) -> Vec<u64> {
        let text = self.file(path);
        let lines = text.lines().zip(1..).filter(|(line, _)| line.contains("AI")).map(|(_, number)| number);
        let mut lines: Vec<u64> = lines.chain(unmarked.iter().copied()).collect();
        lines.sort_unstable();
        lines
    }
}

const BASE: &str = "\
fn first() {
    one();
}

fn second() {
    two();
}
";

/// A person's file, an edit inside it, a function between two functions, and a new file.
fn scene(name: &str) -> Scene {
    let mut scene = Scene::new(name);
    scene.person("src/lib.rs", BASE);
    scene.edit("src/lib.rs", "    one();\n", "    one();\n    more(); // AI\n");
    scene.edit("src/lib.rs", "fn second() {", "fn third() { // AI\n    AI();\n}\n\nfn second() {");
    let new = "// AI\nfn new() { // AI\n}\n";
    scene.write("src/new.rs", new);
    let place = scene.dir.path().join("p/src/lib.rs");
    scene.call("Edit", &json!({"file_path": place, "old_string": "two();", "new_string": "three();"}), true);
    scene
}

#[test]
fn the_attribution_equals_the_truth_in_the_working_tree() {
    let scene = scene("attribute-tree");
    assert_eq!(
        scene.attributed("--base HEAD"),
        [
            // The closing brace and the blank line of the new function are the agent's, too.
            ("src/lib.rs".to_owned(), scene.marked("src/lib.rs", &[8, 9])),
            ("src/new.rs".to_owned(), scene.marked("src/new.rs", &[3])),
        ]
    );
}

#[test]
fn the_attribution_equals_the_truth_after_a_rebase() {
    let scene = scene("attribute-rebase");
    let base = scene.git(&["rev-parse", "HEAD"]).trim().to_owned();
    scene.git(&["checkout", "-qb", "agent"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "agent"]);
    // Meanwhile, people change the beginning and the end of the file.
    scene.git(&["checkout", "-q", "main"]);
    let main = format!("// begin\nuse a;\n\n{BASE}\nfn last() {{\n}}\n");
    scene.person("src/lib.rs", &main);
    scene.git(&["checkout", "-q", "agent"]);
    scene.git(&["rebase", "-q", "main"]);
    let truth = [
        ("src/lib.rs".to_owned(), scene.marked("src/lib.rs", &[11, 12])),
        ("src/new.rs".to_owned(), scene.marked("src/new.rs", &[3])),
    ];
    assert_eq!(scene.attributed(&format!("--base {base} --revision agent")), truth);
    assert_eq!(scene.attributed(&format!("--base {base}")), truth);
    // The commit of the people has no line of the agent.
    let of_people = scene.attributed(&format!("--base {base} --revision main"));
    assert!(of_people.iter().all(|(_, lines)| lines.is_empty()), "{of_people:?}");
}

#[test]
fn the_attribution_equals_the_truth_after_a_reformat_of_other_lines() {
    let scene = scene("attribute-reformat");
    let text = scene.file("src/lib.rs");
    let text = text.replace("    one();", "\tone( );").replace("    two();", "\ttwo(\n\t\t1,\n\t);");
    let text = text.replace("fn first() {", "fn first()\n{");
    scene.dir.write("p/src/lib.rs", text);
    let truth = scene.marked("src/lib.rs", &[9, 10]);
    assert_eq!(scene.attributed("--base HEAD").first(), Some(&("src/lib.rs".to_owned(), truth)));
}

#[test]
fn without_the_content_before_the_session_edits_are_found_by_their_text() {
    let scene = scene("attribute-unknown");
    let found = scene.attributed("");
    assert_eq!(found.first().map(|(_, lines)| lines.clone()), Some(scene.marked("src/lib.rs", &[8, 9])));
}

#[cfg(unix)]
#[test]
fn links_and_paths_do_not_lead_out_of_the_repository() {
    let mut scene = Scene::new("attribute-outside");
    scene.person("a", "x\n");
    scene.dir.write("secret", "the secret line\n");
    std::os::unix::fs::symlink("../secret", scene.dir.path().join("p/link")).expect("a link");
    let outside = scene.dir.path().join("secret");
    for path in [scene.dir.path().join("p/link"), outside, Path::new("../secret").to_owned()] {
        scene.call("Write", &json!({"file_path": path, "content": "the secret line\n"}), false);
    }
    assert_eq!(scene.attributed(""), [("link".to_owned(), vec![])]);
}

#[test]
fn a_record_gets_the_attribution_and_is_sound() {
    let scene = scene("attribute-record");
    scene.attributed("");
    assert_eq!(scene.dir.run("convert s.jsonl --to record -o s.json").code, Some(0));
    let ran = scene.dir.run("attribute s.json --repo p --base HEAD --into-record s.json -o with.json");
    assert_eq!((ran.code, ran.stderr.contains("1 editing calls failed")), (Some(0), true), "{}", ran.stderr);
    assert_eq!(scene.dir.run("check with.json").code, Some(0));
    let record: Value = serde_json::from_slice(&scene.dir.read("with.json")).expect("JSON");
    assert_eq!(record["file-attribution"]["files"][1]["path"], "src/new.rs");
    // The log is still restored, byte for byte.
    assert_eq!(scene.dir.run("convert with.json --to claude-code -o back.jsonl").code, Some(0));
    assert_eq!(scene.dir.read("back.jsonl"), scene.dir.read("s.jsonl"));
}

#[test]
fn unknown_revisions_are_refused() {
    let scene = scene("attribute-refused");
    scene.attributed("");
    for revision in ["nowhere", "--output=x", "HEAD:src/lib.rs"] {
        let ran = scene.dir.run(&format!("attribute s.jsonl --repo p --revision={revision}"));
        assert_eq!(ran.code, Some(1), "{revision}");
        assert!(ran.stderr.contains("there is no commit"), "{}", ran.stderr);
    }
    assert_eq!(scene.dir.run("attribute s.jsonl --repo missing").code, Some(1));
    assert_eq!(scene.dir.run("attribute s.jsonl --revision HEAD").code, Some(2));
}
