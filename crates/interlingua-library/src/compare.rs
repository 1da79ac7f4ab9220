//! The comparison of a session with its copy in another agent, by the events that are read from both.
//!
//! Prompts, answers, calls and pictures are compared in their order, and results with those of the same call. Agents renew
//! the ids of calls and put parallel results in another order, so neither is compared.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::json::Str;
use interlingua::log::{Outline, ResultCuts};
use interlingua::model::{Args, Author, Delta, Event, ItemHead, ItemId, ItemKind, Origin, Part, ToolCall};
use interlingua::pipe::EventReader;
use interlingua::wire::backends::NameRule;
use interlingua::wire::{Letters, alias};
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
    /// Texts, calls and pictures in another order, and results of other calls.
    pub moved: u64,
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
    /// Whether the copy has every prompt, answer, call, result and picture, each in its place.
    pub fn is_whole(&self) -> bool {
        let all = [self.prompts, self.answers, self.calls, self.results, self.pictures];
        all.iter().all(|kept| kept.kept == kept.all) && self.moved == 0
    }

    const fn kept(&mut self, sort: Sort) -> &mut Kept {
        match sort {
            Sort::Prompt => &mut self.prompts,
            Sort::Answer => &mut self.answers,
            Sort::Call => &mut self.calls,
            Sort::Result => &mut self.results,
            Sort::Picture => &mut self.pictures,
        }
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
    things: Vec<Thing>,
    open: HashMap<ItemId, OpenThing>,
    /// The number of calls so far.
    calls: usize,
    /// The numbers of the calls of an id that have no result so far, and the last call. Some agents use an id again.
    call_numbers: HashMap<String, VecDeque<usize>>,
    rules: ComparisonRules,
    cut: u64,
    of_subagents: u64,
}

/// A thing that is compared. Agents divide and join texts: the lines of a prompt may be in two prompts.
struct Thing {
    sort: Sort,
    /// The hashes of its lines.
    lines: Vec<u64>,
    /// The number of the call, or of the call that a result answers.
    call: Option<usize>,
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
    /// The number of the call, or of the call that a result answers.
    call: Option<usize>,
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

    /// Ends a file, and reads another file of the same copy next.
    pub fn next_file(&mut self, from: (&'static Dialect, Role), options: &Options) -> Result<(), Error> {
        let gathered = &mut self.gathered;
        let reader = std::mem::replace(&mut self.reader, EventReader::new(from, options)?);
        let _ = reader.finish(|event| gathered.event(event, None));
        Ok(())
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
        let mut left = CopiedLines::new(&copy.gathered.things);
        // The numbers of calls in the source, and those of the same calls in the copy.
        let mut calls: HashMap<usize, usize> = HashMap::new();
        for sort in [Sort::Prompt, Sort::Answer, Sort::Call, Sort::Picture] {
            let mut places = Vec::new();
            for thing in things.iter().filter(|thing| thing.sort == sort) {
                comparison.kept(sort).all += 1;
                let Some(place) = left.take((sort, None), &thing.lines) else { continue };
                comparison.kept(sort).kept += 1;
                places.push(place);
                let number = copy.gathered.things.get(place).and_then(|copied| copied.call);
                calls.extend(thing.call.zip(number));
            }
            comparison.moved += out_of_order(&places);
        }
        let results = things.iter().filter(|thing| thing.sort == Sort::Result);
        let mut elsewhere = Vec::new();
        for result in results {
            comparison.results.all += 1;
            let call = result.call.and_then(|call| calls.get(&call)).copied();
            let is_there = match call {
                Some(call) if result.lines.is_empty() => left.answered.contains(&call),
                Some(call) => left.take((Sort::Result, Some(call)), &result.lines).is_some(),
                None => false,
            };
            if is_there {
                comparison.results.kept += 1;
            } else {
                elsewhere.push(result);
            }
        }
        left.forget_calls();
        for result in elsewhere {
            let is_there = left.take((Sort::Result, None), &result.lines).is_some();
            comparison.results.kept += u64::from(is_there && !result.lines.is_empty());
            // A result without a call has no place to be compared.
            comparison.moved += u64::from(is_there && !result.lines.is_empty() && result.call.is_some());
        }
        comparison
    }
}

/// The lines of a copy that no thing of the source has taken, with the places of their things.
struct CopiedLines {
    /// By their sort, and by the call of results.
    places: HashMap<LineKey, VecDeque<usize>>,
    /// The calls with a result.
    answered: HashSet<usize>,
}

/// The sort of a line, the call of a result, and the hash of the line.
type LineKey = ((Sort, Option<usize>), u64);

impl CopiedLines {
    fn new(things: &[Thing]) -> Self {
        let mut places: HashMap<LineKey, VecDeque<usize>> = HashMap::new();
        let mut answered = HashSet::new();
        for (place, Thing { sort, lines, call }) in things.iter().enumerate() {
            let call = call.filter(|_| *sort == Sort::Result);
            answered.extend(call);
            for line in lines {
                places.entry(((*sort, call), *line)).or_default().push_back(place);
            }
        }
        Self { places, answered }
    }

    /// Takes lines of one sort, or none of them if one is missing. Returns the place of the first.
    fn take(&mut self, of: (Sort, Option<usize>), lines: &[u64]) -> Option<usize> {
        let mut taken: Vec<(u64, usize)> = Vec::with_capacity(lines.len());
        for line in lines {
            if let Some(place) = self.places.get_mut(&(of, *line)).and_then(VecDeque::pop_front) {
                taken.push((*line, place));
                continue;
            }
            for (line, place) in taken.into_iter().rev() {
                self.places.entry((of, line)).or_default().push_front(place);
            }
            return None;
        }
        taken.first().map(|(_, place)| *place)
    }

    /// Leaves the lines of results without their calls.
    fn forget_calls(&mut self) {
        let mut places: HashMap<LineKey, VecDeque<usize>> = HashMap::new();
        for (((sort, _), line), found) in self.places.drain() {
            places.entry(((sort, None), line)).or_default().extend(found);
        }
        self.places = places;
    }
}

/// The number of places that have to move until no place is before an earlier one.
fn out_of_order(places: &[usize]) -> u64 {
    // The smallest last place of a sorted selection of each length.
    let mut ends: Vec<usize> = Vec::new();
    for place in places {
        let length = ends.partition_point(|end| end <= place);
        match ends.get_mut(length) {
            Some(end) => *end = *place,
            None => ends.push(*place),
        }
    }
    (places.len() - ends.len()) as u64
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
                    let call = self.call_number(head);
                    self.open.insert(head.id, OpenThing { call, ..thing });
                }
            }
            Event::ItemDelta(delta) => {
                let Some(thing) = self.open.get_mut(&delta.item) else { return };
                if let Part::Media(media) = &delta.value {
                    let picture = self.secret.hash_one(&*media.source.text().decode());
                    self.things.push(Thing { sort: Sort::Picture, lines: vec![picture], call: None });
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
        // The result of a command may be empty.
        if !lines.is_empty() || thing.sort == Sort::Result {
            self.things.push(Thing { sort: thing.sort, lines, call: thing.call });
        }
    }

    /// The number of a call, or of the call that a result answers.
    fn call_number(&mut self, head: &ItemHead<'_>) -> Option<usize> {
        match &head.kind {
            ItemKind::ToolCall(call) => {
                let number = self.calls;
                self.calls += 1;
                if let Some(id) = &call.call_id {
                    self.call_numbers.entry(id.decode().into_owned()).or_default().push_back(number);
                }
                Some(number)
            }
            ItemKind::ToolResult(result) => {
                let numbers = self.call_numbers.get_mut(&*result.call_id.as_ref()?.decode())?;
                if numbers.len() > 1 { numbers.pop_front() } else { numbers.front().copied() }
            }
            _ => None,
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
            ItemKind::ToolCall(call) => (Sort::Call, name_of_tool(call)),
            ItemKind::ToolResult(_) => (Sort::Result, String::new()),
            _ => return None,
        };
        Some(Self { sort, name, call: None, text: String::new(), part: 0 })
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

/// The name of a tool as it is in every copy. A log has the group of a tool in the name, and an alias of a name that the
/// API of its program refuses; an alias ends with a digest of the name.
fn name_of_tool(call: &ToolCall<'_>) -> String {
    let group = call.namespace.iter().map(|group| format!("{}__", group.decode()));
    let name = group.collect::<String>() + &call.name.decode();
    let is_digest = |end: &&str| end.len() == 32 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    match name.rsplit_once('_').map(|(_, end)| end).filter(is_digest) {
        Some(digest) => format!("_{digest}"),
        // No name has less than one letter, so every name gets an alias.
        None => alias(&Str::from_plain(&name), NameRule::new(Letters::Word, 0)).decode().into_owned(),
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

#[cfg(test)]
mod tests {
    use interlingua::model::CallKind;

    use super::*;

    fn compared(source: &str, copy: &str) -> Comparison {
        let read = |mut contents: SessionContents, lines: &str| {
            contents.push(lines.as_bytes(), None);
            contents.finish(None)
        };
        let claude = (Dialect::named("claude-code").expect("a dialect"), Role::Log);
        let options = Options::default();
        let source = read(
            SessionContents::new(claude, &options, ComparisonRules::default()).expect("a reader"),
            source,
        );
        let copy = read(source.reader_of_copy(claude, &options).expect("a reader"), copy);
        source.compare(&copy)
    }

    fn line(author: &str, block: &str) -> String {
        format!(
            r#"{{"type":"{author}","sessionId":"s","uuid":"u","message":{{"role":"{author}","content":[{block}]}}}}"#
        ) + "\n"
    }

    fn text(author: &str, text: &str) -> String {
        line(author, &format!(r#"{{"type":"text","text":"{text}"}}"#))
    }

    fn call(id: &str, path: &str) -> String {
        line(
            "assistant",
            &format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{"path":"{path}"}}}}"#),
        )
    }

    fn result(id: &str, text: &str) -> String {
        line("user", &format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}"#))
    }

    #[test]
    fn renewed_ids_and_results_in_another_order_are_the_same_session() {
        let source =
            [call("a", "x"), call("b", "y"), result("a", "1"), result("b", "2"), text("assistant", "end")];
        let copy =
            [call("c", "x"), call("d", "y"), result("d", "2"), result("c", "1"), text("assistant", "end")];
        let comparison = compared(&source.concat(), &copy.concat());
        assert!(comparison.is_whole(), "{comparison:?}");
        assert_eq!((comparison.calls.all, comparison.results.all, comparison.answers.all), (2, 2, 1));
    }

    #[test]
    fn a_tool_is_the_same_under_its_alias_and_with_its_group_in_the_name() {
        let name = |group: Option<&str>, name: &str| {
            let (namespace, name) = (group.map(Str::from_plain), Str::from_plain(name));
            name_of_tool(&ToolCall { call_id: None, kind: CallKind::Function, namespace, name })
        };
        let mut gemini = NameRule::new(Letters::Dotted, 128);
        gemini.letter_first = true;
        for rule in [NameRule::TOOL, gemini] {
            for tool in ["Read", "functions.exec", "1st", "é", "", &"n".repeat(200)] {
                let written = alias(&Str::from_plain(tool), rule).decode().into_owned();
                assert_eq!(name(None, &written), name(None, tool), "{tool:?} became {written:?}");
            }
        }
        assert_eq!(name(Some("mcp"), "say"), name(None, "mcp__say"));
        assert_ne!(name(None, "Read"), name(None, "Write"));
        assert_ne!(name(None, &"n".repeat(200)), name(None, &"n".repeat(201)));
    }

    #[test]
    fn two_files_of_a_copy_are_compared_together() {
        let claude = (Dialect::named("claude-code").expect("a dialect"), Role::Log);
        let options = Options::default();
        let [first, second] = [text("user", "one"), text("user", "two")];
        let mut source =
            SessionContents::new(claude, &options, ComparisonRules::default()).expect("a reader");
        source.push((first.clone() + &second).as_bytes(), None);
        let source = source.finish(None);
        let mut copy = source.reader_of_copy(claude, &options).expect("a reader");
        copy.push(first.as_bytes(), None);
        copy.next_file(claude, &options).expect("a reader");
        copy.push(second.as_bytes(), None);
        let comparison = source.compare(&copy.finish(None));
        assert_eq!((comparison.prompts.all, comparison.prompts.kept), (2, 2));
    }

    #[test]
    fn the_result_of_another_call_has_moved() {
        let source = [call("a", "x"), call("b", "y"), result("a", "1"), result("b", "2")].concat();
        let copy = [call("a", "x"), call("b", "y"), result("b", "1"), result("a", "2")].concat();
        let comparison = compared(&source, &copy);
        assert_eq!((comparison.results.kept, comparison.moved), (2, 2));
        assert!(!comparison.is_whole());
    }

    #[test]
    fn texts_in_another_order_have_moved() {
        let source = [text("user", "one"), text("user", "two"), text("user", "three")].concat();
        let copy = [text("user", "two"), text("user", "three"), text("user", "one")].concat();
        let comparison = compared(&source, &copy);
        assert_eq!((comparison.prompts.kept, comparison.moved), (3, 1));
        assert!(compared(&source, &source).is_whole());
        // Two prompts in one are in their order.
        let joined = [text("user", "one\\ntwo"), text("user", "three")].concat();
        assert!(compared(&source, &joined).is_whole());
    }

    #[test]
    fn an_empty_result_counts_by_its_call() {
        let source = [call("a", "x"), call("b", "y"), result("a", ""), result("b", "2")].concat();
        assert_eq!(compared(&source, &source).results, Kept { all: 2, kept: 2 });
        let copy = [call("a", "x"), call("b", "y"), result("b", "2")].concat();
        assert_eq!(compared(&source, &copy).results, Kept { all: 2, kept: 1 });
    }

    #[test]
    fn a_line_that_a_text_has_twice_must_be_there_twice() {
        let twice = text("assistant", "same\\nsame");
        assert_eq!(compared(&twice, &text("assistant", "same")).answers, Kept { all: 1, kept: 0 });
    }
}
