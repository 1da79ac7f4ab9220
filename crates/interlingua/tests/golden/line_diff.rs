//! A line diff of two texts whose lines may be long: of a changed line only the neighbourhood of its first change is
//! shown.

use std::ops::Range;

/// The length of the shown part of a line, and of its beginning before the first change, in bytes.
const SHOWN: usize = 160;
const BEFORE: usize = 60;
/// The largest table of the longest common subsequence; larger texts are compared as one block.
const CELLS: usize = 4_000_000;

/// The changed lines, at most `most`.
pub fn diff(old: &[u8], new: &[u8], most: usize) -> String {
    let lines = |text: &[u8]| -> Vec<String> {
        text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let mut shown = Vec::new();
    for (removed, added) in blocks(&old, &new) {
        shown.push(format!("@@ line {}", removed.start + 1));
        let (mut removed, mut added) = (old[removed].iter(), new[added].iter());
        loop {
            let (before, after) = (removed.next(), added.next());
            let at = before.zip(after).map_or(0, |(before, after)| first_change(before, after));
            shown.extend(before.map(|line| format!("- {}", around(line, at))));
            shown.extend(after.map(|line| format!("+ {}", around(line, at))));
            if before.is_none() && after.is_none() {
                break;
            }
        }
    }
    let more = shown.len().saturating_sub(most);
    shown.truncate(most);
    if more > 0 {
        shown.push(format!("and {more} more lines"));
    }
    shown.into_iter().map(|line| line + "\n").collect()
}

/// The blocks of removed and added lines.
fn blocks(old: &[String], new: &[String]) -> Vec<(Range<usize>, Range<usize>)> {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[same..], &new[same..]);
    let same_end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - same_end], &new[..new.len() - same_end]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    if old.len().saturating_mul(new.len()) > CELLS {
        return vec![(same..same + old.len(), same..same + new.len())];
    }
    // `longest[i][j]`: the length of the longest common subsequence of `old[i..]` and `new[j..]`.
    let mut longest = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for (i, before) in old.iter().enumerate().rev() {
        for (j, after) in new.iter().enumerate().rev() {
            longest[i][j] = if before == after {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let mut blocks = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (from, at) = (i, j);
        while i < old.len() || j < new.len() {
            if i < old.len() && j < new.len() && old[i] == new[j] {
                break;
            }
            if j == new.len() || i < old.len() && longest[i + 1][j] >= longest[i][j + 1] {
                i += 1;
            } else {
                j += 1;
            }
        }
        if (from, at) != (i, j) {
            blocks.push((same + from..same + i, same + at..same + j));
        }
        while i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        }
    }
    blocks
}

fn first_change(old: &str, new: &str) -> usize {
    old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count()
}

/// The part of a line around a position.
fn around(line: &str, at: usize) -> String {
    let start = char_boundary(line, at.saturating_sub(BEFORE));
    let end = char_boundary(line, start + SHOWN);
    let (cut_before, cut_after) =
        (["", "…"][usize::from(start > 0)], ["", "…"][usize::from(end < line.len())]);
    format!("{cut_before}{}{cut_after}", &line[start..end])
}

/// The last character boundary up to `at`.
fn char_boundary(line: &str, at: usize) -> usize {
    (0..=at.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

#[test]
fn added_removed_and_changed_lines_are_shown_with_their_place() {
    let diff = |old: &str, new: &str| diff(old.as_bytes(), new.as_bytes(), 40);
    assert_eq!(diff("a\nb\n", "a\nb\n"), "");
    assert_eq!(diff("a\nb\nc\n", "a\nx\nc\n"), "@@ line 2\n- b\n+ x\n");
    assert_eq!(diff("a\nb\nc\nd\n", "a\nc\nd\ne\n"), "@@ line 2\n- b\n@@ line 5\n+ e\n");
    assert_eq!(diff("", "a"), "@@ line 1\n- \n+ a\n");
}

#[test]
fn of_a_long_line_the_first_change_is_shown() {
    let line = |word: &str| format!("{}{word}{}", "é".repeat(500), "z".repeat(500));
    let diff = diff(line("old").as_bytes(), line("new").as_bytes(), 40);
    assert!(diff.contains("éold") && diff.contains("énew"), "{diff}");
    assert!(diff.len() < 4 * SHOWN, "{diff}");
}

#[test]
fn a_diff_has_an_end() {
    let old: String = (0..100).map(|number| format!("{number}\n")).collect();
    let diff = diff(old.as_bytes(), b"", 4);
    assert_eq!(diff, "@@ line 1\n- 0\n- 1\n- 2\nand 97 more lines\n");
}
