//! Signed input: no bytes make a verifier panic, and no change of a signed file or record is accepted.
//!
//! The key and the salts are random, so a crash is repeated by its description, not by the bytes of its signature.

use std::io::Read;
use std::sync::LazyLock;

use interlingua_record::signed::{
    CertificateChain, CertifiedKey, KeyAlgorithm, PayloadForm, ProofFacts, ProofSource, PublicKey,
    RedactPlan, SignSettings, SignatureCheck, SigningKey, TransparencyLog, TrustStore, Verification,
    add_receipt, is_receipt, prove_continuation, prove_entry, receipts_of, redact, sign, statement_of,
    verify, verify_proof, verify_receipts,
};
use serde_json::Value;

const RECORD: &str = concat!(
    r#"{"version":"3.0.0","id":"r1","session":{"session-id":"s1","entries":["#,
    r#"{"type":"user","timestamp":"2026-02-10T17:27:14Z","content":"hello there"},"#,
    r#"{"type":"tool-call","name":"run","input":{"command":"ls"},"call-id":"c1"},"#,
    r#"{"type":"tool-result","output":"a file","call-id":"c1"}"#,
    r#"],"session-start":"2026-02-10T17:27:14Z","agent-meta":{"model-id":"m","model-provider":"p"}}}"#,
    "\n"
);

/// Files made with one key: the signatures of a record, a redacted record with its signature, and two proofs.
struct Signed {
    key: PublicKey,
    detached: Vec<u8>,
    attached: Vec<u8>,
    by_digest: Vec<u8>,
    checkpoint: Vec<u8>,
    redacted: Vec<u8>,
    redacted_file: Vec<u8>,
    entry_proof: Vec<u8>,
    continuation_proof: Vec<u8>,
    /// The key of a log, and the receipts of the detached signature as file 0 of 1, 1 of 2 and so on.
    log_key: PublicKey,
    receipts: Vec<Vec<u8>>,
}

static SIGNED: LazyLock<Signed> = LazyLock::new(|| {
    let pem = SigningKey::generate(KeyAlgorithm::Ed25519).expect("the system has randomness");
    let key = SigningKey::from_pem(&pem).expect("our own key is read");
    let make = |payload: PayloadForm, checkpoint: bool, earlier: Option<&[u8]>| {
        let settings = SignSettings {
            key: &key,
            signer: "Ann",
            time: 1_770_000_000,
            chain: None,
            payload,
            checkpoint,
            earlier,
        };
        sign(RECORD.as_bytes(), &settings).expect("the record is signed").file
    };
    let detached = make(PayloadForm::Detached, false, None);
    let attached = make(PayloadForm::Attached, false, None);
    let by_digest = make(PayloadForm::Digest, false, None);
    let checkpoint = make(PayloadForm::Detached, true, Some(&detached));
    let public = key.public();
    let plan = RedactPlan { entries: [1].into(), parts: [(0, "content")].into(), ..RedactPlan::default() };
    let mut redacted = Vec::new();
    let open = || -> std::io::Result<Box<dyn Read>> { Ok(Box::new(RECORD.as_bytes())) };
    let (redacted_file, _) =
        redact(&detached, &public, &open, &plan, &mut redacted).expect("the record is redacted");
    let proof = |file: &[u8], make: &dyn Fn(ProofSource<'_>) -> Vec<u8>| {
        let mut record = RECORD.as_bytes();
        make(ProofSource { file, record: Some(&mut record), key: &public })
    };
    let entry_proof = proof(&detached, &|source| prove_entry(source, 0).expect("the entry is there"));
    let continuation_proof = proof(&checkpoint, &|source| {
        prove_continuation(source, &detached).expect("the record continues itself")
    });
    let (log_key, receipts) = registered(&detached);
    let key = public;
    Signed {
        key,
        detached,
        attached,
        by_digest,
        checkpoint,
        redacted,
        redacted_file,
        entry_proof,
        continuation_proof,
        log_key,
        receipts,
    }
});

/// The receipts of a new log for the same file several times.
fn registered(file: &[u8]) -> (PublicKey, Vec<Vec<u8>>) {
    let pem = SigningKey::generate(KeyAlgorithm::Ed25519).expect("the system has randomness");
    let key = SigningKey::from_pem(&pem).expect("our own key is read");
    let folder = std::env::temp_dir().join(format!("interlingua-fuzz-log-{}", std::process::id()));
    let mut log = TransparencyLog::open(&folder, &key, "log").expect("the log is made");
    let receipt = |_| {
        let (registered, _) = log.append(file, 1_770_000_000).expect("the file is registered");
        receipts_of(&registered).expect("the file has receipts").remove(0)
    };
    let receipts = (0..9).map(receipt).collect();
    std::fs::remove_dir_all(&folder).expect("the log is removed");
    (key.public(), receipts)
}

/// Bytes in place of each signed file are refused or verified, without a panic; the same bytes as edits of sound files
/// never lead to a verified record with other values.
pub fn signed(data: &[u8]) {
    any_file(data);
    let Some((&form, edits)) = data.split_first() else { return };
    let signed = &*SIGNED;
    match form % 9 {
        0 => with_record(&edited(&signed.detached, edits), RECORD.as_bytes()),
        1 => with_record(&signed.detached, &edited(RECORD.as_bytes(), edits)),
        2 => attached(&edited(&signed.attached, edits)),
        3 => with_record(&signed.by_digest, &edited(RECORD.as_bytes(), edits)),
        4 => with_record(&signed.checkpoint, &edited(RECORD.as_bytes(), edits)),
        5 => with_record(&signed.redacted_file, &edited(&signed.redacted, edits)),
        6 => with_record(&edited(&signed.redacted_file, edits), &signed.redacted),
        7 => receipts(edits),
        _ => proofs(edits),
    }
}

/// Each parser of signed input reads the bytes.
fn any_file(data: &[u8]) {
    let key = &SIGNED.key;
    // A file that holds its record refuses a second one.
    let _ = verify(data, None, key, None);
    let _ = verify(data, Some(&mut RECORD.as_bytes()), key, None);
    let _ = verify(&SIGNED.detached, Some(&mut RECORD.as_bytes()), key, Some(data));
    let _ = verify_proof(data, key, None);
    let _ = verify_receipts(data, key);
    let _ = (is_receipt(data), receipts_of(data), statement_of(data));
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = (SigningKey::from_pem(text), PublicKey::from_pem(text), CertificateChain::from_pem(text));
    if let Ok(trust) = TrustStore::from_pem(text) {
        let _ = CertifiedKey::of_file(&SIGNED.detached, &trust, 1_770_000_000);
    }
}

/// Applies edits of four bytes: two for the place, one for the act, one for its operand.
fn edited(original: &[u8], edits: &[u8]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for edit in edits.chunks_exact(4) {
        let at = usize::from(u16::from_be_bytes([edit[0], edit[1]])) % bytes.len().max(1);
        match edit[2] % 5 {
            0 => bytes[at] = edit[3],
            1 => bytes[at] ^= 1 << (edit[3] % 8),
            2 => bytes.insert(at, edit[3]),
            3 => drop(bytes.drain(at..(at + usize::from(edit[3])).min(bytes.len()))),
            _ => {
                let piece = bytes[at..(at + usize::from(edit[3])).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn with_record(file: &[u8], record: &[u8]) {
    let Ok(verification) = verify(file, Some(&mut &record[..]), &SIGNED.key, None) else { return };
    assert_sound(&verification, record);
}

fn attached(file: &[u8]) {
    let Ok(verification) = verify(file, None, &SIGNED.key, None) else { return };
    if let SignatureCheck::Holds(facts) = &verification.envelope {
        assert_eq!(facts.bytes, RECORD.len() as u64, "another record is attached");
    }
}

/// A signature that holds covers the original record, except for the places that it names as removed.
fn assert_sound(verification: &Verification, record: &[u8]) {
    if let SignatureCheck::Holds(facts) = &verification.envelope {
        assert!(record == RECORD.as_bytes(), "the envelope holds for other bytes: {facts:?}");
    }
    let SignatureCheck::Holds(facts) = &verification.head else { return };
    let parse = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).expect("a verified record is JSON") };
    let (mut found, mut original) = (parse(record), parse(RECORD.as_bytes()));
    for &(entry, part) in &facts.removed.places {
        for value in [&mut found, &mut original] {
            let entry = &mut value["session"]["entries"][entry as usize];
            match part {
                Some(name) => entry[name] = Value::Null,
                None => *entry = Value::Null,
            }
        }
    }
    assert_eq!(found, original, "the tree head holds for other values: {facts:?}");
}

/// An edited receipt that still verifies has the position and the claims of the original.
fn receipts(edits: &[u8]) {
    let signed = &*SIGNED;
    let Some((&number, edits)) = edits.split_first() else { return };
    let index = usize::from(number) % signed.receipts.len();
    let Ok(file) = add_receipt(&signed.detached, &edited(&signed.receipts[index], edits)) else { return };
    let check = verify_receipts(&file, &signed.log_key).expect("the file has a list of receipts");
    for place in check.holding {
        assert!(place.is_place_signed, "a receipt without a signed position holds: {place:?}");
        assert_eq!((place.index, place.size), (index as u64, index as u64 + 1), "another position holds");
        assert_eq!((place.origin.as_str(), place.time), ("log", Some(1_770_000_000)), "other claims hold");
    }
}

fn proofs(edits: &[u8]) {
    let signed = &*SIGNED;
    for original in [&signed.entry_proof, &signed.continuation_proof] {
        let Ok(facts) = verify_proof(&edited(original, edits), &signed.key, None) else { continue };
        // A removed part is a mark in place of its value.
        if let ProofFacts::Entry { entry, removed, .. } = facts
            && removed.is_empty()
        {
            let found: Value = serde_json::from_slice(&entry).expect("a proved entry is JSON");
            let record: Value = serde_json::from_str(RECORD).expect("the record is JSON");
            let entries = record["session"]["entries"].as_array().expect("the record has entries");
            assert!(entries.contains(&found), "an entry is proved that the record does not have: {found}");
        }
    }
}
