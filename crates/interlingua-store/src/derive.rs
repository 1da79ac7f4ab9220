//! Values that the store derives from the bodies of an exchange: the key of its conversation, and the ids of responses
//! that a later request may continue.

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::{Author, Event, ItemId, ItemKind, Part};
use interlingua::pipe::EventReader;
use interlingua::tape::{Limits, TapeBuf};
use ring::digest::{Context, SHA256};

use crate::error::StoreError;
use crate::exchange::StoredExchange;
use crate::store::Store;

/// Fills the conversations and the response ids of a batch, where the caller left them empty.
pub(crate) fn derive(
    store: &mut (impl Store + ?Sized),
    batch: &mut [StoredExchange],
) -> Result<(), StoreError> {
    for at in 0..batch.len() {
        let (earlier, rest) = batch.split_at_mut(at);
        let Some(exchange) = rest.first_mut() else { continue };
        fill_response_ids(exchange);
        if !exchange.facts.conversation.is_empty() {
            continue;
        }
        let facts = &exchange.facts;
        // A request that continues a response belongs to the conversation of the response.
        let continued = match &facts.previous_response {
            Some(id) => {
                let is_it = |earlier: &&StoredExchange| {
                    earlier.facts.client == facts.client && earlier.facts.response_id.as_ref() == Some(id)
                };
                match earlier.iter().rev().find(is_it) {
                    Some(earlier) => Some(earlier.facts.conversation.clone()),
                    None => store.response_conversation(&facts.client, id)?,
                }
            }
            None => None,
        };
        let derived = continued.or_else(|| {
            let dialect = Dialect::named(&facts.client_dialect)?;
            conversation_key(&facts.client, dialect, &exchange.request)
        });
        // A request without a message of the user is a conversation of its own.
        exchange.facts.conversation = derived.unwrap_or_else(|| facts.id.clone());
    }
    Ok(())
}

/// The key of the conversation that a request belongs to; `None` if the request has no message of a user.
///
/// The key is a digest of
/// - the name of the client,
/// - the end user and the cache key in the request, which programs set to the id of their session,
/// - the system text, without the line in which Claude Code counts its requests,
/// - the text of the first message of the user.
///
/// So each request of a conversation that grows has the same key, and so have requests from another point of the same
/// conversation. A conversation that is compacted starts a new key, because its first message is new. Two conversations
/// of one client have the same key only if all of these values are equal.
///
/// ```
/// use interlingua_store::conversation_key;
///
/// let first = br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
/// let second = br#"{"model":"m","messages":[{"role":"user","content":"hi"},
///     {"role":"assistant","content":"Hello."},{"role":"user","content":"go on"}]}"#;
/// let chat = "openai-chat".parse()?;
/// assert_eq!(conversation_key("ann", chat, first), conversation_key("ann", chat, second));
/// assert_ne!(conversation_key("ann", chat, first), conversation_key("bob", chat, first));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conversation_key(client: &str, dialect: &'static Dialect, request: &[u8]) -> Option<String> {
    let mut start = ConversationStart::default();
    let mut reader = EventReader::new((dialect, Role::Request), &Options::default()).ok()?;
    reader.push(request, |event| start.event(event));
    reader.finish(|event| start.event(event));
    let ConversationStart { session, system, user, state: _ } = start;
    let user = user.filter(|text| !text.is_empty())?;
    let mut digest = Context::new(&SHA256);
    for text in [client, &session, &system, &user] {
        // With its length, so that the border between two texts changes the digest.
        digest.update(&(text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    let digest = digest.finish();
    let half = digest.as_ref().first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
    Some(format!("conv_{half:032x}"))
}

/// The start of a line in Claude Code's system text that differs in each request.
const REQUEST_COUNTER: &str = "x-anthropic-billing-header:";

/// The values of a request that identify its conversation.
#[derive(Default)]
struct ConversationStart {
    session: String,
    system: String,
    /// The first message of the user; `None` before it.
    user: Option<String>,
    state: ReadState,
}

/// The item that is being read.
#[derive(Clone, Copy, Default, PartialEq)]
enum ReadState {
    #[default]
    Other,
    System(ItemId),
    User(ItemId),
    /// The first message of the user is complete: later events are of no interest.
    Done,
}

impl ConversationStart {
    fn event(&mut self, event: &Event<'_>) {
        if self.state == ReadState::Done {
            return;
        }
        match event {
            Event::Request(request) => {
                for text in [&request.user, &request.cache_key].into_iter().flatten() {
                    self.session += &text.decode();
                    self.session.push('\n');
                }
            }
            Event::ItemStarted(head) if head.kind == ItemKind::Message && head.within.is_none() => {
                self.state = match (head.author, &self.user) {
                    (Author::System | Author::Developer, _) => ReadState::System(head.id),
                    (Author::User, None) => {
                        self.user = Some(String::new());
                        ReadState::User(head.id)
                    }
                    _ => ReadState::Other,
                };
            }
            Event::ItemDelta(delta) => {
                let Part::Text(text) = &delta.value else { return };
                let text = text.decode();
                match (self.state, &mut self.user) {
                    (ReadState::System(_), _) if text.starts_with(REQUEST_COUNTER) => {}
                    (ReadState::System(id), _) if id == delta.item => self.system += &text,
                    (ReadState::User(id), Some(user)) if id == delta.item => *user += &text,
                    _ => {}
                }
            }
            // A message of tool results alone is no message of the user.
            Event::ItemCompleted(tail) if self.state == ReadState::User(tail.id) => {
                let is_empty = self.user.as_ref().is_none_or(String::is_empty);
                self.state = if is_empty { ReadState::Other } else { ReadState::Done };
                if is_empty {
                    self.user = None;
                }
            }
            _ => {}
        }
    }
}

/// The only dialect whose requests continue stored responses.
const CONTINUED: &str = "openai-responses";

/// Fills the ids of the response and of the previous response, where the caller left them empty.
fn fill_response_ids(exchange: &mut StoredExchange) {
    let StoredExchange { facts, request, response, .. } = exchange;
    if facts.client_dialect != CONTINUED || facts.response_id.is_some() {
        return;
    }
    let Some(dialect) = Dialect::named(CONTINUED) else { return };
    let mut tape = TapeBuf::default();
    let tape = std::str::from_utf8(request).ok().and_then(|text| tape.parse(text, &Limits::default()).ok());
    let Some(tape) = tape else { return };
    let text = |name| Some(tape.root().get(name)?.str()?.decode().into_owned());
    if facts.previous_response.is_none() {
        facts.previous_response = text("previous_response_id");
    }
    // With `store: false` the client asks that no later request continues the response.
    let is_stored = tape.root().get("store").and_then(|store| store.bool()) != Some(false);
    if is_stored && facts.status < 400 {
        let role = if facts.streamed { Role::Stream } else { Role::Response };
        facts.response_id = response_id(dialect, role, response);
    }
}

/// The id of a response.
fn response_id(dialect: &'static Dialect, role: Role, response: &[u8]) -> Option<String> {
    let mut reader = EventReader::new((dialect, role), &Options::default()).ok()?;
    let mut id = None;
    let note = |event: &Event<'_>, id: &mut Option<String>| {
        if let (Event::TurnStarted(turn), None) = (event, &id) {
            *id = turn.id.as_ref().map(|id| id.decode().into_owned());
        }
    };
    // The id is in the first event of a stream, so the rest is not read.
    for piece in response.chunks(16 << 10) {
        reader.push(piece, |event| note(event, &mut id));
        if id.is_some() {
            return id;
        }
    }
    reader.finish(|event| note(event, &mut id));
    id
}
