//! Texts known by a digest, where so many must be known that they cannot all be kept.

use sha2::{Digest as _, Sha256};

/// Gathers bytes into a digest. Nobody can make two texts with the same one, so a digest may decide that a text was told
/// before. The fast [`super::hash`] may not: two texts that share it are easily made.
#[derive(Clone)]
pub(crate) struct TextDigest(Sha256);

impl TextDigest {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// One byte, such as a tag.
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.update([byte]);
    }

    /// A text and its length: where one ends and the next begins makes a difference.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The first half of the digest.
    pub(crate) fn end(self) -> u128 {
        let all: [u8; 32] = self.0.finalize().into();
        all.first_chunk().map_or(0, |half| u128::from_le_bytes(*half))
    }
}
