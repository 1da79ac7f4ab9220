//! Salts of entries, derived from one seed by a binary tree of hashes.
//!
//! A salt hides the content of a redacted entry from guessing. Each node of the tree is the hash of its parent, and the
//! leaves are the salts of the entries, so one seed of 32 bytes stands for the salts of all entries. To hide the salts of
//! some entries, the file holds the largest subtrees without these entries instead: about thirty nodes for each hidden
//! entry. A hidden salt cannot be computed from the nodes beside its path.

use super::cbor::CborItem;
use super::digest::{Hash, sha256};

/// The depth of the tree: a record has fewer than 2^32 entries.
const DEPTH: u32 = 32;

/// A node of the tree: its depth, its position among the nodes of that depth, and its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SaltNode {
    depth: u32,
    position: u64,
    hash: Hash,
}

impl SaltNode {
    fn first_entry(&self) -> u64 {
        self.position << (DEPTH - self.depth)
    }

    /// The entry after the last entry of this subtree.
    fn end_entry(&self) -> u64 {
        (self.position + 1) << (DEPTH - self.depth)
    }

    fn child(&self, side: u8) -> Self {
        Self {
            depth: self.depth + 1,
            position: self.position << 1 | u64::from(side),
            hash: sha256(&[&[0x10 + side], &self.hash]),
        }
    }
}

/// The known salts of a record: subtrees in the order of their entries.
#[derive(Clone)]
pub struct SaltSet {
    nodes: Vec<SaltNode>,
    /// The path to the entry that was asked for last, so that salts in sequence cost two hashes each.
    path: Vec<SaltNode>,
}

impl SaltSet {
    /// All salts of this seed.
    pub(super) fn from_seed(seed: Hash) -> Self {
        Self { nodes: vec![SaltNode { depth: 0, position: 0, hash: seed }], path: Vec::new() }
    }

    /// The salt of an entry, or `None` if the salt is hidden.
    pub(super) fn salt(&mut self, entry: u64) -> Option<Hash> {
        while self.path.last().is_some_and(|node| !(node.first_entry()..node.end_entry()).contains(&entry)) {
            self.path.pop();
        }
        if self.path.is_empty() {
            let after = self.nodes.partition_point(|node| node.first_entry() <= entry);
            let node = self.nodes.get(after.checked_sub(1)?)?;
            if entry >= node.end_entry() {
                return None;
            }
            self.path.push(*node);
        }
        let mut node = *self.path.last()?;
        while node.depth < DEPTH {
            node = node.child((entry >> (DEPTH - 1 - node.depth) & 1) as u8);
            self.path.push(node);
        }
        Some(node.hash)
    }

    /// Hides the salts of these entries, which are in ascending order.
    pub(super) fn without(&self, hidden: &[u64]) -> Self {
        let mut nodes = Vec::new();
        for node in &self.nodes {
            keep(*node, hidden, &mut nodes);
        }
        Self { nodes, path: Vec::new() }
    }

    /// The salts of the first entries alone. A record that grows has the same salts for its later entries, so the file of its
    /// redacted beginning must not hold them.
    pub(super) fn of_first(&self, entries: u64) -> Self {
        let mut nodes = Vec::new();
        for node in &self.nodes {
            keep_first(*node, entries, &mut nodes);
        }
        Self { nodes, path: Vec::new() }
    }

    /// The set as CBOR: a list of depth, position and hash for each subtree.
    pub(super) fn to_cbor(&self) -> CborItem<'static> {
        let node = |node: &SaltNode| {
            CborItem::Array(vec![
                CborItem::Uint(u64::from(node.depth)),
                CborItem::Uint(node.position),
                CborItem::bytes(node.hash.to_vec()),
            ])
        };
        CborItem::Array(self.nodes.iter().map(node).collect())
    }

    /// Reads the form of [`Self::to_cbor`]. Subtrees that overlap or are out of order are refused.
    pub(super) fn from_cbor(item: &CborItem<'_>) -> Option<Self> {
        let mut nodes: Vec<SaltNode> = Vec::new();
        for node in item.as_array()? {
            let [depth, position, hash] = node.as_array()? else { return None };
            let depth = u32::try_from(depth.as_uint()?).ok().filter(|depth| *depth <= DEPTH)?;
            let position = position.as_uint().filter(|position| *position < 1 << depth)?;
            let node = SaltNode { depth, position, hash: hash.as_bytes()?.try_into().ok()? };
            if nodes.last().is_some_and(|last| last.end_entry() > node.first_entry()) {
                return None;
            }
            nodes.push(node);
        }
        Some(Self { nodes, path: Vec::new() })
    }
}

/// Adds the largest subtrees of a node that hold no hidden entry.
fn keep(node: SaltNode, hidden: &[u64], nodes: &mut Vec<SaltNode>) {
    let from = hidden.partition_point(|entry| *entry < node.first_entry());
    let to = hidden.partition_point(|entry| *entry < node.end_entry());
    let inside = &hidden[from..to];
    if inside.is_empty() {
        nodes.push(node);
    } else if node.depth < DEPTH {
        // The recursion ends at the depth of the tree, 32.
        keep(node.child(0), inside, nodes);
        keep(node.child(1), inside, nodes);
    }
}

/// Adds the largest subtrees of a node that end at this number of entries.
fn keep_first(node: SaltNode, entries: u64, nodes: &mut Vec<SaltNode>) {
    if node.end_entry() <= entries {
        nodes.push(node);
    } else if node.first_entry() < entries && node.depth < DEPTH {
        keep_first(node.child(0), entries, nodes);
        keep_first(node.child(1), entries, nodes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hiding_salts_changes_no_other_salt() {
        let whole = SaltSet::from_seed([7; 32]);
        let hidden = [0, 3, 4, 5, 100];
        let mut part = SaltSet::from_cbor(&whole.without(&hidden).to_cbor()).unwrap();
        let mut all = whole.clone();
        for entry in (0..200).chain([u64::from(u32::MAX), 2, 150]) {
            let expected = all.salt(entry).filter(|_| !hidden.contains(&entry));
            assert_eq!(part.salt(entry), expected, "{entry}");
        }
        assert_eq!(all.salt(1 << 32), None);
    }

    #[test]
    fn the_salts_of_the_first_entries_hold_no_salt_of_a_later_entry() {
        let mut all = SaltSet::from_seed([7; 32]);
        for entries in [0, 1, 2, 5, 64, 100] {
            let mut first = SaltSet::from_cbor(&all.of_first(entries).to_cbor()).unwrap();
            for entry in (0..130).chain([u64::from(u32::MAX)]) {
                assert_eq!(
                    first.salt(entry),
                    all.salt(entry).filter(|_| entry < entries),
                    "{entry} of {entries}"
                );
            }
        }
    }

    #[test]
    fn hiding_twice_equals_hiding_at_once() {
        let whole = SaltSet::from_seed([7; 32]);
        let once = whole.without(&[3, 9]);
        let twice = whole.without(&[9]).without(&[3]);
        assert_eq!(once.to_cbor(), twice.to_cbor());
    }

    #[test]
    fn salts_differ_between_entries() {
        let mut all = SaltSet::from_seed([7; 32]);
        let salts: std::collections::HashSet<_> = (0..1000).map(|entry| all.salt(entry)).collect();
        assert_eq!(salts.len(), 1000);
    }

    #[test]
    fn overlapping_subtrees_are_refused() {
        let node = |depth, position| {
            let parts = [CborItem::Uint(depth), CborItem::Uint(position), CborItem::bytes(vec![0; 32])];
            CborItem::Array(parts.to_vec())
        };
        for nodes in
            [vec![node(0, 0), node(1, 1)], vec![node(1, 1), node(1, 0)], vec![node(33, 0)], vec![node(1, 2)]]
        {
            assert!(SaltSet::from_cbor(&CborItem::Array(nodes)).is_none());
        }
    }
}
