//! The tree: what a stream of events folds into.
//!
//! For queries, tests and snapshots, written once for every dialect. It holds the whole session in memory; a
//! conversion never needs it. Our own item numbers and the cut of the deltas leave no trace, so two transcripts are
//! equal when they say the same.
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
use crate::pipe::{Pipe, Target, Writer};

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// What is known of the session; where it changed, the last word.
    pub session: Session<'static>,
    /// How it ended, if that was said.
    pub end: Option<SessionEnd<'static>>,
    /// Where the conversation went back.
    pub rewinds: Vec<Rewind<'static>>,
    /// Where it was compacted.
    pub compactions: Vec<Compaction<'static>>,
    /// Models on offer.
    pub models: Vec<ModelInfo<'static>>,
    /// The settings of each model call.
    pub requests: Vec<Request<'static>>,
    /// What was said and done, in the order it began.
    pub items: Vec<Item>,
    /// One per response id, in the order they began; later numbers win.
    pub turns: Vec<Turn<'static>>,
    /// What an agent asked leave for, with the answer if there was one.
    pub permissions: Vec<Permission<'static>>,
    /// What an agent asked the user, with the answer if there was one.
    pub questions: Vec<Question<'static>>,
    /// What failed.
    pub errors: Vec<Failure<'static>>,
}

/// Something said or done, with what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind<'static>,
    /// Who speaks.
    pub author: Author,
    /// The id the dialect gave it.
    pub native_id: Option<Str<'static>>,
    /// The native id of the item it follows or answers.
    pub parent: Option<Str<'static>>,
    /// Whose words they are, when and by which model they were said.
    pub circumstances: Circumstances<'static>,
    /// Its parts and the items within it, in order.
    pub content: Vec<Content>,
    /// How it ended; `None` while it is open.
    pub status: Option<Status>,
    /// The dialect's own word for that.
    pub native_status: Option<Str<'static>>,
    /// For tool results: whether the tool said it failed.
    pub is_error: Option<bool>,
    /// For tool results: what a process that ran returned.
    pub exit_code: Option<i64>,
    /// For tool results: how long it took, in milliseconds.
    pub duration: Option<u64>,
}

/// A piece of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A part, with its number.
    Part(u32, Part<'static>),
    /// An item within it.
    Item(Item),
}

impl Transcript {
    /// Reads a whole input.
    pub fn read(from: (&Dialect, Role), bytes: &[u8], options: &Options) -> Result<(Self, Report), Error> {
        let fold = Arc::new(Mutex::new(Fold::default()));
        let mut pipe = Pipe::with_writer(from, Box::new(Shared(Arc::clone(&fold))), options)?;
        pipe.push(bytes, &mut Vec::new());
        let report = pipe.finish(&mut Vec::new());
        let transcript = std::mem::take(&mut fold.lock().unwrap_or_else(PoisonError::into_inner).transcript);
        Ok((transcript, report))
    }

    /// What all responses used together.
    pub fn usage(&self) -> Usage {
        let told = self.turns.iter().filter_map(|turn| turn.usage);
        told.fold(Usage::default(), |sum, usage| sum.and(&usage))
    }
}

/// Folds events as they come.
#[derive(Debug, Default)]
pub struct Fold {
    transcript: Transcript,
    /// Where each open item stands: its index in `items`, then in the `content` of each item on the way.
    open: BTreeMap<ItemId, Vec<usize>>,
    turns: BTreeMap<String, usize>,
    /// The turn that began last and has not ended.
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
            // Items have their own times, and a transcript has no others.
            Event::Clock(_) => {}
            Event::Request(request) => transcript.requests.push(*request),
            Event::TurnStarted(turn) => {
                self.open_turn = Some(self.turn(turn));
            }
            Event::Usage(turn) => {
                self.turn(turn);
            }
            Event::TurnEnded(turn) => {
                // An end without an id ends what began last.
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

    /// Adds to the turn of the same id, or a new one. Returns which.
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
        // The shape is advice to writers, and the number is ours.
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
            // What is said about a part does not end it.
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
    fn event(&mut self, event: &Event<'_>, _: &mut Target<'_>) {
        Fold::event(self, event);
    }

    /// A transcript has no place for what the model has no word for; whoever folds has the source beside it.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut Target<'_>) {}
}

/// A fold that the pipe writes to and its maker reads from.
struct Shared(Arc<Mutex<Fold>>);

impl Writer for Shared {
    fn event(&mut self, event: &Event<'_>, _: &mut Target<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut Target<'_>) {}
}

fn find<'i>(items: &'i mut [Item], path: &[usize]) -> Option<&'i mut Item> {
    let (first, deeper) = path.split_first()?;
    deeper.iter().try_fold(items.get_mut(*first)?, |item, at| match item.content.get_mut(*at)? {
        Content::Item(inner) => Some(inner),
        Content::Part(..) => None,
    })
}

/// What is said later of a turn counts; what is not said again stays.
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
