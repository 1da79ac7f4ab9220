//! The input of a running agent: prompts, decisions, answers and the interrupt. Events that only an agent emits have no
//! place there and are booked as lost.

use std::collections::BTreeMap;

use crate::dialects::{Dialect, Options, Plane};
use crate::json::Str;
use crate::ledger::{Leftover, Reason};
use crate::model::{
    Args, Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Media, MediaSource,
    Origin, Part, Permission, Question, Session, Stop, StopClass, Turn,
};
use crate::pipe::{Writer, WriterOutput};
use crate::tape::Val;

/// How the input of one agent is written.
pub(crate) trait AgentInput: Send {
    /// Opens the session with the client's settings. Called for the first `SessionStarted`. Agents that take their settings
    /// from the command line have no message for it, and their support table refuses the settings.
    fn open(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        let _ = (session, out);
    }

    /// Changes the settings of the session. Agents without a message for it book the settings as lost.
    fn update(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        out.lose_event(ItemKindTag::Message, &Event::SessionUpdated(session.clone()), Reason::NoSlot);
    }

    /// Sends a prompt: at least one part, each a text or a medium.
    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>);

    /// Remembers a request of the agent that the source holds. In an [`crate::pipe::AgentLink`], [`AgentInput::received`]
    /// reads the request instead.
    fn asked(&mut self, request: &Permission<'_>, out: &mut WriterOutput<'_>);

    /// Sends a decision. The permission's `answer` is present.
    fn decide(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>);

    /// Sends the answer to a question, or the refusal to answer.
    fn answer(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>);

    /// Interrupts the running turn.
    fn interrupt(&mut self, out: &mut WriterOutput<'_>);

    /// See [`Writer::received`].
    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let _ = (frame, out);
    }

    /// Ends the input.
    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        let _ = out;
    }
}

/// The writer for the input of an agent.
pub(crate) struct InputWriter<A> {
    agent: A,
    /// Parts of the open prompts, with their numbers.
    prompts: BTreeMap<ItemId, Vec<(u32, Part<'static>)>>,
    opened: bool,
    /// Set for a log: its permission requests and questions were resolved long ago.
    from_log: bool,
}

impl<A> InputWriter<A> {
    pub(crate) fn new(agent: A, options: &Options) -> Self {
        let source = options.source.and_then(Dialect::named);
        let from_log = source.is_some_and(|source| source.plane == Plane::Log);
        Self { agent, prompts: BTreeMap::new(), opened: false, from_log }
    }

    /// Adds a part to a prompt. A prompt holds only text and media.
    fn grow(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(parts) = self.prompts.get_mut(item) else { return };
        match (value, parts.last_mut()) {
            (Part::Text(text), Some((known, Part::Text(said)))) if known == part => said.push(text),
            (Part::Text(_) | Part::Media(_), _) => parts.push((*part, value.clone().into_owned())),
            (
                Part::Summary(_)
                | Part::Refusal(_)
                | Part::Json(_)
                | Part::Args(Args::Text(_) | Args::Json(_))
                | Part::File(_)
                | Part::Citation(_)
                | Part::Cache(_)
                | Part::Opaque(_),
                _,
            ) => out.lose_part(ItemKindTag::Message, value, Reason::NoSlot),
        }
    }
}

impl<A: AgentInput> Writer for InputWriter<A> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match head.kind {
            // Text injected by the harness, another agent or a command was never a prompt.
            ItemKind::Message if head.author == Author::User && is_typed(head.origin) => Ok(()),
            ItemKind::Message
            | ItemKind::Reasoning
            | ItemKind::ToolCall(_)
            | ItemKind::ToolResult(_)
            | ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                if std::mem::replace(&mut self.opened, true) {
                    self.agent.update(session, out);
                } else {
                    self.agent.open(session, out);
                }
            }
            Event::SessionUpdated(session) => self.agent.update(session, out),
            Event::ItemStarted(head) => _ = self.prompts.insert(head.id, Vec::new()),
            Event::ItemDelta(delta) => self.grow(delta, out),
            Event::ItemCompleted(ItemTail { id, .. }) => {
                let Some(parts) = self.prompts.remove(id) else { return };
                if parts.is_empty() {
                    // Tool results come from the agent itself; a message of only tool results is not a prompt.
                    return out.lose(Field::ItemAuthor, Reason::NoSlot);
                }
                let parts: Vec<_> = parts.into_iter().map(|(_, part)| part).collect();
                self.agent.prompt(&parts, out);
            }
            Event::PermissionRequested(permission) => self.agent.asked(permission, out),
            // A permission in a log was resolved long ago; no running agent waits for it.
            Event::PermissionResolved(permission) => match &permission.answer {
                Some(_) if !self.from_log => self.agent.decide(permission, out),
                Some(_) | None => out.lose_event(ItemKindTag::Message, event, Reason::NoSlot),
            },
            Event::QuestionRequested(_) => out.lose_event(ItemKindTag::Message, event, Reason::NoSlot),
            Event::QuestionResolved(_) if self.from_log => {
                out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
            }
            Event::QuestionResolved(question) => self.agent.answer(question, out),
            Event::TurnStarted(Turn { stop, .. })
            | Event::TurnEnded(Turn { stop, .. })
            | Event::Usage(Turn { stop, .. }) => {
                if let Some(Stop { class, raw, .. }) = stop {
                    out.lose_some(Field::StopReason, raw.as_ref(), Reason::NoSlot);
                    match (event, class) {
                        // Ending the turn as cancelled is the interrupt.
                        (Event::TurnEnded(_), StopClass::Cancelled) => self.agent.interrupt(out),
                        _ => out.lose(Field::StopReason, Reason::NoSlot),
                    }
                }
            }
            // The table marks every field of these events as unsupported.
            Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_)
            | Event::Error(_) => {}
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.lose(out.ledger, Reason::NoSlot);
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        self.agent.received(frame, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.agent.finish(out);
    }
}

/// Whether a user message was typed by the user, as far as the source records the origin.
const fn is_typed(origin: Option<Origin>) -> bool {
    match origin {
        None | Some(Origin::Own) => true,
        Some(Origin::Harness | Origin::Agent | Origin::Summary | Origin::Command) => false,
    }
}

/// The type and data of an image, the only medium in the prompts of most agents.
pub(crate) fn image<'p>(part: &'p Part<'_>) -> Option<(&'p Str<'p>, &'p Str<'p>)> {
    let Part::Media(Media { media_type: Some(media_type), source: MediaSource::Base64(data), .. }) = part
    else {
        return None;
    };
    media_type.as_escaped().starts_with("image/").then_some((media_type, data))
}

/// Books the media of a prompt that are no images.
pub(crate) fn lose_other_media(parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
    for part in parts.iter().filter(|part| !matches!(part, Part::Text(_)) && image(part).is_none()) {
        out.lose_part(ItemKindTag::Message, part, Reason::NoSlot);
    }
}
