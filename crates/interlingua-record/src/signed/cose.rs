//! COSE_Sign1 (RFC 9052): one signature over a payload with headers.
//!
//! This module holds the form and the arithmetic. The rules of a signed record (which headers must be present, and what
//! they mean) are in `envelope` and `head`.

use std::borrow::Cow;
use std::fmt;

use super::cbor::{CborError, CborItem, encode_head};
use super::keys::{KeyAlgorithm, KeyError, PublicKey, SigningKey};

/// The CBOR tag of COSE_Sign1.
const TAG: u64 = 18;

/// The most labels of a header.
const MAX_LABELS: usize = 64;

/// Header labels.
pub(super) mod label {
    pub(in super::super) const ALG: i64 = 1;
    pub(in super::super) const CRIT: i64 = 2;
    pub(in super::super) const CONTENT_TYPE: i64 = 3;
    pub(in super::super) const KID: i64 = 4;
    pub(in super::super) const CWT_CLAIMS: i64 = 15;
    /// A certificate chain (RFC 9360).
    pub(in super::super) const X5CHAIN: i64 = 33;
    /// The thumbprint of a certificate (RFC 9360).
    pub(in super::super) const X5T: i64 = 34;
    /// The draft's placeholder for trace metadata.
    pub(in super::super) const TRACE_METADATA: i64 = 100;
    /// Receipts of transparency logs (RFC 9942).
    pub(in super::super) const RECEIPTS: i64 = 394;
    /// The verifiable data structure of a receipt (RFC 9942).
    pub(in super::super) const VDS: i64 = 395;
    /// The proofs of a receipt (RFC 9942).
    pub(in super::super) const VDP: i64 = 396;
    /// The algorithm of a payload that is a hash (COSE Hash Envelope).
    pub(in super::super) const PAYLOAD_HASH_ALG: i64 = 258;
    /// The content type of the hashed bytes (COSE Hash Envelope).
    pub(in super::super) const PREIMAGE_TYPE: i64 = 259;
}

/// The COSE number of SHA-256.
pub(super) const SHA_256: i64 = -16;

/// The reason for which a COSE_Sign1 is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoseError {
    /// The bytes are not strict CBOR.
    Cbor(CborError),
    /// The tag is not 18.
    WrongTag(Option<u64>),
    /// The structure is not the four-element array of COSE_Sign1.
    WrongForm(&'static str),
    /// A label is in the protected and in the unprotected header.
    RepeatedLabel,
    /// A critical header that this version does not support.
    Critical,
    /// The protected header has no algorithm.
    NoAlgorithm,
    /// The algorithm is not supported.
    UnsupportedAlgorithm(String),
    /// The key has another algorithm than the signature.
    OtherAlgorithm(KeyAlgorithm),
    /// The header names another key.
    OtherKey(Vec<u8>),
    /// The payload is detached, and was not given.
    NoPayload,
    /// The payload is attached, and another payload was given.
    SecondPayload,
    /// The signature is not valid for headers and payload.
    BadSignature,
    /// Signing failed.
    Key(KeyError),
}

impl fmt::Display for CoseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoseError::Cbor(error) => write!(out, "{error}"),
            CoseError::WrongTag(Some(tag)) => {
                write!(out, "the CBOR tag is {tag}; a COSE_Sign1 has the tag 18")
            }
            CoseError::WrongTag(None) => write!(out, "the CBOR data has no tag; a COSE_Sign1 has the tag 18"),
            CoseError::WrongForm(what) => write!(out, "the data is not a COSE_Sign1: {what}"),
            CoseError::RepeatedLabel => write!(out, "a header label is both protected and unprotected"),
            CoseError::Critical => write!(out, "the signature has a critical header that is not supported"),
            CoseError::NoAlgorithm => write!(out, "the protected header names no algorithm"),
            CoseError::UnsupportedAlgorithm(name) => {
                write!(out, "the signature algorithm {name} is not supported")
            }
            CoseError::OtherAlgorithm(key) => {
                write!(out, "the key is an {} key, and the signature has another algorithm", key.name())
            }
            CoseError::OtherKey(kid) => {
                write!(out, "the signature was made by another key: {}", super::digest::hex(kid))
            }
            CoseError::NoPayload => write!(out, "the signature is detached, and the record was not given"),
            CoseError::SecondPayload => {
                write!(out, "the signature carries its own record, and a second record was given")
            }
            CoseError::BadSignature => write!(out, "the signature is not valid for its headers and payload"),
            CoseError::Key(error) => write!(out, "{error}"),
        }
    }
}

impl std::error::Error for CoseError {}

impl From<CborError> for CoseError {
    fn from(error: CborError) -> Self {
        CoseError::Cbor(error)
    }
}

/// A decoded COSE_Sign1. Its signature is not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign1<'a> {
    protected_bytes: Cow<'a, [u8]>,
    /// The headers that the signature covers: a map.
    pub protected: CborItem<'static>,
    /// The headers that the signature does not cover: a map.
    pub unprotected: CborItem<'a>,
    /// The attached payload, or `None` if the payload is detached.
    pub payload: Option<Cow<'a, [u8]>>,
    signature: Cow<'a, [u8]>,
}

impl<'a> Sign1<'a> {
    /// Decodes a tagged COSE_Sign1.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CoseError> {
        match CborItem::decode(bytes)? {
            CborItem::Tag(TAG, content) => Self::from_item(*content),
            CborItem::Tag(tag, _) => Err(CoseError::WrongTag(Some(tag))),
            _ => Err(CoseError::WrongTag(None)),
        }
    }

    /// Decodes a COSE_Sign1 without its tag, where the context states the type.
    pub fn decode_untagged(bytes: &'a [u8]) -> Result<Self, CoseError> {
        Self::from_item(CborItem::decode(bytes)?)
    }

    fn from_item(item: CborItem<'a>) -> Result<Self, CoseError> {
        let CborItem::Array(parts) = item else {
            return Err(CoseError::WrongForm("the content is not an array"));
        };
        let Ok([protected, unprotected, payload, signature]) = <[CborItem<'a>; 4]>::try_from(parts) else {
            return Err(CoseError::WrongForm("the array has not four elements"));
        };
        let (CborItem::Bytes(protected_bytes), CborItem::Bytes(signature)) = (protected, signature) else {
            return Err(CoseError::WrongForm("the protected header or the signature is not a byte string"));
        };
        if unprotected.as_map().is_none() {
            return Err(CoseError::WrongForm("the unprotected header is not a map"));
        }
        let payload = match payload {
            CborItem::Bytes(bytes) => Some(bytes),
            CborItem::Null => None,
            _ => return Err(CoseError::WrongForm("the payload is neither a byte string nor null")),
        };
        let protected = decode_protected(&protected_bytes)?;
        let sign1 = Self { protected_bytes, protected, unprotected, payload, signature };
        sign1.check_labels()?;
        Ok(sign1)
    }

    /// A copy that borrows nothing.
    pub(super) fn into_owned(self) -> Sign1<'static> {
        Sign1 {
            protected_bytes: Cow::Owned(self.protected_bytes.into_owned()),
            protected: self.protected,
            unprotected: self.unprotected.into_owned(),
            payload: self.payload.map(|payload| Cow::Owned(payload.into_owned())),
            signature: Cow::Owned(self.signature.into_owned()),
        }
    }

    fn check_labels(&self) -> Result<(), CoseError> {
        let protected = self.protected.as_map().unwrap_or_default();
        let unprotected = self.unprotected.as_map().unwrap_or_default();
        // Labels are compared with each other, so their number is limited.
        if protected.len().max(unprotected.len()) > MAX_LABELS {
            return Err(CoseError::WrongForm("a header has more than 64 labels"));
        }
        if protected.iter().any(|(label, _)| unprotected.iter().any(|(other, _)| other == label)) {
            return Err(CoseError::RepeatedLabel);
        }
        // No critical header is supported, so each list of them is refused.
        let is_critical = |item: &CborItem<'_>| item.member(label::CRIT).is_some();
        if is_critical(&self.protected) || is_critical(&self.unprotected) {
            return Err(CoseError::Critical);
        }
        Ok(())
    }

    /// Signs a payload. Returns the signature with the payload detached.
    pub fn sign(
        key: &SigningKey,
        protected: &CborItem<'_>,
        unprotected: CborItem<'a>,
        payload: &[u8],
    ) -> Result<Self, CoseError> {
        let protected_bytes = protected.encode();
        let message = signed_message(&protected_bytes, &[], payload);
        let signature = key.sign(&message).map_err(CoseError::Key)?;
        Ok(Self {
            protected: decode_protected(&protected_bytes)?,
            protected_bytes: Cow::Owned(protected_bytes),
            unprotected,
            payload: None,
            signature: Cow::Owned(signature),
        })
    }

    /// The algorithm in the protected header.
    pub fn algorithm(&self) -> Result<KeyAlgorithm, CoseError> {
        algorithm(self.protected.member(label::ALG))
    }

    /// Verifies the signature over a payload, with the algorithm in the protected header. A key id is a hint of the
    /// signer in any form, so another id explains a failure but never causes one.
    pub fn verify(&self, key: &PublicKey, detached: Option<&[u8]>) -> Result<(), CoseError> {
        let verified = self.verify_bare(self.algorithm()?, key, &[], detached);
        match (&verified, self.protected.member(label::KID).and_then(CborItem::as_bytes)) {
            (Err(CoseError::BadSignature | CoseError::OtherAlgorithm(_)), Some(kid)) if kid != key.kid() => {
                Err(CoseError::OtherKey(kid.to_vec()))
            }
            _ => verified,
        }
    }

    /// Verifies the bare signature: with this algorithm, without a look at the key id.
    pub fn verify_bare(
        &self,
        algorithm: KeyAlgorithm,
        key: &PublicKey,
        external: &[u8],
        detached: Option<&[u8]>,
    ) -> Result<(), CoseError> {
        let payload = match (&self.payload, detached) {
            (Some(_), Some(_)) => return Err(CoseError::SecondPayload),
            (None, None) => return Err(CoseError::NoPayload),
            (Some(payload), None) => payload,
            (None, Some(payload)) => payload,
        };
        if algorithm != key.algorithm() {
            return Err(CoseError::OtherAlgorithm(key.algorithm()));
        }
        let message = signed_message(&self.protected_bytes, external, payload);
        if key.accepts(&message, &self.signature) { Ok(()) } else { Err(CoseError::BadSignature) }
    }

    /// The encoded structure, with its tag.
    pub fn encode(&self) -> Vec<u8> {
        let payload = match &self.payload {
            Some(payload) => CborItem::Bytes(Cow::Borrowed(payload)),
            None => CborItem::Null,
        };
        let parts = vec![
            CborItem::Bytes(Cow::Borrowed(&self.protected_bytes)),
            self.unprotected.clone(),
            payload,
            CborItem::Bytes(Cow::Borrowed(&self.signature)),
        ];
        CborItem::Tag(TAG, Box::new(CborItem::Array(parts))).encode()
    }
}

/// The algorithm of a header value.
pub(super) fn algorithm(value: Option<&CborItem<'_>>) -> Result<KeyAlgorithm, CoseError> {
    let value = value.ok_or(CoseError::NoAlgorithm)?;
    value.as_int().and_then(KeyAlgorithm::from_cose).ok_or_else(|| {
        CoseError::UnsupportedAlgorithm(match (value.as_int(), value.as_text()) {
            (Some(number), _) => number.to_string(),
            (None, Some(text)) => format!("`{text}`"),
            (None, None) => "of an unknown type".to_owned(),
        })
    })
}

fn decode_protected(bytes: &[u8]) -> Result<CborItem<'static>, CoseError> {
    if bytes.is_empty() {
        return Ok(CborItem::Map(Vec::new()));
    }
    let item = CborItem::decode(bytes)?;
    if item.as_map().is_none() {
        return Err(CoseError::WrongForm("the protected header is not a map"));
    }
    Ok(item.into_owned())
}

/// The bytes under a signature: the `Sig_structure` of RFC 9052, section 4.4.
fn signed_message(protected: &[u8], external: &[u8], payload: &[u8]) -> Vec<u8> {
    // An empty protected header is signed as an empty string, however it was encoded.
    let protected = if protected == [0xa0] { &[] } else { protected };
    let mut message = Vec::with_capacity(payload.len() + protected.len() + external.len() + 40);
    message.push(0x84);
    encode_head(3, 10, &mut message);
    message.extend_from_slice(b"Signature1");
    for part in [protected, external, payload] {
        encode_head(2, part.len() as u64, &mut message);
        message.extend_from_slice(part);
    }
    message
}
