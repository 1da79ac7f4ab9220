//! Calls whose arguments come in pieces. The wire gives a call and the rest of its arguments on lines of their own, and
//! what an earlier call returned may stand between them. Such a call waits here until its arguments are whole.

use crate::json::Str;

/// A call that waits for the rest of its arguments. All texts are escaped, as they stood in their lines.
#[derive(Debug, Default)]
pub(super) struct UnansweredCall {
    /// The subagent that makes it; empty for the agent itself.
    pub(super) agent: String,
    pub(super) parent_call: String,
    pub(super) call_id: String,
    pub(super) name: String,
    /// The date of its line.
    pub(super) date: String,
    pub(super) pieces: Vec<String>,
    pub(super) heard: usize,
    pub(super) braces: Braces,
}

impl UnansweredCall {
    /// So many bytes of arguments are held back, at most.
    const MOST: usize = 16 << 20;

    /// Hears a piece. Returns whether the arguments are whole with it, or longer than anyone waits for.
    pub(super) fn hear(&mut self, piece: &Str<'_>) -> bool {
        self.heard += piece.as_escaped().len();
        self.braces.hear(&piece.decode()) || self.heard > Self::MOST
    }
}

/// How far a JSON object has come: whether its last brace was read is seen without looking at any piece twice.
#[derive(Debug, Default)]
pub(super) struct Braces {
    depth: u64,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Braces {
    /// Whether a text is an object from its first brace to its last.
    pub(super) fn is_whole(text: &Str<'_>) -> bool {
        Self::default().hear(&text.decode())
    }

    fn hear(&mut self, text: &str) -> bool {
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
        self.closed && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_whole_with_its_last_brace() {
        let mut call = UnansweredCall::default();
        for (piece, whole) in [
            ("", false),
            (r#"{\"a\": \"}"#, false),
            (r#"\\\"{\", \"b\": ["#, false),
            ("1]", false),
            ("}", true),
        ] {
            assert_eq!(call.hear(&Str::escaped(piece)), whole, "{piece}");
        }
        assert!(Braces::is_whole(&Str::escaped("{}")));
        assert!(!Braces::is_whole(&Str::escaped("")));
        assert!(!Braces::is_whole(&Str::escaped(r#"{\"a"#)));
    }
}
