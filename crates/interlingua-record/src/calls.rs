//! Model calls as a record: the requests and responses of a conversation with a model API become one session.

use interlingua::dialects::ours::record;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::{Error, Problem};
use interlingua::json::{Raw, Str};
use interlingua::model::{Event, ItemId, Session};
use interlingua::pipe::{AnswerWriter, EventReader};

/// A request to a model API and its response, in the dialect of the client.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    dialect: &'static Dialect,
    request: &'a [u8],
    response: (&'a [u8], Role),
    /// The start and the end, in milliseconds since 1970.
    times: Option<(u64, u64)>,
}

impl<'a> ModelCall<'a> {
    /// A call with its response, whole ([`Role::Response`]) or streamed ([`Role::Stream`]).
    pub const fn new(dialect: &'static Dialect, request: &'a [u8], response: (&'a [u8], Role)) -> Self {
        Self { dialect, request, response, times: None }
    }

    /// The same call with its start in milliseconds since 1970, and its duration in milliseconds.
    #[must_use]
    pub const fn at(mut self, started_ms: u64, duration_ms: u64) -> Self {
        self.times = Some((started_ms, started_ms.saturating_add(duration_ms)));
        self
    }
}

/// The record of a conversation with a model API.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallsRecord {
    /// The record as JSON.
    pub record: Vec<u8>,
    /// Bodies that cannot be read, and items out of order.
    pub problems: Vec<Problem>,
    /// The number of values in the bodies that no field of the model holds. They are not in the record.
    pub unmapped: u64,
}

/// Makes the record of a conversation with a model API.
///
/// Each request holds the conversation since the response of the call before it; usually there is one call, whose request
/// holds the whole history. The record has every message, reasoning, call and result, the settings of each request and
/// the usage of each response. The record is no copy of the bodies: values that no field of the model holds are
/// counted and left out.
///
/// ```
/// use interlingua::dialects::Role;
/// use interlingua_record::calls::{ModelCall, record_of_calls};
///
/// let request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
/// let response = br#"{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello."}]}"#;
/// let call = ModelCall::new("anthropic".parse()?, request, (response, Role::Response));
/// let made = record_of_calls("conversation-1", &[call])?;
///
/// assert!(interlingua_record::check(&made.record).is_empty());
/// assert!(made.problems.is_empty());
/// assert!(String::from_utf8(made.record)?.contains("Hello."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record_of_calls(id: &str, calls: &[ModelCall<'_>]) -> Result<CallsRecord, Error> {
    let options = Options::default().with_whole(true).with_source_name(id.to_owned());
    let mut writer = AnswerWriter::new((&record::DIALECT, Role::Log), &options)?;
    let mut record = Vec::new();
    let start = calls.first().and_then(|call| call.times).map(|(start, _)| start.to_string());
    let mut session = Session::default();
    let Session { id: session_id, start: session_start, .. } = &mut session;
    *session_id = Some(Str::from_plain(id));
    *session_start = start.as_deref().map(Raw::new);
    writer.event(&Event::SessionStarted(session), &mut record);
    // Each body numbers its items from 1.
    let mut items = 0;
    let (mut problems, mut unmapped) = (Vec::new(), 0);
    for ModelCall { dialect, request, response: (response, role), times } in calls {
        for (body, role, time) in [
            (*request, Role::Request, times.map(|(start, _)| start)),
            (*response, *role, times.map(|(_, end)| end)),
        ] {
            if let Some(time) = time.map(|time| time.to_string()) {
                writer.event(&Event::Clock(Raw::new(&time)), &mut record);
            }
            let first = items;
            let mut each = |event: &Event<'_>| {
                let mut event = event.clone();
                number_from(&mut event, first, &mut items);
                writer.event(&event, &mut record);
            };
            let mut reader = EventReader::new((dialect, role), &options)?;
            reader.push(body, &mut each);
            let report = reader.finish(&mut each);
            problems.extend(report.problems);
            unmapped += report.kept;
        }
    }
    problems.extend(writer.finish(&mut record).problems);
    Ok(CallsRecord { record, problems, unmapped })
}

/// Adds `first` to the item numbers of an event; `last` becomes the largest number so far.
fn number_from(event: &mut Event<'_>, first: u64, last: &mut u64) {
    let shift = |id: &mut ItemId| id.0 += first;
    match event {
        Event::ItemStarted(head) => {
            shift(&mut head.id);
            head.within.iter_mut().for_each(shift);
            *last = (*last).max(head.id.0);
        }
        Event::ItemDelta(delta) => shift(&mut delta.item),
        Event::ItemCompleted(tail) => shift(&mut tail.id),
        _ => {}
    }
}
