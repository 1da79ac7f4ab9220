//! Keys and digests of texts, for tables with too many texts to keep.
//!
//! Two texts with the same key would count as one text, and the second would be lost. So no key here can be made to
//! collide: a [`TextDigest`] is SHA-256, and a [`text_key`] depends on a secret of this run. The fast [`super::hash`]
//! is never sufficient alone: a table with that hash also compares the text.

use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

/// Hashes bytes into a digest that is the same in every run, so written ids may be derived from it.
#[derive(Clone, Debug)]
pub(crate) struct TextDigest(Sha256);

impl TextDigest {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// The digest of one text.
    pub(crate) fn of(text: &str) -> u128 {
        let mut digest = Self::new();
        digest.bytes(text.as_bytes());
        digest.end()
    }

    /// Adds a text with its length: the boundary between two texts changes the digest.
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

/// Hashes bytes into a key of this run: two `SipHash` values under a random key, as in `HashMap`. Without the random
/// key an attacker cannot make two texts collide, and by chance two of a billion texts collide once in 10^20 runs. A
/// key costs a tenth of a digest. Keys differ from run to run, so they must not be written; equality of texts does not
/// differ.
#[derive(Clone, Debug)]
pub(crate) struct TextKey([DefaultHasher; 2]);

impl Default for TextKey {
    fn default() -> Self {
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let secret = SECRET.get_or_init(RandomState::new);
        Self([1, 2].map(|number| {
            let mut hasher = secret.build_hasher();
            hasher.write_u64(number);
            hasher
        }))
    }
}

impl TextKey {
    /// Adds a piece of a text: the boundary between two pieces does not change the key.
    #[inline]
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|half| half.write(bytes));
    }

    /// Adds a single byte, for example a tag.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.piece(&[byte]);
    }

    /// Adds a text with its length: the boundary between two texts changes the key.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.piece(&(bytes.len() as u64).to_le_bytes());
        self.piece(bytes);
    }

    #[inline]
    pub(crate) fn end(&self) -> u128 {
        let [one, two] = &self.0;
        u128::from(one.finish()) << 64 | u128::from(two.finish())
    }
}

/// The key of a text within this run: see [`TextKey`].
pub(crate) fn text_key(text: &str) -> u128 {
    let mut key = TextKey::default();
    key.piece(text.as_bytes());
    key.end()
}

#[cfg(test)]
mod tests {
    use super::{TextKey, text_key};

    #[test]
    fn a_text_in_pieces_has_the_key_of_the_whole() {
        let text = "Whatever pieces a text comes in, it is the same text.";
        for (first, second) in (0..text.len()).map(|at| text.split_at(at)) {
            let mut key = TextKey::default();
            for piece in [first, "", second] {
                key.piece(piece.as_bytes());
            }
            assert_eq!(key.end(), text_key(text), "{first}|{second}");
        }
        assert_ne!(text_key("a"), text_key("b"));
        assert_ne!(text_key(""), text_key("\0"));
    }

    #[test]
    fn halves_of_a_key_are_independent() {
        let key = text_key("a");
        assert_ne!(key >> 64, key & u128::from(u64::MAX));
    }
}
