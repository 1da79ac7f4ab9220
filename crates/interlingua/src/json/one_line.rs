//! The characters that end a line, and JSON without them.
//!
//! A frame of a stream or of a log is one line. Line feeds and carriage returns are legal JSON between two tokens, and
//! U+0085, U+2028 and U+2029 are legal in strings, but clients split lines at any of the five (Python's
//! `str.splitlines`, which httpx uses for streams). The other characters that Python splits at are control characters, which
//! no JSON text holds unescaped.

use wide::{CmpLt as _, i8x16, u8x16};

use crate::tape::block_mask;

/// The offset of the first line end.
pub(super) fn find_break(bytes: &[u8]) -> Option<usize> {
    let (blocks, tail) = bytes.as_chunks::<64>();
    for (number, block) in blocks.iter().enumerate() {
        if !is_simple(block)
            && let found @ Some(_) = break_in(bytes, 64 * number, block)
        {
            return found;
        }
    }
    if tail.is_empty() {
        return None;
    }
    // The last 64 bytes overlap a block without line ends; shorter input is padded.
    if let Some(block) = bytes.last_chunk::<64>() {
        return if is_simple(block) { None } else { break_in(bytes, bytes.len() - 64, block) };
    }
    let mut padded = [b' '; 64];
    padded[..tail.len()].copy_from_slice(tail);
    if is_simple(&padded) { None } else { break_in(bytes, 0, &padded) }
}

/// Whether all bytes are ASCII and none is a control character. Almost all blocks are.
#[inline]
fn is_simple(block: &[u8; 64]) -> bool {
    // As signed numbers, non-ASCII bytes are less than all ASCII bytes.
    let space = i8x16::splat(0x20);
    let odd = |chunk: &[u8; 16]| i8x16::new(chunk.map(u8::cast_signed)).cmp_lt(space);
    let (chunks, _) = block.as_chunks::<16>();
    !chunks.iter().fold(i8x16::splat(0), |all, chunk| all | odd(chunk)).any()
}

/// The first line end whose last byte is in a block that begins at `start`.
fn break_in(bytes: &[u8], start: usize, block: &[u8; 64]) -> Option<usize> {
    let mut last_bytes = block_mask(block, |chunk| {
        let is = |byte| chunk.cmp_eq(u8x16::splat(byte));
        // The last bytes of U+2028 and U+2029 differ in one bit.
        is(b'\n') | is(b'\r') | is(0x85) | (chunk | u8x16::splat(1)).cmp_eq(u8x16::splat(0xa9))
    });
    while last_bytes != 0 {
        let at = start + last_bytes.trailing_zeros() as usize;
        last_bytes &= last_bytes - 1;
        let up_to = bytes.get(..=at).unwrap_or_default();
        if let Some((length, _)) =
            LINE_ENDS.iter().find_map(|(end, escape)| up_to.ends_with(end).then_some((end.len(), escape)))
        {
            return Some(at + 1 - length);
        }
    }
    None
}

/// The line ends and their escapes. The first two are whitespace between tokens.
const LINE_ENDS: [(&[u8], &[u8]); 5] = [
    (b"\n", b""),
    (b"\r", b""),
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
];

/// Appends JSON to `out` as part of one line: the indentation of pretty-printed values is left out, and separators in
/// strings are escaped. `in_indent` is set while the text ends within an indentation.
pub(super) fn append_one_line(mut json: &[u8], in_indent: &mut bool, out: &mut Vec<u8>) {
    loop {
        if *in_indent {
            json = json.trim_ascii_start();
            *in_indent = json.is_empty();
        }
        let Some(at) = find_break(json) else { return out.extend_from_slice(json) };
        let (before, rest) = json.split_at(at);
        out.extend_from_slice(before);
        let found = LINE_ENDS.iter().find_map(|(end, escape)| Some((rest.strip_prefix(*end)?, escape)));
        let Some((after, escape)) = found else { return out.extend_from_slice(rest) };
        out.extend_from_slice(escape);
        *in_indent = escape.is_empty();
        json = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_found_at_every_place_of_a_block() {
        for around in ["x", "é", "“", "\u{2027}", "\t"] {
            for (end, _) in LINE_ENDS {
                for before in 0..150 {
                    for after in [0, 1, 2, 61, 64, 130] {
                        let mut text = around.repeat(before).into_bytes();
                        let at = text.len();
                        assert_eq!(find_break(&text), None);
                        text.extend_from_slice(end);
                        text.extend_from_slice(around.repeat(after).as_bytes());
                        assert_eq!(find_break(&text), Some(at), "{before} before, {after} after");
                    }
                }
            }
        }
    }

    #[test]
    fn a_value_on_one_line_is_the_same_wherever_it_is_cut() {
        let json = "{\r\n  \"a\": [\n\t1,\n\n    \"x\u{2028}y\u{2029} \u{85}\"\n  ],\"é\": {\n}}";
        let want = "{\"a\": [1,\"x\\u2028y\\u2029 \\u0085\"],\"é\": {}}";
        for cut in (0..=json.len()).filter(|cut| json.is_char_boundary(*cut)) {
            let (mut out, mut in_indent) = (Vec::new(), false);
            append_one_line(&json.as_bytes()[..cut], &mut in_indent, &mut out);
            append_one_line(&json.as_bytes()[cut..], &mut in_indent, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), want, "cut at {cut}");
        }
    }
}
