//! SHA-256 of leaves, nodes, salts and commitments, and of the bytes of a record beside them.
//!
//! The instructions of a processor for SHA-256 wait for each other within one hash, but not between two hashes. So the blocks
//! of the tree and of the record are compressed in turn: two such streams take little more time than one
//! (`docs/decisions.md`).

use std::io::{self, Read};
use std::slice;

use sha2::compress256;
use sha2::digest::consts::U64;
use sha2::digest::generic_array::GenericArray;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// A block of SHA-256.
type Block = GenericArray<u8, U64>;

const BLOCK: usize = 64;

const FIRST_STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// SHA-256 over several parts.
pub(super) fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Hasher::new(NoPartner);
    for part in parts {
        hasher.update(part);
    }
    hasher.finish()
}

/// The size and the SHA-256 of a file.
pub fn digest_of(mut input: impl Read) -> io::Result<(u64, Hash)> {
    let mut hasher = Hasher::new(NoPartner);
    let mut buffer = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok((size, hasher.finish())),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Another hash, which compresses a block after each block of a [`Hasher`].
pub(super) trait Partner {
    /// Compresses one block, if one waits.
    fn step(&mut self);
}

impl<P: Partner> Partner for &mut P {
    fn step(&mut self) {
        (**self).step();
    }
}

/// No other hash.
#[derive(Clone)]
pub(super) struct NoPartner;

impl Partner for NoPartner {
    fn step(&mut self) {}
}

/// The state of SHA-256 between two updates.
#[derive(Clone)]
struct Digest {
    state: [u32; 8],
    /// The bytes after the last complete block.
    rest: [u8; BLOCK],
    /// All bytes so far.
    length: u64,
}

impl Digest {
    const fn new() -> Self {
        Self { state: FIRST_STATE, rest: [0; BLOCK], length: 0 }
    }

    /// The number of bytes after the last complete block.
    const fn filled(&self) -> usize {
        (self.length % BLOCK as u64) as usize
    }

    fn compress(&mut self, block: &[u8; BLOCK]) {
        compress256(&mut self.state, slice::from_ref(Block::from_slice(block)));
    }

    /// Adds bytes, and gives each complete block to `each`.
    fn update(&mut self, mut bytes: &[u8], mut each: impl FnMut(&mut Self, &[u8; BLOCK])) {
        let filled = self.filled();
        self.length += bytes.len() as u64;
        if filled > 0 {
            let (first, after) = bytes.split_at(bytes.len().min(BLOCK - filled));
            self.rest[filled..filled + first.len()].copy_from_slice(first);
            if filled + first.len() < BLOCK {
                return;
            }
            let block = self.rest;
            each(self, &block);
            bytes = after;
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            each(self, block);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
    }

    /// Adds the last blocks: a bit, zeros, and the length in bits.
    fn finish(mut self, partner: &mut impl Partner) -> Hash {
        const LENGTH_AT: usize = BLOCK - size_of::<u64>();
        let filled = self.filled();
        let mut block = self.rest;
        block[filled] = 0x80;
        block[filled + 1..].fill(0);
        if filled >= LENGTH_AT {
            self.compress(&block);
            partner.step();
            block = [0; BLOCK];
        }
        block[LENGTH_AT..].copy_from_slice(&(self.length * 8).to_be_bytes());
        self.compress(&block);
        partner.step();
        let mut hash = [0; 32];
        for (bytes, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(self.state) {
            *bytes = word.to_be_bytes();
        }
        hash
    }
}

/// An incremental SHA-256.
#[derive(Clone)]
pub(super) struct Hasher<P> {
    digest: Digest,
    partner: P,
}

impl<P: Partner> Hasher<P> {
    pub(super) fn new(partner: P) -> Self {
        Self { digest: Digest::new(), partner }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        let Self { digest, partner } = self;
        digest.update(bytes, |digest, block| {
            digest.compress(block);
            partner.step();
        });
    }

    /// Adds a part preceded by its length, so that parts cannot be shifted into each other.
    pub(super) fn part(&mut self, bytes: &[u8]) {
        self.update(&(bytes.len() as u64).to_be_bytes());
        self.update(bytes);
    }

    pub(super) fn finish(self) -> Hash {
        self.digest.finish(&mut { self.partner })
    }
}

/// The digest of a stream, whose blocks wait until another hash takes a step: the partner of that hash.
pub(super) struct WaitingDigest {
    digest: Digest,
    waiting: Vec<Block>,
    /// The first of the waiting blocks that is not compressed.
    next: usize,
}

impl WaitingDigest {
    /// The most bytes that should be added at once, because they are copied.
    pub(super) const MOST: usize = 256 << 10;

    pub(super) const fn new() -> Self {
        Self { digest: Digest::new(), waiting: Vec::new(), next: 0 }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.catch_up();
        let Self { digest, waiting, .. } = self;
        digest.update(bytes, |_, block| waiting.push(*Block::from_slice(block)));
    }

    /// Compresses all waiting blocks.
    fn catch_up(&mut self) {
        compress256(&mut self.digest.state, self.waiting.get(self.next..).unwrap_or_default());
        self.waiting.clear();
        self.next = 0;
    }

    pub(super) fn finish(mut self) -> Hash {
        self.catch_up();
        self.digest.finish(&mut NoPartner)
    }
}

impl Partner for WaitingDigest {
    fn step(&mut self) {
        if let Some(block) = self.waiting.get(self.next) {
            compress256(&mut self.digest.state, slice::from_ref(block));
            self.next += 1;
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of hexadecimal digits of either case.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// Bytes that differ from place to place.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 + at / 64) as u8).collect()
    }

    #[test]
    fn each_length_has_the_digest_that_the_crate_computes() {
        for length in (0..300).chain([4095, 4096, 4097]) {
            let bytes = bytes(length);
            let expected: Hash = Sha256::digest(&bytes).into();
            assert_eq!(sha256(&[&bytes]), expected, "{length}");
            for at in [1, 55, 56, 63, 64, 65, 130] {
                let (before, after) = bytes.split_at(at.min(length));
                assert_eq!(sha256(&[before, after]), expected, "{length} in two parts at {at}");
            }
        }
    }

    #[test]
    fn two_digests_in_turn_are_the_digests_of_their_own_bytes() {
        for (tree, stream) in [(0, 0), (100, 5000), (5000, 100), (640, 640), (4097, 3000)] {
            let (tree, stream) = (bytes(tree), bytes(stream));
            let mut partner = WaitingDigest::new();
            let mut found = [0; 32];
            for piece in stream.chunks(700) {
                partner.update(piece);
                let mut hasher = Hasher::new(&mut partner);
                hasher.update(&tree);
                found = hasher.finish();
            }
            let expected: Hash = Sha256::digest(&stream).into();
            assert_eq!(partner.finish(), expected);
            let expected: Hash = Sha256::digest(&tree).into();
            assert!(stream.is_empty() || found == expected);
        }
    }
}
