//! Certificate chains in signatures (`x5chain` and `x5t`, RFC 9360), and their validation against a trust store.
//!
//! The trust store is always given by the caller: no certificate of the operating system is trusted. The path is
//! validated by `rustls-webpki`. Revocation is not checked, because verification makes no connection.

use std::fmt;
use std::time::Duration;

use interlingua::json::from_base64;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring as algorithms};

use super::cbor::CborItem;
use super::cose::{SHA_256, Sign1, label};
use super::digest::sha256;
use super::file::SignatureFile;
use super::head::read_claims;
use super::keys::PublicKey;
use super::proof::proof_heads;
use super::time::utc;
use super::verify::SignatureFault;

/// The longest chain. Longer chains are refused before their certificates are parsed.
const MAX_CHAIN: usize = 10;

/// `id-kp-documentSigning` (RFC 9336). A certificate that limits its purposes must allow this one.
const DOCUMENT_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x24];

/// The algorithms of signatures on certificates.
static ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 11] = [
    algorithms::ED25519,
    algorithms::ECDSA_P256_SHA256,
    algorithms::ECDSA_P256_SHA384,
    algorithms::ECDSA_P384_SHA256,
    algorithms::ECDSA_P384_SHA384,
    algorithms::RSA_PKCS1_2048_8192_SHA256,
    algorithms::RSA_PKCS1_2048_8192_SHA384,
    algorithms::RSA_PKCS1_2048_8192_SHA512,
    algorithms::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
    algorithms::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
    algorithms::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
];

/// The clock that a certificate was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The time of signing, as the signer claims it.
    Signer,
    /// The time of verification.
    Verifier,
}

/// The reason for which a certificate chain is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// The file has no PEM block `CERTIFICATE`.
    NoPem,
    /// A certificate is damaged.
    Damaged,
    /// The chain has more than ten certificates.
    TooLong,
    /// The key of the certificate is neither Ed25519 nor P-256.
    UnsupportedKey,
    /// The first certificate is for another key than the signing key.
    OtherKey,
    /// The signature has no header `x5chain`.
    NoChain,
    /// The header `x5t` is not the SHA-256 of the first certificate.
    OtherThumbprint,
    /// The signature has no time.
    NoTime,
    /// No certificate of the trust store leads to the chain.
    UnknownIssuer,
    /// An issuer has the expected name and another key.
    OtherIssuer,
    /// A certificate was not valid yet.
    NotYetValid {
        /// Whose clock.
        clock: ClockSource,
        /// Seconds since 1970.
        from: u64,
    },
    /// A certificate has expired.
    Expired {
        /// Whose clock.
        clock: ClockSource,
        /// Seconds since 1970.
        until: u64,
    },
    /// The certificate limits its purposes, and does not allow the signing of documents.
    OtherPurpose,
    /// The certificate is that of an authority.
    Authority,
    /// Another reason, in the words of the library.
    Refused(String),
}

impl fmt::Display for ChainFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = |clock: &ClockSource| match clock {
            ClockSource::Signer => "at the claimed time of signing",
            ClockSource::Verifier => "now",
        };
        match self {
            ChainFault::NoPem => write!(out, "the file has no PEM block `CERTIFICATE`"),
            ChainFault::Damaged => write!(out, "a certificate is damaged"),
            ChainFault::TooLong => write!(out, "the chain has more than {MAX_CHAIN} certificates"),
            ChainFault::UnsupportedKey => {
                write!(out, "the key of the certificate is neither Ed25519 nor ECDSA on P-256")
            }
            ChainFault::OtherKey => {
                write!(out, "the first certificate is for another key than the signing key")
            }
            ChainFault::NoChain => write!(out, "the signature carries no certificate chain (`x5chain`)"),
            ChainFault::OtherThumbprint => {
                write!(out, "the signed thumbprint (`x5t`) is that of another certificate")
            }
            ChainFault::NoTime => write!(out, "the signature has no time to compare the certificate with"),
            ChainFault::UnknownIssuer => {
                write!(out, "no certificate of the trust store issued the certificate of the signer")
            }
            ChainFault::OtherIssuer => {
                write!(out, "a certificate of the chain is not signed by the key of the issuer that it names")
            }
            ChainFault::NotYetValid { clock: source, from } => {
                write!(
                    out,
                    "a certificate of the chain was not valid {}: it is valid from {}",
                    clock(source),
                    utc(*from)
                )
            }
            ChainFault::Expired { clock: source, until } => {
                write!(
                    out,
                    "a certificate of the chain is expired {}: it was valid until {}",
                    clock(source),
                    utc(*until)
                )
            }
            ChainFault::OtherPurpose => {
                write!(out, "the certificate is for other purposes than the signing of documents")
            }
            ChainFault::Authority => {
                write!(out, "the certificate is that of an authority, and not that of a signer")
            }
            ChainFault::Refused(reason) => write!(out, "the certificate chain is refused: {reason}"),
        }
    }
}

impl std::error::Error for ChainFault {}

/// A chain of certificates, the signer's certificate first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateChain(Vec<CertificateDer<'static>>);

impl CertificateChain {
    /// Parses the certificates of a PEM file.
    pub fn from_pem(text: &str) -> Result<Self, ChainFault> {
        let certificates = certificates(text)?;
        if certificates.len() > MAX_CHAIN {
            return Err(ChainFault::TooLong);
        }
        Ok(Self(certificates))
    }

    /// The chain in the header of a signature, compared with the thumbprint in the protected header.
    fn of_signature(sign1: &Sign1<'_>) -> Result<Self, ChainFault> {
        let header =
            sign1.protected.member(label::X5CHAIN).or_else(|| sign1.unprotected.member(label::X5CHAIN));
        let items = match header {
            None => return Err(ChainFault::NoChain),
            Some(CborItem::Array(items)) => items.as_slice(),
            Some(item) => std::slice::from_ref(item),
        };
        if items.len() > MAX_CHAIN {
            return Err(ChainFault::TooLong);
        }
        let certificate = |item: &CborItem<'_>| item.as_bytes().map(|der| CertificateDer::from(der.to_vec()));
        let certificates =
            items.iter().map(certificate).collect::<Option<Vec<_>>>().ok_or(ChainFault::Damaged)?;
        let chain = Self(certificates);
        if let Some(thumbprint) = sign1.protected.member(label::X5T)
            && *thumbprint != chain.thumbprint()?
        {
            return Err(ChainFault::OtherThumbprint);
        }
        Ok(chain)
    }

    /// The protected headers with the chain and its thumbprint.
    pub(super) fn headers(&self) -> Result<[(CborItem<'static>, CborItem<'static>); 2], ChainFault> {
        let item = |der: &CertificateDer<'_>| CborItem::bytes(der.to_vec());
        let chain = match self.0.as_slice() {
            [single] => item(single),
            several => CborItem::Array(several.iter().map(item).collect()),
        };
        Ok([(CborItem::int(label::X5CHAIN), chain), (CborItem::int(label::X5T), self.thumbprint()?)])
    }

    fn thumbprint(&self) -> Result<CborItem<'static>, ChainFault> {
        let hash = CborItem::bytes(sha256(&[self.first()?]).to_vec());
        Ok(CborItem::Array(vec![CborItem::int(SHA_256), hash]))
    }

    fn first(&self) -> Result<&CertificateDer<'static>, ChainFault> {
        self.0.first().ok_or(ChainFault::NoChain)
    }

    /// The public key of the first certificate.
    pub fn key(&self) -> Result<PublicKey, ChainFault> {
        let certificate = EndEntityCert::try_from(self.first()?).map_err(|_| ChainFault::Damaged)?;
        PublicKey::from_spki(&certificate.subject_public_key_info()).map_err(|_| ChainFault::UnsupportedKey)
    }

    /// The name of the subject of the first certificate.
    fn subject(&self) -> Result<String, ChainFault> {
        let certificate = EndEntityCert::try_from(self.first()?).map_err(|_| ChainFault::Damaged)?;
        Ok(name_text(certificate.subject()).unwrap_or_else(|| "a name of unknown form".to_owned()))
    }
}

/// The certificates that the verifier trusts.
pub struct TrustStore(Vec<CertificateDer<'static>>);

impl TrustStore {
    /// Parses the certificates of a PEM file.
    pub fn from_pem(text: &str) -> Result<Self, ChainFault> {
        let certificates = certificates(text)?;
        for certificate in &certificates {
            anchor_from_trusted_cert(certificate).map_err(|_| ChainFault::Damaged)?;
        }
        Ok(Self(certificates))
    }

    /// Validates the path from a chain to a trusted certificate. Returns the name of that certificate.
    fn validate(
        &self,
        chain: &CertificateChain,
        time: u64,
        clock: ClockSource,
    ) -> Result<String, ChainFault> {
        let anchors: Vec<TrustAnchor<'_>> =
            self.0.iter().filter_map(|certificate| anchor_from_trusted_cert(certificate).ok()).collect();
        let (first, others) = chain.0.split_first().ok_or(ChainFault::NoChain)?;
        let certificate = EndEntityCert::try_from(first).map_err(|_| ChainFault::Damaged)?;
        let path = certificate.verify_for_usage(
            &ALGORITHMS,
            &anchors,
            others,
            UnixTime::since_unix_epoch(Duration::from_secs(time)),
            KeyUsage::required_if_present(DOCUMENT_SIGNING),
            None,
            None,
        );
        match path {
            Ok(path) => {
                Ok(name_text(&path.anchor().subject).unwrap_or_else(|| "a name of unknown form".to_owned()))
            }
            Err(webpki::Error::CertExpired { not_after, .. }) => {
                Err(ChainFault::Expired { clock, until: not_after.as_secs() })
            }
            Err(webpki::Error::CertNotValidYet { not_before, .. }) => {
                Err(ChainFault::NotYetValid { clock, from: not_before.as_secs() })
            }
            Err(webpki::Error::UnknownIssuer) => Err(ChainFault::UnknownIssuer),
            Err(webpki::Error::InvalidSignatureForPublicKey) => Err(ChainFault::OtherIssuer),
            Err(webpki::Error::RequiredEkuNotFoundContext(_)) => Err(ChainFault::OtherPurpose),
            Err(webpki::Error::CaUsedAsEndEntity) => Err(ChainFault::Authority),
            Err(error) => Err(ChainFault::Refused(error.to_string())),
        }
    }
}

/// The key of a signature file, as certified by a trust store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedKey {
    /// The key of the signer's certificate. A signature of the file holds only if this key verifies it.
    pub key: PublicKey,
    /// The name in the signer's certificate.
    pub subject: String,
    /// The name of the trusted certificate at the end of the chain.
    pub anchor: String,
    /// The fault of a chain that was valid at the claimed time of signing and is not valid now.
    pub now: Option<ChainFault>,
}

impl CertifiedKey {
    /// Reads and validates the certificate chain of a signature file or a proof, at the claimed time of each of its
    /// signatures and at the time `now`. The claimed times are covered by the signatures, which the caller verifies
    /// with the returned key.
    pub fn of_file(file: &[u8], trust: &TrustStore, now: u64) -> Result<Self, SignatureFault> {
        let decoded;
        let heads;
        let signatures: Vec<&Sign1<'_>> = if let Some(found) = proof_heads(file)? {
            heads = found;
            heads.iter().collect()
        } else {
            decoded = SignatureFile::decode(file)?;
            heads = decoded.head()?.into_iter().collect();
            decoded.envelope().into_iter().chain(&heads).collect()
        };
        let first = signatures.first().ok_or(SignatureFault::NotAHead)?;
        let chain = CertificateChain::of_signature(first)?;
        let mut anchor = String::new();
        for signature in &signatures {
            // All signatures of a file are verified with one key, so they need the same chain.
            if CertificateChain::of_signature(signature)? != chain {
                return Err(ChainFault::OtherThumbprint.into());
            }
            let time = read_claims(signature)?.time.ok_or(ChainFault::NoTime)?;
            anchor = trust.validate(&chain, time, ClockSource::Signer)?;
        }
        let now = trust.validate(&chain, now, ClockSource::Verifier).err();
        Ok(Self { key: chain.key()?, subject: chain.subject()?, anchor, now })
    }
}

/// The certificates of a PEM file.
fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, ChainFault> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN CERTIFICATE-----") {
        let (body, after) = after.split_once("-----END CERTIFICATE-----").ok_or(ChainFault::Damaged)?;
        let body: String = body.split_ascii_whitespace().collect();
        found.push(CertificateDer::from(from_base64(&body).ok_or(ChainFault::Damaged)?));
        rest = after;
    }
    if found.is_empty() { Err(ChainFault::NoPem) } else { Ok(found) }
}

/// An X.501 name as text, such as `CN=Ann Example, O=Example`. The input is the content of the outer sequence.
fn name_text(mut name: &[u8]) -> Option<String> {
    let mut parts = Vec::new();
    while !name.is_empty() {
        let (mut set, rest) = der(name, 0x31)?;
        name = rest;
        while !set.is_empty() {
            let (pair, rest) = der(set, 0x30)?;
            set = rest;
            let (kind, value) = der(pair, 0x06)?;
            let (&tag, _) = value.split_first()?;
            let (text, _) = der(value, tag)?;
            let kind = match kind {
                [0x55, 0x04, 0x03] => "CN".to_owned(),
                [0x55, 0x04, 0x06] => "C".to_owned(),
                [0x55, 0x04, 0x0a] => "O".to_owned(),
                [0x55, 0x04, 0x0b] => "OU".to_owned(),
                [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01] => "emailAddress".to_owned(),
                other => format!("oid {}", super::digest::hex(other)),
            };
            parts.push(format!("{kind}={}", String::from_utf8_lossy(text)));
        }
    }
    Some(if parts.is_empty() { "an empty name".to_owned() } else { parts.join(", ") })
}

/// The content of the DER element with this tag at the beginning, and the bytes after it.
fn der(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => rest.split_first().map(|(&length, rest)| (usize::from(length), rest))?,
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None,
    };
    (found == tag).then(|| rest.split_at_checked(length)).flatten()
}
