//! Universal events as lines: the parts of the envelope that the daemon needs.

use bytes::Bytes;
use interlingua::tape::{Limits, TapeBuf};
use interlingua_store::AgentEventRow;

use crate::problem::ApiProblem;

/// An event of the stream.
#[derive(Clone, Debug)]
pub(crate) struct EventLine {
    pub(crate) row: AgentEventRow,
    /// The type of the event.
    pub(crate) kind: String,
    pub(crate) native_session_id: Option<String>,
    /// The id of a permission or question.
    pub(crate) request: Option<String>,
}

/// The events in the output of a writer. A line that is no event is a defect of the writer, and never dropped.
pub(crate) fn read(output: &[u8]) -> Result<Vec<EventLine>, ApiProblem> {
    let text = String::from_utf8_lossy(output);
    let mut tape = TapeBuf::default();
    let unreadable = || ApiProblem::stream_error("an event of the session cannot be read");
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| read_line(line, &mut tape).ok_or_else(unreadable))
        .collect()
}

fn read_line(line: &str, tape: &mut TapeBuf) -> Option<EventLine> {
    let limits = Limits::default().around_others();
    let tape = tape.parse(line, &limits).ok()?;
    let event = tape.root();
    let text = |name| Some(event.get(name)?.str()?.decode().into_owned());
    let raw = event.get("raw")?;
    // The writer puts `raw` last: `,"raw":` and the value.
    let end = raw.span().start - r#","raw":"#.len();
    let data = event.get("data")?;
    let request = data.get("permission_id").or(data.get("question_id"));
    let raw = if raw.is_null() { Bytes::new() } else { Bytes::copy_from_slice(raw.text().as_bytes()) };
    Some(EventLine {
        row: AgentEventRow::new(
            event.get("sequence")?.u64()?,
            Bytes::copy_from_slice(&line.as_bytes()[..end]),
            raw,
        ),
        kind: text("type")?,
        native_session_id: text("native_session_id"),
        request: request.and_then(|id| Some(id.str()?.decode().into_owned())),
    })
}

/// The event for a reader, with or without the agent's line.
pub(crate) fn whole(row: &AgentEventRow, include_raw: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&row.event);
    out.extend_from_slice(br#","raw":"#);
    out.extend_from_slice(if include_raw && !row.raw.is_empty() { &row.raw } else { b"null" });
    out.push(b'}');
}

/// Whether the event has this type. The type is in the envelope, before the data.
pub(crate) fn is_of_type(row: &AgentEventRow, kind: &str) -> bool {
    let head = &row.event[..row.event.len().min(512)];
    let wanted = format!(r#","type":"{kind}","data":"#);
    head.windows(wanted.len()).any(|window| window == wanted.as_bytes())
}
