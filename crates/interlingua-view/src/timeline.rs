//! The timeline of a page: a bar for each section of the story, with its height by the amount of content, and marks for
//! prompts, failures and breaks of the conversation. It is an SVG drawing, so it works without the script.

use std::fmt::Write as _;

use crate::story::{EntryBody, Piece, SpokenBy, Story, StoryEntry, ToolUse};

/// The maximum number of bars.
const MOST_BARS: usize = 240;
/// The size of the drawing in SVG units.
const WIDTH: usize = 1200;
const HEIGHT: usize = 40;
const WIDEST_BAR: usize = 20;

/// The kinds of marks, most important last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MarkSort {
    Nothing,
    Prompt,
    Break,
    Failure,
}

impl MarkSort {
    fn of(entry: &StoryEntry) -> Self {
        match &entry.body {
            _ if entry.is_failure() => MarkSort::Failure,
            EntryBody::Began(_)
            | EntryBody::Compacted { .. }
            | EntryBody::Rewound { .. }
            | EntryBody::Stopped(_)
            | EntryBody::Said(SpokenBy::Summary, _) => MarkSort::Break,
            EntryBody::Said(SpokenBy::Person, _) => MarkSort::Prompt,
            _ => MarkSort::Nothing,
        }
    }

    const fn class(self) -> &'static str {
        match self {
            MarkSort::Nothing => "",
            MarkSort::Prompt => "prompt",
            MarkSort::Break => "break",
            MarkSort::Failure => "failure",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            MarkSort::Nothing => "",
            MarkSort::Prompt => ", a prompt",
            MarkSort::Break => ", a break",
            MarkSort::Failure => ", a failure",
        }
    }
}

pub(crate) fn write(story: &Story, full: bool, html: &mut String) {
    let all: Vec<usize> = (0..story.entries.len()).collect();
    let told: Vec<(usize, &StoryEntry)> = story.told(&all, full).collect();
    if told.is_empty() {
        return;
    }
    let count = told.len().min(MOST_BARS);
    let width = (WIDTH / count).min(WIDEST_BAR);
    // Writing to a `String` does not fail.
    let _ = writeln!(
        html,
        "<nav class=\"timeline\" aria-label=\"Timeline\"><svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\">",
        if width < WIDEST_BAR { width * count } else { WIDTH },
    );
    for bar in 0..count {
        let stretch = &told[bar * told.len() / count..(bar + 1) * told.len() / count];
        let Some((first, _)) = stretch.first() else { continue };
        // Of several entries with equal weight the bar links to the first, so that a reader who continues from there
        // misses none.
        let (at, entry) =
            stretch.iter().rev().max_by_key(|(_, entry)| MarkSort::of(entry)).unwrap_or(&stretch[0]);
        let sort = MarkSort::of(entry);
        let bytes: usize = stretch.iter().map(|(_, entry)| weight(entry)).sum();
        // The height grows with the logarithm of the size.
        let high = (3 + 2 * (bytes + 1).ilog2() as usize).min(HEIGHT - 8);
        let (x, y) = (bar * width, HEIGHT - high);
        let _ = write!(
            html,
            "<a href=\"#e{0}\" tabindex=\"-1\" data-e=\"{1}\" class=\"{2}\"><title>turn {3}, entry {0}{4}</title>\
             <rect class=\"hit\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/>\
             <rect x=\"{x}\" y=\"{y}\" width=\"{5}\" height=\"{high}\"/>",
            at + 1,
            first + 1,
            sort.class(),
            entry.turn,
            sort.word(),
            (width * 4 / 5).max(1),
        );
        if sort != MarkSort::Nothing {
            let _ = write!(
                html,
                "<rect class=\"dot\" x=\"{x}\" y=\"0\" width=\"{}\" height=\"4\"/>",
                (width * 4 / 5).max(1)
            );
        }
        html.push_str("</a>\n");
    }
    html.push_str("</svg></nav>\n");
}

/// The amount of text in an entry.
fn weight(entry: &StoryEntry) -> usize {
    match &entry.body {
        EntryBody::Said(_, pieces) | EntryBody::Thought(pieces) | EntryBody::Notice(_, pieces) => {
            pieces.iter().map(length).sum()
        }
        EntryBody::Tool(tool) => {
            let ToolUse { args, .. } = &**tool;
            args.as_ref().map_or(0, |args| args.text().len()) + tool.output().map(length).sum::<usize>()
        }
        _ => 40,
    }
}

fn length(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) | Piece::Refusal(text) => text.as_escaped().len(),
        Piece::Json(json) => json.as_str().len(),
        Piece::Media(_) | Piece::File(_) | Piece::Citation(_) | Piece::Opaque(_) => 200,
    }
}
