//! Texts known by a key or a digest, where so many must be known that they cannot all be kept.
//!
//! Two texts with one key would count as one text, and the second would be gone. So no key here can be made to collide:
//! a [`TextDigest`] is SHA-256, and a [`text_key`] depends on a secret of this run. The fast [`super::hash`] decides
//! nothing alone: a table that uses it compares the text, too.

use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

/// Gathers bytes into a digest that is the same in every run, so ids that are written may be made of it.
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

/// Gathers bytes into a key of this run: two `SipHash` values under the random key that `HashMap` has. Without that key
/// nobody can make two texts collide, and by chance two of a billion texts do once in 10^20 runs. It costs a tenth of a
/// digest. Keys differ from run to run, so none may be written; which texts are equal does not differ.
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
    /// A piece of a text: where one ends and the next begins makes no difference.
    #[inline]
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|half| half.write(bytes));
    }

    /// One byte, such as a tag.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.piece(&[byte]);
    }

    /// A text and its length: where one ends and the next begins makes a difference.
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
