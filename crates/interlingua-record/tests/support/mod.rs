//! The probes: small records with a known verdict, for all checkers of records.
//!
//! A file in `tests/probes` is named after the fact it shows; the prefix `valid-` or `invalid-` is the verdict. From
//! the record that has every member, further invalid records are derived, one per typed value, so that the type of
//! every member is checked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

mod files;

pub(crate) use files::files;

/// A record with its expected verdict.
pub(crate) struct Probe {
    /// The file name without `.json`; for a derived probe also the JSON pointer of the changed value.
    pub(crate) name: String,
    /// The bytes of the record.
    pub(crate) json: Vec<u8>,
    /// The expected verdict.
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Valid,
    Invalid,
}

/// All probes in a fixed order, those from files first.
pub(crate) fn probes() -> Vec<Probe> {
    let mut probes: Vec<Probe> = json_files(Path::new(PROBES))
        .into_iter()
        .map(|file| {
            let name = file.file_stem().expect("a listed file has a name").to_string_lossy();
            let verdict = match name.split_once('-') {
                Some(("valid", _)) => Verdict::Valid,
                Some(("invalid", _)) => Verdict::Invalid,
                _ => panic!("`{name}` says neither `valid-` nor `invalid-`"),
            };
            let json = fs::read(&file).expect("a listed file can be read");
            Probe { name: name.into_owned(), json, verdict }
        })
        .collect();
    let full = probes.iter().find(|probe| probe.name == FULL).expect("the full record is there");
    let full = serde_json::from_slice(&full.json).expect("the full record is JSON");
    probes.extend(wrong_types(&full));
    probes
}

/// Every `*.json` file below `dir`.
pub(crate) fn json_files(dir: &Path) -> Vec<PathBuf> {
    files(dir, &["json"])
}

fn wrong_types(full: &Value) -> Vec<Probe> {
    let mut pointers = Vec::new();
    typed_places(full, "", &mut pointers);
    pointers
        .into_iter()
        .map(|pointer| {
            let mut record = full.clone();
            let place = record.pointer_mut(&pointer).expect("the pointer came from this record");
            // Not a text, number, flag or map, and no array of the schema has this element.
            *place = json!([{}]);
            Probe {
                name: format!("{FULL}, wrong type at {pointer}"),
                json: record.to_string().into_bytes(),
                verdict: Verdict::Invalid,
            }
        })
        .collect()
}

/// Pointers to all values with a type other than `any` in the schema. No name in a record needs escaping in a pointer.
fn typed_places(value: &Value, at: &str, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let pointer = format!("{at}/{name}");
                match name.as_str() {
                    "content" | "input" | "output" if members.contains_key("type") => {}
                    "data" | "more" if members.contains_key("vendor") => {}
                    // The data of an event is a map with arbitrary values.
                    "data" => pointers.push(pointer),
                    _ => {
                        typed_places(member, &pointer, pointers);
                        pointers.push(pointer);
                    }
                }
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let pointer = format!("{at}/{index}");
                typed_places(element, &pointer, pointers);
                pointers.push(pointer);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const PROBES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/probes");
const FULL: &str = "valid-every-member";
