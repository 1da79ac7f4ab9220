//! The session of a record: values known before the entries precede them, the rest follows.

use super::node::is_time;
use super::profile::{DraftProfile, OURS};
use crate::dialects::Dialect;
use crate::error::Code;
use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::ledger::Ledger;
use crate::model::{Field, Session, Spelling, Time, time};
use crate::pipe::{EventSink, SourceDigest};
use crate::tape::Val;

/// The filler for a required value that the source lacks.
pub(super) const UNKNOWN: &str = "unknown";

/// The session values so far. The first value of a field goes to the record's member for it, if the record has one; a
/// change becomes an entry at its position.
#[derive(Default)]
pub(super) struct SessionSummary {
    /// Values for the record's own members.
    first: Session<'static>,
    /// The latest value of each field.
    known: Session<'static>,
    /// Members already written before the entries.
    written: WrittenFirst,
    /// Set once a second title was read; each title then has an entry.
    titles: bool,
    pub(super) overview: Overview,
    profile: DraftProfile,
    /// The fallback name for a session without an id.
    source_name: Option<String>,
}

/// Values derived from the entries. The writer and the reader derive the same values.
#[derive(Default)]
pub(super) struct Overview {
    /// The models of the responses.
    pub(super) models: Vec<String>,
    /// The first time of any entry, for a session without a start time. Empty if no entry has a time.
    pub(super) first_time: String,
    pub(super) last_time: String,
}

impl Overview {
    /// Adds a model.
    pub(super) fn model(&mut self, model: &Str<'_>) {
        let known = self.models.iter().any(|known| known == model.as_escaped());
        // Claude Code writes `<synthetic>` for its own text. Each entry names its model; this list is the overview.
        if !known && model.as_escaped() != "<synthetic>" && self.models.len() < 64 {
            self.models.push(model.as_escaped().to_owned());
        }
    }

    /// The creation time of the record: the latest time in it, as a JSON value.
    pub(super) fn age(&self) -> &str {
        if self.last_time.is_empty() { "0" } else { &self.last_time }
    }

    /// Adds the time of an event.
    pub(super) fn time(&mut self, time: &Time<'_>) {
        if self.first_time.is_empty() {
            self.first_time.push_str(time.as_str());
        }
        self.later(time);
    }

    /// Adds an end time, or the time of writing. A session ends at the latest of all times: logs write lines out of
    /// order, and hold the end of a message before the start of the next line.
    pub(super) fn later(&mut self, time: &Time<'_>) {
        if !is_earlier(time, &self.last_time) {
            self.last_time.clear();
            self.last_time.push_str(time.as_str());
        }
    }
}

/// Whether a time is before the latest time so far, which may be empty.
fn is_earlier(time: &Time<'_>, latest: &str) -> bool {
    // Nearly all times have the same form in UTC, in which text order equals time order.
    if time.as_str().len() == latest.len() && latest.ends_with("Z\"") && time.as_str().ends_with("Z\"") {
        return time.as_str() < latest;
    }
    match (time::epoch_millis(time), time::epoch_millis(&Raw::new(latest))) {
        (Some(time), Some(latest)) => time < latest,
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// Members written before the entries.
#[derive(Default)]
struct WrittenFirst {
    id: bool,
    start: bool,
    environment: bool,
}

impl SessionSummary {
    pub(super) fn new(source_name: Option<String>, profile: DraftProfile) -> Self {
        Self { profile, source_name, ..Self::default() }
    }

    /// Adds the session values of an event. Returns the values that need entries, because the record's own members are
    /// taken.
    pub(super) fn learn(&mut self, session: &Session<'_>, ledger: &mut Ledger) -> Vec<Session<'static>> {
        let mut news = session.clone().news_to(&self.known).into_owned();
        if self.first.id.is_some() && session.id.is_some() {
            // Forks and resumes contain lines of other sessions.
            ledger.note("more than one session id in one source; the first names the record");
        }
        self.known.update(news.clone());
        // The record names the first model, whether an entry or the session held it.
        let another_model = self
            .overview
            .models
            .first()
            .is_some_and(|first| news.model.as_ref().is_some_and(|model| model.as_escaped() != first));
        if let Some(model) = &session.model {
            self.overview.model(model);
        }
        let placed = self.written.environment;
        let first = &mut self.first;
        let mut entries = Vec::new();
        // The record holds the last title; with several titles, each title also has an entry.
        if let (Some(title), true, false) = (&first.title, news.title.is_some(), self.titles) {
            self.titles = true;
            entries.push(Session { title: Some(title.clone()), ..Session::default() });
        }
        for (place, fact, closed) in [
            (&mut first.id, &mut news.id, false),
            (&mut first.parent, &mut news.parent, false),
            (&mut first.cwd, &mut news.cwd, false),
            (&mut first.cli_version, &mut news.cli_version, false),
            (&mut first.model, &mut news.model, another_model),
            (&mut first.provider, &mut news.provider, false),
            (&mut first.branch, &mut news.branch, placed),
            (&mut first.commit, &mut news.commit, placed),
            (&mut first.repository, &mut news.repository, placed),
            (&mut first.title, &mut news.title, false),
            (&mut first.agent, &mut news.agent, false),
            (&mut first.unrecorded, &mut news.unrecorded, false),
        ] {
            if place.is_none() && !closed {
                *place = fact.take();
            }
        }
        // The end of the active branch is final only at the end of the source, so the record holds the last value.
        news.leaf = None;
        if first.start.is_none() && news.start.as_ref().is_some_and(is_time) {
            first.start = news.start.take();
        }
        if news != Session::default() {
            entries.push(news);
        }
        entries
    }

    /// Whether `session` has this session's id.
    pub(super) fn is_of(&self, session: &Session<'_>) -> bool {
        session.id.is_some() && session.id == self.first.id
    }

    /// The end of the active branch so far.
    pub(super) fn leaf(&self) -> Option<&Str<'static>> {
        self.known.leaf.as_ref()
    }

    /// Whether the working directory is known, the last session value in most logs.
    pub(super) fn is_placed(&self) -> bool {
        self.first.cwd.is_some()
    }

    /// Writes the record up to its entries.
    pub(super) fn write_head(&mut self, json: &mut JsonWriter<'_>) {
        json.object().key("version").literal(self.profile.version()).opt_str("id", self.first.id.as_ref());
        json.key("session").object().opt_str("session-id", self.first.id.as_ref());
        self.written.id = self.first.id.is_some();
        // A start time taken from the first entry is written after the entries, which shows a reader that it is
        // derived.
        json.opt_raw("session-start", self.first.start.as_ref());
        self.written.start = self.first.start.is_some();
        self.written.environment = self.write_environment(json);
        json.key("entries").array();
    }

    /// Writes the environment, if the working directory is known.
    fn write_environment(&self, json: &mut JsonWriter<'_>) -> bool {
        let Session { cwd: Some(cwd), branch, commit, repository, .. } = &self.first else { return false };
        json.key("environment").object().key("working-dir").str(cwd);
        if branch.is_some() || commit.is_some() || repository.is_some() {
            json.key("vcs").object().key("type").literal("git");
            json.opt_str("revision", commit.as_ref())
                .opt_str("branch", branch.as_ref())
                .opt_str("repository", repository.as_ref())
                .end_object();
        }
        json.end_object();
        true
    }

    /// Closes the entries and the record.
    pub(super) fn write_tail(
        &self,
        no_final_newline: bool,
        source: Option<&SourceDigest>,
        json: &mut JsonWriter<'_>,
    ) {
        json.end_array();
        let placed = self.written.environment || self.write_environment(json);
        let named = || Str::from_plain(self.source_name.as_deref().unwrap_or(UNKNOWN));
        let late_id = (!self.written.id).then(|| self.first.id.clone().unwrap_or_else(named));
        json.opt_str("session-id", late_id.as_ref());
        if !self.written.start {
            let first_time = told(&self.overview.first_time);
            json.opt_raw("session-start", self.first.start.as_ref().or(first_time.as_ref()));
        }
        json.opt_raw("session-end", told(&self.overview.last_time).as_ref());
        self.write_agent(json);
        // The schema has no member for these values, and requires a working directory beside the repository.
        let Session { parent, branch, commit, repository, unrecorded, .. } = self.first.clone();
        let Session { title, leaf, .. } = self.known.clone();
        let mut ours = Session { parent, title, leaf, unrecorded, ..Session::default() };
        if !placed {
            (ours.branch, ours.commit, ours.repository) = (branch, commit, repository);
        }
        if ours != Session::default() || no_final_newline || source.is_some() {
            json.key("vendor-ext").object().key("vendor").literal(OURS).key("data").object();
            ours.write_members(&[], Spelling::Kebab, json);
            if no_final_newline {
                json.key("final-newline").bool(false);
            }
            if let Some(source) = source {
                write_source(source, json);
            }
            json.end_object().end_object();
        }
        if self.profile == DraftProfile::V2 {
            // A filler: the schema requires the format, and no log holds it.
            json.key("format").literal("interactive");
        }
        json.end_object().opt_str("id", late_id.as_ref());
        if self.profile == DraftProfile::V2 {
            // A record is a function of its source, so its creation time is the latest time in it.
            json.key("created").raw(&Raw::new(self.overview.age()));
        }
        json.end_object().frame("\n");
    }

    fn write_agent(&self, json: &mut JsonWriter<'_>) {
        json.key("agent-meta").object();
        let models = &self.overview.models;
        json.key("model-id").literal(models.first().map_or(UNKNOWN, String::as_str));
        let Session { agent, provider, cli_version, .. } = &self.first;
        // Logs of a single-vendor agent do not name the vendor.
        let issuer = || Dialect::named(agent.as_ref()?.as_escaped())?.issuer;
        let provider = provider.as_ref().map(Str::as_escaped).or_else(issuer);
        json.key("model-provider").literal(provider.unwrap_or(UNKNOWN));
        if models.len() > 1 {
            json.key("models").array();
            for model in models {
                json.literal(model);
            }
            json.end_array();
        }
        json.opt_str("cli-name", agent.as_ref()).opt_str("cli-version", cli_version.as_ref()).end_object();
    }
}

/// Writes the source of the record. The number of records is written only if the source became several.
fn write_source(source: &SourceDigest, json: &mut JsonWriter<'_>) {
    let SourceDigest { dialect, bytes, sha256, records } = source;
    json.key("source").object().key("bytes").u64(*bytes).key("dialect").literal(dialect);
    json.opt_u64("records", records.filter(|count| *count > 1)).key("sha-256").literal(sha256).end_object();
}

/// Passes on the source that our extension of the session names.
pub(super) fn pass_on_source(data: Option<Val<'_>>, out: &mut EventSink<'_>) {
    let Some(source) = data.and_then(|data| data.get("source")) else { return };
    match read_source(source) {
        Some(source) => out.source(&source),
        // Redaction removes the digest, because a reader could test guesses about removed text with it.
        None if source.is_null() => {
            source.note(Field::Structure);
            out.note("redacted: the record names no source, so a restored log is not compared with it");
        }
        None => {
            let at = "/session/vendor-ext/data/source".to_owned();
            out.problem(Code::Schema, Some(at), "expected `bytes`, `dialect` and `sha-256` of the source");
        }
    }
}

/// Reads the source of a record. `None` if a member is missing or has another form; the members are then unclaimed.
fn read_source(source: Val<'_>) -> Option<SourceDigest> {
    let members = ["dialect", "bytes", "sha-256"].map(|name| source.get(name));
    let [Some(dialect), Some(bytes), Some(sha256)] = members else { return None };
    let records = match source.get("records") {
        None => 1,
        Some(records) => records.u64().filter(|count| *count > 1)?,
    };
    let digits = sha256.str()?.decode().into_owned();
    let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 64 || !digits.as_bytes().iter().all(is_digit) {
        return None;
    }
    let read = SourceDigest {
        dialect: dialect.str()?.decode().into_owned(),
        bytes: bytes.u64()?,
        sha256: digits,
        records: Some(records),
    };
    for member in [Some(dialect), Some(bytes), Some(sha256), source.get("records")].into_iter().flatten() {
        member.note(Field::Structure);
    }
    Some(read)
}

/// A required text member; `unknown` is the writer's filler for a missing value.
pub(super) fn known<'t>(map: Val<'t>, name: &str, field: Field) -> Option<Str<'t>> {
    let val = map.get(name)?;
    if val.is(UNKNOWN) {
        val.note(Field::Structure);
        return None;
    }
    val.take_text(field)
}

/// The provider of the model. A provider that follows from the agent is structure.
pub(super) fn provider(meta: Val<'_>) -> Option<Str<'_>> {
    let agent = meta.get("cli-name").and_then(|name| name.str());
    let issuer = agent.and_then(|agent| Dialect::named(agent.as_escaped())?.issuer);
    let usual = meta.get("model-provider").filter(|own| issuer.is_some_and(|issuer| own.is(issuer)));
    match usual {
        Some(usual) => usual.note_text(Field::SessionProvider),
        None => known(meta, "model-provider", Field::SessionProvider),
    }
}

/// The time, unless empty.
fn told(time: &str) -> Option<Raw<'_>> {
    (!time.is_empty()).then(|| Raw::new(time))
}
