//! A small subset of Markdown that agents and people commonly write: code blocks, tables, headings, `code`, **strong**
//! words and web addresses. All other text is kept unchanged, and this module emits no markup.

/// A run of lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block<'t> {
    /// The lines between two fences, and the info string of the first fence.
    Code(&'t str, &'t str),
    /// Lines that begin with a bar.
    Table(&'t str),
    /// All other lines.
    Text(&'t str),
}

/// Splits a text into blocks.
pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut in_table = false;
    // The open fence: fence character, fence length, start of the content, info string.
    let mut fence: Option<(u8, usize, usize, &str)> = None;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        if let Some((sign, length, content, info)) = fence {
            if closes(line, sign, length) {
                blocks.push(Block::Code(info, without_break(&text[content..at])));
                (fence, start) = (None, next);
            }
        } else if let Some((sign, length, info)) = opens(line) {
            push_run(&mut blocks, in_table, &text[start..at]);
            in_table = false;
            fence = Some((sign, length, next, info));
        } else {
            let bar = line.trim_start().starts_with('|');
            if bar != in_table {
                push_run(&mut blocks, in_table, &text[start..at]);
                (in_table, start) = (bar, at);
            }
        }
        at = next;
    }
    match fence {
        Some((.., content, info)) => blocks.push(Block::Code(info, without_break(&text[content..]))),
        None => push_run(&mut blocks, in_table, &text[start..]),
    }
    blocks
}

fn push_run<'t>(blocks: &mut Vec<Block<'t>>, in_table: bool, lines: &'t str) {
    let lines = lines.trim_matches('\n');
    if !lines.trim().is_empty() {
        blocks.push(if in_table { Block::Table(lines) } else { Block::Text(lines) });
    }
}

fn without_break(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn opens(line: &str) -> Option<(u8, usize, &str)> {
    let inner = line.trim_start_matches(' ');
    let sign = *inner.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = inner.bytes().take_while(|byte| *byte == sign).count();
    let info = inner[length..].trim();
    (length >= 3 && line.len() - inner.len() <= 3 && !(sign == b'`' && info.contains('`')))
        .then_some((sign, length, info))
}

fn closes(line: &str, sign: u8, length: usize) -> bool {
    let line = line.trim();
    line.len() >= length && line.bytes().all(|byte| byte == sign)
}

/// A piece of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inline<'t> {
    Text(&'t str),
    Code(&'t str),
    Strong(&'t str),
    /// A web address.
    Address(&'t str),
}

/// Longer lines are not searched for markup.
const LONGEST_LINE: usize = 8 << 10;

/// Passes the pieces of a line to `show`, in order; together they are the line without the markup characters.
pub(crate) fn inline<'t>(line: &'t str, mut show: impl FnMut(Inline<'t>)) {
    if line.len() > LONGEST_LINE {
        return show(Inline::Text(line));
    }
    let mut start = 0;
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let found = match rest.as_bytes()[0] {
            b'`' => code(rest),
            b'*' => strong(rest),
            b'h' => address(line, at),
            _ => None,
        };
        match found {
            Some((piece, length)) => {
                if start < at {
                    show(Inline::Text(&line[start..at]));
                }
                show(piece);
                at += length;
                start = at;
            }
            // A run of markup characters that opens nothing is skipped as a whole.
            None => at += skip(rest),
        }
    }
    if start < line.len() {
        show(Inline::Text(&line[start..]));
    }
}

fn skip(rest: &str) -> usize {
    let sign = rest.as_bytes()[0];
    match sign {
        b'`' | b'*' => rest.bytes().take_while(|byte| *byte == sign).count(),
        _ => rest.chars().next().map_or(1, char::len_utf8),
    }
}

fn code(rest: &str) -> Option<(Inline<'_>, usize)> {
    let fence = rest.bytes().take_while(|byte| *byte == b'`').count();
    let mut at = fence;
    loop {
        at += rest[at..].find('`')?;
        let run = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        if run == fence {
            let inner = &rest[fence..at];
            let padded = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
            let inner = padded.filter(|inner| !inner.trim().is_empty()).unwrap_or(inner);
            return Some((Inline::Code(inner), at + run));
        }
        at += run;
    }
}

fn strong(rest: &str) -> Option<(Inline<'_>, usize)> {
    let inner = rest.strip_prefix("**")?;
    let end = inner.find("**")?;
    let words = &inner[..end];
    let tight = !words.is_empty() && words.trim() == words && !words.contains(['*', '`']);
    tight.then_some((Inline::Strong(words), end + 4))
}

fn address(line: &str, at: usize) -> Option<(Inline<'_>, usize)> {
    let rest = &line[at..];
    let scheme = ["https://", "http://"].into_iter().find(|scheme| rest.starts_with(scheme))?;
    if line[..at].chars().next_back().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let is_end = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '<' | '>' | '"' | '\'' | '`' | ')' | ']' | '}' | '|' | '\\')
    };
    let end = rest.find(is_end).unwrap_or(rest.len());
    let address = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
    (address.len() > scheme.len()).then_some((Inline::Address(address), address.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_and_tables_are_told_from_text() {
        let text = "hi\n```rust\nfn a() {}\n```\n| a |\n| b |\nend\n~~~\nopen";
        assert_eq!(
            blocks(text),
            [
                Block::Text("hi"),
                Block::Code("rust", "fn a() {}"),
                Block::Table("| a |\n| b |"),
                Block::Text("end"),
                Block::Code("", "open"),
            ]
        );
        assert_eq!(blocks("````\n```\n````"), [Block::Code("", "```")]);
        assert_eq!(blocks("\n\n"), []);
    }

    fn pieces(line: &str) -> Vec<Inline<'_>> {
        let mut pieces = Vec::new();
        inline(line, |piece| pieces.push(piece));
        pieces
    }

    #[test]
    fn marks_that_do_not_close_stay_text() {
        use Inline::{Address, Code, Strong, Text};
        assert_eq!(pieces("a `b` **c** d"), [Text("a "), Code("b"), Text(" "), Strong("c"), Text(" d")]);
        assert_eq!(pieces("`` a`b ``"), [Code("a`b")]);
        assert_eq!(pieces("`open **too* ****"), [Text("`open **too* ****")]);
        assert_eq!(
            pieces("see https://a.b/c?d=e, ok"),
            [Text("see "), Address("https://a.b/c?d=e"), Text(", ok")]
        );
        assert_eq!(
            pieces("javascript:alert(1) xhttps://a https://"),
            [Text("javascript:alert(1) xhttps://a https://")]
        );
    }
}
