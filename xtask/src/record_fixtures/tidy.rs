//! Tidying: edits the text of a log to remove all data of this machine and most of the vendor's texts.

use std::fs;
use std::path::Path;

use super::cases::{Act, Case, ScriptedBlock};
use super::voice::quote;
use super::{NEUTRAL, TaskResult};

/// Edits the text of a JSON line without parsing it into values, so that untouched text stays as written.
pub(super) struct Tidy {
    /// Machine names and replacements, applied in order.
    swaps: Vec<(String, String)>,
    /// Texts of the script, as JSON strings: never cut.
    ours: Vec<String>,
}

impl Tidy {
    pub(super) fn new(scratch: &Path, case: &Case) -> TaskResult<Self> {
        let scratch = scratch.display().to_string();
        let slug = |path: &str| path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let mut swaps = vec![(slug(&scratch), slug(NEUTRAL)), (scratch, NEUTRAL.to_owned())];
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        swaps.push((release.trim().to_owned(), "6.1.0".to_owned()));
        // Only the app server of Codex writes the host name, as a value of its own.
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
        swaps.push((quote(host.trim()), quote("demo")));
        let mut ours = Vec::new();
        for reply in case.script {
            let (Act::Say(blocks) | Act::Stall(blocks)) = reply.act else { continue };
            for block in blocks {
                match block {
                    ScriptedBlock::Thinking(parts) => {
                        ours.extend(parts.iter().map(|part| quote(part)));
                        ours.push(quote(&parts.concat()));
                    }
                    ScriptedBlock::Text(text) | ScriptedBlock::Redacted(text) => ours.push(quote(text)),
                    ScriptedBlock::Call { input, .. } | ScriptedBlock::Freeform { input, .. } => {
                        ours.push(quote(input));
                    }
                    ScriptedBlock::WebSearch(_) => {}
                }
            }
        }
        Ok(Self { swaps, ours })
    }

    /// Appends the edited line. In a line that is not a JSON object, only names are replaced.
    pub(super) fn line(&self, line: &str, out: &mut String) -> TaskResult<()> {
        if line.trim_start().starts_with('{') {
            self.value(line, LinePlace::Open, out)
        } else {
            out.push_str(&self.swap(line));
            Ok(())
        }
    }

    /// Appends one value with its surrounding whitespace.
    fn value(&self, text: &str, place: LinePlace, out: &mut String) -> TaskResult<()> {
        let inner = text.trim();
        let lead = text.len() - text.trim_start().len();
        let (before, after) = (&text[..lead], &text[lead + inner.len()..]);
        out.push_str(before);
        match inner.as_bytes().first() {
            Some(b'{' | b'[') if parts(inner)?.is_empty() => out.push_str(inner),
            Some(b'"') => out.push_str(&self.string(inner, place)),
            Some(b'{') => {
                out.push('{');
                let members = parts(inner)?;
                let few = if place == LinePlace::Schema { 1 } else { usize::MAX };
                for (i, member) in members.into_iter().take(few).enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    let (key, value) = member.split_at(key_end(member));
                    out.push_str(&self.swap(key));
                    self.value(
                        value,
                        place.inside(key.trim_end_matches([':', ' ']).trim().trim_matches('"')),
                        out,
                    )?;
                }
                out.push('}');
            }
            Some(b'[') => {
                out.push('[');
                let few = match place {
                    LinePlace::Open => usize::MAX,
                    LinePlace::Vendor => LIST,
                    LinePlace::Schema => 1,
                };
                for (i, element) in parts(inner)?.into_iter().take(few).enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    self.value(element, place, out)?;
                }
                out.push(']');
            }
            _ => out.push_str(inner),
        }
        out.push_str(after);
        Ok(())
    }

    fn string(&self, quoted: &str, place: LinePlace) -> String {
        let limit = if place == LinePlace::Open { 160 } else { 60 };
        let swapped = self.swap(quoted);
        let raw = &swapped[1..swapped.len() - 1];
        let (mut chars, mut head) = (0, 0);
        let mut rest = raw;
        while !rest.is_empty() {
            if chars == HEAD {
                head = raw.len() - rest.len();
            }
            rest = &rest[char_len(rest)..];
            chars += 1;
        }
        if chars <= limit || self.ours.iter().any(|text| text == quoted) {
            return swapped;
        }
        format!("\"{}…[cut {} chars]\"", &raw[..head], chars - HEAD)
    }

    fn swap(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.swaps {
            if text.contains(from.as_str()) {
                text = text.replace(from, to);
            }
        }
        // Process and user numbers in path names.
        for prefix in ["/tmp/cc-socks/", "/tmp/claude-"] {
            if let Some((before, after)) = text.split_once(prefix) {
                text = format!("{before}{prefix}1{}", after.trim_start_matches(|c: char| c.is_ascii_digit()));
            }
        }
        text
    }
}

/// The position in a line: in content of the session, or in lists and texts of the vendor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinePlace {
    Open,
    Vendor,
    Schema,
}

impl LinePlace {
    fn inside(self, key: &str) -> Self {
        match key {
            "properties" | "parameters" | "input_schema" if self != Self::Open => Self::Schema,
            _ if self != Self::Open => self,
            key if VENDOR_KEYS.contains(&key) => Self::Vendor,
            _ => Self::Open,
        }
    }
}

/// The comma-separated parts of an object or array, with their spaces, without the brackets.
fn parts(container: &str) -> TaskResult<Vec<&str>> {
    let bytes = container.as_bytes();
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let (mut found, mut start) = (Vec::new(), 1);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b',' if depth == 1 => {
                found.push(&container[start..at]);
                start = at + 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1).ok_or("a bracket too many")?;
                if depth == 0 {
                    let last = &container[start..at];
                    if !(found.is_empty() && last.trim().is_empty()) {
                        found.push(last);
                    }
                    return if at + 1 == bytes.len() { Ok(found) } else { Err("text after the end".into()) };
                }
            }
            _ => {}
        }
    }
    Err("an open bracket at the end of the line".into())
}

/// The start of an object member's value: after the key and its colon.
fn key_end(member: &str) -> usize {
    let lead = member.len() - member.trim_start().len();
    let key = string_len(&member[lead..]);
    let colon = member[lead + key..].find(':').map_or(0, |colon| colon + 1);
    lead + key + colon
}

/// Length of the JSON string, with its quotes, at the start of `text`.
fn string_len(text: &str) -> usize {
    let mut at = 1;
    while at < text.len() && !text[at..].starts_with('"') {
        at += char_len(&text[at..]);
    }
    (at + 1).min(text.len())
}

/// Length of the first character of a raw JSON string: an escape, a pair of surrogate escapes, or a
/// plain character.
fn char_len(raw: &str) -> usize {
    let unicode =
        |text: &str| text.starts_with("\\u").then(|| text.get(2..6)).flatten().map(str::to_ascii_lowercase);
    let len = match unicode(raw) {
        Some(hex)
            if hex.starts_with(['d'])
                && hex[1..].starts_with(['8', '9', 'a', 'b'])
                && unicode(&raw[6..]).is_some() =>
        {
            12
        }
        Some(_) => 6,
        None if raw.starts_with('\\') => 2,
        None => raw.chars().next().map_or(0, char::len_utf8),
    };
    len.min(raw.len())
}

/// The raw text of the value at `a.b.c` of the first JSON object in `text`.
pub(super) fn at_path<'a>(text: &'a str, path: &str) -> Option<&'a str> {
    let mut value = text.lines().next()?.trim();
    for key in path.split('.') {
        value = parts(value).ok()?.into_iter().find_map(|member| {
            let (name, value) = member.split_at(key_end(member));
            (name.trim_end_matches([':', ' ']).trim().trim_matches('"') == key).then(|| value.trim())
        })?;
    }
    Some(value)
}

/// Fails with the word if `text` still names a folder of a real machine.
pub(super) fn no_machine_words(text: &str) -> Result<(), &'static str> {
    // Codex calls its first agent `/root` and a helper `/root/<task>`; neither is a folder.
    let agents = ["/root/counter", "`/root`", "\"/root\"", ": /root\\n"];
    let text = agents.iter().fold(text.to_owned(), |text, agent| text.replace(agent, ""));
    match ["/root", "/work", "/home"].into_iter().find(|word| text.contains(word)) {
        Some(word) => Err(word),
        None => Ok(()),
    }
}

/// How much of a cut string and of a cut list is kept.
const HEAD: usize = 40;
const LIST: usize = 3;
/// Members that hold the vendor's own lists and texts.
const VENDOR_KEYS: &[&str] = &[
    "agents",
    "attachment",
    "base_instructions",
    "betas",
    "capabilities",
    "commands",
    "memory_paths",
    "models",
    "plugins",
    "rendered",
    "shape",
    "skills",
    "slash_commands",
    "terminal_slash_commands",
    "tools",
];

#[cfg(test)]
mod tests {
    use super::super::cases::LONG_TEXT;
    use super::*;

    fn tidied(line: &str) -> String {
        let tidy =
            Tidy { swaps: vec![("/scratch/x".to_owned(), NEUTRAL.to_owned())], ours: vec![quote(LONG_TEXT)] };
        let mut out = String::new();
        assert!(tidy.line(line, &mut out).is_ok());
        out
    }

    #[test]
    fn what_is_not_cut_keeps_its_bytes() {
        let line = "{ \"b\" : 1.50e+3 ,\"a\":[ ] , \"\\u00e9\":\"\\/ \\\"x\\\" {,}\" , \"z\":{ } }\r\n";
        assert_eq!(tidied(line), line);
    }

    #[test]
    fn a_long_string_is_cut_between_characters() {
        let pair = "\\ud83e\\udd80";
        let line = format!("{{\"text\":\"{}\"}}\n", pair.repeat(161));
        assert_eq!(tidied(&line), format!("{{\"text\":\"{}…[cut 121 chars]\"}}\n", pair.repeat(40)));
    }

    #[test]
    fn our_own_long_text_is_never_cut() {
        let line = format!("{{\"text\":{}}}\n", quote(LONG_TEXT));
        assert!(LONG_TEXT.chars().count() > 160);
        assert_eq!(tidied(&line), line);
    }

    #[test]
    fn only_vendor_lists_are_cut() {
        assert_eq!(
            tidied(r#"{"tools":["a", "b","c" ,"d"],"content":[1,2,3,4]}"#),
            r#"{"tools":["a", "b","c" ],"content":[1,2,3,4]}"#
        );
    }

    #[test]
    fn scratch_paths_become_neutral_in_keys_and_values() {
        assert_eq!(
            tidied(r#"{"/scratch/x/a":"in /scratch/x/b","s":"/tmp/cc-socks/77.sock"}"#),
            r#"{"/tmp/demo/a":"in /tmp/demo/b","s":"/tmp/cc-socks/1.sock"}"#
        );
    }
}
