//! The alignment of two lists of lines: pairs of equal lines in the same order, as a diff has them.
//!
//! Lines that occur once in both lists are anchors (patience diff), so that braces and blank lines follow their
//! neighbours. Between anchors, small lists get a longest common subsequence; larger lists stay unaligned.

use std::collections::HashMap;

/// The largest product of two lengths that is compared pair by pair.
const MOST_PAIRS: usize = 1 << 20;

/// Pairs of indices of equal lines, ascending in both.
pub(super) fn align(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((mut left, mut right)) = open.pop() {
        while !left.is_empty() && !right.is_empty() && old[left.start] == new[right.start] {
            pairs.push((left.start, right.start));
            (left.start, right.start) = (left.start + 1, right.start + 1);
        }
        while !left.is_empty() && !right.is_empty() && old[left.end - 1] == new[right.end - 1] {
            (left.end, right.end) = (left.end - 1, right.end - 1);
            pairs.push((left.end, right.end));
        }
        if left.is_empty() || right.is_empty() {
            continue;
        }
        let anchors = anchors(&old[left.clone()], &new[right.clone()]);
        if anchors.is_empty() {
            if left.len().saturating_mul(right.len()) <= MOST_PAIRS {
                let common = common(&old[left.clone()], &new[right.clone()]);
                pairs.extend(common.into_iter().map(|(one, two)| (one + left.start, two + right.start)));
            }
            continue;
        }
        let mut from = (left.start, right.start);
        for (one, two) in anchors {
            let (one, two) = (one + left.start, two + right.start);
            pairs.push((one, two));
            open.push((from.0..one, from.1..two));
            from = (one + 1, two + 1);
        }
        open.push((from.0..left.end, from.1..right.end));
    }
    pairs.sort_unstable();
    pairs
}

/// The longest ascending list of pairs of lines that occur once in both lists.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    // The number of occurrences and the index of the last, in both lists.
    let mut seen: HashMap<&str, [(usize, usize); 2]> = HashMap::new();
    for (side, lines) in [old, new].into_iter().enumerate() {
        for (index, line) in lines.iter().enumerate() {
            let of_side = &mut seen.entry(line).or_default()[side];
            *of_side = (of_side.0 + 1, index);
        }
    }
    let mut unique: Vec<(usize, usize)> = seen
        .into_values()
        .filter(|[one, two]| one.0 == 1 && two.0 == 1)
        .map(|[one, two]| (one.1, two.1))
        .collect();
    unique.sort_unstable();
    // The piles of a patience game: the last pair of each ascending list, and the pair before each pair.
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(unique.len());
    for (number, pair) in unique.iter().enumerate() {
        let pile = piles.partition_point(|top| unique[*top].1 < pair.1);
        before.push(pile.checked_sub(1).map(|pile| piles[pile]));
        if pile == piles.len() {
            piles.push(number);
        } else {
            piles[pile] = number;
        }
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut next = piles.last().copied();
    while let Some(number) = next {
        found.push(unique[number]);
        next = before[number];
    }
    found.reverse();
    found
}

/// A longest common subsequence.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut length = vec![0u32; (old.len() + 1) * width];
    for (one, text) in old.iter().enumerate().rev() {
        for (two, other) in new.iter().enumerate().rev() {
            length[one * width + two] = if text == other {
                length[(one + 1) * width + two + 1] + 1
            } else {
                length[(one + 1) * width + two].max(length[one * width + two + 1])
            };
        }
    }
    let (mut one, mut two, mut pairs) = (0, 0, Vec::new());
    while one < old.len() && two < new.len() {
        if old[one] == new[two] {
            pairs.push((one, two));
            (one, two) = (one + 1, two + 1);
        } else if length[(one + 1) * width + two] >= length[one * width + two + 1] {
            one += 1;
        } else {
            two += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::align;

    fn aligned(old: &str, new: &str) -> Vec<(usize, usize)> {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
        align(&old, &new)
    }

    #[test]
    fn braces_follow_their_neighbours() {
        assert_eq!(aligned("a } b }", "x } a } b }"), [(0, 2), (1, 3), (2, 4), (3, 5)]);
        assert_eq!(aligned("a b c d", "a c b d"), [(0, 0), (2, 1), (3, 3)]);
        assert_eq!(aligned("a a a", "a a"), [(0, 0), (1, 1)]);
        assert_eq!(aligned("p } q", "p y } y q"), [(0, 0), (1, 2), (2, 4)]);
    }
}
