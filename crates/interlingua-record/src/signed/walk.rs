//! The pass over a record that all commands share: the digest of its bytes, its tree, and optionally a proof.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use super::digest::{Hash, Hasher, NoPartner, WaitingDigest};
use super::head::RecordSalts;
use super::leaf::{EntrySalts, leaf_hash};
use super::scan::{RecordFacts, RecordVisitor, ScanFault, ScannedEntry, SourceValue, scan};
use super::tree::{EntryTree, ProofBuilder};

/// The largest record whose bytes a COSE_Sign1 covers directly. A signature needs the whole payload in memory; above this
/// size, the digest of the record is signed instead.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// How many removed entries and parts are listed by their place. All of them are counted.
const LISTED: usize = 1000;

/// The removed parts of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of removed entries.
    pub entries: u64,
    /// The number of removed parts of other entries.
    pub parts: u64,
    /// The first places: the entry, and the name of the part if only a part was removed.
    pub places: Vec<(u64, Option<&'static str>)>,
}

impl Removed {
    fn add(&mut self, entry: u64, part: Option<&'static str>) {
        match part {
            None => self.entries += 1,
            Some(_) => self.parts += 1,
        }
        if self.places.len() < LISTED {
            self.places.push((entry, part));
        }
    }
}

/// The digest of the bytes of a record. The walk over the entries takes its blocks in turn with those of the tree.
type SharedDigest = Rc<RefCell<WaitingDigest>>;

/// A reader that hashes the bytes of the record, and keeps the bytes of a small record.
pub(super) struct Tee<R> {
    input: R,
    /// `None`: no signature needs the digest.
    digest: Option<SharedDigest>,
    pub(super) count: u64,
    kept: Option<Vec<u8>>,
}

impl<R: Read> Tee<R> {
    pub(super) fn new(input: R, keep: bool) -> Self {
        let digest = Rc::new(RefCell::new(WaitingDigest::new()));
        Self { input, digest: Some(digest), count: 0, kept: keep.then(Vec::new) }
    }

    /// A reader that only counts.
    pub(super) const fn without_digest(input: R) -> Self {
        Self { input, digest: None, count: 0, kept: None }
    }

    /// Reads the rest of the input. Returns the digest, and all bytes if they were kept.
    pub(super) fn finish(mut self) -> io::Result<(Option<Hash>, u64, Option<Vec<u8>>)> {
        io::copy(&mut self, &mut io::sink())?;
        let digest = self.digest.map(|digest| digest.replace(WaitingDigest::new()).finish());
        Ok((digest, self.count, self.kept))
    }
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(WaitingDigest::MOST);
        let out = &mut out[..most];
        let count = self.input.read(out)?;
        let bytes = out.get(..count).unwrap_or_default();
        if let Some(digest) = &self.digest {
            digest.borrow_mut().update(bytes);
        }
        self.count += count as u64;
        if let Some(kept) = &mut self.kept {
            if kept.len() + count > MAX_PAYLOAD {
                self.kept = None;
            } else {
                kept.extend_from_slice(bytes);
            }
        }
        Ok(count)
    }
}

/// The tree of a record, and the proof that was asked for.
pub(super) struct TreeWalk {
    salts: RecordSalts,
    tree: EntryTree,
    /// The digest of the bytes of the record, if a signature needs it.
    digest: Option<SharedDigest>,
    frame: Hasher<NoPartner>,
    /// The size of an earlier tree, and its root once the walk has passed it.
    earlier: Option<(u64, Option<Hash>)>,
    pub(super) proof: Option<ProofBuilder>,
    /// The entry to copy, and its piece.
    pub(super) wanted: Option<(u64, Option<WantedEntry>)>,
    pub(super) removed: Removed,
    /// The first entry whose mark is invalid.
    pub(super) bad_mark: Option<u64>,
    /// Whether the record holds the digest of its source, which the tree head does not cover.
    pub(super) has_open_source: bool,
}

/// A copy of the entry that a proof is about.
pub(super) struct WantedEntry {
    pub(super) piece: Vec<u8>,
    pub(super) salts: EntrySalts,
}

impl TreeWalk {
    pub(super) fn new(salts: RecordSalts) -> Self {
        let mut frame = Hasher::new(NoPartner);
        frame.update(&[0x05]);
        Self {
            salts,
            tree: EntryTree::default(),
            digest: None,
            frame,
            earlier: None,
            proof: None,
            wanted: None,
            removed: Removed::default(),
            bad_mark: None,
            has_open_source: false,
        }
    }

    /// Whether there are salts for entries that the record does not have.
    pub(super) fn has_other_salts(&self) -> bool {
        self.salts.partial.last_key_value().is_some_and(|(last, _)| *last >= self.size())
    }

    /// Notes the root of the first entries, to compare it with an earlier head.
    pub(super) fn note_earlier(&mut self, size: u64) {
        self.earlier = Some((size, (size == 0).then(|| self.tree.root())));
    }

    pub(super) fn earlier_root(&self) -> Option<Hash> {
        self.earlier.and_then(|(_, root)| root)
    }

    pub(super) fn size(&self) -> u64 {
        self.tree.size()
    }

    pub(super) fn root(&self) -> Hash {
        self.tree.root()
    }

    pub(super) fn frame(&self) -> Hash {
        self.frame.clone().finish()
    }

    pub(super) fn scan(&mut self, input: impl Read) -> Result<RecordFacts, ScanFault> {
        scan(input, self)
    }

    /// Scans the record behind a [`Tee`], whose digest is taken in turn with the tree.
    pub(super) fn scan_tee(&mut self, tee: &mut Tee<impl Read>) -> Result<RecordFacts, ScanFault> {
        self.digest = tee.digest.clone();
        scan(tee, self)
    }
}

impl RecordVisitor for TreeWalk {
    fn before(&mut self, bytes: &[u8]) {
        self.frame.part(bytes);
    }

    fn entry(&mut self, entry: &ScannedEntry<'_>) -> Result<(), ScanFault> {
        let salts = self.salts.of(entry.index);
        match &salts {
            EntrySalts::Whole(_) => {}
            EntrySalts::Removed => self.removed.add(entry.index, None),
            EntrySalts::Partial { parts, .. } => {
                for (part, salt) in entry.parts.iter().zip(parts) {
                    if salt.is_none() {
                        self.removed.add(entry.index, Some(part.name));
                    }
                }
            }
        }
        let leaf = match &self.digest {
            Some(digest) => leaf_hash(entry, &salts, &mut *digest.borrow_mut()),
            None => leaf_hash(entry, &salts, &mut NoPartner),
        };
        let leaf = leaf.unwrap_or_else(|| {
            self.bad_mark.get_or_insert(entry.index);
            [0; 32]
        });
        self.tree.push(leaf);
        if let Some((size, root @ None)) = &mut self.earlier
            && *size == self.tree.size()
        {
            *root = Some(self.tree.root());
        }
        if let Some(proof) = &mut self.proof {
            proof.push(entry.index, leaf);
        }
        if let Some((index, wanted)) = &mut self.wanted
            && *index == entry.index
        {
            *wanted = Some(WantedEntry { piece: entry.piece.to_vec(), salts });
        }
        Ok(())
    }

    fn after(&mut self, bytes: &[u8], source: &SourceValue) {
        match source {
            SourceValue::At(value) => {
                self.has_open_source = bytes.get(value.clone()) != Some(b"null");
                self.frame.part(bytes.get(..value.start).unwrap_or_default());
                self.frame.part(bytes.get(value.end..).unwrap_or_default());
            }
            SourceValue::Absent | SourceValue::Covered => self.frame.part(bytes),
        }
    }
}
