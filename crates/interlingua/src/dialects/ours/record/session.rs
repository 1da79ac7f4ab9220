//! What a record says about its session: before the entries what is known by then, after them the rest.

use super::node::is_time;
use super::profile::{DraftProfile, OURS};
use crate::dialects::Dialect;
use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::ledger::Ledger;
use crate::model::{Session, Spelling, Time, time};

/// What the schema requires and nobody said.
pub(super) const UNKNOWN: &str = "unknown";

/// What is known about the session. The first word on a fact stands in the record's own place for it, if there is one; a
/// change is an entry, where it happened.
#[derive(Default)]
pub(super) struct SessionSummary {
    /// What stands, or will stand, in the record's own places.
    first: Session<'static>,
    /// The last word on each fact.
    known: Session<'static>,
    /// What stands before the entries already.
    written: WrittenFirst,
    /// Several titles were told, and each has its entry.
    titles: bool,
    pub(super) overview: Overview,
    profile: DraftProfile,
    /// What to call a session that has no id.
    source_name: Option<String>,
}

/// What follows from the entries. Writer and reader gather the same.
#[derive(Default)]
pub(super) struct Overview {
    /// The models that spoke.
    pub(super) models: Vec<String>,
    /// When the first thing happened, for a session that does not say when it began. Empty if nothing did.
    pub(super) first_time: String,
    pub(super) last_time: String,
}

impl Overview {
    /// A model spoke.
    pub(super) fn model(&mut self, model: &Str<'_>) {
        let known = self.models.iter().any(|known| known == model.as_escaped());
        // Claude Code writes `<synthetic>` where it speaks itself. Each entry names its model; this is the overview.
        if !known && model.as_escaped() != "<synthetic>" && self.models.len() < 64 {
            self.models.push(model.as_escaped().to_owned());
        }
    }

    /// How old a record of it is: as old as the last thing in it, as a JSON value.
    pub(super) fn age(&self) -> &str {
        if self.last_time.is_empty() { "0" } else { &self.last_time }
    }

    /// Something happened at that time.
    pub(super) fn time(&mut self, time: &Time<'_>) {
        if self.first_time.is_empty() {
            self.first_time.push_str(time.as_str());
        }
        self.later(time);
    }

    /// Something ended, or was written, at that time. A session ends at the latest of all times: logs write lines in
    /// another order than things happened in, and hold the end of a message before the beginning of the next line.
    pub(super) fn later(&mut self, time: &Time<'_>) {
        if !is_earlier(time, &self.last_time) {
            self.last_time.clear();
            self.last_time.push_str(time.as_str());
        }
    }
}

/// Whether a time is before the latest one so far, which may be empty.
fn is_earlier(time: &Time<'_>, latest: &str) -> bool {
    // Nearly all are of one form, in UTC: their digits are in the order of their weight.
    if time.as_str().len() == latest.len() && latest.ends_with("Z\"") && time.as_str().ends_with("Z\"") {
        return time.as_str() < latest;
    }
    match (time::epoch_millis(time), time::epoch_millis(&Raw::new(latest))) {
        (Some(time), Some(latest)) => time < latest,
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// Which members stand before the entries.
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

    /// Takes in what an event says. Returns what needs entries: what the record's own places cannot say any more.
    pub(super) fn learn(&mut self, session: &Session<'_>, ledger: &mut Ledger) -> Vec<Session<'static>> {
        let mut news = session.clone().news_to(&self.known).into_owned();
        if self.first.id.is_some() && session.id.is_some() {
            // Forks and resumes bring lines of other sessions.
            ledger.note("more than one session id in one source; the first names the record");
        }
        self.known.update(news.clone());
        // The record names the first model, whoever named it.
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
        // The last title is the record's; once there are several, each has its entry.
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
        // Where the branch that counts ends is known at the end: the last word stands there.
        news.leaf = None;
        if first.start.is_none() && news.start.as_ref().is_some_and(is_time) {
            first.start = news.start.take();
        }
        if news != Session::default() {
            entries.push(news);
        }
        entries
    }

    /// Whether the session is the one that another begins with: nobody says otherwise.
    pub(super) fn is_of(&self, session: &Session<'_>) -> bool {
        session.id.is_some() && session.id == self.first.id
    }

    /// The end of the branch that counts, as far as it was told.
    pub(super) fn leaf(&self) -> Option<&Str<'static>> {
        self.known.leaf.as_ref()
    }

    /// Whether it is known where the session took place, the last thing that most logs tell of it.
    pub(super) fn is_placed(&self) -> bool {
        self.first.cwd.is_some()
    }

    /// Opens the record up to its entries.
    pub(super) fn write_head(&mut self, json: &mut JsonWriter<'_>) {
        json.object().key("version").literal(self.profile.version()).opt_str("id", self.first.id.as_ref());
        json.key("session").object().opt_str("session-id", self.first.id.as_ref());
        self.written.id = self.first.id.is_some();
        // A time that only the first entry tells is written after the entries: a reader then knows that it follows.
        json.opt_raw("session-start", self.first.start.as_ref());
        self.written.start = self.first.start.is_some();
        self.written.environment = self.write_environment(json);
        json.key("entries").array();
    }

    /// Where the session took place, if that is known.
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
    pub(super) fn write_tail(&self, no_final_newline: bool, json: &mut JsonWriter<'_>) {
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
        // The schema has no place for these, and wants a working directory beside the repository.
        let Session { parent, branch, commit, repository, unrecorded, .. } = self.first.clone();
        let Session { title, leaf, .. } = self.known.clone();
        let mut ours = Session { parent, title, leaf, unrecorded, ..Session::default() };
        if !placed {
            (ours.branch, ours.commit, ours.repository) = (branch, commit, repository);
        }
        if ours != Session::default() || no_final_newline {
            json.key("vendor-ext").object().key("vendor").literal(OURS).key("data").object();
            ours.write_members(&[], Spelling::Kebab, json);
            if no_final_newline {
                json.key("final-newline").bool(false);
            }
            json.end_object().end_object();
        }
        if self.profile == DraftProfile::V2 {
            // The schema wants to know, and no log says it.
            json.key("format").literal("interactive");
        }
        json.end_object().opt_str("id", late_id.as_ref());
        if self.profile == DraftProfile::V2 {
            // A record is a function of its source: it is as old as the last thing in it.
            json.key("created").raw(&Raw::new(self.overview.age()));
        }
        json.end_object().frame("\n");
    }

    fn write_agent(&self, json: &mut JsonWriter<'_>) {
        json.key("agent-meta").object();
        let models = &self.overview.models;
        json.key("model-id").literal(models.first().map_or(UNKNOWN, String::as_str));
        let Session { agent, provider, cli_version, .. } = &self.first;
        // An agent of one vendor does not name the vendor in its logs.
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

/// A time, if there is one.
fn told(time: &str) -> Option<Raw<'_>> {
    (!time.is_empty()).then(|| Raw::new(time))
}
