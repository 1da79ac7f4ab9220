//! The schema of a record, checked at reading speed. The same rules as CDDL are in the `interlingua-record` crate.

use crate::error::Code;
use crate::pipe::Sink;
use crate::tape::{Kind, Val};

/// Remembers what has been seen of the outer document, which comes in two pieces.
#[derive(Default)]
pub(super) struct Checker {
    version: bool,
    id: bool,
    session: bool,
    session_id: bool,
    agent_meta: bool,
    entries: bool,
}

/// What a member must be.
#[derive(Clone, Copy)]
enum Type {
    Text,
    TextOrBytes,
    Unsigned,
    Number,
    Bool,
    Time,
    Map,
    Array,
    Any,
}

impl Type {
    const fn name(self) -> &'static str {
        match self {
            Type::Text | Type::TextOrBytes => "text",
            Type::Unsigned => "an unsigned number",
            Type::Number => "a number",
            Type::Bool => "true or false",
            Type::Time => "an RFC 3339 time or epoch milliseconds",
            Type::Map => "a map",
            Type::Array => "an array",
            Type::Any => "anything",
        }
    }

    fn admits(self, val: Val<'_>) -> bool {
        match self {
            Type::Text | Type::TextOrBytes => val.kind() == Kind::String,
            Type::Unsigned => val.u64().is_some(),
            Type::Number => val.kind() == Kind::Number,
            Type::Bool => val.kind() == Kind::Bool,
            Type::Time => match val.str() {
                Some(text) => is_rfc3339(text.decode().as_bytes()),
                None => val.u64().is_some(),
            },
            Type::Map => val.kind() == Kind::Object,
            Type::Array => val.kind() == Kind::Array,
            Type::Any => true,
        }
    }
}

/// A member: its name, its type, whether it must be there.
type Rule = (&'static str, Type, bool);

const BASE: &[Rule] = &[
    ("timestamp", Type::Time, false),
    ("id", Type::Text, false),
    ("parent-id", Type::Text, false),
    ("children", Type::Array, false),
];
const MESSAGE: &[Rule] = &[("model-id", Type::Text, false), ("token-usage", Type::Map, false)];
const CALL: &[Rule] =
    &[("name", Type::Text, true), ("input", Type::Any, true), ("call-id", Type::Text, false)];
const RESULT: &[Rule] = &[
    ("output", Type::Any, true),
    ("call-id", Type::Text, false),
    ("status", Type::Text, false),
    ("is-error", Type::Bool, false),
];
const REASONING: &[Rule] =
    &[("content", Type::Any, true), ("encrypted", Type::Text, false), ("subject", Type::Text, false)];
const EVENT: &[Rule] = &[("event-type", Type::Text, true), ("data", Type::Map, false)];
const EXT: &[Rule] =
    &[("vendor", Type::Text, true), ("version", Type::Text, false), ("more", Type::Array, false)];
const USAGE: &[Rule] = &[
    ("input", Type::Unsigned, false),
    ("output", Type::Unsigned, false),
    ("cached", Type::Unsigned, false),
    ("reasoning", Type::Unsigned, false),
    ("total", Type::Unsigned, false),
    ("cost", Type::Number, false),
];
const RECORD: &[Rule] = &[
    ("version", Type::Text, false),
    ("id", Type::Text, false),
    ("session", Type::Map, false),
    ("created", Type::Time, false),
    ("file-attribution", Type::Map, false),
    ("vcs", Type::Map, false),
    ("recording-agent", Type::Map, false),
    ("vendor-ext", Type::Map, false),
];
const SESSION: &[Rule] = &[
    ("session-id", Type::TextOrBytes, false),
    ("agent-meta", Type::Map, false),
    ("entries", Type::Array, false),
    ("format", Type::Text, false),
    ("session-start", Type::Time, false),
    ("session-end", Type::Time, false),
    ("environment", Type::Map, false),
    ("vendor-ext", Type::Map, false),
];
const META: &[Rule] = &[
    ("model-id", Type::Text, true),
    ("model-provider", Type::Text, true),
    ("models", Type::Array, false),
    ("cli-name", Type::Text, false),
    ("cli-version", Type::Text, false),
];
const AGENT: &[Rule] = &[("name", Type::Text, true), ("version", Type::Text, false)];
const ENVIRONMENT: &[Rule] =
    &[("working-dir", Type::Text, true), ("vcs", Type::Map, false), ("sandboxes", Type::Array, false)];
const VCS: &[Rule] = &[
    ("type", Type::Text, true),
    ("revision", Type::Text, false),
    ("branch", Type::Text, false),
    ("repository", Type::Text, false),
];
const ATTRIBUTION: &[Rule] = &[("files", Type::Array, true)];
const FILE: &[Rule] = &[("path", Type::Text, true), ("conversations", Type::Array, true)];
const CONVERSATION: &[Rule] = &[
    ("ranges", Type::Array, true),
    ("url", Type::Text, false),
    ("contributor", Type::Map, false),
    ("related", Type::Array, false),
];
const RELATED: &[Rule] = &[("type", Type::Text, true), ("url", Type::Text, true)];
const RANGE: &[Rule] = &[
    ("start-line", Type::Unsigned, true),
    ("end-line", Type::Unsigned, true),
    ("content-hash", Type::Text, false),
    ("content-hash-alg", Type::Text, false),
    ("contributor", Type::Map, false),
];
const CONTRIBUTOR: &[Rule] = &[("type", Type::Text, true), ("model-id", Type::Text, false)];

impl Checker {
    /// Checks the document around the entries, in the piece at hand.
    pub(super) fn outer(&mut self, record: Val<'_>, out: &mut Sink<'_>) {
        if record.kind() != Kind::Object {
            return breach("", "a map", out);
        }
        rules(record, "", RECORD, out);
        self.version |= record.get("version").is_some();
        self.id |= record.get("id").is_some();
        sub(record, "", "recording-agent", AGENT, out);
        sub(record, "", "vcs", VCS, out);
        sub(record, "", "vendor-ext", EXT, out);
        if let Some(attribution) = record.get("file-attribution").filter(|map| map.kind() == Kind::Object) {
            attribution_map(attribution, out);
        }
        let Some(session) = record.get("session").filter(|map| map.kind() == Kind::Object) else { return };
        self.session = true;
        rules(session, "/session", SESSION, out);
        self.session_id |= session.get("session-id").is_some();
        self.agent_meta |= session.get("agent-meta").is_some();
        self.entries |= session.get("entries").is_some_and(|entries| entries.kind() == Kind::Array);
        sub(session, "/session", "agent-meta", META, out);
        each_text(
            session.get("agent-meta").and_then(|meta| meta.get("models")),
            "/session/agent-meta/models",
            out,
        );
        sub(session, "/session", "environment", ENVIRONMENT, out);
        sub(session, "/session", "vendor-ext", EXT, out);
        if let Some(environment) = session.get("environment") {
            each_text(environment.get("sandboxes"), "/session/environment/sandboxes", out);
            sub(environment, "/session/environment", "vcs", VCS, out);
        }
    }

    /// Checks one entry and its children.
    pub(super) fn entry(&mut self, entry: Val<'_>, pointer: &str, out: &mut Sink<'_>) {
        self.entries = true;
        check_entry(entry, pointer, out);
    }

    /// Checks that nothing is missing of the outer document.
    pub(super) fn finish(&self, out: &mut Sink<'_>) {
        let Checker { version, id, session, session_id, agent_meta, entries } = *self;
        for (there, pointer) in [
            (version, "/version"),
            (id, "/id"),
            (session, "/session"),
            (session_id || !session, "/session/session-id"),
            (agent_meta || !session, "/session/agent-meta"),
            (entries || !session, "/session/entries"),
        ] {
            if !there {
                breach(pointer, "this member", out);
            }
        }
    }
}

fn check_entry(entry: Val<'_>, pointer: &str, out: &mut Sink<'_>) {
    if entry.kind() != Kind::Object {
        return breach(pointer, "a map", out);
    }
    let Some(kind) = entry.get("type").and_then(|kind| kind.str()) else {
        return breach(&format!("{pointer}/type"), "the type of the entry", out);
    };
    let own = match kind.as_escaped() {
        "user" | "assistant" => MESSAGE,
        "tool-call" => CALL,
        "tool-result" => RESULT,
        "reasoning" => REASONING,
        "system-event" => EVENT,
        _ => return breach(&format!("{pointer}/type"), "one of the six entry types", out),
    };
    rules(entry, pointer, BASE, out);
    // Seed documents of the draft call a tool call's own id `tool-id`; both are accepted.
    rules(entry, pointer, own, out);
    sub(entry, pointer, "token-usage", USAGE, out);
    sub(entry, pointer, "vendor-ext", EXT, out);
    for (number, child) in entry.get("children").into_iter().flat_map(|list| list.elements()).enumerate() {
        check_entry(child, &format!("{pointer}/children/{number}"), out);
    }
}

fn attribution_map(map: Val<'_>, out: &mut Sink<'_>) {
    let base = "/file-attribution";
    closed(map, base, ATTRIBUTION, out);
    each(map.get("files"), &format!("{base}/files"), out, &mut |file, at, out| {
        closed(file, at, FILE, out);
        each(file.get("conversations"), &format!("{at}/conversations"), out, &mut |talk, at, out| {
            closed(talk, at, CONVERSATION, out);
            contributor(talk, at, out);
            each(talk.get("related"), &format!("{at}/related"), out, &mut |related, at, out| {
                closed(related, at, RELATED, out);
            });
            each(talk.get("ranges"), &format!("{at}/ranges"), out, &mut |range, at, out| {
                closed(range, at, RANGE, out);
                contributor(range, at, out);
            });
        });
    });
}

fn contributor(map: Val<'_>, pointer: &str, out: &mut Sink<'_>) {
    let Some(contributor) = map.get("contributor") else { return };
    let at = format!("{pointer}/contributor");
    closed(contributor, &at, CONTRIBUTOR, out);
    let kind = contributor.get("type").and_then(|kind| kind.str());
    if kind.is_some_and(|kind| !matches!(kind.as_escaped(), "human" | "ai" | "mixed" | "unknown")) {
        breach(&format!("{at}/type"), "human, ai, mixed or unknown", out);
    }
}

type Each<'a> = &'a mut dyn FnMut(Val<'_>, &str, &mut Sink<'_>);

fn each(list: Option<Val<'_>>, pointer: &str, out: &mut Sink<'_>, check: Each<'_>) {
    for (number, element) in list.into_iter().flat_map(|list| list.elements()).enumerate() {
        check(element, &format!("{pointer}/{number}"), out);
    }
}

fn each_text(list: Option<Val<'_>>, pointer: &str, out: &mut Sink<'_>) {
    each(list, pointer, out, &mut |element, at, out| {
        if element.kind() != Kind::String {
            breach(at, "text", out);
        }
    });
}

fn sub(map: Val<'_>, pointer: &str, name: &str, wanted: &[Rule], out: &mut Sink<'_>) {
    if let Some(member) = map.get(name).filter(|member| member.kind() == Kind::Object) {
        rules(member, &format!("{pointer}/{name}"), wanted, out);
    }
}

/// A map in which nothing else is allowed.
fn closed(map: Val<'_>, pointer: &str, wanted: &[Rule], out: &mut Sink<'_>) {
    if map.kind() != Kind::Object {
        return breach(pointer, "a map", out);
    }
    rules(map, pointer, wanted, out);
    for (name, _) in map.members() {
        if !wanted.iter().any(|(known, ..)| name.is(known)) {
            breach(&format!("{pointer}/{}", name.as_escaped()), "no further member", out);
        }
    }
}

fn rules(map: Val<'_>, pointer: &str, wanted: &[Rule], out: &mut Sink<'_>) {
    for &(name, kind, required) in wanted {
        match map.get(name) {
            Some(val) if !kind.admits(val) => breach(&format!("{pointer}/{name}"), kind.name(), out),
            None if required => breach(&format!("{pointer}/{name}"), kind.name(), out),
            Some(_) | None => {}
        }
    }
}

#[cold]
fn breach(pointer: &str, expected: &str, out: &mut Sink<'_>) {
    out.problem(Code::Schema, Some(pointer.to_owned()), &format!("expected {expected}"));
}

/// Matches the date-time pattern as a whole. Leap seconds pass; the 31st of February is not our business.
fn is_rfc3339(text: &[u8]) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let byte = |at: usize, any: &[u8]| text.get(at).is_some_and(|byte| any.contains(byte));
    let date = digits(0..4) && byte(4, b"-") && digits(5..7) && byte(7, b"-") && digits(8..10);
    let time = byte(10, b"T")
        && digits(11..13)
        && byte(13, b":")
        && digits(14..16)
        && byte(16, b":")
        && digits(17..19);
    if !date || !time {
        return false;
    }
    let mut at = 19;
    if byte(at, b".") {
        let start = at + 1;
        at = start;
        while byte(at, b"0123456789") {
            at += 1;
        }
        if at == start {
            return false;
        }
    }
    if byte(at, b"Z") {
        return at + 1 == text.len();
    }
    byte(at, b"+-")
        && digits(at + 1..at + 3)
        && byte(at + 3, b":")
        && digits(at + 4..at + 6)
        && at + 6 == text.len()
}
