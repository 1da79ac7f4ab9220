//! Verification of a signature file against a record: each of the two signatures by itself.

use std::fmt;
use std::io::{self, Read};

use super::cbor::CborItem;
use super::certificates::ChainFault;
use super::cose::{CoseError, SHA_256, Sign1, label};
use super::digest::Hash;
use super::file::{SignatureFile, header_name};
use super::head::{Claims, RecordSalts, TreeHead, read_claims};
use super::keys::PublicKey;
use super::metadata::unconfirmed;
use super::scan::{RecordFacts, RecordVisitor, ScanFault, ScannedEntry, SourceValue, scan};
use super::sign::{PAYLOAD_HASH, RECORD_TYPE};
use super::walk::{Removed, Tee, TreeWalk};

/// The CoAP content format of JSON.
const JSON_FORMAT: i64 = 50;
/// The CoAP content format of CBOR.
const CBOR_FORMAT: i64 = 60;

/// The reason for which a signature does not hold, or a file is refused.
#[derive(Debug)]
pub enum SignatureFault {
    /// The COSE_Sign1 itself is refused.
    Cose(CoseError),
    /// The record cannot be scanned.
    Record(ScanFault),
    /// The protected header has no signer or no session.
    NoClaims,
    /// The claims limit the time in which the signature counts (`exp`, `nbf`).
    LimitedTime,
    /// The time of signing is not a number of seconds.
    BadTime,
    /// The signed content is of another type than a record.
    OtherType(String),
    /// An unprotected header that no signed record has.
    UnknownHeader(String),
    /// The earlier file has no salt for this new entry.
    NoSalt(u64),
    /// The record has no session id.
    NoSession,
    /// The digest of the record is not the signed digest.
    OtherBytes,
    /// The header with the digest of the payload is not a SHA-256 digest.
    BadDigest,
    /// The signature is for another session.
    OtherSession {
        /// The session in the signature.
        signed: String,
        /// The session of the record.
        found: String,
    },
    /// The payload does not confirm the unprotected metadata.
    Metadata(String),
    /// The file is JSON.
    NotASignature,
    /// The file has no tree head where one is needed.
    NotAHead,
    /// The payload of the tree head is not that of a tree head, or contradicts its claims.
    BadHead,
    /// The salts beside the tree head are missing or have another form.
    BadSalts,
    /// The record has another number of entries than the head.
    OtherSize {
        /// The number in the head.
        signed: u64,
        /// The number in the record.
        found: u64,
    },
    /// The entries do not lead to the signed root.
    OtherRoot,
    /// The entries do not lead to the signed root although the bytes of the record are the signed bytes.
    ReplacedSalts,
    /// The bytes outside the entries are not the signed bytes.
    OtherFrame,
    /// A removed part of this entry is not the mark of its commitment.
    BadMark(u64),
    /// The record does not begin with the entries of the earlier head, whose size this is.
    NotContinued(u64),
    /// The head is smaller than the earlier head.
    Replayed {
        /// The size of the earlier head.
        earlier: u64,
        /// The size of this head.
        size: u64,
    },
    /// The head has a time before that of the earlier head.
    OlderTime,
    /// A record of more than 64 MiB cannot be attached.
    TooLargeToAttach,
    /// A record of more than 64 MiB cannot be verified with a signature over its bytes.
    TooLargeToVerify,
    /// There is no such entry.
    NoEntry(u64),
    /// The file is not a proof.
    NotAProof,
    /// The proof does not lead from the entry to the signed root.
    BadProof,
    /// The entry in the proof is not one entry.
    BadEntry,
    /// A receipt has another form than RFC 9942 with RFC9162_SHA256.
    BadReceipt,
    /// The payload of the signature is a record, or is missing.
    NotAStatement,
    /// The receipt is for another file, or not by this log.
    OtherReceipt,
    /// The certificate chain is refused.
    Chain(ChainFault),
    /// The redacted record cannot be written.
    Output(io::Error),
}

impl fmt::Display for SignatureFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignatureFault::Cose(error) => write!(out, "{error}"),
            SignatureFault::BadReceipt => {
                write!(out, "a receipt has another form than a COSE receipt with an RFC9162_SHA256 tree")
            }
            SignatureFault::NotAStatement => {
                write!(
                    out,
                    "a service registers a signature over a digest (`sign --digest`) or a checkpoint, because it gets the payload"
                )
            }
            SignatureFault::OtherReceipt => {
                write!(out, "the receipt does not lead from this file to a root that the log signed")
            }
            SignatureFault::Chain(error) => write!(out, "{error}"),
            SignatureFault::Record(error) => write!(out, "{error}"),
            SignatureFault::NoClaims => {
                write!(out, "the signature names no signer and session (CWT claims `iss` and `sub`)")
            }
            SignatureFault::LimitedTime => {
                write!(
                    out,
                    "the signature limits its own validity (CWT claims `exp` or `nbf`), which this version does not evaluate"
                )
            }
            SignatureFault::BadTime => {
                write!(out, "the time of signing (CWT claim `iat`) is not a number of seconds")
            }
            SignatureFault::OtherType(name) => {
                write!(out, "the signature is over content of the type {name}, and not over a record")
            }
            SignatureFault::UnknownHeader(name) => {
                write!(out, "the unprotected header {name} is unknown, and no signature covers it")
            }
            SignatureFault::NoSalt(entry) => {
                write!(
                    out,
                    "entry {entry}: the earlier file has no salt for new entries, because content was removed from its record"
                )
            }
            SignatureFault::NoSession => write!(out, "the record has no `session-id`"),
            SignatureFault::OtherBytes => write!(out, "the bytes of the record are not the signed bytes"),
            SignatureFault::BadDigest => {
                write!(out, "the signed digest of the payload is not a SHA-256 digest")
            }
            SignatureFault::OtherSession { signed, found } => {
                write!(out, "the signature is for the session `{signed}`, and the record is of `{found}`")
            }
            SignatureFault::Metadata(what) => {
                write!(out, "the record does not confirm the unsigned trace metadata: {what}")
            }
            SignatureFault::NotASignature => write!(out, "the file is JSON, and a signature file is CBOR"),
            SignatureFault::NotAHead => write!(out, "the file holds no tree head"),
            SignatureFault::BadHead => {
                write!(out, "the signed tree head has an unknown form or contradicts its claims")
            }
            SignatureFault::BadSalts => write!(out, "the salts beside the tree head are missing or damaged"),
            SignatureFault::OtherSize { signed, found } => {
                write!(out, "the tree head counts {signed} entries, and the record has {found}")
            }
            SignatureFault::OtherRoot => write!(out, "the entries do not lead to the signed root"),
            SignatureFault::ReplacedSalts => {
                write!(
                    out,
                    "the salts or the tree head were replaced: the record is unchanged, and does not lead to the signed root"
                )
            }
            SignatureFault::OtherFrame => {
                write!(out, "the members outside the entries are not the signed members")
            }
            SignatureFault::BadMark(entry) => {
                write!(out, "entry {entry}: a removed part holds text that is not signed")
            }
            SignatureFault::NotContinued(size) => {
                write!(out, "the record does not begin with the {size} entries of the earlier head")
            }
            SignatureFault::Replayed { earlier, size } => {
                write!(
                    out,
                    "an old checkpoint: the head counts {size} entries, and an earlier head counts {earlier}"
                )
            }
            SignatureFault::OlderTime => write!(out, "the head has a time before that of the earlier head"),
            SignatureFault::TooLargeToAttach => {
                write!(out, "a record of more than 64 MiB cannot be attached")
            }
            SignatureFault::TooLargeToVerify => {
                write!(
                    out,
                    "the record has more than 64 MiB, and the signature is over its bytes, not its digest"
                )
            }
            SignatureFault::NoEntry(entry) => write!(out, "the record has no entry {entry}"),
            SignatureFault::NotAProof => write!(out, "the file is not a proof"),
            SignatureFault::BadProof => write!(out, "the proof does not lead to the signed root"),
            SignatureFault::Output(error) => write!(out, "the redacted record cannot be written: {error}"),
            SignatureFault::BadEntry => write!(out, "the proof does not hold exactly one entry"),
        }
    }
}

impl std::error::Error for SignatureFault {}

impl From<CoseError> for SignatureFault {
    fn from(error: CoseError) -> Self {
        SignatureFault::Cose(error)
    }
}

impl From<ChainFault> for SignatureFault {
    fn from(error: ChainFault) -> Self {
        SignatureFault::Chain(error)
    }
}

impl From<ScanFault> for SignatureFault {
    fn from(error: ScanFault) -> Self {
        SignatureFault::Record(error)
    }
}

/// The result for one of the two signatures.
#[derive(Debug)]
pub enum SignatureCheck<T> {
    /// The signature holds, and covers these facts.
    Holds(T),
    /// The signature does not hold.
    Fails(SignatureFault),
    /// The file has no such signature.
    Absent,
}

impl<T> SignatureCheck<T> {
    /// The facts, if the signature holds.
    pub const fn facts(&self) -> Option<&T> {
        match self {
            SignatureCheck::Holds(facts) => Some(facts),
            SignatureCheck::Fails(_) | SignatureCheck::Absent => None,
        }
    }

    fn new(result: Result<Option<T>, SignatureFault>) -> Self {
        match result {
            Ok(Some(facts)) => SignatureCheck::Holds(facts),
            Ok(None) => SignatureCheck::Absent,
            Err(fault) => SignatureCheck::Fails(fault),
        }
    }
}

/// The facts that a valid envelope covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeFacts {
    /// The signer's name.
    pub signer: String,
    /// The id of the session.
    pub session: String,
    /// Seconds since 1970, by the signer's clock.
    pub time: Option<u64>,
    /// The size of the record in bytes.
    pub bytes: u64,
    /// The SHA-256 of the record.
    pub digest: Hash,
    /// Whether trace metadata is present, and the record confirms all of it.
    pub has_metadata: bool,
}

/// The facts that a valid tree head covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadFacts {
    /// The content of the head.
    pub head: TreeHead,
    /// The removed entries and parts.
    pub removed: Removed,
    /// The size of the earlier head that this head continues, if one was given.
    pub continues: Option<u64>,
    /// Whether the record holds the digest of its source, which the head does not cover.
    pub has_open_source: bool,
}

/// The result for a signature file.
#[derive(Debug)]
pub struct Verification {
    /// The signature over the exact bytes.
    pub envelope: SignatureCheck<EnvelopeFacts>,
    /// The signed tree head.
    pub head: SignatureCheck<HeadFacts>,
}

impl Verification {
    /// Whether the file has a signature, and all its signatures hold.
    pub const fn is_sound(&self) -> bool {
        !matches!(
            (&self.envelope, &self.head),
            (SignatureCheck::Fails(_), _)
                | (_, SignatureCheck::Fails(_))
                | (SignatureCheck::Absent, SignatureCheck::Absent)
        )
    }
}

/// Verifies a signature file. A detached signature needs the record; a file with its own record refuses a second one.
/// `earlier` is a signature file with the newest tree head that the verifier has seen before.
pub fn verify(
    file: &[u8],
    record: Option<&mut dyn Read>,
    key: &PublicKey,
    earlier: Option<&[u8]>,
) -> Result<Verification, SignatureFault> {
    let file = SignatureFile::decode(file)?;
    let mut attached;
    let record: &mut dyn Read = match (file.record(), record) {
        (Some(_), Some(_)) => return Err(CoseError::SecondPayload.into()),
        (None, None) => return Err(CoseError::NoPayload.into()),
        (None, Some(record)) => record,
        (Some(payload), None) => {
            attached = payload;
            &mut attached
        }
    };
    let earlier = earlier.map(|earlier| earlier_head(earlier, key)).transpose()?;
    let head = signed_head(&file, key);
    let mut walk = match &head {
        Ok(Some((_, salts))) => Some(TreeWalk::new(salts.clone())),
        Ok(None) | Err(_) => None,
    };
    if let (Some(walk), Some(earlier)) = (&mut walk, &earlier) {
        walk.note_earlier(earlier.size);
    }
    let is_detached = file.envelope().is_some() && file.record().is_none() && !file.is_by_digest();
    let mut tee = match file.envelope() {
        Some(_) => Tee::new(record, is_detached),
        // Only the signature over the bytes needs their digest.
        None => Tee::without_digest(record),
    };
    let facts = match &mut walk {
        Some(walk) => walk.scan_tee(&mut tee),
        None => scan(&mut tee, &mut NullVisitor),
    };
    let (digest, bytes, kept) = tee.finish().map_err(ScanFault::Io)?;
    let pass = RecordPass { facts, digest, bytes, kept };
    let envelope = check_envelope(&file, key, &pass);
    let is_unchanged = matches!(envelope, Ok(Some(_)));
    let head = match (head, walk) {
        (Ok(Some((head, _))), Some(walk)) => {
            check_head(head, &walk, pass.facts, is_unchanged, earlier.as_ref()).map(Some)
        }
        (Err(fault), _) => Err(fault),
        (Ok(_), _) => Ok(None),
    };
    Ok(Verification { envelope: SignatureCheck::new(envelope), head: SignatureCheck::new(head) })
}

/// The facts of one pass over the record.
struct RecordPass {
    facts: Result<RecordFacts, ScanFault>,
    /// `None` without a signature over the bytes.
    digest: Option<Hash>,
    bytes: u64,
    kept: Option<Vec<u8>>,
}

fn earlier_head(file: &[u8], key: &PublicKey) -> Result<TreeHead, SignatureFault> {
    let file = SignatureFile::decode(file)?;
    TreeHead::verify(&file.head()?.ok_or(SignatureFault::NotAHead)?, key)
}

/// The verified content of the tree head, and its salts.
fn signed_head(
    file: &SignatureFile<'_>,
    key: &PublicKey,
) -> Result<Option<(TreeHead, RecordSalts)>, SignatureFault> {
    let Some(sign1) = file.head()? else { return Ok(None) };
    let head = TreeHead::verify(&sign1, key)?;
    let salts = RecordSalts::from_unprotected(&sign1.unprotected).ok_or(SignatureFault::BadSalts)?;
    Ok(Some((head, salts)))
}

fn check_envelope(
    file: &SignatureFile<'_>,
    key: &PublicKey,
    pass: &RecordPass,
) -> Result<Option<EnvelopeFacts>, SignatureFault> {
    let (Some(sign1), Some(digest)) = (file.envelope(), pass.digest) else { return Ok(None) };
    check_type(sign1)?;
    check_digest(sign1, file.is_by_digest(), &digest)?;
    if file.is_by_digest() || sign1.payload.is_some() {
        sign1.verify(key, None)?;
    } else {
        let payload = pass.kept.as_deref().ok_or(SignatureFault::TooLargeToVerify)?;
        sign1.verify(key, Some(payload))?;
    }
    let Claims { signer, session, time } = read_claims(sign1)?;
    let metadata = sign1.unprotected.member(label::TRACE_METADATA);
    match &pass.facts {
        Ok(facts) => {
            let found = facts.session.clone().ok_or(SignatureFault::NoSession)?;
            if found != session {
                return Err(SignatureFault::OtherSession { signed: session, found });
            }
            if let Some(what) = metadata.and_then(|metadata| unconfirmed(metadata, facts, &digest)) {
                return Err(SignatureFault::Metadata(what));
            }
        }
        // A signature over bytes that are no record can be genuine, but it is not the signature of a record.
        Err(error) => return Err(SignatureFault::Record(error.again())),
    }
    Ok(Some(EnvelopeFacts {
        signer,
        session,
        time,
        bytes: pass.bytes,
        digest,
        has_metadata: metadata.is_some(),
    }))
}

/// Compares the digest in the protected header, or the digest that is the payload, with the record.
fn check_digest(sign1: &Sign1<'_>, is_by_digest: bool, digest: &Hash) -> Result<(), SignatureFault> {
    let signed = if is_by_digest {
        if sign1.protected.member(label::PAYLOAD_HASH_ALG).and_then(CborItem::as_int) != Some(SHA_256) {
            return Err(SignatureFault::BadDigest);
        }
        sign1.payload.as_deref()
    } else {
        let Some(header) = sign1.protected.named(PAYLOAD_HASH) else { return Ok(()) };
        match header.as_array() {
            Some([algorithm, hash]) if algorithm.as_int() == Some(SHA_256) => hash.as_bytes(),
            _ => return Err(SignatureFault::BadDigest),
        }
    };
    let signed = signed.ok_or(SignatureFault::BadDigest)?;
    if signed == digest { Ok(()) } else { Err(SignatureFault::OtherBytes) }
}

/// Refuses a signature over content of another type: a key may sign other things than records. A signature without a type
/// is accepted, as in the draft.
fn check_type(sign1: &Sign1<'_>) -> Result<(), SignatureFault> {
    for header in [label::CONTENT_TYPE, label::PREIMAGE_TYPE] {
        let Some(item) = sign1.protected.member(header) else { continue };
        let is_record = match (item.as_text(), item.as_int()) {
            (Some(text), _) => {
                let name = text.split([';', '+']).next().unwrap_or_default().trim_end().to_ascii_lowercase();
                [RECORD_TYPE, "application/json", "application/cbor"].contains(&name.as_str())
            }
            (None, Some(number)) => [JSON_FORMAT, CBOR_FORMAT].contains(&number),
            (None, None) => false,
        };
        if !is_record {
            return Err(SignatureFault::OtherType(header_name(item)));
        }
    }
    Ok(())
}

fn check_head(
    head: TreeHead,
    walk: &TreeWalk,
    facts: Result<RecordFacts, ScanFault>,
    is_unchanged: bool,
    earlier: Option<&TreeHead>,
) -> Result<HeadFacts, SignatureFault> {
    if let Some(earlier) = earlier {
        check_newer(&head, earlier)?;
    }
    let facts = facts?;
    if facts.session.as_deref() != Some(&head.session) {
        let found = facts.session.unwrap_or_default();
        return Err(SignatureFault::OtherSession { signed: head.session, found });
    }
    if walk.size() != head.size {
        return Err(SignatureFault::OtherSize { signed: head.size, found: walk.size() });
    }
    if walk.has_other_salts() {
        return Err(SignatureFault::BadSalts);
    }
    if let Some(entry) = walk.bad_mark {
        return Err(SignatureFault::BadMark(entry));
    }
    if walk.root() != head.root {
        return Err(if is_unchanged { SignatureFault::ReplacedSalts } else { SignatureFault::OtherRoot });
    }
    if walk.frame() != head.frame {
        return Err(SignatureFault::OtherFrame);
    }
    if let Some(earlier) = earlier
        && walk.earlier_root() != Some(earlier.root)
    {
        return Err(SignatureFault::NotContinued(earlier.size));
    }
    Ok(HeadFacts {
        head,
        removed: walk.removed.clone(),
        continues: earlier.map(|earlier| earlier.size),
        has_open_source: walk.has_open_source,
    })
}

/// Refuses a head that is older than a head that the verifier has seen.
pub(super) fn check_newer(head: &TreeHead, earlier: &TreeHead) -> Result<(), SignatureFault> {
    if head.session != earlier.session {
        return Err(SignatureFault::OtherSession {
            signed: earlier.session.clone(),
            found: head.session.clone(),
        });
    }
    if head.size < earlier.size {
        return Err(SignatureFault::Replayed { earlier: earlier.size, size: head.size });
    }
    if head.time < earlier.time {
        return Err(SignatureFault::OlderTime);
    }
    Ok(())
}

/// A visitor for records without a tree.
struct NullVisitor;

impl RecordVisitor for NullVisitor {
    fn before(&mut self, _: &[u8]) {}
    fn entry(&mut self, _: &ScannedEntry<'_>) -> Result<(), ScanFault> {
        Ok(())
    }
    fn after(&mut self, _: &[u8], _: &SourceValue) {}
}
