//! How bodies are stored: plain below four kilobytes, compressed above, and requests as lists of shared pieces.
//!
//! Each request of a conversation repeats the requests before it, and requests of one program repeat its tools and system
//! text. So a large request is cut into pieces at places that depend on its content alone; a piece that is already
//! stored is stored once. An insertion changes only the pieces around it, because the cuts move with the content.
//!
//! A stored body starts with a byte for its form.

use std::cell::RefCell;
use std::io::Read as _;

use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use ring::digest::SHA256;

/// Bodies below this length are stored as they are: the tables of a compressor have 300 KB, and to clear them takes longer
/// than to write a page of the database.
const LEAST_COMPRESSED: usize = 4 << 10;

/// Pieces below this length are stored as they are. Pieces are stored once and shared by many requests.
const LEAST_COMPRESSED_PIECE: usize = 1 << 10;

/// Requests from this length on are cut into pieces.
const LEAST_CUT: usize = 8 << 10;

/// The digest of a piece: half a SHA-256.
pub(crate) type PieceDigest = [u8; 16];

const PLAIN: u8 = 0;
const DEFLATED: u8 = 1;
const PIECES: u8 = 2;

/// A request that is ready to be stored.
pub(crate) enum PackedRequest<'b> {
    /// The stored form.
    Whole(Vec<u8>),
    /// The stored form, and the pieces that it names.
    Pieces(Vec<u8>, Vec<(PieceDigest, &'b [u8])>),
}

/// Packs a request.
pub(crate) fn pack_request(body: &[u8]) -> PackedRequest<'_> {
    if body.len() < LEAST_CUT {
        return PackedRequest::Whole(pack(body));
    }
    let pieces: Vec<(PieceDigest, &[u8])> = cut(body).map(|piece| (digest(piece), piece)).collect();
    let mut list = Vec::with_capacity(1 + pieces.len() * 16);
    list.push(PIECES);
    for (digest, _) in &pieces {
        list.extend_from_slice(digest);
    }
    PackedRequest::Pieces(list, pieces)
}

/// Packs a body.
pub(crate) fn pack(body: &[u8]) -> Vec<u8> {
    pack_from(LEAST_COMPRESSED, body)
}

/// Packs a piece of a request.
pub(crate) fn pack_piece(piece: &[u8]) -> Vec<u8> {
    pack_from(LEAST_COMPRESSED_PIECE, piece)
}

/// Packs a body, compressed from this length on.
fn pack_from(least: usize, body: &[u8]) -> Vec<u8> {
    if body.len() >= least {
        // The output must be shorter than the body, so the compressor gets no more space.
        let mut packed = Vec::with_capacity(body.len());
        packed.push(DEFLATED);
        packed.extend_from_slice(&(body.len() as u64).to_le_bytes());
        let ended = COMPRESSOR.with_borrow_mut(|compressor| {
            compressor.reset();
            compressor.compress_vec(body, &mut packed, FlushCompress::Finish)
        });
        if matches!(ended, Ok(Status::StreamEnd)) {
            packed.shrink_to_fit();
            return packed;
        }
    }
    let mut packed = Vec::with_capacity(1 + body.len());
    packed.push(PLAIN);
    packed.extend_from_slice(body);
    packed
}

thread_local! {
    /// The compressor of the thread, because a new one allocates and clears its tables.
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), false));
}

/// A stored body.
pub(crate) enum Unpacked {
    /// The body.
    Body(Vec<u8>),
    /// The pieces of the body, in order.
    Pieces(Vec<PieceDigest>),
}

/// Unpacks a stored body; `None` if the stored bytes are damaged.
pub(crate) fn unpack(stored: &[u8]) -> Option<Unpacked> {
    let (form, rest) = stored.split_first()?;
    match *form {
        PLAIN => Some(Unpacked::Body(rest.to_vec())),
        DEFLATED => {
            let (length, packed) = rest.split_first_chunk::<8>()?;
            let length = u64::from_le_bytes(*length);
            let mut body = Vec::new();
            // One byte more than expected, so that a longer body is found, too.
            DeflateDecoder::new(packed).take(length + 1).read_to_end(&mut body).ok()?;
            (body.len() as u64 == length).then_some(Unpacked::Body(body))
        }
        PIECES => {
            let digests = rest.chunks(16).map(|digest| digest.try_into().ok());
            digests.collect::<Option<_>>().map(Unpacked::Pieces)
        }
        _ => None,
    }
}

fn digest(piece: &[u8]) -> PieceDigest {
    let all = ring::digest::digest(&SHA256, piece);
    all.as_ref().first_chunk().copied().unwrap_or_default()
}

/// The pieces of a body, of 2 to 32 kilobytes and about 6 on average.
fn cut(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(first_cut(rest));
        rest = after;
        Some(piece)
    })
}

const SHORTEST_PIECE: usize = 2 << 10;
const LONGEST_PIECE: usize = 32 << 10;
/// One place in 4,096 is a cut.
const CUT_MASK: u64 = 0xfff << 52;

/// The length of the first piece. A cut is where a hash of the 64 bytes before it has twelve zero bits.
fn first_cut(bytes: &[u8]) -> usize {
    let end = bytes.len().min(LONGEST_PIECE);
    let mut hash = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(end).skip(SHORTEST_PIECE.saturating_sub(64)) {
        hash = (hash << 1).wrapping_add(NOISE[usize::from(*byte)]);
        if hash & CUT_MASK == 0 && at >= SHORTEST_PIECE {
            return at + 1;
        }
    }
    end
}

/// A fixed random number for each byte, from the generator SplitMix64. Other numbers would move the cuts, which costs
/// only space.
const NOISE: [u64; 256] = {
    let mut noise = [0; 256];
    let mut state = 0_u64;
    let mut at = 0;
    while at < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        noise[at] = mixed ^ (mixed >> 31);
        at += 1;
    }
    noise
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that does not repeat.
    fn text(length: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + (state >> 59) as u8
        };
        (0..length).map(|_| word()).collect()
    }

    fn restored(body: &[u8]) -> Option<Vec<u8>> {
        match unpack(&pack(body))? {
            Unpacked::Body(body) => Some(body),
            Unpacked::Pieces(_) => None,
        }
    }

    #[test]
    fn bodies_come_back() {
        for length in [0, 1, 4095, 4096, 5000, 100_000] {
            let body = text(length, 1);
            assert_eq!(restored(&body).as_deref(), Some(&*body), "{length}");
        }
        // Bytes that do not shrink are stored as they are.
        let noise: Vec<u8> = NOISE.iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!(pack_piece(&noise).len(), noise.len() + 1);
        assert!(pack(&b"abc ".repeat(2000)).len() < 200);
    }

    #[test]
    fn damaged_bodies_are_found() {
        let stored = pack(&text(5000, 2));
        assert!(unpack(&[]).is_none());
        assert!(unpack(&[9, 1]).is_none());
        assert!(unpack(&stored[..stored.len() - 20]).is_none());
        let mut longer = stored.clone();
        longer[1] += 1;
        assert!(unpack(&longer).is_none());
        let mut shorter = stored;
        shorter[1] -= 1;
        assert!(unpack(&shorter).is_none());
        assert!(unpack(&[PIECES, 1, 2, 3]).is_none());
    }

    #[test]
    fn an_insertion_changes_few_pieces() {
        let body = text(300_000, 3);
        let pieces: Vec<&[u8]> = cut(&body).collect();
        assert_eq!(pieces.concat(), body);
        assert!((20..150).contains(&pieces.len()), "{}", pieces.len());
        let mut changed = body.clone();
        changed.splice(100_000..100_000, text(500, 4));
        let old: std::collections::HashSet<&[u8]> = pieces.into_iter().collect();
        let new: Vec<&[u8]> = cut(&changed).filter(|piece| !old.contains(piece)).collect();
        assert!(new.len() <= 3, "{}", new.len());
    }
}
