//! The tree that a stream of events folds into.
//!
//! For queries, tests and snapshots, written once for every dialect. The tree holds the whole session in memory;
//! conversions do not use it. Item numbers and the boundaries of deltas leave no trace, so two transcripts with the
//! same content are equal.
//!
//! ```
//! use interlingua::dialects::{Dialect, Options, Role};
//! use interlingua::fold::{Content, Transcript};
//!
//! let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"},"cwd":"/tmp"}"#;
//! let claude = Dialect::named("claude-code").expect("registered");
//! let (transcript, report) = Transcript::read((claude, Role::Log), log, &Options::default())?;
//!
//! assert!(report.adds_up());
//! assert_eq!(transcript.session.cwd.map(|cwd| cwd.is("/tmp")), Some(true));
//! assert!(matches!(&transcript.items[0].content[..], [Content::Part(0, _)]));
//! # Ok::<(), interlingua::error::Error>(())
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::dialects::{Dialect, Options, Role};
use crate::error::Error;
use crate::json::Str;
use crate::ledger::{Leftover, Report};
use crate::model::{
    Args, Author, Circumstances, Compaction, Delta, Event, Failure, ItemHead, ItemId, ItemKind, ItemTail,
    ModelInfo, Part, Permission, Question, Request, Rewind, Session, SessionEnd, Status, Turn, Usage,
};
use crate::pipe::{Pipe, Writer, WriterOutput};

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Transcript {
    /// The facts of the session; the last value of each.
    pub session: Session<'static>,
    /// The end of the session, if any.
    pub end: Option<SessionEnd<'static>>,
    /// The rewinds of the conversation.
    pub rewinds: Vec<Rewind<'static>>,
    /// The compactions of the conversation.
    pub compactions: Vec<Compaction<'static>>,
    /// The offered models.
    pub models: Vec<ModelInfo<'static>>,
    /// The settings of each model call.
    pub requests: Vec<Request<'static>>,
    /// The items, in the order they began.
    pub items: Vec<Item>,
    /// One turn per response id, in the order they began; later values win.
    pub turns: Vec<Turn<'static>>,
    /// The permission requests, with the decision if there was one.
    pub permissions: Vec<Permission<'static>>,
    /// The questions to the user, with the answer if there was one.
    pub questions: Vec<Question<'static>>,
    /// The failures.
    pub errors: Vec<Failure<'static>>,
}

/// An item with its content.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Item {
    /// The item's kind.
    pub kind: ItemKind<'static>,
    /// The author's role.
    pub author: Author,
    /// The dialect's id of the item.
    pub native_id: Option<Str<'static>>,
    /// The native id of the item this item follows or answers.
    pub parent: Option<Str<'static>>,
    /// Origin, time, model and further fields of the item.
    pub circumstances: Circumstances<'static>,
    /// The item's parts and inner items, in order.
    pub content: Vec<Content>,
    /// The status at the end; `None` while the item is open.
    pub status: Option<Status>,
    /// The dialect's own word for the status.
    pub native_status: Option<Str<'static>>,
    /// For tool results: the tool's error flag.
    pub is_error: Option<bool>,
    /// For tool results: the exit code of the process.
    pub exit_code: Option<i64>,
    /// For tool results: the duration in milliseconds.
    pub duration: Option<u64>,
}

/// A part or an inner item.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Content {
    /// A part, with its number.
    Part(u32, Part<'static>),
    /// An inner item.
    Item(Item),
}

impl Transcript {
    /// Reads a complete input.
    pub fn read(from: (&Dialect, Role), bytes: &[u8], options: &Options) -> Result<(Self, Report), Error> {
        let fold = Arc::new(Mutex::new(Fold::default()));
        let mut pipe = Pipe::with_writer(from, Box::new(Shared(Arc::clone(&fold))), options)?;
        pipe.push(bytes, &mut Vec::new());
        let report = pipe.finish(&mut Vec::new());
        let transcript = std::mem::take(&mut fold.lock().unwrap_or_else(PoisonError::into_inner).transcript);
        Ok((transcript, report))
    }

    /// The total usage of all responses.
    pub fn usage(&self) -> Usage {
        let told = self.turns.iter().filter_map(|turn| turn.usage);
        told.fold(Usage::default(), |sum, usage| sum.and(&usage))
    }
}

/// Folds events incrementally.
#[derive(Debug, Default)]
pub struct Fold {
    transcript: Transcript,
    /// The path of each open item: its index in `items`, then in the `content` of each enclosing item.
    open: BTreeMap<ItemId, Vec<usize>>,
    turns: BTreeMap<String, usize>,
    /// The last turn that has not ended.
    open_turn: Option<usize>,
}

impl Fold {
    /// Adds one event.
    pub fn event(&mut self, event: &Event<'_>) {
        let transcript = &mut self.transcript;
        match event.clone().into_owned() {
            Event::SessionStarted(session) | Event::SessionUpdated(session) => {
                transcript.session.update(session);
            }
            Event::SessionEnded(end) => transcript.end = Some(end),
            Event::Rewound(rewind) => transcript.rewinds.push(rewind),
            Event::Compacted(compaction) => transcript.compactions.push(compaction),
            Event::Model(model) => transcript.models.push(model),
            // Items have their own times, and a transcript has no other times.
            Event::Clock(_) => {}
            Event::Request(request) => transcript.requests.push(*request),
            Event::TurnStarted(turn) => {
                self.open_turn = Some(self.turn(turn));
            }
            Event::Usage(turn) => {
                self.turn(turn);
            }
            Event::TurnEnded(turn) => {
                // A turn end without an id ends the last open turn.
                let begun = self.open_turn.take().filter(|_| turn.id.is_none());
                match begun.and_then(|at| self.transcript.turns.get_mut(at)) {
                    Some(known) => go_on(known, turn),
                    None => {
                        self.turn(turn);
                    }
                }
            }
            Event::ItemStarted(head) => self.started(head),
            Event::ItemDelta(delta) => self.delta(delta),
            Event::ItemCompleted(tail) => self.completed(tail),
            Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
                match transcript.permissions.iter_mut().find(|known| known.id == permission.id) {
                    Some(known) => known.answer = permission.answer,
                    None => transcript.permissions.push(permission),
                }
            }
            Event::QuestionRequested(question) | Event::QuestionResolved(question) => {
                match transcript.questions.iter_mut().find(|known| known.id == question.id) {
                    Some(known) => {
                        (known.answers, known.declined) = (question.answers, question.declined);
                    }
                    None => transcript.questions.push(question),
                }
            }
            Event::Error(failure) => transcript.errors.push(failure),
        }
    }

    /// The conversation so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Adds to the turn with the same id, or adds a new turn. Returns its index.
    fn turn(&mut self, turn: Turn<'static>) -> usize {
        let turns = &mut self.transcript.turns;
        let at = match &turn.id {
            Some(id) => *self.turns.entry(id.as_escaped().to_owned()).or_insert(turns.len()),
            None => turns.len(),
        };
        match turns.get_mut(at) {
            Some(known) => go_on(known, turn),
            None => turns.push(turn),
        }
        at
    }

    fn started(&mut self, head: ItemHead<'static>) {
        let circumstances = head.circumstances();
        // The shape is only a hint for writers, and the number is our own.
        let ItemHead { id, kind, author, within, native_id, parent, .. } = head;
        let item = Item {
            kind,
            author,
            native_id,
            parent,
            circumstances,
            content: Vec::new(),
            status: None,
            native_status: None,
            is_error: None,
            exit_code: None,
            duration: None,
        };
        let mut path = within.and_then(|message| self.open.get(&message)).cloned().unwrap_or_default();
        if let Some(message) = find(&mut self.transcript.items, &path) {
            path.push(message.content.len());
            message.content.push(Content::Item(item));
        } else {
            path.push(self.transcript.items.len());
            self.transcript.items.push(item);
        }
        self.open.insert(id, path);
    }

    fn delta(&mut self, delta: Delta<'static>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let path = self.open.get(&item).map_or(&[][..], Vec::as_slice);
        let Some(item) = find(&mut self.transcript.items, path) else { return };
        let same = item.content.iter_mut().rev().find_map(|content| match content {
            // A citation or a cache mark does not end its part.
            Content::Part(_, Part::Citation(_) | Part::Cache(_)) => None,
            Content::Part(number, known) if *number == part => Some(known),
            Content::Part(..) | Content::Item(_) => None,
        });
        match (same, &value) {
            (Some(Part::Text(known)), Part::Text(more))
            | (Some(Part::Summary(known)), Part::Summary(more))
            | (Some(Part::Refusal(known)), Part::Refusal(more))
            | (Some(Part::Args(Args::Text(known))), Part::Args(Args::Text(more))) => known.push(more),
            _ => item.content.push(Content::Part(part, value)),
        }
    }

    fn completed(&mut self, tail: ItemTail<'static>) {
        let ItemTail { id, status, native_status, is_error, exit_code, duration } = tail;
        let path = self.open.remove(&id).unwrap_or_default();
        if let Some(item) = find(&mut self.transcript.items, &path) {
            item.status = Some(status);
            item.native_status = native_status;
            item.is_error = is_error;
            (item.exit_code, item.duration) = (exit_code, duration);
        }
    }
}

impl Writer for Fold {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        Fold::event(self, event);
    }

    /// A transcript has no place for values outside the model; the caller still has the source.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

/// A fold shared between the pipe, which writes to it, and its creator.
struct Shared(Arc<Mutex<Fold>>);

impl Writer for Shared {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn find<'i>(items: &'i mut [Item], path: &[usize]) -> Option<&'i mut Item> {
    let (first, deeper) = path.split_first()?;
    deeper.iter().try_fold(items.get_mut(*first)?, |item, at| match item.content.get_mut(*at)? {
        Content::Item(inner) => Some(inner),
        Content::Part(..) => None,
    })
}

/// Later values of a turn win; missing values stay.
fn go_on(known: &mut Turn<'static>, later: Turn<'static>) {
    let Turn { id: _, model, time, request_id, effort, answer, stop, usage, cost } = later;
    known.answer = answer.or(known.answer);
    known.model = model.or(known.model.take());
    known.time = time.or(known.time.take());
    known.request_id = request_id.or(known.request_id.take());
    known.effort = effort.or(known.effort.take());
    known.stop = stop.or(known.stop.take());
    known.cost = cost.or(known.cost.take());
    if let Some(usage) = usage {
        known.usage.get_or_insert_default().overwrite(&usage);
    }
}
