//! A content block that arrives in pieces, and then once more as a whole.

use crate::json::Str;
use crate::model::{Args, Event, Field, ItemId, ItemTail, Opaque, OpaqueKind, Part, Status, issuers};
use crate::pipe::Events;
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// One content block of a streamed response.
pub(super) struct Block {
    pub(super) index: u64,
    pub(super) kind: BlockKind,
    /// What the deltas have said so far, escaped.
    pub(super) said: String,
    pub(super) signature: String,
    /// The call's id and name as the start of the block has them.
    pub(super) call: [String; 2],
    pub(super) message: ItemId,
    /// The reasoning or the call within the message.
    pub(super) inner: Option<ItemId>,
    pub(super) open: bool,
    /// The whole line came.
    pub(super) repeated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    ToolUse,
}

impl BlockKind {
    pub(super) fn of(block: Val<'_>) -> Option<Self> {
        Some(match block.get("type")?.str()?.as_escaped() {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Self::ToolUse,
            // Anything else comes in one piece, and the whole line says it.
            _ => return None,
        })
    }
}

impl BlockKind {
    /// What its text is in the model.
    pub(super) const fn field(self) -> Field {
        match self {
            Self::Text => Field::MessageText,
            Self::Thinking => Field::ReasoningText,
            Self::ToolUse => Field::CallArgs,
        }
    }
}

impl Block {
    pub(super) fn grow(&mut self, text: Str<'_>, out: &mut Events<'_>) {
        self.said.push_str(text.as_escaped());
        match (self.kind, self.inner) {
            (BlockKind::ToolUse, Some(call)) => out.piece(call, 0, Part::Args(Args::Text(text))),
            (_, inner) => out.piece(inner.unwrap_or(self.message), 0, Part::Text(text)),
        }
    }

    /// The whole block: says what the deltas have left out, then ends the item. What it repeats is claimed where it is
    /// the same; what differs stays in the line.
    pub(super) fn repeat(&mut self, block: Val<'_>, status: Status, out: &mut Events<'_>) {
        self.repeated = true;
        block.note_str("type", Field::Structure);
        match self.kind {
            BlockKind::Text => self.catch_up(block.get("text"), out),
            BlockKind::Thinking => {
                self.catch_up(block.get("thinking"), out);
                let signature = block.get("signature").and_then(|val| Some((val, val.str()?)));
                if let (Some((val, value)), Some(inner)) = (signature, self.inner) {
                    let says_more = self.signature.is_empty() && self.open;
                    if says_more || value.as_escaped() == self.signature {
                        val.take(Field::Signature);
                    }
                    if says_more {
                        let proof = Opaque {
                            kind: OpaqueKind::Signature,
                            issuer: Str::escaped(issuers::ANTHROPIC),
                            value,
                        };
                        out.delta(inner, 1, Part::Opaque(proof));
                    }
                }
            }
            BlockKind::ToolUse => {
                for ((name, field), known) in
                    [("id", Field::CallId), ("name", Field::CallName)].into_iter().zip(&self.call)
                {
                    if block.get(name).and_then(|val| val.str()).is_some_and(|val| val.as_escaped() == known)
                    {
                        block.note_str(name, field);
                    }
                }
                match (block.get("input"), self.inner) {
                    (Some(input), Some(call)) if self.said.is_empty() && self.open => {
                        out.delta(call, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
                    }
                    // The agent spells it anew; the deltas are what the model wrote.
                    (Some(input), _) if same_value(input, &Str::escaped(&self.said)) => {
                        input.note(Field::CallArgs);
                    }
                    (Some(_) | None, _) => {}
                }
            }
        }
        if self.open {
            self.complete(status, out);
        }
    }

    fn catch_up(&mut self, whole: Option<Val<'_>>, out: &mut Events<'_>) {
        let Some((val, text)) = whole.and_then(|val| Some((val, val.str()?))) else { return };
        let (said, text) = (std::mem::take(&mut self.said), text.decode());
        match text.strip_prefix(&*Str::escaped(&said).decode()) {
            Some("") => drop(val.take(self.kind.field())),
            Some(more) if self.open => {
                val.take(self.kind.field());
                self.grow(Str::plain(more), out);
            }
            // The whole text stays in the line.
            Some(_) | None => out.note("a whole block differs from its deltas"),
        }
    }

    pub(super) fn complete(&mut self, status: Status, out: &mut Events<'_>) {
        self.open = false;
        for id in [self.inner, Some(self.message)].into_iter().flatten() {
            out.event(&Event::ItemCompleted(ItemTail {
                id,
                status,
                native_status: None,
                is_error: None,
                exit_code: None,
                duration: None,
            }));
        }
    }
}

/// Whether the JSON in `text` has the same value, however it is spelled.
fn same_value(val: Val<'_>, text: &Str<'_>) -> bool {
    let text = text.decode();
    let mut buf = TapeBuf::default();
    buf.parse(&text, &Limits::default()).is_ok_and(|tape| equal(val, tape.root()))
}

fn equal(one: Val<'_>, two: Val<'_>) -> bool {
    if one.kind() != two.kind() {
        return false;
    }
    match one.kind() {
        Kind::Null => true,
        Kind::Bool | Kind::Number | Kind::Key => one.text() == two.text(),
        Kind::String => one.str().zip(two.str()).is_some_and(|(one, two)| one.decode() == two.decode()),
        Kind::Array => {
            one.elements().count() == two.elements().count()
                && one.elements().zip(two.elements()).all(|(one, two)| equal(one, two))
        }
        Kind::Object => {
            one.members().count() == two.members().count()
                && one
                    .members()
                    .zip(two.members())
                    .all(|((name, one), (other, two))| name.decode() == other.decode() && equal(one, two))
        }
    }
}
