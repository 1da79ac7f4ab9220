//! Patches of the `*** Begin Patch` format, and line numbers of unified diffs.

use super::FileChange;

/// A change of consecutive lines: each line with its sign (` `, `-` or `+`).
pub(super) type PatchHunk = Vec<(char, String)>;

/// The changes of a patch, each with its path. A moved file has two changes.
pub(super) fn changes_of_patch(text: &str) -> Vec<(String, FileChange)> {
    let mut changes: Vec<(String, FileChange)> = Vec::new();
    let Some(start) = text.find(BEGIN) else { return changes };
    for line in text[start..].lines().skip(1) {
        if line.starts_with("*** End Patch") {
            break;
        }
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            changes.push((path.trim().to_owned(), FileChange::Write(String::new())));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            changes.push((path.trim().to_owned(), FileChange::Patch(vec![Vec::new()])));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            changes.push((path.trim().to_owned(), FileChange::Delete));
        } else if let Some(to) = line.strip_prefix("*** Move to: ") {
            // The patch of the file applies to its new place.
            if let Some((path, change)) = changes.pop() {
                changes.push((path, FileChange::MoveTo(to.trim().to_owned())));
                changes.push((to.trim().to_owned(), change));
            }
        } else {
            match changes.last_mut() {
                Some((_, FileChange::Write(content))) => {
                    content.push_str(line.strip_prefix('+').unwrap_or(line));
                    content.push('\n');
                }
                Some((_, FileChange::Patch(hunks))) => patch_line(line, hunks),
                // Text before the first file, and after a deleted file, is no change.
                Some((
                    _,
                    FileChange::Delete
                    | FileChange::MoveTo(_)
                    | FileChange::Replace { .. }
                    | FileChange::Append(_),
                ))
                | None => {}
            }
        }
    }
    changes
}

const BEGIN: &str = "*** Begin Patch";

fn patch_line(line: &str, hunks: &mut Vec<PatchHunk>) {
    if line.starts_with("@@") {
        hunks.push(Vec::new());
    } else if line != "*** End of File"
        && let Some(hunk) = hunks.last_mut()
    {
        let mut rest = line.chars();
        match rest.next() {
            Some(sign @ (' ' | '-' | '+')) => hunk.push((sign, rest.as_str().to_owned())),
            // Models leave the sign of an empty context line out.
            None => hunk.push((' ', String::new())),
            Some(_) => hunk.push((' ', line.to_owned())),
        }
    }
}

/// The numbers of the lines that a unified diff adds, from 1; `None` if a hunk has no numbers.
pub(super) fn added_lines(diff: &str) -> Option<Vec<u64>> {
    let (mut next, mut added) = (None, Vec::new());
    for line in diff.lines() {
        if let Some(head) = line.strip_prefix("@@ ") {
            let new = head.split(' ').find_map(|word| word.strip_prefix('+'))?;
            next = Some(new.split(',').next()?.parse::<u64>().ok()?);
        } else if let Some(number) = &mut next {
            match line.as_bytes().first() {
                Some(b'+') => {
                    added.push(*number);
                    *number += 1;
                }
                Some(b'-' | b'\\') => {}
                _ => *number += 1,
            }
        }
    }
    next.map(|_| added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files_and_their_hunks() {
        let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+1\n+\n*** Update File: b\n*** Move to: c\n@@ f\n x\n-y\n+z\n*** Delete File: d\n*** End Patch\nE";
        let hunk = vec![(' ', "x".to_owned()), ('-', "y".to_owned()), ('+', "z".to_owned())];
        assert_eq!(
            changes_of_patch(patch),
            [
                ("a".to_owned(), FileChange::Write("1\n\n".to_owned())),
                ("b".to_owned(), FileChange::MoveTo("c".to_owned())),
                ("c".to_owned(), FileChange::Patch(vec![vec![], hunk])),
                ("d".to_owned(), FileChange::Delete),
            ]
        );
    }

    #[test]
    fn added_lines_have_the_numbers_of_the_new_file() {
        let diff = "--- a\n+++ b\n@@ -1,2 +1,3 @@\n x\n+y\n z\n@@ -9 +10 @@\n-p\n+q\n";
        assert_eq!(added_lines(diff), Some(vec![2, 10]));
        assert_eq!(added_lines("@@\n+x"), None);
    }
}
