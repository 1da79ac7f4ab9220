//! The readings of a text in which secrets are sought: without escapes, and the content of encodings.

/// Calls back with each reading of a text: as it is, unescaped once and twice, and the content of base64, hexadecimal digits
/// and percent signs in them. Base64 is decoded twice.
pub(crate) fn each_reading(text: &[u8], read: &mut dyn FnMut(&[u8])) {
    let mut reading = text.to_vec();
    for _ in 0..3 {
        read(&reading);
        each_decoding(&reading, 2, read);
        if memchr::memchr(b'\\', &reading).is_none() {
            return;
        }
        reading = unescape(&reading);
    }
}

/// Calls back with the decoded content of a text, and with that of this content, to a depth.
fn each_decoding(text: &[u8], depth: u32, read: &mut dyn FnMut(&[u8])) {
    let mut decoded = |bytes: &[u8]| {
        read(bytes);
        // UTF-16 of ASCII characters.
        if memchr::memchr_iter(0, bytes).count() * 3 > bytes.len() {
            read(&bytes.iter().copied().filter(|byte| *byte != 0).collect::<Vec<_>>());
        }
        if depth > 1 && is_mostly_text(bytes) {
            each_decoding(bytes, depth - 1, read);
        }
    };
    each_base64(text, &mut decoded);
    each_hex(text, &mut decoded);
    if let Some(bytes) = without_percent(text) {
        decoded(&bytes);
    }
}

/// Whether three quarters of the first bytes are ASCII text. Pictures and runs at a wrong offset hold no further encoding.
fn is_mostly_text(bytes: &[u8]) -> bool {
    let beginning = bytes.get(..4096).unwrap_or(bytes);
    let text = beginning.iter().filter(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')).count();
    text * 4 >= beginning.len() * 3
}

/// The shortest run of base64 or of hexadecimal digits that is decoded.
const SHORTEST_RUN: usize = 24;

/// Calls back with the bytes of each long run of base64. The run may begin in the middle of a word, so each of the four
/// offsets is decoded.
fn each_base64(text: &[u8], read: &mut dyn FnMut(&[u8])) {
    let mut bytes = Vec::new();
    each_run(text, |byte| BASE64[usize::from(byte)] < 64, &mut |run| {
        for offset in 0..4 {
            bytes.clear();
            for digits in run[offset..].chunks(4) {
                let word =
                    digits.iter().fold(0, |word, digit| word << 6 | u32::from(BASE64[usize::from(*digit)]));
                let word = word << (6 * (4 - digits.len()));
                // The last digits of a run may have no padding.
                bytes.extend_from_slice(&word.to_be_bytes()[1..digits.len().max(1)]);
            }
            read(&bytes);
        }
    });
}

/// Calls back with the bytes of each long run of hexadecimal digits, from its first and from its second digit.
fn each_hex(text: &[u8], read: &mut dyn FnMut(&[u8])) {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default() as u8;
    let mut bytes = Vec::new();
    each_run(text, |byte| byte.is_ascii_hexdigit(), &mut |run| {
        for offset in 0..2 {
            bytes.clear();
            bytes.extend(
                run[offset..].as_chunks::<2>().0.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)),
            );
            read(&bytes);
        }
    });
}

/// Calls back with each long run of such bytes.
fn each_run(text: &[u8], is_in: impl Fn(u8) -> bool, found: &mut dyn FnMut(&[u8])) {
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| is_in(**byte)).count();
        if length >= SHORTEST_RUN {
            found(&text[at..at + length]);
        }
        at += length + 1;
    }
}

/// The text with bytes in place of `%41` and the like, or `None` if there are none.
fn without_percent(text: &[u8]) -> Option<Vec<u8>> {
    let first = memchr::memchr(b'%', text)?;
    let mut out = text[..first].to_vec();
    let mut rest = &text[first..];
    let mut has_any = false;
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    while let Some((byte, after)) = rest.split_first() {
        let pair = (*byte == b'%').then(|| Some((digit(after.first()?)?, digit(after.get(1)?)?))).flatten();
        if let Some((high, low)) = pair {
            has_any = true;
            out.push(high << 4 | low);
            rest = &after[2..];
        } else {
            out.push(*byte);
            rest = after;
        }
    }
    has_any.then_some(out)
}

/// The value of each digit of base64 and base64url; 64 for other bytes.
const BASE64: [u8; 256] = {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [64; 256];
    let mut at = 0;
    while at < digits.len() {
        values[digits[at] as usize] = at as u8;
        at += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};

/// A secret in its last reading, so that the readings of one secret are equal.
pub(super) fn without_escapes(secret: &[u8]) -> Vec<u8> {
    let mut secret = secret.to_vec();
    for _ in 0..2 {
        if memchr::memchr(b'\\', &secret).is_some() {
            secret = unescape(&secret);
        }
    }
    secret
}

/// Replaces JSON escape sequences. Other text is kept.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let Some(&escape) = rest.get(at + 1) else {
            rest = &rest[at..];
            break;
        };
        let mut length = 2;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'"' | b'\\' | b'/' => out.push(escape),
            b'u' => {
                let digits = rest.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
                match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32)
                {
                    Some(character) => {
                        length = 6;
                        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    // Half of a surrogate pair: no rule has such a character.
                    None => out.extend_from_slice(b"\\u"),
                }
            }
            other => out.extend_from_slice(&[b'\\', other]),
        }
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    out
}
