//! The Merkle tree over the entries of a record, as in RFC 9162: roots, inclusion proofs and consistency proofs.
//!
//! Leaves arrive one by one and are not kept: a root needs one hash for each level, a proof one such tree for each of
//! its nodes.

use super::digest::{Hash, sha256};

/// The hash of an inner node. Leaves begin with another byte, so a node can never pass for a leaf.
pub(super) fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256(&[&[0x01], left, right])
}

/// A tree that grows by leaves at its end.
#[derive(Clone, Default)]
pub(super) struct EntryTree {
    /// The roots of complete subtrees, the largest first, each with its number of leaves.
    peaks: Vec<(u64, Hash)>,
    size: u64,
}

impl EntryTree {
    pub(super) fn push(&mut self, leaf: Hash) {
        let mut peak = (1, leaf);
        while let Some((size, left)) = self.peaks.last().copied().filter(|(size, _)| *size == peak.0) {
            self.peaks.pop();
            peak = (size * 2, node_hash(&left, &peak.1));
        }
        self.peaks.push(peak);
        self.size += 1;
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// The root. The root of an empty tree is the hash of nothing.
    pub(super) fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev().map(|(_, hash)| *hash);
        let Some(last) = peaks.next() else { return sha256(&[]) };
        peaks.fold(last, |right, left| node_hash(&left, &right))
    }
}

/// Collects the nodes of a proof while leaves arrive in order.
pub(super) struct ProofBuilder {
    /// The ranges of leaves under the nodes of the proof, in the order of the proof.
    ranges: Vec<(u64, u64, EntryTree)>,
}

impl ProofBuilder {
    /// A proof that the leaf at `index` is in a tree of this size.
    pub(super) fn inclusion(index: u64, size: u64) -> Self {
        let mut ranges = Vec::new();
        let (mut start, mut end) = (0, size);
        while end - start > 1 {
            let middle = start + split(end - start);
            if index < middle {
                ranges.push((middle, end, EntryTree::default()));
                end = middle;
            } else {
                ranges.push((start, middle, EntryTree::default()));
                start = middle;
            }
        }
        ranges.reverse();
        Self { ranges }
    }

    /// A proof that a tree of the old size is the beginning of a tree of the new size.
    pub(super) fn consistency(old: u64, new: u64) -> Self {
        let mut ranges = Vec::new();
        let (mut start, mut end) = (0, new);
        while old > 0 && old != end {
            let middle = start + split(end - start);
            if old <= middle {
                ranges.push((middle, end, EntryTree::default()));
                end = middle;
            } else {
                ranges.push((start, middle, EntryTree::default()));
                start = middle;
            }
        }
        if old > 0 && start > 0 {
            ranges.push((start, end, EntryTree::default()));
        }
        ranges.reverse();
        Self { ranges }
    }

    pub(super) fn push(&mut self, index: u64, leaf: Hash) {
        for (start, end, tree) in &mut self.ranges {
            if (*start..*end).contains(&index) {
                tree.push(leaf);
            }
        }
    }

    pub(super) fn finish(self) -> Vec<Hash> {
        self.ranges.iter().map(|(_, _, tree)| tree.root()).collect()
    }
}

/// The largest power of two below a size of at least two.
pub(super) fn split(size: u64) -> u64 {
    1 << (u64::BITS - 1 - (size - 1).leading_zeros())
}

/// The root that follows from a leaf and its proof (RFC 9162, section 2.1.3.2), or `None` if the proof has a wrong
/// length.
pub(super) fn root_of_inclusion(index: u64, size: u64, leaf: Hash, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut node, mut last) = (index, size - 1);
    let mut root = leaf;
    for hash in path {
        if last == 0 {
            return None;
        }
        if node & 1 == 1 || node == last {
            root = node_hash(hash, &root);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            root = node_hash(&root, hash);
        }
        node >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(root)
}

/// Whether a proof shows that the old tree is the beginning of the new tree (RFC 9162, section 2.1.4.2).
pub(super) fn is_consistent(old: (u64, Hash), new: (u64, Hash), path: &[Hash]) -> bool {
    let ((old_size, old_root), (new_size, new_root)) = (old, new);
    if old_size == new_size {
        return path.is_empty() && old_root == new_root;
    }
    if old_size > new_size {
        return false;
    }
    if old_size == 0 {
        return path.is_empty() && old_root == EntryTree::default().root();
    }
    let with_old_root = old_size.is_power_of_two().then_some(old_root);
    let mut hashes = with_old_root.into_iter().chain(path.iter().copied());
    let Some(first) = hashes.next() else { return false };
    let (mut node, mut last) = (old_size - 1, new_size - 1);
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    let (mut from_old, mut from_new) = (first, first);
    for hash in hashes {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            from_old = node_hash(&hash, &from_old);
            from_new = node_hash(&hash, &from_new);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            from_new = node_hash(&from_new, &hash);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && from_old == old_root && from_new == new_root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(index: u64) -> Hash {
        sha256(&[&[0x00], &index.to_be_bytes()])
    }

    fn tree(size: u64) -> EntryTree {
        let mut tree = EntryTree::default();
        (0..size).for_each(|index| tree.push(leaf(index)));
        tree
    }

    /// The root by the recursive definition of RFC 9162, section 2.1.1.
    fn defined_root(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => sha256(&[]),
            [leaf] => *leaf,
            leaves => {
                let (left, right) = leaves.split_at(split(leaves.len() as u64) as usize);
                node_hash(&defined_root(left), &defined_root(right))
            }
        }
    }

    #[test]
    fn the_root_equals_its_recursive_definition() {
        for size in 0..70 {
            let leaves: Vec<Hash> = (0..size).map(leaf).collect();
            assert_eq!(tree(size).root(), defined_root(&leaves), "{size}");
            assert_eq!(tree(size).size(), size);
        }
    }

    fn proof(mut builder: ProofBuilder, size: u64) -> Vec<Hash> {
        (0..size).for_each(|index| builder.push(index, leaf(index)));
        builder.finish()
    }

    #[test]
    fn every_leaf_has_a_proof_that_holds_for_no_other_place() {
        for size in 1..40 {
            let root = tree(size).root();
            for index in 0..size {
                let path = proof(ProofBuilder::inclusion(index, size), size);
                assert_eq!(
                    root_of_inclusion(index, size, leaf(index), &path),
                    Some(root),
                    "{index} of {size}"
                );
                for other in (0..size).filter(|other| *other != index) {
                    assert_ne!(root_of_inclusion(other, size, leaf(index), &path), Some(root));
                }
                let mut longer = path.clone();
                longer.push(leaf(0));
                assert_ne!(root_of_inclusion(index, size, leaf(index), &longer), Some(root));
                if let Some((_, shorter)) = path.split_last() {
                    assert_ne!(root_of_inclusion(index, size, leaf(index), shorter), Some(root));
                }
            }
        }
    }

    #[test]
    fn every_pair_of_sizes_is_consistent_and_a_changed_tree_is_not() {
        for new in 0..40 {
            for old in 0..=new {
                let path = proof(ProofBuilder::consistency(old, new), new);
                let (old_head, new_head) = ((old, tree(old).root()), (new, tree(new).root()));
                assert!(is_consistent(old_head, new_head, &path), "{old} {new}");
                let forged = (new, leaf(99));
                assert!(old == 0 && new > 0 || !is_consistent(old_head, forged, &path), "{old} {new}");
                if old > 0 {
                    assert!(!is_consistent((old, leaf(99)), new_head, &path), "{old} {new}");
                }
            }
        }
        assert!(!is_consistent((3, tree(3).root()), (2, tree(2).root()), &[]));
    }
}
