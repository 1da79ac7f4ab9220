//! Moves messages between one Codex server and many sessions, without I/O. A session writes and reads as if the server were
//! its own.
//!
//! - The server is initialised once; each session gets the same answer.
//! - The id of a session's request is prefixed by the number of the session, and the response loses the prefix again.
//! - Notifications and requests of the server go to the session of their thread. A thread belongs to the session that opened
//!   it, and a subagent's thread to the session of its parent. Lines without a thread go to every session.
//! - Lines may precede the response that opens their thread: they wait for the response.
//! - A request that no session can answer is refused at once.

use std::collections::{BTreeSet, HashMap, HashSet};

use interlingua::tape::{Limits, TapeBuf, Val};

/// How many lines of threads without a session wait.
const MOST_WAITING: usize = 1024;
/// The number before the ids of the switch's own requests.
const OWN: &str = "switch";
const HANDSHAKE: &str = concat!(
    r#"{"id":"switch/initialize","method":"initialize","params":{"clientInfo":{"name":"interlingua","#,
    r#""title":"Interlingua","version":"1"}}}"#,
    "\n"
);
const HANDSHAKE_END: &str = "{\"method\":\"initialized\",\"params\":{}}\n";

/// A message with its receiver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CodexMove {
    ToServer(String),
    ToSession(u64, String),
}

/// The state of the connections.
#[derive(Default)]
pub(crate) struct CodexSwitch {
    sessions: BTreeSet<u64>,
    /// The sessions by their threads, with those of subagents.
    threads: HashMap<String, u64>,
    /// The running turns by their threads.
    turns: HashMap<String, String>,
    /// Threads whose session left, and whose next turn must be interrupted.
    left: HashSet<String>,
    /// Lines of threads that no session has opened yet, in order.
    waiting: Vec<(String, String)>,
    /// The server's answer to the handshake: the text before and after the id.
    greeting: Option<(String, String)>,
    /// The handshakes of sessions that wait for the answer: the session and the id as JSON.
    handshakes: Vec<(u64, String)>,
    has_begun: bool,
    requests: u64,
}

/// The members of a line that decide about its way.
struct LineFacts {
    /// The place of the id and the id as JSON.
    id: Option<(std::ops::Range<usize>, String)>,
    method: Option<String>,
    thread: Option<String>,
    parent: Option<String>,
    /// Threads of subagents that an item names.
    children: Vec<String>,
    turn: Option<String>,
    /// The thread in the result of a response.
    opened: Option<String>,
}

fn text(val: Option<Val<'_>>) -> Option<String> {
    Some(val?.str()?.decode().into_owned())
}

impl LineFacts {
    fn of(line: &str) -> Option<Self> {
        let mut buf = TapeBuf::default();
        let tape = buf.parse(line, &Limits::default().around_others()).ok()?;
        let root = tape.root();
        let params = root.get("params");
        let of_params = |name: &str| params.and_then(|params| params.get(name));
        let thread = of_params("thread");
        let item = of_params("item");
        let listed = item.and_then(|item| item.get("receiverThreadIds"));
        let listed = listed.into_iter().flat_map(|list| list.elements());
        let named = item.and_then(|item| item.get("agentThreadId"));
        let opened = root.get("result").and_then(|result| result.get("thread")?.get("id"));
        Some(Self {
            id: root.get("id").map(|id| {
                let span = id.span();
                (span.start..span.end, id.text().to_owned())
            }),
            method: text(root.get("method")),
            thread: text(of_params("threadId"))
                .or_else(|| text(of_params("conversationId")))
                .or_else(|| text(thread.and_then(|thread| thread.get("id")))),
            parent: text(thread.and_then(|thread| thread.get("parentThreadId"))),
            children: listed.chain(named).filter_map(|id| text(Some(id))).collect(),
            turn: text(of_params("turn").and_then(|turn| turn.get("id"))),
            opened: text(opened),
        })
    }
}

impl CodexSwitch {
    /// A session joins.
    pub(crate) fn join(&mut self, session: u64) -> Vec<CodexMove> {
        self.sessions.insert(session);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        is_first.then(|| CodexMove::ToServer(HANDSHAKE.to_owned())).into_iter().collect()
    }

    /// A session leaves: its turns are interrupted, and the server forgets its threads.
    pub(crate) fn leave(&mut self, session: u64) -> Vec<CodexMove> {
        self.sessions.remove(&session);
        self.handshakes.retain(|(of, _)| *of != session);
        let threads: Vec<String> =
            self.threads.iter().filter(|(_, of)| **of == session).map(|(thread, _)| thread.clone()).collect();
        let mut moves = Vec::new();
        for thread in threads {
            self.threads.remove(&thread);
            moves.extend(self.drop_thread(thread));
        }
        moves
    }

    fn drop_thread(&mut self, thread: String) -> Vec<CodexMove> {
        let mut moves = Vec::new();
        if let Some(turn) = self.turns.remove(&thread) {
            moves.push(
                self.request("turn/interrupt", &serde_json::json!({ "threadId": thread, "turnId": turn })),
            );
        }
        moves.push(self.request("thread/unsubscribe", &serde_json::json!({ "threadId": thread })));
        self.left.insert(thread);
        moves
    }

    fn request(&mut self, method: &str, params: &serde_json::Value) -> CodexMove {
        self.requests += 1;
        let id = format!("{OWN}/{method}#{}", self.requests);
        let line = serde_json::json!({ "id": id, "method": method, "params": params });
        CodexMove::ToServer(format!("{line}\n"))
    }

    /// Moves a line of a session to the server, or answers it.
    pub(crate) fn of_session(&mut self, session: u64, line: &str) -> Vec<CodexMove> {
        let Some(facts) = LineFacts::of(line) else {
            // The server tells the session that the line is no message.
            return vec![CodexMove::ToServer(line.to_owned())];
        };
        match (facts.method.as_deref(), facts.id) {
            (Some("initialize"), Some((_, id))) => {
                self.handshakes.push((session, id));
                self.greet()
            }
            // The switch has told the server already.
            (Some("initialized"), None) => Vec::new(),
            (Some(method), Some((place, id))) => {
                if method == "thread/resume"
                    && let Some(thread) = facts.thread
                {
                    self.left.remove(&thread);
                    self.threads.insert(thread, session);
                }
                // The ids of a session's requests are strings.
                let own = id.trim_matches('"');
                let line = format!("{}\"{session}/{own}\"{}", &line[..place.start], &line[place.end..]);
                vec![CodexMove::ToServer(line)]
            }
            // Notifications, and answers to requests of the server.
            _ => vec![CodexMove::ToServer(line.to_owned())],
        }
    }

    /// Answers the handshakes that wait.
    fn greet(&mut self) -> Vec<CodexMove> {
        let Some((before, after)) = &self.greeting else { return Vec::new() };
        let waiting = std::mem::take(&mut self.handshakes).into_iter();
        waiting.map(|(session, id)| CodexMove::ToSession(session, format!("{before}{id}{after}"))).collect()
    }

    /// Moves a line of the server to its sessions.
    pub(crate) fn of_server(&mut self, line: &str) -> Vec<CodexMove> {
        let Some(facts) = LineFacts::of(line) else { return self.to_all(line) };
        match (&facts.method, &facts.id) {
            (None, Some(_)) => self.responded(line, &facts),
            (Some(_), Some((_, id))) => {
                let session = facts.thread.as_ref().and_then(|thread| self.threads.get(thread));
                vec![match session {
                    Some(session) => CodexMove::ToSession(*session, line.to_owned()),
                    None => CodexMove::ToServer(format!(
                        "{{\"id\":{id},\"error\":{{\"code\":-32601,\"message\":\"no session can answer the request\"}}}}\n"
                    )),
                }]
            }
            (Some(_), None) => self.notified(line, facts),
            (None, None) => self.to_all(line),
        }
    }

    fn to_all(&self, line: &str) -> Vec<CodexMove> {
        self.sessions.iter().map(|session| CodexMove::ToSession(*session, line.to_owned())).collect()
    }

    fn responded(&mut self, line: &str, facts: &LineFacts) -> Vec<CodexMove> {
        let Some((place, id)) = &facts.id else { return Vec::new() };
        let (before, after) = (&line[..place.start], &line[place.end..]);
        let Some((of, own)) = id.trim_matches('"').split_once('/') else { return self.to_all(line) };
        if of == OWN {
            if own == "initialize" {
                self.greeting = Some((before.to_owned(), after.to_owned()));
                let mut moves = vec![CodexMove::ToServer(HANDSHAKE_END.to_owned())];
                moves.extend(self.greet());
                return moves;
            }
            // The answer to an interrupt of a session that has left.
            return Vec::new();
        }
        let session = of.parse().ok().filter(|session| self.sessions.contains(session));
        let Some(session) = session else {
            // The session left before its thread was open.
            return facts.opened.clone().map(|thread| self.drop_thread(thread)).unwrap_or_default();
        };
        let mut moves = Vec::new();
        if let Some(thread) = &facts.opened {
            self.left.remove(thread);
            self.threads.insert(thread.clone(), session);
            moves.extend(self.deliver_waiting());
        }
        moves.push(CodexMove::ToSession(session, format!("{before}\"{own}\"{after}")));
        moves
    }

    fn notified(&mut self, line: &str, facts: LineFacts) -> Vec<CodexMove> {
        let LineFacts { method, thread, parent, children, turn, .. } = facts;
        let Some(thread) = thread else { return self.to_all(line) };
        if let Some(session) = parent.and_then(|parent| self.threads.get(&parent).copied()) {
            self.threads.entry(thread.clone()).or_insert(session);
        }
        match (method.as_deref(), turn) {
            (Some("turn/started"), Some(turn)) if self.left.contains(&thread) => {
                let params = serde_json::json!({ "threadId": thread, "turnId": turn });
                return vec![self.request("turn/interrupt", &params)];
            }
            (Some("turn/started"), Some(turn)) => drop(self.turns.insert(thread.clone(), turn)),
            (Some("turn/completed"), _) => drop(self.turns.remove(&thread)),
            _ => {}
        }
        if self.left.contains(&thread) {
            // Nobody reads the rest of a turn whose session has left.
            return Vec::new();
        }
        let Some(session) = self.threads.get(&thread).copied() else {
            if self.waiting.len() == MOST_WAITING {
                self.waiting.remove(0);
            }
            self.waiting.push((thread, line.to_owned()));
            return Vec::new();
        };
        let has_children = !children.is_empty();
        for child in children {
            self.threads.entry(child).or_insert(session);
        }
        let mut moves = vec![CodexMove::ToSession(session, line.to_owned())];
        if has_children {
            moves.extend(self.deliver_waiting());
        }
        moves
    }

    /// The lines whose thread has a session now.
    fn deliver_waiting(&mut self) -> Vec<CodexMove> {
        let (mut moves, mut kept) = (Vec::new(), Vec::new());
        for (thread, line) in std::mem::take(&mut self.waiting) {
            match self.threads.get(&thread) {
                Some(session) => moves.push(CodexMove::ToSession(*session, line)),
                None => kept.push((thread, line)),
            }
        }
        self.waiting = kept;
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_server(moves: &[CodexMove]) -> Vec<serde_json::Value> {
        let lines = moves.iter().filter_map(|each| match each {
            CodexMove::ToServer(line) => Some(serde_json::from_str(line).unwrap_or_default()),
            CodexMove::ToSession(..) => None,
        });
        lines.collect()
    }

    fn to_session(session: u64, line: &str) -> CodexMove {
        CodexMove::ToSession(session, line.to_owned())
    }

    /// Two sessions with a thread each: `t1` and `t2`.
    fn two() -> CodexSwitch {
        let mut switch = CodexSwitch::default();
        assert_eq!(to_server(&switch.join(1))[0]["method"], "initialize");
        assert_eq!(switch.join(2), []);
        for session in [1, 2] {
            let asked = switch.of_session(
                session,
                "{\"id\":\"thread/start#2\",\"method\":\"thread/start\",\"params\":{}}\n",
            );
            assert_eq!(to_server(&asked)[0]["id"], format!("{session}/thread/start#2"));
            let line = format!(
                "{{\"id\":\"{session}/thread/start#2\",\"result\":{{\"thread\":{{\"id\":\"t{session}\"}}}}}}\n"
            );
            let expected = line.replace(&format!("{session}/thread"), "thread");
            assert_eq!(switch.of_server(&line), [to_session(session, &expected)]);
        }
        switch
    }

    #[test]
    fn the_handshake_is_answered_for_each_session_and_sent_once() {
        let mut switch = CodexSwitch::default();
        switch.join(1);
        let hello = "{\"id\":\"initialize#1\",\"method\":\"initialize\",\"params\":{}}\n";
        assert_eq!(switch.of_session(1, hello), []);
        let moves = switch.of_server("{\"id\":\"switch/initialize\",\"result\":{\"codexHome\":\"/h\"}}\n");
        let greeting = "{\"id\":\"initialize#1\",\"result\":{\"codexHome\":\"/h\"}}\n";
        assert_eq!(moves, [CodexMove::ToServer(HANDSHAKE_END.to_owned()), to_session(1, greeting)]);
        assert_eq!(switch.join(2), []);
        assert_eq!(switch.of_session(2, hello), [to_session(2, greeting)]);
        assert_eq!(switch.of_session(2, "{\"method\":\"initialized\",\"params\":{}}\n"), []);
    }

    #[test]
    fn a_line_goes_to_the_session_of_its_thread_alone() {
        let mut switch = two();
        let line = "{\"method\":\"item/started\",\"params\":{\"threadId\":\"t2\",\"item\":{\"big\":1.0}}}\n";
        assert_eq!(switch.of_server(line), [to_session(2, line)]);
        let line = "{\"id\":0,\"method\":\"item/commandExecution/requestApproval\",\"params\":{\"threadId\":\"t1\"}}\n";
        assert_eq!(switch.of_server(line), [to_session(1, line)]);
        let answer = "{\"id\":0,\"result\":{\"decision\":\"accept\"}}\n";
        assert_eq!(switch.of_session(1, answer), [CodexMove::ToServer(answer.to_owned())]);
        for line in ["{\"method\":\"configWarning\",\"params\":{}}\n", "no message\n"] {
            assert_eq!(switch.of_server(line), [to_session(1, line), to_session(2, line)]);
        }
    }

    #[test]
    fn lines_before_the_opening_of_their_thread_wait_for_it() {
        let mut switch = CodexSwitch::default();
        switch.join(1);
        let early = "{\"method\":\"thread/started\",\"params\":{\"thread\":{\"id\":\"t1\"}}}\n";
        assert_eq!(switch.of_server(early), []);
        let opened =
            switch.of_server("{\"id\":\"1/thread/start#2\",\"result\":{\"thread\":{\"id\":\"t1\"}}}\n");
        let response = "{\"id\":\"thread/start#2\",\"result\":{\"thread\":{\"id\":\"t1\"}}}\n";
        assert_eq!(opened, [to_session(1, early), to_session(1, response)]);
    }

    #[test]
    fn list_52_a_request_that_no_session_can_answer_is_refused() {
        let mut switch = two();
        for params in ["{}", "{\"threadId\":\"unknown\"}"] {
            let moves =
                switch.of_server(&format!("{{\"id\":7,\"method\":\"some/request\",\"params\":{params}}}\n"));
            let refusals = to_server(&moves);
            assert_eq!(
                (refusals[0]["id"].as_u64(), refusals[0]["error"]["code"].as_i64()),
                (Some(7), Some(-32601))
            );
        }
    }

    #[test]
    fn a_subagents_thread_belongs_to_the_session_of_its_parent() {
        let mut switch = two();
        let of_child = "{\"method\":\"item/started\",\"params\":{\"threadId\":\"child\"}}\n";
        assert_eq!(switch.of_server(of_child), []);
        let call = "{\"method\":\"item/completed\",\"params\":{\"threadId\":\"t2\",\"item\":{\"receiverThreadIds\":[\"child\"]}}}\n";
        assert_eq!(switch.of_server(call), [to_session(2, call), to_session(2, of_child)]);
        let started = "{\"method\":\"thread/started\",\"params\":{\"thread\":{\"id\":\"other\",\"parentThreadId\":\"t1\"}}}\n";
        assert_eq!(switch.of_server(started), [to_session(1, started)]);
    }

    #[test]
    fn the_turn_of_a_session_that_leaves_is_interrupted() {
        let mut switch = two();
        switch.of_server(
            "{\"method\":\"turn/started\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u1\"}}}\n",
        );
        let sent = to_server(&switch.leave(1));
        assert_eq!(sent[0]["method"], "turn/interrupt");
        assert_eq!(sent[0]["params"], serde_json::json!({ "threadId": "t1", "turnId": "u1" }));
        assert_eq!(sent[1]["method"], "thread/unsubscribe");
        // A turn that begins after its session has left.
        let late =
            "{\"method\":\"turn/started\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u2\"}}}\n";
        assert_eq!(to_server(&switch.of_server(late))[0]["params"]["turnId"], "u2");
        let rest =
            "{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u2\"}}}\n";
        assert_eq!(switch.of_server(rest), []);
        // The other session is not disturbed, and the thread can be opened again.
        let line =
            "{\"method\":\"turn/started\",\"params\":{\"threadId\":\"t2\",\"turn\":{\"id\":\"u3\"}}}\n";
        assert_eq!(switch.of_server(line), [to_session(2, line)]);
        switch.join(3);
        let resume =
            "{\"id\":\"thread/resume#2\",\"method\":\"thread/resume\",\"params\":{\"threadId\":\"t1\"}}\n";
        switch.of_session(3, resume);
        assert_eq!(switch.of_server(late), [to_session(3, late)]);
    }
}
