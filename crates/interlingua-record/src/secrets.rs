//! Rules for secrets: credentials that are recognised by their own form.
//!
//! A rule is a fixed beginning and an alphabet, so that a match is almost certainly a credential: commit hashes, UUIDs
//! and signatures have no such beginning. The search is linear in the text. A text is searched as it is, after one and two
//! rounds of JSON unescaping, and inside base64, hexadecimal digits and percent signs.

use std::collections::HashSet;
use std::fmt;

use memchr::memmem::Finder;

/// The characters of a secret after its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretAlphabet {
    /// `0-9`, `a-f`, `A-F`.
    Hex,
    /// ASCII letters and digits.
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Base64Url,
    /// Letters, digits, `+`, `/`, `=`, `_`, `-` and `.`.
    Token,
}

impl SecretAlphabet {
    const fn has(self, byte: u8) -> bool {
        match self {
            SecretAlphabet::Hex => byte.is_ascii_hexdigit(),
            SecretAlphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
            SecretAlphabet::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            SecretAlphabet::Token => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.')
            }
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "hex" => SecretAlphabet::Hex,
            "alphanumeric" => SecretAlphabet::Alphanumeric,
            "base64url" => SecretAlphabet::Base64Url,
            "token" => SecretAlphabet::Token,
            _ => return None,
        })
    }
}

/// A rule for one class of secrets.
#[derive(Clone, Debug)]
struct SecretRule {
    class: String,
    finder: Finder<'static>,
    alphabet: SecretAlphabet,
    /// The smallest number of characters after the beginning.
    least: usize,
    form: SecretForm,
}

/// The form of a secret beyond its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretForm {
    /// Characters of the alphabet.
    Run,
    /// Three parts with dots between them, the second of which begins like the first: a JSON Web Token.
    WebToken,
    /// A PEM block whose label ends in `PRIVATE KEY`.
    PemKey,
    /// `user:password@` after `://`.
    UrlPassword,
    /// A value of forty characters after a name that AWS gives to secret keys.
    AwsSecret,
}

/// The built-in classes: class, beginning, alphabet, least number of further characters.
const BUILT_IN: &[(&str, &str, SecretAlphabet, usize)] = &[
    ("age-key", "AGE-SECRET-KEY-1", SecretAlphabet::Alphanumeric, 58),
    ("anthropic-key", "sk-ant-", SecretAlphabet::Base64Url, 20),
    ("aws-access-key", "AKIA", SecretAlphabet::Alphanumeric, 16),
    ("aws-access-key", "ASIA", SecretAlphabet::Alphanumeric, 16),
    ("azure-account-key", "AccountKey=", SecretAlphabet::Token, 80),
    ("basic-credentials", "Authorization: Basic ", SecretAlphabet::Token, 12),
    ("basic-credentials", "authorization: Basic ", SecretAlphabet::Token, 12),
    ("bearer-token", "Bearer ", SecretAlphabet::Token, 20),
    ("bearer-token", "bearer ", SecretAlphabet::Token, 32),
    ("databricks-token", "dapi", SecretAlphabet::Hex, 32),
    ("digitalocean-token", "doo_v1_", SecretAlphabet::Hex, 64),
    ("digitalocean-token", "dop_v1_", SecretAlphabet::Hex, 64),
    ("digitalocean-token", "dor_v1_", SecretAlphabet::Hex, 64),
    ("docker-token", "dckr_oat_", SecretAlphabet::Base64Url, 24),
    ("docker-token", "dckr_pat_", SecretAlphabet::Base64Url, 24),
    ("fly-token", "fo1_", SecretAlphabet::Base64Url, 40),
    ("github-token", "ghp_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "gho_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "ghu_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "ghs_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "ghr_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "github_pat_", SecretAlphabet::Base64Url, 50),
    ("gitlab-token", "glpat-", SecretAlphabet::Base64Url, 20),
    ("google-api-key", "AIza", SecretAlphabet::Base64Url, 35),
    ("google-oauth-secret", "GOCSPX-", SecretAlphabet::Base64Url, 24),
    ("google-oauth-token", "ya29.", SecretAlphabet::Base64Url, 60),
    ("groq-key", "gsk_", SecretAlphabet::Alphanumeric, 40),
    ("huggingface-token", "hf_", SecretAlphabet::Alphanumeric, 30),
    ("linear-key", "lin_api_", SecretAlphabet::Alphanumeric, 32),
    ("linear-key", "lin_oauth_", SecretAlphabet::Alphanumeric, 32),
    ("notion-token", "ntn_", SecretAlphabet::Alphanumeric, 40),
    ("npm-token", "npm_", SecretAlphabet::Alphanumeric, 36),
    ("openai-key", "sk-proj-", SecretAlphabet::Base64Url, 32),
    ("openai-key", "sk-svcacct-", SecretAlphabet::Base64Url, 32),
    ("openai-key", "sk-", SecretAlphabet::Alphanumeric, 40),
    ("openrouter-key", "sk-or-v1-", SecretAlphabet::Hex, 64),
    ("perplexity-key", "pplx-", SecretAlphabet::Alphanumeric, 40),
    ("planetscale-token", "pscale_pw_", SecretAlphabet::Base64Url, 32),
    ("planetscale-token", "pscale_tkn_", SecretAlphabet::Base64Url, 32),
    ("pypi-token", "pypi-", SecretAlphabet::Base64Url, 50),
    ("sendgrid-key", "SG.", SecretAlphabet::Token, 66),
    ("shopify-token", "shpat_", SecretAlphabet::Hex, 32),
    ("shopify-token", "shpca_", SecretAlphabet::Hex, 32),
    ("shopify-token", "shppa_", SecretAlphabet::Hex, 32),
    ("shopify-token", "shpss_", SecretAlphabet::Hex, 32),
    ("slack-hook", "https://hooks.slack.com/services/", SecretAlphabet::Token, 36),
    ("slack-token", "xapp-", SecretAlphabet::Base64Url, 40),
    ("slack-token", "xoxb-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxp-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxa-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxr-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxs-", SecretAlphabet::Base64Url, 20),
    ("square-token", "sq0atp-", SecretAlphabet::Base64Url, 22),
    ("square-token", "sq0csp-", SecretAlphabet::Base64Url, 43),
    ("stripe-key", "sk_live_", SecretAlphabet::Alphanumeric, 16),
    ("stripe-key", "rk_live_", SecretAlphabet::Alphanumeric, 16),
    ("supabase-token", "sbp_", SecretAlphabet::Hex, 40),
    ("vault-token", "hvb.", SecretAlphabet::Base64Url, 80),
    ("vault-token", "hvs.", SecretAlphabet::Base64Url, 80),
    ("xai-key", "xai-", SecretAlphabet::Alphanumeric, 60),
];

/// Rules for secrets.
#[derive(Clone, Debug)]
pub struct SecretRules(Vec<SecretRule>);

/// An invalid file of rules: the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRulesError(String);

impl fmt::Display for SecretRulesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for SecretRulesError {}

/// A secret in a text: its class, and the secret itself. Its `Debug` form does not show the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// The class of the rule.
    pub class: String,
    /// The bytes of the secret.
    pub secret: Vec<u8>,
}

impl fmt::Debug for FoundSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "FoundSecret({})", self.class)
    }
}

impl SecretRules {
    /// The built-in rules.
    pub fn built_in() -> Self {
        let rule = |class: &str, beginning: &str, alphabet, least, form| SecretRule {
            class: class.to_owned(),
            finder: Finder::new(beginning).into_owned(),
            alphabet,
            least,
            form,
        };
        let mut rules: Vec<SecretRule> = BUILT_IN
            .iter()
            .map(|(class, beginning, alphabet, least)| {
                rule(class, beginning, *alphabet, *least, SecretForm::Run)
            })
            .collect();
        rules.push(rule("json-web-token", "eyJ", SecretAlphabet::Base64Url, 10, SecretForm::WebToken));
        rules.push(rule("private-key", "-----BEGIN ", SecretAlphabet::Token, 0, SecretForm::PemKey));
        rules.push(rule("url-password", "://", SecretAlphabet::Token, 0, SecretForm::UrlPassword));
        for name in ["secret_access_key", "SECRET_ACCESS_KEY", "secretAccessKey", "SecretAccessKey"] {
            rules.push(rule("aws-secret-key", name, SecretAlphabet::Token, 40, SecretForm::AwsSecret));
        }
        Self(rules)
    }

    /// Adds the rules of a TOML file: tables `[[rule]]` with `class`, `beginning`, `characters` and `least`.
    pub fn add_toml(&mut self, text: &str) -> Result<(), SecretRulesError> {
        let refused = |what: String| SecretRulesError(what);
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| refused(error.message().to_owned()))?;
        if let Some(name) = table.keys().find(|name| *name != "rule") {
            return Err(refused(format!("`{name}` is unknown; rules are tables `[[rule]]`")));
        }
        let rules = table.get("rule").and_then(toml::Value::as_array);
        for (number, rule) in
            rules.ok_or_else(|| refused("there is no `[[rule]]`".to_owned()))?.iter().enumerate()
        {
            let rule = toml_rule(rule).map_err(|what| refused(format!("rule {}: {what}", number + 1)))?;
            self.0.push(rule);
        }
        Ok(())
    }

    /// The secrets in a text in any of its readings, each once.
    pub fn find(&self, text: &[u8]) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        each_reading(text, &mut |reading| {
            for rule in &self.0 {
                rule.find(reading, &mut |secret| {
                    let secret = without_escapes(secret);
                    if seen.insert((rule.class.as_str(), secret.clone())) {
                        found.push(FoundSecret { class: rule.class.clone(), secret });
                    }
                });
            }
        });
        found
    }
}

fn toml_rule(rule: &toml::Value) -> Result<SecretRule, String> {
    let table = rule.as_table().ok_or("it is not a table")?;
    if let Some(name) =
        table.keys().find(|name| !["class", "beginning", "characters", "least"].contains(&name.as_str()))
    {
        return Err(format!("`{name}` is unknown"));
    }
    let text = |name: &str| {
        let text = table.get(name).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("`{name}` must be a text"))
    };
    let least =
        table.get("least").and_then(toml::Value::as_integer).and_then(|least| usize::try_from(least).ok());
    let least = least.filter(|least| *least >= 8).ok_or("`least` must be a number from 8")?;
    let beginning = text("beginning")?;
    if beginning.len() < 3 {
        return Err("`beginning` must have at least three characters".to_owned());
    }
    let alphabet = SecretAlphabet::from_name(text("characters")?)
        .ok_or("`characters` must be `hex`, `alphanumeric`, `base64url` or `token`")?;
    Ok(SecretRule {
        class: text("class")?.to_owned(),
        finder: Finder::new(beginning).into_owned(),
        alphabet,
        least,
        form: SecretForm::Run,
    })
}

impl SecretRule {
    fn find(&self, text: &[u8], found: &mut dyn FnMut(&[u8])) {
        let beginning = self.finder.needle();
        for at in self.finder.find_iter(text) {
            // A beginning in the middle of a word is part of that word.
            let is_inside = at > 0
                && self.form != SecretForm::AwsSecret
                && beginning.first().is_some_and(u8::is_ascii_alphanumeric)
                && (text[at - 1].is_ascii_alphanumeric() || matches!(text[at - 1], b'_' | b'-'));
            let rest = &text[at + beginning.len()..];
            let length = match self.form {
                _ if is_inside => None,
                SecretForm::Run => Some(self.run(rest)).filter(|length| *length >= self.least),
                SecretForm::WebToken => self.web_token(rest),
                SecretForm::PemKey => pem_key(rest),
                SecretForm::UrlPassword => url_password(rest),
                SecretForm::AwsSecret => self.aws_secret(rest),
            };
            let Some(length) = length else { continue };
            let secret = &text[at..at + beginning.len() + length];
            found(match self.form {
                SecretForm::AwsSecret => &secret[secret.len() - self.least..],
                // The name before a secret is no part of it: copies of the secret may have another name.
                SecretForm::Run if beginning.ends_with(b" ") || beginning.ends_with(b"=") => {
                    &secret[beginning.len()..]
                }
                _ => secret,
            });
        }
    }

    fn run(&self, text: &[u8]) -> usize {
        text.iter().take_while(|byte| self.alphabet.has(**byte)).count()
    }

    /// The value after the name: quotes, white space, and a colon or an equals sign may be between them.
    fn aws_secret(&self, rest: &[u8]) -> Option<usize> {
        let is_between = |byte: &u8| matches!(byte, b'"' | b'\'' | b' ' | b'=' | b':' | b'>' | b'\t');
        let between = rest.iter().take(8).take_while(|byte| is_between(byte)).count();
        let length = self.run(&rest[between..]);
        (between > 0 && length == self.least).then_some(between + length)
    }

    fn web_token(&self, rest: &[u8]) -> Option<usize> {
        let first = self.run(rest);
        let second = rest.get(first..)?.strip_prefix(b".eyJ")?;
        let second_length = self.run(second);
        let third = second.get(second_length..)?.strip_prefix(b".")?;
        let third_length = self.run(third);
        let is_token = first >= self.least && second_length >= self.least && third_length >= self.least;
        is_token.then_some(first + 4 + second_length + 1 + third_length)
    }
}

/// A key in PEM up to its end; a key without an end, or with a long body, counts by its label.
fn pem_key(rest: &[u8]) -> Option<usize> {
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
    Some(head + memchr::memmem::find(body, b"-----END ").unwrap_or_default())
}

fn url_password(rest: &[u8]) -> Option<usize> {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%' | b'~' | b'!' | b'+' | b'=')
    };
    let user = rest.iter().take(64).take_while(|byte| is_part(byte)).count();
    let after = rest.get(user..)?.strip_prefix(b":")?;
    let password = after.iter().take(256).take_while(|byte| is_part(byte)).count();
    // Eight characters: a port number is not a password, and neither is `user:pass@`.
    let is_password = user > 0 && password >= 8 && after.get(password) == Some(&b'@');
    is_password.then_some(user + 1 + password)
}

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
fn without_escapes(secret: &[u8]) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Vec<String> {
        SecretRules::built_in().find(text.as_bytes()).into_iter().map(|found| found.class).collect()
    }

    /// A text that no scanner of this repository takes for a real credential.
    fn token(beginning: &str, length: usize) -> String {
        format!("{beginning}{}", "a1B2".repeat(length / 4 + 1))
    }

    #[test]
    fn each_class_is_found_in_each_reading() {
        let cases = [
            ("anthropic-key", token("sk-ant-", 90)),
            ("aws-access-key", "AKIA".to_owned() + &"ABCD".repeat(4)),
            ("github-token", token("ghp_", 36)),
            ("google-api-key", token("AIza", 35)),
            ("openai-key", token("sk-proj-", 60)),
            ("slack-token", token("xoxb-", 24)),
            ("json-web-token", format!("{}.{}.{}", token("eyJ", 20), token("eyJ", 20), token("s", 20))),
            ("private-key", format!("-----BEGIN {}-----", "OPENSSH PRIVATE KEY")),
            (
                "private-key",
                format!(
                    "-----BEGIN {0} BLOCK-----\n{1}\n-----END {0} BLOCK-----",
                    "PGP PRIVATE KEY",
                    token("", 80)
                ),
            ),
            ("aws-secret-key", format!("AWS_SECRET_ACCESS_KEY=\"{}\"", "a1B2/".repeat(8))),
            ("azure-account-key", format!("AccountKey={}==", "a1B2".repeat(21))),
            (
                "slack-hook",
                format!("https://hooks.slack.com/services/{}", "T1B2C3D4/B1B2C3D4/a1b2c3d4e5f6g7h8i9j0"),
            ),
            ("vault-token", token("hvs.", 90)),
            ("digitalocean-token", "dop_v1_".to_owned() + &"0a1b".repeat(16)),
            ("url-password", "https://user:long-secret@host/".to_owned()),
        ];
        for (class, secret) in cases {
            assert_eq!(classes(&format!("x = {secret};")), [class]);
            let escaped: Vec<String> = secret.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
            let escaped = escaped.concat();
            assert_eq!(classes(&escaped), [class], "escaped");
            let twice = escaped.replace('\\', "\\\\");
            assert_eq!(classes(&twice), [class], "escaped twice");
            let base64 = interlingua::json::base64(format!("key: {secret} .").as_bytes());
            assert_eq!(classes(&format!("\"{base64}\"")), [class], "base64");
            assert_eq!(classes(&format!("x/{base64}")), [class], "base64 at another offset");
            // Without padding and with the secret at the end, so that each digit counts.
            for before in ["", "k", "ke"] {
                let base64 = interlingua::json::base64(format!("{before} {secret}").as_bytes());
                let bare = base64.trim_end_matches('=');
                assert_eq!(classes(bare), [class], "base64 without padding");
                let twice = interlingua::json::base64(base64.as_bytes());
                assert_eq!(classes(&twice), [class], "base64 twice");
            }
            let wide: Vec<u8> = secret.bytes().flat_map(|byte| [byte, 0]).collect();
            assert_eq!(classes(&interlingua::json::base64(&wide)), [class], "base64 of UTF-16");
            let hex = |mark: &str| -> String {
                let digits: Vec<String> = secret.bytes().map(|byte| format!("{mark}{byte:02x}")).collect();
                digits.concat()
            };
            assert_eq!(classes(&format!("0x{}", hex(""))), [class], "hexadecimal digits");
            assert_eq!(classes(&hex("").to_uppercase()), [class], "upper case");
            assert_eq!(classes(&hex("%")), [class], "percent signs");
        }
    }

    /// A name before a secret is no part of it: a search for copies must find the secret under another name.
    #[test]
    fn a_found_secret_is_the_secret_without_its_name() {
        let secret = "a1B2c3D4".repeat(5);
        for text in [
            format!("Bearer {secret}"),
            format!("secretAccessKey: '{secret}'"),
            format!("Authorization: Basic {secret}"),
        ] {
            let found = SecretRules::built_in().find(text.as_bytes());
            assert_eq!(
                found.iter().map(|found| found.secret.as_slice()).collect::<Vec<_>>(),
                [secret.as_bytes()]
            );
        }
        let key = format!("-----BEGIN {0}-----\nline one of the key\n-----END {0}-----", "PRIVATE KEY");
        let found = SecretRules::built_in().find(key.replace('\n', "\\n").as_bytes());
        assert_eq!(found.len(), 1);
        assert!(found[0].secret.ends_with(b"-----\nline one of the key\n"));
    }

    #[test]
    fn hashes_ids_and_signatures_are_not_secrets() {
        for text in [
            "8de8821d78ac0f018e14804dece7dc00be70c05f",
            "c0b3488f-eacf-4d03-abc4-4c10112d1f6b",
            "toolu_01A09q90qw90lq917835lq9 msg_018Qkk3qVMjYQZCiDtWLrGyS",
            "EqoBCkgIARABGAIiQL2UoU0b1OHYi9JhhVYq8Lf3Rp2o8nLZCkYVnC0pVvBzX0aJdK1h",
            "risk-aversion-is-a-long-word-with-sk-in-it-and-more-words-after-that-too",
            "http://localhost:8080/a:b@c",
            "-----BEGIN PUBLIC KEY-----",
            "Bearer token",
            "aws_secret_access_key = the key of your account, which the console shows only once",
            "bearer of-the-ring-and-its-long-tale",
        ] {
            assert_eq!(classes(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn rules_of_users_are_added_and_invalid_rules_are_refused() {
        let mut rules = SecretRules::built_in();
        let rule = "[[rule]]\nclass = \"acme\"\nbeginning = \"acme_\"\ncharacters = \"hex\"\nleast = 8\n";
        rules.add_toml(rule).unwrap();
        assert_eq!(rules.find(b"acme_0123456789")[0].class, "acme");
        assert!(rules.find(b"acme_012345zz").is_empty());
        for (text, reason) in [
            ("", "no `[[rule]]`"),
            ("x = 1", "`x` is unknown"),
            ("[[rule]]\nclass = \"a\"", "rule 1: `least`"),
            (&rule.replace("hex", "greek"), "`characters` must be"),
            (&rule.replace("acme_", "a"), "at least three"),
            (&rule.replace("class", "klass"), "`klass` is unknown"),
        ] {
            let error = rules.add_toml(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
