//! What a record says about its session: before the entries what is known by then, after them the rest.

use super::VERSION;
use super::node::is_time;
use crate::dialects::Dialect;
use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::ledger::Ledger;
use crate::model::{Session, Time};

/// What the schema requires and nobody said.
pub(super) const UNKNOWN: &str = "unknown";

/// What is known about the session. Texts are escaped.
#[derive(Default)]
pub(super) struct Facts {
    id: Fact,
    /// What stands before the entries already.
    id_written: bool,
    start_written: bool,
    environment_written: bool,
    parent: Fact,
    cwd: Fact,
    cli_name: Option<Str<'static>>,
    cli_version: Fact,
    /// The model that the session said it uses.
    model: Fact,
    models: Vec<String>,
    provider: Fact,
    branch: Fact,
    commit: Fact,
    repository: Fact,
    title: Fact,
    start: Option<String>,
    /// When the first thing happened, for a session that does not say when it began.
    first_time: Option<String>,
    end: Option<String>,
    /// What to call a session that has no id.
    source_name: Option<String>,
}

/// A fact about the session. The first word stands in the record's own place for it; a change is an entry, where it
/// happened.
#[derive(Default)]
struct Fact {
    first: Option<String>,
    changed: Option<String>,
}

impl Fact {
    fn known(&self) -> Option<&str> {
        self.changed.as_deref().or(self.first.as_deref())
    }

    /// Takes in what was said. Returns it if it needs an entry: it changed, or its place is written already.
    fn learn(&mut self, said: Option<&Str<'_>>, written: bool) -> Option<Str<'static>> {
        let text = said?.as_escaped();
        if self.known() == Some(text) {
            return None;
        }
        if self.first.is_none() && !written {
            self.first = Some(text.to_owned());
            return None;
        }
        self.changed = Some(text.to_owned());
        said.map(|said| said.clone().into_owned())
    }
}

impl Facts {
    pub(super) fn new(source_name: Option<String>) -> Self {
        Self { source_name, ..Self::default() }
    }

    /// Takes in what an event says. Returns what needs entries: what the record's own places cannot say any more.
    pub(super) fn learn(&mut self, session: &Session<'_>, ledger: &mut Ledger) -> Vec<Session<'static>> {
        let Session {
            id,
            parent,
            cwd,
            cli_version,
            model,
            provider,
            branch,
            commit,
            repository,
            title,
            start,
            agent,
            ..
        } = session;
        if self.id.first.is_some() && id.is_some() {
            // Forks and resumes bring lines of other sessions.
            ledger.note("more than one session id in one source; the first names the record");
        }
        let placed = self.environment_written;
        // The record names the first model, whoever named it.
        let another_model = self
            .models
            .first()
            .is_some_and(|first| model.as_ref().is_some_and(|model| model.as_escaped() != first));
        let mut changed = Session {
            id: self.id.learn(id.as_ref(), false),
            parent: self.parent.learn(parent.as_ref(), false),
            cwd: self.cwd.learn(cwd.as_ref(), false),
            cli_version: self.cli_version.learn(cli_version.as_ref(), false),
            model: self.model.learn(model.as_ref(), another_model),
            provider: self.provider.learn(provider.as_ref(), false),
            branch: self.branch.learn(branch.as_ref(), placed),
            commit: self.commit.learn(commit.as_ref(), placed),
            repository: self.repository.learn(repository.as_ref(), placed),
            ..Session::default()
        };
        if let Some(model) = model {
            self.model(model);
        }
        match (&self.cli_name, agent) {
            (Some(known), Some(agent)) if known != agent => changed.agent = Some(agent.clone().into_owned()),
            (None, Some(agent)) => self.cli_name = Some(agent.clone().into_owned()),
            (Some(_) | None, _) => {}
        }
        if let Some(start) = start.as_ref().filter(|start| self.start.as_deref() != Some(start.as_str())) {
            if self.start.is_none() && is_time(start) {
                self.start = Some(start.as_str().to_owned());
            } else {
                changed.start = Some(start.clone().into_owned());
            }
        }
        let mut entries = Vec::new();
        // The last title is the record's; once there are several, each has its entry.
        let (first, alone) = (self.title.first.clone(), self.title.changed.is_none());
        changed.title = self.title.learn(title.as_ref(), false);
        if let (Some(first), true, true) = (first, alone, changed.title.is_some()) {
            let title = Some(Str::escaped(&first).into_owned());
            entries.push(Session { title, ..Session::default() });
        }
        if changed != Session::default() {
            entries.push(changed);
        }
        entries
    }

    /// A model spoke.
    pub(super) fn model(&mut self, model: &Str<'_>) {
        let known = self.models.iter().any(|known| known == model.as_escaped());
        // Claude Code writes `<synthetic>` where it speaks itself. Each entry names its model; this is the overview.
        if !known && model.as_escaped() != "<synthetic>" && self.models.len() < 64 {
            self.models.push(model.as_escaped().to_owned());
        }
    }

    /// Something happened at that time.
    pub(super) fn time(&mut self, time: &Time<'_>) {
        if self.first_time.is_none() {
            self.first_time = Some(time.as_str().to_owned());
        }
        let end = self.end.get_or_insert_default();
        end.clear();
        end.push_str(time.as_str());
    }

    /// Whether it is known where the session took place, the last thing that most logs tell of it.
    pub(super) fn is_placed(&self) -> bool {
        self.cwd.first.is_some()
    }

    /// Opens the record up to its entries.
    pub(super) fn write_head(&mut self, json: &mut JsonWriter<'_>) {
        json.object().key("version").literal(VERSION);
        if let Some(id) = &self.id.first {
            json.key("id").literal(id);
        }
        json.key("session").object();
        if let Some(id) = &self.id.first {
            json.key("session-id").literal(id);
            self.id_written = true;
        }
        // A time that only the first entry tells is written after the entries: a reader then knows that it follows.
        if let Some(start) = &self.start {
            json.key("session-start").raw(&Raw::new(start));
            self.start_written = true;
        }
        self.environment_written = self.write_environment(json);
        json.key("entries").array();
    }

    /// Where the session took place, if that is known.
    fn write_environment(&self, json: &mut JsonWriter<'_>) -> bool {
        let Some(cwd) = &self.cwd.first else { return false };
        json.key("environment").object().key("working-dir").literal(cwd);
        self.write_vcs(json);
        json.end_object();
        true
    }

    fn knows_vcs(&self) -> bool {
        [&self.commit, &self.branch, &self.repository].iter().any(|fact| fact.first.is_some())
    }

    fn write_vcs(&self, json: &mut JsonWriter<'_>) {
        if !self.knows_vcs() {
            return;
        }
        json.key("vcs").object().key("type").literal("git");
        let facts = [("revision", &self.commit), ("branch", &self.branch), ("repository", &self.repository)];
        for (name, fact) in facts {
            if let Some(value) = &fact.first {
                json.key(name).literal(value);
            }
        }
        json.end_object();
    }

    /// Closes the entries and the record.
    pub(super) fn write_tail(&self, no_final_newline: bool, json: &mut JsonWriter<'_>) {
        json.end_array();
        let placed = self.environment_written || self.write_environment(json);
        let named =
            || Str::from_plain(self.source_name.as_deref().unwrap_or("unknown")).as_escaped().to_owned();
        let late_id = (!self.id_written).then(|| self.id.first.clone().unwrap_or_else(named));
        if let Some(id) = &late_id {
            json.key("session-id").literal(id);
        }
        let start = self.start.as_ref().or(self.first_time.as_ref()).filter(|_| !self.start_written);
        for (name, time) in [("session-start", start), ("session-end", self.end.as_ref())] {
            json.opt_raw(name, time.map(|time| Raw::new(time)).as_ref());
        }
        self.write_agent(json);
        let homeless_vcs = !placed && self.knows_vcs();
        if self.parent.first.is_some() || self.title.known().is_some() || homeless_vcs || no_final_newline {
            json.key("vendor-ext").object().key("vendor").literal("interlingua").key("data").object();
            if let Some(parent) = &self.parent.first {
                json.key("parent-session-id").literal(parent);
            }
            if let Some(title) = self.title.known() {
                json.key("title").literal(title);
            }
            // The schema's own place wants a working directory.
            if homeless_vcs {
                self.write_vcs(json);
            }
            if no_final_newline {
                json.key("final-newline").bool(false);
            }
            json.end_object().end_object();
        }
        json.end_object();
        if let Some(id) = &late_id {
            json.key("id").literal(id);
        }
        json.end_object();
        json.frame("\n");
    }

    fn write_agent(&self, json: &mut JsonWriter<'_>) {
        json.key("agent-meta").object();
        json.key("model-id").literal(self.models.first().map_or(UNKNOWN, String::as_str));
        // An agent of one vendor does not name the vendor in its logs.
        let issuer = || Dialect::named(self.cli_name.as_ref()?.as_escaped())?.issuer;
        let provider = self.provider.first.as_deref().or_else(issuer);
        json.key("model-provider").literal(provider.unwrap_or(UNKNOWN));
        if self.models.len() > 1 {
            json.key("models").array();
            for model in &self.models {
                json.literal(model);
            }
            json.end_array();
        }
        if let Some(name) = &self.cli_name {
            json.key("cli-name").str(name);
        }
        if let Some(version) = &self.cli_version.first {
            json.key("cli-version").literal(version);
        }
        json.end_object();
    }
}
