//! Rules for secrets: credentials that are recognised by their own form.
//!
//! A rule is a fixed beginning and an alphabet, so that a match is almost certainly a credential: commit hashes, UUIDs
//! and signatures have no such beginning. A few secrets have another form, or are known by the name before them (`forms`). The search is linear in the text. A text is searched as it is, after one and two
//! rounds of JSON unescaping, and inside base64, hexadecimal digits and percent signs.

mod forms;
mod readings;

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use memchr::memmem::Finder;

use forms::Assigned;
pub(crate) use readings::each_reading;
use readings::without_escapes;

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
    /// 32 hexadecimal digits.
    Twilio,
    /// The token of a Telegram bot, around its colon.
    Telegram,
    /// The token of a Discord bot, around its first dot.
    Discord,
    /// A number and a token.
    DiscordHook,
    /// Two runs of hexadecimal digits.
    CloudflareOrigin,
    /// The value after a name in capital letters that ends in the beginning.
    Assigned(Assigned),
}

impl SecretForm {
    /// Whether the fixed part is the beginning of a word.
    const fn is_word(self) -> bool {
        !matches!(self, SecretForm::AwsSecret | SecretForm::Assigned(_))
    }
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

/// The ends of names of keys.
const KEY_NAMES: &[&str] = &["_API_KEY", "_APIKEY", "_SECRET", "_SECRET_KEY", "_PRIVATE_KEY", "_TOKEN"];

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
        for (class, beginning, form) in [
            ("twilio-key", "SK", SecretForm::Twilio),
            ("twilio-account", "AC", SecretForm::Twilio),
            ("telegram-token", ":AA", SecretForm::Telegram),
            ("discord-token", ".", SecretForm::Discord),
            ("discord-hook", "discord.com/api/webhooks/", SecretForm::DiscordHook),
            ("discord-hook", "discordapp.com/api/webhooks/", SecretForm::DiscordHook),
            ("cloudflare-token", "v1.0-", SecretForm::CloudflareOrigin),
        ] {
            rules.push(rule(class, beginning, SecretAlphabet::Token, 0, form));
        }
        let mut assigned = |class, endings: &[&str], kind| {
            for ending in endings {
                rules.push(rule(class, ending, SecretAlphabet::Token, 0, SecretForm::Assigned(kind)));
            }
        };
        // The last rules, so that a secret with a form of its own is counted as such.
        assigned("cloudflare-token", &["_API_TOKEN", "_API_KEY", "_TOKEN"], Assigned::Cloudflare);
        assigned("assigned-key", KEY_NAMES, Assigned::Key);
        assigned("assigned-password", &["PASSWORD", "PASSWD"], Assigned::Password);
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
                    // The name says less than the form of the value.
                    let is_known =
                        |known: &FoundSecret| memchr::memmem::find(&secret, &known.secret).is_some();
                    if matches!(rule.form, SecretForm::Assigned(_)) && found.iter().any(is_known) {
                        return;
                    }
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
                && self.form.is_word()
                && beginning.first().is_some_and(u8::is_ascii_alphanumeric)
                && (text[at - 1].is_ascii_alphanumeric() || matches!(text[at - 1], b'_' | b'-'));
            let rest = &text[at + beginning.len()..];
            if let Some(range) = self.range(text, at) {
                found(&text[range]);
                continue;
            }
            let length = match self.form {
                _ if is_inside => None,
                SecretForm::Run => Some(self.run(rest)).filter(|length| *length >= self.least),
                SecretForm::WebToken => self.web_token(rest),
                SecretForm::PemKey => forms::pem_key(rest),
                SecretForm::UrlPassword => forms::url_password(rest),
                SecretForm::Twilio => forms::twilio(rest),
                SecretForm::DiscordHook => forms::discord_hook(rest),
                SecretForm::CloudflareOrigin => forms::cloudflare_origin(rest),
                SecretForm::Telegram | SecretForm::Discord | SecretForm::Assigned(_) => None,
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

    /// The place of a secret that begins before the fixed part, or long after it.
    fn range(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        match self.form {
            SecretForm::Telegram => forms::telegram(text, at),
            SecretForm::Discord => forms::discord(text, at),
            SecretForm::Assigned(kind) => forms::assigned(text, at..at + self.finder.needle().len(), kind),
            _ => None,
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

    /// Characters without an order that a scanner would know.
    const RANDOM: &str = "q7Zt4LmX9wB2vKd8RnYh3Js6Pf5GcU0TeAiHoN1k";

    fn discord_token() -> String {
        let number = interlingua::json::base64(b"123456789012345678");
        format!("{}.{}.{}", number.trim_end_matches('='), "GaBcDe", "q7Zt4LmX9wB2vKd8RnYh3Js6Pf5GcU")
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
            ("twilio-key", "SK".to_owned() + &"0a1b2c3d4e5f6789".repeat(2)),
            ("twilio-account", "AC".to_owned() + &"0a1b2c3d4e5f6789".repeat(2)),
            ("telegram-token", format!("123456789:AA{}", "a1B2c3D4e5F-G7h8i9J_kLmNoPqRsTuVw")),
            ("discord-token", discord_token()),
            (
                "discord-hook",
                format!("https://discord.com/api/webhooks/{}/{}", "1".repeat(18), "a1B2c3D4e5F6".repeat(6)),
            ),
            ("cloudflare-token", format!("v1.0-{}-{}", "0a1b".repeat(6), "0a".repeat(73))),
            ("cloudflare-token", format!("CLOUDFLARE_API_TOKEN={RANDOM}")),
            ("assigned-key", format!("ACME_API_KEY={RANDOM}")),
            ("assigned-key", format!("\"ACME_CLIENT_SECRET\": \"{RANDOM}\"")),
            ("assigned-password", format!("DB_PASSWORD={}", "tr0ub4dor-9z")),
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
            // Twilio: another length, another case, the middle of a word.
            "SK0a1b2c3d4e5f67890a1b2c3d4e5f67890",
            "SK0a1b2c3d4e5f67890a1b2c3d4e5f678",
            "SK0A1B2C3D4E5F67890A1B2C3D4E5F6789",
            "TASK0a1b2c3d4e5f67890a1b2c3d4e5f6789",
            "AC00000000000000000000000000000000",
            // Telegram and Discord: times, versions, numbers in base64 without the rest.
            "at 1234567890:AA and 12:AAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "MTIzNDU2Nzg5MDEyMzQ1Njc4.short.x",
            "reverse.domain.names.that.are.long.enough.for.everyone",
            "com.example.AbstractSingletonProxyFactory.GaBcDe.AbstractSingletonProxyFactoryBean",
            "https://discord.com/api/webhooks/123/abc",
            "v1.0-beta-3",
        ] {
            assert_eq!(classes(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn an_assigned_placeholder_variable_hash_or_expression_is_not_a_secret() {
        for value in [
            "your-key-here",
            "<your-api-key-1234567890>",
            "$ACME_API_KEY",
            "${ACME_API_KEY:-q7Zt4LmX9wB2vKd8RnYh}",
            "$(pass show acme)",
            "{{ secrets.ACME_API_KEY }}",
            "%ACME_API_KEY%",
            "os.environ[\"ACME_API_KEY\"]",
            "process.env.ACME_API_KEY2",
            "getenv(\"ACME_API_KEY\")",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "test-a1B2c3D4e5F6g7H8i9J0",
            "c0b3488f-eacf-4d03-abc4-4c10112d1f6b",
            "/run/secrets/acme-a1B2c3D4e5F6",
            "a-long-name-of-a-service-version-123",
            "********",
            "changeme1",
            "password123",
            "",
        ] {
            for text in [
                format!("ACME_API_KEY={value}"),
                format!("ACME_API_KEY=\"{value}\""),
                format!("\"ACME_API_KEY\": \"{value}\""),
                format!("ACME_API_KEY: {value}"),
                format!("DB_PASSWORD={value}\n"),
                format!("DB_PASSWORD: \"{value}\","),
            ] {
                assert_eq!(classes(&text), [] as [&str; 0], "{text}");
            }
        }
        for text in [
            format!("GIT_COMMIT={}", "8de8821d78ac0f018e14804dece7dc00be70c05f"),
            format!("CACHE_KEY={RANDOM}"),
            format!("acme_api_key={RANDOM}"),
            format!("ACME_API_KEY = {RANDOM}"),
            format!("ACME_API_KEYS={RANDOM}"),
            format!("_API_KEY={RANDOM}"),
            format!("ACME_API_KEY={RANDOM}("),
            format!("ACME_API_KEY={RANDOM}[0]"),
            "MAX_TOKEN=4096 NEXT_TOKEN=a1B2".to_owned(),
            "DB_PASSWORD=secretword DB_PASSWORD=tr0ub4dor(x) DB_PASSWORD=db/tr0ub4dor://".to_owned(),
        ] {
            assert_eq!(classes(&text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn a_value_with_a_form_of_its_own_is_counted_by_its_form() {
        assert_eq!(classes(&format!("GH_API_KEY={}", token("ghp_", 40))), ["github-token"]);
        let found = SecretRules::built_in().find(format!("ACME_API_KEY='{RANDOM}'").as_bytes());
        assert_eq!(found[0].secret, RANDOM.as_bytes(), "the name is no part of the secret");
    }

    #[test]
    fn a_private_key_without_its_end_is_found_with_its_lines() {
        let lines = format!("{}\n{}\n", "MIIEpAIBAAKCAQEA".repeat(4), "q7Zt4LmX9wB2vKd8".repeat(4));
        let label = format!("-----BEGIN {}-----", "RSA PRIVATE KEY");
        let secret = |text: &str| {
            let found = SecretRules::built_in().find(text.as_bytes());
            let all: Vec<_> = found.iter().map(|found| String::from_utf8_lossy(&found.secret)).collect();
            assert_eq!(found.len(), 1, "{text}: {all:?}");
            String::from_utf8(found.into_iter().next().unwrap().secret).unwrap()
        };
        let whole = format!("{label}\n{}", lines.trim_end());
        assert_eq!(secret(&format!("{label}\n{lines}")), whole);
        assert_eq!(secret(&format!("{label}\n{lines}and a word of the text")), whole);
        assert_eq!(secret(&format!("\"{label}\n{lines}").replace('\n', "\\n")), whole);
        let cut = format!("{whole}\nq7Zt4LmX9wB2vKd8Rn");
        assert_eq!(secret(&format!("{cut} [truncated]")), cut);
        let headers = "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B\n";
        assert_eq!(
            secret(&format!("{label}{headers}\n{lines}")),
            format!("{label}{headers}\n{}", lines.trim_end())
        );
        // A label in a text about keys.
        assert_eq!(secret(&format!("grep '{label}' *.pem\nit finds keys")), label);
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
