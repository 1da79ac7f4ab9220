//! Proofs and redaction: what is removed is gone and visible, and what is kept still verifies.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]

mod forge;

use std::collections::BTreeSet;
use std::io::Read;

use forge::{Parts, member_named, owned, replace_member};
use interlingua::json::base64;
use interlingua_record::secrets::SecretRules;
use interlingua_record::signed::{
    CborItem, KeyAlgorithm, PayloadForm, ProofFacts, ProofSource, RedactPlan, RedactReport, SignSettings,
    SignatureCheck, SigningKey, Verification, prove_continuation, prove_entry, redact, sign, verify,
    verify_proof,
};

fn key() -> SigningKey {
    SigningKey::from_pem(&SigningKey::generate(KeyAlgorithm::Ed25519).unwrap()).unwrap()
}

fn settings(key: &SigningKey) -> SignSettings<'_> {
    SignSettings {
        key,
        signer: "Ann",
        time: 1_770_000_000,
        chain: None,
        payload: PayloadForm::Detached,
        checkpoint: false,
        earlier: None,
    }
}

/// A record with one entry for each text. Each entry has the text in two of its parts.
fn record(texts: &[&str]) -> String {
    let entry = |(index, text): (usize, &&str)| {
        let text = serde_json::to_string(text).unwrap();
        format!(
            r#"{{"type":"user","content":{text},"id":"e{index}","vendor-ext":{{"vendor":"x","data":[{text}]}}}}"#
        )
    };
    let entries: Vec<String> = texts.iter().enumerate().map(entry).collect();
    format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s1","entries":[{}],"agent-meta":{{"model-id":"m","model-provider":"p"}}}}}}"#,
        entries.join(", ")
    )
}

const TEXTS: [&str; 5] = [
    "the first long text of all",
    "a \"second\" text\nwith lines",
    "the third text is here",
    "number four, a text",
    "the fifth text",
];

fn run_redact(
    file: &[u8],
    key: &SigningKey,
    record: &str,
    plan: &RedactPlan,
) -> (Vec<u8>, String, RedactReport) {
    let bytes = record.as_bytes().to_vec();
    let open =
        move || -> std::io::Result<Box<dyn Read>> { Ok(Box::new(std::io::Cursor::new(bytes.clone()))) };
    let mut out = Vec::new();
    let (head, report) = redact(file, &key.public(), &open, plan, &mut out).unwrap();
    (head, String::from_utf8(out).unwrap(), report)
}

fn verified(file: &[u8], record: &str, key: &SigningKey) -> Verification {
    let mut record = record.as_bytes();
    verify(file, Some(&mut record as &mut dyn Read), &key.public(), None).unwrap()
}

/// Whether a text is in the bytes, also as JSON text or as base64 at any offset.
fn holds(bytes: &[u8], text: &str) -> bool {
    let contains = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let json = serde_json::to_string(text).unwrap();
    let escaped = &json[1..json.len() - 1];
    let in_base64 = (0..3).any(|offset| {
        let coded = base64(text.as_bytes().get(offset..).unwrap_or_default());
        let whole = coded.trim_end_matches('=');
        contains(&whole.as_bytes()[..whole.len().saturating_sub(2).max(4)])
    });
    contains(text.as_bytes()) || contains(escaped.as_bytes()) || in_base64
}

#[test]
fn every_subset_of_entries_can_be_removed_and_the_tree_still_holds() {
    let key = key();
    let record = record(&TEXTS);
    for payload in [PayloadForm::Attached, PayloadForm::Detached, PayloadForm::Digest] {
        let file = sign(record.as_bytes(), &SignSettings { payload, ..settings(&key) }).unwrap().file;
        for subset in 0..1u64 << TEXTS.len() {
            let entries: BTreeSet<u64> = (0..5).filter(|entry| subset >> entry & 1 == 1).collect();
            let plan = RedactPlan { entries: entries.clone(), ..RedactPlan::default() };
            let (head, redacted, report) = run_redact(&file, &key, &record, &plan);
            let verification = verified(&head, &redacted, &key);
            assert!(matches!(verification.envelope, SignatureCheck::Absent));
            let facts = verification.head.facts().unwrap_or_else(|| panic!("{:?}", verification.head));
            assert_eq!(facts.removed.entries, entries.len() as u64);
            assert!(report.missing.is_empty() && report.copies.is_empty(), "{report:?}");
            for (entry, text) in (0..).zip(TEXTS) {
                let is_gone = !holds(redacted.as_bytes(), text) && !holds(&head, text);
                assert_eq!(is_gone, entries.contains(&entry), "{text}");
            }
            let problems = interlingua_record::check(redacted.as_bytes());
            assert!(problems.is_empty(), "{problems:?}");
        }
    }
}

#[test]
fn redaction_removes_the_digest_of_the_source_and_no_text_takes_its_place() {
    let key = key();
    let digits = "0f".repeat(32);
    let with = |source: &str| {
        let ext =
            format!(r#","vendor-ext":{{"vendor":"interlingua","data":{{"source":{source}}}}},"agent-meta""#);
        record(&TEXTS).replacen(r#","agent-meta""#, &ext, 1)
    };
    let plan = RedactPlan { entries: BTreeSet::from([1]), ..RedactPlan::default() };
    let named = with(&format!(r#"{{"bytes":9,"dialect":"x","sha-256":"{digits}"}}"#));
    let file = sign(named.as_bytes(), &settings(&key)).unwrap().file;
    assert!(verified(&file, &named, &key).is_sound());
    let (head, redacted, report) = run_redact(&file, &key, &named, &plan);
    assert!(!redacted.contains(&digits) && redacted.contains(r#""source":null"#), "{redacted}");
    assert!(!report.source_kept);
    assert!(verified(&head, &redacted, &key).is_sound());
    for lie in [r#""a text""#, r#"{"bytes":9,"dialect":"a text"}"#, "[null]"] {
        let forged = redacted.replace(r#""source":null"#, &format!(r#""source":{lie}"#));
        assert!(!verified(&head, &forged, &key).is_sound(), "{lie}");
    }
    // A digest in another form is covered, so it cannot be removed.
    let other = with(&format!(r#"{{ "bytes":9,"dialect":"x","sha-256":"{digits}"}}"#));
    let file = sign(other.as_bytes(), &settings(&key)).unwrap().file;
    let (_, redacted, report) = run_redact(&file, &key, &other, &plan);
    assert!(report.source_kept && redacted.contains(&digits));
}

#[test]
fn a_part_can_be_removed_and_its_copy_is_reported_or_removed() {
    let key = key();
    let record = record(&TEXTS);
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let plan = |everywhere| RedactPlan {
        parts: BTreeSet::from([(1, "content")]),
        everywhere,
        ..RedactPlan::default()
    };
    let (head, redacted, report) = run_redact(&file, &key, &record, &plan(false));
    assert_eq!(report.copies, BTreeSet::from([(1, Some("vendor-ext"))]));
    let facts = verified(&head, &redacted, &key);
    assert_eq!(facts.head.facts().unwrap().removed.places, [(1, Some("content"))]);
    let (head, redacted, report) = run_redact(&file, &key, &record, &plan(true));
    assert_eq!(report.copies, BTreeSet::new());
    let facts = verified(&head, &redacted, &key);
    assert_eq!(facts.head.facts().unwrap().removed.places, [(1, Some("content")), (1, Some("vendor-ext"))]);
    assert!(!holds(redacted.as_bytes(), TEXTS[1]) && !holds(&head, TEXTS[1]));
    let problems = interlingua_record::check(redacted.as_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    // A redacted record can be redacted again.
    let more = RedactPlan { entries: BTreeSet::from([0, 1]), ..RedactPlan::default() };
    let (head, redacted, _) = run_redact(&head, &key, &redacted, &more);
    assert_eq!(verified(&head, &redacted, &key).head.facts().unwrap().removed.places, [(0, None), (1, None)]);
}

#[test]
fn text_in_place_of_a_removed_part_is_refused() {
    let key = key();
    let record = record(&TEXTS);
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let plan = RedactPlan {
        entries: BTreeSet::from([0]),
        parts: BTreeSet::from([(1, "content")]),
        ..RedactPlan::default()
    };
    let (head, redacted, _) = run_redact(&file, &key, &record, &plan);
    let reason = |record: &str| match verified(&head, record, &key).head {
        SignatureCheck::Fails(fault) => fault.to_string(),
        other => panic!("{other:?}"),
    };
    let smuggled = redacted.replacen(r#"{"redacted":""#, r#"{"forged":"text","redacted":""#, 1);
    assert_eq!(reason(&smuggled), "entry 0: a removed part holds text that is not signed");
    let at = redacted.find(r#""content":{"redacted":""#).unwrap();
    let smuggled =
        format!("{}{}", &redacted[..at], redacted[at..].replacen(r#"{"redacted":""#, r#"{"redacted":"x"#, 1));
    assert_eq!(reason(&smuggled), "entry 1: a removed part holds text that is not signed");
    let at = redacted.find("redacted\":\"").unwrap() + 11;
    let digit = if redacted.as_bytes()[at] == b'0' { "1" } else { "0" };
    let other = format!("{}{digit}{}", &redacted[..at], &redacted[at + 1..]);
    assert_eq!(reason(&other), "the entries do not lead to the signed root");
    // The original under the head of the redacted record: its salts are hidden.
    assert_eq!(reason(&record), "entry 0: a removed part holds text that is not signed");
}

#[test]
fn secrets_are_removed_with_each_copy_and_their_classes_are_counted() {
    let key = key();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let coded = base64(format!("token is {secret} here").as_bytes());
    let texts = [
        format!("use {secret} now"),
        "nothing".to_owned(),
        format!("again {coded}"),
        "8de8821d78ac0f018e14804dece7dc00be70c05f".to_owned(),
    ];
    let record = record(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let plan = RedactPlan { secrets: Some(SecretRules::built_in()), ..RedactPlan::default() };
    let (head, redacted, report) = run_redact(&file, &key, &record, &plan);
    let places: Vec<_> = report.places.iter().copied().collect();
    let both = |entry| [(entry, Some("content")), (entry, Some("vendor-ext"))];
    assert_eq!(places, [both(0), both(2)].concat());
    assert_eq!(report.secrets.get("github-token"), Some(&4));
    assert!(report.copies.is_empty());
    assert!(!holds(redacted.as_bytes(), &secret) && !redacted.contains(&coded));
    assert!(redacted.contains("8de8821d78ac0f018e14804dece7dc00be70c05f"));
    assert!(verified(&head, &redacted, &key).head.facts().is_some());
    // A secret outside the entries cannot be removed, and is reported.
    let framed = record.replace("\"p\"", &format!("\"{secret}\""));
    let file = sign(framed.as_bytes(), &settings(&key)).unwrap().file;
    let (_, _, report) = run_redact(&file, &key, &framed, &plan);
    assert_eq!(report.in_frame, BTreeSet::from(["github-token".to_owned()]));
}

#[test]
fn places_that_the_record_does_not_have_are_reported() {
    let key = key();
    let record = record(&TEXTS);
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let plan = RedactPlan {
        entries: BTreeSet::from([7]),
        parts: BTreeSet::from([(1, "output")]),
        ..RedactPlan::default()
    };
    let (_, redacted, report) = run_redact(&file, &key, &record, &plan);
    assert_eq!(report.missing, [(7, None), (1, Some("output"))]);
    assert_eq!(redacted, record);
}

fn entry_proof(file: &[u8], key: &SigningKey, record: &str, entry: u64) -> Result<Vec<u8>, String> {
    let mut record = record.as_bytes();
    let public = key.public();
    let source = ProofSource { file, record: Some(&mut record), key: &public };
    prove_entry(source, entry).map_err(|fault| fault.to_string())
}

#[test]
fn each_entry_has_a_proof_and_a_proof_discloses_only_its_entry() {
    let key = key();
    let record = record(&TEXTS);
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    for (index, text) in (0..).zip(TEXTS) {
        let proof = entry_proof(&file, &key, &record, index).unwrap();
        let ProofFacts::Entry { head, index: found, entry, removed, is_removed: false } =
            verify_proof(&proof, &key.public(), None).unwrap()
        else {
            panic!("another proof")
        };
        assert_eq!((head.size, found, removed), (5, index, vec![]));
        let entry: serde_json::Value = serde_json::from_slice(&entry).unwrap();
        assert_eq!(entry["content"], text);
        for other in TEXTS.iter().filter(|other| **other != text) {
            assert!(!holds(&proof, other));
        }
    }
    assert_eq!(entry_proof(&file, &key, &record, 5).unwrap_err(), "the record has no entry 5");
}

/// A proof with a changed member.
fn forged(proof: &[u8], name: &str, value: CborItem<'static>) -> Vec<u8> {
    let CborItem::Map(mut members) = owned(&CborItem::decode(proof).unwrap()) else { panic!("no map") };
    replace_member(&mut members, name, value);
    CborItem::Map(members).encode()
}

fn proof_member(proof: &[u8], name: &str) -> CborItem<'static> {
    let CborItem::Map(members) = owned(&CborItem::decode(proof).unwrap()) else { panic!("no map") };
    member_named(&members, name)
}

#[test]
fn a_proof_for_another_tree_place_or_entry_is_refused() {
    let key = key();
    let record = record(&TEXTS);
    let one = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let two = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let proof = entry_proof(&one, &key, &record, 2).unwrap();
    let refusal = |proof: &[u8]| verify_proof(proof, &key.public(), None).unwrap_err().to_string();
    let other_head = proof_member(&entry_proof(&two, &key, &record, 2).unwrap(), "head");
    let bad = "the proof does not lead to the signed root";
    assert_eq!(refusal(&forged(&proof, "head", other_head)), bad);
    assert_eq!(refusal(&forged(&proof, "index", CborItem::Uint(1))), bad);
    assert_eq!(refusal(&forged(&proof, "salts", CborItem::bytes(vec![0; 32]))), bad);
    let entry = String::from_utf8(proof_member(&proof, "entry").as_bytes().unwrap().to_vec()).unwrap();
    let changed = entry.replace("third", "other");
    assert_eq!(refusal(&forged(&proof, "entry", CborItem::bytes(changed.into_bytes()))), bad);
    let twice = format!("{entry}{entry}");
    let reason = "the proof does not hold exactly one entry";
    assert_eq!(refusal(&forged(&proof, "entry", CborItem::bytes(twice.into_bytes()))), reason);
    // Bytes after the entry, which no hash covers.
    for more in [" ", r#"],"note":["signed, too""#] {
        let longer = CborItem::bytes(format!("{entry}{more}").into_bytes());
        assert_eq!(refusal(&forged(&proof, "entry", longer)), reason, "{more}");
    }
    assert_eq!(refusal(&forged(&proof, "form", CborItem::text("x"))), "the file is not a proof");
    assert_eq!(refusal(&forged(&proof, "note", CborItem::text("x"))), "the file is not a proof");
    let with_salts = Parts { unprotected: Parts::of(&one).head().unprotected, ..Parts::of(&one).head() };
    let with_salts = CborItem::bytes(with_salts.encode());
    assert_eq!(refusal(&forged(&proof, "head", with_salts)), "the file is not a proof");
    assert_eq!(refusal(&proof[..proof.len() - 1]), "the CBOR data is truncated");
    for at in 0..proof.len() {
        let mut flipped = proof.clone();
        flipped[at] ^= 1;
        assert!(verify_proof(&flipped, &key.public(), None).is_err(), "byte {at}");
    }
    let other_key = SigningKey::from_pem(&SigningKey::generate(KeyAlgorithm::Ed25519).unwrap()).unwrap();
    let refusal = verify_proof(&proof, &other_key.public(), None).unwrap_err().to_string();
    assert!(refusal.starts_with("the signature was made by another key"), "{refusal}");
}

/// Flips each bit of the first 64 bytes of a proof, and two bits of each other byte. Returns the reasons of the refusals.
fn flip_bits(proof: &[u8], key: &SigningKey) -> BTreeSet<String> {
    let mut reasons = BTreeSet::new();
    for at in 0..proof.len() {
        for bit in (0..8).step_by(if at < 64 { 1 } else { 5 }) {
            let mut flipped = proof.to_vec();
            flipped[at] ^= 1 << bit;
            match verify_proof(&flipped, &key.public(), None) {
                Ok(facts) => panic!("bit {bit} of byte {at} of {} is not covered: {facts:?}", proof.len()),
                Err(fault) => _ = reasons.insert(fault.to_string()),
            }
        }
    }
    reasons
}

#[test]
fn a_flipped_bit_of_any_byte_of_a_proof_is_refused_with_a_reason() {
    let key = key();
    for count in [1, 3, 5] {
        let record = record(&TEXTS[..count]);
        let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
        for entry in 0..count as u64 {
            let reasons = flip_bits(&entry_proof(&file, &key, &record, entry).unwrap(), &key);
            assert!(reasons.len() > 5, "{reasons:?}");
            assert!(reasons.iter().all(|reason| reason.len() > 20), "{reasons:?}");
        }
        for earlier in 1..=count {
            let short = self::record(&TEXTS[..earlier]);
            let old = SignSettings { checkpoint: true, ..settings(&key) };
            let old = sign(short.as_bytes(), &old).unwrap().file;
            let later = SignSettings { earlier: Some(&old), time: 1_770_000_100, ..settings(&key) };
            let new = sign(record.as_bytes(), &later).unwrap().file;
            let mut reader = record.as_bytes();
            let source = ProofSource { file: &new, record: Some(&mut reader), key: &key.public() };
            let proof = prove_continuation(source, &old).unwrap();
            let reasons = flip_bits(&proof, &key);
            assert!(reasons.len() > 5, "{reasons:?}");
        }
    }
}

#[test]
fn the_entry_of_a_redacted_record_is_provable_without_its_removed_part() {
    let key = key();
    let record = record(&TEXTS);
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let plan =
        RedactPlan { parts: BTreeSet::from([(1, "content")]), everywhere: true, ..RedactPlan::default() };
    let (head, redacted, _) = run_redact(&file, &key, &record, &plan);
    let proof = entry_proof(&head, &key, &redacted, 1).unwrap();
    let ProofFacts::Entry { removed, .. } = verify_proof(&proof, &key.public(), None).unwrap() else {
        panic!("another proof")
    };
    assert_eq!(removed, ["content", "vendor-ext"]);
    assert!(!holds(&proof, TEXTS[1]));
    // The holder of the original proves the removed text against the same signed head.
    let original = entry_proof(&file, &key, &record, 1).unwrap();
    assert_eq!(proof_member(&original, "head"), proof_member(&proof, "head"));
    assert!(holds(&original, TEXTS[1]));
}

#[test]
fn a_proof_of_a_removed_entry_says_that_the_entry_was_removed() {
    let key = key();
    let record = record(&TEXTS);
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let plan = RedactPlan { entries: BTreeSet::from([1]), ..RedactPlan::default() };
    let (head, redacted, _) = run_redact(&file, &key, &record, &plan);
    let is_removed = |entry: u64| {
        let proof = entry_proof(&head, &key, &redacted, entry).unwrap();
        let ProofFacts::Entry { is_removed, .. } = verify_proof(&proof, &key.public(), None).unwrap() else {
            panic!("another proof")
        };
        is_removed
    };
    assert_eq!([0, 1, 2].map(is_removed), [false, true, false]);
}

/// A record that grows keeps its salts. With the salt of a later entry, the reader of the redacted beginning could test
/// guesses about that entry after its removal.
#[test]
fn a_redacted_checkpoint_holds_no_salt_of_a_later_entry() {
    let key = key();
    let (short, long) = (record(&TEXTS[..3]), record(&TEXTS));
    let old = sign(short.as_bytes(), &SignSettings { checkpoint: true, ..settings(&key) }).unwrap().file;
    let plan = RedactPlan { entries: BTreeSet::from([1]), ..RedactPlan::default() };
    let (head, redacted, _) = run_redact(&old, &key, &short, &plan);
    let salts = member_named(&Parts::of(&head).unprotected, "salts");
    let last = |node: &CborItem<'_>| {
        let [depth, position, _] = node.as_array().unwrap() else { panic!("no node") };
        (position.as_uint().unwrap() + 1) << (32 - depth.as_uint().unwrap())
    };
    assert_eq!(salts.as_array().unwrap().iter().map(last).collect::<Vec<_>>(), [1, 3]);
    assert!(verified(&head, &redacted, &key).is_sound());
    // So a longer record continues the file of the original, and not that of the redacted record.
    let later = |earlier| SignSettings { earlier: Some(earlier), ..settings(&key) };
    assert!(sign(long.as_bytes(), &later(&old)).is_ok());
    let (before, after) = long.split_once(r#", {"type":"user","content":"number four"#).unwrap();
    let (beginning, _) = redacted.split_once("],\"agent-meta\"").unwrap();
    assert!(before.starts_with(&beginning[..60]));
    let grown = format!(r#"{beginning}, {{"type":"user","content":"number four{after}"#);
    let refusal = sign(grown.as_bytes(), &later(&head)).err().unwrap().to_string();
    assert!(refusal.starts_with("entry 3: the earlier file has no salt for new entries"), "{refusal}");
}

#[test]
fn a_continuation_is_provable_and_a_replayed_or_foreign_one_is_refused() {
    let key = key();
    let public = key.public();
    let (short, long) = (record(&TEXTS[..2]), record(&TEXTS));
    let old = sign(short.as_bytes(), &SignSettings { checkpoint: true, ..settings(&key) }).unwrap().file;
    let later = SignSettings { earlier: Some(&old), time: 1_770_000_100, ..settings(&key) };
    let new = sign(long.as_bytes(), &later).unwrap().file;
    let prove = |file: &[u8], record: &str, earlier: &[u8]| {
        let mut record = record.as_bytes();
        let source = ProofSource { file, record: Some(&mut record), key: &public };
        prove_continuation(source, earlier).map_err(|fault| fault.to_string())
    };
    let proof = prove(&new, &long, &old).unwrap();
    let ProofFacts::Continuation { earlier, head } = verify_proof(&proof, &public, Some(&old)).unwrap()
    else {
        panic!("another proof")
    };
    assert_eq!((earlier.size, head.size), (2, 5));
    assert!(!TEXTS.iter().any(|text| holds(&proof, text)));
    let replayed = "an old checkpoint: the head counts 2 entries, and an earlier head counts 5";
    assert_eq!(prove(&old, &short, &new).unwrap_err(), replayed);
    let swapped = forged(
        &forged(&proof, "head", proof_member(&proof, "earlier")),
        "earlier",
        proof_member(&proof, "head"),
    );
    assert_eq!(verify_proof(&swapped, &public, None).unwrap_err().to_string(), replayed);
    let old_proof = prove(&old, &short, &old).unwrap();
    assert_eq!(verify_proof(&old_proof, &public, Some(&new)).unwrap_err().to_string(), replayed);
    let foreign = sign(long.as_bytes(), &settings(&key)).unwrap().file;
    let refusal = prove(&foreign, &long, &old).unwrap_err();
    assert_eq!(refusal, "the record does not begin with the 2 entries of the earlier head");
    let foreign_head = CborItem::bytes(Parts { unprotected: vec![], ..Parts::of(&foreign).head() }.encode());
    let refusal = verify_proof(&forged(&proof, "head", foreign_head), &public, None).unwrap_err().to_string();
    assert_eq!(refusal, "the proof does not lead to the signed root");
}
