//! Losses for people: grouped by section, then by paths with a common prefix.

use std::collections::HashMap;
use std::fmt::Write as _;

use interlingua::ledger::{Reason, Report, Row};
use interlingua::model::{Field, Group};

use crate::render::{leaves, number, plural};
use crate::safe;

/// The section of the loss table a loss belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Content of the conversation, failures, permissions and questions. Also unparsed input, because it may hold any
    /// of these.
    Conversation,
    /// Settings, usage and facts about the session.
    Settings,
    /// Ids, structure and values that the model has no field for.
    Bookkeeping,
}

impl Section {
    const ALL: [Section; 3] = [Section::Conversation, Section::Settings, Section::Bookkeeping];

    const fn title(self) -> &'static str {
        match self {
            Section::Conversation => "the conversation",
            Section::Settings => "settings, session and usage",
            Section::Bookkeeping => "bookkeeping, and what has no word here",
        }
    }

    fn of(path: &str, field: Option<Field>) -> Self {
        match field {
            // The session's permission settings; decisions made during the session are conversation.
            Some(Field::PermissionMode | Field::ApprovalPolicy | Field::SandboxPolicy) => Section::Settings,
            // Encrypted reasoning is reasoning, and a notice was shown to the user.
            Some(Field::Encrypted | Field::NoticeText) => Section::Conversation,
            Some(field) => match field.group() {
                Group::Conversation | Group::Failure | Group::Oversight => Section::Conversation,
                Group::Settings | Group::Usage | Group::Session => Section::Settings,
                Group::Bookkeeping => Section::Bookkeeping,
            },
            None if matches!(path, UNPARSED | "(nothing was written)") => Section::Conversation,
            None => Section::Bookkeeping,
        }
    }
}

/// The path of input that is not a JSON document.
pub(crate) const UNPARSED: &str = "(unparsed)";

/// The number of lost leaves that belong to the conversation. Values that the target holds in another form are not
/// counted.
pub(crate) fn of_conversation(report: &Report) -> u64 {
    report
        .lost_paths
        .iter()
        .filter(|row| is_missed(&row.path, row.reason, row.field))
        .map(|row| row.count)
        .sum()
}

fn is_missed(path: &str, reason: Option<Reason>, field: Option<Field>) -> bool {
    Section::of(path, field) == Section::Conversation && reason != Some(Reason::Redundant)
}

/// Lost (or kept) leaves of one file or many, by path.
#[derive(Debug, Default)]
pub(crate) struct LossTable {
    rows: Vec<LossRow>,
    /// Index of the rows by path, reason and field.
    known: HashMap<RowKey, usize>,
}

type RowKey = (String, Option<Reason>, Option<Field>);

#[derive(Debug)]
struct LossRow {
    path: String,
    reason: Option<Reason>,
    field: Option<Field>,
    count: u64,
    /// The place of the first occurrence, if it is known.
    place: Option<String>,
}

/// The maximum number of distinct paths; further paths share one row.
const MOST_PATHS: usize = 20_000;
const OTHER_PATHS: &str = "(other paths)";
/// How much of a table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// One line for each path.
    All,
    /// At most this many lines per section; similar paths share a line.
    Lines(usize),
    /// At most this many lines for the conversation section, and totals for the other sections.
    Conversation(usize),
}

impl Detail {
    /// For a single table on a screen, unless all rows are requested.
    pub(crate) const fn of_one(all: bool) -> Self {
        if all { Detail::All } else { Detail::Lines(9) }
    }

    /// For several tables on a screen.
    pub(crate) const fn of_several(all: bool) -> Self {
        if all { Detail::All } else { Detail::Conversation(4) }
    }
}

/// The longest path that is printed in full.
const LONGEST_PATH: usize = 90;

impl LossTable {
    /// Adds the rows of a report; `place` returns the name of a row's frame.
    pub(crate) fn add(&mut self, rows: &[Row], place: impl Fn(&Row) -> Option<String>) {
        for row in rows {
            let at = match self.known.get(&key(&row.path, row)) {
                Some(at) => *at,
                None => self.new_row(row, || place(row)),
            };
            self.rows[at].count += row.count;
        }
    }

    /// Adds a row for a new path; beyond `MOST_PATHS`, returns the shared row.
    #[cold]
    fn new_row(&mut self, row: &Row, place: impl FnOnce() -> Option<String>) -> usize {
        // A name in brackets is not a path. These names are few, so each keeps a row of its own.
        let is_named = self.rows.len() < MOST_PATHS || row.path.starts_with('(');
        let path = if is_named { row.path.as_str() } else { OTHER_PATHS };
        *self.known.entry(key(path, row)).or_insert_with(|| {
            let Row { reason, field, .. } = *row;
            self.rows.push(LossRow { path: shortened(path), reason, field, count: 0, place: place() });
            self.rows.len() - 1
        })
    }

    /// The missing parts of the conversation as phrases, and whether all of them lack a field in the target.
    pub(crate) fn missed(&self, agents: u64) -> (Vec<String>, bool) {
        let mut counts: Vec<(Option<Field>, &str, u64)> = Vec::new();
        let mut no_field = true;
        for row in self.rows.iter().filter(|row| is_missed(&row.path, row.reason, row.field)) {
            no_field &= row.reason == Some(Reason::NoSlot);
            let path = if row.field.is_some() { "" } else { row.path.as_str() };
            match counts.iter_mut().find(|(field, known, _)| *field == row.field && *known == path) {
                Some((_, _, count)) => *count += row.count,
                None => counts.push((row.field, path, row.count)),
            }
        }
        counts.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
        let of = |wanted: Field| {
            counts.iter().find(|(field, ..)| *field == Some(wanted)).map_or(0, |(.., count)| *count)
        };
        let (calls, results) = (of(Field::CallName), of(Field::ResultCallId));
        let subagents =
            agents > 0 && of(Field::ItemAgent) > 0 && calls + results + of(Field::MessageText) > 0;
        let mut missed = Vec::new();
        let inside: Vec<String> = [(calls, "call"), (results, "result")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| plural(count, word))
            .collect();
        match (subagents, inside.is_empty()) {
            (true, true) => missed.push(plural(agents, "subagent")),
            (true, false) => missed.push(format!("{} ({})", plural(agents, "subagent"), inside.join(", "))),
            (false, _) => missed.extend(inside),
        }
        for (field, path, count) in &counts {
            match field {
                // The parts of a missing call are covered by the call itself.
                Some(Field::CallName | Field::ResultCallId) => {}
                Some(Field::ItemAgent | Field::ItemParentCall) if subagents => {}
                Some(field) if *count <= calls && is_part_of_call(*field) => {}
                Some(field) if *count <= results && is_part_of_result(*field) => {}
                Some(field) => missed.push(phrase(*field, *count)),
                None if *path == UNPARSED => {
                    missed.push(format!("{} that could not be read", plural(*count, "part")));
                }
                None => missed.push("everything".to_owned()),
            }
        }
        (missed, no_field)
    }

    /// Whether a value without a field of the model was lost; its meaning is unknown.
    pub(crate) fn has_unknown(&self) -> bool {
        // A name in brackets is not a value, except the shared row of further paths.
        let is_value = |path: &str| !path.starts_with('(') || path == OTHER_PATHS;
        self.rows.iter().any(|row| row.field.is_none() && is_value(&row.path))
    }

    /// The table as text, section by section.
    pub(crate) fn text(&self, fate: &str, detail: Detail) -> String {
        let mut text = String::new();
        for section in Section::ALL {
            let rows: Vec<&LossRow> =
                self.rows.iter().filter(|row| Section::of(&row.path, row.field) == section).collect();
            let count: u64 = rows.iter().map(|row| row.count).sum();
            if count > 0 {
                let _ = writeln!(text, "{fate} of {}: {}", section.title(), leaves(count));
                match detail {
                    Detail::All => section_text(&mut text, rows, None),
                    Detail::Lines(most) => section_text(&mut text, rows, Some(most)),
                    Detail::Conversation(most) if section == Section::Conversation => {
                        section_text(&mut text, rows, Some(most));
                    }
                    Detail::Conversation(_) => {}
                }
            }
        }
        text
    }
}

const fn is_part_of_call(field: Field) -> bool {
    matches!(field, Field::CallId | Field::CallKind | Field::CallNamespace | Field::CallArgs)
}

const fn is_part_of_result(field: Field) -> bool {
    matches!(
        field,
        Field::ResultName
            | Field::ResultText
            | Field::ResultJson
            | Field::ResultMedia
            | Field::ResultIsError
            | Field::ResultExitCode
    )
}

/// A count of values of a field, as a phrase for people.
fn phrase(field: Field, count: u64) -> String {
    let of = |what: &str, of: &str| format!("{what} of {}", plural(count, of));
    match field {
        Field::StopReason => of("stop reason", "turn"),
        Field::StopSequence => of("stop sequence", "turn"),
        Field::StopDetail => of("stop detail", "turn"),
        Field::TurnAnswer => of("choice number", "turn"),
        Field::ItemAuthor => of("author", "item"),
        Field::ItemOrigin => of("origin", "message"),
        Field::ItemAgent => of("subagent's name", "item"),
        Field::ItemParentCall => of("starting call", "subagent's item"),
        Field::ItemAnswer => of("choice number", "item"),
        Field::ItemPhase => of("phase", "message"),
        Field::ItemSubject => of("heading", "thought"),
        Field::MessageText => of("text", "message"),
        Field::MessageMedia => of("media", "message"),
        Field::MessageJson => of("JSON", "message"),
        Field::Refusal => plural(count, "refusal"),
        Field::CitationKind => of("kind", "citation"),
        Field::CitationQuote => of("quote", "citation"),
        Field::CitationTitle => of("title", "citation"),
        Field::CitationSource => of("source", "citation"),
        Field::CitationDocument => of("document", "citation"),
        Field::CitationStart | Field::CitationEnd | Field::CitationFrom | Field::CitationTo => {
            of("range", "citation")
        }
        Field::MediaType => of("media type", "attachment"),
        Field::MediaName => of("name", "attachment"),
        Field::MediaContext => of("context", "attachment"),
        Field::FilePath => of("path", "changed file"),
        Field::FileAction => of("action", "changed file"),
        Field::FileDiff => plural(count, "diff"),
        Field::ReasoningText => of("text", "thought"),
        Field::ReasoningSummary => of("summary", "thought"),
        Field::Encrypted => of("encrypted state", "thought"),
        Field::CallId => of("id", "call"),
        Field::CallKind => of("kind", "call"),
        Field::CallNamespace => of("namespace", "call"),
        Field::CallArgs => of("arguments", "call"),
        Field::ResultName => of("tool name", "tool result"),
        Field::ResultText => of("text", "tool result"),
        Field::ResultMedia => of("media", "tool result"),
        Field::ResultJson => of("JSON", "tool result"),
        Field::ResultIsError => of("error flag", "tool result"),
        Field::ResultExitCode => of("exit code", "tool result"),
        Field::RewindTo | Field::RewindTurns => plural(count, "rewind"),
        Field::CompactionTrigger => of("trigger", "compaction"),
        Field::CompactionBefore | Field::CompactionAfter => of("token count", "compaction"),
        Field::CompactionSummary => of("summary", "compaction"),
        Field::CompactionHistory => of("new history", "compaction"),
        Field::CompactionKeptFrom => of("first kept item", "compaction"),
        Field::PermissionId => of("id", "permission"),
        Field::PermissionAction => of("action", "permission"),
        Field::PermissionCallId => of("call", "permission"),
        Field::PermissionInput => of("input", "permission"),
        Field::PermissionAnswer => of("decision", "permission"),
        Field::PermissionMessage => of("message", "permission"),
        Field::PermissionBy => of("decider", "permission"),
        Field::QuestionId => of("id", "question"),
        Field::QuestionCallId => of("call", "question"),
        Field::QuestionText => of("text", "question"),
        Field::QuestionOption | Field::QuestionOptionAbout => plural(count, "option of question"),
        Field::QuestionMultiple => of("multiple choice", "question"),
        Field::QuestionAnswer => of("answer", "question"),
        Field::QuestionDeclined => of("refusal", "question"),
        Field::ErrorClass => of("class", "error"),
        Field::ErrorStatus => of("status", "error"),
        Field::ErrorCode => of("code", "error"),
        Field::ErrorMessage => of("message", "error"),
        Field::ErrorRequestId => of("request id", "error"),
        Field::ErrorRetryAfter => of("waiting time", "error"),
        Field::NoticeText => of("text", "notice"),
        other => format!("{} ({})", other.label(), number(count)),
    }
}

fn key(path: &str, row: &Row) -> RowKey {
    (path.to_owned(), row.reason, row.field)
}

/// Prints a section in at most `most` lines, or one line for each path.
fn section_text(text: &mut String, rows: Vec<&LossRow>, most: Option<usize>) {
    let mut groups = match most {
        None => rows.into_iter().map(|row| PathGroup::new(vec![row])).collect(),
        Some(most) => split(rows, most),
    };
    let most = most.unwrap_or(usize::MAX);
    groups.sort_by(|a, b| b.count().cmp(&a.count()).then_with(|| a.prefix().cmp(b.prefix())));
    let shown = if groups.len() <= most { groups.len() } else { most - 1 };
    let digits = groups.first().map_or(0, |group| number(group.count()).len());
    let width = groups[..shown].iter().map(|group| group.name().chars().count()).max().unwrap_or(0).min(56);
    for group in &groups[..shown] {
        let _ = writeln!(
            text,
            "  {:>digits$}  {:width$}  {}",
            number(group.count()),
            group.name(),
            group.about()
        );
    }
    let rest = &groups[shown..];
    if !rest.is_empty() {
        let paths: usize = rest.iter().map(|group| group.rows.len()).sum();
        let count: u64 = rest.iter().map(PathGroup::count).sum();
        let _ = writeln!(
            text,
            "  … and {} more paths with {} (`-v` lists them)",
            number(paths as u64),
            leaves(count)
        );
    }
}

/// Rows whose paths share a prefix.
struct PathGroup<'r> {
    rows: Vec<&'r LossRow>,
    /// The number of shared path segments.
    depth: usize,
    /// Whether other groups with the same prefix exist.
    is_rest: bool,
}

impl<'r> PathGroup<'r> {
    fn new(rows: Vec<&'r LossRow>) -> Self {
        let mut shared = segments(&rows[0].path);
        for row in &rows[1..] {
            let same = shared.iter().zip(segments(&row.path)).take_while(|(one, other)| **one == *other);
            let same = same.count();
            shared.truncate(same);
        }
        let depth = shared.len();
        Self { rows, depth, is_rest: false }
    }

    fn count(&self) -> u64 {
        self.rows.iter().map(|row| row.count).sum()
    }

    fn prefix(&self) -> &'r str {
        let path = &self.rows[0].path;
        let length: usize = segments(path).iter().take(self.depth).map(|segment| segment.len()).sum();
        &path[..length]
    }

    /// Whether the group covers several distinct paths.
    fn is_several(&self) -> bool {
        self.rows.iter().any(|row| row.path != self.rows[0].path)
    }

    fn name(&self) -> String {
        let prefix = self.prefix();
        match (self.is_several(), self.is_rest) {
            (false, _) => prefix.to_owned(),
            (true, false) => format!("{prefix}/…"),
            (true, true) => format!("{prefix}/… (others)"),
        }
    }

    /// Whether splitting the group adds information. Values that always occur together count as a single value.
    fn can_be_split(&self) -> bool {
        let [first, others @ ..] = &self.rows[..] else { return false };
        let alike =
            |row: &&LossRow| (row.count, row.reason, &row.place) == (first.count, first.reason, &first.place);
        let come_together = others.len() > 1 && self.depth > 0 && others.iter().all(alike);
        !self.is_rest && self.is_several() && !come_together
    }

    /// The reasons and the first place.
    fn about(&self) -> String {
        let mut reasons: Vec<&str> = self.rows.iter().filter_map(|row| Some(row.reason?.phrase())).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let most = self.rows.iter().rev().max_by_key(|row| row.count).unwrap_or(&self.rows[0]);
        let rest = most.path.strip_prefix(self.prefix()).unwrap_or(&most.path);
        let where_to_look = match (self.is_several(), most.place.as_deref().map(safe::exact_line)) {
            (false, None) => String::new(),
            (true, None) => format!("such as {}", safe::exact_line(rest)),
            (false, Some(place)) => format!("first in {place}"),
            (true, Some(place)) => format!("such as {} in {place}", safe::exact_line(rest)),
        };
        let mut about = reasons.join(" or ");
        if !about.is_empty() && !where_to_look.is_empty() {
            about.push_str(", ");
        }
        about.push_str(&where_to_look);
        about
    }

    fn children(&self) -> Vec<PathGroup<'r>> {
        let mut children: Vec<Vec<&'r LossRow>> = Vec::new();
        let mut known = HashMap::new();
        for row in &self.rows {
            let next = segments(&row.path).get(self.depth).copied();
            let at = *known.entry(next).or_insert(children.len());
            if at == children.len() {
                children.push(Vec::new());
            }
            children[at].push(row);
        }
        children.into_iter().map(PathGroup::new).collect()
    }
}

/// The segments of a path, each with its leading slash; a name that is not a path is one segment.
fn segments(path: &str) -> Vec<&str> {
    if !path.starts_with('/') {
        return vec![path];
    }
    let mut begins: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    begins.push(path.len());
    begins.windows(2).map(|two| &path[two[0]..two[1]]).collect()
}

/// Splits the rows into at most `lines` groups, dividing the largest groups first.
fn split(rows: Vec<&LossRow>, lines: usize) -> Vec<PathGroup<'_>> {
    let mut groups = PathGroup { rows, depth: 0, is_rest: false }.children();
    loop {
        groups.sort_by_key(|group| std::cmp::Reverse(group.count()));
        let room = (lines + 1).saturating_sub(groups.len());
        let Some(at) = groups.iter().position(PathGroup::can_be_split).filter(|_| room > 2) else {
            return groups;
        };
        let mut finer = groups[at].children();
        if finer.len() > room {
            finer.sort_by_key(|group| std::cmp::Reverse(group.count()));
            let rest = finer.split_off(room - 1).into_iter().flat_map(|group| group.rows).collect();
            finer.push(PathGroup { rows: rest, depth: groups[at].depth, is_rest: true });
        }
        groups.swap_remove(at);
        groups.extend(finer);
    }
}

/// A path that is safe to print and not too long: member names are arbitrary text of the source.
fn shortened(path: &str) -> String {
    let path = safe::exact_line(path);
    let length = path.chars().count();
    if length <= LONGEST_PATH {
        return path;
    }
    let begin: String = path.chars().take(LONGEST_PATH / 2).collect();
    let end: String = path.chars().skip(length - LONGEST_PATH / 2).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use interlingua::framing::FramePlace;

    use super::*;

    fn table(paths: &[(&str, u64)]) -> LossTable {
        let mut table = LossTable::default();
        for (path, count) in paths {
            let first = FramePlace::default();
            let reason = Some(Reason::NoSlot);
            let row = Row { path: (*path).to_owned(), reason, field: None, count: *count, bytes: 1, first };
            table.add(&[row], |_| Some("line 1".to_owned()));
        }
        table
    }

    /// Member names may be empty, contain slashes or look like other paths.
    #[test]
    fn whatever_paths_are_called_each_leaf_is_told_once() {
        let odd = [
            "",
            "/",
            "[]",
            "/[]",
            "//",
            "/a",
            "/a/",
            "/a/b",
            "/a//b",
            "a",
            "(other paths)",
            "/é/…",
            "/a[]/b",
        ];
        for most in 2..12 {
            for skip in 0..odd.len() {
                let paths: Vec<(&str, u64)> =
                    odd.iter().skip(skip).zip(1..).map(|(path, count)| (*path, count)).collect();
                let table = table(&paths);
                let rows: Vec<&LossRow> = table.rows.iter().collect();
                let groups = split(rows, most);
                let told: u64 = groups.iter().map(PathGroup::count).sum();
                assert_eq!(told, paths.iter().map(|(_, count)| count).sum::<u64>());
                let names = groups.iter().map(|group| (group.name(), group.about()));
                assert!(
                    names.into_iter().all(|(_, about)| about.starts_with("the target has no field for it"))
                );
                assert!(table.text("lost", Detail::Lines(most)).lines().count() <= most.max(2) + 1);
            }
        }
    }

    #[test]
    fn what_begins_alike_stands_together() {
        let table = table(&[("/a/b/c", 5), ("/a/b/d", 7), ("/a/b/d/e", 1), ("/f", 2)]);
        let text = table.text("lost", Detail::Lines(2));
        assert_eq!(
            text,
            "lost of bookkeeping, and what has no word here: 15 leaves\n  \
             13  /a/b/…  the target has no field for it, such as /d in line 1\n   \
             2  /f      the target has no field for it, first in line 1\n"
        );
    }

    #[test]
    fn what_has_a_name_of_its_own_is_never_among_the_others() {
        let many: Vec<String> = (0..MOST_PATHS + 5).map(|number| format!("/{number}")).collect();
        let mut paths: Vec<(&str, u64)> = many.iter().map(|path| (path.as_str(), 1)).collect();
        paths.extend([("/0", 1), (UNPARSED, 3)]);
        let table = table(&paths);
        assert_eq!(table.missed(0), (vec!["3 parts that could not be read".to_owned()], true));
        let count = |path: &str| table.rows.iter().find(|row| row.path == path).map(|row| row.count);
        assert_eq!((count("/0"), count(OTHER_PATHS)), (Some(2), Some(5)));
    }
}
