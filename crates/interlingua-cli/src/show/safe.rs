//! Content made harmless: whatever a log holds, none of it steers a terminal or hides from a reader.
//!
//! Line breaks and tabs stay. Colours that programs print are taken out; every other control character, and every
//! character that turns text around or cannot be seen, is shown by name.

use std::borrow::Cow;

/// The text with nothing in it but what can be seen, and line breaks and tabs.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_risky) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(risky) = rest.chars().next() else { break };
        rest = match colour(rest) {
            Some(length) => &rest[length..],
            None if rest.starts_with("\r\n") => &rest[1..],
            None => {
                name(risky, &mut out);
                &rest[risky.len_utf8()..]
            }
        };
        next = rest.find(is_risky);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The same on one line: what stands between line breaks is joined by spaces.
pub(crate) fn one_line(text: &str) -> String {
    let visible = visible(text);
    let words: Vec<&str> = visible.split(['\n', '\t', ' ']).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The same on one line, with every character in its place: names of files and members are no prose.
pub(crate) fn exact_line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}

fn is_risky(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        ' '..='~' => false,
        _ => {
            c.is_control()
                || matches!(c,
                    // marks, overrides and isolates of the direction of writing
                    '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                    // line breaks of their own sort
                    | '\u{2028}' | '\u{2029}'
                    // what cannot be seen: spaces without width, fillers, annotations, tags
                    | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
                    | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
                    | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        }
    }
}

/// How long the sequence is that sets a colour here, if there is one: `ESC [ … m`.
fn colour(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\u{1b}[")?;
    let end = body.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    body[end..].starts_with('m').then_some(2 + end + 1)
}

fn name(c: char, out: &mut String) {
    match c {
        // The pictures of control characters stand in their order.
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\u{7f}' => out.push('\u{2421}'),
        _ => {
            use std::fmt::Write as _;
            // Writing to a string does not fail.
            let _ = write!(out, "<U+{:04X}>", c as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_passes() {
        for (text, shown) in [
            ("plain\n\ttext é 漢 👩‍💻", "plain\n\ttext é 漢 👩‍💻"),
            ("a\x1b[31mred\x1b[0;1mb", "aredb"),
            ("\x1b[2J\x1b[H", "␛[2J␛[H"),
            ("\x1b]0;title\x07", "␛]0;title␇"),
            ("\x1b]52;c;aGk=\x1b\\", "␛]52;c;aGk=␛\\"),
            ("a\rb\r\nc", "a␍b\nc"),
            ("a\x08b\x7fc\0", "a␈b␡c␀"),
            ("\u{9b}31m\u{90}\u{9d}", "<U+009B>31m<U+0090><U+009D>"),
            ("\u{202e}txt\u{2066}", "<U+202E>txt<U+2066>"),
            ("\u{e0041}\u{200b}\u{2028}", "<U+E0041><U+200B><U+2028>"),
            ("\x1b[31", "␛[31"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
        assert_eq!(one_line(" a\n\n b\tc \x1b[1m"), "a b c");
    }
}
