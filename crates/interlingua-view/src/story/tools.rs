//! The gist of a tool call and the files it changed, read from the call's arguments and results.

use std::borrow::Cow;

use interlingua::json::Str;
use interlingua::tape::{Kind, Limits, TapeBuf, Val};

use super::{Piece, ToolArgs, ToolUse};
use crate::diffs;

/// Arguments that best describe a call, most descriptive first.
const TELLING: [&str; 21] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "path",
    "description",
    "prompt",
    "question",
    "message",
    "skill",
    "name",
    "filename",
    "file",
    "script",
    "code",
    "input",
];

/// The gist of a call, in the words of its arguments: the command, the path, the pattern. May have several lines.
pub(crate) fn gist(tool: &ToolUse) -> String {
    tool.args.as_ref().map(|args| gist_of(&args.text())).unwrap_or_default()
}

/// The gist of arguments.
pub(crate) fn gist_of(args: &str) -> String {
    if let Some(names) = patched_files(args) {
        return names;
    }
    let found = with_json(args, |root| {
        let telling = TELLING.iter().find_map(|name| {
            let member = root.get(name)?;
            words(member).filter(|words| !words.trim().is_empty())
        });
        telling.or_else(|| match root.kind() {
            Kind::String => root.str().map(|text| text.decode().into_owned()),
            Kind::Object | Kind::Array if root.leaves() == 1 && root.text().len() <= 4 => Some(String::new()),
            _ => None,
        })
    });
    let found = found.flatten().unwrap_or_else(|| args.to_owned());
    patched_files(&found).unwrap_or(found)
}

impl ToolArgs {
    /// The arguments as the source wrote them.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            ToolArgs::Json(json) => Cow::Borrowed(json.as_str()),
            ToolArgs::Text(text) => text.decode(),
        }
    }

    /// Passes each argument with its name to `show`: strings decoded, other values as JSON. Returns `false` if the
    /// arguments are not an object.
    pub(crate) fn each(&self, mut show: impl FnMut(&str, &str)) -> bool {
        let found = with_json(&self.text(), |root| {
            if root.kind() != Kind::Object {
                return false;
            }
            for (name, value) in root.members() {
                let text =
                    value.str().map_or(Cow::Borrowed(value.text()), |text| text.decode().into_owned().into());
                show(&name.decode(), &text);
            }
            true
        });
        found.unwrap_or(false)
    }
}

/// A string, or a list of strings as a command line; a leading shell call is left out.
fn words(value: Val<'_>) -> Option<String> {
    if let Some(text) = value.str() {
        return Some(text.decode().into_owned());
    }
    let words: Vec<String> =
        value.elements().map(|word| Some(word.str()?.decode().into_owned())).collect::<Option<_>>()?;
    match &words[..] {
        [shell, flag, script] if flag.starts_with('-') && flag.ends_with('c') && shell.ends_with("sh") => {
            Some(script.clone())
        }
        words => Some(words.join(" ")),
    }
}

/// The files named in a patch of the `*** Begin Patch` format.
fn patched_files(text: &str) -> Option<String> {
    let names: Vec<&str> = patch_lines(text)?.filter_map(patched_file).map(|(name, _)| name).collect();
    Some(names.join(", "))
}

fn patch_lines(text: &str) -> Option<impl Iterator<Item = &str>> {
    let start = text.find("*** Begin Patch")?;
    // Further on in a command, the marker may be part of other text.
    (start < 200).then(|| text[start..].lines())
}

fn patched_file(line: &str) -> Option<(&str, &'static str)> {
    let sorts =
        [("*** Add File: ", "write"), ("*** Update File: ", "patch"), ("*** Delete File: ", "delete")];
    sorts.into_iter().find_map(|(start, action)| Some((line.strip_prefix(start)?.trim(), action)))
}

/// Parses JSON and passes the value to `look`.
fn with_json<T>(text: &str, look: impl FnOnce(Val<'_>) -> T) -> Option<T> {
    let mut tape = TapeBuf::default();
    let tape = tape.parse(text, &Limits::default()).ok()?;
    Some(look(tape.root()))
}

/// A file and its changed lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    /// `read`, `write`, `patch` or another word of the source.
    pub(crate) action: String,
    pub(crate) lines: Vec<ChangedLine>,
}

/// A line of a diff.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChangedLine {
    pub(crate) fate: LineFate,
    pub(crate) text: String,
}

/// How a line changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFate {
    /// The line is unchanged.
    Kept,
    Added,
    Removed,
    /// Not a line of the file, but the position of the following lines.
    Place,
}

impl LineFate {
    /// The diff sign of the line.
    pub(crate) const fn sign(self) -> char {
        match self {
            LineFate::Kept => ' ',
            LineFate::Added => '+',
            LineFate::Removed => '-',
            LineFate::Place => '@',
        }
    }
}

impl ChangedFile {
    /// How many lines were added and removed.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let count = |fate| self.lines.iter().filter(|line| line.fate == fate).count();
        (count(LineFate::Added), count(LineFate::Removed))
    }

    fn of_diff(path: &str, action: &str, diff: &str) -> Self {
        let lines = diffs::content_lines(diff).map(|line| {
            let (fate, text) = match line.as_bytes().first() {
                Some(b'+') => (LineFate::Added, &line[1..]),
                Some(b'-') => (LineFate::Removed, &line[1..]),
                Some(b' ') => (LineFate::Kept, &line[1..]),
                Some(b'@' | b'\\') => (LineFate::Place, line),
                _ => (LineFate::Kept, line),
            };
            ChangedLine { fate, text: text.to_owned() }
        });
        Self { path: path.to_owned(), action: action.to_owned(), lines: lines.collect() }
    }
}

/// The files that a call changed: according to its results, or else according to its arguments.
pub(crate) fn changes(tool: &ToolUse) -> Vec<ChangedFile> {
    let said: Vec<ChangedFile> = tool
        .output()
        .filter_map(|piece| match piece {
            Piece::File(file) => {
                let diff = file.diff.as_ref().map(Str::decode).unwrap_or_default();
                Some(ChangedFile::of_diff(&file.path.decode(), &file.action.decode(), &diff))
            }
            _ => None,
        })
        .collect();
    if said.iter().any(|file| !file.lines.is_empty()) {
        return said;
    }
    let asked = tool.args.as_ref().map(|args| asked_for(&args.text())).unwrap_or_default();
    if asked.is_empty() { said } else { asked }
}

fn asked_for(args: &str) -> Vec<ChangedFile> {
    if let Some(files) = of_patch(args) {
        return files;
    }
    let found = with_json(args, |root| {
        let text = |value: Val<'_>, names: &[&str]| {
            names.iter().find_map(|name| value.get(name)?.str().map(|text| text.decode().into_owned()))
        };
        let path = text(root, &["file_path", "filePath", "path", "notebook_path", "absolute_path"]);
        let edit = |value: Val<'_>| {
            let old = text(value, &["old_string", "oldString", "oldText", "old_text", "old_str"])?;
            let new = text(value, &["new_string", "newString", "newText", "new_text", "new_str"])?;
            Some(difference(&old, &new))
        };
        if let Some(patch) = text(root, &["input", "patch", "patchText"])
            && let Some(files) = of_patch(&patch)
        {
            return files;
        }
        let Some(path) = path else { return Vec::new() };
        let mut lines: Vec<ChangedLine> = edit(root).unwrap_or_default();
        for edits in root.get("edits").into_iter().flat_map(|edits| edits.elements()) {
            lines.extend(edit(edits).unwrap_or_default());
        }
        let mut action = "patch";
        if lines.is_empty()
            && let Some(content) = text(root, &["content", "contents", "file_text"])
        {
            action = "write";
            lines = content
                .lines()
                .map(|line| ChangedLine { fate: LineFate::Added, text: line.to_owned() })
                .collect();
        }
        if lines.is_empty() {
            return Vec::new();
        }
        vec![ChangedFile { path, action: action.to_owned(), lines }]
    });
    found.unwrap_or_default()
}

fn of_patch(text: &str) -> Option<Vec<ChangedFile>> {
    let mut files: Vec<ChangedFile> = Vec::new();
    for line in patch_lines(text)?.skip(1) {
        if let Some((path, action)) = patched_file(line) {
            files.push(ChangedFile { path: path.to_owned(), action: action.to_owned(), lines: Vec::new() });
        } else if line.starts_with("*** End Patch") {
            break;
        } else if let Some(file) = files.last_mut() {
            file.lines.append(&mut ChangedFile::of_diff("", "", line).lines);
        }
    }
    (!files.is_empty()).then_some(files)
}

/// The maximum number of line pairs to compare; a larger diff removes all old lines and adds all new lines.
const MOST_PAIRS: usize = 1 << 18;
/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;

/// The diff between two texts.
fn difference(old: &str, new: &str) -> Vec<ChangedLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, two)| one == two).count();
    let ends = old[same..].iter().rev().zip(new[same..].iter().rev());
    let tail = ends.take_while(|(one, two)| one == two).count();
    let (left, right) = (&old[same..old.len() - tail], &new[same..new.len() - tail]);
    let line = |fate, text: &&str| ChangedLine { fate, text: (*text).to_owned() };

    let mut lines: Vec<ChangedLine> =
        old[same.saturating_sub(AROUND)..same].iter().map(|text| line(LineFate::Kept, text)).collect();
    if left.len().saturating_mul(right.len()) > MOST_PAIRS {
        lines.extend(left.iter().map(|text| line(LineFate::Removed, text)));
        lines.extend(right.iter().map(|text| line(LineFate::Added, text)));
    } else {
        // The number of common lines in the remaining texts, for each pair of positions.
        let width = right.len() + 1;
        let mut common = vec![0u32; (left.len() + 1) * width];
        for (one, text) in left.iter().enumerate().rev() {
            for (two, other) in right.iter().enumerate().rev() {
                common[one * width + two] = if text == other {
                    common[(one + 1) * width + two + 1] + 1
                } else {
                    common[(one + 1) * width + two].max(common[one * width + two + 1])
                };
            }
        }
        let (mut one, mut two) = (0, 0);
        while one < left.len() || two < right.len() {
            if one < left.len() && two < right.len() && left[one] == right[two] {
                lines.push(line(LineFate::Kept, &left[one]));
                (one, two) = (one + 1, two + 1);
            } else if two == right.len()
                || one < left.len() && common[(one + 1) * width + two] >= common[one * width + two + 1]
            {
                lines.push(line(LineFate::Removed, &left[one]));
                one += 1;
            } else {
                lines.push(line(LineFate::Added, &right[two]));
                two += 1;
            }
        }
    }
    let after = old.len() - tail;
    lines.extend(old[after..].iter().take(AROUND).map(|text| line(LineFate::Kept, text)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[ChangedLine]) -> String {
        let shown: Vec<String> =
            lines.iter().map(|line| format!("{}{}", line.fate.sign(), line.text)).collect();
        shown.join("\n")
    }

    fn call(args: &str) -> ToolUse {
        ToolUse {
            name: Str::escaped("x"),
            namespace: None,
            kind: None,
            args: Some(ToolArgs::Text(Str::from_plain(args))),
            results: Vec::new(),
            children: Vec::new(),
        }
    }

    #[test]
    fn a_difference_shows_what_changed_with_a_little_around_it() {
        let lines = difference("a\nb\nc\nd\ne\nf\ng\nh\ni", "a\nb\nc\nd\nE\nf\nnew\ng\nh\ni");
        assert_eq!(shown(&lines), " b\n c\n d\n-e\n+E\n f\n+new\n g\n h\n i");
        assert_eq!(shown(&difference("", "x")), "+x");
        assert_eq!(shown(&difference("x", "")), "-x");
        assert_eq!(shown(&difference("same", "same")), " same");
    }

    #[test]
    fn a_call_is_about_its_command_or_its_path() {
        for (args, about) in [
            (r#"{"timeout":5,"command":"ls -l","description":"list"}"#, "ls -l"),
            (r#"{"command":["bash","-lc","ls -l"]}"#, "ls -l"),
            (r#"{"command":["git","log"]}"#, "git log"),
            (r#"{"file_path":"/a/b","limit":3}"#, "/a/b"),
            (r#"{"depth":3}"#, r#"{"depth":3}"#),
            ("{}", ""),
            ("{torn", "{torn"),
            (
                "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch",
                "a.rs, b.rs",
            ),
        ] {
            assert_eq!(gist(&call(args)), about, "{args}");
        }
    }

    #[test]
    fn what_edits_ask_for_is_told_as_lines() {
        let edit = changes(&call(r#"{"file_path":"a","old_string":"x\ny","new_string":"x\nz"}"#));
        assert_eq!((edit[0].path.as_str(), shown(&edit[0].lines)), ("a", " x\n-y\n+z".to_owned()));
        let several = changes(&call(
            r#"{"path":"a","edits":[{"oldText":"1","newText":"2"},{"oldText":"3","newText":"4"}]}"#,
        ));
        assert_eq!(shown(&several[0].lines), "-1\n+2\n-3\n+4");
        let patch = changes(&call("*** Begin Patch\n*** Update File: a\n@@ f\n keep\n-x\n+y\n*** End Patch"));
        assert_eq!(
            (patch[0].action.as_str(), shown(&patch[0].lines)),
            ("patch", "@@@ f\n keep\n-x\n+y".to_owned())
        );
        assert_eq!(changes(&call(r#"{"path":"a"}"#)), []);
    }
}
