//! Joining and splitting: parent links, the place of each session, and the restoration of each file.

use std::fmt::Write as _;

use interlingua::graph::{
    CallMentions, Joiner, Kinship, KinshipReader, Link, NestedSession, RecordSize, Relation, SplitPart,
    Splitter, following_entry, links,
};

/// A record with these entries.
fn record(id: &str, about: &str, entries: &[&str]) -> String {
    format!(
        r#"{{"version":"3.0.0-draft","id":"r-{id}","session":{{"format":"interactive","session-id":"{id}"{about},"entries":[{}]}}}}"#,
        entries.join(",")
    )
}

fn lineage(parent: &str, call: &str) -> String {
    let call = if call.is_empty() { String::new() } else { format!(r#","parent-call":"{call}""#) };
    format!(r#","vendor-ext":{{"vendor":"x","data":{{"parent":"{parent}"{call}}}}}"#)
}

fn facts(record: &str) -> Kinship {
    let mut reader = KinshipReader::default();
    record.as_bytes().chunks(7).for_each(|chunk| reader.push(chunk));
    reader.finish()
}

fn said(kind: &str, more: &str) -> String {
    format!(r#"{{"type":"{kind}","content":"x"{more}}}"#)
}

#[test]
fn each_fact_about_a_family_is_read_where_it_stands() {
    let read = facts(&record("s", &lineage("p", "c"), &[&said("user", "")]));
    assert_eq!(
        (read.session.as_deref(), read.parent.as_deref(), read.parent_call.as_deref()),
        (Some("s"), Some("p"), Some("c"))
    );
    assert!(!read.stands_alone && read.agent.is_none() && !read.asked_by_agent);
    // A later value does not replace the first.
    let updated =
        r#"{"type":"system-event","event-type":"session-updated","data":{"parent":"q","parent-call":"d"}}"#;
    let read = facts(&record("s", &lineage("p", "c"), &[updated]));
    assert_eq!((read.parent.as_deref(), read.parent_call.as_deref()), (Some("p"), Some("c")));
    let read = facts(&record("s", "", &[updated]));
    assert_eq!((read.parent.as_deref(), read.parent_call.as_deref()), (Some("q"), Some("d")));
    // An event of another type does not name a parent.
    let other = updated.replace("session-updated", "session-renamed");
    assert_eq!(facts(&record("s", "", &[&other])).parent, None);
}

#[test]
fn a_file_is_a_subagents_if_nobody_else_speaks() {
    let by = |agent: &str| said("assistant", &format!(r#","agent":"{agent}""#));
    let event = r#"{"type":"system-event","event-type":"x"}"#;
    let agent = |entries: &[&str]| facts(&record("s", "", entries)).agent;
    assert_eq!(agent(&[&by("a"), &by("a")]).as_deref(), Some("a"));
    assert_eq!(agent(&[event, &by("a"), event]).as_deref(), Some("a"), "an event is nobody's words");
    assert_eq!(agent(&[&by("a"), &by("b")]), None, "two subagents");
    assert_eq!(agent(&[&by("a"), &said("assistant", "")]), None, "the agent itself, after it");
    assert_eq!(agent(&[&said("assistant", ""), &by("a")]), None, "the agent itself, before it");
    assert_eq!(agent(&[&by("a"), &by("b"), &by("a")]), None);
    assert_eq!(agent(&[event]), None, "nobody");
}

#[test]
fn the_first_own_question_says_who_asked() {
    let asked = |entries: &[&str]| facts(&record("s", "", entries)).asked_by_agent;
    let (person, agent) = (said("user", r#","origin":"own""#), said("user", r#","origin":"agent""#));
    let copied = said("user", r#","origin":"own","copied-from":"p""#);
    assert!(asked(&[&agent]) && asked(&[&agent, &person]) && asked(&[&copied, &agent]));
    assert!(!asked(&[&person, &agent]) && !asked(&[&said("user", "")]));
    assert!(!asked(&[&said("assistant", r#","origin":"agent""#)]), "an answer asks nothing");
}

#[test]
fn what_cannot_be_read_whole_stands_alone() {
    let whole = record("s", "", &[&said("user", "")]);
    assert!(!facts(&whole).stands_alone);
    assert!(facts(&whole[..whole.len() - 1]).stands_alone, "no end");
    assert!(facts(&whole.replace("\"type\"", "type")).stands_alone, "an entry that is no JSON");
    assert!(facts(&format!("{whole}\n{whole}")).stands_alone, "two records");
    assert!(facts(r#"{"version":"3"}"#).stands_alone, "no entries");
}

#[test]
fn calls_and_responses_of_subagents_are_those_that_name_one() {
    let inner = r#"{"type":"tool-call","name":"Task","call-id":"t1","children":[{"type":"assistant","content":"x","agent":"g","parent-call":"t1"}]}"#;
    let outer = format!(r#"{{"type":"assistant","content":"x","children":[{inner}]}}"#);
    let again = said("assistant", r#","agent":"g","parent-call":"t9""#);
    let read = facts(&record("s", "", &[&outer, &again, &said("assistant", r#","agent":"h""#)]));
    assert_eq!(read.calls.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>(), [("g", "t1")]);
}

#[test]
fn a_call_holds_a_record_up_to_each_limit_and_none_over_it() {
    let fits = |bytes, leaves, depth| RecordSize { bytes, leaves, depth }.fits_in_a_call();
    assert!(fits(8 << 20, 60_000, 80));
    assert!(!fits((8 << 20) + 1, 60_000, 80), "bytes");
    assert!(!fits(8 << 20, 60_001, 80), "leaves");
    assert!(!fits(8 << 20, 60_000, 81), "depth");
}

#[test]
fn the_size_of_a_record_is_counted() {
    let entry = r#"{"type":"user","content":"[[[{{{ \" [","data":[[1],[[2]]]}"#;
    let whole = record("s", "", &[&said("user", ""), entry]);
    let size = facts(&whole).size;
    assert_eq!(size.bytes, whole.len() as u64);
    assert_eq!(size.depth, 4, "brackets in texts are no nesting, and brackets close");
    let more = facts(&record("s", "", &[&said("user", ""), entry, entry])).size;
    assert_eq!(more.leaves - size.leaves, 4, "each leaf of each entry");
}

fn with(mut kin: Kinship, change: impl FnOnce(&mut Kinship)) -> Kinship {
    change(&mut kin);
    kin
}

fn kin(session: &str) -> Kinship {
    with(Kinship::default(), |kin| kin.session = Some(session.to_owned()))
}

fn of_parent(session: &str, parent: &str) -> Kinship {
    with(kin(session), |kin| kin.parent = Some(parent.to_owned()))
}

/// The kinship of a subagent's file, which has the session id of its parent.
fn of_agent(session: &str, agent: &str) -> Kinship {
    with(kin(session), |kin| kin.agent = Some(agent.to_owned()))
}

fn called(kin: Kinship) -> Kinship {
    with(kin, |kin| kin.parent_call = Some("own".to_owned()))
}

fn link(parent: usize, relation: Relation, call: Option<&str>, name: &str) -> Option<Link> {
    Some(Link { parent, relation, call: call.map(str::to_owned), name: name.to_owned() })
}

#[test]
fn each_session_hangs_on_its_own_parent() {
    let named = |agent: &str, call: &str| (agent.to_owned(), call.to_owned());
    let parent = with(kin("p"), |kin| kin.calls = [named("g", "c-g"), named("k", "c-k")].into());
    let agent = |name: &str| of_agent("p", name);
    let found = links(&[
        parent,
        agent("g"),
        agent("unknown"),
        called(agent("g")),
        of_parent("k", "p"),
        called(of_parent("k2", "p")),
        with(of_parent("a", "p"), |kin| kin.asked_by_agent = true),
        of_parent("f1", "p"),
        of_parent("f2", "p"),
        of_parent("ff", "f2"),
        of_parent("orphan", "nobody"),
        of_agent("nobody", "g"),
        kin("alone"),
    ]);
    let wanted = [
        None,
        link(0, Relation::Subagent, Some("c-g"), "g"),
        link(0, Relation::Subagent, None, "unknown"),
        link(0, Relation::Subagent, Some("own"), "g"),
        link(0, Relation::Subagent, Some("c-k"), "k"),
        link(0, Relation::Subagent, Some("own"), "k2"),
        link(0, Relation::Subagent, None, "a"),
        link(0, Relation::Fork, None, "f1"),
        link(0, Relation::Fork, None, "f2"),
        link(8, Relation::Fork, None, "ff"),
        None,
        None,
        None,
    ];
    for (number, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        assert_eq!(found, wanted, "session {number}");
    }
}

#[test]
fn who_stands_alone_has_no_family_and_the_first_of_a_name_is_the_parent() {
    let alone = |kin: Kinship| with(kin, |kin| kin.stands_alone = true);
    assert_eq!(links(&[kin("p"), alone(of_parent("c", "p"))]), [None, None], "the child");
    assert_eq!(links(&[alone(kin("p")), of_parent("c", "p")]), [None, None], "the parent");
    let twice = links(&[kin("p"), kin("p"), of_parent("c", "p")]);
    assert_eq!(twice[2], link(0, Relation::Fork, None, "c"));
    // A subagent's file has its parent's session id, but is not the parent.
    let agent = of_agent("p", "g");
    let found = links(&[agent, kin("p")]);
    assert_eq!(found[0].as_ref().map(|link| link.parent), Some(1));
    assert_eq!(found[1], None);
}

#[test]
fn a_ring_of_three_is_opened() {
    let found = links(&[of_parent("a", "b"), of_parent("b", "c"), of_parent("c", "a"), of_parent("d", "c")]);
    let parents: Vec<_> = found.iter().map(|link| link.as_ref().map(|link| link.parent)).collect();
    assert_eq!(parents, [None, Some(2), Some(0), Some(2)]);
}

/// Joins sessions, each with its call and its file, in the order given.
fn join(parent: &str, sessions: &[(&str, &str, &str)], last: &[String]) -> String {
    let kinship = facts(parent);
    let mut out = Vec::new();
    let mut asked = Vec::new();
    let mut give = |call: &str| {
        asked.push(call.to_owned());
        let here = sessions.iter().filter(|(wanted, ..)| *wanted == call);
        let texts: Vec<String> = here
            .map(|(call, file, record)| {
                let mut nested = NestedSession::of(&kinship);
                record.as_bytes().chunks(5).for_each(|chunk| nested.push(chunk));
                let name = file.replace(['"', '\\'], "");
                nested.finish(&link(0, Relation::Subagent, Some(call), &name).unwrap(), file)
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join(","))
    };
    let mut joiner = Joiner::default();
    parent.as_bytes().chunks(11).for_each(|chunk| joiner.push(chunk, &mut give, &mut out));
    joiner.finish(&mut give, &mut || last.to_vec(), &mut out);
    String::from_utf8(out).unwrap()
}

/// The first record, then each other record with its file.
fn split(joined: &str) -> (String, Vec<(String, String)>, bool) {
    let (mut first, mut others) = (Vec::new(), Vec::<(String, String)>::new());
    let mut following = std::collections::BTreeMap::new();
    let mut splitter = Splitter::default();
    let mut each = |part: SplitPart<'_>| match part {
        SplitPart::First(bytes) => first.extend_from_slice(bytes),
        SplitPart::Nested { file, record } => others.push((file.to_owned(), record.to_owned())),
        SplitPart::Following { number, file, bytes } => {
            let at = *following.entry(number).or_insert_with(|| {
                others.push((file.to_owned(), String::new()));
                others.len() - 1
            });
            assert_eq!(others[at].0, file);
            others[at].1.push_str(std::str::from_utf8(bytes).unwrap());
        }
    };
    joined.as_bytes().chunks(13).for_each(|chunk| splitter.push(chunk, &mut each));
    splitter.finish(&mut each);
    let found = splitter.has_found();
    (String::from_utf8(first).unwrap(), others, found)
}

/// A call, with children or without.
fn call(id: &str, children: &[&str]) -> String {
    let list =
        if children.is_empty() { String::new() } else { format!(r#","children":[{}]"#, children.join(",")) };
    format!(r#"{{"type":"tool-call","name":"Task","call-id":"{id}"{list}}}"#)
}

fn message(children: &[&str]) -> String {
    format!(r#"{{"type":"assistant","content":"x","children":[{}]}}"#, children.join(","))
}

#[test]
fn each_session_stands_in_its_own_call_and_comes_back_from_there() {
    let result = r#"{"type":"tool-result","call-id":"c2","content":"r"}"#;
    let parent = record(
        "p",
        "",
        &[
            &said("user", ""),
            &message(&[&call("c1", &[]), &call("c2", &[result])]),
            &call("c3", &[]),
            r#"{"type":"tool-call","name":"Task","call-id":"c4","children":[]}"#,
            r#"{"type":"tool-result","call-id":"c5","content":"no call"}"#,
            &said("assistant", ""),
        ],
    );
    let child = |id: &str| {
        record(id, &lineage("p", "c"), &[&said("user", ""), &said("assistant", &format!(r#","id":"{id}""#))])
    };
    let sessions: Vec<(&str, &str, String)> = vec![
        ("c1", "one", child("s1")),
        ("c2", "two", child("s2")),
        ("c2", "three", child("s3")),
        ("c3", "f\"o\\ur", record("s4", "", &[])),
        ("c5", "never", child("s5")),
    ];
    let given: Vec<(&str, &str, &str)> = sessions.iter().map(|(a, b, c)| (*a, *b, c.as_str())).collect();
    let joined = join(&parent, &given, &[]);
    let value: serde_json::Value = serde_json::from_str(&joined).expect("JSON");
    let entries = &value["session"]["entries"];
    let marks = |call: &serde_json::Value| -> Vec<String> {
        let list = call["children"].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|child| Some(child["data"]["content"]["file"].as_str()?.to_owned())).collect()
    };
    assert_eq!(marks(&entries[1]["children"][0]), ["one"]);
    assert_eq!(marks(&entries[1]["children"][1]), ["two", "three"], "both, in their order");
    assert_eq!(entries[1]["children"][1]["children"][0]["type"], "tool-result", "behind what stood there");
    assert_eq!(marks(&entries[2]), ["f\"o\\ur"]);
    let mark = &entries[1]["children"][0]["children"][0];
    assert_eq!((&mark["agent"], &mark["parent-call"]), (&"one".into(), &"c1".into()));
    assert_eq!(mark["data"]["content"]["relation"], "subagent");

    let (first, others, found) = split(&joined);
    assert!(found);
    assert_eq!(first, parent);
    let wanted: Vec<(String, String)> =
        sessions.iter().take(4).map(|(_, file, record)| ((*file).to_owned(), record.clone())).collect();
    assert_eq!(others, wanted);
    let (same, none, found) = split(&parent);
    assert_eq!((same, none.len(), found), (parent, 0, false));
}

#[test]
fn a_session_within_a_session_comes_back_from_both() {
    let grandchild = record("g", "", &[&said("assistant", "")]);
    let child = record("c", "", &[&call("inner", &[]), &said("assistant", "")]);
    let child_joined = join(&child, &[("inner", "grand", &grandchild)], &[]);
    let parent = record("p", "", &[&call("outer", &[]), &call("inner", &[])]);
    // A call with the same id in a nested session is not the parent's call.
    let joined = join(&parent, &[("outer", "child", &child_joined)], &[]);
    let again = join(&joined, &[("inner", "late", &grandchild)], &[]);
    let value: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(value["session"]["entries"][1]["children"][0]["data"]["content"]["file"], "late");
    assert_eq!(again.matches("\"late\"").count(), 2, "once as a file, once as an agent");
    let (first, others, _) = split(&joined);
    assert_eq!(first, parent);
    assert_eq!(others, [("grand".to_owned(), grandchild), ("child".to_owned(), child)]);
}

#[test]
fn records_that_follow_keep_their_names_and_their_order() {
    for entries in [&[][..], &[r#"{"type":"user","content":"x"}"#][..]] {
        let parent = record("p", "", entries);
        let forks = ["f1", "f2", "f3"]
            .map(|id| record(id, &lineage("p", ""), &[&said("user", ""), &said("assistant", "")]));
        let names = ["first", "second", "th\"i\\r\nd"];
        let fork = link(0, Relation::Fork, None, "f").unwrap();
        let named: Vec<String> = names.iter().map(|file| following_entry(&fork, file)).collect();
        let mut joined = join(&parent, &[], &named);
        assert_eq!(joined.matches("\"relation\":\"fork\"").count(), 3);
        for fork in &forks {
            write!(joined, "\n{fork}").unwrap();
        }
        // A further record without a file name belongs to the file before it.
        let unnamed = record("f4", "", &[&said("user", "")]);
        write!(joined, "\n{unnamed}").unwrap();
        let (first, others, found) = split(&joined);
        assert!(found);
        assert_eq!(first.trim_end(), parent);
        let files: Vec<&str> = others.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, names);
        for (number, (_, text)) in others.iter().enumerate().take(2) {
            assert_eq!(text.trim(), forks[number]);
        }
        assert_eq!(others[2].1.trim(), format!("{}\n{unnamed}", forks[2]));
    }
}

#[test]
fn ids_that_the_parent_has_in_its_own_words_are_repeated_from_sixteen_letters_on() {
    let (long, short) = ("abcdefghijklmnop", "abcdefghijklmno");
    let kept = format!(r#","agent":"g","vendor-ext":{{"vendor":"x","data":{{"a":"{long}","b":"{short}"}}}}"#);
    let not_of_agent = format!(r#","vendor-ext":{{"vendor":"x","data":{{"a":"{}"}}}}"#, "q".repeat(20));
    let parent = record("p", "", &[&said("assistant", &kept), &said("user", &not_of_agent), &call("c", &[])]);
    let own = |id: &str| said("assistant", &format!(r#","id":"{id}""#));
    let child =
        record("s", "", &[&own(long), &own(short), &own(&"q".repeat(20)), &own("unrelated-and-long-enough")]);
    let joined = join(&parent, &[("c", "f", &child)], &[]);
    let value: serde_json::Value = serde_json::from_str(&joined).expect("JSON");
    let content = &value["session"]["entries"][2]["children"][0]["data"]["content"];
    assert_eq!(content["repeated"], serde_json::json!([long]));
    assert_eq!(split(&joined).1, [("f".to_owned(), child)]);
}

#[test]
fn a_call_is_found_by_the_one_result_that_names_its_subagent() {
    let result =
        |call: &str, text: &str| format!(r#"{{"type":"tool-result","call-id":"{call}","content":"{text}"}}"#);
    let two = message(&[&result("c8", "agent-b"), &result("c9", "agent-b")]);
    let within = message(&[&result("c7", "agent-c.")]);
    let whole = record(
        "p",
        "",
        &[
            &said("assistant", r#","id":"agent-a""#),
            &two,
            &result("c1", "started agent-ab"),
            &result("c2", "started (agent-a)"),
            &result("c3", "agent-a again"),
            &within,
        ],
    );
    let mut mentions = CallMentions::new(["agent-a", "agent-b", "agent-c", "agent-d"].map(str::to_owned));
    whole.as_bytes().chunks(3).for_each(|chunk| mentions.push(chunk));
    let found = mentions.finish();
    let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(found, [("agent-a", "c2"), ("agent-c", "c7")]);
}
