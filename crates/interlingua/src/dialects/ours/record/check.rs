//! The schema of a record, checked at reading speed. The same rules as CDDL are in the `interlingua-record` crate.

use crate::error::Code;
use crate::json::is_rfc3339;
use crate::pipe::Events;
use crate::tape::{Kind, Val};

/// Remembers what has been seen of the outer document, which comes in two pieces.
#[derive(Default)]
pub(super) struct Checker {
    record: Vec<&'static str>,
    /// `None` until there is a session that is a map.
    session: Option<Vec<&'static str>>,
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
    ("type", Type::Text, true),
    ("timestamp", Type::Time, false),
    ("id", Type::Text, false),
    ("children", Type::Array, false),
    ("vendor-ext", Type::Map, false),
];
const MESSAGE: &[Rule] = &[
    ("content", Type::Any, false),
    ("model-id", Type::Text, false),
    ("parent-id", Type::Text, false),
    ("token-usage", Type::Map, false),
];
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
const EXT: &[Rule] = &[
    ("vendor", Type::Text, true),
    ("version", Type::Text, false),
    ("data", Type::Any, false),
    ("more", Type::Array, false),
    ("space", Type::Array, false),
];
const USAGE: &[Rule] = &[
    ("input", Type::Unsigned, false),
    ("output", Type::Unsigned, false),
    ("cached", Type::Unsigned, false),
    ("reasoning", Type::Unsigned, false),
    ("input-audio", Type::Unsigned, false),
    ("output-audio", Type::Unsigned, false),
    ("cache-write", Type::Unsigned, false),
    ("cache-write-long", Type::Unsigned, false),
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
    pub(super) fn outer(&mut self, record: Val<'_>, out: &mut Events<'_>) {
        if record.kind() != Kind::Object {
            return breach("", "a map", out);
        }
        rules(record, "", RECORD, out);
        // Its entries cut the session in two; everything else stands in one of the pieces.
        once(record, "", RECORD, &mut self.record, out);
        sub(record, "", "recording-agent", AGENT, out);
        sub(record, "", "vcs", VCS, out);
        sub(record, "", "vendor-ext", EXT, out);
        if let Some(attribution) = record.get("file-attribution").filter(|map| map.kind() == Kind::Object) {
            attribution_map(attribution, out);
        }
        let Some(session) = record.get("session").filter(|map| map.kind() == Kind::Object) else { return };
        rules(session, "/session", SESSION, out);
        once(session, "/session", SESSION, self.session.get_or_insert_default(), out);
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

    /// Checks that nothing is missing of the outer document.
    pub(super) fn finish(&self, out: &mut Events<'_>) {
        for name in ["version", "id", "session"].iter().filter(|name| !self.record.contains(name)) {
            breach(&format!("/{name}"), "this member", out);
        }
        if let Some(session) = &self.session {
            let required = ["session-id", "agent-meta", "entries"];
            for name in required.iter().filter(|name| !session.contains(name)) {
                breach(&format!("/session/{name}"), "this member", out);
            }
        }
    }
}

/// Notes the members of a map that comes in pieces: none may stand in two.
fn once(map: Val<'_>, pointer: &str, known: &[Rule], seen: &mut Vec<&'static str>, out: &mut Events<'_>) {
    for &(name, ..) in known.iter().filter(|(name, ..)| map.get(name).is_some()) {
        if !seen.contains(&name) {
            seen.push(name);
        } else if name != "session" {
            breach(&format!("{pointer}/{name}"), "this member only once", out);
        }
    }
}

/// Checks one entry and its children.
pub(super) fn check_entry(entry: Val<'_>, pointer: &str, out: &mut Events<'_>) {
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
    if matches!(kind.as_escaped(), "user" | "assistant") {
        sub(entry, pointer, "token-usage", USAGE, out);
    }
    sub(entry, pointer, "vendor-ext", EXT, out);
    for (number, child) in entry.get("children").into_iter().flat_map(|list| list.elements()).enumerate() {
        check_entry(child, &format!("{pointer}/children/{number}"), out);
    }
}

fn attribution_map(map: Val<'_>, out: &mut Events<'_>) {
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

fn contributor(map: Val<'_>, pointer: &str, out: &mut Events<'_>) {
    let Some(contributor) = map.get("contributor") else { return };
    let at = format!("{pointer}/contributor");
    closed(contributor, &at, CONTRIBUTOR, out);
    let kind = contributor.get("type").and_then(|kind| kind.str());
    if kind.is_some_and(|kind| !matches!(kind.as_escaped(), "human" | "ai" | "mixed" | "unknown")) {
        breach(&format!("{at}/type"), "human, ai, mixed or unknown", out);
    }
}

type Each<'a> = &'a mut dyn FnMut(Val<'_>, &str, &mut Events<'_>);

fn each(list: Option<Val<'_>>, pointer: &str, out: &mut Events<'_>, check: Each<'_>) {
    for (number, element) in list.into_iter().flat_map(|list| list.elements()).enumerate() {
        check(element, &format!("{pointer}/{number}"), out);
    }
}

fn each_text(list: Option<Val<'_>>, pointer: &str, out: &mut Events<'_>) {
    each(list, pointer, out, &mut |element, at, out| {
        if element.kind() != Kind::String {
            breach(at, "text", out);
        }
    });
}

fn sub(map: Val<'_>, pointer: &str, name: &str, wanted: &[Rule], out: &mut Events<'_>) {
    if let Some(member) = map.get(name).filter(|member| member.kind() == Kind::Object) {
        rules(member, &format!("{pointer}/{name}"), wanted, out);
    }
}

/// A map in which nothing else is allowed.
fn closed(map: Val<'_>, pointer: &str, wanted: &[Rule], out: &mut Events<'_>) {
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

fn rules(map: Val<'_>, pointer: &str, wanted: &[Rule], out: &mut Events<'_>) {
    if map.frame_has_duplicates() {
        for (name, ..) in wanted {
            if map.members().filter(|(member, _)| member.is(name)).count() > 1 {
                breach(&format!("{pointer}/{name}"), "this member only once", out);
            }
        }
    }
    for &(name, kind, required) in wanted {
        match map.get(name) {
            Some(val) if !kind.admits(val) => breach(&format!("{pointer}/{name}"), kind.name(), out),
            None if required => breach(&format!("{pointer}/{name}"), kind.name(), out),
            Some(_) | None => {}
        }
    }
}

#[cold]
fn breach(pointer: &str, expected: &str, out: &mut Events<'_>) {
    out.problem(Code::Schema, Some(pointer.to_owned()), &format!("expected {expected}"));
}
