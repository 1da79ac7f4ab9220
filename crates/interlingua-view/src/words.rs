//! The wording of a story, shared by all its forms. Text from the source is returned unchanged; each form escapes it in
//! its own way.

use std::fmt::Write as _;

use interlingua::framing::Framing;
use interlingua::json::{Raw, Str};
use interlingua::model::{
    Compaction, Decision, Failure, Media, MediaSource, Opaque, Permission, Question, Session, SessionEnd,
    Usage,
};
use interlingua_report::render::{number, plural};

use crate::Look;
use crate::story::{
    Damage, EntryBody, Piece, REDACTED, SessionPart, SpokenBy, Story, StoryEntry, StoryTurn, ToolFate,
    ToolUse, gist_of,
};

/// An event, on a line of its own.
#[derive(Debug)]
pub(crate) struct Happening {
    pub(crate) tone: Tone,
    /// The name of the event, in our words.
    pub(crate) label: String,
    /// Details from the source; unescaped content.
    pub(crate) text: String,
}

/// The tone of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Information.
    Aside,
    /// A break in the conversation.
    Break,
    /// A question or a decision.
    Asked,
    /// A failure.
    Bad,
}

/// The line for an entry that is an event; `None` for messages, reasoning and tool uses.
pub(crate) fn happening(story: &Story, entry: &StoryEntry) -> Option<Happening> {
    let line = |tone, label: &str, text: String| Some(Happening { tone, label: label.to_owned(), text });
    match &entry.body {
        EntryBody::Said(..) | EntryBody::Thought(_) | EntryBody::Tool(_) => None,
        EntryBody::Notice(kind, pieces) => {
            let text: Vec<String> = pieces.iter().map(brief).collect();
            // `kind` is the agent's own word.
            let kind = kind.decode();
            if kind == REDACTED {
                return line(Tone::Break, REDACTED, "content was removed here".to_owned());
            }
            line(
                Tone::Aside,
                "note",
                if text.is_empty() { kind.into() } else { format!("{kind}: {}", text.join(" ")) },
            )
        }
        EntryBody::Began(id) => line(Tone::Break, "another session", id.decode().into_owned()),
        EntryBody::Settings(session) => line(Tone::Aside, "now", settings(session)),
        EntryBody::Compacted { compaction, kept_from } => {
            let Compaction { trigger, before, after, summary, history, kept_from: _ } = &**compaction;
            let mut facts: Vec<String> =
                trigger.iter().map(|trigger| trigger.decode().into_owned()).collect();
            facts.extend(match (before, after) {
                (Some(before), Some(after)) => {
                    Some(format!("{} to {} tokens", number(*before), number(*after)))
                }
                (Some(before), None) => Some(format!("from {} tokens", number(*before))),
                (None, Some(after)) => Some(format!("to {} tokens", number(*after))),
                (None, None) => None,
            });
            facts.extend(kept_from.map(|at| format!("kept from entry {} on", at + 1)));
            facts.extend(
                history
                    .as_ref()
                    .map(|history| format!("a history of {}", size(history.as_str().len() as u64))),
            );
            let mut text = facts.join(", ");
            if let Some(summary) = summary {
                let _ = write!(text, "{}{}", if text.is_empty() { "" } else { ": " }, summary.decode());
            }
            line(Tone::Break, "compacted", text)
        }
        EntryBody::Rewound { to, turns } => {
            let text = match (to, turns) {
                (Some(to), _) => format!("to entry {}", to + 1),
                (None, Some(turns)) => plural(*turns, "turn"),
                (None, None) => "to an entry that is not here".to_owned(),
            };
            line(Tone::Break, "went back", text)
        }
        EntryBody::Permission(permission) => {
            let Permission { id: _, action, call_id: _, input, answer, by } = &**permission;
            let (label, why) = match answer {
                Some(Decision::Accept) => ("allowed", None),
                Some(Decision::AcceptForSession) => ("allowed for the session", None),
                Some(Decision::Reject(why)) => ("denied", why.as_ref()),
                None => ("asked for leave", None),
            };
            let mut text = action.decode().into_owned();
            if let Some(input) = input {
                let _ = write!(text, " {}", gist_of(input.as_str()));
            }
            if let Some(why) = why {
                let _ = write!(text, ": {}", why.decode());
            }
            if let Some(by) = by {
                let _ = write!(text, " (by {})", by.decode());
            }
            line(if label == "denied" { Tone::Bad } else { Tone::Asked }, label, text)
        }
        EntryBody::Question(question) => {
            let Question { id: _, call_id: _, prompts, answers, declined } = &**question;
            let mut text = String::new();
            for (at, prompt) in prompts.iter().enumerate() {
                let chosen = answers.as_ref().and_then(|answers| answers.get(at));
                let chosen: Vec<_> = chosen.into_iter().flatten().map(Str::decode).collect();
                let options: Vec<_> = prompt.options.iter().map(|(label, _)| label.decode()).collect();
                let _ = write!(text, "{}{}", if at == 0 { "" } else { "; " }, prompt.text.decode());
                if !options.is_empty() {
                    let _ = write!(text, " [{}]", options.join(" | "));
                }
                if !chosen.is_empty() {
                    let _ = write!(text, " → {}", chosen.join(", "));
                }
            }
            line(Tone::Asked, if *declined { "asked, and was not answered" } else { "asked" }, text)
        }
        EntryBody::Failed(failure) => {
            let Failure { class, status, code, message, request_id, retry_after } = &**failure;
            let mut facts = vec![class.word().replace('_', " ")];
            facts.extend(status.map(|status| format!("status {status}")));
            facts.extend(code.as_ref().map(|code| code.decode().into_owned()));
            facts.extend(retry_after.map(|wait| format!("to try again after {}", duration(wait))));
            facts.extend(request_id.as_ref().map(|id| id.decode().into_owned()));
            line(Tone::Bad, "error", format!("{} ({})", message.decode(), facts.join(", ")))
        }
        EntryBody::Stopped(stop) => {
            let mut text = stop.class.word().replace('_', " ");
            if let Some(raw) = stop.raw.as_ref().filter(|raw| !raw.is(stop.class.word())) {
                let _ = write!(text, " ({})", raw.decode());
            }
            line(Tone::Break, "stopped", text)
        }
        EntryBody::Ended(end) => {
            let SessionEnd { status, message } = &**end;
            let mut text = status.word().to_owned();
            if let Some(message) = message {
                let _ = write!(text, ": {}", message.decode());
            }
            line(if entry.is_failure() { Tone::Bad } else { Tone::Break }, "session ended", text)
        }
        EntryBody::Damaged(Damage { frame, why, bytes, start }) => {
            let label = format!("damaged {}", frame.name(story.framing.unwrap_or(Framing::Lines)));
            line(Tone::Bad, &label, format!("{}, {}: {start}", why.replace('-', " "), size(*bytes)))
        }
    }
}

/// The name of a speaker.
pub(crate) const fn who(speaker: SpokenBy) -> &'static str {
    match speaker {
        SpokenBy::Person => "user",
        SpokenBy::Assistant => "assistant",
        SpokenBy::Harness => "harness",
        SpokenBy::Command => "command",
        SpokenBy::Summary => "summary",
        SpokenBy::Agent => "prompt of an agent",
        SpokenBy::System => "system",
        SpokenBy::Tool => "tool",
    }
}

/// The speaker of an entry; `None` for an event.
fn speaker(entry: &StoryEntry) -> Option<SpokenBy> {
    match &entry.body {
        EntryBody::Said(speaker, _) => Some(*speaker),
        EntryBody::Thought(_) | EntryBody::Tool(_) => Some(SpokenBy::Assistant),
        _ => None,
    }
}

/// The speaker of an entry with its model, agent and original session; the texts are unescaped content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpeakerLine<'s> {
    pub(crate) speaker: SpokenBy,
    pub(crate) model: Option<&'s Str<'static>>,
    pub(crate) agent: Option<&'s Str<'static>>,
    pub(crate) copied_from: Option<&'s Str<'static>>,
}

impl<'s> SpeakerLine<'s> {
    /// The speaker of an entry, unless it is the same as the speaker before.
    pub(crate) fn new_in(entry: &'s StoryEntry, before: Option<&Self>) -> Option<Self> {
        let speaker = speaker(entry)?;
        let model = entry.model.as_ref().filter(|_| speaker == SpokenBy::Assistant);
        let now =
            Self { speaker, model, agent: entry.agent.as_ref(), copied_from: entry.copied_from.as_ref() };
        let same = before.is_some_and(|before| {
            // Some entries do not name their model.
            *before == Self { model: now.model.or(before.model), ..now.clone() }
        });
        (!same).then_some(now)
    }

    /// Details to show next to the name; unescaped content.
    pub(crate) fn facts(&self, entry: &StoryEntry) -> Vec<String> {
        let mut facts = Vec::new();
        facts.extend(self.agent.map(|agent| format!("agent {}", agent.decode())));
        facts.extend(self.model.map(|model| model.decode().into_owned()));
        facts.extend(entry.time.as_ref().map(|time| time.clock().to_owned()));
        facts.extend(self.copied_from.map(|session| format!("copied from {}", session.decode())));
        if entry.replaces {
            facts.push("in place of an earlier one".to_owned());
        }
        facts
    }
}

/// A tool's name, with its namespace.
pub(crate) fn tool_name(tool: &ToolUse) -> String {
    match &tool.namespace {
        Some(namespace) => format!("{}.{}", namespace.decode(), tool.name.decode()),
        None => tool.name.decode().into_owned(),
    }
}

/// The outcome of a call, in our words.
pub(crate) fn tool_facts(tool: &ToolUse) -> Vec<String> {
    let mut facts = Vec::new();
    match (tool.fate(), tool.exit_code()) {
        (ToolFate::Unanswered, _) => facts.push("no result".to_owned()),
        (ToolFate::Failed, None) => facts.push("failed".to_owned()),
        (ToolFate::Done | ToolFate::Failed, code) => {
            facts.extend(code.filter(|code| *code != 0).map(|code| format!("exit {code}")));
        }
    }
    if tool.args.is_none() && tool.kind.is_none() {
        facts.push("no call".to_owned());
    }
    facts.extend(tool.duration().map(duration));
    facts
}

/// A symbol for the outcome of a call; the words next to it have the same meaning.
pub(crate) const fn mark(fate: ToolFate) -> &'static str {
    match fate {
        ToolFate::Done => "✓",
        ToolFate::Failed => "✗",
        ToolFate::Unanswered => "…",
    }
}

/// A short description of a piece that is not text; unescaped content.
pub(crate) fn brief(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) | Piece::Refusal(text) => text.decode().into_owned(),
        Piece::Json(json) => json.as_str().to_owned(),
        Piece::Media(media) => placeholder(media),
        Piece::File(file) => format!("{} {}", file.action.decode(), file.path.decode()),
        Piece::Citation(citation) => {
            let told = [&citation.title, &citation.source, &citation.quote].into_iter().flatten();
            format!("source: {}", told.map(Str::decode).collect::<Vec<_>>().join(", "))
        }
        Piece::Opaque(opaque) => {
            let Opaque { kind, issuer, value } = &**opaque;
            format!("{} of {}, {}", kind.word(), issuer.decode(), size(value.as_escaped().len() as u64))
        }
    }
}

/// A placeholder for a picture, document, sound or video; unescaped content.
pub(crate) fn placeholder(media: &Media<'_>) -> String {
    let sort = media.media_type.as_ref().map_or("media".into(), Str::decode);
    let mut text = format!("[{sort}");
    match &media.source {
        // Four base64 characters hold three bytes.
        MediaSource::Base64(data) => {
            let data = data.as_escaped();
            let padding = data.bytes().rev().take(2).filter(|byte| *byte == b'=').count();
            let _ = write!(text, ", {}", size((data.len() / 4 * 3).saturating_sub(padding) as u64));
        }
        MediaSource::Text(document) => {
            let _ = write!(text, ", {}", size(document.decode().len() as u64));
        }
        MediaSource::Url(place) | MediaSource::File(place) => {
            let place = place.decode();
            // A data URL may contain the bytes themselves.
            let shown = place.char_indices().nth(200).map_or(&place[..], |(end, _)| &place[..end]);
            let _ = write!(text, ", {shown}");
        }
    }
    if let Some(name) = &media.name {
        let _ = write!(text, ", {}", name.decode());
    }
    text.push(']');
    text
}

/// The facts of the session: our names, values from the source; unescaped content.
pub(crate) fn facts(story: &Story, part: &SessionPart, look: &Look<'_>) -> Vec<(&'static str, String)> {
    let (name, identity) = (look.name, look.identity);
    let text = |fact: &Option<Str<'_>>| fact.as_ref().map(|fact| fact.decode().into_owned());
    let session = &part.session;
    let agent = text(&session.agent).unwrap_or_else(|| identity.dialect.name.to_owned());
    let version = text(&session.cli_version).map(|version| format!(" {version}")).unwrap_or_default();
    let model = match (text(&session.model), text(&session.provider)) {
        (Some(model), Some(provider)) => Some(format!("{model} ({provider})")),
        (model, provider) => model.or(provider),
    };
    let branch = match (text(&session.branch), text(&session.commit)) {
        (Some(branch), Some(commit)) => Some(format!("{branch} at {}", commit.get(..12).unwrap_or(&commit))),
        (branch, commit) => branch.or(commit),
    };
    let time = story.span(&part.entries).map(|(first, last)| {
        if first.day() == last.day() {
            format!("{} to {}", first.text(), last.clock())
        } else {
            format!("{} to {}", first.text(), last.text())
        }
    });
    let facts = [
        ("agent", Some(agent + &version)),
        ("model", model),
        ("effort", text(&session.effort)),
        ("time", time),
        ("folder", text(&session.cwd)),
        ("branch", branch),
        ("repository", text(&session.repository)),
        ("session", text(&session.id)),
        ("started by", text(&session.parent)),
        ("mode", text(&session.permission_mode)),
        ("file", Some(format!("{name} ({})", identity.dialect.name))),
    ];
    let signatures = look.signatures.iter().map(|line| ("signature", Some(line.clone())));
    facts.into_iter().chain(signatures).filter_map(|(name, fact)| Some((name, fact?))).collect()
}

/// The number of sessions in the input.
pub(crate) fn sessions(story: &Story) -> String {
    plural(story.parts.len() as u64, "session")
}

/// The title of a session; unescaped content.
pub(crate) fn title(story: &Story, part: &SessionPart) -> String {
    if let Some(title) = &part.session.title {
        let title = title.decode();
        return persons_words(&title).unwrap_or(&title).trim().to_owned();
    }
    // The first prompt of the user is the best title.
    let entries = story.entries.get(part.entries.clone()).unwrap_or_default();
    let texts = |speakers: fn(&SpokenBy) -> bool| {
        let said = entries.iter().filter_map(move |entry| match &entry.body {
            EntryBody::Said(by, pieces) if speakers(by) => Some(pieces),
            _ => None,
        });
        said.flatten().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.decode()),
            _ => None,
        })
    };
    let mut asked = texts(|by| matches!(by, SpokenBy::Person | SpokenBy::Agent));
    let asked = asked.find_map(|text| persons_words(&text).map(str::to_owned));
    // A session without a prompt may start with a command.
    let asked = asked.or_else(|| texts(|_| true).find_map(|text| command(&text).map(str::to_owned)));
    let asked = asked.unwrap_or_default();
    let line = asked.lines().find(|line| !line.trim().is_empty()).unwrap_or("A session").trim();
    match line.char_indices().nth(90) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Elements in which harnesses wrap the user's words.
const OF_PERSON: [&str; 8] =
    ["userquery", "usermessage", "userrequest", "userinput", "userprompt", "query", "prompt", "task"];

/// Lines that precede the user's words, in prompts that begin with a line of the harness: those of Codex in an editor,
/// and those between its agents.
const BEFORE_WORDS: [(&str, &str); 2] =
    [("## Context from my IDE", "\n## My request for Codex:"), ("Message Type: ", "\nPayload:")];

/// The user's words in a prompt wrapped by a harness: the content of `<user_query>` and similar elements, or the text
/// after the elements or lines that the harness put first (`<environment_context>…</environment_context>`).
fn persons_words(text: &str) -> Option<&str> {
    let mut rest = text.trim();
    while let Some((name, inside, after)) = first_element(rest) {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        if OF_PERSON.contains(&plain.to_ascii_lowercase().as_str()) {
            return Some(inside.trim()).filter(|words| !words.is_empty());
        }
        rest = after.trim();
    }
    for (begin, last) in BEFORE_WORDS {
        if let (true, Some((_, words))) = (rest.starts_with(begin), rest.split_once(last)) {
            rest = words.trim();
        }
    }
    Some(rest).filter(|rest| !rest.is_empty())
}

/// The command in a prompt: `<command-name>/init</command-name>`.
fn command(text: &str) -> Option<&str> {
    let mut rest = text.trim();
    while let Some((name, inside, after)) = first_element(rest) {
        if name == "command-name" {
            return Some(inside.trim()).filter(|name| !name.is_empty());
        }
        rest = after.trim();
    }
    None
}

/// The element at the start of a text: name, content and following text.
fn first_element(text: &str) -> Option<(&str, &str, &str)> {
    let (tag, rest) = text.strip_prefix('<')?.split_once('>')?;
    let name = tag.split(' ').next()?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let (inside, after) = rest.split_once(&format!("</{name}>"))?;
    is_name.then_some((name, inside, after))
}

fn settings(session: &Session<'_>) -> String {
    #[rustfmt::skip]
    let Session {
        id: _, parent: _, parent_call: _, cwd, cli_version, model, provider, branch, commit, repository, title, start: _,
        agent, permission_mode, approval_policy, sandbox_policy, effort, leaf: _, unrecorded: _,
    } = session;
    let texts = [
        ("model", model),
        ("effort", effort),
        ("provider", provider),
        ("mode", permission_mode),
        ("title", title),
        ("folder", cwd),
        ("branch", branch),
        ("commit", commit),
        ("repository", repository),
        ("agent", agent),
        ("version", cli_version),
    ];
    let texts =
        texts.into_iter().filter_map(|(name, text)| Some(format!("{name} {}", text.as_ref()?.decode())));
    let policies = [("approval", approval_policy), ("sandbox", sandbox_policy)];
    let policies = policies.into_iter().filter_map(|(name, policy): (_, &Option<Raw<'_>>)| {
        let policy = policy.as_ref()?;
        Some(match policy.text() {
            Some(text) => format!("{name} {}", text.decode()),
            None => format!("{name} {}", policy.as_str()),
        })
    });
    texts.chain(policies).collect::<Vec<_>>().join(", ")
}

/// The usage of a turn, if it is known.
pub(crate) fn used(turn: &StoryTurn) -> Option<String> {
    let mut text = tokens(&turn.usage)?;
    if turn.responses > 1 {
        let _ = write!(text, "; {} responses", number(turn.responses));
    }
    if let Some(effort) = &turn.effort {
        let _ = write!(text, ", effort {}", effort.decode());
    }
    if let Some(cost) = turn.cost {
        let _ = write!(text, ", ${cost:.4}");
    }
    Some(text)
}

/// Token counts as a phrase.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    let some = |count: Option<u64>, word: &str| {
        count.filter(|count| *count > 0).map(|count| format!("{} {word}", number(count)))
    };
    let beside = |facts: [Option<String>; 2]| {
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
    };
    let input = usage.all_input().map(|count| {
        let cached = [some(usage.cache_read, "from cache"), some(usage.cache_write, "to cache")];
        format!("{} in{}", number(count), beside(cached))
    });
    let output = usage.output.map(|count| {
        format!("{} out{}", number(count), beside([some(usage.reasoning, "of it reasoning"), None]))
    });
    let told: Vec<String> = [input, output].into_iter().flatten().collect();
    (!told.is_empty()).then(|| format!("tokens: {}", told.join(", ")))
}

/// Entries that the story leaves out, and problems of its source.
pub(crate) fn left_out(story: &Story, full: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let counts = story.bookkeeping();
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    if all > 0 && !full {
        let mut sorts: Vec<String> =
            counts.iter().take(8).map(|(sort, count)| format!("{sort} {}", number(*count))).collect();
        if counts.len() > 8 {
            sorts.push("…".to_owned());
        }
        let are = if all == 1 { "is" } else { "are" };
        let events = plural(all, "bookkeeping event");
        lines.push(format!("{events} {are} not shown (`--full` shows them): {}", sorts.join(", ")));
    }
    if let Some(unrecorded) = &story.session.unrecorded {
        lines.push(format!("the agent does not write down: {}", unrecorded.decode()));
    }
    if story.report.kept > 0 {
        let values = plural(story.report.kept, "value");
        let are = if story.report.kept == 1 { "is" } else { "are" };
        lines.push(format!("{values} that only the agent itself understands {are} not shown; `convert --to record` keeps them"));
    }
    if story.report.damaged > 0 {
        lines.push(format!("{} could not be read", plural(story.report.damaged, "damaged part")));
    }
    let odd = (story.report.problems.len() as u64 + story.report.more_problems)
        .saturating_sub(story.report.damaged);
    if odd > 0 {
        lines.push(format!(
            "{} of the input; `interlingua check` lists them",
            plural(odd, "oddity").replace("odditys", "oddities")
        ));
    }
    lines
}

/// A phrase with a capital first letter, for headings.
pub(crate) fn capital(words: &str) -> String {
    let first = words.chars().next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(words.chars().skip(1)).collect()
}

/// `850 ms`, `1.2 s`, `3 min 4 s`
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => {
            let seconds = ms / 1000;
            format!("{} min {} s", number(seconds / 60), seconds % 60)
        }
    }
}

/// `12 bytes`, `1.2 KB`, `3.4 MB`
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let tenths = bytes.saturating_mul(10) / unit;
        format!("{}.{} {name}", number(tenths / 10), tenths % 10)
    };
    match bytes {
        0..1000 => plural(bytes, "byte"),
        1000..1_000_000 => tenths(1000, "KB"),
        _ => tenths(1_000_000, "MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_short() {
        assert_eq!([850, 1234, 184_000].map(duration), ["850 ms", "1.2 s", "3 min 4 s"]);
        assert_eq!([1, 999, 1234, 3_456_789].map(size), ["1 byte", "999 bytes", "1.2 KB", "3.4 MB"]);
    }
}
