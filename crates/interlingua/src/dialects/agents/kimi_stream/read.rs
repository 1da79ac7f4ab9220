//! Lines to events. Kimi Code prints two lines of its own, `meta`: the version at the beginning and the session at the end.

use crate::dialects::agents::kimi_cli::read::KimiReader;
use crate::live::printed::{StreamTurn, notice, stop};
use crate::model::{Field, Session, StopClass, Turn};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Member as _, Val};

#[derive(Default)]
pub(super) struct KimiStreamReader {
    log: KimiReader,
    turn: StreamTurn,
    has_begun: bool,
    /// Whether the last line is an answer without calls, which is how a run ends.
    is_answered: bool,
}

impl Reader for KimiStreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let role = line.get("role");
        let word = role.word();
        self.begin(if word == "meta" { KIMI_CODE } else { KIMI_CLI }, out);
        match (word, line.str_or_empty("type")) {
            ("meta", "system.version") if line.has_str("version") => {
                let cli_version = line.note_str("version", Field::SessionVersion);
                self.session(line, Session { cli_version, ..Session::default() }, out);
            }
            ("meta", "session.resume_hint") if line.has_str("session_id") => {
                let id = line.note_str("session_id", Field::SessionId);
                self.session(line, Session { id, ..Session::default() }, out);
                // The type of the line is the only value that ends the turn.
                line.note_str("type", Field::StopReason);
                self.end(out);
            }
            ("assistant" | "tool" | "user" | "system", _) => {
                self.turn.begin(out);
                self.is_answered = word == "assistant" && line.get("tool_calls").is_none();
                self.log.message(line, role, word, out);
            }
            _ => {
                if word.is_empty() {
                    doc.report_foreign(super::DIALECT.name, out);
                }
                role.note_text(Field::Structure);
                notice(line, out);
            }
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        // Kimi CLI prints nothing after its last answer.
        if self.is_answered && self.turn.is_open() {
            self.end(out);
        }
    }
}

impl KimiStreamReader {
    /// Starts the session with the first line.
    fn begin(&mut self, agent: &'static str, out: &mut EventSink<'_>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.log.is_printed = true;
            self.log.session.begin(agent, out);
        }
    }

    /// Emits session values of a `meta` line.
    fn session(&mut self, line: Val<'_>, told: Session<'_>, out: &mut EventSink<'_>) {
        line.note_str("role", Field::Structure);
        line.note_str("type", Field::Structure);
        self.log.session.tell(KIMI_CODE, told, out);
    }

    fn end(&mut self, out: &mut EventSink<'_>) {
        self.turn.end(Turn { stop: Some(stop(StopClass::End, None)), ..Turn::default() }, out);
    }
}

/// The agents of a session.
const KIMI_CODE: &str = "kimi-code";
const KIMI_CLI: &str = "kimi-cli";
