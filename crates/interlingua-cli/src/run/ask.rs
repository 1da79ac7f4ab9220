//! Permissions and questions of the agent: answered at the keyboard, or without a terminal by the permission mode.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, BufRead as _};

use interlingua::model::Prompt;
use interlingua_daemon::{ApiProblem, PermissionAnswer, SessionHandle};
use interlingua_report::safe::one_line;
use tokio::sync::mpsc;

use super::turn::TurnRequest;
use crate::error::CommandError;
use crate::talk::Talk;

/// The longest summary of an action, in characters.
const SUMMARY: usize = 200;

/// The lines that a person types.
#[derive(Debug)]
pub(super) struct Keyboard {
    lines: mpsc::UnboundedReceiver<Option<String>>,
}

impl Default for Keyboard {
    /// Reads stdin on a thread of its own, which ends with the command.
    fn default() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        let read = move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if sender.send(Some(line)).is_err() {
                    return;
                }
            }
            // The command may have ended meanwhile.
            let _ = sender.send(None);
        };
        // Without the thread, the closed channel is the end of the input, which rejects requests.
        let _ = std::thread::Builder::new().name("keyboard".to_owned()).spawn(read);
        Self { lines }
    }
}

/// The open requests of the agent.
#[derive(Debug)]
pub(super) struct Asking {
    keyboard: Option<Keyboard>,
    mode: PermissionMode,
    /// Whether the view shows the requests already.
    is_shown: bool,
    waiting: VecDeque<TurnRequest>,
    /// Set once the person was asked about the first request.
    is_asked: bool,
    /// The answers to the first prompts of the question.
    answers: Vec<Vec<String>>,
}

/// The requests that need no person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PermissionMode {
    Ask,
    AcceptEdits,
    Bypass,
}

impl Asking {
    pub(super) fn new(keyboard: Option<Keyboard>, mode: &str, is_shown: bool) -> Self {
        let mode = match mode {
            "bypass" => PermissionMode::Bypass,
            "acceptEdits" => PermissionMode::AcceptEdits,
            _ => PermissionMode::Ask,
        };
        let waiting = VecDeque::new();
        Self { keyboard, mode, is_shown, waiting, is_asked: false, answers: Vec::new() }
    }

    /// Adds a request, or removes a request that was resolved.
    pub(super) fn add(&mut self, request: TurnRequest) {
        let TurnRequest::Resolved(resolved) = &request else { return self.waiting.push_back(request) };
        let is_first = self.waiting.front().is_some_and(|first| first.id() == resolved);
        if is_first {
            self.is_asked = false;
            self.answers.clear();
        }
        self.waiting.retain(|waiting| waiting.id() != resolved);
    }

    /// Answers requests up to one that a person must answer, and asks the person.
    pub(super) async fn go_on(&mut self, session: &SessionHandle) -> Result<(), CommandError> {
        while !self.is_asked {
            let Some(request) = self.waiting.front() else { return Ok(()) };
            let accepts = match (request, self.mode) {
                (TurnRequest::Permission { .. }, PermissionMode::Bypass) => true,
                (TurnRequest::Permission { action, .. }, PermissionMode::AcceptEdits) => is_edit(action),
                _ => false,
            };
            match &mut self.keyboard {
                _ if accepts => self.decide(PermissionAnswer::Once, session).await?,
                None => {
                    Talk::always(&format!("{}\n", request.refusal()));
                    self.reject(session).await?;
                }
                Some(keyboard) => {
                    // Lines that were typed before the question answer nothing.
                    while let Ok(Some(_)) = keyboard.lines.try_recv() {}
                    self.is_asked = true;
                    self.ask();
                }
            }
        }
        Ok(())
    }

    /// The next line that a person types, while a request waits for it.
    pub(super) async fn line(&mut self) -> Option<String> {
        match &mut self.keyboard {
            Some(keyboard) if self.is_asked => keyboard.lines.recv().await.flatten(),
            _ => std::future::pending().await,
        }
    }

    /// Handles a line of the person; `None` is the end of the input, which rejects.
    pub(super) async fn typed(
        &mut self,
        line: Option<String>,
        session: &SessionHandle,
    ) -> Result<(), CommandError> {
        match (self.waiting.front(), line) {
            (None, _) => {}
            (Some(_), None) => {
                Talk::always("\n");
                self.reject(session).await?;
            }
            (Some(TurnRequest::Permission { .. }), Some(line)) => match decision(&line) {
                Some(answer) => self.decide(answer, session).await?,
                None => self.ask(),
            },
            (Some(TurnRequest::Question { prompts, .. }), Some(line)) => {
                let prompt = prompts.get(self.answers.len());
                match prompt.map_or(Chosen::Nothing, |prompt| Chosen::of(prompt, &line)) {
                    Chosen::Nothing => self.reject(session).await?,
                    Chosen::OutOfRange => self.ask(),
                    Chosen::Labels(labels) => {
                        let count = prompts.len();
                        self.answers.push(labels);
                        if self.answers.len() < count {
                            self.ask();
                        } else {
                            self.answer(session).await?;
                        }
                    }
                }
            }
            (Some(TurnRequest::Resolved(_)), Some(_)) => _ = self.waiting.pop_front(),
        }
        self.go_on(session).await
    }

    /// Prints the question to the person.
    fn ask(&self) {
        match self.waiting.front() {
            Some(request @ TurnRequest::Permission { .. }) => {
                let action = if self.is_shown { String::new() } else { format!("{}  ", request.summary()) };
                Talk::always(&format!("  {action}allow? y, always or n (n REASON): "));
            }
            Some(TurnRequest::Question { prompts, .. }) => {
                let Some(prompt) = prompts.get(self.answers.len()) else { return };
                let mut text = format!("  {}\n", one_line(&prompt.text.decode()));
                for (number, (label, about)) in prompt.options.iter().enumerate() {
                    let about =
                        about.as_ref().map(|about| format!(": {}", about.decode())).unwrap_or_default();
                    let option = one_line(&format!("{}{about}", label.decode()));
                    // A string takes every text.
                    let _ = writeln!(text, "    {}  {option}", number + 1);
                }
                let several = if prompt.multiple { "numbers with commas" } else { "a number" };
                Talk::always(&format!("{text}  {several} or a text (empty: no answer): "));
            }
            Some(TurnRequest::Resolved(_)) | None => {}
        }
    }

    async fn decide(
        &mut self,
        answer: PermissionAnswer,
        session: &SessionHandle,
    ) -> Result<(), CommandError> {
        let Some(request) = self.next() else { return Ok(()) };
        sent(session.decide(request.id(), answer).await)
    }

    async fn answer(&mut self, session: &SessionHandle) -> Result<(), CommandError> {
        let answers = std::mem::take(&mut self.answers);
        let Some(request) = self.next() else { return Ok(()) };
        sent(session.answer(request.id(), Some(answers)).await)
    }

    async fn reject(&mut self, session: &SessionHandle) -> Result<(), CommandError> {
        match self.next() {
            Some(TurnRequest::Permission { id, .. }) => {
                sent(session.decide(&id, PermissionAnswer::Reject(None)).await)
            }
            Some(TurnRequest::Question { id, .. }) => sent(session.answer(&id, None).await),
            Some(TurnRequest::Resolved(_)) | None => Ok(()),
        }
    }

    /// Takes the first request.
    fn next(&mut self) -> Option<TurnRequest> {
        self.is_asked = false;
        self.answers.clear();
        self.waiting.pop_front()
    }
}

impl TurnRequest {
    fn id(&self) -> &str {
        match self {
            TurnRequest::Permission { id, .. }
            | TurnRequest::Question { id, .. }
            | TurnRequest::Resolved(id) => id,
        }
    }

    fn summary(&self) -> String {
        let text = match self {
            TurnRequest::Permission { action, input, .. } => {
                format!("{action} {}", input.as_deref().unwrap_or_default())
            }
            TurnRequest::Question { prompts, .. } => {
                let texts: Vec<_> = prompts.iter().map(|prompt| prompt.text.decode().into_owned()).collect();
                texts.join(" ")
            }
            TurnRequest::Resolved(id) => id.clone(),
        };
        one_line(text.trim()).chars().take(SUMMARY).collect()
    }

    /// The sentence about a request that nobody can answer.
    fn refusal(&self) -> String {
        let summary = self.summary();
        match self {
            TurnRequest::Permission { .. } => format!(
                "permission rejected, because stdin is not a terminal (`--permission-mode bypass` allows it): {summary}"
            ),
            TurnRequest::Question { .. } | TurnRequest::Resolved(_) => {
                format!("question declined, because stdin is not a terminal: {summary}")
            }
        }
    }
}

/// The chosen answers to a prompt.
#[derive(Debug, PartialEq, Eq)]
enum Chosen {
    Labels(Vec<String>),
    Nothing,
    /// A number that no option has.
    OutOfRange,
}

impl Chosen {
    /// Reads numbers of options, or else a text.
    fn of(prompt: &Prompt<'_>, line: &str) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Chosen::Nothing;
        }
        let pieces: Vec<&str> =
            if prompt.multiple { line.split(',').map(str::trim).collect() } else { vec![line] };
        let numbers: Result<Vec<usize>, _> = pieces.iter().map(|piece| piece.parse::<usize>()).collect();
        let Ok(numbers) = numbers else { return Chosen::Labels(vec![line.to_owned()]) };
        if prompt.options.is_empty() {
            return Chosen::Labels(vec![line.to_owned()]);
        }
        let label = |number: usize| {
            let (label, _) = prompt.options.get(number.checked_sub(1)?)?;
            Some(label.decode().into_owned())
        };
        let labels: Option<Vec<String>> = numbers.into_iter().map(label).collect();
        labels.map_or(Chosen::OutOfRange, Chosen::Labels)
    }
}

/// The decision of a line; `None` if the line is no decision.
fn decision(line: &str) -> Option<PermissionAnswer> {
    let (word, reason) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    match (word.to_ascii_lowercase().as_str(), reason) {
        ("y" | "yes", None) => Some(PermissionAnswer::Once),
        ("a" | "always", None) => Some(PermissionAnswer::Always),
        ("n" | "no", reason) => Some(PermissionAnswer::Reject(reason)),
        _ => None,
    }
}

/// Whether an action changes a file and does nothing else.
fn is_edit(action: &str) -> bool {
    let action = action.to_ascii_lowercase();
    ["edit", "write", "patch", "filechange", "file_change"].iter().any(|word| action.contains(word))
}

/// A request that was resolved meanwhile needs no answer.
fn sent(result: Result<(), ApiProblem>) -> Result<(), CommandError> {
    match result {
        Err(problem) if !matches!(problem.kind, "already_resolved" | "not_found") => {
            Err(CommandError::Agent(problem))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use interlingua::json::Str;

    use super::*;

    #[test]
    fn a_typed_line_is_a_decision_or_asked_again() {
        assert_eq!(decision(" Y "), Some(PermissionAnswer::Once));
        assert_eq!(decision("always"), Some(PermissionAnswer::Always));
        assert_eq!(decision("n"), Some(PermissionAnswer::Reject(None)));
        assert_eq!(decision("no use git"), Some(PermissionAnswer::Reject(Some("use git".to_owned()))));
        for line in ["", "yes please", "maybe", "yno", "always no"] {
            assert_eq!(decision(line), None, "{line}");
        }
    }

    #[test]
    fn a_number_chooses_an_option_and_a_text_is_an_answer_of_its_own() {
        let options = ["Blue", "Green"].map(|label| (Str::from_plain(label), None)).into();
        let mut prompt = Prompt { text: Str::from_plain("Which?"), options, multiple: false };
        let labels = |labels: &[&str]| Chosen::Labels(labels.iter().map(|&label| label.to_owned()).collect());
        assert_eq!(Chosen::of(&prompt, "2"), labels(&["Green"]));
        assert_eq!(Chosen::of(&prompt, "mauve, 7"), labels(&["mauve, 7"]));
        assert_eq!(Chosen::of(&prompt, " "), Chosen::Nothing);
        for wrong in ["0", "3", "99999999"] {
            assert_eq!(Chosen::of(&prompt, wrong), Chosen::OutOfRange, "{wrong}");
        }
        prompt.multiple = true;
        assert_eq!(Chosen::of(&prompt, "2, 1"), labels(&["Green", "Blue"]));
        assert_eq!(Chosen::of(&prompt, "1,3"), Chosen::OutOfRange);
    }
}
