//! Universal events as records: the record of the events of each running agent has no error, and no id stands twice in it.

use std::collections::BTreeMap;

use interlingua::check::CheckWriter;
use interlingua::dialects::{Dialect, Options, Plane, Role};
use interlingua::error::Severity;
use interlingua::pipe::Pipe;
use serde_json::Value;

use super::{Source, convert_in, sources, universal};

/// The errors that a check reports, each with its detail.
fn errors(dialect: &str, role: Role, bytes: &[u8]) -> Vec<String> {
    let dialect = Dialect::named(dialect).unwrap();
    let checker = Box::new(CheckWriter::new(dialect.lineage));
    let mut pipe = Pipe::with_writer((dialect, role), checker, &Options::default()).unwrap();
    pipe.push(bytes, &mut Vec::new());
    let report = pipe.finish(&mut Vec::new());
    let errors = report.problems.iter().filter(|problem| problem.code.severity() == Severity::Error);
    errors.map(|problem| format!("{} {}", problem.code.name(), problem.detail)).collect()
}

/// The ids of messages and calls in a record that occur more than once.
fn repeated_ids(record: &[u8]) -> Vec<String> {
    let mut counts = BTreeMap::new();
    for record in serde_json::Deserializer::from_slice(record).into_iter::<Value>() {
        count_ids(&record.unwrap()["session"]["entries"], &mut counts);
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(id, _)| id).collect()
}

fn count_ids(entries: &Value, counts: &mut BTreeMap<String, usize>) {
    for entry in entries.as_array().into_iter().flatten() {
        if let Some(id) = entry["id"].as_str() {
            *counts.entry(id.to_owned()).or_default() += 1;
        }
        count_ids(&entry["children"], counts);
    }
}

#[test]
fn the_record_of_universal_events_has_no_error_and_no_id_twice() {
    let mut live = 0;
    for source in sources() {
        let Source { name, dialect, bytes } = &source;
        let dialect = Dialect::named(dialect).unwrap();
        if dialect.plane != Plane::Live {
            continue;
        }
        live += 1;
        let (record, _) = convert_in(&[&universal(&source)], "universal", "record", &Options::default());
        let mut found = errors("record", Role::Log, &record);
        // A source that breaks off in a turn, or has an error of its own, keeps the error.
        let own = errors(dialect.name, dialect.roles[0].role, bytes);
        found.retain(|error| !own.contains(error));
        assert_eq!(found, Vec::<String>::new(), "{name}");
        assert_eq!(repeated_ids(&record), Vec::<String>::new(), "{name}");
    }
    assert!(live > 30, "{live} live fixtures");
}
