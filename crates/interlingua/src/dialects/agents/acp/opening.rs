//! The facts of the session: from the response to `initialize`, the request and the response that open the session, and
//! later changes.

use crate::model::{Event, Field, Session};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};

/// The facts of the session emitted so far.
#[derive(Default)]
pub(super) struct SessionFacts {
    known: Session<'static>,
    has_begun: bool,
}

impl SessionFacts {
    /// Reads the session's id of a line. A line may come before the response that opens the session.
    pub(super) fn of_line(&mut self, params: Val<'_>, out: &mut EventSink<'_>) {
        let Some(id) = params.get("sessionId").filter(|id| id.str().is_some()) else { return };
        let id = id.note_text(Field::SessionId);
        if self.known.id != id {
            self.tell(Session { id, ..Session::default() }, out);
        }
    }

    /// Reads the response to `initialize`, which names the agent.
    pub(super) fn initialized(&mut self, result: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let known = |name, field| {
            let text = result.get("agentInfo")?.get(name).filter(|text| !text.is(""));
            text.and_then(|text| text.note_text(field))
        };
        let agent = known("name", Field::SessionAgent);
        let cli_version = known("version", Field::SessionVersion);
        self.tell(Session { cli_version, agent, ..Session::default() }, out)
    }

    /// Reads the request that opens the session. The id of a new session is in the response.
    pub(super) fn asked(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let id = params.note_str("sessionId", Field::SessionId);
        let cwd = params.note_str("cwd", Field::SessionCwd);
        self.tell(Session { id, cwd, ..Session::default() }, out)
    }

    /// Reads the response that opens the session.
    pub(super) fn opened(&mut self, result: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let current = |list: &str, member, field| result.get(list)?.note_str(member, field);
        let options = OptionValues::of(result.get("configOptions"));
        let told = Session {
            id: result.note_str("sessionId", Field::SessionId),
            model: current("models", "currentModelId", Field::SessionModel)
                .or_else(|| options.model.and_then(|value| value.note_text(Field::SessionModel))),
            permission_mode: current("modes", "currentModeId", Field::PermissionMode)
                .or_else(|| options.mode.and_then(|value| value.note_text(Field::PermissionMode))),
            effort: options.effort.and_then(|value| value.note_text(Field::SessionEffort)),
            ..Session::default()
        };
        self.tell(told, out)
    }

    /// Reads a change of the mode.
    pub(super) fn mode_changed(&mut self, update: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let permission_mode = update.note_str("currentModeId", Field::PermissionMode);
        self.tell(Session { permission_mode, ..Session::default() }, out)
    }

    /// Reads a change of the options.
    pub(super) fn options_changed(&mut self, update: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let OptionValues { model, mode, effort } = OptionValues::of(update.get("configOptions"));
        let told = Session {
            model: model.and_then(|value| value.note_text(Field::SessionModel)),
            permission_mode: mode.and_then(|value| value.note_text(Field::PermissionMode)),
            effort: effort.and_then(|value| value.note_text(Field::SessionEffort)),
            ..Session::default()
        };
        self.tell(told, out)
    }

    /// Reads a change of the title.
    pub(super) fn title_changed(&mut self, update: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let title = update.note_str("title", Field::SessionTitle);
        self.tell(Session { title, ..Session::default() }, out)
    }

    /// Reads the client's request for a mode.
    pub(super) fn set_mode(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        if !self.has_begun {
            return false;
        }
        let permission_mode = params.note_str("modeId", Field::PermissionMode);
        self.tell(Session { permission_mode, ..Session::default() }, out)
    }

    /// Reads the client's request for a model or for the value of an option.
    pub(super) fn set_option(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        if !self.has_begun {
            return false;
        }
        let told = match params.str_or_empty("configId") {
            "mode" => Session {
                permission_mode: params.note_str("value", Field::PermissionMode),
                ..Session::default()
            },
            "effort" | "thinking" | "thought_level" => {
                Session { effort: params.note_str("value", Field::SessionEffort), ..Session::default() }
            }
            "model" => Session { model: params.note_str("value", Field::SessionModel), ..Session::default() },
            _ => Session { model: params.note_str("modelId", Field::SessionModel), ..Session::default() },
        };
        self.tell(told, out)
    }

    /// Emits the new facts; the first facts, and the id of another session, start a session. Returns whether there were
    /// new facts.
    fn tell(&mut self, told: Session<'_>, out: &mut EventSink<'_>) -> bool {
        if told.is_old_news(&self.known) {
            return false;
        }
        let is_other = told.id.is_some() && self.known.id.is_some() && told.id != self.known.id;
        if is_other {
            self.known = Session::default();
        }
        let news = told.news_to(&self.known);
        self.known.update(news.clone().into_owned());
        if std::mem::replace(&mut self.has_begun, true) && !is_other {
            out.event(&Event::SessionUpdated(news));
        } else {
            out.event(&Event::SessionStarted(news));
        }
        true
    }
}

/// The values of the options that are facts of the session.
#[derive(Default)]
pub(super) struct OptionValues<'t> {
    pub(super) model: Option<Val<'t>>,
    pub(super) mode: Option<Val<'t>>,
    pub(super) effort: Option<Val<'t>>,
}

impl<'t> OptionValues<'t> {
    /// Finds the values by the category of their option.
    pub(super) fn of(options: Option<Val<'t>>) -> Self {
        let options = options.filter(|options| options.kind() == Kind::Array);
        let mut found = Self::default();
        for option in options.into_iter().flat_map(|options| options.elements()) {
            let value = option.get("currentValue").filter(|value| value.str().is_some());
            match option.str_or_empty("category") {
                "model" => found.model = found.model.or(value),
                "mode" => found.mode = found.mode.or(value),
                "thought_level" => found.effort = found.effort.or(value),
                // Other options are the agent's own.
                _ => {}
            }
        }
        found
    }
}
