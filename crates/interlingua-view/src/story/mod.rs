//! The story of a session: its turns and their entries, in a readable structure.
//!
//! Events become entries. Results are attached to their calls, subagents to the calls that started them, and usage to
//! its turn. The story is independent of its presentation: `terminal`, `markdown` and `html` read only the story.

mod build;
mod tools;

use std::collections::BTreeMap;

use interlingua::framing::{FramePlace, Framing};
use interlingua::json::{Raw, Str};
use interlingua::ledger::Report;
use interlingua::model::{
    Author, CallKind, Citation, Compaction, Failure, FileRef, Media, Opaque, Origin, Permission, Question,
    Session, SessionEnd, Status, Stop, Usage,
};

pub(crate) use build::StoryWriter;
pub(crate) use tools::{ChangedFile, LineFate, changes, gist, gist_of};

/// A session as a readable structure.
#[derive(Debug, Default)]
pub struct Story {
    /// The facts of the session, with the latest values; for several sessions, those of the last.
    pub(crate) session: Session<'static>,
    /// The sessions of the input, in order; most inputs have one.
    pub(crate) parts: Vec<SessionPart>,
    /// All entries; turns and tool uses refer to them by index.
    pub(crate) entries: Vec<StoryEntry>,
    /// Turns in order; the first holds the entries before the first prompt and may be empty.
    pub(crate) turns: Vec<StoryTurn>,
    /// The frames that entries were read from, in order: the number of the frame, and the entry.
    pub(crate) places: Vec<(u64, usize)>,
    /// The framing of the input, to name the positions of frames.
    pub(crate) framing: Option<Framing>,
    /// The report of the run that read the input.
    pub(crate) report: Report,
}

impl Story {
    /// Whether an entry was read from the frame with this number, or from a later one.
    pub fn has_place(&self, frame: u64) -> bool {
        self.entry_at(frame).is_some()
    }

    /// The first entry of a frame, or of the next frame that has one; for an entry of a subagent, the call that started the
    /// subagent.
    pub(crate) fn entry_at(&self, frame: u64) -> Option<usize> {
        let exact = self.places.iter().find(|(number, _)| *number == frame);
        let (_, mut entry) = *exact.or_else(|| self.places.iter().find(|(number, _)| *number > frame))?;
        while let Some((call, _)) = self.entries.get(entry)?.below {
            entry = call;
        }
        Some(entry)
    }
}

/// One session of the input.
#[derive(Debug)]
pub(crate) struct SessionPart {
    pub(crate) session: Session<'static>,
    /// The entries of the session.
    pub(crate) entries: std::ops::Range<usize>,
    /// The first turn of the session.
    pub(crate) turn: usize,
}

/// A prompt and all entries that follow from it.
#[derive(Debug, Default)]
pub(crate) struct StoryTurn {
    /// Entries that are not below a call.
    pub(crate) entries: Vec<usize>,
    /// The usage of all model responses in the turn.
    pub(crate) usage: Usage,
    /// Their cost in US dollars, if the source gives it.
    pub(crate) cost: Option<f64>,
    /// The reasoning effort, in the agent's own word.
    pub(crate) effort: Option<Str<'static>>,
    /// The number of responses with usage.
    pub(crate) responses: u64,
}

/// One message, tool use or event.
#[derive(Debug)]
pub(crate) struct StoryEntry {
    pub(crate) body: EntryBody,
    /// The time, if the source gives it.
    pub(crate) time: Option<Moment>,
    /// The model that wrote the message.
    pub(crate) model: Option<Str<'static>>,
    /// The subagent that the entry belongs to.
    pub(crate) agent: Option<Str<'static>>,
    /// The session the entry was copied from, at the start of a fork.
    pub(crate) copied_from: Option<Str<'static>>,
    /// The entry replaces an earlier entry.
    pub(crate) replaces: bool,
    /// The turn of the entry.
    pub(crate) turn: usize,
    /// The call that started the entry's subagent, and its nesting depth.
    pub(crate) below: Option<(usize, usize)>,
}

/// The content of an entry.
#[derive(Debug)]
pub(crate) enum EntryBody {
    /// A message.
    Said(SpokenBy, Vec<Piece>),
    /// Reasoning of the model.
    Thought(Vec<Piece>),
    /// A tool call and its results.
    Tool(Box<ToolUse>),
    /// Any other event, with the agent's own name for it and its content.
    Notice(Str<'static>, Vec<Piece>),
    /// Another session started in the same file.
    Began(Str<'static>),
    /// Facts of the session changed.
    Settings(Box<Session<'static>>),
    /// Earlier parts of the conversation were replaced by a summary.
    Compacted {
        compaction: Box<Compaction<'static>>,
        /// The first earlier entry that is still in effect, if it is in the input.
        kept_from: Option<usize>,
    },
    /// The conversation was rewound.
    Rewound {
        /// The last entry that is still in effect, if it is in the input.
        to: Option<usize>,
        /// How many turns were rewound.
        turns: Option<u64>,
    },
    /// The agent asked for permission.
    Permission(Box<Permission<'static>>),
    /// The agent asked the user a question.
    Question(Box<Question<'static>>),
    /// An error.
    Failed(Box<Failure<'static>>),
    /// A response ended with an unusual stop reason.
    Stopped(Box<Stop<'static>>),
    /// The session ended.
    Ended(Box<SessionEnd<'static>>),
    /// A line of the input that could not be parsed.
    Damaged(Damage),
}

/// The source of the words in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpokenBy {
    /// A person.
    Person,
    /// The model.
    Assistant,
    /// The program around the model.
    Harness,
    /// A command of the harness, or its output.
    Command,
    /// A summary of an earlier part of the conversation.
    Summary,
    /// Another agent, in a prompt.
    Agent,
    /// The operator or the developer of the application.
    System,
    /// A tool, outside any call.
    Tool,
}

/// A piece of a message, of reasoning or of a result.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Text.
    Text(Str<'static>),
    /// A refusal by the model.
    Refusal(Str<'static>),
    /// A picture, document, sound or video.
    Media(Box<Media<'static>>),
    /// A JSON value.
    Json(Raw<'static>),
    /// A file that was read or changed.
    File(Box<FileRef<'static>>),
    /// The source of a statement.
    Citation(Box<Citation<'static>>),
    /// Encrypted state that only its issuer can read.
    Opaque(Box<Opaque<'static>>),
}

/// A tool call with its results.
#[derive(Debug)]
pub(crate) struct ToolUse {
    pub(crate) name: Str<'static>,
    pub(crate) namespace: Option<Str<'static>>,
    pub(crate) kind: Option<CallKind>,
    /// `None` if only the result is in the input.
    pub(crate) args: Option<ToolArgs>,
    pub(crate) results: Vec<ToolOutcome>,
    /// Entries of the subagent that this call started.
    pub(crate) children: Vec<usize>,
}

/// The arguments of a tool call.
#[derive(Debug)]
pub(crate) enum ToolArgs {
    /// JSON, or text that is invalid JSON.
    Json(Raw<'static>),
    /// Plain text, or JSON written as text.
    Text(Str<'static>),
}

/// The result of a tool call.
#[derive(Debug, Default)]
pub(crate) struct ToolOutcome {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) is_error: Option<bool>,
    pub(crate) exit_code: Option<i64>,
    /// The duration in milliseconds.
    pub(crate) duration: Option<u64>,
    pub(crate) status: Option<Status>,
}

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolFate {
    Done,
    Failed,
    /// The call has no result.
    Unanswered,
}

/// A line that could not be parsed.
#[derive(Debug)]
pub(crate) struct Damage {
    /// Its position in the input.
    pub(crate) frame: FramePlace,
    /// The reason.
    pub(crate) why: &'static str,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// The beginning of the line.
    pub(crate) start: String,
}

/// A time as the source has it: `2026-11-15 10:51:51`, followed by the zone unless it is UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment(String);

impl Story {
    /// The entries of a turn without bookkeeping; all entries if `full`.
    pub(crate) fn told<'s>(
        &'s self,
        entries: &'s [usize],
        full: bool,
    ) -> impl Iterator<Item = (usize, &'s StoryEntry)> {
        let all = entries.iter().filter_map(|&at| Some((at, self.entries.get(at)?)));
        all.filter(move |(_, entry)| full || !entry.is_bookkeeping())
    }

    /// The bookkeeping entries that are hidden by default: each kind with its count, most frequent first.
    pub(crate) fn bookkeeping(&self) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.is_bookkeeping()) {
            if let EntryBody::Notice(kind, _) = &entry.body {
                *counts.entry(kind.decode().into_owned()).or_default() += 1;
            }
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// The name of a turn.
    pub(crate) fn turn_name(&self, number: usize) -> String {
        match number {
            0 if self.turns.len() < 2 => "the session".to_owned(),
            0 => "before the first turn".to_owned(),
            _ if self.part_at(number).is_some() => "another session".to_owned(),
            _ => format!("turn {number}"),
        }
    }

    /// The session, after the first, that begins with this turn.
    pub(crate) fn part_at(&self, turn: usize) -> Option<&SessionPart> {
        self.parts.iter().skip(1).find(|part| part.turn == turn)
    }

    /// The usage of all turns together.
    pub(crate) fn usage(&self) -> Usage {
        self.turns.iter().fold(Usage::default(), |sum, turn| sum.and(&turn.usage))
    }

    /// When a turn began.
    pub(crate) fn start<'s>(&'s self, turn: &'s StoryTurn) -> Option<&'s Moment> {
        turn.entries.iter().find_map(|&at| self.entries.get(at)?.time.as_ref())
    }

    /// The first and the last time in these entries.
    pub(crate) fn span(&self, entries: &std::ops::Range<usize>) -> Option<(&Moment, &Moment)> {
        let entries = self.entries.get(entries.clone()).unwrap_or_default();
        let mut times = entries.iter().filter_map(|entry| entry.time.as_ref());
        let first = times.next()?;
        Some((first, times.next_back().unwrap_or(first)))
    }
}

/// The event in a record in place of removed content.
pub(crate) const REDACTED: &str = "redacted";

/// Words in agents' event names that are of interest to people: errors, interruptions and permissions.
const TELLING_NOTICES: [&str; 14] = [
    "abort",
    "interrupt",
    "cancel",
    "error",
    "fail",
    "warning",
    "hook",
    "denied",
    "permission",
    "approval",
    "compact",
    "rewind",
    "rollback",
    "undo",
];

impl StoryEntry {
    /// Whether the entry is bookkeeping, which is hidden by default.
    pub(crate) fn is_bookkeeping(&self) -> bool {
        let EntryBody::Notice(kind, pieces) = &self.body else { return false };
        let kind = kind.decode().to_ascii_lowercase();
        if kind == REDACTED || TELLING_NOTICES.iter().any(|word| kind.contains(word)) {
            return false;
        }
        // A notice with text, media or files is meant for people.
        !pieces.iter().any(|piece| matches!(piece, Piece::Text(_) | Piece::Media(_) | Piece::File(_)))
    }

    /// Whether the entry is a failure.
    pub(crate) fn is_failure(&self) -> bool {
        match &self.body {
            EntryBody::Tool(tool) => tool.fate() == ToolFate::Failed,
            EntryBody::Failed(_) | EntryBody::Damaged(_) => true,
            EntryBody::Ended(end) => end.status == Status::Failed,
            EntryBody::Said(..)
            | EntryBody::Thought(_)
            | EntryBody::Notice(..)
            | EntryBody::Began(_)
            | EntryBody::Settings(_)
            | EntryBody::Compacted { .. }
            | EntryBody::Rewound { .. }
            | EntryBody::Permission(_)
            | EntryBody::Question(_)
            | EntryBody::Stopped(_) => false,
        }
    }
}

impl SpokenBy {
    pub(crate) const fn of(author: Author, origin: Option<Origin>) -> Self {
        match (origin, author) {
            (Some(Origin::Harness), _) => SpokenBy::Harness,
            (Some(Origin::Command), _) => SpokenBy::Command,
            (Some(Origin::Summary), _) => SpokenBy::Summary,
            (Some(Origin::Agent), Author::User) => SpokenBy::Agent,
            (_, Author::User) => SpokenBy::Person,
            (_, Author::Assistant) => SpokenBy::Assistant,
            (_, Author::System | Author::Developer) => SpokenBy::System,
            (_, Author::Tool) => SpokenBy::Tool,
        }
    }
}

impl ToolUse {
    pub(crate) fn fate(&self) -> ToolFate {
        if self.results.is_empty() {
            ToolFate::Unanswered
        } else if self.results.iter().any(ToolOutcome::is_failure) {
            ToolFate::Failed
        } else {
            ToolFate::Done
        }
    }

    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.results.iter().rev().find_map(|result| result.exit_code)
    }

    pub(crate) fn duration(&self) -> Option<u64> {
        self.results.iter().rev().find_map(|result| result.duration)
    }

    pub(crate) fn output(&self) -> impl Iterator<Item = &Piece> {
        self.results.iter().flat_map(|result| &result.pieces)
    }
}

impl ToolOutcome {
    fn is_failure(&self) -> bool {
        self.is_error == Some(true)
            || self.exit_code.is_some_and(|code| code != 0)
            || matches!(self.status, Some(Status::Failed))
    }
}

impl Moment {
    /// Parses a time as sources write it: RFC 3339, or seconds or milliseconds since 1970.
    pub(crate) fn of(time: &Raw<'_>) -> Option<Self> {
        if let Some(text) = time.text() {
            let text = text.decode();
            if !interlingua::json::is_rfc3339(text.as_bytes()) {
                return None;
            }
            let (day, rest) = text.split_at_checked(10)?;
            let (clock, rest) = rest.get(1..)?.split_at_checked(8)?;
            let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
            let zone = if matches!(zone, "Z" | "z" | "+00:00") { String::new() } else { format!(" {zone}") };
            return Some(Self(format!("{day} {clock}{zone}")));
        }
        let number: f64 = time.as_str().parse().ok()?;
        // Valid times are between 1973 and the year 5000, which distinguishes seconds from milliseconds.
        let seconds = if number > 1e11 { number / 1000.0 } else { number };
        #[expect(clippy::cast_sign_loss, reason = "it is in this range")]
        (1e8..1e11).contains(&seconds).then(|| Self::of_seconds(seconds as u64))
    }

    fn of_seconds(seconds: u64) -> Self {
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // With years that begin in March the leap day is the last day; 400 years have 146,097 days.
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
        let year = era * 400 + year + u64::from(month <= 2);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Self(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"))
    }

    /// Date, time and zone.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The date.
    pub(crate) fn day(&self) -> &str {
        self.0.get(..10).unwrap_or_default()
    }

    /// The time of day.
    pub(crate) fn clock(&self) -> &str {
        self.0.get(11..19).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_sources_write_them() {
        let shown = |json: &str| Moment::of(&Raw::new(json)).map(|moment| moment.0);
        assert_eq!(shown(r#""2026-11-15T10:51:51.191Z""#).as_deref(), Some("2026-11-15 10:51:51"));
        assert_eq!(shown(r#""2026-11-15T10:51:51+02:00""#).as_deref(), Some("2026-11-15 10:51:51 +02:00"));
        assert_eq!(shown("1740787199").as_deref(), Some("2025-02-28 23:59:59"));
        assert_eq!(shown("1709164800000").as_deref(), Some("2024-02-29 00:00:00"));
        assert_eq!(shown("946684800.5").as_deref(), Some("2000-01-01 00:00:00"));
        assert_eq!(shown(r#""yesterday""#), None);
        assert_eq!(shown("-1"), None);
        assert_eq!(shown("1e300"), None);
    }
}
