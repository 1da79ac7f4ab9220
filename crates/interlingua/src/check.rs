//! The check: a writer without output that checks links.
//!
//! Readers report unreadable input and schema errors; the lifecycle reports events out of order. This writer checks
//! references: parents, tool calls and their results, and unique ids. References may point forward, so they are
//! checked at the end of the input.
//!
//! The checked links are those that the stage before log writers repairs: unique item ids and call ids, one result per
//! call and after it, no parent that is its own descendant, and the number of items the session abandoned.
//!
//! Ids are stored as hashes, an estimated 150 bytes per item including the tables, plus the text of ids that have not
//! been found yet; so memory grows with the number of items, not with their content.
//!
//! ```
//! use interlingua::check::CheckWriter;
//! use interlingua::dialects::{Dialect, Options, Role};
//! use interlingua::error::Code;
//! use interlingua::pipe::Pipe;
//!
//! let log = br#"{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":"hi"}}"#;
//! let claude = Dialect::named("claude-code").expect("registered");
//! let checker = Box::new(CheckWriter::default());
//! let mut pipe = Pipe::with_writer((claude, Role::Log), checker, &Options::default())?;
//! pipe.push(log, &mut Vec::new());
//! let report = pipe.finish(&mut Vec::new());
//!
//! assert_eq!(report.problems[0].code, Code::DanglingLink);
//! # Ok::<(), interlingua::error::Error>(())
//! ```

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use crate::dialects::{Dialect, Lineage};
use crate::error::{Code, Place, Problem, Window};
use crate::json::Str;
use crate::ledger::{Identity, Ledger, Leftover};
use crate::log::{Answered, CallPairs, OutlineWriter, id_key};
use crate::model::{
    Author, Event, Failure, FailureClass, ItemHead, ItemId, ItemKind, Notice, ToolCall, ToolResult,
};
use crate::pipe::{Writer, WriterOutput};

/// Checks the events that pass through; the findings are in the report.
#[derive(Debug)]
pub struct CheckWriter {
    lineage: Lineage,
    outline: OutlineWriter,
    pairs: CallPairs,
    items: Ids,
    parents: Pending,
    calls: Ids,
    results: Pending,
    /// Open assistant messages.
    answers: HashSet<ItemId, BuildHasherDefault<Identity>>,
    /// Calls without a result so far.
    unanswered: Pending,
}

type Ids = HashSet<u128, BuildHasherDefault<Identity>>;

impl Writer for CheckWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.outline.observe(event);
        if let Event::SessionStarted(_) = event {
            self.pairs = CallPairs::default();
        }
        if let Event::ItemStarted(head) = event {
            if head.kind == ItemKind::Message && head.author == Author::Assistant {
                self.answers.insert(head.id);
            }
            self.started(head, out.ledger);
        }
        if let Event::ItemCompleted(tail) = event {
            self.answers.remove(&tail.id);
        }
        if let Event::Error(Failure { class: FailureClass::Incomplete, .. }) = event {
            let place = out.ledger.place(None, None);
            book(Code::Torn, place, "expected the end of the response", out.ledger);
        }
    }

    /// A check has no target, so all leftovers count as kept.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.outline.kept_lines_of(owner);
        if let Some(dialect) = Dialect::named(owner) {
            self.lineage = dialect.lineage;
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        let outline = self.outline.settle();
        for (code, count, of) in
            [(Code::ParentCircle, outline.circles(), ""), (Code::Abandoned, outline.left_out(), " items")]
        {
            if count > 0 {
                book(code, Place::default(), &format!("{count}{of}"), out.ledger);
            }
        }
        self.parents.report(Code::DanglingLink, out.ledger);
        self.results.report(Code::ResultWithoutCall, out.ledger);
        self.unanswered.report(Code::CallWithoutResult, out.ledger);
    }
}

impl Default for CheckWriter {
    fn default() -> Self {
        Self::new(Lineage::default())
    }
}

impl CheckWriter {
    /// Checks a source with the given lineage.
    pub fn new(lineage: Lineage) -> Self {
        Self {
            lineage,
            outline: OutlineWriter::new(lineage),
            pairs: CallPairs::default(),
            items: Ids::default(),
            parents: Pending::default(),
            calls: Ids::default(),
            results: Pending::default(),
            answers: HashSet::default(),
            unanswered: Pending::default(),
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, ledger: &mut Ledger) {
        let ItemHead { kind, native_id, parent, .. } = head;
        if let Some(id) = native_id {
            let key = id_key(id);
            self.parents.found(key);
            if !self.items.insert(key) && self.lineage != Lineage::Rewritten {
                book(Code::DuplicateId, ledger.place(None, None), &quoted(id), ledger);
            }
        }
        if let Some(parent) = parent {
            let key = id_key(parent);
            if !self.items.contains(&key) {
                self.parents.expect(key, parent, ledger);
            }
        }
        match kind {
            ItemKind::ToolCall(ToolCall { call_id: Some(id), kind: _, namespace: _, name: _ }) => {
                let key = id_key(id);
                let answered = self.results.found(key);
                if answered {
                    book(Code::EarlyResult, ledger.place(None, None), &quoted(id), ledger);
                }
                self.pairs.call(key, head.id);
                if !self.calls.insert(key) {
                    book(Code::ReusedCallId, ledger.place(None, None), &quoted(id), ledger);
                } else if !answered {
                    self.unanswered.expect(key, id, ledger);
                }
            }
            // Agents may write calls and their results into the same message. If the provider ran the call, the call
            // may be in an earlier answer.
            ItemKind::ToolResult(ToolResult { call_id, name: _ })
                if head.within.is_some_and(|message| self.answers.contains(&message)) =>
            {
                if let Some(id) = call_id {
                    self.pairs.result(id_key(id));
                    self.unanswered.found(id_key(id));
                }
            }
            ItemKind::ToolResult(ToolResult { call_id: Some(id), name: _ }) => {
                let key = id_key(id);
                if self.calls.contains(&key) {
                    if self.pairs.result(key) == Answered::Again {
                        book(Code::SecondResult, ledger.place(None, None), &quoted(id), ledger);
                    }
                    self.unanswered.found(key);
                } else {
                    self.results.expect(key, id, ledger);
                }
            }
            ItemKind::ToolCall(ToolCall { call_id: None, .. })
            | ItemKind::ToolResult(ToolResult { call_id: None, .. })
            | ItemKind::Message
            | ItemKind::Reasoning
            | ItemKind::Notice(Notice { event_type: _ }) => {}
        }
    }
}

/// References that are not resolved yet, each with the place of its first use.
#[derive(Debug, Default)]
struct Pending(HashMap<u128, (Place, String), BuildHasherDefault<Identity>>);

impl Pending {
    fn expect(&mut self, key: u128, id: &Str<'_>, ledger: &Ledger) {
        self.0.entry(key).or_insert_with(|| (ledger.place(None, None), quoted(id)));
    }

    fn found(&mut self, key: u128) -> bool {
        self.0.remove(&key).is_some()
    }

    /// Reports the unresolved references, in the order of the input.
    fn report(&mut self, code: Code, ledger: &mut Ledger) {
        let mut missing: Vec<(Place, String)> = self.0.drain().map(|(_, missing)| missing).collect();
        missing.sort_by(|(a, one), (b, two)| a.frame.number.cmp(&b.frame.number).then_with(|| one.cmp(two)));
        for (place, id) in missing {
            book(code, place, &id, ledger);
        }
    }
}

fn book(code: Code, place: Place, detail: &str, ledger: &mut Ledger) {
    ledger.problem(Problem { code, place, detail: detail.to_owned(), window: Window::default() });
}

/// The id for people, shortened to fit into a message.
fn quoted(id: &Str<'_>) -> String {
    let text = id.decode();
    let short: String = text.chars().take(64).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::{Options, Role};
    use crate::pipe::Pipe;

    fn findings(log: &str) -> Vec<(Code, u64, String)> {
        findings_in(log, Lineage::Written)
    }

    fn findings_in(log: &str, lineage: Lineage) -> Vec<(Code, u64, String)> {
        let dialect = Dialect::named("claude-code").expect("registered");
        let checker = Box::new(CheckWriter::new(lineage));
        let mut pipe = Pipe::with_writer((dialect, Role::Log), checker, &Options::default()).expect("reads");
        pipe.push(log.as_bytes(), &mut Vec::new());
        let report = pipe.finish(&mut Vec::new());
        assert!(report.adds_up());
        report
            .problems
            .into_iter()
            .map(|found| (found.code, found.place.frame.number, found.detail))
            .collect()
    }

    fn line(id: &str, parent: &str, content: &str) -> String {
        format!(
            r#"{{"type":"user","sessionId":"s","uuid":"{id}","parentUuid":{parent},"message":{{"role":"user","content":{content}}}}}"#
        ) + "\n"
    }

    #[test]
    fn parents_may_come_later_but_must_come() {
        let log = line("a", "\"c\"", "\"\"") + &line("b", "\"x\"", "\"\"") + &line("c", "null", "\"\"");
        assert_eq!(findings(&log), [(Code::DanglingLink, 2, "`x`".to_owned())]);
    }

    #[test]
    fn an_id_stands_for_one_item() {
        let log = line("a", "null", "\"\"") + &line("\\u0061", "\"a\"", "\"\"");
        assert_eq!(findings(&log), [(Code::DuplicateId, 2, "`a`".to_owned())]);
    }

    #[test]
    fn calls_and_results_belong_together() {
        let log = line("a", "null", r#"[{"type":"tool_result","tool_use_id":"t9","content":"x"}]"#)
            + &line("b", "null", r#"[{"type":"tool_use","id":"t1","name":"n","input":{}}]"#)
            + &line("c", "null", r#"[{"type":"tool_use","id":"t2","name":"n","input":{}}]"#)
            + &line("d", "null", r#"[{"type":"tool_result","tool_use_id":"t1","content":"x"}]"#);
        assert_eq!(
            findings(&log),
            [
                (Code::ResultWithoutCall, 1, "`t9`".to_owned()),
                (Code::CallWithoutResult, 3, "`t2`".to_owned())
            ]
        );
    }

    #[test]
    fn histories_that_other_agents_could_not_continue_are_found() {
        let call = r#"[{"type":"tool_use","id":"t","name":"n","input":{}}]"#;
        let result = r#"[{"type":"tool_result","tool_use_id":"t","content":"x"}]"#;
        let codes = |log: &str| findings(log).into_iter().map(|(code, ..)| code).collect::<Vec<_>>();
        let early = line("a", "null", result) + &line("b", "\"a\"", call);
        assert_eq!(codes(&early), [Code::EarlyResult]);
        let twice = line("a", "null", call) + &line("b", "\"a\"", result) + &line("c", "\"b\"", result);
        assert_eq!(codes(&twice), [Code::SecondResult]);
        let again = line("a", "null", call)
            + &line("b", "\"a\"", result)
            + &line("c", "\"b\"", call)
            + &line("d", "\"c\"", result);
        assert_eq!(codes(&again), [Code::ReusedCallId]);
        let circle = line("a", "\"b\"", "\"\"") + &line("b", "\"a\"", "\"\"");
        assert_eq!(codes(&circle), [Code::ParentCircle]);
        let left = line("a", "null", "\"1\"") + &line("b", "\"a\"", "\"2\"") + &line("c", "\"a\"", "\"3\"");
        let found = findings_in(&left, Lineage::TreeToLastMessage);
        assert_eq!(found, [(Code::Abandoned, 0, "1 items".to_owned())]);
    }
}
