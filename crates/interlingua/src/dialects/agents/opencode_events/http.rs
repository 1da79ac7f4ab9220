//! The HTTP exchange with the server: the client's requests as lines, and the responses that the client needs, which its
//! transport inserts into the events.

use std::fmt::Write as _;

use crate::dialects::agents::opencode::message::STOPS;
use crate::dialects::agents::opencode::part::{PartMembers, Sort, read_within};
use crate::framing::FrameKind;
use crate::json::Str;
use crate::model::{
    Author, Decision, Event, Failure, FailureClass, Field, ItemKind, Notice, Permission, Question, Session,
    Shape, Stop, StopClass, Turn,
};
use crate::pipe::{Doc, EventSink};
use crate::tape::{Kind, Val};

/// The class of OpenCode's word for the end of a response.
pub(super) fn stop_class(word: &Str<'_>) -> StopClass {
    STOPS.value(word).unwrap_or(StopClass::Other)
}

/// Whether a response names the session that the client opened or resumed.
pub(super) fn names_session(response: Val<'_>, body: Val<'_>) -> bool {
    let succeeded = response.get("status").and_then(|status| status.u64()).is_some_and(|status| status < 300);
    succeeded && body.has_str("id") && opens_session(response.str_or_empty("request"))
}

/// Whether a request opens or resumes a session: `POST /session`, or `GET /session/ID`.
fn opens_session(request: &str) -> bool {
    let (method, target) = request.split_once(' ').unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    match method {
        "POST" => path == "/session",
        "GET" => path.strip_prefix("/session/").is_some_and(|id| id.starts_with("ses") && !id.contains('/')),
        _ => false,
    }
}

/// The failure that a response reports.
pub(super) fn refusal<'t>(response: Val<'t>, body: Option<Val<'t>>) -> Failure<'t> {
    let status =
        response.note_u64("status", Field::ErrorStatus).and_then(|status| u16::try_from(status).ok());
    let inner = body.and_then(|body| body.get("data")).filter(|data| data.has_str("message")).or(body);
    let message = inner.and_then(|inner| inner.note_str("message", Field::ErrorMessage));
    let text = || response.get("body").and_then(|body| body.note_text(Field::ErrorMessage));
    Failure {
        class: status.map_or(FailureClass::Other, FailureClass::of_status),
        status,
        code: body.and_then(|body| body.note_str("name", Field::ErrorCode)),
        message: message.or_else(text).unwrap_or_else(|| Str::escaped("the server refused the request")),
        request_id: None,
        retry_after: None,
    }
}

/// Reads a request of the client. Between the server's events a request is a notice: the server repeats each prompt and
/// each answer.
pub(super) fn read_request(doc: Doc<'_>, out: &mut EventSink<'_>) {
    let request = doc.root;
    let is_line = matches!(doc.kind, FrameKind::Line | FrameKind::LastLine);
    let path = request.str_or_empty("path").split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let body = request.get("body").filter(|body| body.kind() == Kind::Object);
    let is_post = request.str_or_empty("method") == "POST";
    let understood = is_line
        && is_post
        && match (segments.as_slice(), body) {
            (["session"], Some(body)) => open(request, body, out),
            (["session", session, "prompt_async"], Some(body)) => prompt(request, session, body, out),
            (["session", session, "abort"], _) => interrupt(request, session, out),
            (["permission", id, "reply"], Some(body)) => decide(request, id, body, out),
            (["question", id, "reply"], Some(body)) => answer(request, id, Some(body), out),
            (["question", id, "reject"], _) => answer(request, id, None, out),
            _ => false,
        };
    if understood {
        request.note_str("method", Field::Structure);
    } else {
        let event_type = request.note_str("path", Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(head);
        out.complete(item);
    }
}

/// The request that opens a session.
fn open(request: Val<'_>, body: Val<'_>, out: &mut EventSink<'_>) -> bool {
    let cwd = request.str_or_empty("path").split_once("directory=").map(|(_, cwd)| decode(cwd));
    let field = if cwd.is_some() { Field::SessionCwd } else { Field::Structure };
    request.note_str("path", field);
    out.event(&Event::SessionStarted(Session {
        cwd: cwd.as_deref().map(Str::from_plain),
        title: body.note_str("title", Field::SessionTitle),
        agent: Some(Str::escaped(super::AGENT)),
        ..Session::default()
    }));
    true
}

fn prompt(request: Val<'_>, session: &str, body: Val<'_>, out: &mut EventSink<'_>) -> bool {
    let Some(parts) = body.get("parts").filter(|parts| parts.elements().next().is_some()) else {
        return false;
    };
    let _ = session;
    request.note_str("path", Field::Structure);
    let model = body.get("model").filter(|model| model.kind() == Kind::Object);
    let said = |name, field| model.and_then(|model| model.note_str(name, field));
    let facts = Session {
        model: said("modelID", Field::SessionModel),
        provider: said("providerID", Field::SessionProvider),
        permission_mode: body.note_str("agent", Field::PermissionMode),
        effort: body.note_str("variant", Field::SessionEffort),
        ..Session::default()
    };
    if facts != Session::default() {
        out.event(&Event::SessionUpdated(facts));
    }
    let mut head = out.head(ItemKind::Message, Author::User);
    let content = || parts.elements().map(PartMembers::new);
    let said = content().filter(|part| matches!(part.sort(), Sort::Text | Sort::File)).count();
    head.shape = if said > 1 { Shape::List } else { Shape::One };
    let item = out.start(head);
    for (number, part) in content().enumerate() {
        out.within(part.root, |out| read_within(&part, number as u32, (item, Author::User), false, out));
    }
    out.complete(item);
    true
}

fn interrupt(request: Val<'_>, session: &str, out: &mut EventSink<'_>) -> bool {
    let _ = session;
    request.note_str("path", Field::StopReason);
    let stop = Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None };
    out.event(&Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() }));
    true
}

fn decide(request: Val<'_>, id: &str, body: Val<'_>, out: &mut EventSink<'_>) -> bool {
    let verdict = match body.str_or_empty("reply") {
        "once" => Decision::Accept,
        "always" => Decision::AcceptForSession,
        "reject" => Decision::Reject(body.take_str("message", Field::PermissionMessage)),
        _ => return false,
    };
    body.note_str("reply", Field::PermissionAnswer);
    request.note_str("path", Field::PermissionId);
    out.event(&Event::PermissionResolved(Permission {
        id: Str::from_plain(&decode(id)),
        action: Str::escaped(""),
        call_id: None,
        input: None,
        answer: Some(verdict),
        by: None,
    }));
    true
}

fn answer(request: Val<'_>, id: &str, body: Option<Val<'_>>, out: &mut EventSink<'_>) -> bool {
    let answers = body.map(|body| body.get("answers").filter(|answers| answers.kind() == Kind::Array));
    if answers.is_some_and(|answers| answers.is_none()) {
        return false;
    }
    request.note_str("path", Field::QuestionId);
    let labels = |answer: Val<'_>| -> Vec<Str<'static>> {
        let labels = answer.elements();
        labels.filter_map(|label| Some(label.note_text(Field::QuestionAnswer)?.into_owned())).collect()
    };
    let answers = answers.flatten().map(|answers| answers.elements().map(labels).collect());
    let declined = answers.is_none();
    let id = Str::from_plain(&decode(id));
    out.event(&Event::QuestionResolved(Question {
        id,
        call_id: None,
        prompts: Vec::new(),
        answers,
        declined,
    }));
    true
}

/// Encodes a segment of a path, or a value of a query: every byte outside the unreserved characters as `%XX`.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Decodes what [`encode`] wrote. Text that is not encoded stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let coded = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(coded.unwrap_or(byte));
        at += if coded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode, opens_session};

    #[test]
    fn a_path_segment_cannot_leave_its_place() {
        assert_eq!(encode("per_1/../x?y#z é"), "per_1%2F..%2Fx%3Fy%23z%20%C3%A9");
        for text in ["per_1", "a/b", "100%", "%zz", "é"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(decode("100%"), "100%");
    }

    #[test]
    fn only_a_session_itself_is_opened() {
        for request in ["POST /session", "POST /session?directory=%2Fa", "GET /session/ses_1?directory=%2Fa"]
        {
            assert!(opens_session(request), "{request}");
        }
        for request in [
            "GET /session",
            "POST /session/ses_1",
            "GET /session/ses_1/message",
            "GET /session/status",
            "",
            "POST",
        ] {
            assert!(!opens_session(request), "{request}");
        }
    }
}
