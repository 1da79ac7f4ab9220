//! Rules for secrets: credentials that are recognised by their own form.
//!
//! A rule is a fixed beginning and an alphabet, so that a match is almost certainly a credential: commit hashes, UUIDs
//! and signatures have no such beginning. The search is linear in the text. A text is searched as it is, after one and two
//! rounds of JSON unescaping, and inside base64.

use std::collections::HashSet;
use std::fmt;

use interlingua::json::from_base64;
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
}

/// The built-in classes: class, beginning, alphabet, least number of further characters.
const BUILT_IN: &[(&str, &str, SecretAlphabet, usize)] = &[
    ("anthropic-key", "sk-ant-", SecretAlphabet::Base64Url, 20),
    ("aws-access-key", "AKIA", SecretAlphabet::Alphanumeric, 16),
    ("aws-access-key", "ASIA", SecretAlphabet::Alphanumeric, 16),
    ("bearer-token", "Bearer ", SecretAlphabet::Token, 20),
    ("github-token", "ghp_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "gho_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "ghu_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "ghs_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "ghr_", SecretAlphabet::Alphanumeric, 36),
    ("github-token", "github_pat_", SecretAlphabet::Base64Url, 50),
    ("gitlab-token", "glpat-", SecretAlphabet::Base64Url, 20),
    ("google-api-key", "AIza", SecretAlphabet::Base64Url, 35),
    ("huggingface-token", "hf_", SecretAlphabet::Alphanumeric, 30),
    ("npm-token", "npm_", SecretAlphabet::Alphanumeric, 36),
    ("openai-key", "sk-proj-", SecretAlphabet::Base64Url, 32),
    ("openai-key", "sk-svcacct-", SecretAlphabet::Base64Url, 32),
    ("openai-key", "sk-", SecretAlphabet::Alphanumeric, 40),
    ("pypi-token", "pypi-", SecretAlphabet::Base64Url, 50),
    ("slack-token", "xoxb-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxp-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxa-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxr-", SecretAlphabet::Base64Url, 20),
    ("slack-token", "xoxs-", SecretAlphabet::Base64Url, 20),
    ("stripe-key", "sk_live_", SecretAlphabet::Alphanumeric, 16),
    ("stripe-key", "rk_live_", SecretAlphabet::Alphanumeric, 16),
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
                    if seen.insert((rule.class.as_str(), secret.to_vec())) {
                        found.push(FoundSecret { class: rule.class.clone(), secret: secret.to_vec() });
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
                && beginning.first().is_some_and(u8::is_ascii_alphanumeric)
                && (text[at - 1].is_ascii_alphanumeric() || matches!(text[at - 1], b'_' | b'-'));
            let rest = &text[at + beginning.len()..];
            let length = match self.form {
                _ if is_inside => None,
                SecretForm::Run => Some(self.run(rest)).filter(|length| *length >= self.least),
                SecretForm::WebToken => self.web_token(rest),
                SecretForm::PemKey => pem_key(rest),
                SecretForm::UrlPassword => url_password(rest),
            };
            if let Some(length) = length {
                found(&text[at..at + beginning.len() + length]);
            }
        }
    }

    fn run(&self, text: &[u8]) -> usize {
        text.iter().take_while(|byte| self.alphabet.has(**byte)).count()
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

fn pem_key(rest: &[u8]) -> Option<usize> {
    let label = rest.get(..40).unwrap_or(rest);
    let end = memchr::memmem::find(label, b"PRIVATE KEY-----")?;
    label[..end].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b' ').then_some(end + 16)
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

/// Calls back with each reading of a text: as it is, unescaped once and twice, and the content of base64 in them.
pub(crate) fn each_reading(text: &[u8], read: &mut dyn FnMut(&[u8])) {
    let mut reading = text.to_vec();
    for _ in 0..3 {
        read(&reading);
        each_base64(&reading, read);
        if memchr::memchr(b'\\', &reading).is_none() {
            return;
        }
        reading = unescape(&reading);
    }
}

/// Calls back with the bytes of each run of base64 of at least 24 characters.
fn each_base64(text: &[u8], read: &mut dyn FnMut(&[u8])) {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| is_base64(**byte)).count();
        if length >= 24 {
            let run: Vec<u8> = text[at..at + length - length % 4]
                .iter()
                .map(|byte| match byte {
                    b'-' => b'+',
                    b'_' => b'/',
                    byte => *byte,
                })
                .collect();
            if let Some(bytes) = std::str::from_utf8(&run).ok().and_then(from_base64) {
                read(&bytes);
            }
        }
        at += length + 1;
    }
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
        }
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
