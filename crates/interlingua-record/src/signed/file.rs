//! A signature file: the envelope with a tree head inside, or a tree head alone.

use super::cbor::CborItem;
use super::cose::{Sign1, label};
use super::head::{PART_SALTS, SALTS, TREE_HEAD_TYPE, content_type};
use super::verify::SignatureFault;

/// The unprotected header of the envelope with the encoded tree head.
pub(super) const TREE_HEAD: &str = "tree-head";

/// The largest signature file. The largest attached record is 64 MiB; the rest is for salts of redacted records.
pub const MAX_FILE: u64 = 256 << 20;

/// A decoded signature file. The signatures are not verified yet.
pub(super) struct SignatureFile<'a> {
    sign1: Sign1<'a>,
}

impl<'a> SignatureFile<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, SignatureFault> {
        if bytes.trim_ascii_start().starts_with(b"{") {
            return Err(SignatureFault::NotASignature);
        }
        let file = Self { sign1: Sign1::decode(bytes)? };
        let names: &[&str] = if file.is_head() { &[SALTS, PART_SALTS] } else { &[TREE_HEAD] };
        check_unprotected(&file.sign1, names)?;
        Ok(file)
    }

    fn is_head(&self) -> bool {
        content_type(&self.sign1) == Some(TREE_HEAD_TYPE)
    }

    /// The envelope. A file after redaction has none.
    pub(super) fn envelope(&self) -> Option<&Sign1<'a>> {
        (!self.is_head()).then_some(&self.sign1)
    }

    /// The tree head. A signature of another program has none.
    pub(super) fn head(&self) -> Result<Option<Sign1<'_>>, SignatureFault> {
        if self.is_head() {
            return Ok(Some(self.sign1.clone()));
        }
        let Some(item) = self.sign1.unprotected.named(TREE_HEAD) else { return Ok(None) };
        let bytes = item.as_bytes().ok_or(SignatureFault::NotAHead)?;
        let head = Sign1::decode(bytes)?;
        if content_type(&head) != Some(TREE_HEAD_TYPE) {
            return Err(SignatureFault::NotAHead);
        }
        check_unprotected(&head, &[SALTS, PART_SALTS])?;
        Ok(Some(head))
    }

    /// Whether the payload of the envelope is the digest of the record.
    pub(super) fn is_by_digest(&self) -> bool {
        self.sign1.protected.member(label::PAYLOAD_HASH_ALG).is_some()
    }

    /// The record inside the file.
    pub(super) fn record(&self) -> Option<&[u8]> {
        if self.is_head() || self.is_by_digest() { None } else { self.sign1.payload.as_deref() }
    }
}

/// The numbers of unprotected headers, as in the draft: the key id, certificates, trace metadata and receipts.
const UNPROTECTED: [i64; 5] =
    [label::KID, label::X5CHAIN, label::X5T, label::TRACE_METADATA, label::RECEIPTS];

/// Refuses unknown unprotected headers. No signature covers them, so a changed name would hide a header, and a new header
/// could hold any text.
fn check_unprotected(sign1: &Sign1<'_>, names: &[&str]) -> Result<(), SignatureFault> {
    for (name, _) in sign1.unprotected.as_map().unwrap_or_default() {
        let is_known = match (name.as_int(), name.as_text()) {
            (Some(number), _) => UNPROTECTED.contains(&number),
            (None, Some(text)) => names.contains(&text),
            (None, None) => false,
        };
        if !is_known {
            return Err(SignatureFault::UnknownHeader(header_name(name)));
        }
    }
    Ok(())
}

/// The name of a header in words.
pub(super) fn header_name(name: &CborItem<'_>) -> String {
    match (name.as_int(), name.as_text()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) => format!("`{text}`"),
        (None, None) => "of an unknown type".to_owned(),
    }
}
