//! Unified diffs: separates content lines from the lines that name the files.

/// The lines of a diff without the file names (`--- a/x`, `+++ b/x`). Within a hunk every line is content, also a line
/// whose text begins with `-- ` or `++ `.
pub(crate) fn content_lines(diff: &str) -> impl Iterator<Item = &str> {
    let mut lines = diff.lines().peekable();
    let mut hunk = Hunk::None;
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            let begins_names =
                line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
            if hunk == Hunk::None && begins_names {
                lines.next();
                continue;
            }
            hunk = hunk.after(line);
            return Some(line);
        }
    })
}

/// The position of a line relative to hunks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hunk {
    /// Before or between hunks.
    None,
    /// In a hunk with this many lines of the old and of the new file left.
    Counted(u64, u64),
    /// In a hunk whose header has no counts.
    Uncounted,
}

impl Hunk {
    fn after(self, line: &str) -> Self {
        if line.starts_with("diff ") && !matches!(self, Hunk::Counted(..)) {
            return Hunk::None;
        }
        if line.starts_with("@@") && !matches!(self, Hunk::Counted(..)) {
            return counts(line).map_or(Hunk::Uncounted, |(old, new)| Hunk::Counted(old, new).or_none());
        }
        let Hunk::Counted(old, new) = self else { return self };
        let (of_old, of_new) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            _ => (1, 1),
        };
        Hunk::Counted(old.saturating_sub(of_old), new.saturating_sub(of_new)).or_none()
    }

    const fn or_none(self) -> Self {
        match self {
            Hunk::Counted(0, 0) => Hunk::None,
            other => other,
        }
    }
}

/// The line counts in `@@ -1,3 +1,4 @@`; a missing count is 1.
fn counts(head: &str) -> Option<(u64, u64)> {
    let mut words = head.strip_prefix("@@ ")?.split(' ');
    let mut count = |sign| {
        let range = words.next()?.strip_prefix(sign)?;
        let count = range.split_once(',').map_or("1", |(_, count)| count);
        range.starts_with(|c: char| c.is_ascii_digit()).then(|| count.parse().ok())?
    };
    Some((count('-')?, count('+')?))
}

#[cfg(test)]
mod tests {
    use super::content_lines;

    fn kept(diff: &str) -> Vec<&str> {
        content_lines(diff).collect()
    }

    #[test]
    fn names_of_files_are_no_content_and_lines_that_look_like_them_are() {
        assert_eq!(
            kept("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n--- rule\n-old\n+++ counter\n+new\n"),
            ["@@ -1,3 +1,3 @@", " same", "--- rule", "-old", "+++ counter", "+new"]
        );
        // An SQL comment is replaced by a command-line option: both lines look like the file names of a next file.
        assert_eq!(kept("@@ -1 +1 @@\n--- old\n+++ new\n"), ["@@ -1 +1 @@", "--- old", "+++ new"]);
        assert_eq!(kept("@@\n--- old\n+++ new\n"), ["@@", "--- old", "+++ new"]);
        // The names of a second file follow a complete hunk.
        assert_eq!(
            kept("--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n--- b\n+++ b\n@@ -1 +0,0 @@\n--- z\n"),
            ["@@ -1 +1 @@", "-x", "+y", "@@ -1 +0,0 @@", "--- z"]
        );
        assert_eq!(kept("-a\n+b\n--- alone\n"), ["-a", "+b", "--- alone"]);
        assert_eq!(kept("@@ -1,99 +1 @@\n-a"), ["@@ -1,99 +1 @@", "-a"]);
        assert_eq!(kept(""), [""; 0]);
    }
}
