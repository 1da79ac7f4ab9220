//! The example vectors of the COSE working group, and our own fixture for each case that they cover.
//!
//! The vectors are not part of this repository: the first test reads them from the folder `cose-vectors` below
//! `INTERLINGUA_CORPUS`, and is skipped without that variable. The other tests need no files.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]

mod forge;

use std::path::Path;

use forge::Parts;
use interlingua::json::from_base64;
use interlingua_record::signed::{CborItem, CoseError, KeyAlgorithm, PublicKey, Sign1, SigningKey, from_hex};
use serde_json::Value;

/// The outcome for one vector.
#[derive(Debug, PartialEq, Eq)]
enum VectorOutcome {
    Accepted,
    Refused(String),
    Unsupported,
}

fn coordinate(key: &Value, name: &str) -> Option<Vec<u8>> {
    if let Some(hex) = key[format!("{name}_hex")].as_str() {
        return from_hex(hex);
    }
    let mut text = key[name].as_str()?.replace('-', "+").replace('_', "/");
    while text.len() % 4 != 0 {
        text.push('=');
    }
    from_base64(&text)
}

/// The key of a vector, if its curve is supported.
fn vector_key(key: &Value) -> Option<PublicKey> {
    match key["crv"].as_str()? {
        "Ed25519" => PublicKey::from_point(KeyAlgorithm::Ed25519, &coordinate(key, "x")?).ok(),
        "P-256" => {
            let point = [vec![4], coordinate(key, "x")?, coordinate(key, "y")?].concat();
            PublicKey::from_point(KeyAlgorithm::Es256, &point).ok()
        }
        _ => None,
    }
}

fn run(vector: &Value) -> VectorOutcome {
    let input = &vector["input"]["sign0"];
    let bytes = from_hex(vector["output"]["cbor"].as_str().unwrap()).unwrap();
    let external = from_hex(input["external"].as_str().unwrap_or_default()).unwrap();
    let Some(key) = vector_key(&input["key"]) else { return VectorOutcome::Unsupported };
    let is_untagged = vector["input"]["failures"]["RemoveCBORTag"].is_number();
    let verified = || {
        let sign1 = if is_untagged { Sign1::decode_untagged(&bytes)? } else { Sign1::decode(&bytes)? };
        // One vector has its algorithm in the unprotected header; a signed record must have it in the protected header.
        let algorithm = match sign1.unprotected.member(1).and_then(CborItem::as_int) {
            Some(number) => KeyAlgorithm::from_cose(number).unwrap(),
            None => sign1.algorithm()?,
        };
        sign1.verify_bare(algorithm, &key, &external, None)
    };
    match verified() {
        Ok(()) => VectorOutcome::Accepted,
        Err(CoseError::UnsupportedAlgorithm(name)) if vector["fail"] != Value::Bool(true) => {
            assert!(name == "-36", "{name}");
            VectorOutcome::Unsupported
        }
        Err(error) => VectorOutcome::Refused(error.to_string()),
    }
}

#[test]
fn the_vectors_of_the_working_group_pass_and_fail_as_they_should() {
    let Some(corpus) = std::env::var_os("INTERLINGUA_CORPUS") else { return };
    let vectors = Path::new(&corpus).join("cose-vectors");
    let (mut accepted, mut refused, mut unsupported) = (0, 0, 0);
    for folder in ["sign1-tests", "eddsa-examples", "ecdsa-examples"] {
        for file in std::fs::read_dir(vectors.join(folder)).unwrap() {
            let path = file.unwrap().path();
            let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            if !vector["input"]["sign0"].is_object() {
                // A COSE_Sign, with several signatures, is refused by its tag.
                let bytes = from_hex(vector["output"]["cbor"].as_str().unwrap()).unwrap();
                assert_eq!(Sign1::decode(&bytes), Err(CoseError::WrongTag(Some(98))), "{path:?}");
                continue;
            }
            let should_fail = vector["fail"] == Value::Bool(true);
            match run(&vector) {
                VectorOutcome::Accepted => {
                    assert!(!should_fail, "{path:?} was accepted");
                    accepted += 1;
                }
                VectorOutcome::Refused(reason) => {
                    assert!(should_fail, "{path:?} was refused: {reason}");
                    refused += 1;
                }
                VectorOutcome::Unsupported => unsupported += 1,
            }
        }
    }
    assert_eq!((accepted, refused, unsupported), (5, 6, 4));
}

/// A small signature of our own, with its key.
fn small() -> (SigningKey, Vec<u8>) {
    let key = SigningKey::from_pem(&SigningKey::generate(KeyAlgorithm::Es256).unwrap()).unwrap();
    let protected =
        CborItem::Map(vec![(CborItem::int(1), CborItem::int(-7)), (CborItem::int(3), CborItem::Uint(0))]);
    let mut sign1 = Sign1::sign(&key, &protected, CborItem::Map(Vec::new()), b"content").unwrap();
    sign1.payload = Some(b"content".as_slice().into());
    let bytes = sign1.encode();
    (key, bytes)
}

fn outcome(bytes: &[u8], key: &SigningKey) -> String {
    match Sign1::decode(bytes).and_then(|sign1| sign1.verify(&key.public(), None)) {
        Ok(()) => "valid".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn protected(members: Vec<(CborItem<'static>, CborItem<'static>)>) -> CborItem<'static> {
    CborItem::bytes(CborItem::Map(members).encode())
}

#[test]
fn each_case_of_the_vectors_has_a_fixture_of_our_own() {
    let (key, file) = small();
    assert_eq!(outcome(&file, &key), "valid");
    let parts = Parts::of(&file);
    let bad = "the signature is not valid for its headers and payload";
    let alg = |value: CborItem<'static>| (CborItem::int(1), value);
    let cases: Vec<(&str, Parts, &str)> = vec![
        ("change the signature", Parts { signature: CborItem::bytes(vec![1; 64]), ..parts.clone() }, bad),
        ("change the payload", Parts { payload: CborItem::bytes(b"Content".to_vec()), ..parts.clone() }, bad),
        (
            "remove a protected header",
            Parts { protected: protected(vec![alg(CborItem::int(-7))]), ..parts.clone() },
            bad,
        ),
        (
            "add a protected header",
            Parts {
                protected: protected(vec![
                    alg(CborItem::int(-7)),
                    (CborItem::int(3), CborItem::Uint(0)),
                    (CborItem::int(16), CborItem::Uint(0)),
                ]),
                ..parts.clone()
            },
            bad,
        ),
        (
            "unknown algorithm",
            Parts { protected: protected(vec![alg(CborItem::int(-999))]), ..parts.clone() },
            "the signature algorithm -999 is not supported",
        ),
        (
            "algorithm by name",
            Parts { protected: protected(vec![alg(CborItem::text("unknown"))]), ..parts.clone() },
            "the signature algorithm `unknown` is not supported",
        ),
        (
            "no algorithm",
            Parts { protected: CborItem::bytes(Vec::new()), ..parts.clone() },
            "the protected header names no algorithm",
        ),
        (
            "a label in both headers",
            Parts { unprotected: vec![(CborItem::int(3), CborItem::Uint(0))], ..parts.clone() },
            "a header label is both protected and unprotected",
        ),
        (
            "a critical header",
            Parts {
                protected: protected(vec![
                    alg(CborItem::int(-7)),
                    (CborItem::int(2), CborItem::Array(vec![CborItem::int(77)])),
                ]),
                ..parts.clone()
            },
            "the signature has a critical header that is not supported",
        ),
        (
            "the payload as text",
            Parts { payload: CborItem::text("content"), ..parts.clone() },
            "the data is not a COSE_Sign1: the payload is neither a byte string nor null",
        ),
    ];
    for (name, parts, reason) in cases {
        assert_eq!(outcome(&parts.encode(), &key), reason, "{name}");
    }
    // The tag 998 instead of 18, and no tag at all.
    let untagged = &file[1..];
    let other_tag = [&[0xd9, 0x03, 0xe6], untagged].concat();
    assert_eq!(outcome(&other_tag, &key), "the CBOR tag is 998; a COSE_Sign1 has the tag 18");
    assert_eq!(outcome(untagged, &key), "the CBOR data has no tag; a COSE_Sign1 has the tag 18");
    assert!(Sign1::decode_untagged(untagged).unwrap().verify(&key.public(), None).is_ok());
}

#[test]
fn a_duplicate_header_is_refused() {
    let (key, file) = small();
    let twice = [0xa2, 0x01, 0x26, 0x01, 0x26];
    let parts = Parts { protected: CborItem::bytes(twice.to_vec()), ..Parts::of(&file) };
    assert_eq!(outcome(&parts.encode(), &key), "a CBOR map holds a key twice, at offset 3");
}
