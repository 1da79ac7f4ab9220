//! The replay: edits applied to remembered lines, each line with its contributor.
//!
//! A file whose content is known is one fragment. An edit of unknown content adds a fragment: the lines that the edit names.

use std::collections::BTreeMap;

use super::align::align;
use super::patches::PatchHunk;
use super::{FileChange, FileContents, FileEdit, LineContributor, SessionEdits, lines_of, repository_path};

/// A line and its contributor; `None` if the contributor is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RememberedLine {
    pub(super) text: String,
    pub(super) by: Option<LineContributor>,
}

/// Consecutive lines of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment {
    pub(super) lines: Vec<RememberedLine>,
    /// The first and the last line may be pieces of lines.
    pub(super) has_cut_ends: bool,
}

/// The remembered lines of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct RememberedFile {
    pub(super) fragments: Vec<Fragment>,
    /// Whether the first fragment is the whole file.
    pub(super) is_whole: bool,
}

/// Applies all edits in order. Returns the files by their path in the repository, and the number of edits outside.
pub(super) fn replay(
    sessions: &[SessionEdits],
    root: Option<&str>,
    contents: &mut dyn FileContents,
) -> (BTreeMap<String, RememberedFile>, u64) {
    let (mut files, mut outside) = (BTreeMap::<String, RememberedFile>::new(), 0);
    for (number, session) in sessions.iter().enumerate() {
        let place = |path: &str| repository_path(path, session.cwd.as_deref(), root);
        for edit in &session.edits {
            let Some(path) = place(&edit.path) else {
                outside += 1;
                continue;
            };
            let by = LineContributor { session: number, model: edit.model.clone() };
            match &edit.change {
                FileChange::Delete => _ = files.remove(&path),
                FileChange::MoveTo(to) => {
                    let before = || RememberedFile::known(contents.before(&path, session.commit.as_deref()));
                    let file = files.remove(&path).unwrap_or_else(before);
                    match place(to) {
                        Some(to) => _ = files.insert(to, file),
                        None => outside += 1,
                    }
                }
                _ => {
                    let before = || RememberedFile::known(contents.before(&path, session.commit.as_deref()));
                    files.entry(path.clone()).or_insert_with(before).apply(edit, &by);
                }
            }
        }
    }
    (files, outside)
}

impl RememberedFile {
    fn known(content: Option<String>) -> Self {
        let Some(content) = content else { return Self::default() };
        let lines =
            lines_of(&content).into_iter().map(|text| RememberedLine { text: text.to_owned(), by: None });
        Self { fragments: vec![Fragment { lines: lines.collect(), has_cut_ends: false }], is_whole: true }
    }

    /// The content, if the whole file is remembered.
    pub(super) fn whole_text(&self) -> Option<String> {
        let whole = self.fragments.first().filter(|_| self.is_whole)?;
        Some(whole.lines.iter().fold(String::new(), |text, line| text + &line.text + "\n"))
    }

    fn apply(&mut self, edit: &FileEdit, by: &LineContributor) {
        match &edit.change {
            FileChange::Write(content) => self.write(content, edit.added.as_deref(), by),
            FileChange::Append(text) => {
                let lines = lines_of(text).into_iter();
                let lines = lines.map(|text| RememberedLine { text: text.to_owned(), by: Some(by.clone()) });
                match self.fragments.first_mut().filter(|_| self.is_whole) {
                    Some(whole) => whole.lines.extend(lines),
                    None => self.fragments.push(Fragment { lines: lines.collect(), has_cut_ends: false }),
                }
            }
            FileChange::Replace { old, new, everywhere } => self.replace(old, new, *everywhere, by),
            FileChange::Patch(hunks) => {
                hunks.iter().filter(|hunk| !hunk.is_empty()).for_each(|hunk| self.patch(hunk, by));
            }
            // The replay handles files that appear and disappear.
            FileChange::Delete | FileChange::MoveTo(_) => {}
        }
    }

    /// Replaces the whole content. Unchanged lines keep their contributors.
    fn write(&mut self, content: &str, added: Option<&[u64]>, by: &LineContributor) {
        let new = lines_of(content);
        let lines = if let Some(whole) = self.fragments.first().filter(|_| self.is_whole) {
            merged(&whole.lines, &new, by)
        } else {
            // The diff in the result shows the added lines of a file that was there before.
            let is_added = |number: u64| added.is_none_or(|added| added.binary_search(&number).is_ok());
            let line = |(number, text): (usize, &&str)| RememberedLine {
                text: (*text).to_owned(),
                by: is_added(number as u64 + 1).then(|| by.clone()),
            };
            new.iter().enumerate().map(line).collect()
        };
        *self = Self { fragments: vec![Fragment { lines, has_cut_ends: false }], is_whole: true };
    }

    fn replace(&mut self, old: &str, new: &str, everywhere: bool, by: &LineContributor) {
        let mut is_found = false;
        for fragment in &mut self.fragments {
            if (everywhere || !is_found) && fragment.replace(old, new, everywhere, by) {
                is_found = true;
            }
        }
        if !is_found {
            let unknown =
                lines_of(old).into_iter().map(|text| RememberedLine { text: text.to_owned(), by: None });
            let unknown: Vec<RememberedLine> = unknown.collect();
            let lines = merged(&unknown, &lines_of(new), by);
            self.fragments.push(Fragment { lines, has_cut_ends: true });
        }
    }

    fn patch(&mut self, hunk: &PatchHunk, by: &LineContributor) {
        let side = |without: char| {
            hunk.iter().filter(move |(sign, _)| *sign != without).map(|(_, text)| text.as_str())
        };
        let old: Vec<&str> = side('+').collect();
        for fragment in &mut self.fragments {
            let Some(at) = fragment.position(&old) else { continue };
            let mut rest = fragment.lines.split_off(at);
            let mut kept = rest.drain(..old.len());
            for (sign, text) in hunk {
                match sign {
                    '+' => fragment.lines.push(RememberedLine { text: text.clone(), by: Some(by.clone()) }),
                    '-' => _ = kept.next(),
                    _ => fragment.lines.extend(kept.next()),
                }
            }
            drop(kept);
            fragment.lines.append(&mut rest);
            return;
        }
        let lines = hunk.iter().filter(|(sign, _)| *sign != '-').map(|(sign, text)| RememberedLine {
            text: text.clone(),
            by: (*sign == '+').then(|| by.clone()),
        });
        self.fragments.push(Fragment { lines: lines.collect(), has_cut_ends: false });
    }
}

impl Fragment {
    /// The position of consecutive lines. Spaces at the end of lines do not count, as in `apply_patch`. A hunk without
    /// old lines is at the end.
    fn position(&self, lines: &[&str]) -> Option<usize> {
        if lines.is_empty() {
            return Some(self.lines.len());
        }
        let same = |window: &[RememberedLine], is_same: fn(&str, &str) -> bool| {
            window.iter().zip(lines).all(|(one, two)| is_same(&one.text, two))
        };
        let find = |is_same| self.lines.windows(lines.len()).position(|window| same(window, is_same));
        find(|one, two| one == two).or_else(|| find(|one, two| one.trim_end() == two.trim_end()))
    }

    /// Replaces a text. Unchanged lines keep their contributors. Returns whether the fragment has the text.
    fn replace(&mut self, old: &str, new: &str, everywhere: bool, by: &LineContributor) -> bool {
        let text = self.lines.iter().fold(String::new(), |text, line| text + &line.text + "\n");
        let Some(at) = text.find(old) else { return false };
        if everywhere {
            self.lines = merged(&self.lines, &lines_of(&text.replace(old, new)), by);
            return true;
        }
        // Only the lines of the replaced text change, so equal lines elsewhere are not mistaken for them.
        let end = at + old.len();
        let ends_with_line =
            old.ends_with('\n') && (new.ends_with('\n') || new.is_empty() && is_line_start(&text, at));
        let from = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let to = if ends_with_line {
            end
        } else {
            text[end..].find('\n').map_or(text.len(), |rest| end + rest + 1)
        };
        let number = |at: usize| text[..at].matches('\n').count();
        let (first, last) = (number(from), number(to));
        let touched = format!("{}{new}{}", &text[from..at], &text[end..to]);
        let known = self.lines.get(first..last).unwrap_or_default().to_vec();
        self.lines.splice(first..last, merged(&known, &lines_of(&touched), by));
        true
    }
}

fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text[..at].ends_with('\n')
}

/// The new lines: lines that both lists have keep their contributors, and the other lines are of `by`.
fn merged(old: &[RememberedLine], new: &[&str], by: &LineContributor) -> Vec<RememberedLine> {
    let texts: Vec<&str> = old.iter().map(|line| line.text.as_str()).collect();
    let mut lines: Vec<RememberedLine> =
        new.iter().map(|text| RememberedLine { text: (*text).to_owned(), by: Some(by.clone()) }).collect();
    for (one, two) in align(&texts, new) {
        if let (Some(line), Some(known)) = (lines.get_mut(two), old.get(one)) {
            line.by.clone_from(&known.by);
        }
    }
    lines
}
