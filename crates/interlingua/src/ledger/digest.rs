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
        static HASHERS: OnceLock<TextKey> = OnceLock::new();
        HASHERS.get_or_init(|| Self([1, 2].map(secret_hasher))).clone()
    }
}

/// A hasher with the secret of this run, after a number.
fn secret_hasher(number: u64) -> DefaultHasher {
    static SECRET: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = SECRET.get_or_init(RandomState::new).build_hasher();
    hasher.write_u64(number);
    hasher
}

/// Blocks of a long text are reduced to 32 bytes each before they are hashed, by the NH function of UMAC (RFC 4418) with
/// words of 64 bits: for random keys that nobody knows, two distinct blocks of the same length have the same 32 bytes
/// with a probability of 2^-128. It takes a quarter of the time of the two hashes.
struct BlockKeys([u64; BlockKeys::WORDS + 2]);

impl BlockKeys {
    /// The number of words in a block.
    const WORDS: usize = 128;
    const BYTES: usize = 8 * Self::WORDS;

    fn of_run() -> &'static Self {
        static KEYS: OnceLock<BlockKeys> = OnceLock::new();
        // No text key begins with these numbers, so the secret may be shared.
        KEYS.get_or_init(|| Self(std::array::from_fn(|at| secret_hasher(0x100 + at as u64).finish())))
    }

    /// Reduces a block. The second half uses the same keys, shifted by a pair.
    fn reduce(&self, block: &[u8]) -> [u128; 2] {
        let (pairs, rest) = block.as_chunks::<16>();
        let (keys, _) = self.0.as_chunks::<2>();
        let shifted = keys.get(1..).unwrap_or_default();
        let mut sums = [0u128; 2];
        let mut add = |pair: &[u8; 16], [keys, shifted]: [&[u64; 2]; 2]| {
            let all = u128::from_le_bytes(*pair);
            let (low, high) = (all as u64, (all >> 64) as u64);
            for (sum, keys) in sums.iter_mut().zip([keys, shifted]) {
                let product = u128::from(low.wrapping_add(keys[0])) * u128::from(high.wrapping_add(keys[1]));
                *sum = sum.wrapping_add(product);
            }
        };
        for ((pair, keys), shifted) in pairs.iter().zip(keys).zip(shifted) {
            add(pair, [keys, shifted]);
        }
        if !rest.is_empty()
            && let Some([keys, shifted]) = keys.get(pairs.len()..).and_then(<[_]>::first_chunk)
        {
            let mut last = [0; 16];
            last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
            add(&last, [keys, shifted]);
        }
        sums
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
        if bytes.len() <= LONG_TEXT {
            return self.piece(bytes);
        }
        self.blocks(bytes);
    }

    /// Adds a long text, block by block.
    fn blocks(&mut self, bytes: &[u8]) {
        let keys = BlockKeys::of_run();
        for block in bytes.chunks(BlockKeys::BYTES) {
            let sums = keys.reduce(block).map(u128::to_le_bytes);
            self.piece(sums.as_flattened());
        }
    }

    #[inline]
    pub(crate) fn end(&self) -> u128 {
        let [one, two] = &self.0;
        u128::from(one.finish()) << 64 | u128::from(two.finish())
    }
}

/// A longer text is reduced block by block before it is hashed.
const LONG_TEXT: usize = 128;

/// The key of a whole text within this run: see [`TextKey`]. The pieces of a longer text than [`LONG_TEXT`] have another
/// key.
pub(crate) fn text_key(text: &str) -> u128 {
    let mut key = TextKey::default();
    if text.len() <= LONG_TEXT {
        key.piece(text.as_bytes());
    } else {
        key.bytes(text.as_bytes());
    }
    key.end()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{TextKey, text_key};

    #[test]
    fn a_text_in_pieces_has_the_key_of_the_whole() {
        let text = "Whatever pieces a text comes in, it is the same text.";
        let key_of = |pieces: &[&str]| {
            let mut key = TextKey::default();
            for piece in pieces {
                key.piece(piece.as_bytes());
            }
            key.end()
        };
        for (first, second) in (0..text.len()).map(|at| text.split_at(at)) {
            assert_eq!(key_of(&[first, "", second]), text_key(text), "{first}|{second}");
            // Longer than a text whose key is made without blocks.
            let long = [text; 5].concat();
            assert_eq!(key_of(&[first, second, text, text, text, text]), key_of(&[&long]));
        }
        assert_ne!(text_key("a"), text_key("b"));
        assert_ne!(text_key(""), text_key("\0"));
    }

    #[test]
    fn every_byte_of_a_long_text_changes_its_key() {
        let text: Vec<u8> = (0..3000u32).map(|number| (number % 121) as u8).collect();
        let key_of = |bytes: &[u8]| {
            let mut key = TextKey::default();
            key.bytes(bytes);
            // The text is ASCII.
            assert_eq!(text_key(str::from_utf8(bytes).expect("ASCII")), key.end());
            key.end()
        };
        let mut keys = HashSet::from([key_of(&text)]);
        assert!(!keys.insert(key_of(&text)), "the same text has the same key");
        for at in 0..text.len() {
            let mut other = text.clone();
            other[at] ^= 1;
            assert!(keys.insert(key_of(&other)), "byte {at}");
        }
        // Another length, also one that only adds zeros to the last block.
        for length in (2900..text.len()).chain([129, 257, 1024, 2048]) {
            assert!(keys.insert(key_of(&text[..length])), "length {length}");
        }
        let mut longer = text.clone();
        for _ in 0..20 {
            longer.push(0);
            assert!(keys.insert(key_of(&longer)), "length {}", longer.len());
        }
        // Blocks, and words of a block, in another order.
        let mut swapped = text.clone();
        swapped.rotate_left(1024);
        assert!(keys.insert(key_of(&swapped)));
        let mut swapped = text.clone();
        swapped[..32].rotate_left(16);
        assert!(keys.insert(key_of(&swapped)));
        let mut swapped = text;
        swapped[..16].rotate_left(8);
        assert!(keys.insert(key_of(&swapped)));
    }

    #[test]
    fn halves_of_a_key_are_independent() {
        let key = text_key("a");
        assert_ne!(key >> 64, key & u128::from(u64::MAX));
    }
}
