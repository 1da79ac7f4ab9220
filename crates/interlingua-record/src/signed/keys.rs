//! Keys: Ed25519 and ECDSA on P-256, as PEM files (PKCS#8 for private keys, SPKI for public keys).
//!
//! A private key has no `Debug`, and no error of this module contains a byte of a key file.

use std::fmt;

use interlingua::json::{base64, from_base64};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, UnparsedPublicKey,
};

use super::digest::{Hash, sha256};

/// PKCS#8 version 1 of an Ed25519 key, before its 32 bytes. Older programs do not read version 2, which ring writes.
const ED25519_PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// SPKI of an Ed25519 key, before its 32 bytes.
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// SPKI of an uncompressed point on P-256, before its 65 bytes.
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A signature algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// Ed25519 (COSE `EdDSA`, -8).
    Ed25519,
    /// ECDSA on P-256 with SHA-256 (COSE `ES256`, -7).
    Es256,
}

impl KeyAlgorithm {
    /// The number in the protected header. The general numbers are written, because the libraries in use know only
    /// those; the fully specified numbers of RFC 9864 are accepted as well.
    pub const fn cose_number(self) -> i64 {
        match self {
            KeyAlgorithm::Ed25519 => -8,
            KeyAlgorithm::Es256 => -7,
        }
    }

    /// The algorithm of a COSE number.
    pub const fn from_cose(number: i64) -> Option<Self> {
        match number {
            -8 | -19 => Some(KeyAlgorithm::Ed25519),
            -7 | -9 => Some(KeyAlgorithm::Es256),
            _ => None,
        }
    }

    /// The name for people and flags.
    pub const fn name(self) -> &'static str {
        match self {
            KeyAlgorithm::Ed25519 => "ed25519",
            KeyAlgorithm::Es256 => "es256",
        }
    }
}

/// The reason for which a key file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The file has no PEM block of the expected kind.
    NoPem(&'static str),
    /// The file holds a private key where a public key is expected.
    IsPrivate,
    /// The private key is protected by a password.
    Encrypted,
    /// The PEM block is damaged.
    Damaged,
    /// The key is neither Ed25519 nor P-256.
    Unsupported,
    /// The operating system gave no random bytes.
    NoRandomness,
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::NoPem(label) => write!(out, "the file has no PEM block `{label}`"),
            KeyError::IsPrivate => write!(out, "the file holds a private key; a public key is needed here"),
            KeyError::Encrypted => {
                write!(out, "the private key is protected by a password, which is not supported")
            }
            KeyError::Damaged => write!(out, "the PEM block of the key is damaged"),
            KeyError::Unsupported => write!(out, "the key is neither Ed25519 nor ECDSA on P-256"),
            KeyError::NoRandomness => write!(out, "the operating system gave no random bytes"),
        }
    }
}

impl std::error::Error for KeyError {}

/// A private key.
pub struct SigningKey {
    pair: Pair,
    random: SystemRandom,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    Es256(EcdsaKeyPair),
}

impl SigningKey {
    /// Makes a new private key, as PEM (PKCS#8).
    pub fn generate(algorithm: KeyAlgorithm) -> Result<String, KeyError> {
        let random = SystemRandom::new();
        let der = match algorithm {
            KeyAlgorithm::Ed25519 => {
                let mut seed = [0; 32];
                random.fill(&mut seed).map_err(|_| KeyError::NoRandomness)?;
                [&ED25519_PKCS8[..], &seed].concat()
            }
            KeyAlgorithm::Es256 => {
                let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
                der.map_err(|_| KeyError::NoRandomness)?.as_ref().to_vec()
            }
        };
        Ok(pem("PRIVATE KEY", &der))
    }

    /// Parses a private key from PEM (PKCS#8).
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
            return Err(KeyError::Encrypted);
        }
        let der = from_pem(text, "PRIVATE KEY")?;
        let random = SystemRandom::new();
        let pair = match Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            Ok(pair) => Pair::Ed25519(pair),
            Err(_) => EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random)
                .map(Pair::Es256)
                .map_err(|_| KeyError::Unsupported)?,
        };
        Ok(Self { pair, random })
    }

    /// The public key of this key.
    pub fn public(&self) -> PublicKey {
        match &self.pair {
            Pair::Ed25519(pair) => {
                PublicKey { algorithm: KeyAlgorithm::Ed25519, point: pair.public_key().as_ref().to_vec() }
            }
            Pair::Es256(pair) => {
                PublicKey { algorithm: KeyAlgorithm::Es256, point: pair.public_key().as_ref().to_vec() }
            }
        }
    }

    /// Signs a message.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.pair {
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Es256(pair) => {
                let signature = pair.sign(&self.random, message);
                Ok(signature.map_err(|_| KeyError::NoRandomness)?.as_ref().to_vec())
            }
        }
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: KeyAlgorithm,
    point: Vec<u8>,
}

impl PublicKey {
    /// An Ed25519 key of 32 bytes, or an uncompressed point of 65 bytes on P-256.
    pub fn from_point(algorithm: KeyAlgorithm, point: &[u8]) -> Result<Self, KeyError> {
        let is_sound = match algorithm {
            KeyAlgorithm::Ed25519 => point.len() == 32,
            KeyAlgorithm::Es256 => point.len() == 65 && point.first() == Some(&4),
        };
        if is_sound { Ok(Self { algorithm, point: point.to_vec() }) } else { Err(KeyError::Unsupported) }
    }

    /// Parses a public key from PEM (SPKI).
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("PRIVATE KEY-----") {
            return Err(KeyError::IsPrivate);
        }
        Self::from_spki(&from_pem(text, "PUBLIC KEY")?)
    }

    /// Parses a public key from its SPKI form (DER).
    pub(super) fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        if let Some(point) = der.strip_prefix(&ED25519_SPKI[..]) {
            return Self::from_point(KeyAlgorithm::Ed25519, point);
        }
        let point = der.strip_prefix(&P256_SPKI[..]).ok_or(KeyError::Unsupported)?;
        Self::from_point(KeyAlgorithm::Es256, point)
    }

    /// The key as PEM (SPKI).
    pub fn to_pem(&self) -> String {
        pem("PUBLIC KEY", &self.spki())
    }

    fn spki(&self) -> Vec<u8> {
        let prefix = match self.algorithm {
            KeyAlgorithm::Ed25519 => &ED25519_SPKI[..],
            KeyAlgorithm::Es256 => &P256_SPKI[..],
        };
        [prefix, &self.point].concat()
    }

    /// The bytes of the key without their SPKI form.
    pub(super) fn point(&self) -> &[u8] {
        &self.point
    }

    /// The key id: the SHA-256 of the key's SPKI form.
    pub fn kid(&self) -> Hash {
        sha256(&[&self.spki()])
    }

    /// The algorithm of the key.
    pub const fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    /// Whether a signature over a message is valid.
    pub(super) fn accepts(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.algorithm {
            KeyAlgorithm::Ed25519 => UnparsedPublicKey::new(&ED25519, &self.point).verify(message, signature),
            KeyAlgorithm::Es256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.point).verify(message, signature)
            }
        }
        .is_ok()
    }
}

/// 32 random bytes.
pub(super) fn random_seed() -> Result<Hash, KeyError> {
    let mut seed = [0; 32];
    SystemRandom::new().fill(&mut seed).map_err(|_| KeyError::NoRandomness)?;
    Ok(seed)
}

fn pem(label: &str, der: &[u8]) -> String {
    let body = base64(der);
    let mut lines = String::new();
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn from_pem(text: &str, label: &'static str) -> Result<Vec<u8>, KeyError> {
    let (_, after) = text.split_once(&format!("-----BEGIN {label}-----")).ok_or(KeyError::NoPem(label))?;
    let (body, _) = after.split_once(&format!("-----END {label}-----")).ok_or(KeyError::Damaged)?;
    let body: String = body.split_ascii_whitespace().collect();
    from_base64(&body).ok_or(KeyError::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_pem_file_and_signs() {
        for algorithm in [KeyAlgorithm::Ed25519, KeyAlgorithm::Es256] {
            let key = SigningKey::from_pem(&SigningKey::generate(algorithm).unwrap()).unwrap();
            let public = PublicKey::from_pem(&key.public().to_pem()).unwrap();
            assert_eq!(public, key.public());
            assert_eq!(public.algorithm(), algorithm);
            let signature = key.sign(b"text").unwrap();
            assert!(public.accepts(b"text", &signature));
            assert!(!public.accepts(b"texT", &signature));
        }
    }

    #[test]
    fn a_wrong_key_file_is_refused_with_its_own_reason() {
        let private = SigningKey::generate(KeyAlgorithm::Ed25519).unwrap();
        assert_eq!(PublicKey::from_pem(&private), Err(KeyError::IsPrivate));
        assert_eq!(PublicKey::from_pem("nothing"), Err(KeyError::NoPem("PUBLIC KEY")));
        let refusal = |text: &str| SigningKey::from_pem(text).err();
        assert_eq!(refusal(&private.replace("-----END", "-----")), Some(KeyError::Damaged));
        let public = SigningKey::from_pem(&private).unwrap().public().to_pem();
        assert_eq!(refusal(&public), Some(KeyError::NoPem("PRIVATE KEY")));
        assert_eq!(refusal(&pem("ENCRYPTED PRIVATE KEY", &[0])), Some(KeyError::Encrypted));
        assert_eq!(refusal(&pem("PRIVATE KEY", &[0; 48])), Some(KeyError::Unsupported));
    }
}
