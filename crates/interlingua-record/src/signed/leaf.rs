//! The hash of an entry, which is a leaf of the tree, and the marks that stand for removed parts.
//!
//! ```text
//! leaf       = H(00, H(04, salt), gap, commitment, gap, commitment, …, gap)
//! commitment = H(02, H(03, salt, number of the part), value)
//! ```
//!
//! The gaps are the bytes of the entry outside its removable values, each preceded by its length; the first gap begins
//! with the separator before the entry. To remove a value, the file replaces the value by a mark with its commitment,
//! and holds the salts of the other parts instead of the salt of the entry. To remove an entry, the file replaces the
//! entry by a mark with its leaf hash, and holds no salt of it.

use super::cbor::CborItem;
use super::digest::{Hash, Hasher, NoPartner, Partner, from_hex, hex};
use super::scan::{REMOVABLE, ScannedEntry};

/// The known salts of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntrySalts {
    /// The salt from which the salts of all parts follow.
    Whole(Hash),
    /// The salt of the gaps, and of each part that was not removed.
    Partial { gaps: Hash, parts: Vec<Option<Hash>> },
    /// No salt: the entry was removed.
    Removed,
}

impl EntrySalts {
    /// The salts of an entry after the removal of some parts.
    pub(super) fn without(&self, count: usize, removed: impl Fn(usize) -> bool) -> Self {
        let gaps = match self {
            EntrySalts::Whole(salt) => salt_of_gaps(salt, &mut NoPartner),
            EntrySalts::Partial { gaps, .. } => *gaps,
            EntrySalts::Removed => return EntrySalts::Removed,
        };
        let kept = |part| self.part(part, &mut NoPartner).filter(|_| !removed(part));
        let parts = (0..count).map(kept).collect();
        EntrySalts::Partial { gaps, parts }
    }

    fn part(&self, part: usize, partner: &mut impl Partner) -> Option<Hash> {
        match self {
            EntrySalts::Whole(salt) => {
                let mut hasher = Hasher::new(partner);
                hasher.update(&[0x03]);
                hasher.update(salt);
                hasher.update(&(part as u64).to_be_bytes());
                Some(hasher.finish())
            }
            EntrySalts::Partial { parts, .. } => parts.get(part).copied().flatten(),
            EntrySalts::Removed => None,
        }
    }

    /// The salts as CBOR: the salt, a list of salts, or null.
    pub(super) fn to_cbor(&self) -> CborItem<'static> {
        let bytes = |hash: &Hash| CborItem::bytes(hash.to_vec());
        match self {
            EntrySalts::Whole(salt) => bytes(salt),
            EntrySalts::Partial { gaps, parts } => {
                let part = |part: &Option<Hash>| part.as_ref().map_or(CborItem::Null, bytes);
                CborItem::Array(std::iter::once(bytes(gaps)).chain(parts.iter().map(part)).collect())
            }
            EntrySalts::Removed => CborItem::Null,
        }
    }

    pub(super) fn from_cbor(item: &CborItem<'_>) -> Option<Self> {
        let hash = |item: &CborItem<'_>| item.as_bytes()?.try_into().ok();
        match item {
            CborItem::Null => Some(EntrySalts::Removed),
            CborItem::Bytes(_) => hash(item).map(EntrySalts::Whole),
            CborItem::Array(items) => {
                let (gaps, parts) = items.split_first()?;
                let part = |item: &CborItem<'_>| match item {
                    CborItem::Null => Some(None),
                    item => hash(item).map(Some),
                };
                let parts = parts.iter().map(part).collect::<Option<_>>()?;
                Some(EntrySalts::Partial { gaps: hash(gaps)?, parts })
            }
            _ => None,
        }
    }
}

fn salt_of_gaps(salt: &Hash, partner: &mut impl Partner) -> Hash {
    let mut hasher = Hasher::new(partner);
    hasher.update(&[0x04]);
    hasher.update(salt);
    hasher.finish()
}

/// The leaf hash of an entry, or `None` if a removed part is not the mark of its commitment.
pub(super) fn leaf_hash(
    entry: &ScannedEntry<'_>,
    salts: &EntrySalts,
    partner: &mut impl Partner,
) -> Option<Hash> {
    let gaps = match salts {
        EntrySalts::Whole(salt) => salt_of_gaps(salt, partner),
        EntrySalts::Partial { gaps, parts } if parts.len() == entry.parts.len() => *gaps,
        EntrySalts::Partial { .. } => return None,
        EntrySalts::Removed => return commitment_in(ENTRY_MARK, &entry.piece[entry.start..]),
    };
    // An entry has each part at most once.
    let mut commitments = [Hash::default(); REMOVABLE.len()];
    for (number, hash) in (0..entry.parts.len()).zip(&mut commitments) {
        *hash = commitment(entry, number, salts, partner)?;
    }
    let mut hasher = Hasher::new(partner);
    hasher.update(&[0x00]);
    hasher.update(&gaps);
    let mut from = 0;
    for (part, commitment) in entry.parts.iter().zip(commitments) {
        hasher.part(&entry.piece[from..part.range.start]);
        hasher.update(&commitment);
        from = part.range.end;
    }
    hasher.part(&entry.piece[from..]);
    Some(hasher.finish())
}

/// The commitment of a part: computed from its value, or read from its mark if the value was removed.
pub(super) fn commitment(
    entry: &ScannedEntry<'_>,
    number: usize,
    salts: &EntrySalts,
    partner: &mut impl Partner,
) -> Option<Hash> {
    let part = entry.parts.get(number)?;
    let value = &entry.piece[part.range.clone()];
    match salts.part(number, partner) {
        Some(salt) => {
            let mut hasher = Hasher::new(partner);
            hasher.update(&[0x02]);
            hasher.update(&salt);
            hasher.update(value);
            Some(hasher.finish())
        }
        None => commitment_in(part_mark(part.name), value),
    }
}

/// The text before and after the commitment in a mark.
type Mark = (&'static str, &'static str);

/// The mark of a removed entry. It is an event, so that the record stays valid.
const ENTRY_MARK: Mark = (r#"{"type":"system-event","event-type":"redacted","data":{"redacted":""#, r#""}}"#);

/// The mark of a removed part, in a form that the schema allows in its place.
fn part_mark(name: &str) -> Mark {
    match name {
        "children" => (r#"[{"type":"system-event","event-type":"redacted","data":{"redacted":""#, r#""}}]"#),
        "encrypted" | "signature" => (r#""redacted "#, r#"""#),
        "files" => (r#"[{"path":"redacted "#, r#"","action":"redacted"}]"#),
        "vendor-ext" => (r#"{"vendor":"redacted","data":{"redacted":""#, r#""}}"#),
        _ => (r#"{"redacted":""#, r#""}"#),
    }
}

pub(super) fn entry_mark(leaf: &Hash) -> String {
    mark_text(ENTRY_MARK, leaf)
}

pub(super) fn mark_of_part(name: &str, commitment: &Hash) -> String {
    mark_text(part_mark(name), commitment)
}

fn mark_text((before, after): Mark, hash: &Hash) -> String {
    format!("{before}{}{after}", hex(hash))
}

/// The commitment in a mark. Any other byte makes the mark invalid, so a mark carries no text.
fn commitment_in((before, after): Mark, bytes: &[u8]) -> Option<Hash> {
    let digits = bytes.strip_prefix(before.as_bytes())?.strip_suffix(after.as_bytes())?;
    let is_lower = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if !is_lower {
        return None;
    }
    from_hex(std::str::from_utf8(digits).ok()?)?.try_into().ok()
}
