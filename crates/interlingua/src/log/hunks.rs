//! Diffs, for agents that store a text before and after a change.

/// One hunk of a unified diff: the common first and last lines surround the lines that differ. `starts` are the
/// numbers of the first lines.
pub(crate) fn hunk_of(old: &str, new: &str, starts: (u64, u64)) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(one, two): &(&&str, &&str)| one == two;
    let before = old.iter().zip(&new).take_while(same).count();
    let room = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(room).take_while(same).count();
    let mut hunk = format!("@@ -{},{} +{},{} @@\n", starts.0, old.len(), starts.1, new.len());
    let mut put = |mark: char, lines: &[&str]| {
        for line in lines {
            hunk.push(mark);
            hunk.push_str(line);
            hunk.push('\n');
        }
    };
    put(' ', &old[..before]);
    put('-', &old[before..old.len() - after]);
    put('+', &new[before..new.len() - after]);
    put(' ', &old[old.len() - after..]);
    hunk
}

#[cfg(test)]
mod tests {
    use super::hunk_of;

    #[test]
    fn what_is_the_same_stands_around_what_is_not() {
        assert_eq!(hunk_of("a\nb\nc", "a\nB\nc", (4, 5)), "@@ -4,3 +5,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(hunk_of("", "a\nb\n", (1, 1)), "@@ -1,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(hunk_of("a\na", "a\na\na", (1, 1)), "@@ -1,2 +1,3 @@\n a\n a\n+a\n");
        assert_eq!(hunk_of("x", "x", (1, 1)), "@@ -1,1 +1,1 @@\n x\n");
    }
}
