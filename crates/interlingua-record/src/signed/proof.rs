//! Proofs for a verifier without the record: an entry is in a signed tree, or a signed tree continues an earlier tree.
//!
//! A proof holds the signed heads without their salts, so it discloses no salt except that of its entry.

use std::io::Read;

use super::cbor::CborItem;
use super::cose::{CoseError, Sign1};
use super::digest::{Hash, NoPartner};
use super::file::SignatureFile;
use super::head::{RecordSalts, TreeHead};
use super::keys::PublicKey;
use super::leaf::{EntrySalts, leaf_hash};
use super::scan::{RecordVisitor, ScanFault, ScannedEntry, SourceValue, scan};
use super::tree::{ProofBuilder, is_consistent, root_of_inclusion};
use super::verify::{SignatureFault, check_newer};
use super::walk::TreeWalk;

const ENTRY_FORM: &str = "interlingua-entry-proof-1";
const CONTINUATION_FORM: &str = "interlingua-continuation-proof-1";

/// The facts that a valid proof shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofFacts {
    /// An entry is part of a signed record.
    Entry {
        /// The signed tree head.
        head: TreeHead,
        /// The position of the entry, from 0.
        index: u64,
        /// The entry as JSON. Marks stand for removed parts.
        entry: Vec<u8>,
        /// The names of removed parts.
        removed: Vec<&'static str>,
        /// Whether the whole entry was removed: `entry` is then the mark in its place.
        is_removed: bool,
    },
    /// A record continues an earlier state of itself.
    Continuation {
        /// The signed head of the earlier state.
        earlier: TreeHead,
        /// The signed tree head.
        head: TreeHead,
    },
}

/// The signature file and the record that a proof is made of.
pub struct ProofSource<'a> {
    /// The signature file.
    pub file: &'a [u8],
    /// The record, if the file does not hold it.
    pub record: Option<&'a mut dyn Read>,
    /// The key of the signer.
    pub key: &'a PublicKey,
}

/// Makes a proof that the entry at this position is in the signed tree.
pub fn prove_entry(source: ProofSource<'_>, index: u64) -> Result<Vec<u8>, SignatureFault> {
    let key = source.key;
    let walked = walk(source, |head, walk| {
        if index >= head.size {
            return Err(SignatureFault::NoEntry(index));
        }
        walk.proof = Some(ProofBuilder::inclusion(index, head.size));
        walk.wanted = Some((index, None));
        Ok(())
    })?;
    let wanted = walked.walk.wanted.and_then(|(_, wanted)| wanted).ok_or(SignatureFault::NoEntry(index))?;
    let path = walked.walk.proof.map(ProofBuilder::finish).unwrap_or_default();
    let proof = CborItem::Map(vec![
        (CborItem::text("form"), CborItem::text(ENTRY_FORM)),
        (CborItem::text("head"), CborItem::bytes(walked.bare_head)),
        (CborItem::text("index"), CborItem::Uint(index)),
        (CborItem::text("entry"), CborItem::bytes(wanted.piece)),
        (CborItem::text("salts"), wanted.salts.to_cbor()),
        (CborItem::text("path"), hashes(&path)),
    ])
    .encode();
    // A proof that does not hold is never handed out.
    verify_proof(&proof, key, None)?;
    Ok(proof)
}

/// Makes a proof that the record continues an earlier state of itself.
pub fn prove_continuation(source: ProofSource<'_>, earlier: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let key = source.key;
    let file = SignatureFile::decode(earlier)?;
    let sign1 = file.head()?.ok_or(SignatureFault::NotAHead)?;
    let earlier = TreeHead::verify(&sign1, key)?;
    let walked = walk(source, |head, walk| {
        check_newer(head, &earlier)?;
        walk.note_earlier(earlier.size);
        walk.proof = Some(ProofBuilder::consistency(earlier.size, head.size));
        Ok(())
    })?;
    if walked.walk.earlier_root() != Some(earlier.root) {
        return Err(SignatureFault::NotContinued(earlier.size));
    }
    let path = walked.walk.proof.map(ProofBuilder::finish).unwrap_or_default();
    let proof = CborItem::Map(vec![
        (CborItem::text("form"), CborItem::text(CONTINUATION_FORM)),
        (CborItem::text("earlier"), CborItem::bytes(bare(sign1))),
        (CborItem::text("head"), CborItem::bytes(walked.bare_head)),
        (CborItem::text("path"), hashes(&path)),
    ])
    .encode();
    verify_proof(&proof, key, None)?;
    Ok(proof)
}

/// A walk over a record that leads to the signed root.
pub(super) struct WalkedRecord {
    pub(super) walk: TreeWalk,
    pub(super) bare_head: Vec<u8>,
}

/// Walks over the record of a signature file, and compares the tree with the signed head.
pub(super) fn walk(
    source: ProofSource<'_>,
    prepare: impl FnOnce(&TreeHead, &mut TreeWalk) -> Result<(), SignatureFault>,
) -> Result<WalkedRecord, SignatureFault> {
    let file = SignatureFile::decode(source.file)?;
    let sign1 = file.head()?.ok_or(SignatureFault::NotAHead)?;
    let head = TreeHead::verify(&sign1, source.key)?;
    let salts = RecordSalts::from_unprotected(&sign1.unprotected).ok_or(SignatureFault::BadSalts)?;
    let mut walk = TreeWalk::new(salts);
    prepare(&head, &mut walk)?;
    match (file.record(), source.record) {
        (Some(_), Some(_)) => return Err(CoseError::SecondPayload.into()),
        (None, None) => return Err(CoseError::NoPayload.into()),
        (Some(mut payload), None) => walk.scan(&mut payload)?,
        (None, Some(record)) => walk.scan(record)?,
    };
    if walk.size() != head.size {
        return Err(SignatureFault::OtherSize { signed: head.size, found: walk.size() });
    }
    if let Some(entry) = walk.bad_mark {
        return Err(SignatureFault::BadMark(entry));
    }
    if walk.root() != head.root {
        return Err(SignatureFault::OtherRoot);
    }
    Ok(WalkedRecord { walk, bare_head: bare(sign1) })
}

/// A head without its unprotected header, which holds the salts.
fn bare(mut sign1: Sign1<'_>) -> Vec<u8> {
    sign1.unprotected = CborItem::Map(Vec::new());
    sign1.encode()
}

fn hashes(path: &[Hash]) -> CborItem<'static> {
    CborItem::Array(path.iter().map(|hash| CborItem::bytes(hash.to_vec())).collect())
}

/// Verifies a proof. `earlier` is a signature file with the newest tree head that the verifier has seen before.
pub fn verify_proof(
    proof: &[u8],
    key: &PublicKey,
    earlier: Option<&[u8]>,
) -> Result<ProofFacts, SignatureFault> {
    let item = CborItem::decode(proof).map_err(|error| SignatureFault::Cose(error.into()))?;
    let form = item.named("form").and_then(CborItem::as_text).ok_or(SignatureFault::NotAProof)?;
    // No signature covers other members.
    let is_entry = match (form, item.as_map().map(<[_]>::len)) {
        (ENTRY_FORM, Some(6)) => true,
        (CONTINUATION_FORM, Some(4)) => false,
        _ => return Err(SignatureFault::NotAProof),
    };
    let head = head_named(&item, "head", key)?;
    if let Some(seen) = earlier {
        let file = SignatureFile::decode(seen)?;
        check_newer(&head, &TreeHead::verify(&file.head()?.ok_or(SignatureFault::NotAHead)?, key)?)?;
    }
    let path = item.named("path").and_then(CborItem::as_array).ok_or(SignatureFault::NotAProof)?;
    let hash = |item: &CborItem<'_>| item.as_bytes()?.try_into().ok();
    let path: Vec<Hash> = path.iter().map(hash).collect::<Option<_>>().ok_or(SignatureFault::NotAProof)?;
    if is_entry {
        return verify_entry(&item, head, &path);
    }
    let earlier = head_named(&item, "earlier", key)?;
    check_newer(&head, &earlier)?;
    if !is_consistent((earlier.size, earlier.root), (head.size, head.root), &path) {
        return Err(SignatureFault::BadProof);
    }
    Ok(ProofFacts::Continuation { earlier, head })
}

/// The tree heads in a proof, or `None` if the file is not a proof. Nothing is verified yet.
pub(super) fn proof_heads(file: &[u8]) -> Result<Option<Vec<Sign1<'static>>>, SignatureFault> {
    let Ok(item) = CborItem::decode(file) else { return Ok(None) };
    if item.named("form").is_none() {
        return Ok(None);
    }
    let mut heads = Vec::new();
    for name in ["head", "earlier"] {
        if let Some(bytes) = item.named(name).and_then(CborItem::as_bytes) {
            heads.push(Sign1::decode(bytes)?.into_owned());
        }
    }
    if heads.is_empty() { Err(SignatureFault::NotAProof) } else { Ok(Some(heads)) }
}

fn head_named(item: &CborItem<'_>, name: &str, key: &PublicKey) -> Result<TreeHead, SignatureFault> {
    let bytes = item.named(name).and_then(CborItem::as_bytes).ok_or(SignatureFault::NotAProof)?;
    let head = Sign1::decode(bytes)?;
    // A proof discloses no salts of the head, and no signature covers other unprotected headers.
    if head.unprotected.as_map().is_some_and(|headers| !headers.is_empty()) {
        return Err(SignatureFault::NotAProof);
    }
    TreeHead::verify(&head, key)
}

fn verify_entry(item: &CborItem<'_>, head: TreeHead, path: &[Hash]) -> Result<ProofFacts, SignatureFault> {
    let read = || {
        let index = item.named("index")?.as_uint()?;
        let piece = item.named("entry")?.as_bytes()?;
        Some((index, piece, EntrySalts::from_cbor(item.named("salts")?)?))
    };
    let (index, piece, salts) = read().ok_or(SignatureFault::NotAProof)?;
    // The scanner needs a record around the entry, and an entry before a separator.
    let before = if index == 0 { r#"{"session":{"entries":["# } else { r#"{"session":{"entries":[{}"# };
    let is_removed = salts == EntrySalts::Removed;
    let mut visitor = OneEntry { at: u64::from(index > 0), length: piece.len(), salts, found: None };
    let record = before.as_bytes().chain(piece).chain("]}}".as_bytes());
    let facts = scan(record, &mut visitor).map_err(|_| SignatureFault::BadEntry)?;
    if facts.entries != visitor.at + 1 {
        return Err(SignatureFault::BadEntry);
    }
    let OneEntry { found, .. } = visitor;
    let (leaf, entry, removed) = found.ok_or(SignatureFault::BadEntry)?;
    let leaf = leaf.ok_or(SignatureFault::BadMark(index))?;
    if root_of_inclusion(index, head.size, leaf, path) != Some(head.root) {
        return Err(SignatureFault::BadProof);
    }
    Ok(ProofFacts::Entry { head, index, entry, removed, is_removed })
}

/// Computes the leaf of the entry at one position, if nothing follows the entry in its piece.
struct OneEntry {
    at: u64,
    length: usize,
    salts: EntrySalts,
    found: Option<(Option<Hash>, Vec<u8>, Vec<&'static str>)>,
}

impl RecordVisitor for OneEntry {
    fn before(&mut self, _: &[u8]) {}

    fn entry(&mut self, entry: &ScannedEntry<'_>) -> Result<(), ScanFault> {
        if entry.index == self.at && entry.piece.len() == self.length {
            let removed = match &self.salts {
                EntrySalts::Partial { parts, .. } => {
                    let gone = entry.parts.iter().zip(parts).filter(|(_, salt)| salt.is_none());
                    gone.map(|(part, _)| part.name).collect()
                }
                EntrySalts::Whole(_) | EntrySalts::Removed => Vec::new(),
            };
            let bytes = entry.piece[entry.start..].to_vec();
            self.found = Some((leaf_hash(entry, &self.salts, &mut NoPartner), bytes, removed));
        }
        Ok(())
    }

    fn after(&mut self, _: &[u8], _: &SourceValue) {}
}
