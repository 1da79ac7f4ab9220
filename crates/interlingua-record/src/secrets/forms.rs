//! The forms of secrets that are more than a beginning and a run of characters.
//!
//! Each function gets a text and the place of the fixed part that was found, and returns the place of the secret. A form is
//! narrow: a text that only looks like a secret (a placeholder, a variable, an id) is worse than a missed secret, because
//! redaction removes the whole part around it.

use std::ops::Range;

/// A key in PEM up to its end. A key without an end goes on as long as its lines are base64; without such lines, the key counts
/// by its label.
pub(super) fn pem_key(rest: &[u8]) -> Option<usize> {
    const LONGEST: usize = 16 << 10;
    let label = rest.get(..48).unwrap_or(rest);
    let end = memchr::memmem::find(label, b"PRIVATE KEY")?;
    let after = rest.get(end + 11..)?;
    let after = after.strip_prefix(b" BLOCK").unwrap_or(after).strip_prefix(b"-----")?;
    if !label[..end].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b' ') {
        return None;
    }
    let head = rest.len() - after.len();
    let body = after.get(..LONGEST).unwrap_or(after);
    let length = memchr::memmem::find(body, b"-----END ").unwrap_or_else(|| pem_lines(body));
    Some(head + length)
}

/// The length of the lines of a key without its end. Line breaks may be escaped.
fn pem_lines(body: &[u8]) -> usize {
    /// A shorter line may be a word of the text after a label. The last line of a key may be missed for it.
    const LEAST_LINE: usize = 16;
    const HEADERS: [&[u8]; 4] = [b"Proc-Type: ", b"DEK-Info: ", b"Comment: ", b"Version: "];
    let (mut at, mut end) = (0, 0);
    loop {
        at += breaks(&body[at..]);
        let rest = &body[at..];
        if HEADERS.iter().any(|name| rest.starts_with(name)) {
            at += run(rest, rest.len(), |byte| !matches!(byte, b'\n' | b'\r' | b'\\'));
            continue;
        }
        let line = run(rest, rest.len(), is_base64);
        if line < LEAST_LINE {
            return end;
        }
        at += line;
        end = at;
        if breaks(&body[at..]) == 0 {
            return end;
        }
    }
}

/// The length of the white space at the beginning, in which line breaks may be escaped.
fn breaks(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let spaces = run(&text[at..], text.len(), |byte| byte.is_ascii_whitespace());
        let backslashes = run(&text[at + spaces..], 8, |byte| byte == b'\\');
        let is_break = matches!(text.get(at + spaces + backslashes), Some(b'n' | b'r' | b't'));
        if backslashes == 0 || !is_break {
            return at + spaces;
        }
        at += spaces + backslashes + 1;
    }
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

const fn is_base64_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A part of a name or of a number: a secret does not begin or end in the middle of one.
const fn is_word(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-'))
}

/// The number of such bytes at the beginning.
fn run(bytes: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(most).take_while(|byte| is(**byte)).count()
}

/// The number of such bytes at the end.
fn run_back(bytes: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().rev().take(most).take_while(|byte| is(**byte)).count()
}

/// `user:password@` after `://`.
pub(super) fn url_password(rest: &[u8]) -> Option<usize> {
    let is_part = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%' | b'~' | b'!' | b'+' | b'=')
    };
    let user = run(rest, 64, is_part);
    let after = rest.get(user..)?.strip_prefix(b":")?;
    let password = run(after, 256, is_part);
    // Eight characters: a port number is not a password, and neither is `user:pass@`.
    let is_password = user > 0 && password >= 8 && after.get(password) == Some(&b'@');
    is_password.then_some(user + 1 + password)
}

/// A key or account of Twilio: exactly 32 lower-case hexadecimal digits after `SK` or `AC`.
pub(super) fn twilio(rest: &[u8]) -> Option<usize> {
    let digits = run(rest, 33, |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let digest = rest.get(..32)?;
    let is_random = digest.iter().any(u8::is_ascii_digit) && is_varied(digest, 8);
    (digits == 32 && is_random && !is_word(rest.get(32))).then_some(32)
}

/// The token of a Telegram bot: eight to ten digits, a colon (at this place), and 35 characters that begin with `AA`.
pub(super) fn telegram(text: &[u8], colon: usize) -> Option<Range<usize>> {
    let number = run_back(&text[..colon], 11, |byte| byte.is_ascii_digit());
    let start = colon - number;
    // The path of a call is `/bot123456789:AA…`.
    let before = text[..start].strip_suffix(b"bot").unwrap_or(&text[..start]);
    let rest = &text[colon + 1..];
    let is_token = (8..=10).contains(&number)
        && !is_word(before.last())
        && run(rest, 36, is_base64_url) == 35
        && is_varied(&rest[..35], 12);
    is_token.then_some(start..colon + 36)
}

/// The token of a Discord bot: its number in base64, a dot (at this place), six characters, a dot, and 27 to 38 characters.
pub(super) fn discord(text: &[u8], dot: usize) -> Option<Range<usize>> {
    if text.get(dot + 7) != Some(&b'.') || run(&text[dot + 1..], 7, is_base64_url) != 6 {
        return None;
    }
    let first = run_back(&text[..dot], 29, |byte| byte.is_ascii_alphanumeric());
    let last = run(&text[dot + 8..], 39, is_base64_url);
    let start = dot - first;
    let is_token = (23..=28).contains(&first)
        && (27..=38).contains(&last)
        && !is_word(start.checked_sub(1).and_then(|before| text.get(before)))
        && is_base64_of_digits(&text[start..dot]);
    is_token.then_some(start..dot + 8 + last)
}

/// Whether base64 stands for decimal digits: `[MNO][D-j][E-z][w-5]` and so on, by its four digits each.
fn is_base64_of_digits(text: &[u8]) -> bool {
    let digit = |byte: u8| {
        Some(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            _ => return None,
        })
    };
    let bits = text.iter().try_fold((0u32, 0u32, true), |(bits, count, is_number), byte| {
        let (bits, count) = (bits << 6 | u32::from(digit(*byte)?), count + 6);
        if count < 8 {
            return Some((bits, count, is_number));
        }
        let character = (bits >> (count - 8)) as u8;
        Some((bits & ((1 << (count - 8)) - 1), count - 8, is_number && character.is_ascii_digit()))
    });
    bits.is_some_and(|(_, _, is_number)| is_number)
}

/// A webhook of Discord after `/api/webhooks/`: a number, a slash, and 60 to 80 characters.
pub(super) fn discord_hook(rest: &[u8]) -> Option<usize> {
    let number = run(rest, 21, |byte| byte.is_ascii_digit());
    let token = rest.get(number..)?.strip_prefix(b"/")?;
    let length = run(token, 81, is_base64_url);
    let is_hook = (17..=20).contains(&number) && (60..=80).contains(&length) && is_varied(token, 12);
    is_hook.then_some(number + 1 + length)
}

/// A key of Cloudflare's origin authority after `v1.0-`: 24 and 146 hexadecimal digits.
pub(super) fn cloudflare_origin(rest: &[u8]) -> Option<usize> {
    let is_hex = |byte: u8| byte.is_ascii_hexdigit();
    let second = rest.get(24..)?.strip_prefix(b"-")?;
    (run(rest, 25, is_hex) == 24 && run(second, 147, is_hex) == 146).then_some(24 + 1 + 146)
}

/// The kind of a value that is assigned to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assigned {
    /// A key or token: long and random.
    Key,
    /// A key or token of Cloudflare: 37 to 64 characters.
    Cloudflare,
    /// A password: eight characters with letters and digits.
    Password,
}

/// The value after a name in capital letters that ends at `end`, as in an environment file, a shell, YAML or JSON.
pub(super) fn assigned(text: &[u8], range: Range<usize>, kind: Assigned) -> Option<Range<usize>> {
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let before = run_back(&text[..range.start], 64, is_name);
    let name = text.get(range.start - before..range.end)?;
    let is_alone = !is_word(text[..range.start - before].last()) && !is_word(text.get(range.end));
    let first = name.first().is_some_and(u8::is_ascii_uppercase);
    let is_cloudflare =
        [b"CLOUDFLARE_".as_slice(), b"CF_"].iter().any(|beginning| name.starts_with(beginning));
    if before < 2
        || !first
        || !is_alone
        || (kind == Assigned::Cloudflare) != (is_cloudflare && kind != Assigned::Password)
    {
        return None;
    }
    let rest = &text[range.end..];
    // A quote may end the name, and another one may begin the value.
    let name_quote = usize::from(matches!(rest.first(), Some(b'"' | b'\'')));
    let mut at = name_quote + run(&rest[name_quote..], 2, |byte| byte == b' ');
    let separator = *rest.get(at).filter(|byte| matches!(byte, b'=' | b':'))?;
    at += 1;
    let spaces = run(&rest[at..], 3, |byte| byte == b' ');
    at += spaces;
    let quote = rest.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    at += usize::from(quote.is_some());
    // After `NAME = `, a value without quotes is code; after `NAME: `, it is YAML.
    if quote.is_none() && (separator == b'=' && spaces > 0 || name_quote > 0) {
        return None;
    }
    let is_value = |byte: u8| match kind {
        Assigned::Password => {
            byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b';' | b',' | b'&')
        }
        Assigned::Key | Assigned::Cloudflare => is_base64_url(byte) || is_base64(byte) || byte == b'.',
    };
    let length = run(&rest[at..], 257, is_value);
    let value = rest.get(at..at + length)?;
    let is_ended = match (rest.get(at + length), quote) {
        (found, Some(quote)) => found == Some(&quote),
        (found, None) => found.is_none_or(|byte| {
            byte.is_ascii_whitespace() || matches!(byte, b';' | b',' | b'&' | b'"' | b'\'' | b'`' | b'\\')
        }),
    };
    let is_secret = match kind {
        Assigned::Key => (20..=256).contains(&length) && is_random(value),
        Assigned::Cloudflare => (37..=64).contains(&length) && is_random(value),
        Assigned::Password => (8..=128).contains(&length) && is_password(value),
    };
    let start = range.end + at;
    (is_ended && is_secret && !is_placeholder(value)).then_some(start..start + length)
}

/// Whether a value holds at least so many different characters.
fn is_varied(value: &[u8], least: usize) -> bool {
    let mut seen = [false; 256];
    for byte in value {
        seen[usize::from(*byte)] = true;
    }
    seen.iter().filter(|seen| **seen).count() >= least
}

/// Whether a value has letters, digits among them, and the variety of random characters. Names, words, paths and UUIDs have not.
fn is_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_path = value.first() == Some(&b'/') || value.starts_with(b".");
    digits >= 3
        && letters >= 6
        && is_varied(value, 12)
        && changes(value) * 5 >= value.len()
        && !is_uuid(value)
        && !is_path
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// How often a letter of one case, a letter of the other case and a digit follow each other: often in random characters,
/// seldom in words.
fn changes(value: &[u8]) -> usize {
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let is_change =
        |pair: &&[u8]| class(pair[0]) != class(pair[1]) && class(pair[0]) < 3 && class(pair[1]) < 3;
    value.windows(2).filter(is_change).count()
}

/// Whether a value is more than a word, and no expression of a language.
fn is_password(value: &[u8]) -> bool {
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let has_letter = value.iter().any(u8::is_ascii_alphabetic);
    let is_expression = value.iter().any(|byte| {
        matches!(byte, b'$' | b'{' | b'}' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'|' | b'*')
    }) || matches!(value.first(), Some(b'/' | b'.' | b'%' | b'~' | b'-'))
        || value.windows(3).any(|three| three == b"://");
    has_digit && has_letter && !is_expression && !is_uuid(value) && is_varied(value, 7) && changes(value) >= 2
}

/// Whether a value is a placeholder, a reference to a variable, or a password that documents use as an example.
fn is_placeholder(value: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"your",
        b"test",
        b"fake",
        b"mock",
        b"dummy",
        b"example",
        b"sample",
        b"change",
        b"placeholder",
        b"redacted",
        b"secret",
        b"passw",
        b"pass1",
        b"token",
        b"api-key",
        b"api_key",
        b"apikey",
        b"insert",
        b"replace",
        b"xxxx",
        b"0123",
        b"1234",
        b"abcd",
        b"abc1",
        b"qwerty",
        b"admin",
        b"postgres",
        b"mysql",
        b"guest",
        b"demo",
        b"local",
        b"env.",
        b"environ",
        b"process",
        b"config",
        b"setting",
        b"hunter2",
        b"default",
        b"some",
        b"my-",
        b"my_",
        b"none",
        b"null",
        b"here",
        b"...",
        b"a1b2c3",
        b"letmein",
        b"foobar",
    ];
    let lower = value.to_ascii_lowercase();
    WORDS.iter().any(|word| memchr::memmem::find(&lower, word).is_some())
}
