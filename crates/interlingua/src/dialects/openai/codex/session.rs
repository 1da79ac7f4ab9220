//! Session facts: the head line, the settings of turns, and the history that a fork copied from its parent.

use super::read::{CodexReader, Payload};
use crate::json::{ChangeDetector, Raw, Str};
use crate::model::{Author, Event, Field, ItemKind, Origin, Part, Session};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The part of a fork's file that was copied from its parent's file. Older forks begin with a copy of all parent lines,
/// each stamped with the time of copying; newer forks leave the history in the parent's file.
#[derive(Default)]
pub(super) struct CopiedHistory {
    /// The session from which the current lines were copied.
    from: Option<Str<'static>>,
    /// The session that holds the copy.
    own_id: String,
    /// The time of day of the last copied line, in milliseconds.
    last: Option<u64>,
}

impl CopiedHistory {
    /// The session from which the current line was copied.
    pub(super) fn source(&self) -> Option<Str<'_>> {
        self.from.as_ref().map(Str::reborrow)
    }

    /// Starts a run of copied lines.
    fn begin(&mut self, from: &str, own_id: &str) {
        self.from = Some(Str::escaped(from).into_owned());
        own_id.clone_into(&mut self.own_id);
    }

    /// Observes the next line. The copy ends with the first turn that is younger than the session, or with the first
    /// line whose time is a second or more after the previous line's.
    pub(super) fn see(&mut self, word: &str, payload: Payload<'_>) {
        if self.from.is_none() {
            return;
        }
        let time = time_of_day(payload.time.word());
        let last = std::mem::replace(&mut self.last, time);
        let waited = last.zip(time).is_some_and(|(last, time)| time < last || time - last >= 1000);
        let own_turn = matches!(word, "task_started" | "turn_started" | "turn_context")
            && is_younger(payload.val.str_or_empty("turn_id"), &self.own_id);
        if waited || own_turn {
            self.from = None;
        }
    }
}

/// Whether the first id was created after the second; both must begin with a time (UUIDs of version 7).
fn is_younger(one: &str, other: &str) -> bool {
    let with_time = |id: &str| id.len() == 36 && id.as_bytes().get(14) == Some(&b'7');
    with_time(one) && with_time(other) && one > other
}

/// Milliseconds since midnight, from a timestamp in Codex's format.
fn time_of_day(time: &str) -> Option<u64> {
    let number = |from, to| time.get(from..to).and_then(|digits: &str| digits.parse::<u64>().ok());
    let seconds = (number(11, 13)? * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    Some(seconds * 1000 + number(20, 23).unwrap_or(0))
}

/// The last settings that were reported.
#[derive(Default)]
pub(super) struct KnownSettings {
    text: ChangeDetector,
    /// The notice data that was reported for these settings.
    data: String,
}

/// The members of a head that become session fields. The other members become the data of a notice.
const HEAD: [&str; 10] = [
    "id",
    "timestamp",
    "cwd",
    "cli_version",
    "model_provider",
    "git",
    "forked_from_id",
    "parent_thread_id",
    "base_instructions",
    "instructions",
];

/// The members of settings that become session fields.
const SETTINGS: [&str; 7] =
    ["model", "cwd", "approval_policy", "sandbox_policy", "effort", "reasoning_effort", "model_provider_id"];

/// The members in `SETTINGS` and the turn's ids, which differ in every line.
const TOLD_APART: [&str; 10] = [
    "model",
    "cwd",
    "approval_policy",
    "sandbox_policy",
    "effort",
    "reasoning_effort",
    "model_provider_id",
    "turn_id",
    "root_turn_id",
    "trace_id",
];

impl CodexReader {
    /// Reads the head of a thread. Its system prompt becomes a message, emitted once.
    pub(super) fn read_head(
        &mut self,
        line_kind: Option<Val<'_>>,
        payload: Payload<'_>,
        out: &mut EventSink<'_>,
    ) {
        let meta = payload.val;
        let id = meta.str_or_empty("id");
        let known = self.session.known().id.as_ref().map(|known| known.as_escaped() == id);
        if known == Some(false) {
            // The parent's head, copied along with the history of a fork. The line stays unchanged.
            let own_id = self.session.known().id.clone();
            self.copied.begin(id, own_id.as_ref().map_or("", Str::as_escaped));
            meta.note_str("id", Field::ItemCopiedFrom);
            return self.read_notice(line_kind, payload, out);
        }
        self.tell_head(meta, out);
        self.read_prompt(line_kind, payload, out);
        let forked_from = meta.str_or_empty("forked_from_id");
        if known.is_none() && !forked_from.is_empty() && meta.get("history_base").is_none() {
            self.copied.begin(forked_from, id);
        }
    }

    fn read_prompt(&mut self, line_kind: Option<Val<'_>>, payload: Payload<'_>, out: &mut EventSink<'_>) {
        let meta = payload.val;
        let source = meta.get("source").and_then(|source| source.get("subagent"));
        self.is_subagent |= source.is_some();
        let text = meta.get("base_instructions").and_then(|prompt| prompt.get("text"));
        let text = text.filter(|text| text.kind() == Kind::String && text.text().len() > 2);
        let Some(text) = text.filter(|text| self.prompt.as_deref() != Some(text.text())) else {
            if text.is_none() {
                self.prompt = None;
            }
            return self.read_notice(line_kind, payload, out);
        };
        self.prompt = Some(text.text().to_owned());
        let mut head = self.head(ItemKind::Message, Author::System, out);
        head.origin = Some(Origin::Harness);
        head.time = payload.time.take_time(Field::ItemTime);
        let item = out.start(head);
        if let Some(text) = text.take_text(Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        // Head members without a message field become a notice.
        self.notice_within(line_kind, payload, item, out);
        out.complete(item);
    }

    /// Collects the head members that are no session fields into one JSON value, and notes them.
    pub(super) fn rest_of_head(&mut self, meta: Val<'_>) -> Option<Raw<'_>> {
        self.put_together(meta, &HEAD)
    }

    /// Collects the settings members that are no session fields into one JSON value, and notes them. Returns `None` if
    /// the value equals that of the previous settings of the same sort.
    pub(super) fn new_settings(&mut self, of_turn: bool, settings: Val<'_>) -> Option<Raw<'_>> {
        let known = &mut self.settings[usize::from(of_turn)];
        if known.text.changed(Some(Str::escaped(settings.text()))).is_none() {
            for (_, member) in settings.members().filter(|(name, _)| !TOLD_APART.contains(&name.as_escaped()))
            {
                if !member.is_null() {
                    member.note(Field::NoticeData);
                }
            }
            return None;
        }
        self.put_together(settings, &TOLD_APART)?;
        let known = &mut self.settings[usize::from(of_turn)].data;
        if *known == self.data {
            return None;
        }
        known.clone_from(&self.data);
        Some(Raw::new(&self.data))
    }

    fn tell_head(&mut self, meta: Val<'_>, out: &mut EventSink<'_>) {
        let vcs = |name, field| meta.get("git").and_then(|git| git.note_str(name, field));
        let forked = meta.note_str("forked_from_id", Field::SessionParent);
        let spawned = || meta.note_str("parent_thread_id", Field::SessionParent);
        let told = Session {
            id: meta.note_str("id", Field::SessionId),
            parent: forked.or_else(spawned),
            cwd: meta.note_str("cwd", Field::SessionCwd),
            cli_version: meta.note_str("cli_version", Field::SessionVersion),
            provider: meta.note_str("model_provider", Field::SessionProvider),
            branch: vcs("branch", Field::SessionBranch),
            commit: vcs("commit_hash", Field::SessionCommit),
            repository: vcs("repository_url", Field::SessionRepository),
            start: meta.get("timestamp").filter(Val::is_time).map(|time| time.note(Field::SessionStart)),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
    }

    /// Reads the settings of a turn, or new settings for later turns: the same facts under two sets of names.
    pub(super) fn read_settings<'t>(
        &mut self,
        settings: Val<'t>,
        time: Option<Val<'t>>,
        out: &mut EventSink<'_>,
    ) {
        const WANTED: WantedNames<7> = WantedNames::new(SETTINGS);
        let [model, cwd, approval, sandbox, effort, reasoning_effort, provider] = settings.find(&WANTED);
        let policy = |policy: Option<Val<'t>>, field| {
            policy.filter(|policy| !policy.is_null()).map(|policy| policy.note(field))
        };
        let told = Session {
            model: model.note_text(Field::SessionModel),
            cwd: cwd.note_text(Field::SessionCwd),
            approval_policy: policy(approval, Field::ApprovalPolicy),
            sandbox_policy: policy(sandbox, Field::SandboxPolicy),
            effort: effort.or(reasoning_effort).note_text(Field::SessionEffort),
            provider: provider.note_text(Field::SessionProvider),
            ..Session::default()
        };
        self.tell_change(told, time, out);
    }

    /// Reads the session title that users see.
    pub(super) fn read_title(
        &mut self,
        title: Option<Val<'_>>,
        time: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) {
        let told = Session { title: title.and_then(|title| title.str()), ..Session::default() };
        self.tell_change(told, time, out);
    }

    /// Emits changed session facts, with the time of the change.
    fn tell_change(&mut self, told: Session<'_>, time: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let is_news = self.session.known().id.is_some() && !told.is_old_news(self.session.known());
        if let Some(time) = time.filter(|time| is_news && time.is_time()) {
            out.event(&Event::Clock(time.raw()));
        }
        self.session.tell(super::DIALECT.name, told, out);
    }
}
