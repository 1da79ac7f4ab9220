//! The check: a writer that writes nothing and watches the links.
//!
//! Readers report what they cannot read and where a schema is broken; the lifecycle reports what is out of order. What
//! is left is whether names lead somewhere: parents, tool calls and their results, ids that stand for one thing only.
//! References may point forward, so they are judged when everything has been said.
//!
//! Ids are remembered as 64-bit hashes, at most 20 bytes each with the table around them, plus the text of those that
//! have not been found yet; so memory grows with the number of items, not with what they hold. Two ids with the same
//! hash would be taken for one: about once in 10^7 inputs of a million items.
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
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

use crate::error::{Code, Place, Problem, Window};
use crate::json::Str;
use crate::ledger::{Identity, Ledger, Leftover};
use crate::model::{
    Author, Event, Failure, FailureClass, ItemHead, ItemId, ItemKind, Notice, ToolCall, ToolResult,
};
use crate::pipe::{Target, Writer};

/// Checks what passes through; the findings are in the report.
#[derive(Debug, Default)]
pub struct CheckWriter {
    items: Ids,
    parents: Pending,
    calls: Ids,
    results: Pending,
    /// Open messages of the assistant.
    answers: HashSet<ItemId, BuildHasherDefault<Identity>>,
    /// Calls that have no result yet.
    unanswered: Pending,
}

type Ids = HashSet<u64, BuildHasherDefault<Identity>>;

impl Writer for CheckWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        // Nothing else has links.
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

    /// Nothing goes anywhere, so nothing can be lost.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, out: &mut Target<'_>) {
        self.parents.report(Code::DanglingLink, out.ledger);
        self.results.report(Code::ResultWithoutCall, out.ledger);
        self.unanswered.report(Code::CallWithoutResult, out.ledger);
    }
}

impl CheckWriter {
    fn started(&mut self, head: &ItemHead<'_>, ledger: &mut Ledger) {
        let ItemHead { kind, native_id, parent, .. } = head;
        if let Some(id) = native_id {
            let key = key(id);
            self.parents.found(key);
            if !self.items.insert(key) {
                book(Code::DuplicateId, ledger.place(None, None), &quoted(id), ledger);
            }
        }
        if let Some(parent) = parent {
            let key = key(parent);
            if !self.items.contains(&key) {
                self.parents.expect(key, parent, ledger);
            }
        }
        match kind {
            ItemKind::ToolCall(ToolCall { call_id: Some(id), kind: _, namespace: _, name: _ }) => {
                let key = key(id);
                let answered = self.results.found(key);
                if self.calls.insert(key) && !answered {
                    self.unanswered.expect(key, id, ledger);
                }
            }
            // Some agents have calls and their results in one message. Where the provider ran the call, it may have said so
            // in an earlier answer.
            ItemKind::ToolResult(ToolResult { call_id, name: _ })
                if head.within.is_some_and(|message| self.answers.contains(&message)) =>
            {
                if let Some(id) = call_id {
                    self.unanswered.found(key(id));
                }
            }
            ItemKind::ToolResult(ToolResult { call_id: Some(id), name: _ }) => {
                let key = key(id);
                if self.calls.contains(&key) {
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

/// Names that must still turn up, each with where it was first used.
#[derive(Debug, Default)]
struct Pending(HashMap<u64, (Place, String), BuildHasherDefault<Identity>>);

impl Pending {
    fn expect(&mut self, key: u64, id: &Str<'_>, ledger: &Ledger) {
        self.0.entry(key).or_insert_with(|| (ledger.place(None, None), quoted(id)));
    }

    fn found(&mut self, key: u64) -> bool {
        self.0.remove(&key).is_some()
    }

    /// Books what never turned up, in the order of the input.
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

/// The id for people: short, because a message has no room for a long one.
fn quoted(id: &Str<'_>) -> String {
    let text = id.decode();
    let short: String = text.chars().take(64).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
}

/// Hashed as plain text, so that two spellings of one id are the same. No random keys: a check gives the same answer
/// in every run.
fn key(id: &Str<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.decode().as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::{Dialect, Options, Role};
    use crate::pipe::Pipe;

    fn findings(log: &str) -> Vec<(Code, u64, String)> {
        let dialect = Dialect::named("claude-code").expect("registered");
        let checker = Box::new(CheckWriter::default());
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
}
