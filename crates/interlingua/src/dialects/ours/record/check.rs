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

/// Where a value stands, written out only when something is wrong with it.
#[derive(Clone, Copy)]
pub(super) enum Pointer<'p> {
    /// The record.
    Record,
    /// A member.
    Member(&'p Pointer<'p>, &'p str),
    /// An element of a list.
    Element(&'p Pointer<'p>, usize),
}

impl<'p> Pointer<'p> {
    pub(super) const fn member(&'p self, name: &'p str) -> Self {
        Pointer::Member(self, name)
    }
}

impl std::fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pointer::Record => Ok(()),
            Pointer::Member(around, name) => write!(f, "{around}/{name}"),
            Pointer::Element(around, number) => write!(f, "{around}/{number}"),
        }
    }
}

impl Checker {
    /// Checks the document around the entries, in the piece at hand.
    pub(super) fn outer(&mut self, record: Val<'_>, out: &mut Events<'_>) {
        let at = Pointer::Record;
        if record.kind() != Kind::Object {
            return breach(at, "a map", out);
        }
        rules(record, at, RECORD, out);
        // Its entries cut the session in two; everything else stands in one of the pieces.
        once(record, at, RECORD, &mut self.record, out);
        sub(record, at, "recording-agent", AGENT, out);
        sub(record, at, "vcs", VCS, out);
        sub(record, at, "vendor-ext", EXT, out);
        if let Some(attribution) = record.get("file-attribution").filter(|map| map.kind() == Kind::Object) {
            attribution_map(attribution, at.member("file-attribution"), out);
        }
        let Some(session) = record.get("session").filter(|map| map.kind() == Kind::Object) else { return };
        let at = at.member("session");
        rules(session, at, SESSION, out);
        once(session, at, SESSION, self.session.get_or_insert_default(), out);
        sub(session, at, "vendor-ext", EXT, out);
        if let Some(meta) = sub(session, at, "agent-meta", META, out) {
            each_text(meta, at.member("agent-meta"), "models", out);
        }
        if let Some(environment) = sub(session, at, "environment", ENVIRONMENT, out) {
            let at = at.member("environment");
            each_text(environment, at, "sandboxes", out);
            sub(environment, at, "vcs", VCS, out);
        }
    }

    /// Checks that nothing is missing of the outer document.
    pub(super) fn finish(&self, out: &mut Events<'_>) {
        let required = |seen: &[&str], at: Pointer<'_>, names: [&str; 3], out: &mut Events<'_>| {
            for name in names.iter().filter(|name| !seen.contains(name)) {
                breach(at.member(name), "this member", out);
            }
        };
        let at = Pointer::Record;
        required(&self.record, at, ["version", "id", "session"], out);
        if let Some(session) = &self.session {
            required(session, at.member("session"), ["session-id", "agent-meta", "entries"], out);
        }
    }
}

/// Notes the members of a map that comes in pieces: none may stand in two.
fn once(map: Val<'_>, at: Pointer<'_>, known: &[Rule], seen: &mut Vec<&'static str>, out: &mut Events<'_>) {
    for &(name, ..) in known.iter().filter(|(name, ..)| map.get(name).is_some()) {
        if !seen.contains(&name) {
            seen.push(name);
        } else if name != "session" {
            breach(at.member(name), ONCE, out);
        }
    }
}

/// Checks one entry and its children.
pub(super) fn check_entry(entry: Val<'_>, at: Pointer<'_>, out: &mut Events<'_>) {
    if entry.kind() != Kind::Object {
        return breach(at, "a map", out);
    }
    let Some(kind) = entry.get("type").and_then(|kind| kind.str()) else {
        return breach(at.member("type"), "the type of the entry", out);
    };
    let own = match kind.as_escaped() {
        "user" | "assistant" => MESSAGE,
        "tool-call" => CALL,
        "tool-result" => RESULT,
        "reasoning" => REASONING,
        "system-event" => EVENT,
        _ => return breach(at.member("type"), "one of the six entry types", out),
    };
    rules(entry, at, BASE, out);
    // Seed documents of the draft call a tool call's own id `tool-id`; both are accepted.
    rules(entry, at, own, out);
    if matches!(kind.as_escaped(), "user" | "assistant") {
        sub(entry, at, "token-usage", USAGE, out);
    }
    sub(entry, at, "vendor-ext", EXT, out);
    each(entry, at, "children", out, &mut check_entry);
}

fn attribution_map(map: Val<'_>, at: Pointer<'_>, out: &mut Events<'_>) {
    closed(map, at, ATTRIBUTION, out);
    each(map, at, "files", out, &mut |file, at, out| {
        closed(file, at, FILE, out);
        each(file, at, "conversations", out, &mut |talk, at, out| {
            closed(talk, at, CONVERSATION, out);
            contributor(talk, at, out);
            each(talk, at, "related", out, &mut |related, at, out| closed(related, at, RELATED, out));
            each(talk, at, "ranges", out, &mut |range, at, out| {
                closed(range, at, RANGE, out);
                contributor(range, at, out);
            });
        });
    });
}

fn contributor(map: Val<'_>, at: Pointer<'_>, out: &mut Events<'_>) {
    let Some(contributor) = map.get("contributor") else { return };
    let at = at.member("contributor");
    closed(contributor, at, CONTRIBUTOR, out);
    let kind = contributor.get("type").and_then(|kind| kind.str());
    if kind.is_some_and(|kind| !matches!(kind.as_escaped(), "human" | "ai" | "mixed" | "unknown")) {
        breach(at.member("type"), "human, ai, mixed or unknown", out);
    }
}

type Each<'a> = &'a mut dyn FnMut(Val<'_>, Pointer<'_>, &mut Events<'_>);

/// Checks each element of a list.
fn each(map: Val<'_>, at: Pointer<'_>, list: &str, out: &mut Events<'_>, check: Each<'_>) {
    let elements = map.get(list).into_iter().flat_map(|list| list.elements());
    for (number, element) in elements.enumerate() {
        check(element, Pointer::Element(&at.member(list), number), out);
    }
}

fn each_text(map: Val<'_>, at: Pointer<'_>, list: &str, out: &mut Events<'_>) {
    each(map, at, list, out, &mut |element, at, out| {
        if element.kind() != Kind::String {
            breach(at, "text", out);
        }
    });
}

/// Checks a map within one, and returns it.
fn sub<'t>(
    map: Val<'t>,
    at: Pointer<'_>,
    name: &str,
    wanted: &[Rule],
    out: &mut Events<'_>,
) -> Option<Val<'t>> {
    let member = map.get(name).filter(|member| member.kind() == Kind::Object)?;
    rules(member, at.member(name), wanted, out);
    Some(member)
}

/// A map in which nothing else is allowed.
fn closed(map: Val<'_>, at: Pointer<'_>, wanted: &[Rule], out: &mut Events<'_>) {
    if map.kind() != Kind::Object {
        return breach(at, "a map", out);
    }
    rules(map, at, wanted, out);
    for (name, _) in map.members() {
        if !wanted.iter().any(|(known, ..)| name.is(known)) {
            breach(at.member(name.as_escaped()), "no further member", out);
        }
    }
}

/// Checks the members of a map that have rules.
fn rules(map: Val<'_>, at: Pointer<'_>, wanted: &[Rule], out: &mut Events<'_>) {
    // A bit for each rule whose member has been seen.
    let mut seen = 0u32;
    for (member, val) in map.members() {
        let mut known = wanted.iter().enumerate();
        let rule = known.find(|(_, (name, ..))| member.as_escaped() == *name);
        let Some((number, (name, kind, _))) = rule else { continue };
        if seen >> number & 1 == 1 {
            breach(at.member(name), ONCE, out);
        } else if !kind.admits(val) {
            breach(at.member(name), kind.name(), out);
        }
        seen |= 1 << number;
    }
    for (number, (name, kind, required)) in wanted.iter().enumerate() {
        if *required && seen >> number & 1 == 0 {
            breach(at.member(name), kind.name(), out);
        }
    }
}

/// What is expected of a member that stands there twice.
const ONCE: &str = "this member only once";

#[cold]
fn breach(at: Pointer<'_>, expected: &str, out: &mut Events<'_>) {
    out.problem(Code::Schema, Some(at.to_string()), &format!("expected {expected}"));
}
