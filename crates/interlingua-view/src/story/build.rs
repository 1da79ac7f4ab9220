//! Builds a story from a stream of events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use interlingua::framing::FramePlace;
use interlingua::json::Str;
use interlingua::ledger::{Leftover, LeftoverBody, Report};
use interlingua::model::{
    Args, Compaction, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, Permission, Question, Rewind,
    Session, StopClass, ToolCall, ToolResult, Turn, Usage,
};
use interlingua::pipe::{Writer, WriterOutput};

use super::{
    Damage, EntryBody, Moment, Piece, SessionPart, SpokenBy, Story, StoryEntry, StoryTurn, ToolArgs,
    ToolOutcome, ToolUse,
};

/// Builds a story as a writer of the pipe; the creator takes the story from the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoryWriter(Arc<Mutex<Gathering>>);

impl StoryWriter {
    /// The story, with the report of the run.
    pub(crate) fn finish(self, report: Report) -> Story {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).finish(report)
    }
}

impl Writer for StoryWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let mut gathering = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gathering.frame = out.ledger.frame_number();
        gathering.event(event);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        if let LeftoverBody::Unparsed { bytes, why, more: _ } = leftover.body {
            let frame = out.ledger.place(None, None).frame;
            self.0.lock().unwrap_or_else(PoisonError::into_inner).unparsed(bytes, why, frame);
        }
        // A leftover counts as kept, because the reader of the story has the source.
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

#[derive(Debug, Default)]
struct Gathering {
    story: Story,
    open: HashMap<ItemId, OpenPlace>,
    /// Entries by their native id.
    ids: HashMap<String, usize>,
    /// The names in the current session.
    names: SessionNames,
    /// The names in the other sessions of the log, by session id. Lines of several sessions may alternate.
    other_names: HashMap<String, SessionNames>,
    /// A session has started, maybe after its first entries.
    has_session: bool,
    responses: Vec<ModelResponse>,
    by_id: HashMap<String, usize>,
    open_response: Option<usize>,
    clock: Option<Moment>,
    /// The session facts shown so far, and whether new facts arrived.
    told: Session<'static>,
    news: bool,
    /// The first turn of the current session.
    part_turn: usize,
    /// The number of the current frame.
    frame: u64,
}

/// The entries that later lines of the same session refer to by name.
#[derive(Debug, Default)]
struct SessionNames {
    /// Entries of calls by call id, for results, permissions and subagents.
    calls: HashMap<String, usize>,
    /// The entry of the call that started a subagent, by the subagent's name.
    agents: HashMap<String, usize>,
    permissions: HashMap<String, usize>,
    questions: HashMap<String, usize>,
}

/// The usage of one model response.
#[derive(Debug)]
struct ModelResponse {
    turn: usize,
    /// Set for a turn without an id, whose usage is the sum of the usage of its responses.
    is_turn: bool,
    usage: Option<Usage>,
    cost: Option<f64>,
}

/// The place for the parts of an open item.
#[derive(Debug)]
struct OpenPlace {
    /// The entry, and the index of the result in it; `None` while a message has no content.
    place: Option<(usize, Option<usize>)>,
    /// Another item followed the last piece of the message.
    interrupted: bool,
    /// The speaker and head for a new entry of the message.
    head: Option<(SpokenBy, SharedHead)>,
    parts: HashMap<u32, (usize, Option<usize>, usize)>,
}

/// Members shared by all entries of one item.
#[derive(Clone, Debug, Default)]
struct SharedHead {
    native_id: Option<Str<'static>>,
    parent_call: Option<Str<'static>>,
    agent: Option<Str<'static>>,
    time: Option<Moment>,
    model: Option<Str<'static>>,
    copied_from: Option<Str<'static>>,
    replaces: bool,
}

/// The deepest nesting of subagents.
const DEEPEST: usize = 8;
/// How many bytes of a damaged line are shown.
const DAMAGE_SHOWN: usize = 200;

impl Gathering {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::SessionStarted(session) => self.began(session),
            Event::SessionUpdated(session) => self.session(session),
            Event::SessionEnded(end) => {
                self.line(EntryBody::Ended(Box::new(end.clone().into_owned())));
            }
            Event::Clock(time) => self.clock = Moment::of(time),
            Event::Request(request) => {
                self.notice("request", request.model.as_ref().map(Piece::named));
            }
            Event::Model(model) => {
                self.notice("model on offer", model.id.as_ref().map(Piece::named));
            }
            Event::TurnStarted(turn) => {
                let at = self.response(turn);
                self.open_response = Some(at);
                if let Some(response) = self.responses.get_mut(at) {
                    response.is_turn = turn.id.is_none();
                }
            }
            Event::Usage(turn) => {
                self.response(turn);
            }
            Event::TurnEnded(turn) => {
                let began = self.open_response.take();
                let turn = &Turn { usage: self.rest_of_turn(began, turn), ..turn.clone() };
                // A turn end without an id ends the latest turn.
                match began.filter(|_| turn.id.is_none()) {
                    Some(at) => self.go_on(at, turn),
                    None => {
                        self.response(turn);
                    }
                }
            }
            Event::ItemStarted(head) => {
                self.started(head);
                // A result is a part of the entry of its call.
                if let Some((entry, Some(_))) = self.open.get(&head.id).and_then(|open| open.place) {
                    self.story.places.push((self.frame, entry));
                }
            }
            Event::ItemDelta(delta) => self.delta(delta),
            Event::ItemCompleted(tail) => self.completed(tail),
            Event::Rewound(Rewind { to, turns }) => {
                let to = to.as_ref().and_then(|id| self.ids.get(id.as_escaped())).copied();
                self.line(EntryBody::Rewound { to, turns: *turns });
            }
            Event::Compacted(compaction) => self.compacted(compaction),
            Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
                self.permission(permission);
            }
            Event::QuestionRequested(question) | Event::QuestionResolved(question) => self.question(question),
            Event::Error(failure) => {
                self.line(EntryBody::Failed(Box::new(failure.clone().into_owned())));
            }
        }
    }

    fn finish(mut self, report: Report) -> Story {
        let last = self.story.session.clone();
        self.end_part();
        let Self { mut story, responses, .. } = self;
        story.session = last;
        story.report = report;
        for ModelResponse { turn, is_turn, usage, cost } in responses {
            let Some(turn) = story.turns.get_mut(turn) else { continue };
            if let Some(usage) = usage {
                turn.usage = turn.usage.and(&usage);
                turn.responses += u64::from(!is_turn);
            }
            if let Some(cost) = cost {
                turn.cost = Some(turn.cost.unwrap_or(0.0) + cost);
            }
        }
        story
    }

    /// Starts a session; in a file with several sessions, the session before ends here.
    fn began(&mut self, session: &Session<'_>) {
        // A log may give the id of its second session only after that session's first lines.
        let known = self.story.session.id.as_ref();
        let is_other = known.is_none() || session.id.as_ref() != known;
        if std::mem::replace(&mut self.has_session, true) && is_other && !self.story.entries.is_empty() {
            let id = session.id.clone().unwrap_or(Str::escaped(""));
            let began = EntryBody::Began(id.into_owned());
            self.end_part();
            // The clock belongs to the session before.
            self.clock = None;
            // The new session starts a new turn.
            self.story.turns.push(StoryTurn::default());
            self.told = Session::default();
            self.ids.clear();
            self.names = SessionNames::default();
            self.other_names.clear();
            self.line(began);
        }
        self.session(session);
    }

    /// Ends the current part: all entries since the last part are one session.
    fn end_part(&mut self) {
        let entries = self.story.parts.last().map_or(0, |part| part.entries.end)..self.story.entries.len();
        let turn = self.part_turn;
        let session = std::mem::take(&mut self.story.session);
        self.story.parts.push(SessionPart { session, entries, turn });
        self.part_turn = self.story.turns.len();
    }

    fn session(&mut self, session: &Session<'_>) {
        if let (Some(before), Some(id)) = (&self.story.session.id, &session.id)
            && before != id
        {
            let names = self.other_names.remove(id.as_escaped()).unwrap_or_default();
            let names = std::mem::replace(&mut self.names, names);
            self.other_names.insert(before.as_escaped().to_owned(), names);
        }
        let news = session.clone().into_owned().news_to(&self.story.session);
        self.news |= news != Session::default();
        self.story.session.update(news);
    }

    /// Adds an entry for changed session facts before the next entry. Changes after the last entry appear only in the
    /// head of the story.
    fn settings(&mut self) {
        if !std::mem::take(&mut self.news) {
            return;
        }
        let now = self.story.session.clone();
        // A fact that becomes known late is not a change; ids and times are not shown as changes.
        let change = now.clone().where_said(&self.told).news_to(&self.told);
        self.told = now;
        let change = Session {
            id: None,
            parent: None,
            parent_call: None,
            start: None,
            leaf: None,
            unrecorded: None,
            ..change
        };
        if change != Session::default() {
            self.line(EntryBody::Settings(Box::new(change)));
        }
    }

    /// Adds an entry to the turn, or below the call of its subagent. Returns the entry's number.
    fn add(&mut self, body: EntryBody, head: SharedHead) -> usize {
        if !matches!(body, EntryBody::Notice(..) | EntryBody::Settings(_)) {
            self.settings();
        }
        let SharedHead { native_id, parent_call, agent, time, model, copied_from, replaces } = head;
        let at = self.story.entries.len();
        let started_by = parent_call.and_then(|call| self.names.calls.get(call.as_escaped())).copied();
        let started_by = match &agent {
            Some(agent) => {
                if let Some(call) = started_by {
                    self.names.agents.insert(agent.as_escaped().to_owned(), call);
                }
                started_by.or_else(|| self.names.agents.get(agent.as_escaped()).copied())
            }
            None => started_by,
        };
        let opens = started_by.is_none()
            && match &body {
                EntryBody::Said(SpokenBy::Person, _) => true,
                // Without a prompt of a person, the prompt of another agent starts the turn.
                EntryBody::Said(SpokenBy::Agent, _) => self.story.turns.len() < 2,
                _ => false,
            };
        if self.story.turns.is_empty() {
            self.story.turns.push(StoryTurn::default());
        }
        if opens {
            self.story.turns.push(StoryTurn::default());
        }
        let mut turn = self.story.turns.len() - 1;
        let depth = |at: usize| self.story.entries.get(at)?.below.map(|(_, depth)| depth);
        let started_by = match started_by.map(|call| (call, depth(call).unwrap_or(0))) {
            // Beyond `DEEPEST`, a subagent is placed next to the subagent that started it.
            Some((call, DEEPEST)) => self.story.entries.get(call).and_then(|entry| entry.below),
            other => other.map(|(call, depth)| (call, depth + 1)),
        };
        match started_by.and_then(|(call, _)| self.story.entries.get_mut(call)) {
            Some(StoryEntry { body: EntryBody::Tool(tool), turn: of_call, .. }) => {
                tool.children.push(at);
                turn = *of_call;
            }
            Some(_) | None => self.story.turns[turn].entries.push(at),
        }
        if let Some(id) = native_id {
            self.ids.insert(id.as_escaped().to_owned(), at);
        }
        let time = time.or_else(|| self.clock.clone());
        self.story.places.push((self.frame, at));
        self.story.entries.push(StoryEntry {
            body,
            time,
            model,
            agent,
            copied_from,
            replaces,
            turn,
            below: started_by,
        });
        at
    }

    /// Adds an entry that does not belong to an item.
    fn line(&mut self, body: EntryBody) -> usize {
        self.add(body, SharedHead::default())
    }

    fn notice(&mut self, kind: &'static str, piece: Option<Piece>) {
        self.line(EntryBody::Notice(Str::escaped(kind), piece.into_iter().collect()));
    }

    fn response(&mut self, turn: &Turn<'_>) -> usize {
        let next = self.responses.len();
        let at = match &turn.id {
            Some(id) => *self.by_id.entry(id.as_escaped().to_owned()).or_insert(next),
            None => next,
        };
        if at == next {
            let turn = self.story.turns.len().saturating_sub(1);
            self.responses.push(ModelResponse { turn, is_turn: false, usage: None, cost: None });
        }
        self.go_on(at, turn);
        at
    }

    /// The usage at the end of a turn is the turn's total: the part that the responses of the turn did not report.
    fn rest_of_turn(&self, began: Option<usize>, end: &Turn<'_>) -> Option<Usage> {
        let usage = end.usage.as_ref()?;
        // A turn with an id is a response, whose reports are cumulative.
        let Some(at) = began.filter(|_| end.id.is_none()) else { return Some(*usage) };
        let responses = self.responses.get(at + 1..).unwrap_or_default();
        let told = responses.iter().filter_map(|response| response.usage.as_ref());
        let rest = usage.increase_over(&told.fold(Usage::default(), |sum, usage| sum.and(usage)));
        rest.counts().iter().any(|(_, count)| count.is_some_and(|count| count > 0)).then_some(rest)
    }

    fn go_on(&mut self, at: usize, later: &Turn<'_>) {
        #[rustfmt::skip]
        let Turn { id: _, model: _, time: _, request_id: _, effort, answer: _, stop, usage, cost } = later;
        if let Some(known) = self.responses.get_mut(at) {
            if let (Some(effort), Some(turn)) = (effort, self.story.turns.get_mut(known.turn)) {
                turn.effort = Some(effort.clone().into_owned());
            }
            if let Some(usage) = usage {
                known.usage.get_or_insert_default().overwrite(usage);
            }
            known.cost = cost.as_ref().and_then(|cost| cost.as_str().parse().ok()).or(known.cost);
        }
        match stop {
            Some(stop)
                if !matches!(stop.class, StopClass::End | StopClass::ToolUse | StopClass::Sequence) =>
            {
                let stop = stop.clone().into_owned();
                let said = self.story.entries.last().map(|entry| &entry.body);
                // Later reports of one response repeat its stop reason.
                if !matches!(said, Some(EntryBody::Stopped(known)) if **known == stop) {
                    self.line(EntryBody::Stopped(Box::new(stop)));
                }
            }
            Some(_) | None => {}
        }
    }

    fn started(&mut self, head: &ItemHead<'_>) {
        #[rustfmt::skip]
        let ItemHead {
            id, kind, author, origin, within, native_id, parent: _, replaces, agent, parent_call, time, model,
            answer: _, phase: _, subject: _, copied_from, shape: _,
        } = head;
        let owned = |text: &Option<Str<'_>>| text.clone().map(Str::into_owned);
        let mut shared = SharedHead {
            native_id: owned(native_id),
            parent_call: owned(parent_call),
            agent: owned(agent),
            time: time.as_ref().and_then(Moment::of),
            model: owned(model),
            copied_from: owned(copied_from),
            replaces: replaces.is_some(),
        };
        // A block holds only the members that differ from its message.
        if let Some(message) = within.and_then(|message| self.open.get_mut(&message)) {
            message.interrupted = true;
            if let Some((_, of_message)) = &message.head {
                shared.parent_call = shared.parent_call.or_else(|| of_message.parent_call.clone());
                shared.agent = shared.agent.or_else(|| of_message.agent.clone());
                shared.time = shared.time.or_else(|| of_message.time.clone());
                shared.model = shared.model.or_else(|| of_message.model.clone());
                shared.copied_from = shared.copied_from.or_else(|| of_message.copied_from.clone());
            }
        }
        let mut open = OpenPlace { place: None, interrupted: false, head: None, parts: HashMap::new() };
        match kind {
            ItemKind::Message => open.head = Some((SpokenBy::of(*author, *origin), shared)),
            ItemKind::Reasoning => {
                open.place = Some((self.add(EntryBody::Thought(Vec::new()), shared), None));
            }
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                let tool = ToolUse {
                    name: name.clone().into_owned(),
                    namespace: owned(namespace),
                    kind: Some(*kind),
                    args: None,
                    results: Vec::new(),
                    children: Vec::new(),
                };
                let at = self.add(EntryBody::Tool(Box::new(tool)), shared);
                if let Some(id) = call_id {
                    self.names.calls.insert(id.as_escaped().to_owned(), at);
                }
                open.place = Some((at, None));
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                let call = call_id.as_ref().and_then(|id| self.names.calls.get(id.as_escaped())).copied();
                let at = call.unwrap_or_else(|| self.unasked(call_id.as_ref(), name.as_ref(), shared));
                if let Some(StoryEntry { body: EntryBody::Tool(tool), .. }) = self.story.entries.get_mut(at) {
                    open.place = Some((at, Some(tool.results.len())));
                    tool.results.push(ToolOutcome::default());
                }
            }
            ItemKind::Notice(notice) => {
                let kind = owned(&notice.event_type).unwrap_or_else(|| Str::escaped("notice"));
                open.place = Some((self.add(EntryBody::Notice(kind, Vec::new()), shared), None));
            }
        }
        self.open.insert(*id, open);
    }

    /// A result whose call is not in the source.
    fn unasked(&mut self, call_id: Option<&Str<'_>>, name: Option<&Str<'_>>, head: SharedHead) -> usize {
        let tool = ToolUse {
            name: name.map_or(Str::escaped("a tool"), |name| name.clone().into_owned()),
            namespace: None,
            kind: None,
            args: None,
            results: Vec::new(),
            children: Vec::new(),
        };
        let at = self.add(EntryBody::Tool(Box::new(tool)), head);
        if let Some(id) = call_id {
            self.names.calls.insert(id.as_escaped().to_owned(), at);
        }
        at
    }

    fn delta(&mut self, delta: &Delta<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(open) = self.open.get_mut(item) else { return };
        if open.place.is_none() || open.interrupted {
            // The message continues after a nested item, unless the part already exists.
            if let (Some((speaker, head)), false) = (&open.head, open.parts.contains_key(part)) {
                let (speaker, mut head) = (*speaker, head.clone());
                if open.place.is_some() {
                    head.native_id = None;
                }
                open.interrupted = false;
                let at = self.add(EntryBody::Said(speaker, Vec::new()), head);
                if let Some(open) = self.open.get_mut(item) {
                    open.place = Some((at, None));
                }
            }
        }
        let Some(open) = self.open.get_mut(item) else { return };
        if let Some(&(at, result, number)) = open.parts.get(part)
            && let Some(pieces) = pieces(&mut self.story.entries, at, result)
            && let Some(known) = pieces.get_mut(number)
            && known.grow(value)
        {
            return;
        }
        let Some((at, result)) = open.place else { return };
        match value {
            Part::Args(args) => {
                if let Some(StoryEntry { body: EntryBody::Tool(tool), .. }) = self.story.entries.get_mut(at) {
                    add_args(&mut tool.args, args);
                }
            }
            // Cache marks only matter to the provider.
            Part::Cache(_) => {}
            value => {
                let Some(pieces) = pieces(&mut self.story.entries, at, result) else { return };
                // A citation of a part does not end the part.
                if !matches!(value, Part::Citation(_)) {
                    open.parts.insert(*part, (at, result, pieces.len()));
                }
                pieces.extend(Piece::of(value));
            }
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let ItemTail { id, status, native_status: _, is_error, exit_code, duration } = tail;
        let Some(open) = self.open.remove(id) else { return };
        match open {
            // A message without content gets an empty entry.
            OpenPlace { place: None, interrupted: false, head: Some((speaker, head)), .. } => {
                self.add(EntryBody::Said(speaker, Vec::new()), head);
            }
            OpenPlace { place: Some((at, Some(result))), .. } => {
                if let Some(StoryEntry { body: EntryBody::Tool(tool), .. }) = self.story.entries.get_mut(at)
                    && let Some(outcome) = tool.results.get_mut(result)
                {
                    outcome.status = Some(*status);
                    (outcome.is_error, outcome.exit_code, outcome.duration) =
                        (*is_error, *exit_code, *duration);
                }
            }
            OpenPlace { .. } => {}
        }
    }

    fn permission(&mut self, permission: &Permission<'_>) {
        let id = permission.id.as_escaped().to_owned();
        let known = self.names.permissions.get(&id).and_then(|&at| self.story.entries.get_mut(at));
        if let Some(EntryBody::Permission(known)) = known.map(|entry| &mut entry.body) {
            if permission.answer.is_some() {
                known.answer = permission.clone().into_owned().answer;
            }
        } else {
            let at = self.line(EntryBody::Permission(Box::new(permission.clone().into_owned())));
            self.names.permissions.insert(id, at);
        }
    }

    fn question(&mut self, question: &Question<'_>) {
        let id = question.id.as_escaped().to_owned();
        let known = self.names.questions.get(&id).and_then(|&at| self.story.entries.get_mut(at));
        if let Some(EntryBody::Question(known)) = known.map(|entry| &mut entry.body) {
            let Question { answers, declined, .. } = question.clone().into_owned();
            (known.answers, known.declined) = (answers, declined);
        } else {
            let at = self.line(EntryBody::Question(Box::new(question.clone().into_owned())));
            self.names.questions.insert(id, at);
        }
    }

    fn compacted(&mut self, compaction: &Compaction<'_>) {
        let kept_from = compaction.kept_from.as_ref().and_then(|id| self.ids.get(id.as_escaped())).copied();
        let compaction = Box::new(compaction.clone().into_owned());
        self.line(EntryBody::Compacted { compaction, kept_from });
    }

    fn unparsed(&mut self, bytes: &[u8], why: &'static str, frame: FramePlace) {
        if matches!(why, "blank" | "bom") {
            return;
        }
        // A frame over the limit arrives in several chunks.
        if let Some(StoryEntry { body: EntryBody::Damaged(damage), .. }) = self.story.entries.last_mut()
            && damage.frame == frame
        {
            damage.bytes += bytes.len() as u64;
            return;
        }
        let start = bytes.get(..DAMAGE_SHOWN).unwrap_or(bytes);
        let start = String::from_utf8_lossy(start).into_owned();
        self.line(EntryBody::Damaged(Damage { frame, why, bytes: bytes.len() as u64, start }));
    }
}

fn pieces(entries: &mut [StoryEntry], at: usize, result: Option<usize>) -> Option<&mut Vec<Piece>> {
    match (&mut entries.get_mut(at)?.body, result) {
        (EntryBody::Said(_, pieces) | EntryBody::Thought(pieces) | EntryBody::Notice(_, pieces), _) => {
            Some(pieces)
        }
        (EntryBody::Tool(tool), Some(result)) => Some(&mut tool.results.get_mut(result)?.pieces),
        _ => None,
    }
}

fn add_args(known: &mut Option<ToolArgs>, args: &Args<'_>) {
    match (known, args) {
        (Some(ToolArgs::Text(text)), Args::Text(more)) => text.push(more),
        (known, Args::Text(text)) => *known = Some(ToolArgs::Text(text.clone().into_owned())),
        (known, Args::Json(json)) => *known = Some(ToolArgs::Json(json.clone().into_owned())),
    }
}

impl Piece {
    fn of(part: &Part<'_>) -> Option<Self> {
        Some(match part.clone().into_owned() {
            Part::Text(text) | Part::Summary(text) => Piece::Text(text),
            Part::Refusal(text) => Piece::Refusal(text),
            Part::Media(media) => Piece::Media(Box::new(media)),
            Part::Json(json) => Piece::Json(json),
            Part::File(file) => Piece::File(Box::new(file)),
            Part::Citation(citation) => Piece::Citation(Box::new(citation)),
            Part::Opaque(opaque) => Piece::Opaque(Box::new(opaque)),
            // Arguments belong to a call, and cache marks only matter to the provider.
            Part::Args(_) | Part::Cache(_) => return None,
        })
    }

    /// A name, quoted as JSON to distinguish it from text.
    fn named(name: &Str<'_>) -> Self {
        Piece::Json(interlingua::json::Raw::owned(format!("\"{}\"", name.as_escaped())))
    }

    /// Appends a later delta of the same part, if its kind matches.
    fn grow(&mut self, more: &Part<'_>) -> bool {
        match (self, more) {
            (Piece::Text(text), Part::Text(more) | Part::Summary(more))
            | (Piece::Refusal(text), Part::Refusal(more)) => {
                text.push(more);
                true
            }
            _ => false,
        }
    }
}
