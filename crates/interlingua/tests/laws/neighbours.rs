//! A loss is never booked on a neighbour's leaf. Two elements of one list (messages, parts, calls, results, entries, tools)
//! stand alone and side by side, in both orders, for every list of every fixture and every target of the registry. The
//! books of each element are the same with and without its neighbour.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::support::books::{Essence, Fates, Source, SourceLeaf, find};
use crate::support::damage::perturb;
use crate::support::leaves::Words;
use crate::support::watch::{Look, watch};
use crate::support::{
    Case, SAMPLED, Way, all_targets, asked_for, convert_traced, fixtures, full, other_law_targets, share,
};
use interlingua::dialects::Role;
use interlingua::ledger::{Fate, Reason};
use interlingua::model::Field;
use interlingua::tape::{Kind, Limits, TapeBuf, Val};

/// An element of a list, and the source around the list.
#[derive(Clone)]
struct Element {
    /// The source before the first element of the list, and after the last.
    around: (Vec<u8>, Vec<u8>),
    text: String,
    case: Case,
}

/// Elements of lists at one path of one dialect that differ in shape.
type Lists = BTreeMap<(&'static str, &'static str, String), BTreeMap<String, Element>>;

/// The shapes of one list that are paired, and the bytes of an element, at most.
const SHAPES: usize = 14;
const LONGEST: usize = 3_000;
/// The bytes around a list, at most.
const WIDEST: usize = 12_000;

#[test]
fn a_loss_is_booked_on_the_element_that_was_lost() {
    let mut lists = Lists::new();
    let cases = fixtures();
    for case in &cases {
        gather(case, &mut lists);
    }
    let words = Words::of(&cases.iter().map(Source::of).collect::<Vec<_>>());
    let shapes = if full() { usize::MAX } else { SHAPES };
    let work: Vec<(String, Vec<Element>)> = lists
        .into_iter()
        .map(|((dialect, role, path), elements)| {
            (format!("{dialect} {role} {path}"), elements.into_values().take(shapes).collect())
        })
        .collect();
    let found =
        share(&work, |(_, elements)| elements.len(), |(list, elements)| pairs_of(list, elements, &words));
    let tried: usize = found.iter().map(|(tried, _)| tried).sum();
    let wrong: Vec<&String> = found.iter().flat_map(|(_, wrong)| wrong).collect();
    let least = if all_targets() { 20_000 } else { 20_000 / SAMPLED };
    assert!(asked_for().is_some() || tried > least, "{tried}");
    let most = if std::env::var_os("INTERLINGUA_BREACHES").is_some() { usize::MAX } else { 40 };
    let shown: Vec<&str> = wrong.iter().take(most).map(|text| text.as_str()).collect();
    assert!(
        wrong.is_empty(),
        "{} losses of {tried} pairs wrong; INTERLINGUA_BREACHES=1 shows all:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

/// Finds the lists of objects in the frames of a case.
fn gather(case: &Case, lists: &mut Lists) {
    let (seen, _) = watch(case.way, &case.bytes, Look::Leaves);
    let whole = std::str::from_utf8(&case.bytes).ok().filter(|text| is_document(text));
    let frames: Vec<&str> = match whole {
        Some(text) => vec![text],
        None => seen.frames.iter().map(|frame| frame.text.as_str()).collect(),
    };
    let mut from = 0;
    for frame in frames {
        let Some(at) = find(&case.bytes[from..], frame.as_bytes()) else { continue };
        let start = from + at;
        from = start + frame.len();
        let mut buffer = TapeBuf::default();
        let Ok(tape) = buffer.parse(frame, &Limits::default()) else { continue };
        // A line stands alone; an event of a stream and a document are nothing without the rest.
        let is_line = whole.is_none() && case.way.1 == Role::Log;
        let (before, after) = if is_line {
            (&[][..], &b"\n"[..])
        } else {
            (&case.bytes[..start], &case.bytes[start + frame.len()..])
        };
        lists_in(tape.root(), "", &mut |path, list| {
            let span = list.span();
            let around = (
                [before, &frame.as_bytes()[..=span.start]].concat(),
                [&frame.as_bytes()[span.end - 1..], after].concat(),
            );
            if around.0.len() + around.1.len() > WIDEST {
                return;
            }
            for element in list.elements().filter(|element| element.kind() == Kind::Object) {
                let text = element.text();
                if text.len() > LONGEST || text.contains('\n') && is_line {
                    continue;
                }
                let key = (case.way.0.name, case.way.1.word(), path.to_owned());
                let element =
                    || Element { around: around.clone(), text: text.to_owned(), case: case.clone() };
                lists.entry(key).or_default().entry(shape(json_of(text))).or_insert_with(element);
            }
        });
    }
}

fn is_document(text: &str) -> bool {
    TapeBuf::default().parse(text, &Limits::default()).is_ok()
}

/// Every list in a value, with its path.
fn lists_in<'t>(value: Val<'t>, path: &str, show: &mut dyn FnMut(&str, Val<'t>)) {
    match value.kind() {
        Kind::Object => {
            for (name, member) in value.members() {
                lists_in(member, &format!("{path}/{}", name.as_escaped()), show);
            }
        }
        Kind::Array => {
            show(path, value);
            for element in value.elements() {
                lists_in(element, &format!("{path}[]"), show);
            }
        }
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => {}
    }
}

fn json_of(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The members of a value with their kinds, and the words that name a sort.
fn shape(value: serde_json::Value) -> String {
    use serde_json::Value as Json;
    match value {
        Json::Object(members) => {
            let members: Vec<String> = members
                .into_iter()
                .map(|(name, member)| match member {
                    Json::String(word)
                        if ["type", "role", "status", "kind", "phase"].contains(&name.as_str()) =>
                    {
                        format!("{name}={word}")
                    }
                    member => format!("{name}:{}", shape(member)),
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Json::Array(elements) => format!(
            "[{}]",
            elements
                .into_iter()
                .map(shape)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join(",")
        ),
        Json::String(_) => "s".to_owned(),
        Json::Number(_) => "n".to_owned(),
        Json::Bool(truth) => truth.to_string(),
        Json::Null => "null".to_owned(),
    }
}

/// A loss: the field and the reason, by the place of the leaf in its element.
type Losses = BTreeMap<usize, (Field, Reason)>;

/// A source with some elements in its list.
struct Arranged {
    case: Case,
    elements: Vec<Range<usize>>,
}

/// The conversion of a source to one target.
struct Written {
    bytes: Vec<u8>,
    essence: Essence,
    /// The losses of each element.
    losses: Vec<Losses>,
    /// The places of all leaves of each element that are lost, claimed or not.
    lost: Vec<BTreeSet<usize>>,
    late: BTreeSet<Field>,
}

impl Arranged {
    fn of(host: &Element, elements: &[&str]) -> Self {
        let mut bytes = host.around.0.clone();
        let mut ranges = Vec::new();
        for (number, element) in elements.iter().enumerate() {
            if number > 0 {
                bytes.push(b',');
            }
            ranges.push(bytes.len()..bytes.len() + element.len());
            bytes.extend_from_slice(element.as_bytes());
        }
        bytes.extend_from_slice(&host.around.1);
        Self { case: Case { bytes, ..host.case.clone() }, elements: ranges }
    }

    /// The conversion to a target. Tags, and leaves that no reader claims, have the fate of the leaves beside them.
    fn written(&self, source: &Source<'_>, to: Way) -> Written {
        let out = convert_traced(self.case.way, to, &self.case.bytes);
        let fates = Fates::of(&out.report);
        let mut losses = vec![Losses::new(); self.elements.len()];
        let mut lost = vec![BTreeSet::new(); self.elements.len()];
        for leaf in &source.leaves {
            let (Fate::Lost(reason), field) = fates.at(leaf.frame, &leaf.span) else { continue };
            let mut elements = self.elements.iter().enumerate();
            let Some((own, range)) = elements.find(|(_, range)| range.contains(&leaf.at.start)) else {
                continue;
            };
            let place = leaf.at.start - range.start;
            lost[own].insert(place);
            if let Some(field) = field.filter(|field| *field != Field::Structure) {
                losses[own].insert(place, (field, reason));
            }
        }
        let late = out.report.trace.iter().filter(|leaf| leaf.span.is_none()).filter_map(|leaf| leaf.field);
        Written { late: late.collect(), essence: Essence::of(&out.report), bytes: out.bytes, losses, lost }
    }
}

/// The text of an element with ids of its own, so that it answers nothing and repeats nothing beside it.
fn with_own_ids(element: &Element) -> String {
    let arranged = Arranged::of(element, &[&element.text]);
    let source = Source::of(&arranged.case);
    let (mut text, mut copied) = (String::new(), 0);
    for leaf in &source.leaves {
        let is_id = matches!(
            leaf.claim.field(),
            Some(
                Field::ItemId | Field::CallId | Field::ResultCallId | Field::ItemParent | Field::ItemReplaces
            )
        );
        let Some(range) = arranged.elements.first().filter(|range| range.contains(&leaf.at.start)) else {
            continue;
        };
        let is_text = leaf.kind == Kind::String;
        if is_id && (is_text || leaf.kind == Kind::Number) {
            let end = leaf.at.end - usize::from(is_text) - range.start;
            text.push_str(&element.text[copied..end]);
            text.push_str("77");
            copied = end;
        }
    }
    text + &element.text[copied..]
}

/// Every element beside every other, in the list of the first.
fn pairs_of(list: &str, elements: &[Element], words: &Words) -> (usize, Vec<String>) {
    let mut tried = 0;
    let mut wrong = Vec::new();
    let others: Vec<String> = elements.iter().map(with_own_ids).collect();
    for (one, other) in elements.iter().flat_map(|one| others.iter().map(move |other| (one, other))) {
        let pair = [one.text.as_str(), other];
        let alone = pair.map(|text| Arranged::of(one, &[text]));
        let together = Arranged::of(one, &pair);
        let sources = [Source::of(&alone[0].case), Source::of(&alone[1].case)];
        let source = Source::of(&together.case);
        for to in other_law_targets(&together.case) {
            tried += 1;
            let written = together.written(&source, to);
            let single = [alone[0].written(&sources[0], to), alone[1].written(&sources[1], to)];
            for how in misplaced([&single[0], &single[1]], &written, &together, &source, to, words) {
                let (to, name) = (to.0.name, &one.case.name);
                wrong.push(format!("{list} -> {to}: {how}\n    {}\n    {other} in {name}", one.text));
            }
        }
    }
    (tried, wrong)
}

/// Losses of two elements that are on a wrong leaf: the leaf has another fate alone, and that fate is the right one.
fn misplaced(
    alone: [&Written; 2],
    pair: &Written,
    together: &Arranged,
    source: &Source<'_>,
    to: Way,
    words: &Words,
) -> Vec<String> {
    let mut found = Vec::new();
    let way = together.case.way;
    let leaf_at = |place: usize| source.leaves.iter().find(|leaf| leaf.at.start == place);
    // A value that no source has. A flag has none, and a word that means something may have another fate.
    let shows_fresh = |place: usize| {
        let leaf = leaf_at(place).filter(|leaf| leaf.kind != Kind::Bool);
        leaf.is_some_and(|leaf| {
            let fresh = perturb(source.text(leaf), leaf.kind);
            convert_traced(way, to, &source.with(leaf, &fresh)).bytes != pair.bytes
        })
    };
    let shows = |place: usize| {
        leaf_at(place).is_none_or(|leaf| {
            words.others(way.0.name, &leaf.path, source.text(leaf), leaf.kind).iter().any(|value| {
                let out = convert_traced(way, to, &source.with(leaf, value));
                out.bytes != pair.bytes || Essence::of(&out.report) != pair.essence
            })
        })
    };
    // The second of two equal names is refused; another name in its place is not.
    let is_repeated = |place: usize| {
        leaf_at(place).is_some_and(|leaf| {
            let is_alike = |other: &&SourceLeaf| source.text(other) == source.text(leaf);
            source.leaves.iter().filter(is_alike).count() > 1
        })
    };
    for (own, neighbour) in [(0, 1), (1, 0)] {
        let (before, after) = (&alone[own].losses[0], &pair.losses[own]);
        let start = together.elements[own].start;
        for (place, (field, reason)) in after.iter().filter(|(place, _)| !before.contains_key(place)) {
            let says_less = matches!(reason, Reason::Narrowed | Reason::Merged | Reason::Redundant);
            let of_neighbour = alone[neighbour].losses[0].iter().any(|(place, loss)| {
                *loss == (*field, *reason) && !pair.losses[neighbour].contains_key(place)
            });
            let is_second = *reason == Reason::Refused && is_repeated(start + place);
            if of_neighbour || !says_less && !is_second && shows_fresh(start + place) {
                found.push(format!(
                    "byte {place} of element {own} is lost ({field:?}, {reason:?}), but arrives"
                ));
            }
        }
        for (place, (field, reason)) in before.iter().filter(|(place, _)| !pair.lost[own].contains(place)) {
            if !pair.late.contains(field) && !shows(start + place) {
                found.push(format!(
                    "byte {place} of element {own} ({field:?}, {reason:?} if alone) arrives, but is lost"
                ));
            }
        }
    }
    found
}
