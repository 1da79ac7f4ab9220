//! Dialogs of Pi's extensions in RPC mode: a request of the agent is a question.

use crate::json::Str;
use crate::model::{Event, Field, Prompt, Question};
use crate::pipe::{EventSink, Remembered};
use crate::tape::Val;

/// Open dialogs.
#[derive(Default)]
pub(super) struct Questions(Remembered<()>);

/// Whether the agent waits for the answer to a request of this method.
pub(super) fn is_dialog(method: &str) -> bool {
    matches!(method, "select" | "confirm" | "input" | "editor")
}

/// Whether a request of this method only shows a value.
pub(super) fn is_shown(method: &str) -> bool {
    matches!(method, "notify" | "setStatus" | "setWidget" | "setTitle" | "set_editor_text")
}

/// The answers to a confirmation.
pub(super) const CONFIRMED: [&str; 2] = ["Yes", "No"];

impl Questions {
    /// Reads a request. Returns whether the request is a question.
    pub(super) fn request(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let method = line.str_or_empty("method");
        if !is_dialog(method) || !line.has_str("id") || !line.has_str("title") {
            return false;
        }
        line.note_str("type", Field::Structure);
        let id = line.note_str("id", Field::QuestionId).unwrap_or_default();
        let options = line.get("options").into_iter().flat_map(|options| options.elements());
        let mut options: Vec<_> =
            options.filter_map(|option| Some((option.note_text(Field::QuestionOption)?, None))).collect();
        line.note_str("method", Field::Structure);
        if method == "confirm" {
            // The text is the explanation of the title.
            let about = line.note_str("message", Field::QuestionOptionAbout);
            let [yes, no] = CONFIRMED.map(Str::escaped);
            options = vec![(yes, about), (no, None)];
        }
        // A request that was displaced from the bounded memory gets no resolved event.
        let _ = self.0.insert(id.as_escaped(), ());
        let text = line.note_str("title", Field::QuestionText).unwrap_or_default();
        let prompts = vec![Prompt { text, options, multiple: false }];
        out.event(&Event::QuestionRequested(Question {
            id,
            call_id: None,
            prompts,
            answers: None,
            declined: false,
        }));
        true
    }

    /// Reads the client's answer. Returns whether it resolves an open request.
    pub(super) fn response(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        if self.0.remove(line.str_or_empty("id")).is_none() {
            return false;
        }
        line.note_str("type", Field::Structure);
        let id = line.note_str("id", Field::QuestionId).unwrap_or_default();
        let confirmed = line.get("confirmed").and_then(|confirmed| {
            let answer = confirmed.bool()?;
            confirmed.note(Field::QuestionAnswer);
            Some(Str::escaped(CONFIRMED[usize::from(!answer)]))
        });
        let answer = line.note_str("value", Field::QuestionAnswer).or(confirmed);
        if let Some(cancelled) = line.get("cancelled").filter(|cancelled| cancelled.bool().is_some()) {
            cancelled.note(Field::QuestionDeclined);
        }
        let declined = answer.is_none();
        let answers = answer.map(|answer| vec![vec![answer]]);
        out.event(&Event::QuestionResolved(Question {
            id,
            call_id: None,
            prompts: Vec::new(),
            answers,
            declined,
        }));
        true
    }
}
