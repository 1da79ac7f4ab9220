//! The events of one session out of those of a whole directory: its own events, those of its subagents, and those of no
//! session.

use std::collections::HashSet;

use interlingua::tape::{Limits, TapeBuf};

/// How many events wait until the session has an id.
const MOST_HELD: usize = 1024;

/// Selects the events of one session.
#[derive(Default)]
pub(crate) struct OwnEvents {
    /// The session.
    main: Option<String>,
    /// The session and its subagents.
    sessions: HashSet<String>,
    /// The start of an event whose end has not arrived.
    partial: Vec<u8>,
    /// Events before the session has an id.
    held: Vec<String>,
}

impl OwnEvents {
    /// The id of the session.
    pub(crate) fn session(&self) -> Option<&str> {
        self.main.as_deref()
    }

    /// Adds bytes of the server. Returns the own events that are whole.
    pub(crate) fn received(&mut self, bytes: &[u8]) -> String {
        self.partial.extend_from_slice(bytes);
        let Some(end) = self.partial.windows(2).rposition(|pair| pair == b"\n\n") else {
            return String::new();
        };
        let rest = self.partial.split_off(end + 2);
        let whole = std::mem::replace(&mut self.partial, rest);
        let text = String::from_utf8_lossy(&whole);
        let frames = text.split_inclusive("\n\n").map(str::to_owned).collect();
        if self.main.is_some() {
            return self.own(frames);
        }
        self.held.extend(frames);
        let surplus = self.held.len().saturating_sub(MOST_HELD);
        self.held.drain(..surplus);
        String::new()
    }

    /// Adds a response of the server, which may name the session. Returns the response as an event, before the events that
    /// waited for it.
    pub(crate) fn answered(&mut self, response: &str) -> String {
        let mut frames = format!("event: response\ndata: {response}\n\n");
        let opened = || {
            let mut buf = TapeBuf::default();
            let tape = buf.parse(response, &Limits::default().around_others()).ok()?;
            let root = tape.root();
            let id = root.get("body")?.get("id")?.str()?.decode().into_owned();
            let is_success = root.get("status")?.u64()? < 300;
            (is_success && id.starts_with("ses")).then_some(id)
        };
        if self.main.is_none()
            && let Some(id) = opened()
        {
            self.sessions.insert(id.clone());
            self.main = Some(id);
            let held = std::mem::take(&mut self.held);
            frames.push_str(&self.own(held));
        }
        frames
    }

    fn own(&mut self, frames: Vec<String>) -> String {
        frames.into_iter().filter(|frame| self.is_own(frame)).collect()
    }

    /// Whether the event belongs to the session, to a subagent of it, or to no session.
    fn is_own(&mut self, frame: &str) -> bool {
        let data = frame.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or_default();
        let mut buf = TapeBuf::default();
        let Ok(tape) = buf.parse(data.trim(), &Limits::default().around_others()) else { return true };
        let Some(properties) = tape.root().get("properties") else { return true };
        let text = |name: &str| Some(properties.get(name)?.str()?.decode().into_owned());
        let info = properties.get("info");
        let of_info = |name: &str| Some(info?.get(name)?.str()?.decode().into_owned());
        // The info of a session is the session itself; that of a message names the session.
        let is_session = tape.root().str_or_empty("type").starts_with("session.");
        let session = text("sessionID").or_else(|| of_info(if is_session { "id" } else { "sessionID" }));
        let Some(session) = session else { return true };
        if is_session && of_info("parentID").is_some_and(|parent| self.sessions.contains(&parent)) {
            self.sessions.insert(session);
            return true;
        }
        self.sessions.contains(&session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: &str, properties: &str) -> String {
        format!("data: {{\"id\":\"evt_1\",\"type\":\"{kind}\",\"properties\":{properties}}}\n\n")
    }

    #[test]
    fn events_wait_for_the_session_and_other_sessions_are_left_out() {
        let mut events = OwnEvents::default();
        let created = frame("session.created", r#"{"sessionID":"ses_1","info":{"id":"ses_1"}}"#);
        let other = frame("message.updated", r#"{"sessionID":"ses_2","info":{"id":"msg_1"}}"#);
        let hello = frame("server.connected", "{}");
        assert_eq!(events.received(format!("{hello}{other}{created}").as_bytes()), "");
        let response = r#"{"request":"POST /session","status":200,"body":{"id":"ses_1"}}"#;
        assert_eq!(
            events.answered(response),
            format!("event: response\ndata: {response}\n\n{hello}{created}")
        );
        assert_eq!(events.session(), Some("ses_1"));
        assert_eq!(events.received(other.as_bytes()), "");
        // A refusal names no session.
        let refusal = r#"{"request":"POST /session/ses_1/prompt_async","status":500,"body":{"id":"ses_9"}}"#;
        assert_eq!(events.answered(refusal), format!("event: response\ndata: {refusal}\n\n"));
        assert_eq!(events.session(), Some("ses_1"));
    }

    #[test]
    fn events_of_subagents_and_cut_events_arrive_whole() {
        let mut events = OwnEvents::default();
        events.answered(r#"{"request":"GET /session/ses_1","status":200,"body":{"id":"ses_1"}}"#);
        let child =
            frame("session.created", r#"{"sessionID":"ses_3","info":{"id":"ses_3","parentID":"ses_1"}}"#);
        let said = frame("message.part.updated", r#"{"sessionID":"ses_3","part":{"text":"é"}}"#);
        let all = format!("{child}{said}");
        for cut in 0..all.len() {
            let mut events_of_cut = OwnEvents {
                main: events.main.clone(),
                sessions: events.sessions.clone(),
                ..OwnEvents::default()
            };
            let (first, second) = all.as_bytes().split_at(cut);
            assert_eq!(events_of_cut.received(first) + &events_of_cut.received(second), all, "{cut}");
        }
    }
}
