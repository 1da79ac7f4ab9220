//! When two documents, or a log and its record, say the same.

use interlingua::dialects::Options;
use interlingua::fold::{Content, Item, Transcript};
use interlingua::ledger::Report;
use interlingua::model::{CallKind, ItemKind, Usage};

use super::Way;

/// The numbers a record can tell.
pub fn in_records(usage: &Usage) -> [Option<u64>; 4] {
    // Usage of nothing is not written.
    let some = |count: Option<u64>| count.filter(|count| *count > 0);
    [usage.all_input(), usage.cache_read, usage.output, usage.reasoning].map(some)
}

/// A record has no word for who runs a tool, numbers parts anew, and says of an item's end what the tool said.
pub fn as_in_records(item: &mut Item) {
    if let ItemKind::ToolCall(call) = &mut item.kind {
        call.kind = CallKind::Function;
    }
    let mut number = 0;
    for content in &mut item.content {
        match content {
            Content::Part(part, _) => {
                *part = number;
                number += 1;
            }
            Content::Item(inner) => as_in_records(inner),
        }
    }
}

pub fn is_unparsed(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Notice(notice) if notice.event_type.as_ref().is_some_and(|word| word.is("unparsed")))
}

/// Leaves of one document that the other does not have, unless a report names their path, or names as many losses in
/// the model's own words.
pub fn json_differences(before: &[u8], after: &[u8], reports: &[&Report]) -> Vec<String> {
    let leaves = |bytes: &[u8]| {
        let mut leaves = Vec::new();
        let value = serde_json::from_slice(bytes).unwrap_or(serde_json::Value::Null);
        flatten(&value, &mut String::new(), &mut leaves);
        leaves
    };
    let (before, after) = (leaves(before), leaves(after));
    let missing = before.iter().filter(|leaf| !after.contains(leaf));
    let added = after.iter().filter(|leaf| !before.contains(leaf));
    let differences = missing.chain(added).map(|(path, value)| (path.clone(), format!("{path} = {value}")));
    explained(differences.collect(), reports)
}

/// The same for streams: what they say, not how it was cut.
pub fn said_differences(way: Way, before: &[u8], after: &[u8], reports: &[&Report]) -> Vec<String> {
    let say = |bytes: &[u8]| {
        let (said, _) = Transcript::read(way, bytes, &Options::default()).expect("readable");
        let mut lines: Vec<String> = said.items.iter().map(|item| format!("{item:?}")).collect();
        lines.extend(said.turns.iter().map(|turn| format!("{turn:?}")));
        lines.extend(said.errors.iter().map(|failure| format!("{failure:?}")));
        lines
    };
    let (before, after) = (say(before), say(after));
    let missing = before.iter().filter(|line| !after.contains(line));
    let added = after.iter().filter(|line| !before.contains(line));
    explained(missing.chain(added).map(|line| (String::new(), line.clone())).collect(), reports)
}

fn explained(differences: Vec<(String, String)>, reports: &[&Report]) -> Vec<String> {
    let lost = || reports.iter().flat_map(|report| &report.lost_paths);
    let named = |path: &str| lost().any(|row| row.path.starts_with('/') && path.starts_with(&row.path));
    let rest: Vec<String> =
        differences.into_iter().filter(|(path, _)| !named(path)).map(|(_, how)| how).collect();
    // A loss in the model's words, or a note, has no path; it speaks for one leaf before and one after.
    let nameless: u64 = lost().filter(|row| !row.path.starts_with('/')).map(|row| row.count).sum();
    let notes: u64 = reports.iter().flat_map(|report| &report.notes).map(|(_, count)| count).sum();
    if rest.len() as u64 <= 2 * (nameless + notes) { Vec::new() } else { rest }
}

fn flatten(value: &serde_json::Value, path: &mut String, leaves: &mut Vec<(String, String)>) {
    let length = path.len();
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
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
        leaf => leaves.push((path.clone(), leaf.to_string())),
    }
}
