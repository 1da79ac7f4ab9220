//! Content for a page: escaped, cut into chunks that a browser lays out separately, and validated if it is a picture.

use interlingua::model::{Media, MediaSource};

use crate::story::Piece;

/// Long text is cut into chunks, so that a browser need not lay out chunks outside the window.
pub(crate) const CHUNK_LINES: usize = 200;
pub(crate) const CHUNK_BYTES: usize = 32 << 10;

/// The cells of a table row, split at bars; a bar after a backslash is part of its cell.
pub(crate) fn cells(row: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    row.split(move |c| std::mem::replace(&mut before, c) != '\\' && c == '|')
}

/// Escapes HTML markup, in text and in quoted attributes.
pub fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// The media type and the data of a picture that a page may show.
pub(crate) fn picture<'m>(media: &'m Media<'_>) -> Option<(&'static str, &'m str)> {
    const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let (sort, data) = match &media.source {
        MediaSource::Base64(data) => {
            let sort = media.media_type.as_ref()?;
            (SHOWN.into_iter().find(|shown| sort.is(shown))?, data.as_escaped())
        }
        MediaSource::Url(address) => {
            let rest = address.as_escaped().strip_prefix("data:")?;
            let (sort, data) = rest.split_once(";base64,")?;
            (SHOWN.into_iter().find(|shown| *shown == sort)?, data)
        }
        MediaSource::File(_) | MediaSource::Text(_) => return None,
    };
    let digits = data.trim_end_matches('=');
    let sound = !digits.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    sound.then_some((sort, data))
}

pub(crate) fn lines_of(piece: &Piece) -> usize {
    match piece {
        // Line breaks are escaped in this text.
        Piece::Text(text) | Piece::Refusal(text) => {
            text.as_escaped().trim_end_matches("\\n").matches("\\n").count() + 1
        }
        Piece::Json(json) => lines(json.as_str()),
        Piece::Media(_) | Piece::File(_) | Piece::Citation(_) => 1,
        // Opaque state is not shown.
        Piece::Opaque(_) => 0,
    }
}

pub(crate) fn lines(text: &str) -> usize {
    text.lines().count()
}

pub(crate) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first lines, and the rest if it is long enough for a fold.
pub(crate) fn split_lines(text: &str, most: usize, longest: usize) -> (&str, &str) {
    let mut breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    let by_lines = breaks.nth(most - 1);
    let by_bytes = (text.len() > longest).then(|| next_boundary(text, longest));
    match by_lines.into_iter().chain(by_bytes).min() {
        Some(at) if text.len() - at > 200 => text.split_at(at),
        Some(_) | None => (text, ""),
    }
}

/// A text in chunks of several lines.
pub(crate) struct TextChunks<'t>(pub(crate) &'t str);

impl<'t> Iterator for TextChunks<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let within = &text[..next_boundary(text, CHUNK_BYTES)];
        let by_lines = within.match_indices('\n').nth(CHUNK_LINES - 1).map(|(at, _)| at);
        // A line longer than a chunk is cut at the chunk size.
        let last_break = if within.len() < text.len() { within.rfind('\n') } else { None };
        let at = by_lines.or(last_break).unwrap_or(within.len());
        let (now, later) = text.split_at(at);
        self.0 = later.strip_prefix('\n').unwrap_or(later);
        Some(now)
    }
}

/// The next character boundary at or after a position.
fn next_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use interlingua::json::Str;

    use super::*;

    #[test]
    fn pieces_hold_the_whole_text() {
        for text in
            ["", "a", "a\nb\n", &"x\n".repeat(1000), &"é".repeat(100_000), &"y".repeat(CHUNK_BYTES + 1)]
        {
            let joined: Vec<&str> = TextChunks(text).collect();
            let glue = if text.contains('\n') { "\n" } else { "" };
            assert_eq!(joined.join(glue).trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
    }

    #[test]
    fn only_sound_pictures_of_four_sorts_are_shown() {
        let base64 = |sort: &'static str, data: &'static str| {
            Media::new(Some(Str::escaped(sort)), MediaSource::Base64(Str::escaped(data)))
        };
        assert!(picture(&base64("image/png", "aGk=")).is_some());
        assert!(picture(&base64("image/svg+xml", "aGk=")).is_none());
        assert!(picture(&base64("image/png", "aG k=")).is_none());
        assert!(picture(&base64("image/png", "aGk=\\\" onerror=\\\"x")).is_none());
        let url = |url: &'static str| Media::new(None, MediaSource::Url(Str::escaped(url)));
        assert!(picture(&url("data:image/webp;base64,aGk=")).is_some());
        assert!(picture(&url("data:image/svg+xml;base64,aGk=")).is_none());
        assert!(picture(&url("https://a.b/c.png")).is_none());
    }
}
