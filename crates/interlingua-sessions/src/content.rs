//! The apparent content of input that no dialect recognises. The hint for a picture differs from the hint for a log in
//! UTF-16.

/// The apparent content of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentForm {
    /// Text in UTF-8.
    Text,
    /// Text in an encoding other than UTF-8: the name of the encoding.
    Wide(&'static str),
    /// An unsupported compression or archive format: the name of the format and the command to unpack it.
    Packed(&'static str, &'static str),
    /// Other bytes.
    Binary,
}

impl ContentForm {
    /// Classifies an input by its first bytes.
    pub fn of(head: &[u8]) -> Self {
        let broken = |error: std::str::Utf8Error| error.error_len().is_some();
        let packed =
            PACKED.iter().find(|(at, magic, ..)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
        if let Some((_, _, how, tool)) = packed {
            ContentForm::Packed(how, tool)
        } else if let Some(encoding) = wide(head) {
            ContentForm::Wide(encoding)
        } else if head.contains(&0) || std::str::from_utf8(head).is_err_and(broken) {
            ContentForm::Binary
        } else {
            ContentForm::Text
        }
    }
}

/// Offset of the magic bytes, the magic bytes, the name of the format and the command that unpacks it.
const PACKED: &[(usize, &[u8], &str, &str)] = &[
    (0, b"BZh", "bzip2", "bunzip2"),
    (0, b"\xfd7zXZ\0", "xz", "unxz"),
    (0, b"PK\x03\x04", "zip", "unzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
    (0, b"\x04\x22\x4d\x18", "lz4", "unlz4"),
    (257, b"ustar", "tar", "tar -x"),
];

/// The encoding of text that is not UTF-8, found by its byte order mark or by zero bytes at regular positions.
fn wide(head: &[u8]) -> Option<&'static str> {
    // The byte order mark of UTF-16 is a prefix of the mark of UTF-32, so UTF-32 is tried first.
    let marks: [(&[u8], &str); 4] = [
        (b"\xff\xfe\0\0", "UTF-32"),
        (b"\0\0\xfe\xff", "UTF-32"),
        (b"\xff\xfe", "UTF-16"),
        (b"\xfe\xff", "UTF-16"),
    ];
    if let Some((_, encoding)) = marks.iter().find(|(mark, _)| head.starts_with(mark)) {
        return Some(encoding);
    }
    // Most characters of JSON and of program text are ASCII: in UTF-16 and UTF-32 each has a single non-zero byte.
    let sample = head.get(..SAMPLE).unwrap_or(head);
    let letter = |byte: &u8| (b' '..0x7f).contains(byte) || b"\t\r\n".contains(byte);
    let is_made_of = |width: usize, place: usize| {
        let units = sample.chunks_exact(width);
        let is_plain = |unit: &[u8]| {
            unit.iter().enumerate().all(|(at, byte)| if at == place { letter(byte) } else { *byte == 0 })
        };
        let (all, plain) = (units.len(), units.filter(|unit| is_plain(unit)).count());
        all > 1 && plain * 2 > all
    };
    let forms = [(4, 0, "UTF-32LE"), (4, 3, "UTF-32BE"), (2, 0, "UTF-16LE"), (2, 1, "UTF-16BE")];
    forms.into_iter().find(|(width, place, _)| is_made_of(*width, *place)).map(|(_, _, encoding)| encoding)
}

/// How many bytes are sampled.
const SAMPLE: usize = 256;
