//! Receipts of transparency logs (COSE receipts, RFC 9942) with inclusion proofs in a tree of RFC 9162.
//!
//! A receipt is a COSE_Sign1 by the key of the log over the root of its tree, with a proof that the signature file is a
//! leaf of that tree. Receipts are byte strings in the unprotected header 394 of the signature file. The leaf is the
//! SHA-256 of the file without its unprotected header, so a receipt changes nothing that it is about, and the log learns
//! nothing about the record.

use super::cbor::CborItem;
use super::cose::{Sign1, label};
use super::digest::{Hash, sha256};
use super::head::{Claims, TREE_HEAD_TYPE, claims, read_claims};
use super::keys::{PublicKey, SigningKey};
use super::tree::root_of_inclusion;
use super::verify::SignatureFault;

/// The number of RFC9162_SHA256 among the verifiable data structures.
const RFC9162_SHA256: i64 = 1;
/// The label of inclusion proofs among the proofs.
const INCLUSION: i64 = -1;
/// The protected headers with the position and the size of the tree.
const LEAF_INDEX: &str = "leaf-index";
const TREE_SIZE: &str = "tree-size";
/// The most receipts that are verified in one file.
const MAX_RECEIPTS: usize = 64;

/// The place of a signature file in a log, as shown by a receipt that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInclusion {
    /// The name of the log.
    pub origin: String,
    /// Seconds since 1970, by the clock of the log.
    pub time: Option<u64>,
    /// The position of the file in the log, from 0.
    pub index: u64,
    /// The number of files in the log when the receipt was made.
    pub size: u64,
    /// Whether the log signed the position and the number. RFC 9942 has both outside the signature, where another pair can lead
    /// to the same root: file 2 of 3 can pass for file 1 of 2.
    pub is_place_signed: bool,
}

/// The result for the receipts of a signature file.
#[derive(Debug, Default)]
pub struct ReceiptCheck {
    /// Receipts by the given key that hold.
    pub holding: Vec<LogInclusion>,
    /// The reasons for which other receipts do not hold.
    pub failing: Vec<SignatureFault>,
}

/// The bytes that a log registers for a signature file: its SHA-256 without the unprotected header.
pub(super) fn log_entry(file: &Sign1<'_>) -> Hash {
    let mut bare = file.clone();
    bare.unprotected = CborItem::Map(Vec::new());
    sha256(&[&bare.encode()])
}

/// The hash of a leaf of the log (RFC 9162).
pub(super) fn log_leaf(entry: &Hash) -> Hash {
    sha256(&[&[0x00], entry])
}

/// Makes a receipt for the leaf at `place.index`.
pub(super) fn make_receipt(
    key: &SigningKey,
    place: &LogInclusion,
    entry: &Hash,
    root: &Hash,
    path: &[Hash],
) -> Result<Vec<u8>, SignatureFault> {
    let public = key.public();
    let subject = super::digest::hex(entry);
    let protected = CborItem::Map(vec![
        (CborItem::int(label::ALG), CborItem::int(public.algorithm().cose_number())),
        (CborItem::int(label::KID), CborItem::bytes(public.kid().to_vec())),
        (CborItem::int(label::CWT_CLAIMS), claims(&place.origin, &subject, place.time.unwrap_or_default())),
        (CborItem::int(label::VDS), CborItem::int(RFC9162_SHA256)),
        (CborItem::text(LEAF_INDEX), CborItem::Uint(place.index)),
        (CborItem::text(TREE_SIZE), CborItem::Uint(place.size)),
    ]);
    let proof = CborItem::Array(vec![
        CborItem::Uint(place.size),
        CborItem::Uint(place.index),
        CborItem::Array(path.iter().map(|hash| CborItem::bytes(hash.to_vec())).collect()),
    ])
    .encode();
    let proofs =
        CborItem::Map(vec![(CborItem::int(INCLUSION), CborItem::Array(vec![CborItem::bytes(proof)]))]);
    let unprotected = CborItem::Map(vec![(CborItem::int(label::VDP), proofs)]);
    Ok(Sign1::sign(key, &protected, unprotected, root)?.encode())
}

/// Adds a receipt to a signature file. The signatures of the file do not cover receipts.
pub fn add_receipt(file: &[u8], receipt: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let mut sign1 = Sign1::decode(file)?;
    let CborItem::Map(members) = &mut sign1.unprotected else { return Err(SignatureFault::BadReceipt) };
    let receipt = CborItem::bytes(receipt.to_vec());
    match members.iter_mut().find(|(name, _)| name.as_int() == Some(label::RECEIPTS)) {
        Some((_, CborItem::Array(receipts))) => receipts.push(receipt),
        Some(_) => return Err(SignatureFault::BadReceipt),
        None => members.push((CborItem::int(label::RECEIPTS), CborItem::Array(vec![receipt]))),
    }
    Ok(sign1.encode())
}

/// The statement of a signature file for a transparency service: the file without its unprotected header, which holds salts
/// and unsigned facts. A file with a record inside or beside it is refused: the service must get a payload, and a digest
/// or a tree head discloses nothing.
pub fn statement_of(file: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let mut sign1 = Sign1::decode(file)?;
    let is_digest = sign1.protected.member(label::PAYLOAD_HASH_ALG).is_some();
    let kind = sign1.protected.member(label::CONTENT_TYPE).and_then(CborItem::as_text);
    if sign1.payload.is_none() || !is_digest && kind != Some(TREE_HEAD_TYPE) {
        return Err(SignatureFault::NotAStatement);
    }
    sign1.unprotected = CborItem::Map(Vec::new());
    Ok(sign1.encode())
}

/// The receipts of a signature file, unverified.
pub fn receipts_of(file: &[u8]) -> Result<Vec<Vec<u8>>, SignatureFault> {
    let sign1 = Sign1::decode(file)?;
    let Some(receipts) = sign1.unprotected.member(label::RECEIPTS) else { return Ok(Vec::new()) };
    let bytes = |receipt: &CborItem<'_>| receipt.as_bytes().map(<[u8]>::to_vec);
    let receipts = receipts.as_array().and_then(|receipts| receipts.iter().map(bytes).collect());
    receipts.ok_or(SignatureFault::BadReceipt)
}

/// The signature file without the record inside it, for a record that lies beside it.
pub fn detached(file: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let mut sign1 = Sign1::decode(file)?;
    let is_digest = sign1.protected.member(label::PAYLOAD_HASH_ALG).is_some();
    let kind = sign1.protected.member(label::CONTENT_TYPE).and_then(CborItem::as_text);
    if !is_digest && kind != Some(TREE_HEAD_TYPE) {
        sign1.payload = None;
    }
    Ok(sign1.encode())
}

/// The signature file without its receipts.
pub fn without_receipts(file: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let mut sign1 = Sign1::decode(file)?;
    if let CborItem::Map(members) = &mut sign1.unprotected {
        members.retain(|(name, _)| name.as_int() != Some(label::RECEIPTS));
    }
    Ok(sign1.encode())
}

/// Whether the bytes have the form of a receipt: a COSE_Sign1 that names its verifiable data structure.
pub fn is_receipt(bytes: &[u8]) -> bool {
    Sign1::decode(bytes).is_ok_and(|receipt| receipt.protected.member(label::VDS).is_some())
}

/// Verifies the receipts of a signature file with the key of a log, without a connection to the log.
pub fn verify_receipts(file: &[u8], key: &PublicKey) -> Result<ReceiptCheck, SignatureFault> {
    let sign1 = Sign1::decode(file)?;
    let mut check = ReceiptCheck::default();
    let Some(receipts) = sign1.unprotected.member(label::RECEIPTS) else { return Ok(check) };
    let receipts = receipts.as_array().ok_or(SignatureFault::BadReceipt)?;
    if receipts.len() > MAX_RECEIPTS {
        return Err(SignatureFault::BadReceipt);
    }
    let entry = log_entry(&sign1);
    for receipt in receipts {
        let bytes = receipt.as_bytes().ok_or(SignatureFault::BadReceipt);
        match bytes.and_then(|bytes| verify_receipt(bytes, &entry, key)) {
            Ok(place) => check.holding.push(place),
            Err(fault) => check.failing.push(fault),
        }
    }
    Ok(check)
}

fn verify_receipt(bytes: &[u8], entry: &Hash, key: &PublicKey) -> Result<LogInclusion, SignatureFault> {
    let receipt = Sign1::decode(bytes)?;
    if receipt.protected.member(label::VDS).and_then(CborItem::as_int) != Some(RFC9162_SHA256) {
        return Err(SignatureFault::BadReceipt);
    }
    let read = || {
        let proofs = receipt.unprotected.member(label::VDP)?.member(INCLUSION)?.as_array()?;
        let [proof] = proofs else { return None };
        let proof = CborItem::decode(proof.as_bytes()?).ok()?;
        let [size, index, path] = proof.as_array()? else { return None };
        let hash = |item: &CborItem<'_>| -> Option<Hash> { item.as_bytes()?.try_into().ok() };
        let path: Vec<Hash> = path.as_array()?.iter().map(hash).collect::<Option<_>>()?;
        Some((size.as_uint()?, index.as_uint()?, path))
    };
    let (size, index, path) = read().ok_or(SignatureFault::BadReceipt)?;
    let root = root_of_inclusion(index, size, log_leaf(entry), &path).ok_or(SignatureFault::OtherReceipt)?;
    // The payload is the root: a receipt for another file leads to another root, which the log did not sign.
    receipt.verify(key, Some(&root)).map_err(|error| match error {
        super::cose::CoseError::BadSignature => SignatureFault::OtherReceipt,
        error => error.into(),
    })?;
    let Claims { signer, time, .. } = read_claims(&receipt)?;
    let signed =
        [(LEAF_INDEX, index), (TREE_SIZE, size)].map(|(name, found)| match receipt.protected.named(name) {
            Some(signed) if signed.as_uint() == Some(found) => Ok(true),
            Some(_) => Err(SignatureFault::OtherReceipt),
            None => Ok(false),
        });
    let [is_index_signed, is_size_signed] = signed;
    Ok(LogInclusion {
        origin: signer,
        time,
        index,
        size,
        is_place_signed: is_index_signed? && is_size_signed?,
    })
}
