//! Records in CBOR: the same record and the same log in both directions, and hostile input.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run has failed")]

#[path = "support/files.rs"]
mod files;

use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use interlingua::dialects::{Dialect, Options, Plane, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::restore_check::RestoreCheck;
use interlingua::sniff::sniff;
use interlingua_record::cbor::{RECORD_TAG, RecordJson, is_cbor_record, to_cbor};
use interlingua_record::signed::{KeyAlgorithm, PayloadForm, SignSettings, SigningKey, sign, verify};
use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interlingua/fixtures");

/// A log with spellings that CBOR does not have: escapes, numbers, the order and repetition of names, half a character.
const LOG: &str = concat!(
    r#"{"uuid":"caf\u00e9","type":"user","sessionId":"s\/1","timestamp":"2026-02-10T17:27:14Z","cwd":"\/p","message":{"role":"user","content":"hi \u003c"},"n":[1.0,1e3,-0,0.1,12345678901234567890123,1E400],"b":1,"a":2,"b":3}"#,
    "\n",
    r#"{"type":"assistant","uuid":"a2","parentUuid":"caf\u00e9","timestamp":"2026-02-10T17:27:15Z","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"t\u0031","name":"Bash","input":{"b":1.50,"a":"\ud83d"}}],"usage":{"input_tokens":5,"output_tokens":7}}}"#,
    "\n{\"type\":\"us"
);

fn dialect(name: &str) -> &'static Dialect {
    Dialect::named(name).unwrap()
}

fn convert(from: &str, to: &str, source: &[u8]) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let pipe = Pipe::new((dialect(from), Role::Log), (dialect(to), Role::Log), &Options::default()).unwrap();
    let report = pipe.finish_with(source, &mut out);
    (out, report)
}

fn cbor_of(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    to_cbor(json, RECORD_TAG, Cursor::new(Vec::new()), &mut out).unwrap();
    out
}

fn json_of(cbor: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    RecordJson::in_order(Cursor::new(cbor)).unwrap().read_to_end(&mut json).unwrap();
    json
}

fn values(json: &[u8]) -> Vec<Value> {
    serde_json::Deserializer::from_slice(json).into_iter::<Value>().map(Result::unwrap).collect()
}

fn fault(cbor: &[u8]) -> String {
    let mut json = Vec::new();
    let in_order =
        RecordJson::in_order(Cursor::new(cbor)).and_then(|mut record| record.read_to_end(&mut json));
    let once = RecordJson::new(cbor).read_to_end(&mut json);
    assert!(once.is_err(), "accepted in one pass");
    in_order.unwrap_err().to_string()
}

#[test]
fn every_log_comes_back_from_its_record_in_cbor() {
    let mut count = 0;
    let mut logs = vec![("spellings".to_owned(), dialect("claude-code"), LOG.as_bytes().to_vec())];
    for file in files::files(Path::new(FIXTURES), &["json", "jsonl"]) {
        let bytes = fs::read(&file).unwrap();
        let guess = sniff(&bytes, true).filter(|guess| guess.dialect.plane == Plane::Log);
        if let Some(guess) = guess.filter(|guess| guess.role == Role::Log) {
            logs.push((file.display().to_string(), guess.dialect, bytes));
        }
    }
    for (name, log, bytes) in logs {
        for profile in ["record", "record-v2"] {
            let (json, _) = convert(log.name, profile, &bytes);
            let cbor = cbor_of(&json);
            assert!(is_cbor_record(&cbor) && cbor.starts_with(&[0xd9, 0x10, 0x35]), "{name}");
            let back = json_of(&cbor);
            if name != "spellings" {
                assert_eq!(values(&back), values(&json), "{name}");
            }
            assert!(cbor_of(&back) == cbor, "{name}: the encoding of the same record differs");
            // Sessions of editors are read, and not written.
            if log.role(Role::Log).is_some_and(|spec| spec.write.is_some()) {
                let (restored, report) = convert(profile, log.name, &back);
                assert!(restored == bytes, "{name} {profile}: {}", String::from_utf8_lossy(&restored));
                assert_eq!(report.errors, report.damaged, "{name}: {:?}", report.problems);
            }
            let mut check = RestoreCheck::new(dialect(profile), &Options::default());
            check.push(&back);
            let mut report = Report::default();
            check.finish(&mut report);
            assert_eq!(report.problems, [], "{name}");
            count += 1;
        }
    }
    assert!(count > 100, "only {count} records");
}

#[test]
fn the_text_does_not_depend_on_the_pieces_of_the_input() {
    let cbor = cbor_of(&convert("claude-code", "record", LOG.as_bytes()).0);
    let mut slow = RecordJson::in_order(Cursor::new(&cbor)).unwrap();
    let (mut json, mut byte) = (Vec::new(), [0]);
    while slow.read(&mut byte).unwrap() > 0 {
        json.push(byte[0]);
    }
    assert_eq!(json, json_of(&cbor));
}

#[test]
fn every_cut_of_a_record_is_refused_with_a_place() {
    let cbor = cbor_of(&convert("claude-code", "record", LOG.as_bytes()).0);
    for end in 1..cbor.len() {
        let reason = fault(&cbor[..end]);
        assert!(reason.contains("at byte ") && reason.contains("cut off"), "{end}: {reason}");
    }
}

#[test]
fn a_flipped_bit_is_refused_or_read_as_json() {
    let cbor = cbor_of(&convert("claude-code", "record", LOG.as_bytes()).0);
    for bit in 0..cbor.len() * 8 {
        let mut other = cbor.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let mut json = Vec::new();
        let read =
            RecordJson::in_order(Cursor::new(&other)).and_then(|mut record| record.read_to_end(&mut json));
        if read.is_ok() {
            assert!(serde_json::from_slice::<Value>(&json).is_ok() || json.contains(&b'\\'), "bit {bit}");
        }
    }
}

#[test]
fn hostile_cbor_is_refused_with_its_own_reason_and_place() {
    // {"session": {"entries": [ENTRY]}, "version": "3.0.0"}
    let around = |entry: &[u8]| {
        let mut cbor = vec![0xa2, 0x67];
        cbor.extend_from_slice(b"session\xa1\x67entries\x81");
        cbor.extend_from_slice(entry);
        cbor.extend_from_slice(b"\x67version\x653.0.0");
        cbor
    };
    assert_eq!(
        String::from_utf8(json_of(&around(b"\xa1\x61a\x01"))).unwrap(),
        "{\"version\":\"3.0.0\",\"session\":{\"entries\":[{\"a\":1}]}}\n"
    );
    let deep = [vec![0x81; 200], vec![0x01]].concat();
    let embedded = [&[0xa1, 0x61, b'a', 0xd9, 0x01, 0x06, 0x43][..], b"{a}"].concat();
    let spelling = b"\xa2\x61a\x61x\x6avendor-ext\xa1\x64json\xa1\x62/a\x63\"y\"";
    let no_place = b"\xa2\x61a\x61x\x6avendor-ext\xa1\x64json\xa1\x62/b\x63\"x\"";
    let cases: [(&[u8], &str); 15] = [
        (b"\xa2\x61a\x01\x61a\x02", "byte 23: a key that the map holds twice"),
        (b"\xbf\x61a\x01\xff", "byte 19: an indefinite length"),
        (b"\xa1\x61a\x9f\x01\xff", "byte 22: an indefinite length"),
        (b"\xa1\x61a\x7f\x61b\xff", "byte 22: an indefinite length"),
        (b"\xa1\x61a\x18\x01", "byte 22: a number or a length that is not in its shortest form"),
        (b"\xa1\x61a\xfb\x3f\xf8\0\0\0\0\0\0", "byte 22: a number or a length"),
        (b"\xa1\x61a\xf9\x7c\x00", "byte 22: a type without a counterpart"),
        (b"\xa1\x61a\xf7", "byte 22: a type without a counterpart"),
        (b"\xa1\x61a\x41\x01", "byte 19: a byte string in this item"),
        (b"\xa1\x61a\xc1\x01", "byte 19: a tag other than 262"),
        (b"\xa1\x01\x01", "byte 19: a map key that is not text"),
        (b"\xa1\x61a\x61\xff", "byte 22: a text that is not UTF-8"),
        (&embedded, "byte 19: embedded JSON (tag 262)"),
        (spelling, "byte 19: the spelling for `/a`"),
        (no_place, "byte 19: the spelling for `/b`"),
    ];
    for (entry, reason) in cases {
        let found = fault(&around(entry));
        assert!(found.contains(reason), "{entry:x?}: {found}");
    }
    assert!(fault(&around(&deep)).contains("nested deeper than 160 levels"));
    let record = around(b"\xa1\x61a\x01");
    assert!(fault(&[&record[..], b"\n"].concat()).contains("expected the map of a record"));
    assert!(fault(b"\xa2\x62id\x01\x62id\x02").contains("`id` twice"));
    assert!(fault(b"\xa1\x67session\xa2\x67entries\x80\x67entries\x80").contains("`entries` twice"));
    assert!(fault(b"\xa1\x67session\xa1\x67entries\x9b\xff\xff\xff\xff\xff\xff\xff\xff").contains("cut off"));
    assert!(fault(b"\xa1\x62id\x7b\xff\xff\xff\xff\xff\xff\xff\xff").contains("cut off"));
    // Records follow one another.
    assert_eq!(values(&json_of(&[&record[..], &record[..]].concat())).len(), 2);
}

#[test]
fn text_and_other_binary_formats_are_not_taken_for_cbor() {
    for beginning in
        [&b"{\"version\""[..], b"", b"\xff\xfe{\0", b"\x89PNG\r\n", b"\xd2\x84\x58", b"\x1f\x8b\x08"]
    {
        assert!(!is_cbor_record(beginning), "{beginning:x?}");
    }
    for beginning in [&b"\xa3\x62id"[..], b"\xd9\xd9\xf7\xd9\x10\x35\xa3\x62id", b"\xb8\x20\x62id"] {
        assert!(is_cbor_record(beginning), "{beginning:x?}");
    }
}

#[test]
fn a_record_in_cbor_is_signed_over_its_own_bytes() {
    let json = convert("claude-code", "record", LOG.as_bytes()).0;
    let cbor = cbor_of(&json);
    let key = SigningKey::from_pem(&SigningKey::generate(KeyAlgorithm::Ed25519).unwrap()).unwrap();
    let settings = SignSettings {
        key: &key,
        signer: "Ann",
        time: 1_770_000_000,
        chain: None,
        payload: PayloadForm::Detached,
        checkpoint: false,
        earlier: None,
    };
    let signed = sign(&cbor[..], &settings).unwrap();
    assert_eq!(signed.bytes, cbor.len() as u64);
    let holds = |record: &[u8]| {
        verify(&signed.file, Some(&mut &record[..]), &key.public(), None).is_ok_and(|found| found.is_sound())
    };
    assert!(holds(&cbor));
    // The JSON text of the same record has other bytes.
    assert!(!holds(&json));
    for at in (0..cbor.len()).step_by(7) {
        let mut other = cbor.clone();
        other[at] ^= 1;
        assert!(!holds(&other), "byte {at}");
    }
}
