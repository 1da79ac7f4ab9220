//! Signing and verification: each signature holds for its record, and each change is refused with its own reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]

mod forge;

use std::io::Read;

use forge::{Parts, member_named, replace_member};
use interlingua_record::signed::{
    CborItem, KeyAlgorithm, PayloadForm, PublicKey, Sign1, SignSettings, SignatureCheck, SigningKey,
    Verification, sign, verify,
};

const RECORD: &str = concat!(
    r#"{"version":"3.0.0","id":"r1","session":{"session-id":"s1","entries":["#,
    r#"{"type":"user","timestamp":"2026-02-10T17:27:14Z","content":"hello there"},"#,
    r#"{"type":"tool-call","name":"run","input":{"command":"ls"},"call-id":"c1","vendor-ext":{"vendor":"x"}},"#,
    r#"{"type":"tool-result","output":"a file","call-id":"c1"}"#,
    r#"],"session-start":"2026-02-10T17:27:14Z","agent-meta":{"model-id":"m","model-provider":"p"}}}"#,
    "\n"
);

fn key(algorithm: KeyAlgorithm) -> SigningKey {
    SigningKey::from_pem(&SigningKey::generate(algorithm).unwrap()).unwrap()
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

fn signed(record: &str, settings: &SignSettings<'_>) -> Vec<u8> {
    sign(record.as_bytes(), settings).unwrap().file
}

fn verified(file: &[u8], record: &str, key: &PublicKey) -> Verification {
    let mut record = record.as_bytes();
    verify(file, Some(&mut record as &mut dyn Read), key, None).unwrap()
}

/// The results of both signatures in a few words.
fn words(verification: &Verification) -> (String, String) {
    let envelope = match &verification.envelope {
        SignatureCheck::Holds(_) => "holds".to_owned(),
        SignatureCheck::Fails(fault) => fault.to_string(),
        SignatureCheck::Absent => "absent".to_owned(),
    };
    let head = match &verification.head {
        SignatureCheck::Holds(_) => "holds".to_owned(),
        SignatureCheck::Fails(fault) => fault.to_string(),
        SignatureCheck::Absent => "absent".to_owned(),
    };
    (envelope, head)
}

fn both(envelope: &str, head: &str) -> (String, String) {
    (envelope.to_owned(), head.to_owned())
}

#[test]
fn both_signatures_hold_for_the_signed_record() {
    for algorithm in [KeyAlgorithm::Ed25519, KeyAlgorithm::Es256] {
        let key = key(algorithm);
        let detached = verified(&signed(RECORD, &settings(&key)), RECORD, &key.public());
        let file = signed(RECORD, &SignSettings { payload: PayloadForm::Attached, ..settings(&key) });
        let attached = verify(&file, None, &key.public(), None).unwrap();
        for verification in [detached, attached] {
            assert!(verification.is_sound(), "{verification:?}");
            let envelope = verification.envelope.facts().unwrap();
            assert_eq!((envelope.signer.as_str(), envelope.session.as_str()), ("Ann", "s1"));
            assert_eq!((envelope.bytes, envelope.has_metadata), (RECORD.len() as u64, true));
            let head = verification.head.facts().unwrap();
            assert_eq!((head.head.size, head.head.time), (3, 1_770_000_000));
            assert_eq!(head.removed.places, []);
        }
    }
}

#[test]
fn a_flipped_bit_of_any_byte_of_the_record_breaks_both_signatures() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &settings(&key));
    for at in 0..RECORD.len() {
        for bit in [0x01, 0x20] {
            let mut record = RECORD.as_bytes().to_vec();
            record[at] ^= bit;
            let mut record = record.as_slice();
            let verification = verify(&file, Some(&mut record), &key.public(), None).unwrap();
            let (envelope, head) = words(&verification);
            assert_eq!(envelope, "the bytes of the record are not the signed bytes");
            assert_ne!(head, "holds", "byte {at}");
        }
    }
}

#[test]
fn a_flipped_bit_of_any_byte_of_the_file_is_refused() {
    for algorithm in [KeyAlgorithm::Ed25519, KeyAlgorithm::Es256] {
        let key = key(algorithm);
        for payload in [PayloadForm::Attached, PayloadForm::Detached, PayloadForm::Digest] {
            let file = signed(RECORD, &SignSettings { payload, ..settings(&key) });
            for at in 0..file.len() {
                for bit in [0x01, 0x20] {
                    let mut flipped = file.clone();
                    flipped[at] ^= bit;
                    let mut record = RECORD.as_bytes();
                    let record = (payload != PayloadForm::Attached).then_some(&mut record as &mut dyn Read);
                    let found = verify(&flipped, record, &key.public(), None);
                    assert!(
                        !found.is_ok_and(|found| found.is_sound()),
                        "bit {bit} of byte {at} of {}",
                        file.len()
                    );
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_any_byte_of_a_checkpoint_is_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &SignSettings { checkpoint: true, ..settings(&key) });
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut flipped = file.clone();
            flipped[at] ^= 1 << bit;
            let found = verify(&flipped, Some(&mut RECORD.as_bytes()), &key.public(), None);
            assert!(!found.is_ok_and(|found| found.is_sound()), "bit {bit} of byte {at} of {}", file.len());
        }
    }
}

#[test]
fn every_cut_of_the_file_is_refused_as_truncated() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &SignSettings { payload: PayloadForm::Attached, ..settings(&key) });
    for end in 0..file.len() {
        let refusal = verify(&file[..end], None, &key.public(), None).unwrap_err().to_string();
        assert_eq!(refusal, "the CBOR data is truncated", "{end}");
    }
    let longer = [&file[..], &[0]].concat();
    let refusal = verify(&longer, None, &key.public(), None).unwrap_err().to_string();
    assert!(refusal.contains("bytes follow"), "{refusal}");
}

#[test]
fn changed_entries_are_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &settings(&key));
    let call = r#"{"type":"tool-call","name":"run","input":{"command":"ls"},"call-id":"c1","vendor-ext":{"vendor":"x"}}"#;
    let result = r#"{"type":"tool-result","output":"a file","call-id":"c1"}"#;
    let swapped = RECORD.replace(call, "#").replace(result, call).replace('#', result);
    let missing = RECORD.replace(&format!("{call},"), "");
    let other = "the bytes of the record are not the signed bytes";
    for (record, head) in [
        (swapped, "the entries do not lead to the signed root"),
        (missing, "the tree head counts 3 entries, and the record has 2"),
        (
            RECORD.replace("\"s1\"", "\"s2\""),
            "the signature is for the session `s1`, and the record is of `s2`",
        ),
        (RECORD.replace("\"m\"", "\"n\""), "the members outside the entries are not the signed members"),
        (
            RECORD.replace("\"output\"", "\"output\":1,\"output\""),
            "the record holds the name `output` twice in one object",
        ),
        (RECORD[..RECORD.len() - 20].to_owned(), "the record is truncated at offset 375"),
        (
            format!("{RECORD}{RECORD}"),
            "the file holds several records: a second document begins at offset 395",
        ),
    ] {
        assert_eq!(words(&verified(&file, &record, &key.public())), both(other, head));
    }
}

#[test]
fn another_key_is_refused_by_its_id() {
    let (ann, bob) = (key(KeyAlgorithm::Ed25519), key(KeyAlgorithm::Ed25519));
    let (envelope, head) = words(&verified(&signed(RECORD, &settings(&ann)), RECORD, &bob.public()));
    let reason = format!(
        "the signature was made by another key: {}",
        interlingua_record::signed::hex(&ann.public().kid())
    );
    assert_eq!((envelope, head), (reason.clone(), reason));
}

#[test]
fn a_second_payload_and_a_missing_payload_are_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let attached = signed(RECORD, &SignSettings { payload: PayloadForm::Attached, ..settings(&key) });
    let mut record = RECORD.as_bytes();
    let refusal = verify(&attached, Some(&mut record), &key.public(), None).unwrap_err().to_string();
    assert_eq!(refusal, "the signature carries its own record, and a second record was given");
    let detached = signed(RECORD, &settings(&key));
    let refusal = verify(&detached, None, &key.public(), None).unwrap_err().to_string();
    assert_eq!(refusal, "the signature is detached, and the record was not given");
}

#[test]
fn forged_metadata_is_refused_by_the_name_of_its_member() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &settings(&key));
    for name in [
        "session-id",
        "agent-vendor",
        "trace-format",
        "timestamp-start",
        "content-hash",
        "content-hash-alg",
        "new",
    ] {
        let forged = Parts::of(&file).with_metadata(|metadata| {
            replace_member(metadata, name, CborItem::text("forged"));
        });
        let (envelope, head) = words(&verified(&forged, RECORD, &key.public()));
        let reason = format!("the record does not confirm the unsigned trace metadata: `{name}`");
        assert_eq!((envelope.as_str(), head.as_str()), (reason.as_str(), "holds"));
    }
    let stripped = Parts::of(&file).with_metadata(|metadata| {
        metadata.retain(|(name, _)| name.as_text() != Some("session-id"));
    });
    let (envelope, _) = words(&verified(&stripped, RECORD, &key.public()));
    assert!(envelope.ends_with("`session-id` is missing"), "{envelope}");
}

#[test]
fn a_replaced_salt_is_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let (one, two) = (signed(RECORD, &settings(&key)), signed(RECORD, &settings(&key)));
    let salts = member_named(&Parts::of(&two).head().unprotected, "salts");
    let forged =
        Parts::of(&one).with_head(|head| replace_member(&mut head.unprotected, "salts", salts.clone()));
    let reason = "the salts or the tree head were replaced: the record is unchanged, and does not lead to the signed root";
    assert_eq!(words(&verified(&forged, RECORD, &key.public())), both("holds", reason));
    let none = Parts::of(&one).with_head(|head| head.unprotected.clear());
    let reason = "the salts beside the tree head are missing or damaged";
    assert_eq!(words(&verified(&none, RECORD, &key.public())), both("holds", reason));
}

#[test]
fn the_head_of_another_record_is_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let other = RECORD.replace("hello there", "hello where");
    let (one, two) = (signed(RECORD, &settings(&key)), signed(&other, &settings(&key)));
    let forged = Parts::of(&one).with_head(|head| *head = Parts::of(&two).head());
    let (envelope, head) = words(&verified(&forged, RECORD, &key.public()));
    assert_eq!(envelope, "holds");
    assert!(head.contains("does not lead to the signed root"), "{head}");
    // An envelope is no head, although the same key signed it.
    let forged = Parts::of(&one).with_head(|head| *head = Parts::of(&two));
    assert_eq!(
        words(&verified(&forged, RECORD, &key.public())),
        both("holds", "the file holds no tree head")
    );
}

/// The envelope with a changed protected header, signed again by its own signer.
fn signed_again(
    file: &[u8],
    key: &SigningKey,
    change: impl FnOnce(&mut Vec<(CborItem<'static>, CborItem<'static>)>),
) -> Vec<u8> {
    let parts = Parts::of(file);
    let protected = forge::owned(&CborItem::decode(parts.protected.as_bytes().unwrap()).unwrap());
    let CborItem::Map(mut headers) = protected else { panic!("no map") };
    change(&mut headers);
    let payload = parts.payload.as_bytes().unwrap();
    let unprotected = CborItem::Map(parts.unprotected.clone());
    let mut sign1 = Sign1::sign(key, &CborItem::Map(headers), unprotected, payload).unwrap();
    sign1.payload = Some(payload.to_vec().into());
    sign1.encode()
}

fn replace_label(
    headers: &mut Vec<(CborItem<'static>, CborItem<'static>)>,
    label: i64,
    value: CborItem<'static>,
) {
    headers.retain(|(name, _)| name.as_int() != Some(label));
    headers.push((CborItem::int(label), value));
}

#[test]
fn a_signature_over_another_type_of_content_is_no_signature_of_a_record() {
    let key = key(KeyAlgorithm::Ed25519);
    let attached = signed(RECORD, &SignSettings { payload: PayloadForm::Attached, ..settings(&key) });
    let with_type = |value: CborItem<'static>| {
        let file = signed_again(&attached, &key, |headers| replace_label(headers, 3, value));
        words(&verify(&file, None, &key.public(), None).unwrap()).0
    };
    for text in
        ["application/agent-conversation", "application/agent-conversation+cbor; v=3", "application/JSON"]
    {
        assert_eq!(with_type(CborItem::text(text)), "holds", "{text}");
    }
    assert_eq!(with_type(CborItem::Uint(50)), "holds");
    for (value, name) in [
        (CborItem::text("text/plain"), "`text/plain`"),
        (CborItem::text("application/agent-conversation-draft"), "`application/agent-conversation-draft`"),
        (CborItem::Uint(51), "51"),
        (CborItem::Null, "of an unknown type"),
    ] {
        let reason = format!("the signature is over content of the type {name}, and not over a record");
        assert_eq!(with_type(value), reason);
    }
    let digest = signed(RECORD, &SignSettings { payload: PayloadForm::Digest, ..settings(&key) });
    let file =
        signed_again(&digest, &key, |headers| replace_label(headers, 259, CborItem::text("text/plain")));
    let (envelope, _) = words(&verified(&file, RECORD, &key.public()));
    assert!(envelope.contains("content of the type `text/plain`"), "{envelope}");
}

#[test]
fn claims_that_are_not_evaluated_are_refused_and_not_ignored() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &SignSettings { payload: PayloadForm::Attached, ..settings(&key) });
    let with_claims = |claims: Vec<(i64, CborItem<'static>)>| {
        let claims = claims.into_iter().map(|(label, value)| (CborItem::int(label), value)).collect();
        let file = signed_again(&file, &key, |headers| replace_label(headers, 15, CborItem::Map(claims)));
        words(&verify(&file, None, &key.public(), None).unwrap()).0
    };
    let names = || vec![(1, CborItem::text("Ann")), (2, CborItem::text("s1"))];
    assert_eq!(with_claims(names()), "holds");
    let time = "the time of signing (CWT claim `iat`) is not a number of seconds";
    for value in [CborItem::text("yesterday"), CborItem::int(-5), CborItem::Null] {
        assert_eq!(with_claims([names(), vec![(6, value)]].concat()), time);
    }
    for limit in [4, 5] {
        let reason = with_claims([names(), vec![(limit, CborItem::Uint(1))]].concat());
        assert!(reason.starts_with("the signature limits its own validity"), "{reason}");
    }
    let nobody = with_claims(vec![(1, CborItem::text("")), (2, CborItem::text("s1"))]);
    assert!(nobody.starts_with("the signature names no signer"), "{nobody}");
}

#[test]
fn an_unknown_unprotected_header_is_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &settings(&key));
    let note = CborItem::text("the court has seen this");
    let refusal = |file: &[u8]| {
        let mut record = RECORD.as_bytes();
        match verify(file, Some(&mut record), &key.public(), None) {
            Ok(found) => words(&found).1,
            Err(fault) => fault.to_string(),
        }
    };
    let unknown =
        |name: &str| format!("the unprotected header {name} is unknown, and no signature covers it");
    let mut parts = Parts::of(&file);
    replace_member(&mut parts.unprotected, "note", note.clone());
    assert_eq!(refusal(&parts.encode()), unknown("`note`"));
    let mut parts = Parts::of(&file);
    parts.unprotected.push((CborItem::int(101), note.clone()));
    assert_eq!(refusal(&parts.encode()), unknown("101"));
    let in_head = Parts::of(&file).with_head(|head| replace_member(&mut head.unprotected, "note", note));
    assert_eq!(refusal(&in_head), unknown("`note`"));
    // Salts of an entry that the record does not have, and two lists for one entry.
    let salts = |entries: &[u64]| {
        let item = |entry: &u64| CborItem::Array(vec![CborItem::Uint(*entry), CborItem::bytes(vec![1; 32])]);
        CborItem::Array(entries.iter().map(item).collect())
    };
    for entries in [&[100][..], &[1, 1], &[2, 1]] {
        let forged = Parts::of(&file)
            .with_head(|head| replace_member(&mut head.unprotected, "part-salts", salts(entries)));
        assert_eq!(refusal(&forged), "the salts beside the tree head are missing or damaged", "{entries:?}");
    }
}

#[test]
fn a_checkpoint_says_that_it_does_not_cover_the_digest_of_the_source() {
    let key = key(KeyAlgorithm::Ed25519);
    let source = |digit: &str| {
        let value = format!(r#"{{"bytes":12,"dialect":"pi","sha-256":"{}"}}"#, digit.repeat(64));
        let extension =
            format!(r#""vendor-ext":{{"vendor":"interlingua","data":{{"source":{value}}}}},"session-start""#);
        RECORD.replace(r#""session-start""#, &extension)
    };
    let checkpoint = SignSettings { checkpoint: true, ..settings(&key) };
    let file = signed(&source("a"), &checkpoint);
    let facts = |record: &str| verified(&file, record, &key.public()).head.facts().unwrap().has_open_source;
    assert!(facts(&source("a")));
    assert!(facts(&source("b")));
    let nothing = signed(RECORD, &checkpoint);
    assert!(!verified(&nothing, RECORD, &key.public()).head.facts().unwrap().has_open_source);
}

#[test]
fn a_stripped_signature_is_absent_and_not_valid() {
    let key = key(KeyAlgorithm::Ed25519);
    let file = signed(RECORD, &settings(&key));
    let stripped = Parts::of(&file).without("tree-head");
    assert_eq!(words(&verified(&stripped, RECORD, &key.public())), both("holds", "absent"));
    let head_alone = Parts::of(&file).head().encode();
    assert_eq!(words(&verified(&head_alone, RECORD, &key.public())), both("absent", "holds"));
}

#[test]
fn a_record_without_any_time_has_no_invented_metadata() {
    let record = RECORD
        .replace(r#""timestamp":"2026-02-10T17:27:14Z","#, "")
        .replace(r#""session-start":"2026-02-10T17:27:14Z","#, "");
    let key = key(KeyAlgorithm::Ed25519);
    let signed = sign(record.as_bytes(), &settings(&key)).unwrap();
    assert!(!signed.has_metadata);
    let verification = verified(&signed.file, &record, &key.public());
    assert!(verification.is_sound());
    assert!(!verification.envelope.facts().unwrap().has_metadata);
}

/// A record of this many entries.
fn grown(entries: usize) -> String {
    let entries: Vec<String> =
        (0..entries).map(|at| format!(r#"{{"type":"user","content":"text {at}"}}"#)).collect();
    let entries = entries.join(",");
    format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s1","entries":[{entries}],"agent-meta":{{}}}}}}"#
    )
}

#[test]
fn a_checkpoint_is_continued_and_an_old_one_is_refused() {
    let key = key(KeyAlgorithm::Ed25519);
    let checkpoint = SignSettings { checkpoint: true, ..settings(&key) };
    let old = signed(&grown(3), &checkpoint);
    let new = signed(&grown(8), &SignSettings { earlier: Some(&old), time: 1_770_000_100, ..settings(&key) });
    let check = |file: &[u8], entries: usize, earlier: &[u8]| {
        let record = grown(entries);
        let mut record = record.as_bytes();
        words(&verify(file, Some(&mut record), &key.public(), Some(earlier)).unwrap())
    };
    assert_eq!(check(&new, 8, &old), both("holds", "holds"));
    let replayed = "an old checkpoint: the head counts 3 entries, and an earlier head counts 8";
    assert_eq!(check(&old, 3, &new), both("absent", replayed));
    // Without the earlier head, an old head does not fit the longer record.
    let size = "the tree head counts 3 entries, and the record has 8";
    assert_eq!(words(&verified(&old, &grown(8), &key.public())), both("absent", size));
    // A new tree of the same entries does not continue the old tree, because it has other salts.
    let unrelated = signed(&grown(8), &settings(&key));
    let reason = "the record does not begin with the 3 entries of the earlier head";
    assert_eq!(check(&unrelated, 8, &old), both("holds", reason));
    let earlier_time = SignSettings { earlier: Some(&new), ..settings(&key) };
    let refusal = sign(grown(9).as_bytes(), &earlier_time).err().unwrap().to_string();
    assert_eq!(refusal, "the head has a time before that of the earlier head");
    let changed = grown(8).replace("text 1", "text X");
    let refusal = sign(changed.as_bytes(), &SignSettings { earlier: Some(&old), ..settings(&key) });
    assert_eq!(refusal.err().unwrap().to_string(), reason);
}

#[test]
fn a_large_record_is_signed_by_its_digest_and_cannot_be_attached() {
    let key = key(KeyAlgorithm::Es256);
    let long = "x".repeat(70 << 20);
    let record = RECORD.replace("hello there", &long);
    let signed = sign(record.as_bytes(), &settings(&key)).unwrap();
    assert!(signed.by_digest && signed.file.len() < 2000);
    assert_eq!(words(&verified(&signed.file, &record, &key.public())), both("holds", "holds"));
    let changed = record.replace("a file", "a fine");
    let other = "the bytes of the record are not the signed bytes";
    let (envelope, _) = words(&verified(&signed.file, &changed, &key.public()));
    assert_eq!(envelope, other);
    let refusal = sign(record.as_bytes(), &SignSettings { payload: PayloadForm::Attached, ..settings(&key) });
    assert_eq!(refusal.err().unwrap().to_string(), "a record of more than 64 MiB cannot be attached");
}
