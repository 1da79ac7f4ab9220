//! Validates a record against its schema at reading speed. The `interlingua-record` crate holds the same rules as CDDL.

use super::call_ids::SYNTHETIC;
use super::profile::DraftProfile;
use super::read_entry::ReadEntry;
use crate::error::Code;
use crate::json::is_rfc3339;
use crate::pipe::EventSink;
use crate::tape::{Kind, Val, hash_of};

/// Validation state of the outer document, which arrives in two pieces.
#[derive(Default)]
pub(super) struct Checker {
    profile: DraftProfile,
    record: Vec<&'static str>,
    /// `None` until a `session` map was read.
    session: Option<Vec<&'static str>>,
}

/// The type of a member.
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

/// The type of a member, and whether it is required.
struct Rule {
    name: &'static str,
    /// The hash of the name.
    hash: u32,
    kind: Type,
    required: bool,
}

const fn may(name: &'static str, kind: Type) -> Rule {
    Rule { name, hash: hash_of(name.as_bytes()), kind, required: false }
}

const fn must(name: &'static str, kind: Type) -> Rule {
    Rule { required: true, ..may(name, kind) }
}

const BASE: &[Rule] = &[
    must("type", Type::Text),
    may("timestamp", Type::Time),
    may("id", Type::Text),
    may("children", Type::Array),
    may("vendor-ext", Type::Map),
];
const MESSAGE: &[Rule] = &[
    may("content", Type::Any),
    may("model-id", Type::Text),
    may("parent-id", Type::Text),
    may("token-usage", Type::Map),
];
const CALL: &[Rule] = &[
    must("name", Type::Text),
    must("input", Type::Any),
    may("call-id", Type::Text),
    may(SYNTHETIC, Type::Bool),
];
const RESULT: &[Rule] = &[
    must("output", Type::Any),
    may("call-id", Type::Text),
    may(SYNTHETIC, Type::Bool),
    may("status", Type::Text),
    may("is-error", Type::Bool),
    may("files", Type::Array),
];
const REASONING: &[Rule] = &[
    must("content", Type::Any),
    may("encrypted", Type::Text),
    may("signature", Type::Text),
    may("subject", Type::Text),
];
const EVENT: &[Rule] = &[must("event-type", Type::Text), may("data", Type::Map)];
const EXT: &[Rule] = &[
    must("vendor", Type::Text),
    may("version", Type::Text),
    may("data", Type::Any),
    may("more", Type::Array),
    may("space", Type::Array),
];
const USAGE: &[Rule] = &[
    may("input", Type::Unsigned),
    may("output", Type::Unsigned),
    may("cached", Type::Unsigned),
    may("reasoning", Type::Unsigned),
    may("input-audio", Type::Unsigned),
    may("output-audio", Type::Unsigned),
    may("cache-write", Type::Unsigned),
    may("cache-write-long", Type::Unsigned),
    may("total", Type::Unsigned),
    may("cost", Type::Number),
];
const RECORD: &[Rule] = &[
    may("version", Type::Text),
    may("id", Type::Text),
    may("session", Type::Map),
    may("created", Type::Time),
    may("file-attribution", Type::Map),
    may("vcs", Type::Map),
    may("recording-agent", Type::Map),
    may("vendor-ext", Type::Map),
];
const SESSION: &[Rule] = &[
    may("session-id", Type::TextOrBytes),
    may("agent-meta", Type::Map),
    may("entries", Type::Array),
    may("format", Type::Text),
    may("session-start", Type::Time),
    may("session-end", Type::Time),
    may("environment", Type::Map),
    may("vendor-ext", Type::Map),
];
const META: &[Rule] = &[
    must("model-id", Type::Text),
    must("model-provider", Type::Text),
    may("models", Type::Array),
    may("cli-name", Type::Text),
    may("cli-version", Type::Text),
];
const AGENT: &[Rule] = &[must("name", Type::Text), may("version", Type::Text)];
const ENVIRONMENT: &[Rule] =
    &[must("working-dir", Type::Text), may("vcs", Type::Map), may("sandboxes", Type::Array)];
const VCS: &[Rule] = &[
    must("type", Type::Text),
    may("revision", Type::Text),
    may("branch", Type::Text),
    may("repository", Type::Text),
];
const ATTRIBUTION: &[Rule] = &[must("files", Type::Array)];
const FILE: &[Rule] = &[must("path", Type::Text), must("conversations", Type::Array)];
const CONVERSATION: &[Rule] = &[
    must("ranges", Type::Array),
    may("url", Type::Text),
    may("contributor", Type::Map),
    may("related", Type::Array),
];
const RELATED: &[Rule] = &[must("type", Type::Text), must("url", Type::Text)];
const RANGE: &[Rule] = &[
    must("start-line", Type::Unsigned),
    must("end-line", Type::Unsigned),
    may("content-hash", Type::Text),
    may("content-hash-alg", Type::Text),
    may("contributor", Type::Map),
];
const CONTRIBUTOR: &[Rule] = &[must("type", Type::Text), may("model-id", Type::Text)];

// The closed maps of profile v2, where they differ.
const BASE_V2: &[Rule] = &[
    must("type", Type::Text),
    may("timestamp", Type::Time),
    may("id", Type::Text),
    may("session-id", Type::TextOrBytes),
    may("children", Type::Array),
    may("vendor-ext", Type::Map),
];
const USER_V2: &[Rule] = &[may("content", Type::Any), may("parent-id", Type::Text)];
const ASSISTANT_V2: &[Rule] = &[
    may("content", Type::Any),
    may("parent-id", Type::Text),
    may("model-id", Type::Text),
    may("stop-reason", Type::Text),
    may("token-usage", Type::Map),
];
const CALL_V2: &[Rule] = &[
    must("name", Type::Text),
    must("input", Type::Any),
    may("call-id", Type::Text),
    may("tool-id", Type::Text),
    may("contributor", Type::Map),
];
const RESULT_V2: &[Rule] = &[
    must("output", Type::Any),
    may("call-id", Type::Text),
    may("status", Type::Text),
    may("is-error", Type::Bool),
];
const REASONING_V2: &[Rule] =
    &[must("content", Type::Any), may("encrypted", Type::Text), may("subject", Type::Text)];
const VENDOR_V2: &[Rule] = &[must("vendor-ext", Type::Map)];
const EXT_V2: &[Rule] = &[must("vendor", Type::Text), may("version", Type::Text), may("data", Type::Map)];
const USAGE_V2: &[Rule] = &[
    may("input", Type::Unsigned),
    may("output", Type::Unsigned),
    may("cached", Type::Unsigned),
    may("reasoning", Type::Unsigned),
    may("total", Type::Unsigned),
    may("cost", Type::Number),
];
const RECORD_V2: &[Rule] = &[
    may("version", Type::Text),
    may("id", Type::Text),
    may("created", Type::Time),
    may("session", Type::Map),
    may("file-attribution", Type::Map),
    may("vcs", Type::Map),
    may("recording-agent", Type::Map),
    may("metadata", Type::Map),
];
const RANGE_V2: &[Rule] = &[
    must("start_line", Type::Unsigned),
    must("end_line", Type::Unsigned),
    may("content_hash", Type::Text),
    may("content_hash_alg", Type::Text),
    may("contributor", Type::Map),
];

const CONTRIBUTOR_V2: &[Rule] = &[must("type", Type::Text), may("model_id", Type::Text)];

/// The path of a value, formatted only for an error.
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
    pub(super) fn new(profile: DraftProfile) -> Self {
        Self { profile, ..Self::default() }
    }

    /// Validates the current piece of the outer document.
    pub(super) fn outer(&mut self, record: Val<'_>, out: &mut EventSink<'_>) {
        let at = Pointer::Record;
        if record.kind() != Kind::Object {
            return breach(at, "a map", out);
        }
        let profile = self.profile;
        let wanted = if profile == DraftProfile::V3 { RECORD } else { RECORD_V2 };
        profile.map(record, at, &[wanted], out);
        // The entries split the session in two; every other member is in a single piece.
        once(record, at, wanted, &mut self.record, out);
        sub(record.get("recording-agent"), at.member("recording-agent"), AGENT, profile, out);
        sub(record.get("vcs"), at.member("vcs"), VCS, profile, out);
        for name in ["vendor-ext", "metadata"] {
            extension(record.get(name), at.member(name), profile, out);
        }
        if let Some(attribution) = record.get("file-attribution").filter(|map| map.kind() == Kind::Object) {
            attribution_map(attribution, profile, at.member("file-attribution"), out);
        }
        let Some(session) = record.get("session").filter(|map| map.kind() == Kind::Object) else { return };
        let at = at.member("session");
        profile.map(session, at, &[SESSION], out);
        once(session, at, SESSION, self.session.get_or_insert_default(), out);
        extension(session.get("vendor-ext"), at.member("vendor-ext"), profile, out);
        let format = session.get("format").filter(|format| {
            profile == DraftProfile::V2 && !["interactive", "autonomous"].iter().any(|word| format.is(word))
        });
        if format.is_some() {
            breach(at.member("format"), "interactive or autonomous", out);
        }
        if let Some(meta) = sub(session.get("agent-meta"), at.member("agent-meta"), META, profile, out) {
            each_text(meta, at.member("agent-meta"), "models", out);
        }
        if let Some(environment) =
            sub(session.get("environment"), at.member("environment"), ENVIRONMENT, profile, out)
        {
            let at = at.member("environment");
            each_text(environment, at, "sandboxes", out);
            sub(environment.get("vcs"), at.member("vcs"), VCS, profile, out);
        }
    }

    /// Validates that the outer document is complete.
    pub(super) fn finish(&self, out: &mut EventSink<'_>) {
        let required = |seen: &[&str], at: Pointer<'_>, names: &[&str], out: &mut EventSink<'_>| {
            for name in names.iter().filter(|name| !seen.contains(name)) {
                breach(at.member(name), "this member", out);
            }
        };
        let at = Pointer::Record;
        let (of_record, of_session): (&[&str], &[&str]) = match self.profile {
            DraftProfile::V3 => (&["version", "id", "session"], &["session-id", "agent-meta", "entries"]),
            DraftProfile::V2 => {
                (&["version", "id", "created"], &["session-id", "agent-meta", "entries", "format"])
            }
        };
        required(&self.record, at, of_record, out);
        if let Some(session) = &self.session {
            required(session, at.member("session"), of_session, out);
        }
    }
}

/// Records the members of a map that arrives in pieces; no member may be in both pieces.
fn once(
    map: Val<'_>,
    at: Pointer<'_>,
    known: &[Rule],
    seen: &mut Vec<&'static str>,
    out: &mut EventSink<'_>,
) {
    for &Rule { name, .. } in known.iter().filter(|rule| map.get(rule.name).is_some()) {
        if !seen.contains(&name) {
            seen.push(name);
        } else if name != "session" {
            breach(at.member(name), ONCE, out);
        }
    }
}

/// Validates an entry and, recursively, the entry's children.
pub(super) fn check_entry(entry: &ReadEntry<'_>, at: Pointer<'_>, out: &mut EventSink<'_>) {
    if entry.map.kind() != Kind::Object {
        return breach(at, "a map", out);
    }
    let Some(kind) = entry.kind.and_then(|kind| kind.str()) else {
        return breach(at.member("type"), "the type of the entry", out);
    };
    let profile = entry.profile;
    let own = match (kind.as_escaped(), profile) {
        ("user" | "assistant", DraftProfile::V3) => MESSAGE,
        ("user", DraftProfile::V2) => USER_V2,
        ("assistant", DraftProfile::V2) => ASSISTANT_V2,
        ("tool-call", DraftProfile::V3) => CALL,
        ("tool-call", DraftProfile::V2) => CALL_V2,
        ("tool-result", DraftProfile::V3) => RESULT,
        ("tool-result", DraftProfile::V2) => RESULT_V2,
        ("reasoning", DraftProfile::V3) => REASONING,
        ("reasoning", DraftProfile::V2) => REASONING_V2,
        ("system-event", _) => EVENT,
        (_, DraftProfile::V2) => VENDOR_V2,
        (_, DraftProfile::V3) => return breach(at.member("type"), "one of the six entry types", out),
    };
    // Seed documents of the draft have `tool-id` for a tool call's own id; both names are accepted.
    profile.map(entry.map, at, &[profile.of_every_entry(), own], out);
    let usage = entry.map.get("token-usage");
    let usage = usage.filter(|_| matches!(kind.as_escaped(), "user" | "assistant"));
    let counts = if profile == DraftProfile::V3 { USAGE } else { USAGE_V2 };
    sub(usage, at.member("token-usage"), counts, profile, out);
    extension(entry.ext, at.member("vendor-ext"), profile, out);
    if profile == DraftProfile::V2 {
        extension(entry.map.get("data"), at.member("data"), profile, out);
    }
    for (number, child) in entry.children().enumerate() {
        check_entry(&child, Pointer::Element(&at.member("children"), number), out);
    }
}

/// Validates a vendor extension.
fn extension(ext: Option<Val<'_>>, at: Pointer<'_>, profile: DraftProfile, out: &mut EventSink<'_>) {
    sub(ext, at, if profile == DraftProfile::V3 { EXT } else { EXT_V2 }, profile, out);
}

impl DraftProfile {
    /// Validates a map against all these rules.
    fn map(self, map: Val<'_>, at: Pointer<'_>, wanted: &[&[Rule]], out: &mut EventSink<'_>) {
        for wanted in wanted {
            rules(map, at, wanted, out);
        }
        if self == DraftProfile::V2 {
            nothing_else(map, at, wanted, out);
        }
    }

    const fn of_every_entry(self) -> &'static [Rule] {
        match self {
            DraftProfile::V3 => BASE,
            DraftProfile::V2 => BASE_V2,
        }
    }
}

fn attribution_map(map: Val<'_>, profile: DraftProfile, at: Pointer<'_>, out: &mut EventSink<'_>) {
    let range_rules = if profile == DraftProfile::V3 { RANGE } else { RANGE_V2 };
    closed(map, at, ATTRIBUTION, out);
    each(map, at, "files", out, &mut |file, at, out| {
        closed(file, at, FILE, out);
        each(file, at, "conversations", out, &mut |talk, at, out| {
            closed(talk, at, CONVERSATION, out);
            contributor(talk, profile, at, out);
            each(talk, at, "related", out, &mut |related, at, out| closed(related, at, RELATED, out));
            each(talk, at, "ranges", out, &mut |range, at, out| {
                closed(range, at, range_rules, out);
                contributor(range, profile, at, out);
            });
        });
    });
}

fn contributor(map: Val<'_>, profile: DraftProfile, at: Pointer<'_>, out: &mut EventSink<'_>) {
    let Some(contributor) = map.get("contributor") else { return };
    let at = at.member("contributor");
    closed(contributor, at, if profile == DraftProfile::V3 { CONTRIBUTOR } else { CONTRIBUTOR_V2 }, out);
    let kind = contributor.get("type").and_then(|kind| kind.str());
    if kind.is_some_and(|kind| !matches!(kind.as_escaped(), "human" | "ai" | "mixed" | "unknown")) {
        breach(at.member("type"), "human, ai, mixed or unknown", out);
    }
}

type Each<'a> = &'a mut dyn FnMut(Val<'_>, Pointer<'_>, &mut EventSink<'_>);

/// Validates each element of a list.
fn each(map: Val<'_>, at: Pointer<'_>, list: &str, out: &mut EventSink<'_>, check: Each<'_>) {
    let elements = map.get(list).into_iter().flat_map(|list| list.elements());
    for (number, element) in elements.enumerate() {
        check(element, Pointer::Element(&at.member(list), number), out);
    }
}

fn each_text(map: Val<'_>, at: Pointer<'_>, list: &str, out: &mut EventSink<'_>) {
    each(map, at, list, out, &mut |element, at, out| {
        if element.kind() != Kind::String {
            breach(at, "text", out);
        }
    });
}

/// Validates a member that is a map, and returns it.
fn sub<'t>(
    member: Option<Val<'t>>,
    at: Pointer<'_>,
    wanted: &[Rule],
    profile: DraftProfile,
    out: &mut EventSink<'_>,
) -> Option<Val<'t>> {
    let map = member.filter(|member| member.kind() == Kind::Object)?;
    profile.map(map, at, &[wanted], out);
    Some(map)
}

/// Validates a map that allows no other members.
fn closed(map: Val<'_>, at: Pointer<'_>, wanted: &[Rule], out: &mut EventSink<'_>) {
    if map.kind() != Kind::Object {
        return breach(at, "a map", out);
    }
    rules(map, at, wanted, out);
    nothing_else(map, at, &[wanted], out);
}

/// Validates that every member has a rule.
fn nothing_else(map: Val<'_>, at: Pointer<'_>, wanted: &[&[Rule]], out: &mut EventSink<'_>) {
    for (name, _) in map.members() {
        if !wanted.iter().copied().flatten().any(|rule| name.is(rule.name)) {
            breach(at.member(name.as_escaped()), "no further member", out);
        }
    }
}

/// Validates the members that have rules.
fn rules(map: Val<'_>, at: Pointer<'_>, wanted: &[Rule], out: &mut EventSink<'_>) {
    // One bit per rule, set once the member was read.
    let mut seen = 0u32;
    for (name, val) in map.members() {
        let hash = val.name_hash();
        let is_it = |rule: &Rule| rule.hash == hash && name.as_escaped() == rule.name;
        let Some(number) = wanted.iter().position(is_it) else { continue };
        let Rule { name, kind, .. } = &wanted[number];
        if seen >> number & 1 == 1 {
            breach(at.member(name), ONCE, out);
        } else if !kind.admits(val) {
            breach(at.member(name), kind.name(), out);
        }
        seen |= 1 << number;
    }
    for (number, Rule { name, kind, required, .. }) in wanted.iter().enumerate() {
        if *required && seen >> number & 1 == 0 {
            breach(at.member(name), kind.name(), out);
        }
    }
}

/// The expectation for a duplicate member.
const ONCE: &str = "this member only once";

#[cold]
fn breach(at: Pointer<'_>, expected: &str, out: &mut EventSink<'_>) {
    out.problem(Code::Schema, Some(at.to_string()), &format!("expected {expected}"));
}
