//! Deterministic damage: the same seed yields the same mutation on every machine.

use interlingua::tape::Kind;

/// A small generator (xorshift), so that a failure can be repeated from its number.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}

/// One to three small mutations: flipped, deleted, inserted or repeated bytes, swapped or joined lines.
pub fn mutate(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        match dice.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
            1 if !bytes.is_empty() => {
                let end = (at + 1 + dice.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 => bytes.insert(at, dice.below(256) as u8),
            3 => {
                let end = (at + dice.below(200)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => swap_lines(&mut bytes, dice),
            5 => {
                // Zero bytes, as after a crash.
                let end = (at + dice.below(16)).min(bytes.len());
                bytes[at..end].fill(0);
            }
            6 => {
                const TRICKY: &[&[u8]] = &[
                    b"\n",
                    b"\"",
                    b"\\",
                    b"{",
                    b"}",
                    b"[",
                    b"]",
                    b",",
                    b"~",
                    b"\"~\"",
                    b"\"~~\"",
                    b"\r\n",
                    b"\r",
                    b"\n\n",
                    b"\xef\xbb\xbf",
                    b"\\ud800",
                    b"null",
                    b"1e999",
                    b"[[[[",
                    b"{\"type\":\"user\"}",
                    b"data: ",
                    b"[DONE]",
                    b"\"type\":\"text\",",
                    b"\"id\":\"\",",
                    b"\"content\":[],",
                ];
                let piece = TRICKY[dice.below(TRICKY.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            _ => swap_values(&mut bytes, dice),
        }
    }
    bytes
}

fn swap_lines(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
    lines.swap(a, b);
    *bytes = lines.concat();
}

/// Replaces a value by a value of another type: valid JSON, wrong shape.
fn swap_values(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const VALUES: &[&[u8]] = &[
        b"null",
        b"true",
        b"0",
        b"-1.5e3",
        b"\"\"",
        b"\"~\"",
        b"\"x\"",
        b"[]",
        b"{}",
        b"[null]",
        b"{\"type\":1}",
        b"[{\"type\":\"text\",\"text\":\"x\"}]",
        b"[[]]",
    ];
    let colons: Vec<usize> =
        bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"\":").map(|(at, _)| at + 2).collect();
    let Some(&start) = colons.get(dice.below(colons.len())) else { return };
    let rest = &bytes[start..];
    let value = VALUES[dice.below(VALUES.len())];
    let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<serde::de::IgnoredAny>();
    if let Some(Ok(_)) = stream.next() {
        let end = start + stream.byte_offset();
        bytes.splice(start..end, value.iter().copied());
    }
}

/// A different value of equal type.
pub fn perturb(text: &str, kind: Kind) -> String {
    match kind {
        Kind::String => format!("{}q\"", &text[..text.len() - 1]),
        Kind::Number if text.trim_start_matches('-') == "0" => "7".to_owned(),
        Kind::Number => format!("{text}1"),
        Kind::Bool if text == "true" => "false".to_owned(),
        Kind::Bool => "true".to_owned(),
        Kind::Null => "\"q\"".to_owned(),
        Kind::Object => "{\"q\":0}".to_owned(),
        Kind::Array => "[0]".to_owned(),
    }
}
