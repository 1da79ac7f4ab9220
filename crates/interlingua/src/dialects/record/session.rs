//! What a record says about its session: before the entries what is known by then, after them the rest.

use super::VERSION;
use crate::dialects::Dialect;
use crate::emit::Emit;
use crate::ledger::Ledger;
use crate::model::{Session, Time};
use crate::text::{Raw, Str};

/// What is known about the session. Texts are escaped.
#[derive(Default)]
pub(super) struct Facts {
    id: Option<String>,
    /// What stands before the entries already.
    id_written: bool,
    start_written: bool,
    environment_written: bool,
    parent: Option<String>,
    cwd: Option<String>,
    cli_name: Option<&'static str>,
    cli_version: Option<String>,
    models: Vec<String>,
    provider: Option<String>,
    branch: Option<String>,
    commit: Option<String>,
    repository: Option<String>,
    title: Option<String>,
    start: Option<String>,
    end: Option<String>,
    /// What to call a session that has no id.
    source_name: Option<String>,
}

impl Facts {
    pub(super) fn new(source_name: Option<String>) -> Self {
        Self { source_name, ..Self::default() }
    }

    /// Takes in what an event says. The first word counts; lines keep their own.
    pub(super) fn learn(&mut self, session: &Session<'_>, ledger: &mut Ledger) {
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
        } = session;
        if self.id.is_some() && id.is_some() {
            // Forks and resumes bring lines of other sessions.
            ledger.note("more than one session id in one source; the first names the record");
        }
        let first = |known: &mut Option<String>, news: &Option<Str<'_>>| {
            if known.is_none() {
                *known = news.as_ref().map(|text| text.as_escaped().to_owned());
            }
        };
        first(&mut self.id, id);
        first(&mut self.parent, parent);
        first(&mut self.cwd, cwd);
        first(&mut self.cli_version, cli_version);
        first(&mut self.provider, provider);
        first(&mut self.branch, branch);
        first(&mut self.commit, commit);
        first(&mut self.repository, repository);
        if let Some(title) = title {
            self.title = Some(title.as_escaped().to_owned());
        }
        self.cli_name = self.cli_name.or(*agent);
        if let (None, Some(start)) = (&self.start, start) {
            self.start = Some(start.as_str().to_owned());
        }
        if let Some(model) = model {
            self.model(model);
        }
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
        if self.start.is_none() {
            self.start = Some(time.as_str().to_owned());
        }
        let end = self.end.get_or_insert_default();
        end.clear();
        end.push_str(time.as_str());
    }

    /// Whether it is known where the session took place, the last thing that most logs tell of it.
    pub(super) fn is_placed(&self) -> bool {
        self.cwd.is_some()
    }

    /// Opens the record up to its entries.
    pub(super) fn write_head(&mut self, json: &mut Emit<'_>) {
        json.object().key("version").word(VERSION);
        if let Some(id) = &self.id {
            json.key("id").word(id);
        }
        json.key("session").object();
        if let Some(id) = &self.id {
            json.key("session-id").word(id);
            self.id_written = true;
        }
        if let Some(start) = &self.start {
            json.key("session-start").raw(&Raw::new(start));
            self.start_written = true;
        }
        self.environment_written = self.write_environment(json);
        json.key("entries").array();
    }

    /// Where the session took place, if that is known.
    fn write_environment(&self, json: &mut Emit<'_>) -> bool {
        let Some(cwd) = &self.cwd else { return false };
        json.key("environment").object().key("working-dir").word(cwd);
        let vcs = [("revision", &self.commit), ("branch", &self.branch), ("repository", &self.repository)];
        if vcs.iter().any(|(_, value)| value.is_some()) {
            json.key("vcs").object().key("type").word("git");
            for (name, value) in vcs {
                if let Some(value) = value {
                    json.key(name).word(value);
                }
            }
            json.end_object();
        }
        json.end_object();
        true
    }

    /// Closes the entries and the record.
    pub(super) fn write_tail(self, no_final_newline: bool, json: &mut Emit<'_>) {
        json.end_array();
        if !self.environment_written {
            self.write_environment(json);
        }
        let Facts {
            id,
            id_written,
            start_written,
            environment_written: _,
            parent,
            cwd: _,
            cli_name,
            cli_version,
            models,
            provider,
            branch: _,
            commit: _,
            repository: _,
            title,
            start,
            end,
            source_name,
        } = self;
        let named = || Str::from_plain(source_name.as_deref().unwrap_or("unknown")).as_escaped().to_owned();
        let late_id = (!id_written).then(|| id.unwrap_or_else(named));
        if let Some(id) = &late_id {
            json.key("session-id").word(id);
        }
        for (name, time) in [("session-start", start.filter(|_| !start_written)), ("session-end", end)] {
            if let Some(time) = &time {
                json.key(name).raw(&Raw::new(time));
            }
        }
        json.key("agent-meta").object();
        json.key("model-id").word(models.first().map_or("unknown", String::as_str));
        // An agent of one vendor does not name the vendor in its logs.
        let issuer = || cli_name.and_then(Dialect::named).and_then(|dialect| dialect.issuer);
        json.key("model-provider").word(provider.as_deref().or_else(issuer).unwrap_or("unknown"));
        if models.len() > 1 {
            json.key("models").array();
            for model in &models {
                json.word(model);
            }
            json.end_array();
        }
        if let Some(name) = cli_name {
            json.key("cli-name").word(name);
        }
        if let Some(version) = &cli_version {
            json.key("cli-version").word(version);
        }
        json.end_object();
        if parent.is_some() || title.is_some() || no_final_newline {
            json.key("vendor-ext").object().key("vendor").word("interlingua").key("data").object();
            if let Some(parent) = &parent {
                json.key("parent-session-id").word(parent);
            }
            if let Some(title) = &title {
                json.key("title").word(title);
            }
            if no_final_newline {
                json.key("final-newline").bool(false);
            }
            json.end_object().end_object();
        }
        json.end_object();
        if let Some(id) = &late_id {
            json.key("id").word(id);
        }
        json.end_object();
        json.frame("\n");
    }
}
