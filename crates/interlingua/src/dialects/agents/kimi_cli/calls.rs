//! Calls whose arguments arrive in pieces. The wire has a call and the rest of its arguments on separate lines, and the
//! result of an earlier call may be between them. A call waits here until its arguments are complete.

use crate::json::Str;

/// A call with incomplete arguments. All texts are escaped, as in their lines.
#[derive(Debug, Default)]
pub(super) struct UnansweredCall {
    /// The subagent that makes the call; empty for the main agent.
    pub(super) agent: String,
    pub(super) parent_call: String,
    pub(super) call_id: String,
    pub(super) name: String,
    /// The date of the call's line.
    pub(super) date: String,
    pub(super) pieces: Vec<String>,
    pub(super) heard: usize,
    pub(super) braces: Braces,
}

impl UnansweredCall {
    /// The most bytes of arguments held back.
    const MOST: usize = 16 << 20;

    /// Adds a piece. Returns whether the arguments are complete, or exceed the limit.
    pub(super) fn hear(&mut self, piece: &Str<'_>) -> bool {
        self.heard += piece.as_escaped().len();
        self.braces.hear(&piece.decode()) || self.heard > Self::MOST
    }
}

/// Tracks the nesting of a JSON object across pieces, to find its last brace without scanning a piece twice.
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
