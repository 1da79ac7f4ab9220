//! A record to events. The reader validates while reading: every schema violation is reported with its path.
//!
//! A value derived from other values (a total, the last time of the session) is structure if correct; a different value
//! has an unknown meaning and is left unclaimed.

use std::collections::BTreeSet;

use super::arguments::is_parts;
use super::call_ids::CallIds;
use super::check::{Checker, Pointer, check_entry};
use super::events::{read_event, read_response, taken};
use super::node::is_time;
use super::profile::{DraftProfile, OURS};
use super::read_entry::ReadEntry;
use super::session::{Overview, UNKNOWN, known, pass_on_source, provider};
use super::unreadable;
use super::usage::KnownResponses;
use super::words::{self, SPEAKERS};
use crate::dialects::Dialect;
use crate::error::Code;
use crate::framing::FrameKind;
use crate::graph;
use crate::json::{Raw, Str};
use crate::model::{
    Args, Author, CacheMark, CallKind, Circumstances, Citation, Event, Field, FileRef, ItemId, ItemKind,
    ItemKindTag, ItemTail, Media, MediaSource, Neutral as _, Notice, Opaque, OpaqueKind, Part, Session,
    Shape, Spelling, Status, Tally, ToolCall, ToolResult,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val};

#[derive(Default)]
pub(super) struct RecordReader {
    profile: DraftProfile,
    /// Number of entries so far, for paths in reports.
    entries: usize,
    started: bool,
    complete: bool,
    /// An earlier record of the file holds a session.
    follows: bool,
    checker: Checker,
    heard: Heard,
}

/// State gathered from the entries.
#[derive(Default)]
struct Heard {
    tally: Tally<KnownResponses>,
    overview: Overview,
    call_ids: CallIds,
    /// Set if the entry is read separately: the call of a result may be in another entry.
    alone: bool,
    /// Session values changed by entries; the values after the entries are older.
    changed: Session<'static>,
}

impl RecordReader {
    pub(super) fn new(profile: DraftProfile) -> Self {
        Self { profile, checker: Checker::new(profile), ..Self::default() }
    }
}

impl Reader for RecordReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        match doc.kind {
            FrameKind::Head | FrameKind::Document => {
                // A file may hold several records in sequence.
                if self.started || self.complete || self.entries > 0 {
                    self.finish(out);
                    // The facts of a record may follow its entries or be absent, but the records are separate sessions.
                    let follows = self.follows || self.started || self.entries > 0;
                    if follows && !self.started && self.entries > 0 {
                        out.event(&Event::SessionStarted(Session::default()));
                    }
                    *self = Self { follows, ..Self::new(self.profile) };
                }
                if doc.root.get("version").is_none() && doc.root.get("session").is_none() {
                    out.problem(Code::UnknownShape, None, "expected a document with `version` and `session`");
                }
                out.record_begins();
                self.checker.outer(doc.root, out);
                // A record without entries is its own tail.
                self.complete = doc.root.get("session").and_then(|session| session.get("entries")).is_none();
                self.session(doc.root, out);
            }
            FrameKind::Tail => {
                self.checker.outer(doc.root, out);
                self.complete = true;
                self.session(doc.root, out);
            }
            _ => {
                let entries = Pointer::Record.member("session");
                let entries = entries.member("entries");
                let entry = ReadEntry::new(doc.root, self.profile);
                check_entry(&entry, Pointer::Element(&entries, self.entries), out);
                self.entries += 1;
                self.heard.entry(&entry, out);
            }
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        if self.complete {
            self.checker.finish(out);
        } else if self.entries > 0 || self.started {
            out.problem(Code::Torn, None, "the record ends before its `entries` do");
        }
    }
}

impl RecordReader {
    fn session<'t>(&mut self, record: Val<'t>, out: &mut EventSink<'_>) {
        out.kept_lines_follow("");
        let Some(session) = record.get("session") else { return };
        // An unknown version is left unclaimed.
        if let Some(version) = record.get("version").filter(|version| version.is(self.profile.version())) {
            version.take(Field::Structure);
        }
        if let Some(entries) = session.get("entries").filter(|entries| entries.leaves() == 1) {
            entries.note(Field::Padding);
        }
        let id = session.take_str("session-id", Field::SessionId);
        // The writer names a record after its session.
        if let Some(own) = record.get("id").filter(|own| own.str() == id) {
            own.note(Field::Structure);
        }
        if self.profile == DraftProfile::V2 {
            // A filler for a member that the schema requires.
            session
                .get("format")
                .filter(|format| format.is("interactive"))
                .map(|it| it.note(Field::Structure));
            let age = record.get("created").filter(|it| it.text() == self.heard.overview.age());
            age.map(|age| age.note(Field::Structure));
        }
        let (meta, environment) = (session.get("agent-meta"), session.get("environment"));
        let ours = session
            .get("vendor-ext")
            .filter(|ext| ext.get("vendor").is_some_and(|vendor| vendor.is("interlingua")));
        let data = ours.and_then(|ext| ext.get("data"));
        if let Some(ext) = ours {
            ext.take_str("vendor", Field::Structure);
        }
        let vcs = environment.and_then(|place| place.get("vcs"));
        if let Some(vcs) = vcs {
            // The type `git` is structure: the branch, commit and repository fields imply version control.
            vcs.get("type").filter(|kind| kind.is("git")).map(|kind| kind.note(Field::Structure));
        }
        let text = |map: Option<Val<'t>>, name: &str, field| map.and_then(|map| map.take_str(name, field));
        let mut facts =
            data.map(|data| Session::read_members(data, &[], Spelling::Kebab)).unwrap_or_default();
        facts.update(Session {
            id,
            cwd: text(environment, "working-dir", Field::SessionCwd),
            cli_version: text(meta, "cli-version", Field::SessionVersion),
            model: meta.and_then(|meta| known(meta, "model-id", Field::SessionModel)),
            provider: meta.and_then(provider),
            branch: text(vcs, "branch", Field::SessionBranch),
            commit: text(vcs, "revision", Field::SessionCommit),
            repository: text(vcs, "repository", Field::SessionRepository),
            start: session.get("session-start").and_then(|time| self.heard.start(time)),
            agent: text(meta, "cli-name", Field::SessionAgent),
            ..Session::default()
        });
        self.heard.note_what_follows(session, facts.model.as_ref(), out);
        // The framer produces an empty session if no member follows the entries.
        if session.kind() == Kind::Object && session.members().next().is_none() {
            session.note(Field::Padding);
        }
        if data.and_then(|data| data.take_bool("final-newline", Field::Structure)) == Some(false) {
            out.kept_no_final_newline("interlingua");
        }
        pass_on_source(data, out);
        let is_marked = self.follows && !self.started && !self.complete;
        if facts != Session::default() || is_marked {
            // Values changed by the entries are newer than the values after the entries.
            let again = self.heard.changed.clone().where_said(&facts).news_to(&facts).into_owned();
            if std::mem::replace(&mut self.started, true) {
                out.event(&Event::SessionUpdated(facts));
            } else {
                out.event(&Event::SessionStarted(facts));
            }
            if again != Session::default() {
                out.event(&Event::SessionUpdated(again));
            }
        }
    }
}

/// Reads an entry separately from its record, with the lines it was made from.
pub(super) fn read_alone(entry: &ReadEntry<'_>, out: &mut EventSink<'_>) {
    Heard { alone: true, ..Heard::default() }.entry(entry, out);
}

impl Heard {
    fn model(&mut self, model: Option<&Str<'_>>) {
        if let Some(model) = model {
            self.overview.model(model);
        }
    }

    /// The start of the session, unless it repeats the time of the first entry.
    fn start<'t>(&self, time: Val<'t>) -> Option<Raw<'t>> {
        if time.text() == self.overview.first_time {
            time.note(Field::Structure);
            return None;
        }
        Some(time.take(Field::SessionStart))
    }

    /// Notes the members after the entries that follow from the entries.
    fn note_what_follows(&mut self, session: Val<'_>, model: Option<&Str<'_>>, out: &mut EventSink<'_>) {
        match session.get("session-end") {
            Some(end) if end.text() == self.overview.last_time => _ = end.note(Field::Structure),
            // No entry has this time: it is the end of a response, or the time the log was written.
            Some(end) if is_time(&end.raw()) => {
                end.text().clone_into(&mut self.overview.last_time);
                out.event(&Event::Clock(end.take(Field::EventTime)));
            }
            Some(_) | None => {}
        }
        self.model(model);
        let models = session.get("agent-meta").and_then(|meta| meta.get("models"));
        for model in models.into_iter().flat_map(|models| models.elements()) {
            let text = model.str();
            if self
                .overview
                .models
                .iter()
                .any(|known| text.as_ref().is_some_and(|text| text.as_escaped() == known))
            {
                model.note(Field::Structure);
            }
        }
    }

    fn change(&mut self, session: &Session<'_>) {
        self.model(session.model.as_ref());
        self.changed.update(session.clone().into_owned());
    }

    /// Reads an entry and its children, and hands on the lines it was made from.
    fn entry(&mut self, entry: &ReadEntry<'_>, out: &mut EventSink<'_>) {
        let ext = entry.kept();
        let [vendor, data, ..] = ext;
        let vendor = vendor.and_then(|vendor| vendor.str());
        let vendor = vendor.as_ref().map_or("", Str::as_escaped);
        out.kept_lines_follow(if data.is_some() { vendor } else { "" });
        if entry.event_type.is_some_and(|kind| kind.is("unparsed"))
            && unreadable::give_back(entry, vendor, out)
        {
            return;
        }
        let kept_elsewhere = data.is_none() && !vendor.is_empty() && vendor != OURS;
        if !self.happened(entry, out) {
            if kept_elsewhere {
                out.kept_lines_follow(vendor);
            }
            self.item(entry, None, None, vendor, out);
        }
        if kept_elsewhere {
            ext[0].take_text(Field::Structure);
            out.kept_with_next(vendor);
        }
        hand_on_lines(ext, vendor, out);
    }

    /// Reads an entry that is not an item. Returns whether the entry was such an event.
    fn happened(&mut self, entry: &ReadEntry<'_>, out: &mut EventSink<'_>) -> bool {
        let event = read_event(entry, &mut self.tally);
        if event.is_none() && !entry.is_bare() {
            return false;
        }
        for tag in [entry.kind, entry.event_type] {
            tag.take_text(Field::Structure);
        }
        if let Some(data) = entry.data.filter(|data| data.members().next().is_none()) {
            data.note(Field::Structure);
        }
        if let Some(time) = entry.take_time(Field::EventTime) {
            self.overview.time(&time);
            out.event(&Event::Clock(time));
        }
        match &event {
            Some(Event::SessionUpdated(session)) => self.change(session),
            Some(Event::TurnStarted(turn) | Event::TurnEnded(turn)) => self.model(turn.model.as_ref()),
            Some(_) => {}
            None => self.used(entry, out),
        }
        if let Some(event) = event {
            out.event(&event);
        }
        true
    }

    /// Reads an entry of a subagent's record, joined under the call that started the subagent's session. The entry's
    /// lines belong to another file, and changes of the joined session do not apply to this session.
    fn joined(&mut self, entry: &ReadEntry<'_>, session: &JoinedSession<'_>, out: &mut EventSink<'_>) {
        let told = entry.data.filter(|data| data.get("content").is_none()).and(entry.event_type);
        match told.word() {
            "session-updated" | "session-ended" | "rewound" | "model" | "request" | "turn-started" => {}
            // A turn within a call does not belong to this session; its usage does.
            "turn-ended" | "usage" | "line" => self.used(entry, out),
            _ if self.happened(entry, out) => {}
            _ => self.item(entry, None, Some(session), "", out),
        }
    }

    /// Emits the usage of the responses that end with this entry.
    fn used(&mut self, entry: &ReadEntry<'_>, out: &mut EventSink<'_>) {
        let Some(usage) = entry.usage() else { return };
        // A response without counts, but with a stop reason.
        if usage.counts.members().next().is_none() {
            usage.counts.note(Field::Structure);
        }
        let turn = read_response(usage, entry, &mut self.tally);
        self.model(turn.model.as_ref());
        out.event(&Event::Usage(turn));
    }

    /// The source's id of a call.
    fn id_of_call<'t>(&mut self, entry: &ReadEntry<'t>, tool: &Str<'_>) -> Option<Str<'t>> {
        // Seed documents of the draft have `tool-id`.
        let id = entry.call_id.or_else(|| entry.map.get("tool-id"));
        let text = id.and_then(|id| id.str())?;
        if entry.has_synthetic_call_id() && self.call_ids.is_made_up(&text, tool) {
            entry.note_synthetic_call_id();
            return None;
        }
        self.call_ids.named_call(&text);
        id.take_text(Field::CallId)
    }

    /// The source's call id of a result.
    fn id_of_result<'t>(&mut self, entry: &ReadEntry<'t>, tool: Option<&Str<'_>>) -> Option<Str<'t>> {
        let text = entry.call_id.and_then(|id| id.str())?;
        if entry.has_synthetic_call_id() {
            let answered = self.call_ids.unnamed_result(tool);
            if self.alone || answered.is_some_and(|answered| answered == text) {
                entry.note_synthetic_call_id();
                return None;
            }
        }
        self.call_ids.named_result(&text);
        entry.call_id.take_text(Field::ResultCallId)
    }

    /// Reads an entry or a child as an item with its children. `around` is the parent item and its entry; `joined` is
    /// the joined session that the entry belongs to.
    fn item(
        &mut self,
        entry: &ReadEntry<'_>,
        around: Option<(ItemId, &ReadEntry<'_>)>,
        joined: Option<&JoinedSession<'_>>,
        vendor: &str,
        out: &mut EventSink<'_>,
    ) {
        let Some((mut kind, author)) = kind_of(entry) else { return };
        match &mut kind {
            ItemKind::ToolCall(call) => call.call_id = self.id_of_call(entry, &call.name),
            ItemKind::ToolResult(result) => result.call_id = self.id_of_result(entry, result.name.as_ref()),
            ItemKind::Message if around.is_none() && author == Author::User => self.call_ids.prompt(),
            ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
        }
        let content = entry.content();
        let of = ItemKindTag::item(&kind);
        let mut circumstances = Circumstances::read_members(entry.ours, &["time", "model"], Spelling::Kebab);
        if let Some(joined) = joined {
            let said = |name| joined.begin.ours.get(name).and_then(|said| said.str());
            circumstances.agent = circumstances.agent.or_else(|| said("agent"));
            circumstances.parent_call = circumstances.parent_call.or_else(|| said("parent-call"));
            if circumstances.copied_from.is_none() && joined.is_repeated(entry) {
                circumstances.copied_from = joined.id();
            }
        }
        // A subagent's items are children of the call's entry, but not blocks of the call.
        let call = around.and_then(|(_, call)| call.call_id?.str());
        let by_subagent = call.is_some() && circumstances.parent_call == call;
        let mut head = out.head(kind, author).with(circumstances);
        head.within = around.map(|(item, _)| item).filter(|_| !by_subagent);
        head.native_id = entry.id.take_text(Field::ItemId);
        head.parent = entry.parent_id.take_text(Field::ItemParent);
        head.time = entry.take_time(Field::ItemTime);
        head.model = entry.model.take_text(Field::ItemModel);
        head.shape = match content {
            Some(list) if of != ItemKindTag::Call && is_parts(list) => Shape::List,
            _ => Shape::One,
        };
        if let Some(time) = &head.time {
            self.overview.time(time);
        }
        self.model(head.model.as_ref());
        let id = out.start(head);
        let mut next = read_content(content, entry, (id, 0), of, vendor, out);
        if let Some(files) = entry.files.filter(|_| of == ItemKindTag::Result) {
            next = read_files(files, (id, next), out);
        }
        let mut subagent = None;
        for child in entry.children() {
            out.within(child.map, |out| {
                if graph::begins_session(child.map) {
                    self.item(&child, Some((id, entry)), None, vendor, out);
                    subagent = Some((Heard::default(), JoinedSession::new(child)));
                } else if let Some((heard, session)) = &mut subagent {
                    heard.joined(&child, session, out);
                } else if let Some(part) = child.part.and_then(|part| part.u64()) {
                    next = later_part(&child, (id, part as u32), of, vendor, out).max(next);
                } else {
                    self.item(&child, Some((id, entry)), None, vendor, out);
                }
            });
        }
        let is_error =
            entry.is_error.and_then(|flag| bool::read(flag, Field::ResultIsError, Spelling::Kebab));
        let native_status = entry.status.take_text(Field::ItemStatus);
        let status = entry.outcome.and_then(|word| Status::read(word, Field::ItemStatus, Spelling::Kebab));
        let status = status.unwrap_or_else(|| words::usual_status(native_status.as_ref(), is_error));
        let tail =
            ItemTail::read_members(entry.ours, &["status", "native_status", "is_error"], Spelling::Kebab);
        out.event(&Event::ItemCompleted(ItemTail { id, status, native_status, is_error, ..tail }));
        self.used(entry, out);
    }
}

/// The session of a subagent's record, joined under the call that started it.
struct JoinedSession<'t> {
    /// The first entry of the session.
    begin: ReadEntry<'t>,
    /// Ids of entries that are repeated elsewhere.
    repeated: BTreeSet<&'t str>,
}

impl<'t> JoinedSession<'t> {
    fn new(begin: ReadEntry<'t>) -> Self {
        let ids = begin.content().and_then(|content| content.get("repeated"));
        let ids = ids.into_iter().flat_map(|ids| ids.elements()).map(|id| id.text());
        Self { repeated: ids.collect(), begin }
    }

    fn is_repeated(&self, entry: &ReadEntry<'_>) -> bool {
        !self.repeated.is_empty() && entry.id.is_some_and(|id| self.repeated.contains(id.text()))
    }

    /// The session's id.
    fn id(&self) -> Option<Str<'t>> {
        self.begin.content()?.get("record")?.get("session")?.get("session-id")?.str()
    }
}

/// Emits the changed files as parts of `item`, starting with `next`; returns the next number.
fn read_files(files: Val<'_>, (item, mut next): (ItemId, u32), out: &mut EventSink<'_>) -> u32 {
    let is_file = |file: &Val<'_>| ["path", "action"].iter().all(|name| file.get(name).is_some());
    for file in files.elements().filter(is_file) {
        let told = file.take_u64("part", Field::Structure);
        next += u32::from(told.is_none());
        let number = told.map_or(next - 1, |part| part as u32);
        out.delta(item, number, Part::File(FileRef::read_members(file, &[], Spelling::Kebab)));
    }
    next
}

/// Hands on the lines that an entry was made from.
fn hand_on_lines([name, data, more, space]: [Option<Val<'_>>; 4], vendor: &str, out: &mut EventSink<'_>) {
    if data.is_some() {
        name.take_text(Field::Structure);
    }
    let mut spaces = space.into_iter().flat_map(|spaces| spaces.elements());
    let more = more.into_iter().flat_map(|more| more.elements());
    for line in data.into_iter().chain(more) {
        let mut around = spaces
            .next()
            .into_iter()
            .flat_map(|pair| pair.elements())
            .filter_map(|side| side.take_text(Field::Structure));
        let (before, after) = (around.next().unwrap_or_default(), around.next().unwrap_or_default());
        out.kept_line(vendor, line, (&before.decode(), &after.decode()));
    }
}

/// The kind of item and the author of an entry, without the call id.
fn kind_of<'t>(entry: &ReadEntry<'t>) -> Option<(ItemKind<'t>, Author)> {
    let word = entry.kind?;
    let kind = word.str()?;
    word.take(match kind.as_escaped() {
        "user" | "assistant" => Field::ItemAuthor,
        _ => Field::Structure,
    });
    Some(match kind.as_escaped() {
        "user" => {
            let tool = entry.ours.get("author").filter(|author| author.is("tool"));
            tool.map(|author| author.take(Field::ItemAuthor));
            (ItemKind::Message, if tool.is_some() { Author::Tool } else { Author::User })
        }
        "assistant" => (ItemKind::Message, Author::Assistant),
        "reasoning" => (ItemKind::Reasoning, Author::Assistant),
        "tool-call" => {
            let is_text = entry.input.is_some_and(|input| input.kind() == Kind::String);
            let usual = match entry.input_form {
                None if is_text => CallKind::FreeText,
                _ => CallKind::Function,
            };
            let call = ToolCall {
                call_id: None,
                kind: taken(entry.ours, "call-kind", Field::CallKind).unwrap_or(usual),
                namespace: entry.ours.take_str("namespace", Field::CallNamespace),
                name: entry.name.take_text(Field::CallName).unwrap_or_default(),
            };
            (ItemKind::ToolCall(call), Author::Assistant)
        }
        "tool-result" => {
            let result = ToolResult { call_id: None, name: entry.name.take_text(Field::ResultName) };
            (ItemKind::ToolResult(result), Author::Tool)
        }
        _ => {
            let speaker = entry.event_type.and_then(|kind| SPEAKERS.value(&kind.str()?));
            let support = entry.content().is_some();
            let notice = entry.ours.take_bool("notice", Field::Structure) == Some(true);
            match (speaker, entry.event_type) {
                (Some(author), Some(kind)) if support && !notice => {
                    kind.take(Field::ItemAuthor);
                    (ItemKind::Message, author)
                }
                // The schema requires a name; `unknown` is the filler for a notice without a name.
                (_, Some(filler)) if !notice && filler.is(UNKNOWN) => {
                    filler.note(Field::Structure);
                    (ItemKind::Notice(Notice { event_type: None }), Author::System)
                }
                (_, kind) => {
                    let event_type = kind.take_text(Field::NoticeType);
                    (ItemKind::Notice(Notice { event_type }), Author::System)
                }
            }
        }
    })
}

/// Reads a child that is a later part of the surrounding item. Returns the number of the next part.
fn later_part(
    child: &ReadEntry<'_>,
    (item, part): (ItemId, u32),
    of: ItemKindTag,
    vendor: &str,
    out: &mut EventSink<'_>,
) -> u32 {
    for tag in [child.kind, child.event_type, child.part, child.name.filter(|name| name.is(""))] {
        tag.map(|tag| tag.note(Field::Structure));
    }
    // Only arguments are written as input; a call may have other parts.
    let is_call = child.kind.is_some_and(|kind| kind.is("tool-call"));
    let of = if of == ItemKindTag::Call && !is_call { ItemKindTag::Message } else { of };
    read_content(child.content(), child, (item, part), of, vendor, out)
}

/// Opaque state of an entry.
fn opaque<'t>(entry: &ReadEntry<'t>, vendor: &str) -> Option<Part<'t>> {
    let [signature, encrypted] =
        [entry.signature, entry.encrypted].map(|value| value.filter(|value| value.kind() == Kind::String));
    let (kind, value) = match signature {
        Some(value) => (OpaqueKind::Signature, value),
        None => (OpaqueKind::Encrypted, encrypted?),
    };
    let usual = || Dialect::named(vendor).and_then(|dialect| dialect.issuer).unwrap_or(UNKNOWN);
    let issuer = entry.ours.take_str("issuer", Field::Issuer).unwrap_or_else(|| Str::escaped(usual()));
    let value = value.take_text(kind.field())?;
    Some(Part::Opaque(Opaque { kind, issuer, value }))
}

/// Emits the content of an entry and its opaque state as parts of `item`, starting with `first`; returns the next
/// number.
fn read_content(
    content: Option<Val<'_>>,
    entry: &ReadEntry<'_>,
    (item, first): (ItemId, u32),
    of: ItemKindTag,
    vendor: &str,
    out: &mut EventSink<'_>,
) -> u32 {
    let next = content.map_or(first, |content| read_value(content, entry, (item, first), of, out));
    match opaque(entry, vendor) {
        Some(state) => {
            out.delta(item, next, state);
            next + 1
        }
        None => next,
    }
}

/// Emits the parts of a content value.
fn read_value(
    content: Val<'_>,
    entry: &ReadEntry<'_>,
    (item, first): (ItemId, u32),
    of: ItemKindTag,
    out: &mut EventSink<'_>,
) -> u32 {
    let arguments = of == ItemKindTag::Call;
    let value = entry.input_form.filter(|form| arguments && form.is("json"));
    if let Some(form) = value {
        form.note(Field::Structure);
        out.delta(item, first, Part::Args(Args::Json(content.take(Field::CallArgs))));
    } else if content.is_null() {
        content.note(Field::Structure);
        return first;
    } else if arguments {
        let args = match content.take_text(Field::CallArgs) {
            Some(text) => Args::Text(text),
            None => Args::Json(content.take(Field::CallArgs)),
        };
        out.delta(item, first, Part::Args(args));
    } else if let Some(text) = content.take_text(of.text()) {
        out.delta(item, first, Part::Text(text));
    } else if is_parts(content) {
        let (mut next, mut last) = (first, None);
        for part in content.elements() {
            // A further piece of a text that is not the last.
            let again = part.take_u64("part", Field::Structure);
            if let Some(value) = read_part(part, of) {
                let is_mark = matches!(value, Part::Citation(_) | Part::Cache(_));
                let usual = last.filter(|_| is_mark).unwrap_or(next);
                let number = again.map_or(usual, |part| part as u32);
                next += u32::from(again.is_none() && !is_mark);
                last = Some(number);
                out.within(part, |out| out.delta(item, number, value));
            }
        }
        return next;
    } else {
        out.delta(item, first, Part::Json(content.take(of.json())));
    }
    first + 1
}

fn read_part(part: Val<'_>, of: ItemKindTag) -> Option<Part<'_>> {
    let kind = part.take_str("type", Field::Structure)?;
    Some(match kind.as_escaped() {
        "text" => Part::Text(part.take_str("text", of.text())?),
        "summary" => Part::Summary(part.take_str("text", Field::ReasoningSummary)?),
        "refusal" => Part::Refusal(part.take_str("text", Field::Refusal)?),
        "json" => Part::Json(part.get("json")?.take(of.json())),
        "arguments" => Part::Args(match part.get("json") {
            Some(json) => Args::Json(json.take(Field::CallArgs)),
            None => Args::Text(part.take_str("text", Field::CallArgs)?),
        }),
        "citation" => {
            Part::Citation(Citation::read(part.get("citation")?, Field::Structure, Spelling::Kebab)?)
        }
        "cache" => Part::Cache(CacheMark::read_on_part(part.get("cache")?)?),
        "file" => Part::File(FileRef::read_members(part, &[], Spelling::Kebab)),
        _ => {
            let place = |name| part.take_str(name, of.media());
            let source = None
                .or_else(|| place("data").map(MediaSource::Base64))
                .or_else(|| place("url").map(MediaSource::Url))
                .or_else(|| place("text").map(MediaSource::Text))
                .or_else(|| place("file").map(MediaSource::File));
            Part::Media(Media {
                source: source?,
                media_type: part.take_str("media-type", Field::MediaType),
                name: part.take_str("name", Field::MediaName),
                context: part.take_str("context", Field::MediaContext),
                citable: part.take_bool("citable", Field::MediaCitable),
                detail: part.take_str("detail", Field::MediaDetail),
            })
        }
    })
}
