//! The writer of the audit: passes each event to `CheckWriter` and to the rules.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::mpsc::Sender;

use interlingua::check::CheckWriter;
use interlingua::dialects::Dialect;
use interlingua::error::Place;
use interlingua::json::Str;
use interlingua::ledger::{Ledger, Leftover, LeftoverBody};
use interlingua::model::{
    Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, OpaqueKind, Part, Status, ToolCall, ToolResult,
};
use interlingua::pipe::{Writer, WriterOutput};
use interlingua::tape::Val;

use super::oversight::{OversightRules, short};
use super::sequence::SequenceRules;
use super::times::TimeRules;
use super::{AuditPolicy, AuditRule, MOST_OF_A_RULE, made_up, places};

/// The findings of a run.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) listed: Vec<(AuditRule, Place, String)>,
    pub(super) unlisted: HashMap<AuditRule, u64>,
    counts: HashMap<AuditRule, usize>,
    /// Findings of the current frame without a pointer: their index, and the text to find in the frame.
    unplaced: Vec<(usize, String)>,
}

/// The findings so far, and the current place.
pub(super) struct Findings<'f> {
    found: &'f mut Found,
    ledger: &'f Ledger,
}

impl Findings<'_> {
    pub(super) fn place(&self) -> Place {
        self.ledger.place(None, None)
    }

    /// Adds a finding in the current frame, about the given text in the frame.
    pub(super) fn add(&mut self, rule: AuditRule, text: Option<&str>, message: String) {
        let index = self.found.listed.len();
        self.add_at(rule, self.place(), message);
        if let Some(text) = text.filter(|_| self.found.listed.len() > index) {
            self.found.unplaced.push((index, text.to_owned()));
        }
    }

    pub(super) fn add_at(&mut self, rule: AuditRule, place: Place, message: String) {
        let count = self.found.counts.entry(rule).or_default();
        *count += 1;
        if *count > MOST_OF_A_RULE {
            *self.found.unlisted.entry(rule).or_default() += 1;
        } else {
            self.found.listed.push((rule, place, message));
        }
    }
}

/// Applies the rules to the events of one input and sends the findings at its end.
pub(super) struct AuditWriter {
    check: CheckWriter,
    policy: AuditPolicy,
    times: TimeRules,
    oversight: OversightRules,
    sequence: SequenceRules,
    open: HashMap<ItemId, OpenItem>,
    /// The number of encrypted reasoning items, and the place of the first.
    encrypted: Option<(u64, Place)>,
    found: Found,
    done: Sender<Found>,
}

/// An item whose end a rule waits for.
enum OpenItem {
    Reasoning { is_encrypted: bool, is_readable: bool },
    Result { call: Option<Str<'static>>, is_placeholder: bool },
}

impl AuditWriter {
    pub(super) fn new(source: &Dialect, policy: AuditPolicy, now: Option<u64>, done: Sender<Found>) -> Self {
        let mut times = TimeRules::new(now);
        times.of_dialect(source.name);
        Self {
            check: CheckWriter::new(source.lineage),
            policy,
            times,
            oversight: OversightRules::default(),
            sequence: SequenceRules::default(),
            open: HashMap::new(),
            encrypted: None,
            found: Found::default(),
            done,
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, ledger: &Ledger) {
        let found = &mut Findings { found: &mut self.found, ledger };
        self.times.started(head, head.agent.as_ref().map(key), &self.policy, found);
        if let Some(id) = head.native_id.as_ref().filter(|id| made_up::is_made_up_id(&id.decode())) {
            let message = format!("`{}` has the form of an id that a conversion makes up", short(id));
            found.add(AuditRule::MadeUpId, Some(&id.decode()), message);
        }
        match &head.kind {
            ItemKind::Reasoning => {
                let item = OpenItem::Reasoning { is_encrypted: false, is_readable: false };
                self.open.insert(head.id, item);
            }
            ItemKind::ToolCall(ToolCall { namespace, name, .. }) => {
                let name = match namespace {
                    Some(group) => format!("{}/{}", group.decode(), name.decode()),
                    None => name.decode().into_owned(),
                };
                if let Some(rule) = self.policy.breach(&name) {
                    let message = format!("call of `{}`", short(&Str::from_plain(&name)));
                    found.add(rule, Some(&name), message);
                }
            }
            ItemKind::ToolResult(ToolResult { call_id, .. }) => {
                let call = call_id.clone().map(Str::into_owned);
                self.open.insert(head.id, OpenItem::Result { call, is_placeholder: false });
            }
            // Messages and notices have only times and ids to check.
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Delta<'_>) {
        match (self.open.get_mut(&delta.item), &delta.value) {
            (Some(OpenItem::Reasoning { is_encrypted, .. }), Part::Opaque(state)) => {
                *is_encrypted |= state.kind == OpaqueKind::Encrypted;
            }
            (Some(OpenItem::Reasoning { is_readable, .. }), Part::Text(text) | Part::Summary(text)) => {
                *is_readable |= !text.is_empty();
            }
            (Some(OpenItem::Result { is_placeholder, .. }), Part::Text(text)) => {
                *is_placeholder |= text.is(made_up::NO_RESULT);
            }
            // No rule is about the other parts.
            _ => {}
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, ledger: &Ledger) {
        let found = &mut Findings { found: &mut self.found, ledger };
        match self.open.remove(&tail.id) {
            Some(OpenItem::Reasoning { is_encrypted: true, is_readable: false }) => {
                self.encrypted.get_or_insert_with(|| (0, found.place())).0 += 1;
            }
            Some(OpenItem::Result { call, is_placeholder }) => {
                let failed = tail.is_error == Some(true)
                    || tail.status != Status::Completed
                    || tail.exit_code.is_some_and(|code| code != 0);
                if is_placeholder {
                    let call = call.as_ref().map(|call| format!(" of call `{}`", short(call)));
                    let message = format!("the result{} is a placeholder", call.unwrap_or_default());
                    found.add(AuditRule::MadeUpResult, Some(made_up::NO_RESULT), message);
                } else if let Some(call) = call.filter(|_| !failed) {
                    self.oversight.succeeded(&call, found);
                }
            }
            Some(OpenItem::Reasoning { .. }) | None => {}
        }
    }

    /// Finds the values of the frame's findings in the frame.
    fn place_findings(&mut self, frame: Option<Val<'_>>) {
        for (index, text) in std::mem::take(&mut self.found.unplaced) {
            let pointer = frame.and_then(|frame| places::pointer_of(frame, &text));
            if let Some((_, place, _)) = self.found.listed.get_mut(index) {
                place.pointer = pointer;
            }
        }
    }
}

impl Writer for AuditWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.check.event(event, out);
        let ledger = &*out.ledger;
        match event {
            Event::SessionStarted(_) => {
                self.times.begin_session();
                self.sequence.begin_session();
            }
            Event::ItemStarted(head) => self.started(head, ledger),
            Event::ItemDelta(delta) => self.delta(delta),
            Event::ItemCompleted(tail) => self.completed(tail, ledger),
            Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
                let found = &mut Findings { found: &mut self.found, ledger };
                self.oversight.permission(permission, found);
            }
            // No rule is about the other events.
            _ => {}
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        let (owner, body) = (leftover.owner, leftover.body);
        let frame = match body {
            LeftoverBody::Frame(tape) => Some(tape.root()),
            LeftoverBody::Kept { line, .. } => Some(line),
            // Unreadable bytes are a problem of their own.
            _ => None,
        };
        if let Some(frame) = frame {
            let found = &mut Findings { found: &mut self.found, ledger: out.ledger };
            self.sequence.frame(owner, frame, found);
        }
        if let LeftoverBody::Frame(_) = body {
            self.place_findings(frame);
        }
        self.check.leftover(leftover, out);
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.times.of_dialect(owner);
        self.check.kept_lines_follow(owner);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.place_findings(None);
        let found = &mut Findings { found: &mut self.found, ledger: out.ledger };
        self.oversight.finish(found);
        if let Some((count, place)) = self.encrypted.take() {
            let items = if count == 1 {
                "1 reasoning item is".to_owned()
            } else {
                format!("{count} reasoning items are")
            };
            found.add_at(
                AuditRule::EncryptedReasoning,
                place,
                format!("{items} encrypted; this is the first"),
            );
        }
        self.check.finish(out);
        // The receiver may be gone already.
        let _ = self.done.send(std::mem::take(&mut self.found));
    }
}

/// A hash of an id.
pub(super) fn key(id: &Str<'_>) -> u128 {
    let text = id.decode();
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, &*text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
