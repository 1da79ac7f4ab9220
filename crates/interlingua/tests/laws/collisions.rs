//! Two texts with the same fast hash are different texts. Each pair below collides under a hash that was once the only
//! test whether an id, a name or a text had occurred before. The laws put both texts of a pair into every fixture of
//! every dialect, and the result must equal that of two texts without a collision.
//!
//! There are no pairs for the current keys: SHA-256 has no known collision, and a `TextKey` depends on a random key of
//! each run.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::support::{Case, Law, Way, convert, fixtures, law_targets, on_two_threads};
use interlingua::check::CheckWriter;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Report, Row};
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

/// A formerly used hash, and two texts that collide under it.
struct Pair {
    hash: fn(&str) -> u64,
    texts: [String; 2],
}

/// The pairs. The first four were found by following each hash until two chains met, which took 2^31 steps; the others
/// are computed.
fn pairs() -> Vec<Pair> {
    let found = |hash, texts: [&str; 2]| Pair { hash, texts: texts.map(str::to_owned) };
    let pairs = vec![
        found(fnv, ["call_id_peejohjamalebidj", "call_id_jfhdaommgjbahmed"]),
        found(sip_of_str, ["call_id_focdbmkjhamdlplb", "call_id_oahjgbibnpakgbfj"]),
        found(sip_of_bytes, ["call_id_jdjkjapeeopiinma", "call_id_pgkbinjnepjjloeb"]),
        Pair { hash: fast, texts: made_to_collide("", 0) },
        Pair { hash: fast_of_quoted, texts: made_to_collide("\"", 0) },
        Pair { hash: fast_of_attempt, texts: made_to_collide("", 1) },
    ];
    for Pair { hash, texts: [one, two] } in &pairs {
        assert!(one != two && hash(one) == hash(two), "{one} and {two} do not collide");
    }
    pairs
}

/// The former hash of ids in logs, requests and responses.
fn fnv(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 33
}

/// The former hash of subagents' names, and of all items that `stats` counts.
fn sip_of_str(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The former hash of the ids that `check` compares.
fn sip_of_bytes(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(K).rotate_left(29)
}

/// The former hash of calls and responses in records, and of the texts that join them.
fn fast(text: &str) -> u64 {
    fast_with(0, text)
}

/// The former hash of request ids.
fn fast_of_attempt(text: &str) -> u64 {
    fast_with(1, text)
}

fn fast_with(seed: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(K);
    let last = bytes.last_chunk::<8>().expect("eight bytes or more");
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        state = mix(state, u64::from_le_bytes(*word));
    }
    mix(state, u64::from_le_bytes(*last))
}

/// The `fast` hash of a quoted JSON string, as Copilot's reader used it.
fn fast_of_quoted(text: &str) -> u64 {
    fast(&format!("\"{text}\""))
}

/// Two ids that collide under [`fast`]: for any first word of an id, a second word can be computed that leads to the
/// same state.
fn made_to_collide(quote: &str, seed: u64) -> [String; 2] {
    // The opening quote is a byte of the first word. The closing quote is in none of the first four words.
    let start = "call_id_".get(quote.len()..).expect("long enough");
    let first: [u8; 8] = format!("{quote}{start}").as_bytes().try_into().expect("one word");
    let length = 32 + quote.len() as u64;
    let state = mix(seed ^ length.wrapping_mul(K), u64::from_le_bytes(first));
    let one = [*b"abcdefgh", *b"ijklmnop"];
    let after = mix(state, u64::from_le_bytes(one[0])) ^ u64::from_le_bytes(one[1]);
    let text = |words: [[u8; 8]; 2]| {
        let middle = String::from_utf8(words.concat()).expect("ASCII");
        format!("{start}{middle}_the_end")
    };
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";
    for number in 0_u64.. {
        let first = std::array::from_fn(|at| letters[(number >> (5 * at) & 31) as usize]);
        let second = (after ^ mix(state, u64::from_le_bytes(first))).to_le_bytes();
        if second.iter().all(u8::is_ascii_alphanumeric) {
            return [text(one), text([first, second])];
        }
    }
    unreachable!("numbers do not end")
}

/// A text with the form of the second text of a pair, but without a collision with the first.
fn unlike([one, two]: &[String; 2]) -> String {
    let mut other = two.clone();
    let last = other.pop().expect("not empty");
    other.push(if last == 'd' { 'e' } else { 'd' });
    assert!(other != *one && other != *two && other.len() == two.len());
    other
}

/// The quoted ids in a text, in order of first use: string members whose name ends in `id`.
fn ids(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    let mut name = "";
    for piece in text.split('"') {
        let is_id = ["id", "Id", "ID"].iter().any(|end| name.ends_with(end));
        if is_id && piece.len() >= 2 && !piece.contains('\\') && !found.iter().any(|known| known == piece) {
            let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.:|".contains(c);
            if piece.chars().all(is_word) {
                found.push(piece.to_owned());
            }
        }
        // Only a colon separates a name and its string value.
        name = if is_colon(piece) { name } else { piece };
    }
    found
}

fn is_colon(piece: &str) -> bool {
    piece.trim() == ":"
}

fn replaced(bytes: &[u8], [one, two]: [&str; 2], [new_one, new_two]: [&str; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let quoted = |text: &str| format!("\"{text}\"");
    // In three steps, because a new text may equal the other old text.
    let text = text.replace(&quoted(one), "\"\u{1}\"").replace(&quoted(two), "\"\u{2}\"");
    text.replace('\u{1}', new_one).replace('\u{2}', new_two).into_bytes()
}

/// All contents of a report, with one text replaced by another.
fn told(report: &Report, [from, to]: [&str; 2]) -> String {
    let rows = |rows: &[Row]| {
        let row = |row: &Row| format!("{} {:?} {:?} {}", row.path, row.reason, row.field, row.count);
        rows.iter().map(row).collect::<Vec<_>>().join("\n")
    };
    let Report { leaves, mapped, kept, lost, notes, problems, content, agents, .. } = report;
    let (lost_rows, kept_rows) = (rows(&report.lost_paths), rows(&report.kept_paths));
    let problems: Vec<String> = problems.iter().map(|it| format!("{:?} {}", it.code, it.detail)).collect();
    format!("{leaves} {mapped} {kept} {lost} {notes:?} {problems:?} {content:?} {agents}\n{lost_rows}\n{kept_rows}")
        .replace(from, to)
}

/// The report of `check`.
fn checked(way: Way, bytes: &[u8]) -> Option<Report> {
    let mut pipe =
        Pipe::with_writer(way, Box::new(CheckWriter::new(way.0.lineage)), &Options::default()).ok()?;
    pipe.push(bytes, &mut Vec::new());
    Some(pipe.finish(&mut Vec::new()))
}

#[test]
fn ids_that_share_a_hash_are_two_ids_in_every_dialect() {
    let pairs = pairs();
    let mut law = Law::new("two ids that share a hash are told like two that do not");
    let cases: Vec<Case> = fixtures().into_iter().filter(|case| ids(&case.bytes).len() > 1).collect();
    let broken = on_two_threads(&cases, |case| {
        let ids = ids(&case.bytes);
        let mut broken = Vec::new();
        // Adjacent ids are often of the same kind; so are the ids of every other line.
        let beside = ids.windows(2).take(MOST_IDS).map(|two| [&*two[0], &*two[1]]);
        let apart = ids.windows(3).take(MOST_IDS).map(|three| [&*three[0], &*three[2]]);
        for (number, old) in beside.chain(apart).enumerate() {
            for Pair { texts, .. } in &pairs {
                let [one, two] = texts.each_ref().map(String::as_str);
                let other = unlike(texts);
                let collide = replaced(&case.bytes, old, [one, two]);
                let differ = replaced(&case.bytes, old, [one, &other]);
                if let (Some(found), Some(expected)) =
                    (checked(case.way, &collide), checked(case.way, &differ))
                    && told(&found, [two, &other]) != told(&expected, ["", ""])
                {
                    broken.push(format!("{case}: `check` takes {two} for {one} in the place of {old:?}"));
                }
                // Each pair of ids is tested with some targets; all pairs together cover every target.
                for to in law_targets(case).into_iter().skip(number % 3).step_by(3) {
                    let (found, expected) = (convert(case.way, to, &collide), convert(case.way, to, &differ));
                    let is_told = told(&found.report, [two, &other]) == told(&expected.report, ["", ""]);
                    if !is_told || found.bytes.len() != expected.bytes.len() {
                        let to = to.0.name;
                        broken.push(format!(
                            "{case} -> {to}: {two} is taken for {one} in the place of {old:?}"
                        ));
                    }
                }
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

/// How many pairs of ids per fixture are tested.
const MOST_IDS: usize = 6;

/// The hash of names on a tape, of up to fifteen bytes.
fn name_hash(name: &str) -> u32 {
    let mut chunk = [0; 16];
    chunk[..name.len()].copy_from_slice(name.as_bytes());
    let word = u128::from_le_bytes(chunk);
    let low = (word as u64 ^ name.len() as u64).wrapping_mul(K);
    ((low ^ ((word >> 64) as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)) >> 32) as u32
}

/// Names whose path hashes collide: with 32 bits, a few thousand names contain a pair.
fn names_that_collide(count: usize) -> Vec<[String; 2]> {
    let mut known: BTreeMap<u32, String> = BTreeMap::new();
    let names =
        (0_u64..).map(|number| format!("x{:011x}", number.wrapping_mul(0x1234_5677_89ab) & 0xfff_ffff_ffff));
    let twice =
        names.filter_map(|name| known.insert(name_hash(&name), name.clone()).map(|other| [other, name]));
    twice.filter(|[one, two]| one != two).take(count).collect()
}

#[test]
fn names_that_share_a_hash_have_a_path_each_in_every_dialect() {
    let pairs = names_that_collide(3);
    let mut law = Law::new("two members whose names share a hash have a path each in the report");
    for case in fixtures() {
        let text = String::from_utf8_lossy(&case.bytes).into_owned();
        for [one, two] in &pairs {
            // Insert into the first object of the text: of a line, a document, or the data of an event.
            let Some(at) = text.find('{') else { continue };
            let (before, rest) = text.split_at(at + 1);
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            let new = format!(r#"{before}"{one}":1,"{two}":"two"{comma}{rest}"#);
            for to in law_targets(&case) {
                let report = convert(case.way, to, new.as_bytes()).report;
                let rows = || report.lost_paths.iter().chain(&report.kept_paths);
                let lists = |name: &String| rows().any(|row| row.path.contains(name.as_str()));
                law.holds(lists(one) == lists(two), || {
                    format!("{case} -> {}: of `{one}` and `{two}` one is not listed", to.0.name)
                });
            }
        }
    }
    law.end();
}

fn log_of(name: &str) -> Way {
    (Dialect::named(name).expect("registered"), Role::Log)
}

/// The tokens of all entries of a record.
fn tokens(record: &[u8]) -> u64 {
    fn sum(value: &Value) -> u64 {
        match value {
            Value::Object(members) => {
                let own =
                    members.get("token-usage").and_then(|usage| usage.get("output")).and_then(Value::as_u64);
                let rest =
                    members.iter().filter(|(name, _)| *name != "token-usage").map(|(_, value)| sum(value));
                own.unwrap_or(0) + rest.sum::<u64>()
            }
            Value::Array(values) => values.iter().map(sum).sum(),
            _ => 0,
        }
    }
    let record: Value = serde_json::from_slice(record).expect("a record is JSON");
    sum(&record["session"]["entries"])
}

#[test]
fn responses_whose_ids_share_a_hash_are_counted_both_however_far_apart_they_are() {
    for Pair { texts: [one, two], .. } in pairs() {
        for between in [0, 40] {
            let ids = [one.clone()]
                .into_iter()
                .chain((0..between).map(|it| format!("msg_{it}")))
                .chain([two.clone()]);
            let lines = ids.enumerate().map(|(number, id)| {
                let line = json!({
                    "type": "assistant", "sessionId": "s", "uuid": format!("u{number}"), "parentUuid": null,
                    "timestamp": "2026-02-10T17:28:02.000Z",
                    "message": {"role": "assistant", "id": id, "model": "m", "content": [{"type": "text", "text": "yes"}],
                        "usage": {"input_tokens": 3, "output_tokens": 5}},
                });
                format!("{line}\n")
            });
            let log: String = lines.collect();
            let record = convert(log_of("claude-code"), log_of("record"), log.as_bytes());
            assert_eq!(tokens(&record.bytes), 5 * (between + 2), "{one} and {two}, {between} between");
        }
    }
}

#[test]
fn requests_of_a_response_that_share_a_hash_are_told_both() {
    for Pair { texts: [one, two], .. } in pairs() {
        let mut log = String::new();
        for (number, request) in [&one, &two].into_iter().enumerate() {
            let line = json!({
                "type": "assistant", "sessionId": "s", "uuid": format!("u{number}"), "parentUuid": null, "requestId": request,
                "message": {"role": "assistant", "id": "msg_1", "model": "m", "content": [{"type": "text", "text": "yes"}],
                    "usage": {"input_tokens": 3, "output_tokens": 5}},
            });
            log += &line.to_string();
            log.push('\n');
        }
        let record = convert(log_of("claude-code"), log_of("record"), log.as_bytes());
        let back = convert(log_of("record"), log_of("claude-code"), &record.bytes);
        assert_eq!(String::from_utf8_lossy(&back.bytes), log);
        // The kept lines of the entries hold the ids, too.
        let mut record: Value = serde_json::from_slice(&record.bytes).expect("a record is JSON");
        for entry in record["session"]["entries"].as_array_mut().expect("a list") {
            entry.as_object_mut().expect("an entry").remove("vendor-ext");
        }
        let told = record.to_string();
        assert!(told.contains(&one) && told.contains(&two), "{one} and {two}: {told}");
    }
}

/// Two session ids whose [`fnv`] has the same lower half, which was formerly the only source of the ids in an export.
fn sessions_that_collide() -> [String; 2] {
    let mut known: BTreeMap<u32, String> = BTreeMap::new();
    for number in 0_u64.. {
        let id =
            format!("ses_{:012x}abcdefghijklmn", number.wrapping_mul(0x9e37_79b9_7f4b) & 0xffff_ffff_ffff);
        if let Some(other) = known.insert(fnv(&id) as u32, id.clone()).filter(|other| *other != id) {
            return [other, id];
        }
    }
    unreachable!("numbers do not end")
}

#[test]
fn messages_of_two_sessions_have_no_id_in_common() {
    let export = |session: &str| {
        let line = json!({
            "type": "user", "sessionId": session, "uuid": "u", "parentUuid": null, "timestamp": "2026-02-10T17:28:02.000Z",
            "message": {"role": "user", "content": "hi"},
        });
        let log = format!("{line}\n");
        let out = convert(log_of("claude-code"), log_of("opencode"), log.as_bytes()).bytes;
        let export: Value = serde_json::from_slice(&out).expect("an export is JSON");
        assert_eq!(export["info"]["id"], session, "its form is OpenCode's own");
        let ids = export["messages"].as_array().expect("a list").iter().flat_map(|message| {
            let parts =
                message["parts"].as_array().expect("a list").iter().map(|part| part["id"].to_string());
            [message["info"]["id"].to_string()].into_iter().chain(parts).collect::<Vec<_>>()
        });
        ids.collect::<BTreeSet<_>>()
    };
    let [one, two] = sessions_that_collide().map(|session| export(&session));
    assert!(!one.is_empty() && one.is_disjoint(&two), "{one:?} {two:?}");
}
