//! Statistics of one file or many, and how the statistics of several files are merged.
//!
//! Messages, calls, responses and file changes are stored individually, as hashes of their ids with a few numbers, so
//! that another file of the same session that repeats them adds nothing. Memory grows with their number (about 150
//! bytes each), not with their content.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, Hash, Hasher as _, RandomState};
use std::sync::{Arc, OnceLock};

use interlingua::json::Str;
use interlingua::model::{Author, ResponseUsages, Usage};
use interlingua_models::prices::{Picodollars, Prices};

use super::headline::Headline;

/// All counts.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// The facts by which people recognise the input.
    pub(crate) headline: Headline,
    /// Sessions by the hash of their id, with the first and last time seen in each.
    pub(crate) sessions: HashMap<u128, Option<(u64, u64)>>,
    /// The first and last time, with the text as written.
    pub(crate) span: Option<[(u64, String); 2]>,
    /// Messages with content, by the hash of their identity.
    pub(crate) said: HashMap<u128, CountedMessage>,
    /// Items of reasoning, shown or hidden.
    pub(crate) reasoning: HashSet<u128>,
    pub(crate) calls: HashMap<u128, CountedCall>,
    pub(crate) responses: CountedResponses,
    /// Responses that other files contain as well.
    pub(crate) repeated: u64,
    /// Changes of each file, by the hash of the result that reports them.
    pub(crate) files: BTreeMap<String, HashMap<u128, CountedChange>>,
    /// Hashes of the names of subagents.
    pub(crate) agents: HashSet<u128>,
    /// Permissions by the hash of their id, with `true` if denied.
    pub(crate) permissions: HashMap<u128, bool>,
    /// Compactions of each session.
    pub(crate) compacted: HashMap<u128, CountedCompactions>,
    /// Items that a fork copied from its parent session; they are counted nowhere else.
    pub(crate) copied: HashSet<u128>,
}

/// One message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedMessage {
    pub(crate) author: Author,
    /// A prompt by a person, which starts a turn.
    pub(crate) is_prompt: bool,
}

/// Compactions of one session: a log holds the event, the summary message, or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedCompactions {
    pub(crate) events: HashSet<u128>,
    pub(crate) summaries: HashSet<u128>,
}

/// Messages with content, by author.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Messages {
    pub(crate) user: u64,
    pub(crate) assistant: u64,
    /// Messages of the system, the developer and others.
    pub(crate) other: u64,
}

/// One tool call.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedCall {
    /// `None` if only the result is known.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) by_agent: bool,
    pub(crate) began: Option<u64>,
    pub(crate) result: Option<CallResult>,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallResult {
    /// The tool reported a failure.
    pub(crate) is_error: bool,
    /// A process returned a non-zero exit code.
    pub(crate) bad_exit: bool,
    /// The duration, as reported or from the times of the call and its result.
    pub(crate) millis: Option<u64>,
}

impl CallResult {
    pub(crate) const fn failed(&self) -> bool {
        self.is_error || self.bad_exit
    }
}

/// All model responses.
#[derive(Debug, Default)]
pub(crate) struct CountedResponses {
    pub(crate) by_id: HashMap<u128, CountedResponse>,
    /// The current session: short ids are unique only within a session.
    pub(crate) session: u128,
}

/// The usage of one response.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedResponse {
    pub(crate) usage: Usage,
    /// The cost given by the log.
    pub(crate) told: Option<Picodollars>,
    pub(crate) model: Option<Arc<str>>,
    /// The day it was first reported, in days since 1970.
    pub(crate) day: Option<u64>,
}

impl CountedResponses {
    pub(crate) fn key(&self, id: &Str<'_>) -> u128 {
        id_key(id, self.session)
    }
}

/// The hash of an id. A long id is globally unique, and forks of a session repeat it; a short id is unique in its
/// session only.
pub(crate) fn id_key(id: &Str<'_>, session: u128) -> u128 {
    let id = id.as_escaped();
    if id.len() >= LONG_ID { hash(&id) } else { hash(&(session, id)) }
}

/// Ids from this length on have enough random digits to be unique.
const LONG_ID: usize = 16;

impl ResponseUsages for CountedResponses {
    fn usage_of(&mut self, id: &Str<'_>) -> &mut Usage {
        let key = self.key(id);
        &mut self.by_id.entry(key).or_default().usage
    }
}

/// One change of a file: the lines added and removed, if the log holds the diff.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedChange {
    pub(crate) lines: Option<(u64, u64)>,
}

/// How often a file was changed, and how many lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileChanges {
    pub(crate) times: u64,
    /// Changes without a diff in the log.
    pub(crate) untold: u64,
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// Calls of a tool, by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ToolCounts {
    pub(crate) calls: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) no_result: u64,
    pub(crate) errors: u64,
    pub(crate) bad_exits: u64,
    pub(crate) millis: u64,
}

/// Tokens and costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) responses: u64,
    pub(crate) input: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    /// The part of `cache_write` with the longer lifetime.
    pub(crate) cache_write_long: u64,
    pub(crate) output: u64,
    /// The part of `output` that is reasoning.
    pub(crate) reasoning: u64,
    pub(crate) told: Picodollars,
    pub(crate) computed: Picodollars,
    /// Cost computed with the prices of another model of the same family.
    pub(crate) estimated: Picodollars,
    /// Tokens of responses whose cost is estimated.
    pub(crate) estimated_tokens: u64,
    /// Responses without a reported cost and without a price.
    pub(crate) unpriced: u64,
    /// Tokens of these unpriced responses.
    pub(crate) unpriced_tokens: u64,
}

impl Spent {
    pub(crate) const fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
            .saturating_add(self.output)
    }

    pub(crate) const fn cost(&self) -> Picodollars {
        self.told + self.computed + self.estimated
    }

    fn add(&mut self, more: &Spent) {
        #[rustfmt::skip]
        let Spent {
            responses, input, cache_read, cache_write, cache_write_long, output, reasoning, told, computed, estimated,
            estimated_tokens, unpriced, unpriced_tokens,
        } = more;
        for (sum, more) in [
            (&mut self.responses, responses),
            (&mut self.input, input),
            (&mut self.cache_read, cache_read),
            (&mut self.cache_write, cache_write),
            (&mut self.cache_write_long, cache_write_long),
            (&mut self.output, output),
            (&mut self.reasoning, reasoning),
            (&mut self.estimated_tokens, estimated_tokens),
            (&mut self.unpriced, unpriced),
            (&mut self.unpriced_tokens, unpriced_tokens),
        ] {
            *sum = sum.saturating_add(*more);
        }
        self.told += told;
        self.computed += computed;
        self.estimated += estimated;
    }
}

impl CountedResponse {
    /// Whether the response has usage or a cost. Some agents write messages in a model's name without a model call.
    fn is_some(&self) -> bool {
        self.told.is_some_and(|told| told > 0)
            || self.usage.counts().iter().any(|(_, count)| count.unwrap_or(0) > 0)
    }

    fn spent(&self, prices: &Prices) -> Spent {
        let Usage { input, cache_read, cache_write, cache_write_long, output, reasoning, .. } = self.usage;
        let mut spent = Spent {
            responses: 1,
            input: input.unwrap_or(0),
            cache_read: cache_read.unwrap_or(0),
            // A log may hold the long-lived part but not the total.
            cache_write: cache_write.max(cache_write_long).unwrap_or(0),
            cache_write_long: cache_write_long.unwrap_or(0),
            output: output.unwrap_or(0),
            reasoning: reasoning.unwrap_or(0),
            ..Spent::default()
        };
        if let Some(told) = self.told {
            spent.told = told;
        } else if let Some(price) = self.model.as_deref().and_then(|model| prices.cost(model, &self.usage)) {
            if price.estimated_by.is_none() {
                spent.computed = price.cost;
            } else {
                (spent.estimated, spent.estimated_tokens) = (price.cost, spent.tokens());
            }
        } else {
            (spent.unpriced, spent.unpriced_tokens) = (1, spent.tokens());
        }
        spent
    }
}

/// Usage and cost in total, by model and by day.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    pub(crate) total: Spent,
    pub(crate) by_model: BTreeMap<Option<Arc<str>>, Spent>,
    pub(crate) by_day: BTreeMap<Option<u64>, Spent>,
}

impl Statistics {
    pub(crate) fn spending(&self, prices: &Prices) -> Spending {
        let mut spending = Spending::default();
        for response in self.responses.by_id.values().filter(|response| response.is_some()) {
            let spent = response.spent(prices);
            spending.total.add(&spent);
            spending.by_model.entry(response.model.clone()).or_default().add(&spent);
            spending.by_day.entry(response.day).or_default().add(&spent);
        }
        spending
    }

    /// Tools by name; `None` for results whose call is not in the input.
    pub(crate) fn tools(&self) -> BTreeMap<Option<Arc<str>>, ToolCounts> {
        let mut tools: BTreeMap<Option<Arc<str>>, ToolCounts> = BTreeMap::new();
        for call in self.calls.values() {
            tools.entry(call.name.clone()).or_default().count(call);
        }
        tools
    }

    /// All tools together.
    pub(crate) fn all_tools(&self) -> ToolCounts {
        let mut all = ToolCounts::default();
        self.calls.values().for_each(|call| all.count(call));
        all
    }

    /// The sum of the durations of all sessions, each from its first to its last time.
    pub(crate) fn session_millis(&self) -> u64 {
        self.sessions.values().flatten().fold(0, |sum, (first, last)| sum.saturating_add(last - first))
    }

    /// Adds the statistics of another file, without items that are already counted.
    pub(crate) fn merge(&mut self, other: Statistics) {
        let Statistics {
            headline: _,
            sessions,
            span,
            said,
            reasoning,
            calls,
            responses,
            repeated,
            files,
            agents,
            permissions,
            compacted,
            copied,
        } = other;
        for (key, span) in sessions {
            let known = self.sessions.entry(key).or_default();
            for time in span.into_iter().flat_map(|(first, last)| [first, last]) {
                widen(known, time);
            }
        }
        for (time, text) in span.into_iter().flatten() {
            self.saw(time, || text.clone());
        }
        self.said.extend(said);
        self.reasoning.extend(reasoning);
        for (mut key, call) in calls {
            // Two calls with the same id, both with results at different times, are different calls.
            let is_other = |known: &CountedCall| {
                let both = |one: bool, two: bool| one && two;
                both(known.name.is_some(), call.name.is_some())
                    && both(known.result.is_some(), call.result.is_some())
                    && known.began != call.began
            };
            if self.calls.get(&key).is_some_and(is_other) {
                key = hash(&(key, call.began));
            }
            let known = self.calls.entry(key).or_default();
            known.name = known.name.take().or(call.name);
            known.by_agent |= call.by_agent;
            known.began = known.began.or(call.began);
            known.result = known.result.or(call.result);
        }
        for (key, response) in responses.by_id {
            match self.responses.by_id.get_mut(&key) {
                None => _ = self.responses.by_id.insert(key, response),
                Some(known) => {
                    self.repeated += 1;
                    let _ = known.usage.take_in(&response.usage);
                    known.told = known.told.max(response.told);
                    known.model = known.model.take().or(response.model);
                    known.day = known.day.into_iter().chain(response.day).min();
                }
            }
        }
        self.repeated += repeated;
        for (path, changes) in files {
            self.files.entry(path).or_default().extend(changes);
        }
        self.agents.extend(agents);
        for (key, denied) in permissions {
            *self.permissions.entry(key).or_default() |= denied;
        }
        for (session, CountedCompactions { events, summaries }) in compacted {
            let known = self.compacted.entry(session).or_default();
            known.events.extend(events);
            known.summaries.extend(summaries);
        }
        self.copied.extend(copied);
    }

    /// Messages by author.
    pub(crate) fn messages(&self) -> Messages {
        let mut messages = Messages::default();
        for message in self.said.values() {
            *match message.author {
                Author::User => &mut messages.user,
                Author::Assistant => &mut messages.assistant,
                Author::System | Author::Developer | Author::Tool => &mut messages.other,
            } += 1;
        }
        messages
    }

    /// The number of prompts by a person.
    pub(crate) fn turns(&self) -> u64 {
        self.said.values().filter(|message| message.is_prompt).count() as u64
    }

    pub(crate) fn compactions(&self) -> u64 {
        let of_session = |counted: &CountedCompactions| counted.events.len().max(counted.summaries.len());
        self.compacted.values().map(|counted| of_session(counted) as u64).sum()
    }

    /// The changed files.
    pub(crate) fn changed_files(&self) -> BTreeMap<&str, FileChanges> {
        let sum = |changes: &HashMap<u128, CountedChange>| {
            let mut sum = FileChanges::default();
            for CountedChange { lines } in changes.values() {
                sum.times += 1;
                match lines {
                    None => sum.untold += 1,
                    Some((added, removed)) => {
                        sum.added += added;
                        sum.removed += removed;
                    }
                }
            }
            sum
        };
        self.files.iter().map(|(path, changes)| (path.as_str(), sum(changes))).collect()
    }

    /// The number of calls by subagents.
    pub(crate) fn agent_calls(&self) -> u64 {
        self.calls.values().filter(|call| call.by_agent).count() as u64
    }

    /// Extends the time span of the input to this time.
    pub(crate) fn saw(&mut self, time: u64, text: impl Fn() -> String) {
        match &mut self.span {
            None => self.span = Some([(time, text()), (time, text())]),
            Some([first, _]) if time < first.0 => *first = (time, text()),
            Some([_, last]) if time > last.0 => *last = (time, text()),
            Some(_) => {}
        }
    }
}

impl ToolCounts {
    fn count(&mut self, call: &CountedCall) {
        self.calls += 1;
        match call.result {
            None => self.no_result += 1,
            Some(result) => {
                *if result.failed() { &mut self.failed } else { &mut self.ok } += 1;
                self.errors += u64::from(result.is_error);
                self.bad_exits += u64::from(result.bad_exit);
                self.millis = self.millis.saturating_add(result.millis.unwrap_or(0));
            }
        }
    }
}

/// Extends a span to this time.
pub(crate) fn widen(span: &mut Option<(u64, u64)>, time: u64) {
    let (first, last) = span.unwrap_or((time, time));
    *span = Some((first.min(time), last.max(time)));
}

/// A key for values: two hashes under a random key, so that a log cannot be crafted to contain two ids with the same
/// hash. Keys differ from run to run; results do not.
pub(crate) fn hash(value: &impl Hash) -> u128 {
    static SECRET: OnceLock<RandomState> = OnceLock::new();
    let secret = SECRET.get_or_init(RandomState::new);
    let half = |number: u8| {
        let mut hasher = secret.build_hasher();
        number.hash(&mut hasher);
        value.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
