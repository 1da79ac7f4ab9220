//! The comparison of a session with its copy in another agent, by the events that are read from both.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::log::{Outline, ResultCuts};
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
    /// Pictures and other media, with equal bytes or addresses.
    pub pictures: Kept,
    /// Results that were cut to a budget.
    pub cut: u64,
    /// Items of subagents in the source, which are not compared.
    pub of_subagents: u64,
}

/// The differences that a conversion was asked for, which are no losses.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ComparisonRules {
    /// Calls have the names and arguments of other tools: only their number is compared.
    pub are_tools_mapped: bool,
    /// Results that are cut: their texts are not compared.
    pub cuts: Option<Arc<ResultCuts>>,
}

impl Comparison {
    /// Whether the copy has every prompt, answer, call, result and picture.
    pub fn is_whole(&self) -> bool {
        let all = [self.prompts, self.answers, self.calls, self.results, self.pictures];
        all.iter().all(|kept| kept.kept == kept.all)
    }
}

/// The texts, calls and results of a session, as hashes of their lines.
pub struct SessionContents {
    reader: EventReader,
    gathered: GatheredContents,
}

#[derive(Default)]
struct GatheredContents {
    secret: RandomState,
    /// The things, each with the hashes of its lines. Agents divide and join texts: the lines of a prompt may be in two prompts.
    things: Vec<(Sort, Vec<u64>)>,
    open: HashMap<ItemId, OpenThing>,
    rules: ComparisonRules,
    cut: u64,
    of_subagents: u64,
}

/// The sort of a thing that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sort {
    Prompt,
    Answer,
    Call,
    Result,
    Picture,
}

struct OpenThing {
    sort: Sort,
    /// The name of the tool that is called.
    name: String,
    text: String,
    /// The number of the last part.
    part: u32,
}

impl SessionContents {
    /// Reads a session of that dialect and role.
    pub fn new(
        from: (&'static Dialect, Role),
        options: &Options,
        rules: ComparisonRules,
    ) -> Result<Self, Error> {
        let gathered = GatheredContents { rules, ..GatheredContents::default() };
        Ok(Self { reader: EventReader::new(from, options)?, gathered })
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
        FinishedContents { gathered: self.gathered }
    }
}

/// The contents of a session that was read to its end.
pub struct FinishedContents {
    gathered: GatheredContents,
}

impl FinishedContents {
    /// A reader of a copy, whose things can be compared with those of this session.
    pub fn reader_of_copy(
        &self,
        from: (&'static Dialect, Role),
        options: &Options,
    ) -> Result<SessionContents, Error> {
        // The numbers of cut results are those of the source.
        let are_tools_mapped = self.gathered.rules.are_tools_mapped;
        let rules = ComparisonRules { are_tools_mapped, cuts: None };
        let secret = self.gathered.secret.clone();
        let gathered = GatheredContents { secret, rules, ..GatheredContents::default() };
        Ok(SessionContents { reader: EventReader::new(from, options)?, gathered })
    }

    /// The parts of this session that the copy has.
    pub fn compare(&self, copy: &FinishedContents) -> Comparison {
        let GatheredContents { things, cut, of_subagents, .. } = &self.gathered;
        let mut comparison = Comparison { cut: *cut, of_subagents: *of_subagents, ..Comparison::default() };
        let mut left: HashMap<(Sort, u64), u64> = HashMap::new();
        for (sort, lines) in &copy.gathered.things {
            for line in lines {
                *left.entry((*sort, *line)).or_default() += 1;
            }
        }
        for (sort, lines) in things {
            let kept = match sort {
                Sort::Prompt => &mut comparison.prompts,
                Sort::Answer => &mut comparison.answers,
                Sort::Call => &mut comparison.calls,
                Sort::Result => &mut comparison.results,
                Sort::Picture => &mut comparison.pictures,
            };
            kept.all += 1;
            let is_left = |line: &u64| left.get(&(*sort, *line)).is_some_and(|count| *count > 0);
            if lines.iter().all(is_left) {
                kept.kept += 1;
                for line in lines {
                    if let Some(count) = left.get_mut(&(*sort, *line)) {
                        *count = count.saturating_sub(1);
                    }
                }
            }
        }
        comparison
    }
}

impl GatheredContents {
    fn event(&mut self, event: &Event<'_>, outline: Option<&Outline>) {
        match event {
            Event::ItemStarted(head) => {
                if outline.is_some_and(|outline| outline.is_left_out(head.id)) {
                    return;
                }
                if head.agent.is_some() {
                    self.of_subagents += 1;
                } else if self.rules.cuts.as_ref().is_some_and(|cuts| cuts.is_cut(head.id)) {
                    self.cut += 1;
                } else if let Some(thing) = OpenThing::of(head) {
                    self.open.insert(head.id, thing);
                }
            }
            Event::ItemDelta(delta) => {
                let Some(thing) = self.open.get_mut(&delta.item) else { return };
                if let Part::Media(media) = &delta.value {
                    let picture = self.secret.hash_one(&*media.source.text().decode());
                    self.things.push((Sort::Picture, vec![picture]));
                } else {
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
        let text = thing.text.trim();
        let lines = match thing.sort {
            Sort::Call if self.rules.are_tools_mapped => vec![0],
            Sort::Call => {
                vec![self.secret.hash_one((&thing.name, canonical(text).as_deref().unwrap_or(text)))]
            }
            // Agents add and remove white space at the ends of texts and lines.
            Sort::Prompt | Sort::Answer | Sort::Result | Sort::Picture => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                lines.map(|line| self.secret.hash_one(line)).collect()
            }
        };
        if !lines.is_empty() {
            self.things.push((thing.sort, lines));
        }
    }
}

impl OpenThing {
    /// The thing that an item is; `None` for items that are not compared: reasoning, notices and texts of programs.
    fn of(head: &ItemHead<'_>) -> Option<Self> {
        let is_own = matches!(head.origin, None | Some(Origin::Own));
        let (sort, name) = match &head.kind {
            ItemKind::Message if !is_own => return None,
            ItemKind::Message if head.author == Author::User => (Sort::Prompt, String::new()),
            ItemKind::Message if head.author == Author::Assistant => (Sort::Answer, String::new()),
            ItemKind::ToolCall(ToolCall { name, .. }) => (Sort::Call, name.decode().into_owned()),
            ItemKind::ToolResult(_) => (Sort::Result, String::new()),
            _ => return None,
        };
        Some(Self { sort, name, text: String::new(), part: 0 })
    }

    fn add(&mut self, delta: &Delta<'_>) {
        if std::mem::replace(&mut self.part, delta.part) != delta.part {
            self.text.push('\n');
        }
        match &delta.value {
            Part::Text(text) | Part::Refusal(text) => self.text.push_str(&text.decode()),
            Part::Args(Args::Text(text)) => self.text.push_str(&text.decode()),
            Part::Args(Args::Json(json)) => self.text.push_str(json.as_str()),
            Part::Json(json) => self.text.push_str(json.as_str()),
            // Files, citations and state of a provider are in the report of losses.
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
