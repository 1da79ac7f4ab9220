//! The local log: its receipts hold offline, its files are tiles, and an append that was killed leaves it usable.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]

mod forge;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use forge::{Parts, owned};
use interlingua_record::signed::{
    CborItem, KeyAlgorithm, PayloadForm, SignSettings, SigningKey, TransparencyLog, add_receipt, receipts_of,
    sign, verify, verify_receipts,
};

const TIME: u64 = 1_770_000_000;

fn key(algorithm: KeyAlgorithm) -> SigningKey {
    SigningKey::from_pem(&SigningKey::generate(algorithm).unwrap()).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("log-{name}"));
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// A signature file of a small record with this text.
fn file(key: &SigningKey, text: &str) -> Vec<u8> {
    let record = format!(
        r#"{{"version":"3.0.0","id":"r","session":{{"session-id":"s","entries":[{{"type":"user","content":"{text}"}}],"agent-meta":{{}}}}}}"#
    );
    let settings = SignSettings {
        key,
        signer: "Ann",
        time: TIME,
        chain: None,
        payload: PayloadForm::Attached,
        checkpoint: false,
        earlier: None,
    };
    sign(record.as_bytes(), &settings).unwrap().file
}

#[test]
fn every_receipt_holds_and_the_signatures_still_hold() {
    let (ann, log_key) = (key(KeyAlgorithm::Ed25519), key(KeyAlgorithm::Ed25519));
    let folder = folder("receipts");
    let signed = file(&ann, "one");
    for index in 0..300 {
        let mut log = TransparencyLog::open(&folder, &log_key, "example.org/log").unwrap();
        assert_eq!(log.size(), index);
        let (registered, place) = log.append(&signed, TIME + index).unwrap();
        assert_eq!((place.index, place.size), (index, index + 1));
        let check = verify_receipts(&registered, &log_key.public()).unwrap();
        assert!(check.failing.is_empty(), "{index}: {:?}", check.failing);
        assert_eq!(check.holding, [place]);
        if index == 299 {
            assert!(verify(&registered, None, &ann.public(), None).unwrap().is_sound());
            assert_eq!(check.holding[0].time, Some(TIME + 299));
        }
    }
    // The tiles of 300 entries: a full one, a partial one, and the root of the full one, one level up.
    let length = |name: &str| fs::read(folder.join("tile").join(name)).unwrap().len();
    assert_eq!((length("0/000"), length("0/001.p/44")), (8192, 44 * 32));
    assert_eq!((length("1/000.p/1"), length("entries/001.p/44")), (32, 44 * 34));
    let checkpoint = fs::read_to_string(folder.join("checkpoint")).unwrap();
    assert!(checkpoint.starts_with("example.org/log\n300\n"), "{checkpoint}");
    assert!(checkpoint.contains("\n\n\u{2014} example.org/log "), "{checkpoint}");
}

/// The one receipt of a registered file.
fn receipt_of(registered: &[u8]) -> Vec<u8> {
    let [receipt] = <[Vec<u8>; 1]>::try_from(receipts_of(registered).unwrap()).unwrap();
    receipt
}

#[test]
fn a_flipped_bit_of_any_byte_of_a_receipt_is_refused_with_a_reason() {
    let mut reasons = BTreeMap::new();
    for algorithm in [KeyAlgorithm::Ed25519, KeyAlgorithm::Es256] {
        let (ann, log_key) = (key(algorithm), key(KeyAlgorithm::Ed25519));
        let mut log =
            TransparencyLog::open(&folder(&format!("flips-{algorithm:?}")), &log_key, "log").unwrap();
        let bare = file(&ann, "one");
        // Trees with one leaf, with paths of each length, and with leaves that have no sibling.
        for size in 1..=9 {
            let (registered, place) = log.append(&bare, TIME).unwrap();
            assert_eq!(place.size, size);
            let receipt = receipt_of(&registered);
            for at in 0..receipt.len() {
                for bit in (0..8).step_by(if at < 64 { 1 } else { 5 }) {
                    let mut flipped = receipt.clone();
                    flipped[at] ^= 1 << bit;
                    let changed = add_receipt(&bare, &flipped).unwrap();
                    let check = verify_receipts(&changed, &log_key.public()).unwrap();
                    assert!(check.holding.is_empty(), "bit {bit} of byte {at} of receipt {size}");
                    assert_eq!(check.failing.len(), 1);
                    *reasons.entry(check.failing[0].to_string()).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(reasons.len() > 5 && reasons.keys().all(|reason| reason.len() > 20), "{reasons:?}");
}

/// RFC 9942 signs the root alone: the path of file 2 of 3 is also that of file 1 of 2.
#[test]
fn another_position_with_the_same_root_is_refused() {
    let (ann, log_key) = (key(KeyAlgorithm::Ed25519), key(KeyAlgorithm::Ed25519));
    let mut log = TransparencyLog::open(&folder("place"), &log_key, "log").unwrap();
    let bare = file(&ann, "one");
    let last = (0..3).map(|_| log.append(&bare, TIME).unwrap()).last().unwrap();
    assert_eq!((last.1.index, last.1.size, last.1.is_place_signed), (2, 3, true));
    let mut parts = Parts::of(&receipt_of(&last.0));
    let moved = |parts: &mut Parts| {
        let proofs = parts.unprotected.iter_mut().find(|(name, _)| name.as_int() == Some(396)).unwrap();
        let CborItem::Map(proofs) = &mut proofs.1 else { panic!("no proofs") };
        let proof = owned(&CborItem::decode(proofs[0].1.as_array().unwrap()[0].as_bytes().unwrap()).unwrap());
        let CborItem::Array(mut proof) = proof else { panic!("no proof") };
        assert_eq!((proof[0].as_uint(), proof[1].as_uint()), (Some(3), Some(2)));
        (proof[0], proof[1]) = (CborItem::Uint(2), CborItem::Uint(1));
        proofs[0].1 = CborItem::Array(vec![CborItem::bytes(CborItem::Array(proof).encode())]);
    };
    moved(&mut parts);
    let changed = add_receipt(&bare, &parts.encode()).unwrap();
    let check = verify_receipts(&changed, &log_key.public()).unwrap();
    assert!(check.holding.is_empty(), "{:?}", check.holding);
    assert_eq!(
        check.failing[0].to_string(),
        "the receipt does not lead from this file to a root that the log signed"
    );
}

#[test]
fn a_receipt_for_another_file_or_by_another_key_does_not_hold() {
    let (ann, log_key) = (key(KeyAlgorithm::Es256), key(KeyAlgorithm::Ed25519));
    let mut log = TransparencyLog::open(&folder("forged"), &log_key, "log").unwrap();
    let (one, two) = (file(&ann, "one"), file(&ann, "two"));
    log.append(&two, TIME).unwrap();
    let (registered, _) = log.append(&one, TIME).unwrap();
    let receipts = Parts::of(&registered).unprotected;
    let receipt = receipts.iter().find(|(name, _)| name.as_int() == Some(394)).unwrap().1.clone();
    let receipt = receipt.as_array().unwrap()[0].as_bytes().unwrap().to_vec();
    let reason = |file: &[u8], key: &SigningKey| {
        let check = verify_receipts(file, &key.public()).unwrap();
        assert!(check.holding.is_empty(), "{:?}", check.holding);
        check.failing[0].to_string()
    };
    let moved = add_receipt(&two, &receipt).unwrap();
    assert_eq!(
        reason(&moved, &log_key),
        "the receipt does not lead from this file to a root that the log signed"
    );
    let other = reason(&registered, &key(KeyAlgorithm::Ed25519));
    assert!(other.starts_with("the signature was made by another key"), "{other}");
    assert!(verify_receipts(&one, &log_key.public()).unwrap().holding.is_empty());
}

#[test]
fn an_append_that_was_killed_is_replaced_by_the_next_one() {
    let (ann, log_key) = (key(KeyAlgorithm::Ed25519), key(KeyAlgorithm::Ed25519));
    let folder = folder("killed");
    let mut log = TransparencyLog::open(&folder, &log_key, "log").unwrap();
    log.append(&file(&ann, "one"), TIME).unwrap();
    let before = fs::read(folder.join("checkpoint")).unwrap();
    log.append(&file(&ann, "lost"), TIME).unwrap();
    drop(log);
    // The state after a kill between the tiles and the checkpoint, with a torn temporary file.
    fs::write(folder.join("checkpoint"), before).unwrap();
    fs::write(folder.join("new"), "torn").unwrap();
    fs::write(folder.join("tile/0/000.p/2"), [7; 40]).unwrap();
    let mut log = TransparencyLog::open(&folder, &log_key, "log").unwrap();
    assert_eq!(log.size(), 1);
    let (registered, place) = log.append(&file(&ann, "two"), TIME).unwrap();
    assert_eq!(place.index, 1);
    assert_eq!(verify_receipts(&registered, &log_key.public()).unwrap().holding, [place]);
}

#[test]
fn a_log_with_changed_files_another_key_or_another_writer_is_refused() {
    let (ann, log_key) = (key(KeyAlgorithm::Ed25519), key(KeyAlgorithm::Ed25519));
    let folder = folder("refused");
    let refusal = |key: &SigningKey, origin: &str| {
        TransparencyLog::open(&folder, key, origin).err().map(|fault| fault.to_string()).unwrap()
    };
    let mut log = TransparencyLog::open(&folder, &log_key, "log").unwrap();
    log.append(&file(&ann, "one"), TIME).unwrap();
    log.append(&file(&ann, "two"), TIME).unwrap();
    assert_eq!(refusal(&log_key, "log"), "another program appends to the log");
    drop(log);
    let damaged = "the checkpoint of the log is damaged, or another key signed it";
    assert_eq!(refusal(&ann, "log"), damaged);
    assert_eq!(refusal(&log_key, "other"), "the log has the origin `log`");
    assert_eq!(refusal(&key(KeyAlgorithm::Es256), "log"), "the key of a log must be an Ed25519 key");
    assert_eq!(refusal(&log_key, "a b"), "the origin of a log is a name without white space and plus signs");
    let tile = folder.join("tile/0/000.p/2");
    let mut bytes = fs::read(&tile).unwrap();
    bytes[0] ^= 1;
    fs::write(&tile, &bytes).unwrap();
    assert_eq!(refusal(&log_key, "log"), "the tiles of the log do not lead to the root of its checkpoint");
    let checkpoint = fs::read_to_string(folder.join("checkpoint")).unwrap();
    fs::write(folder.join("checkpoint"), checkpoint.replace("\n2\n", "\n1\n")).unwrap();
    assert_eq!(refusal(&log_key, "log"), damaged);
}
