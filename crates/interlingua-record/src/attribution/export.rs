//! The attribution as JSON: our own form, the member `file-attribution` of a record, and Agent Trace 0.1.

use std::fmt;

use interlingua::json::{JsonBuffer, JsonWriter};
use interlingua::model::{Time, time};
use interlingua::tape::{Kind, Limits, TapeBuf};

use super::{Attributed, FileLines, LineContributor, LineRange, SessionEdits, hash_of};

/// The spelling of the members of ranges and contributors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributionProfile {
    /// `start-line`, as in records of profile v3.
    V3,
    /// `start_line`, as in records of profile v2 and in Agent Trace.
    V2,
}

impl AttributionProfile {
    const fn names(self) -> [&'static str; 5] {
        match self {
            AttributionProfile::V3 => {
                ["start-line", "end-line", "content-hash", "content-hash-alg", "model-id"]
            }
            AttributionProfile::V2 => {
                ["start_line", "end_line", "content_hash", "content_hash_alg", "model_id"]
            }
        }
    }
}

/// One JSON document with every file, its ranges and the lines that were not found, and a newline.
pub fn to_json(sessions: &[SessionEdits], attributed: &Attributed, revision: Option<&str>) -> String {
    let mut buffer = JsonBuffer::default();
    let json = &mut buffer.hold();
    json.object().key("format").literal("interlingua-attribution-1");
    if let Some(revision) = revision {
        json.key("revision").plain(revision);
    }
    json.key("sessions").array();
    for session in sessions {
        json.object().key("name").plain(&session.name);
        if let Some(id) = &session.id {
            json.key("id").plain(id);
        }
        json.key("edits").u64(session.edits.len() as u64).key("failed").u64(session.failed);
        json.key("not-followed").u64(session.not_followed).end_object();
    }
    json.end_array().key("outside").u64(attributed.outside).key("files").array();
    for FileLines { path, lines, ranges, missing } in &attributed.files {
        json.object().key("path").plain(path);
        json.opt_u64("lines", *lines).key("missing").u64(*missing).key("ranges").array();
        for LineRange { start, end, contributor: LineContributor { session, model }, hash } in ranges {
            json.object().key("start").u64(*start).key("end").u64(*end).key("session").u64(*session as u64);
            if let Some(model) = model {
                json.key("model").plain(model);
            }
            json.key("sha256").literal(hash).end_object();
        }
        json.end_array().end_object();
    }
    json.end_array().end_object();
    buffer.held().to_owned() + "\n"
}

/// An Agent Trace 0.1 document and a newline. `now` is the time of the trace in milliseconds since 1970.
pub fn agent_trace(
    sessions: &[SessionEdits],
    attributed: &Attributed,
    revision: Option<&str>,
    now: u64,
) -> String {
    let mut buffer = JsonBuffer::default();
    let json = &mut buffer.hold();
    let millis = now.to_string();
    let mut files = JsonBuffer::default();
    write_files(sessions, attributed, AttributionProfile::V2, Target::AgentTrace, &mut files.hold());
    json.object().key("version").literal("0.1.0");
    json.key("id").literal(&uuid_of(&(millis.clone() + files.held())));
    json.key("timestamp").plain(&time::utc(&Time::new(&millis)).unwrap_or_default());
    if let Some(revision) = revision {
        json.key("vcs").object().key("type").literal("git").key("revision").plain(revision).end_object();
    }
    json.key("tool").object().key("name").literal("interlingua");
    json.key("version").literal(env!("CARGO_PKG_VERSION")).end_object();
    json.key("files").values(files.bytes()).end_object();
    buffer.held().to_owned() + "\n"
}

/// A record that cannot get an attribution: the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IntoRecordError {
    /// The document is not a JSON object with `version` and `session`.
    NoRecord,
    /// The record has the member `file-attribution` already.
    HasAttribution,
}

impl fmt::Display for IntoRecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            IntoRecordError::NoRecord => "it is no JSON record",
            IntoRecordError::HasAttribution => "the record has a `file-attribution` already",
        })
    }
}

impl std::error::Error for IntoRecordError {}

/// The record with the member `file-attribution` at its end, in the spelling of the record's profile. All other bytes of
/// the record stay as they are.
pub fn into_record(
    record: &str,
    sessions: &[SessionEdits],
    attributed: &Attributed,
) -> Result<String, IntoRecordError> {
    let mut tape = TapeBuf::default();
    let tape = tape.parse(record, &Limits::default()).map_err(|_| IntoRecordError::NoRecord)?;
    let root = tape.root();
    let version =
        root.get("version").and_then(|version| version.str()).map(|version| version.decode().into_owned());
    let (Kind::Object, Some(version), Some(_)) = (root.kind(), version, root.get("session")) else {
        return Err(IntoRecordError::NoRecord);
    };
    if root.get("file-attribution").is_some() {
        return Err(IntoRecordError::HasAttribution);
    }
    let profile = if version.starts_with("2.") { AttributionProfile::V2 } else { AttributionProfile::V3 };
    let end = record.rfind('}').ok_or(IntoRecordError::NoRecord)?;
    let mut buffer = JsonBuffer::default();
    let json = &mut buffer.hold();
    json.object().key("files");
    write_files(sessions, attributed, profile, Target::Record, json);
    json.end_object();
    let (head, tail) = record.split_at(end);
    let trimmed = head.trim_end();
    Ok(format!("{trimmed},\"file-attribution\":{}{}{tail}", buffer.held(), &head[trimmed.len()..]))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Record,
    AgentTrace,
}

fn write_files(
    sessions: &[SessionEdits],
    attributed: &Attributed,
    profile: AttributionProfile,
    target: Target,
    json: &mut JsonWriter<'_>,
) {
    let [start, end, content_hash, hash_alg, model_id] = profile.names();
    json.array();
    for file in attributed.files.iter().filter(|file| !file.ranges.is_empty()) {
        json.object().key("path").plain(&file.path).key("conversations").array();
        let mut contributors: Vec<&LineContributor> = Vec::new();
        for range in &file.ranges {
            if !contributors.contains(&&range.contributor) {
                contributors.push(&range.contributor);
            }
        }
        for contributor in contributors {
            json.object();
            if let Some(id) = sessions.get(contributor.session).and_then(|session| session.id.as_ref()) {
                json.key("url").plain(&format!("urn:agent-session:{}", escaped(id)));
            }
            json.key("contributor").object().key("type").literal("ai");
            if let Some(model) = &contributor.model {
                json.key(model_id).plain(model);
            }
            json.end_object().key("ranges").array();
            for range in file.ranges.iter().filter(|range| range.contributor == *contributor) {
                json.object().key(start).u64(range.start).key(end).u64(range.end);
                match target {
                    Target::Record => {
                        json.key(content_hash).literal(&range.hash).key(hash_alg).literal("sha-256")
                    }
                    Target::AgentTrace => json.key(content_hash).literal(&format!("sha256:{}", range.hash)),
                };
                json.end_object();
            }
            json.end_array().end_object();
        }
        json.end_array().end_object();
    }
    json.end_array();
}

/// The id with every byte escaped that a URN does not allow.
fn escaped(id: &str) -> String {
    id.bytes().fold(String::new(), |text, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':') {
            text + &char::from(byte).to_string()
        } else {
            text + &format!("%{byte:02X}")
        }
    })
}

/// A UUID of version 8 from the hash of a text.
fn uuid_of(text: &str) -> String {
    let hash = hash_of([text].into_iter());
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}
