//! Hostile records and signature files: deep nesting, many tiny entries, long strings, many headers. Time grows with the size
//! of the input, and each refusal has its own reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]

use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::time::{Duration, Instant};

use interlingua_record::signed::{
    CborItem, KeyAlgorithm, PayloadForm, RedactPlan, Sign1, SignSettings, SigningKey, redact, sign, verify,
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
        payload: PayloadForm::Digest,
        checkpoint: false,
        earlier: None,
    }
}

fn record(entries: &str) -> String {
    format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s","entries":[{entries}],"agent-meta":{{}}}}}}"#
    )
}

/// Signs, verifies, redacts these entries and verifies again. Returns the time of all steps.
fn run(record: &str, removed: impl Iterator<Item = u64>) -> Duration {
    let start = Instant::now();
    let key = key();
    let file = sign(record.as_bytes(), &settings(&key)).unwrap().file;
    let mut reader = record.as_bytes();
    assert!(verify(&file, Some(&mut reader), &key.public(), None).unwrap().is_sound());
    let plan = RedactPlan { entries: removed.collect(), ..RedactPlan::default() };
    let bytes = record.as_bytes().to_vec();
    let open = || -> std::io::Result<Box<dyn Read>> { Ok(Box::new(Cursor::new(bytes.clone()))) };
    let mut out = Vec::new();
    let (head, report) = redact(&file, &key.public(), &open, &plan, &mut out).unwrap();
    let expected: BTreeSet<_> = plan.entries.iter().map(|entry| (*entry, None)).collect();
    assert_eq!(report.places, expected);
    let mut reader = out.as_slice();
    let verification = verify(&head, Some(&mut reader), &key.public(), None).unwrap();
    assert_eq!(verification.head.facts().unwrap().removed.entries, plan.entries.len() as u64);
    start.elapsed()
}

#[test]
fn ten_thousand_levels_are_signed_and_one_more_is_refused() {
    let deep = |levels: usize| {
        record(&format!(r#"{{"type":"user","content":{}{}}}"#, "[".repeat(levels), "]".repeat(levels)))
    };
    run(&deep(10_000), 0..1);
    let refusal = sign(deep(10_001).as_bytes(), &settings(&key())).err().unwrap().to_string();
    assert!(refusal.starts_with("the record is nested deeper than 10,000 levels"), "{refusal}");
}

#[test]
fn time_grows_with_the_number_of_tiny_entries_and_not_with_its_square() {
    let tiny = |count: usize| record(&vec!["{}"; count].join(","));
    let few = run(&tiny(5_000), (0..5_000).step_by(2));
    let many = run(&tiny(40_000), (0..40_000).step_by(2));
    // Eight times the entries, and a machine that may be busy: a square would be 64 times the time.
    assert!(many < few * 32, "{few:?} and {many:?}");
}

#[test]
fn a_long_string_is_signed_and_removed() {
    let long = format!(r#"{{"type":"user","content":"{}"}}"#, r"\\\u0041".repeat(500_000));
    run(&record(&long), 0..1);
}

#[test]
fn a_signature_file_with_many_headers_is_refused() {
    let headers = |count: u64| {
        CborItem::Map((1000..1000 + count).map(|at| (CborItem::Uint(at), CborItem::Null)).collect())
    };
    let file = |count| {
        let parts =
            vec![CborItem::bytes(vec![]), headers(count), CborItem::Null, CborItem::bytes(vec![0; 64])];
        CborItem::Tag(18, Box::new(CborItem::Array(parts))).encode()
    };
    assert!(Sign1::decode(&file(64)).is_ok());
    let refusal = Sign1::decode(&file(100_000)).unwrap_err().to_string();
    assert_eq!(refusal, "the data is not a COSE_Sign1: a header has more than 64 labels");
}
