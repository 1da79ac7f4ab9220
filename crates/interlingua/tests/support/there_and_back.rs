//! Wire A -> B -> A: each difference is matched, leaf by leaf, to the loss that explains it.

use std::collections::{BTreeMap, BTreeSet};

use interlingua::dialects::Role;
use interlingua::ledger::{Report, Row};
use interlingua::model::Field;
use interlingua::tape::Claim;

use super::books::{Breach, lost_fields};
use super::watch::{Look, watch};
use super::{Case, Way, convert, convert_traced};

pub const BACK: &str = "there and back: each difference has its loss";

/// Converts to `to` and back, and reports each difference that no lost row explains. On the way there a row explains a
/// leaf by its native path; on the way back, where paths are those of the other dialect, by the field. The place of a
/// breach is the fixture and the path, so that an excuse can apply to one fixture.
pub fn there_and_back_law(case: &Case, to: Way) -> Vec<Breach> {
    let there = convert_traced(case.way, to, &case.bytes);
    let back = convert_traced(to, case.way, &there.bytes);
    let is_stream = case.way.1 == Role::Stream;
    // A stream is compared as the response it folds into, because chunk boundaries have no meaning.
    let whole = (case.way.0, if is_stream { Role::Response } else { case.way.1 });
    let document =
        |bytes: &[u8]| if is_stream { convert(case.way, whole, bytes).bytes } else { bytes.to_vec() };
    let (before, after) = (document(&case.bytes), document(&back.bytes));
    let mut fields = fields_by_path(whole, &before);
    for (path, more) in fields_by_path(whole, &after) {
        fields.entry(path).or_default().extend(more);
    }
    let losses = Losses {
        paths: if is_stream { Vec::new() } else { there.report.lost_paths.iter().collect() },
        there: if is_stream { lost_fields(&there.report) } else { late_fields(&there.report) },
        back: lost_fields(&back.report),
    };
    let (explained, rest): (Vec<_>, Vec<_>) = differences(&before, &after)
        .into_iter()
        .partition(|difference| losses.explain(&difference.path, fields.get(&difference.path)));
    // A tag is explained by a loss of values next to it, or in an object next to it.
    let tag = |difference: &Difference| {
        let object = parent(&difference.path);
        !fields.contains_key(&difference.path) && explained.iter().any(|other| other.path.starts_with(object))
    };
    rest.into_iter()
        .filter(|difference| !tag(difference))
        .map(|Difference { sign, path, value }| {
            Breach::new(BACK, case, to, &format!("{} {sign}{path}", case.name), format!("{sign} {value}"))
        })
        .collect()
}

/// A leaf that only one of two documents has.
struct Difference {
    /// `-`: removed, `+`: added, `~`: reordered.
    sign: char,
    path: String,
    value: String,
}

/// The path of the object that a leaf is a member of.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The losses in both directions.
struct Losses<'r> {
    /// Rows of the first direction, if its paths are those of the compared documents.
    paths: Vec<&'r Row>,
    /// Fields of the first direction for losses without a matching path.
    there: BTreeSet<Field>,
    back: BTreeSet<Field>,
}

impl Losses<'_> {
    fn explain(&self, path: &str, fields: Option<&BTreeSet<Field>>) -> bool {
        let covers = |row: &&Row| {
            path.strip_prefix(&*row.path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']))
        };
        let lost = |field: &Field| self.there.contains(field) || self.back.contains(field);
        self.paths.iter().any(covers) || fields.is_some_and(|fields| fields.iter().any(lost))
    }
}

/// Fields that were lost after their frame, and thus without a path.
fn late_fields(report: &Report) -> BTreeSet<Field> {
    report.trace.iter().filter(|leaf| leaf.span.is_none()).filter_map(|leaf| leaf.field).collect()
}

/// The claimed fields of the leaves at each path, without tags, whose loss explains nothing.
fn fields_by_path(way: Way, document: &[u8]) -> BTreeMap<String, BTreeSet<Field>> {
    let mut fields: BTreeMap<String, BTreeSet<Field>> = BTreeMap::new();
    let (seen, _) = watch(way, document, Look::Leaves);
    for leaf in seen.frames.into_iter().flat_map(|frame| frame.leaves) {
        if let Claim::Taken(field) | Claim::Noted(field) = leaf.claim
            && field != Field::Structure
        {
            let listed = match leaf.path.rsplit_once('/') {
                Some((_, "content" | "system")) => format!("{}[]/text", leaf.path),
                Some((_, "stop")) => format!("{}[]", leaf.path),
                _ => leaf.path,
            };
            fields.entry(listed).or_default().insert(field);
        }
    }
    fields
}

/// Leaves of one document that are missing in the other, and leaves in another order.
fn differences(before: &[u8], after: &[u8]) -> Vec<Difference> {
    let (before, after) = (leaves(before), leaves(after));
    let nothing = Vec::new();
    let mut found = Vec::new();
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for path in paths {
        let mut find = |sign: char, value: &str| {
            found.push(Difference { sign, path: path.clone(), value: value.to_owned() });
        };
        let (before, after) = (before.get(path).unwrap_or(&nothing), after.get(path).unwrap_or(&nothing));
        let (gone, new) = (without(before, after), without(after, before));
        for value in &gone {
            find('-', value);
        }
        for value in &new {
            find('+', value);
        }
        if without(before, &gone) != without(after, &new) {
            find('~', "in another order");
        }
    }
    found
}

/// The multiset difference `one` minus `other`.
fn without(one: &[String], other: &[String]) -> Vec<String> {
    let mut other: Vec<&String> = other.iter().collect();
    let mut rest = Vec::new();
    for value in one {
        match other.iter().position(|known| *known == value) {
            Some(at) => {
                other.remove(at);
            }
            None => rest.push(value.clone()),
        }
    }
    rest
}

/// The values at each path, with `[]` for any index, in order.
fn leaves(document: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut leaves = BTreeMap::new();
    let value = serde_json::from_slice(document).unwrap_or(serde_json::Value::Null);
    flatten(&value, &mut String::new(), &mut leaves);
    leaves
}

fn flatten(value: &serde_json::Value, path: &mut String, leaves: &mut BTreeMap<String, Vec<String>>) {
    let length = path.len();
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let listed = as_list(name, member);
                let member = listed.as_ref().unwrap_or(member);
                path.push('/');
                path.push_str(name);
                flatten(member, path, leaves);
                path.truncate(length);
            }
        }
        serde_json::Value::Array(elements) if !elements.is_empty() => {
            for element in elements {
                path.push_str("[]");
                flatten(element, path, leaves);
                path.truncate(length);
            }
        }
        // These APIs treat a null member like a missing member.
        serde_json::Value::Null => {}
        leaf => leaves.entry(path.clone()).or_default().push(leaf.to_string()),
    }
}

/// Members that these APIs accept both as a text and as a list of one text.
fn as_list(name: &str, member: &serde_json::Value) -> Option<serde_json::Value> {
    let text = member.as_str()?;
    match name {
        "content" | "system" => Some(serde_json::json!([{"type": "text", "text": text}])),
        "stop" => Some(serde_json::json!([text])),
        _ => None,
    }
}
