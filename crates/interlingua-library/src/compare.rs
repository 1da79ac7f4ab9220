//! The comparison of a session with its copy in another agent, by the events that are read from both.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::log::Outline;
use interlingua::model::{Args, Author, Delta, Event, ItemHead, ItemId, ItemKind, Origin, Part, ToolCall};
use interlingua::pipe::EventReader;
use serde_json::Value;

/// The number of equal things in both sessions, and in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// In the source.
    pub all: u64,
    /// In the copy, too.
    pub kept: u64,
}

/// The parts of a session that its copy has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// Texts of the user.
    pub prompts: Kept,
    /// Texts of the agent.
    pub answers: Kept,
    /// Calls, with equal arguments.
    pub calls: Kept,
    /// Results, with equal texts.
    pub results: Kept,
}

impl Comparison {
    /// Whether the copy has every prompt, answer, call and result.
    pub fn is_whole(&self) -> bool {
        [self.prompts, self.answers, self.calls, self.results].iter().all(|kept| kept.kept == kept.all)
    }
}

/// The texts, calls and results of a session, as hashes.
pub struct SessionContents {
    reader: EventReader,
    gathered: GatheredContents,
}

#[derive(Default)]
struct GatheredContents {
    secret: RandomState,
    /// How often each thing occurs.
    counts: HashMap<(Sort, u64), u64>,
    open: HashMap<ItemId, OpenThing>,
}

/// The sort of a thing that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sort {
    Prompt,
    Answer,
    Call,
    Result,
}

struct OpenThing {
    sort: Sort,
    /// The name of the tool that is called.
    name: String,
    text: String,
}

impl SessionContents {
    /// Reads a session of that dialect and role.
    pub fn new(from: (&'static Dialect, Role), options: &Options) -> Result<Self, Error> {
        Ok(Self { reader: EventReader::new(from, options)?, gathered: GatheredContents::default() })
    }

    /// Reads the next bytes. Items that the outline leaves out do not count.
    pub fn push(&mut self, bytes: &[u8], outline: Option<&Outline>) {
        let gathered = &mut self.gathered;
        self.reader.push(bytes, |event| gathered.event(event, outline));
    }

    /// Ends the session.
    #[must_use]
    pub fn finish(mut self, outline: Option<&Outline>) -> FinishedContents {
        let gathered = &mut self.gathered;
        let _ = self.reader.finish(|event| gathered.event(event, outline));
        FinishedContents { secret: self.gathered.secret, counts: self.gathered.counts }
    }
}

/// The contents of a session that was read to its end.
pub struct FinishedContents {
    secret: RandomState,
    counts: HashMap<(Sort, u64), u64>,
}

impl FinishedContents {
    /// A reader of a copy, whose things can be compared with those of this session.
    pub fn reader_of_copy(
        &self,
        from: (&'static Dialect, Role),
        options: &Options,
    ) -> Result<SessionContents, Error> {
        let gathered = GatheredContents { secret: self.secret.clone(), ..GatheredContents::default() };
        Ok(SessionContents { reader: EventReader::new(from, options)?, gathered })
    }

    /// The parts of this session that the copy has.
    pub fn compare(&self, copy: &FinishedContents) -> Comparison {
        let mut comparison = Comparison::default();
        for (key, &count) in &self.counts {
            let kept = match key.0 {
                Sort::Prompt => &mut comparison.prompts,
                Sort::Answer => &mut comparison.answers,
                Sort::Call => &mut comparison.calls,
                Sort::Result => &mut comparison.results,
            };
            kept.all += count;
            kept.kept += count.min(copy.counts.get(key).copied().unwrap_or(0));
        }
        comparison
    }
}

impl GatheredContents {
    fn event(&mut self, event: &Event<'_>, outline: Option<&Outline>) {
        match event {
            Event::ItemStarted(head) => {
                let is_left_out = outline.is_some_and(|outline| outline.is_left_out(head.id));
                if let Some(thing) = OpenThing::of(head).filter(|_| !is_left_out) {
                    self.open.insert(head.id, thing);
                }
            }
            Event::ItemDelta(delta) => {
                if let Some(thing) = self.open.get_mut(&delta.item) {
                    thing.add(delta);
                }
            }
            Event::ItemCompleted(tail) => {
                if let Some(thing) = self.open.remove(&tail.id) {
                    self.count(&thing);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, thing: &OpenThing) {
        // Agents add and remove white space at the ends of texts.
        let text = thing.text.trim();
        let key = match thing.sort {
            Sort::Call => self.secret.hash_one((&thing.name, canonical(text).as_deref().unwrap_or(text))),
            Sort::Prompt | Sort::Answer | Sort::Result if text.is_empty() => return,
            Sort::Prompt | Sort::Answer | Sort::Result => self.secret.hash_one(text),
        };
        *self.counts.entry((thing.sort, key)).or_default() += 1;
    }
}

impl OpenThing {
    /// The thing that an item is; `None` for items that are not compared: reasoning, notices, texts of programs and items
    /// of subagents.
    fn of(head: &ItemHead<'_>) -> Option<Self> {
        if head.agent.is_some() {
            return None;
        }
        let is_own = matches!(head.origin, None | Some(Origin::Own));
        let (sort, name) = match &head.kind {
            ItemKind::Message if !is_own => return None,
            ItemKind::Message if head.author == Author::User => (Sort::Prompt, String::new()),
            ItemKind::Message if head.author == Author::Assistant => (Sort::Answer, String::new()),
            ItemKind::ToolCall(ToolCall { name, .. }) => (Sort::Call, name.decode().into_owned()),
            ItemKind::ToolResult(_) => (Sort::Result, String::new()),
            _ => return None,
        };
        Some(Self { sort, name, text: String::new() })
    }

    fn add(&mut self, delta: &Delta<'_>) {
        match &delta.value {
            Part::Text(text) | Part::Refusal(text) => self.text.push_str(&text.decode()),
            Part::Args(Args::Text(text)) => self.text.push_str(&text.decode()),
            Part::Args(Args::Json(json)) => self.text.push_str(json.as_str()),
            Part::Json(json) => self.text.push_str(json.as_str()),
            // Pictures, files, citations and state of a provider are in the report of losses.
            _ => {}
        }
    }
}

/// A JSON text with sorted keys and without white space.
fn canonical(json: &str) -> Option<String> {
    serde_json::from_str(json).ok().map(|value| sorted(value).to_string())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(members) => {
            let members: BTreeMap<String, Value> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.into_iter().collect()
        }
        value => value,
    }
}
