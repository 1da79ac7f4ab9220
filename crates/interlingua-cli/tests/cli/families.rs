//! `convert --join` with families of every shape: each session is at its place in the joined record and is restored
//! from it.

use crate::support::Dir;
use serde_json::Value;

/// A record of a session with an optional parent and its own calls.
fn session(id: &str, parent: Option<(&str, &str)>, calls: &[&str]) -> String {
    let lineage = parent.map_or_else(String::new, |(parent, call)| {
        let call = if call.is_empty() { String::new() } else { format!(r#","parent-call":"{call}""#) };
        format!(r#","vendor-ext":{{"vendor":"interlingua","data":{{"parent":"{parent}"{call}}}}}"#)
    });
    let mut entries = vec![format!(r#"{{"type":"user","content":"asked of {id}"}}"#)];
    entries.extend(
        calls
            .iter()
            .map(|call| format!(r#"{{"type":"tool-call","name":"Task","call-id":"{call}","input":{{}}}}"#)),
    );
    entries.extend(
        calls.iter().map(|call| format!(r#"{{"type":"tool-result","call-id":"{call}","content":"done"}}"#)),
    );
    entries.push(format!(r#"{{"type":"assistant","content":"said by {id}"}}"#));
    format!(
        r#"{{"version":"3.0.0","id":"{id}","session":{{"session-id":"{id}","session-start":"2026-11-15T10:51:58.850Z","entries":[{}]{lineage}}}}}"#,
        entries.join(",")
    )
}

fn joined(dir: &Dir, args: &str) -> String {
    let ran = dir.run(args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    String::from_utf8(dir.read("all.json")).expect("text")
}

/// The file of each session nested in a call, and the files of the records that follow.
fn places(joined: &str) -> (Vec<String>, Vec<String>) {
    fn look(value: &Value, nested: &mut Vec<String>, following: &mut Vec<String>) {
        if value["event-type"] == "session-joined" {
            let content = &value["data"]["content"];
            let file = content["file"].as_str().expect("a name").to_owned();
            if content.get("record").is_some() { nested.push(file) } else { following.push(file) }
        }
        let inner = value.as_object().into_iter().flat_map(|object| object.values());
        inner.chain(value.as_array().into_iter().flatten()).for_each(|value| look(value, nested, following));
    }
    let first = serde_json::Deserializer::from_str(joined).into_iter::<Value>().next();
    let (mut nested, mut following) = (Vec::new(), Vec::new());
    look(&first.expect("a record").expect("JSON"), &mut nested, &mut following);
    (nested, following)
}

#[test]
fn a_family_of_many_comes_back_one_by_one() {
    let dir = Dir::new("families_many");
    let all = [
        ("main", session("main", None, &["c1", "c2"])),
        ("sub-a", session("sub-a", Some(("main", "c1")), &["d1"])),
        ("sub-b", session("sub-b", Some(("main", "c2")), &[])),
        ("sub-c", session("sub-c", Some(("main", "c2")), &[])),
        ("grand", session("grand", Some(("sub-a", "d1")), &[])),
        ("fork-1", session("fork-1", Some(("main", "")), &["e1"])),
        ("fork-2", session("fork-2", Some(("main", "")), &[])),
        ("of-fork", session("of-fork", Some(("fork-1", "e1")), &[])),
        ("lost-call", session("lost-call", Some(("main", "no-such-call")), &[])),
    ];
    for (name, record) in &all {
        dir.write(&format!("in/{name}.json"), record);
    }
    let whole = joined(&dir, "convert in --to record --join -o all.json -q");
    let (mut nested, mut following) = places(&whole);
    nested.sort();
    following.sort();
    assert_eq!(nested, ["grand", "sub-a", "sub-b", "sub-c"]);
    assert_eq!(following, ["fork-1", "fork-2", "lost-call", "of-fork"]);
    assert_eq!(whole.matches("said by").count(), all.len(), "each speaks once");
    come_back(&dir, all.iter().map(|(name, _)| *name), "main");
    // Joined and separate records yield the same statistics.
    let count = |args: &str| {
        let json: Value = serde_json::from_slice(&dir.run(args).stdout).expect("JSON");
        (json["messages"].clone(), json["tools"]["total"]["calls"].clone())
    };
    assert_eq!(count("stats all.json --json"), count("stats in --json"));
}

#[test]
fn sessions_stand_six_deep_and_the_seventh_follows() {
    for (length, nested, following) in [(7, 6, 0), (8, 6, 1), (9, 6, 2)] {
        let dir = Dir::new(&format!("families_deep_{length}"));
        let all: Vec<(String, String)> = (0..length)
            .map(|number: usize| {
                let (id, call) = (format!("s{number}"), format!("c{number}"));
                let (above, above_call) =
                    (format!("s{}", number.saturating_sub(1)), format!("c{}", number.saturating_sub(1)));
                let parent = (number > 0).then_some((above.as_str(), above_call.as_str()));
                let record = session(&id, parent, &[&call]);
                (id, record)
            })
            .collect();
        for (name, record) in &all {
            dir.write(&format!("in/{name}.json"), record);
        }
        let whole = joined(&dir, "convert in --to record --join -o all.json -q");
        let (stand, follow) = places(&whole);
        assert_eq!((stand.len(), follow.len()), (nested, following), "{length} sessions");
        come_back(&dir, all.iter().map(|(name, _)| name.as_str()), "s0");
    }
}

/// Checks that each session becomes a separate file again, with only its own messages.
fn come_back<'n>(dir: &Dir, names: impl Iterator<Item = &'n str> + Clone, first: &str) {
    dir.run("convert all.json --to claude-code -o back/ -q").expect(0, "");
    let back = dir.files().into_iter().filter(|file| file.starts_with("back/")).collect::<Vec<_>>();
    assert_eq!(back.len(), names.clone().count(), "{back:?}");
    for name in names {
        let file = if name == first { "back/all".to_owned() } else { format!("back/all/{name}") };
        let text = String::from_utf8(dir.read(&format!("{file}.claude-code.jsonl"))).expect("text");
        assert_eq!(text.matches("said by ").count(), 1, "{name}: {text}");
        assert!(
            text.contains(&format!("said by {name}")) && text.contains(&format!("asked of {name}")),
            "{name}: {text}"
        );
    }
}

#[test]
fn each_family_is_a_record_of_its_own() {
    let dir = Dir::new("families_two");
    for family in ["a", "b"] {
        dir.write(&format!("in/{family}/main.json"), session(family, None, &["c"]));
        let child = format!("{family}-child");
        dir.write(&format!("in/{family}/child.json"), session(&child, Some((family, "c")), &[]));
    }
    let ran = dir.run("convert in --to record --join -o all.json");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!dir.path().join("all.json").exists());
    dir.run("convert in --to record --join -o out/ -q").expect(0, "");
    let out: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("out/")).collect();
    assert_eq!(out, ["out/a/main.record.json", "out/b/main.record.json"]);
    for (family, other) in [("a", "b"), ("b", "a")] {
        let whole = String::from_utf8(dir.read(&format!("out/{family}/main.record.json"))).expect("text");
        assert_eq!(places(&whole).0, ["child"]);
        assert!(whole.contains(&format!("said by {family}-child")));
        assert!(!whole.contains(&format!("said by {other}")), "{family} holds only its own");
    }
}

/// A family keeps its structure when one file cannot be read.
#[test]
fn what_cannot_be_read_is_left_out_aloud_and_the_others_are_joined() {
    let dir = Dir::new("families_unreadable");
    dir.write("main.json", session("m", None, &["c"]))
        .write("child.json", session("k", Some(("m", "c")), &[]));
    dir.write("empty.json", "");
    let ran = dir.run("convert main.json child.json empty.json --to record --join -o all.json");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("empty.json"), "{}", ran.stderr);
    let whole = String::from_utf8(dir.read("all.json")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(places(&whole).0, ["child"]);
}

/// The files of the sessions nested in the call with that id.
fn in_call(joined: &str, call: &str) -> Vec<String> {
    fn look(value: &Value, call: &str, found: &mut Vec<String>) {
        if value["type"] == "tool-call" && value["call-id"] == call {
            let children = value["children"].as_array().into_iter().flatten();
            let file = |child: &Value| Some(child["data"]["content"]["file"].as_str()?.to_owned());
            found.extend(children.filter_map(file));
        }
        let inner = value.as_object().into_iter().flat_map(|object| object.values());
        inner.chain(value.as_array().into_iter().flatten()).for_each(|value| look(value, call, found));
    }
    let mut found = Vec::new();
    let first = serde_json::Deserializer::from_str(joined).into_iter::<Value>().next();
    look(&first.expect("a record").expect("JSON"), call, &mut found);
    found
}

#[test]
fn sessions_of_one_call_stand_in_the_order_of_their_files() {
    let dir = Dir::new("families_order");
    dir.write("in/main.json", session("main", None, &["c1", "c2"]));
    for (name, call) in [("a", "c2"), ("b", "c1"), ("c", "c2"), ("d", "c2"), ("e", "c1")] {
        dir.write(&format!("in/{name}.json"), session(name, Some(("main", call)), &[]));
    }
    let whole = joined(&dir, "convert in --to record --join -o all.json -q");
    assert_eq!(
        (in_call(&whole, "c1"), in_call(&whole, "c2")),
        (vec!["b".into(), "e".into()], vec!["a".into(), "c".into(), "d".into()])
    );
    come_back(&dir, ["main", "a", "b", "c", "d", "e"].into_iter(), "main");
}

/// The result of a call names the session it started; a session that names its own call needs no result.
#[test]
fn each_session_stands_in_the_call_whose_result_names_it() {
    let dir = Dir::new("families_mentioned");
    let main = session("main", None, &["c1", "c2", "c3"]);
    let told = |record: String, call: &str, text: &str| {
        let result = format!(r#""call-id":"{call}","content":"#);
        record.replace(&format!("{result}\"done\""), &format!("{result}\"{text}\""))
    };
    let main = told(main, "c1", "started session-one and went on");
    let main = told(main, "c2", "started session-two");
    dir.write("in/main.json", told(main, "c3", "started nothing"));
    dir.write("in/k1.json", session("session-one", Some(("main", "")), &[]));
    dir.write("in/k2.json", session("session-two", Some(("main", "")), &[]));
    // Another file of the first session, which names its call.
    dir.write("in/k3.json", session("session-one", Some(("main", "c3")), &[]));
    let whole = joined(&dir, "convert in --to record --join -o all.json -q");
    let places = ["c1", "c2", "c3"].map(|call| in_call(&whole, call));
    assert_eq!(places, [["k1"], ["k2"], ["k3"]]);
}

/// Few separated files are open at once, and each is continued at its end when it is reopened.
#[test]
fn a_record_goes_on_behind_many_sessions_in_its_calls() {
    let dir = Dir::new("families_reopened");
    let calls: Vec<String> = (0..40).map(|number| format!("c{number}")).collect();
    dir.write("in/main.json", session("main", None, &calls.iter().map(String::as_str).collect::<Vec<_>>()));
    let names: Vec<String> = (0..40).map(|number| format!("kid-{number}")).collect();
    for (name, call) in names.iter().zip(&calls) {
        dir.write(&format!("in/{name}.json"), session(name, Some(("main", call)), &[]));
    }
    joined(&dir, "convert in --to record --join -o all.json -q");
    come_back(&dir, names.iter().map(String::as_str).chain(["main"]), "main");
}

/// A record is read in chunks of 1 MiB; the member name that marks a joined record may cross a chunk boundary.
#[test]
fn a_joined_record_is_known_wherever_its_mark_stands() {
    let mark = "session-joined";
    for across in [1, 7, 13] {
        let dir = Dir::new(&format!("families_across_{across}"));
        let main = session("main", None, &["c1"]);
        let child = session("kid", Some(("main", "c1")), &[]);
        let write = |padding: usize| {
            let text = format!("asked of main {}", "x".repeat(padding));
            dir.write("in/main.json", main.replace("asked of main", &text)).write("in/kid.json", &child);
            joined(&dir, "convert in --to record --join -o all.json -q").find(mark).expect("a mark")
        };
        let place = write(0);
        assert_eq!(write((1 << 20) - across - place), (1 << 20) - across);
        come_back(&dir, ["main", "kid"].into_iter(), "main");
    }
}

#[test]
fn a_file_of_any_name_gets_its_name_back() {
    let dir = Dir::new("families_names");
    dir.write("in/main.json", session("main", None, &["c1"]));
    dir.write("in/it's \"é\" 漢.json", session("kid", Some(("main", "c1")), &[]));
    dir.write("in/fork \"2\".json", session("fork", Some(("main", "")), &[]));
    joined(&dir, "convert in --to record --join -o all.json -q");
    dir.run("convert all.json --to claude-code -o back/ -q").expect(0, "");
    let back: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("back/all/")).collect();
    assert_eq!(back, ["back/all/fork \"2\".claude-code.jsonl", "back/all/it's \"é\" 漢.claude-code.jsonl"]);
}
