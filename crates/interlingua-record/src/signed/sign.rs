//! Signing: the draft's envelope over the exact bytes of a record, and the signed tree head in its unprotected header.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use super::cbor::CborItem;
use super::certificates::{CertificateChain, ChainFault};
use super::cose::{CoseError, SHA_256, Sign1, label};
use super::digest::Hash;
use super::file::{SignatureFile, TREE_HEAD};
use super::head::{RecordSalts, TreeHead, claims};
use super::keys::{SigningKey, random_seed};
use super::metadata::trace_metadata;
use super::salts::SaltSet;
use super::scan::RecordFacts;
use super::verify::SignatureFault;
use super::walk::{Tee, TreeWalk};

/// The content type of a record.
pub const RECORD_TYPE: &str = "application/agent-conversation";

/// The protected header with the algorithm and the digest of the payload.
pub(super) const PAYLOAD_HASH: &str = "payload-hash";

/// The payload of the signature over the exact bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadForm {
    /// The record, which is inside the file.
    Attached,
    /// The record, which is beside the file. The digest of a record that is larger than 64 MiB.
    Detached,
    /// The digest of the record, which is beside the file: one pass over the record in bounded memory.
    Digest,
}

/// The settings of a signature.
pub struct SignSettings<'a> {
    /// The private key.
    pub key: &'a SigningKey,
    /// The name of the signer, the issuer of the signature.
    pub signer: &'a str,
    /// Seconds since 1970.
    pub time: u64,
    /// The certificates of the key, for a verifier with a trust store.
    pub chain: Option<&'a CertificateChain>,
    /// The payload of the signature over the exact bytes.
    pub payload: PayloadForm,
    /// Whether to sign only a tree head: a checkpoint of a record that still grows.
    pub checkpoint: bool,
    /// The signature file of an earlier state of the same record, whose entries and salts the new tree continues.
    pub earlier: Option<&'a [u8]>,
}

/// A signature file, and facts for the user.
pub struct SignedRecord {
    /// The bytes of the signature file.
    pub file: Vec<u8>,
    /// The facts of the record.
    pub facts: RecordFacts,
    /// The size of the record in bytes.
    pub bytes: u64,
    /// The root of the tree.
    pub root: Hash,
    /// Whether the digest of the record is signed, and not the record itself.
    pub by_digest: bool,
    /// Whether the file has trace metadata. A record without any time has none.
    pub has_metadata: bool,
}

/// Signs a record in one pass.
pub fn sign(record: impl Read, settings: &SignSettings<'_>) -> Result<SignedRecord, SignatureFault> {
    if let Some(chain) = settings.chain
        && chain.key()? != settings.key.public()
    {
        return Err(ChainFault::OtherKey.into());
    }
    let earlier = settings.earlier.map(|file| earlier_head(file, settings.key)).transpose()?;
    let salts = if let Some((_, salts)) = &earlier {
        salts.clone()
    } else {
        let seed = random_seed().map_err(CoseError::Key)?;
        RecordSalts { whole: SaltSet::from_seed(seed), partial: BTreeMap::new() }
    };
    let mut walk = TreeWalk::new(salts.clone());
    if let Some((head, _)) = &earlier {
        walk.note_earlier(head.size);
    }
    // A tree head needs no digest of the bytes.
    let mut tee = if settings.checkpoint {
        Tee::without_digest(record)
    } else {
        Tee::new(record, settings.payload != PayloadForm::Digest)
    };
    let facts = walk.scan_tee(&mut tee)?;
    let (digest, bytes, payload) = tee.finish().map_err(super::scan::ScanFault::Io)?;
    let session = facts.session.clone().ok_or(SignatureFault::NoSession)?;
    if let Some((head, _)) = &earlier {
        check_continues(head, &walk, &session, settings.time)?;
    }
    if let Some(entry) = walk.bad_mark {
        return Err(SignatureFault::NoSalt(entry));
    }
    let head = TreeHead {
        size: walk.size(),
        root: walk.root(),
        session,
        time: settings.time,
        frame: walk.frame(),
        signer: settings.signer.to_owned(),
    };
    let mut signed_head = head.sign(settings.key, settings.chain)?;
    signed_head.unprotected = salts.to_unprotected();
    let (mut has_metadata, mut by_digest) = (false, false);
    let file = if let Some(digest) = digest {
        let metadata = trace_metadata(&facts, &digest);
        (has_metadata, by_digest) = (metadata.is_some(), payload.is_none());
        let mut unprotected = vec![(CborItem::text(TREE_HEAD), CborItem::bytes(signed_head.encode()))];
        unprotected.extend(metadata.map(|metadata| (CborItem::int(label::TRACE_METADATA), metadata)));
        envelope(settings, &head, &digest, payload, CborItem::Map(unprotected))?.encode()
    } else {
        signed_head.encode()
    };
    Ok(SignedRecord { file, facts, bytes, root: head.root, by_digest, has_metadata })
}

fn earlier_head(file: &[u8], key: &SigningKey) -> Result<(TreeHead, RecordSalts), SignatureFault> {
    let file = SignatureFile::decode(file)?;
    let head = file.head()?.ok_or(SignatureFault::NotAHead)?;
    let content = TreeHead::verify(&head, &key.public())?;
    let salts = RecordSalts::from_unprotected(&head.unprotected).ok_or(SignatureFault::BadSalts)?;
    Ok((content, salts))
}

fn check_continues(head: &TreeHead, walk: &TreeWalk, session: &str, time: u64) -> Result<(), SignatureFault> {
    if head.session != session {
        return Err(SignatureFault::OtherSession { signed: head.session.clone(), found: session.to_owned() });
    }
    if walk.size() < head.size {
        return Err(SignatureFault::OtherSize { signed: head.size, found: walk.size() });
    }
    if walk.earlier_root() != Some(head.root) {
        return Err(SignatureFault::NotContinued(head.size));
    }
    if time < head.time {
        return Err(SignatureFault::OlderTime);
    }
    Ok(())
}

/// The draft's envelope. Its payload is the record, or the digest of a record that is too large.
fn envelope(
    settings: &SignSettings<'_>,
    head: &TreeHead,
    digest: &Hash,
    payload: Option<Vec<u8>>,
    unprotected: CborItem<'static>,
) -> Result<Sign1<'static>, SignatureFault> {
    let public = settings.key.public();
    let mut protected = vec![
        (CborItem::int(label::ALG), CborItem::int(public.algorithm().cose_number())),
        (CborItem::int(label::KID), CborItem::bytes(public.kid().to_vec())),
        (CborItem::int(label::CWT_CLAIMS), claims(settings.signer, &head.session, settings.time)),
    ];
    protected.extend(settings.chain.map(CertificateChain::headers).transpose()?.into_iter().flatten());
    match payload {
        Some(payload) => {
            let hash = vec![CborItem::int(SHA_256), CborItem::bytes(digest.to_vec())];
            protected.push((CborItem::int(label::CONTENT_TYPE), CborItem::text(RECORD_TYPE)));
            protected.push((CborItem::text(PAYLOAD_HASH), CborItem::Array(hash)));
            let mut sign1 = Sign1::sign(settings.key, &CborItem::Map(protected), unprotected, &payload)?;
            sign1.payload = (settings.payload == PayloadForm::Attached).then_some(Cow::Owned(payload));
            Ok(sign1)
        }
        None if settings.payload == PayloadForm::Attached => Err(SignatureFault::TooLargeToAttach),
        None => {
            protected.push((CborItem::int(label::PAYLOAD_HASH_ALG), CborItem::int(SHA_256)));
            protected.push((CborItem::int(label::PREIMAGE_TYPE), CborItem::text(RECORD_TYPE)));
            let mut sign1 = Sign1::sign(settings.key, &CborItem::Map(protected), unprotected, digest)?;
            sign1.payload = Some(Cow::Owned(digest.to_vec()));
            Ok(sign1)
        }
    }
}
