//! Makes content safe to print: no log text or file name can control a terminal or hide from a reader.
//!
//! [`visible`] is for texts of a log, [`exact_line`] for names and messages on one line, [`path_name`] for paths, and
//! [`screen`] for text that is about to be written to a terminal: it passes only our own colours. [`DataScreen`] is for
//! data that is about to be written to a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// The text with visible characters, line breaks and tabs only. Colour sequences of programs are removed. Every other
/// control character, and every invisible or direction-changing character, is replaced by its name.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| is_risky(c) || is_joiner(c);
    let Some(first) = text.find(is_odd) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(odd) = rest.chars().next() else { break };
        rest = match colour(rest) {
            Some(length) => &rest[length..],
            None if rest.starts_with("\r\n") => &rest[1..],
            None => {
                if is_joiner(odd) && joins(odd, &out) {
                    out.push(odd);
                } else {
                    name(odd, &mut out);
                }
                &rest[odd.len_utf8()..]
            }
        };
        next = rest.find(is_odd);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The text made visible, on one line: line breaks become spaces.
pub fn one_line(text: &str) -> String {
    let visible = visible(text);
    let words: Vec<&str> = visible.split(['\n', '\t', ' ']).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// A name or a message on one line, with invisible characters replaced by their names: two different names never look
/// the same.
pub fn exact_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // A combining accent looks like the precomposed letter.
        let is_accent = matches!(c, '\u{300}'..='\u{36f}');
        let is_space = c.is_whitespace() && c != ' ';
        if is_risky(c) || is_joiner(c) || is_accent || is_space { name(c, &mut out) } else { out.push(c) }
    }
    out
}

/// The text of a path for messages and reports: the path itself, except that invalid UTF-8 and the characters used in
/// replacement names are escaped. Two different paths never have the same text.
pub fn path_name(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    let mut out = String::new();
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    #[cfg(not(unix))]
    let text = path.to_string_lossy();
    #[cfg(not(unix))]
    let bytes = text.as_bytes();
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            let is_like_a_name =
                c == '<' && ["<U+", "<0x"].iter().any(|begin| valid[at..].starts_with(begin));
            if is_like_a_name || matches!(c, '\u{2400}'..='\u{2426}') {
                // Writing to a `String` does not fail.
                let _ = write!(out, "<U+{:04X}>", c as u32);
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "<0x{byte:02X}>");
        }
    }
    out
}

/// The same JSON document with control characters and invisible characters as escape sequences. These characters occur
/// only in strings.
pub fn json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    escape(document, &mut out);
    out
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        if is_risky(c) || is_joiner(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
}

/// Data written to a terminal in chunks. Control characters and invisible characters become JSON escape sequences, so a
/// document keeps its meaning; invalid UTF-8 bytes are printed as `<0x9B>`.
#[derive(Debug, Default)]
pub struct DataScreen {
    /// An incomplete character or a carriage return at the end of a chunk; the next byte decides how it is printed.
    cut: Vec<u8>,
}

impl DataScreen {
    /// The printable text of the bytes so far, except an incomplete end.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.cut);
        all.extend_from_slice(bytes);
        let whole = all.len() - cut_length(&all);
        self.cut = all.split_off(whole);
        shown_data(&all)
    }

    /// The printable text of the incomplete end.
    pub fn finish(&mut self) -> String {
        shown_data(&std::mem::take(&mut self.cut))
    }
}

/// How many bytes at the end depend on the next byte: a carriage return or an incomplete character.
fn cut_length(bytes: &[u8]) -> usize {
    if bytes.ends_with(b"\r") {
        return 1;
    }
    let last = bytes.get(bytes.len().saturating_sub(3)..).unwrap_or_default();
    let begin = last.iter().rposition(|byte| *byte & 0xc0 != 0x80);
    let tail = begin.and_then(|begin| last.get(begin..)).unwrap_or_default();
    match std::str::from_utf8(tail) {
        // Without an error length the character is incomplete.
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => tail.len(),
        Ok(_) | Err(_) => 0,
    }
}

fn shown_data(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for (at, line) in chunk.valid().split("\r\n").enumerate() {
            out.push_str(if at > 0 { "\r\n" } else { "" });
            escape(line, &mut out);
        }
        for byte in chunk.invalid() {
            // Writing to a `String` does not fail.
            let _ = write!(out, "<0x{byte:02X}>");
        }
    }
    out
}

/// Filters text for a terminal: only our own colour sequences pass. This is the last check; content was made visible
/// when it was added to the text.
pub fn screen(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_risky) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(risky) = rest.chars().next() else { break };
        let length = colour(rest).filter(|length| is_ours(&rest[..*length]));
        match length {
            Some(length) => out.push_str(&rest[..length]),
            None => name(risky, &mut out),
        }
        rest = &rest[length.unwrap_or(risky.len_utf8())..];
        next = rest.find(is_risky);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a sequence sets a colour or style that this command uses; none of them hides text.
fn is_ours(sequence: &str) -> bool {
    matches!(sequence.trim_start_matches("\u{1b}["), "0m" | "1m" | "2m" | "3m")
        || matches!(sequence.as_bytes(), [0x1b, b'[', b'3', b'1'..=b'6', b'm'])
}

/// Writes text to a terminal through [`screen`]. Each write must be complete UTF-8 text, as `write!` guarantees.
#[derive(Debug)]
pub struct ScreenWriter<W>(pub W);

impl<W: std::io::Write> std::io::Write for ScreenWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(screen(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn is_risky(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        ' '..='~' => false,
        _ => {
            c.is_control()
                || matches!(c,
                    // marks, overrides and isolates of the text direction
                    '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                    // Unicode line breaks
                    | '\u{2028}' | '\u{2029}'
                    // invisible characters: zero-width spaces, fillers, blanks, annotations, tags, variation selectors
                    | '\u{ad}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'
                    | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}'
                    | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
                    | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                    | '\u{e0000}'..='\u{e0fff}')
        }
    }
}

/// Whether a character has no width but a meaning between others: in emoji and in scripts whose letters join.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Whether a joiner or variation selector follows a character it can apply to.
fn joins(joiner: char, before: &str) -> bool {
    let is_selector = |c: char| matches!(c, '\u{fe00}'..='\u{fe0f}');
    before.chars().next_back().is_some_and(|last| match last {
        '0'..='9' | '#' | '*' => joiner == '\u{fe0f}',
        '\0'..='\u{a8}' => false,
        _ if is_selector(last) => !is_selector(joiner),
        _ => !is_joiner(last),
    })
}

/// The length of the colour sequence `ESC [ … m` at the start of the text, if there is one.
fn colour(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\u{1b}[")?;
    let end = body.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    body[end..].starts_with('m').then_some(2 + end + 1)
}

fn name(c: char, out: &mut String) {
    match c {
        // The Unicode pictures of control characters are in the same order.
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\u{7f}' => out.push('\u{2421}'),
        _ => {
            // Writing to a `String` does not fail.
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

    /// Control characters, invisible characters, and a few that look like replacement names.
    fn odd_characters() -> impl Iterator<Item = char> {
        ('\0'..='\u{1f}')
            .chain('\u{7f}'..='\u{9f}')
            .chain([
                '\u{ad}',
                '\u{34f}',
                '\u{61c}',
                '\u{feff}',
                '\u{a0}',
                '\u{3000}',
                '\u{301}',
                '\u{fe0f}',
                '\u{e0041}',
            ])
            .chain('\u{2000}'..='\u{200f}')
            .chain('\u{2028}'..='\u{202f}')
            .chain('\u{2060}'..='\u{206f}')
            .chain('\u{2400}'..='\u{2426}')
    }

    #[test]
    fn two_paths_never_look_the_same() {
        let mut odd: Vec<Vec<u8>> = odd_characters().map(|c| format!("a{c}b").into_bytes()).collect();
        let shown: Vec<Vec<u8>> =
            odd.iter().map(|bytes| exact_line(&String::from_utf8_lossy(bytes)).into_bytes()).collect();
        odd.extend(shown);
        odd.extend(
            [
                &b"a\xffb"[..],
                b"a\xfeb",
                b"a<0xFF>b",
                b"a<U+003C>0xFF>b",
                b"ab",
                b"a b",
                b"a\x1b[31mb",
                b"a\xef\xbf\xbdb",
            ]
            .map(<[u8]>::to_vec),
        );
        odd.sort();
        odd.dedup();
        let count = odd.len();
        #[cfg(unix)]
        {
            let path = |bytes: &Vec<u8>| {
                exact_line(&path_name(Path::new(
                    <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes),
                )))
            };
            let mut shown: Vec<String> = odd.iter().map(path).collect();
            for text in &shown {
                assert!(
                    !text.chars().any(|c| is_risky(c) || is_joiner(c) || c == '\n' || c == '\t'),
                    "{text:?}"
                );
            }
            shown.sort();
            shown.dedup();
            assert_eq!(shown.len(), count);
        }
    }

    #[test]
    fn the_screen_takes_our_colours_and_nothing_else_that_steers_it() {
        let ours = "\x1b[1m\x1b[31merror\x1b[0m: a\n\tb";
        assert_eq!(screen(ours), ours);
        for steering in
            ["\x1b[8m", "\x1b[2J", "\x1b]0;x\x07", "\u{9b}1m", "\x1b[41m", "\x1b[1;31m", "\u{202e}", "\r"]
        {
            assert!(!screen(steering).contains(is_risky), "{steering:?}");
        }
    }

    #[test]
    fn data_in_any_pieces_is_shown_the_same_and_steers_no_terminal() {
        let data = b"{\"a\":\"\xe2\x80\xae \xc2\x9b \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\"}\r\n\x1b[2J \r \x9b \xe2\x80\n\tx\xf3\xa0\x81\x81\xf0\x9f";
        let shown = "{\"a\":\"\\u202e \\u009b 👩\\u200d💻\"}\r\n\\u001b[2J \\u000d <0x9B> <0xE2><0x80>\n\tx\\udb40\\udc41<0xF0><0x9F>";
        for size in 1..=data.len() {
            let mut screen = DataScreen::default();
            let pieces: String = data.chunks(size).map(|piece| screen.push(piece)).collect();
            assert_eq!(pieces + &screen.finish(), shown, "{size}");
        }
    }

    #[test]
    fn joiners_stay_where_they_join_something() {
        assert_eq!(
            visible("👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} می\u{200c}خواهم"),
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} می\u{200c}خواهم"
        );
        assert_eq!(visible("pass\u{200d}word\u{200c}"), "pass<U+200D>word<U+200C>");
        assert_eq!(visible("é\u{200d}\u{200d}"), "é\u{200d}<U+200D>");
    }
}
