//! Generates documents from a string of bytes: words that readers look for, in the wrong places and with values of any
//! type. Property tests and the fuzzer thereby reach code that random bytes do not reach. The fuzzer includes this
//! file.
//!
//! The words are the string literals of the dialects themselves, so that a new dialect is covered without being listed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Generates a document from `bytes`: the first byte selects its form, the other bytes its content.
pub fn document(bytes: &[u8]) -> Vec<u8> {
    let mut dice = Dice { bytes };
    let sort = dice.next();
    let count = 1 + dice.next() % 5;
    let values: Vec<String> = (0..count).map(|_| value(&mut dice, 0)).collect();
    let text = match sort % 4 {
        0 => values.join("\n"),
        1 => {
            let event = |value: &String| format!("event: {}\ndata: {value}\n\n", word_of_type(value));
            values.iter().map(event).collect()
        }
        2 => format!("{{\"session\":{{\"entries\":[{}]}}}}", values.join(",")),
        _ => values.join("\n\ndata: "),
    };
    text.into_bytes()
}

/// The value of `type`, if that member comes first, as in event streams.
fn word_of_type(value: &str) -> &str {
    value.strip_prefix("{\"type\":\"").and_then(|rest| rest.split('"').next()).unwrap_or("message")
}

fn value(dice: &mut Dice<'_>, depth: usize) -> String {
    const ODD: &[&str] = &[
        "null",
        "true",
        "false",
        "0",
        "7",
        "-1.5e3",
        "1e999",
        "18446744073709551616",
        "\"\"",
        "\"~\"",
        "\"~~\"",
        "\"\\ud83d\"",
        "\"\\u0000\"",
        "\"2026-11-15T12:00:00Z\"",
        "\"data:image/png;base64,aGk=\"",
        "\"{\\\"a\\\":1}\"",
        "\"{\"",
        "[]",
        "{}",
    ];
    match dice.next() % 8 {
        // Objects are frequent, because readers look into them.
        0..=3 if depth < 6 => {
            let count = dice.next() % 6;
            let mut members: Vec<String> = Vec::new();
            if dice.next().is_multiple_of(2) {
                members.push(format!("\"type\":\"{}\"", word(dice)));
            }
            members.extend((0..count).map(|_| format!("\"{}\":{}", word(dice), value(dice, depth + 1))));
            format!("{{{}}}", members.join(","))
        }
        4 if depth < 6 => {
            let count = dice.next() % 4;
            let elements: Vec<String> = (0..count).map(|_| value(dice, depth + 1)).collect();
            format!("[{}]", elements.join(","))
        }
        5 | 6 => format!("\"{}\"", word(dice)),
        _ => ODD[usize::from(dice.next()) % ODD.len()].to_owned(),
    }
}

fn word(dice: &mut Dice<'_>) -> &'static str {
    let words = words();
    // Half of all words are among the most frequent.
    let (few, all) = (words.len().min(64), words.len());
    let number = usize::from(dice.next()) << 8 | usize::from(dice.next());
    &words[number / 2 % if number.is_multiple_of(2) { few } else { all }]
}

/// The next random value from the bytes; zeros at their end.
struct Dice<'b> {
    bytes: &'b [u8],
}

impl Dice<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 7 };
        self.bytes = rest;
        *first
    }
}

/// The words in the source code of the dialects, most frequent first.
fn words() -> &'static [String] {
    static WORDS: OnceLock<Vec<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut counts = std::collections::BTreeMap::new();
        let mut folders = vec![sources()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    for word in text.split('"').filter(|text| is_word(text)) {
                        *counts.entry(word.to_owned()).or_insert(0usize) += 1;
                    }
                }
            }
        }
        let mut words: Vec<(String, usize)> = counts.into_iter().collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        assert!(words.len() > 100, "no words in {}", sources().display());
        words.into_iter().map(|(word, _)| word).collect()
    })
}

fn is_word(text: &str) -> bool {
    (2..=40).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// The folder of the dialects, relative to the package of the tests or of the fuzzer.
fn sources() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = here.join("../src/dialects");
    if own.is_dir() { own } else { here.join("../crates/interlingua/src/dialects") }
}
