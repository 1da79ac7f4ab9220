//! The story of a session: turns and what was said and done in them, as people would tell it.
//!
//! Events become entries; results stand with the calls they answer, subagents below the calls that started them, what
//! was used with the turn it was used in. Nothing here knows how it will look: `terminal`, `markdown` and `html` read
//! this and nothing else.

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

/// A session as turns and entries, made by [`crate::StoryReader`] and written by [`crate::StoryForm`].
#[derive(Debug, Default)]
pub struct Story {
    /// What is known of the session; where it changed, the last word. Of several sessions the last.
    pub(crate) session: Session<'static>,
    /// The sessions of the input, in order; most have one.
    pub(crate) parts: Vec<SessionPart>,
    /// Everything that happened, by number; turns and tools say what stands where.
    pub(crate) entries: Vec<StoryEntry>,
    /// In order; the first holds what came before anyone asked for anything, and may be empty.
    pub(crate) turns: Vec<StoryTurn>,
    /// How the input is cut, so that its parts can be named.
    pub(crate) framing: Option<Framing>,
    /// The books of the run that read it.
    pub(crate) report: Report,
}

/// One session of the input.
#[derive(Debug)]
pub(crate) struct SessionPart {
    pub(crate) session: Session<'static>,
    /// Its entries.
    pub(crate) entries: std::ops::Range<usize>,
    /// Its first turn.
    pub(crate) turn: usize,
}

/// What one prompt led to.
#[derive(Debug, Default)]
pub(crate) struct StoryTurn {
    /// Entries that are not below a call.
    pub(crate) entries: Vec<usize>,
    /// What all model responses in it used.
    pub(crate) usage: Usage,
    /// What they cost in US dollars, where that was said.
    pub(crate) cost: Option<f64>,
    /// How hard the model was to think, in the agent's own word.
    pub(crate) effort: Option<Str<'static>>,
    /// How many there were, as far as they told what they used.
    pub(crate) responses: u64,
}

/// One thing that was said or happened.
#[derive(Debug)]
pub(crate) struct StoryEntry {
    pub(crate) body: EntryBody,
    /// When, as far as the source tells.
    pub(crate) time: Option<Moment>,
    /// The model that said it.
    pub(crate) model: Option<Str<'static>>,
    /// The subagent that says it.
    pub(crate) agent: Option<Str<'static>>,
    /// The session it was copied from, at the start of a fork.
    pub(crate) copied_from: Option<Str<'static>>,
    /// It takes the place of an earlier entry.
    pub(crate) replaces: bool,
    /// The turn it belongs to.
    pub(crate) turn: usize,
    /// The call that started the subagent it belongs to, and how many such calls there are above it.
    pub(crate) below: Option<(usize, usize)>,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum EntryBody {
    /// Someone said something.
    Said(SpokenBy, Vec<Piece>),
    /// The model thought.
    Thought(Vec<Piece>),
    /// A tool was called; what came of it.
    Tool(Box<ToolUse>),
    /// The agent's own word for something else, and what belongs to it.
    Notice(Str<'static>, Vec<Piece>),
    /// Another session began in the same file.
    Began(Str<'static>),
    /// Facts of the session changed.
    Settings(Box<Session<'static>>),
    /// Earlier parts of the conversation were replaced by less.
    Compacted {
        compaction: Box<Compaction<'static>>,
        /// The first earlier entry that still counts, if it is here.
        kept_from: Option<usize>,
    },
    /// The conversation went back.
    Rewound {
        /// The last entry that still counts, if it is here.
        to: Option<usize>,
        /// How many turns were taken back.
        turns: Option<u64>,
    },
    /// The agent asked for leave.
    Permission(Box<Permission<'static>>),
    /// The agent asked something.
    Question(Box<Question<'static>>),
    /// Something failed.
    Failed(Box<Failure<'static>>),
    /// A response ended in an unusual way.
    Stopped(Box<Stop<'static>>),
    /// The session ended.
    Ended(Box<SessionEnd<'static>>),
    /// A line of the input that cannot be read.
    Damaged(Damage),
}

/// Whose words a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpokenBy {
    /// A person.
    Person,
    /// The model.
    Assistant,
    /// The program around the model.
    Harness,
    /// A command of that program, or what it printed.
    Command,
    /// Words that stand for an earlier part of the conversation.
    Summary,
    /// Another agent, which wrote a prompt.
    Agent,
    /// The operator or the developer of the application.
    System,
    /// A tool, outside any call.
    Tool,
}

/// A piece of what was said, thought or answered.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Text.
    Text(Str<'static>),
    /// Words by which the model declines.
    Refusal(Str<'static>),
    /// A picture, document, sound or film.
    Media(Box<Media<'static>>),
    /// A JSON value.
    Json(Raw<'static>),
    /// A file that was read or changed.
    File(Box<FileRef<'static>>),
    /// Where a statement comes from.
    Citation(Box<Citation<'static>>),
    /// State that only its issuer can read.
    Opaque(Box<Opaque<'static>>),
}

/// A call of a tool with what came of it.
#[derive(Debug)]
pub(crate) struct ToolUse {
    pub(crate) name: Str<'static>,
    pub(crate) namespace: Option<Str<'static>>,
    pub(crate) kind: Option<CallKind>,
    /// Nothing where only the result is there.
    pub(crate) args: Option<ToolArgs>,
    pub(crate) results: Vec<ToolOutcome>,
    /// What a subagent said and did that this call started.
    pub(crate) children: Vec<usize>,
}

/// What a tool was called with.
#[derive(Debug)]
pub(crate) enum ToolArgs {
    /// JSON, or something that should have been.
    Json(Raw<'static>),
    /// Plain text, or JSON written as text.
    Text(Str<'static>),
}

/// What a tool answered.
#[derive(Debug, Default)]
pub(crate) struct ToolOutcome {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) is_error: Option<bool>,
    pub(crate) exit_code: Option<i64>,
    /// In milliseconds.
    pub(crate) duration: Option<u64>,
    pub(crate) status: Option<Status>,
}

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolFate {
    Done,
    Failed,
    /// There is no result.
    Unanswered,
}

/// A line that cannot be read.
#[derive(Debug)]
pub(crate) struct Damage {
    /// Its number in the input.
    pub(crate) frame: FramePlace,
    /// What is wrong with it.
    pub(crate) why: &'static str,
    /// How long it is.
    pub(crate) bytes: u64,
    /// How it begins.
    pub(crate) start: String,
}

/// A time, as the source has it: `2026-11-15 10:51:51`, with the zone behind it unless that is UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment(String);

impl Story {
    /// The entries of a turn that are worth telling; all of them if `full`.
    pub(crate) fn told<'s>(
        &'s self,
        entries: &'s [usize],
        full: bool,
    ) -> impl Iterator<Item = (usize, &'s StoryEntry)> {
        let all = entries.iter().filter_map(|&at| Some((at, self.entries.get(at)?)));
        all.filter(move |(_, entry)| full || !entry.is_bookkeeping())
    }

    /// What is not told unless everything is: each sort of event with its count, the most frequent first.
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

    /// What a turn is called.
    pub(crate) fn turn_name(&self, number: usize) -> String {
        match number {
            0 if self.turns.len() < 2 => "the session".to_owned(),
            0 => "before the first turn".to_owned(),
            _ if self.part_at(number).is_some() => "another session".to_owned(),
            _ => format!("turn {number}"),
        }
    }

    /// The session, after the first one, that begins with this turn.
    pub(crate) fn part_at(&self, turn: usize) -> Option<&SessionPart> {
        self.parts.iter().skip(1).find(|part| part.turn == turn)
    }

    /// What all turns used together.
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

/// Words in an agent's own names of events that people want to know of: what went wrong, and who stopped or allowed what.
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
    /// Whether it is of no interest to someone who wants to know what happened.
    pub(crate) fn is_bookkeeping(&self) -> bool {
        let EntryBody::Notice(kind, pieces) = &self.body else { return false };
        let kind = kind.decode().to_ascii_lowercase();
        if TELLING_NOTICES.iter().any(|word| kind.contains(word)) {
            return false;
        }
        // What an agent says in words of its own is for people.
        !pieces.iter().any(|piece| matches!(piece, Piece::Text(_) | Piece::Media(_) | Piece::File(_)))
    }

    /// Whether something went wrong here.
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
    /// Reads a time as sources write it: RFC 3339, or seconds or milliseconds since 1970.
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
        // No session was held before 1973, and none will be after the year 5000.
        let seconds = if number > 1e11 { number / 1000.0 } else { number };
        #[expect(clippy::cast_sign_loss, reason = "it is in this range")]
        (1e8..1e11).contains(&seconds).then(|| Self::of_seconds(seconds as u64))
    }

    fn of_seconds(seconds: u64) -> Self {
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // Years that begin in March have their odd day last; 400 of them have 146,097 days.
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

    /// Day, clock and zone.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The day.
    pub(crate) fn day(&self) -> &str {
        self.0.get(..10).unwrap_or_default()
    }

    /// The clock alone, for those who know the day.
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
