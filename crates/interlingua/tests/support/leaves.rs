//! The law of leaves, and the laws of counting: the ledger's fate of a leaf is its actual fate.

use std::collections::{BTreeMap, BTreeSet};

use interlingua::dialects::{Dialect, Options};
use interlingua::ledger::{Fate, Reason, Report};
use interlingua::model::Field;
use interlingua::pipe::Pipe;
use interlingua::tape::Kind;

use super::books::{Breach, Essence, Fates, Source, find};
use super::damage::perturb;
use super::{Case, Sample, Way, convert, convert_traced, unless_other};

pub const LEAF: &str = "a leaf that is mapped or kept shows in the output when it changes";
pub const COUNTING: &str = "the counts, the rows and the trace agree";
pub const NOTHING: &str = "an output that says nothing says that all is lost";

/// The values at each path of each dialect in all fixtures: the best replacement for a word is another word that its
/// reader supports.
pub struct Words(BTreeMap<(&'static str, String), BTreeSet<String>>);

impl Words {
    pub fn of(sources: &[Source<'_>]) -> Self {
        let mut words: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for source in sources {
            for leaf in source.leaves.iter().filter(|leaf| leaf.at.len() <= 40) {
                let key = (source.case.way.0.name, leaf.path.clone());
                words.entry(key).or_default().insert(source.text(leaf).to_owned());
            }
        }
        Self(words)
    }

    /// Other values for a leaf, the most effective first.
    pub fn others(&self, dialect: &'static str, path: &str, text: &str, kind: Kind) -> Vec<String> {
        let mut others = vec![perturb(text, kind)];
        if kind == Kind::String
            && let Some(at) = text.rfind(|c: char| c.is_ascii_digit())
        {
            // A time stays a time.
            let digit = if &text[at..=at] == "1" { "2" } else { "1" };
            others.push(format!("{}{digit}{}", &text[..at], &text[at + 1..]));
        }
        let known = self.0.get(&(dialect, path.to_owned()));
        others.extend(known.into_iter().flatten().filter(|word| *word != text).take(3).cloned());
        others
    }
}

/// A class of similar leaves: path, field, whether it is kept, its type.
pub type LeafClass<'c> = (&'c str, Option<Field>, bool, u8);

/// Changes leaves: for a mapped leaf the output or the report must change, for a kept leaf the output must change.
pub fn leaf_law<'c>(
    source: &'c Source<'_>,
    to: Way,
    words: &Words,
    sample: &mut Sample<LeafClass<'c>>,
) -> Vec<Breach> {
    let case = source.case;
    let before = convert_traced(case.way, to, &case.bytes);
    if before.bytes.is_empty() {
        return Vec::new();
    }
    let (fates, essence) = (Fates::of(&before.report), Essence::of(&before.report));
    let mut breaches = Vec::new();
    for leaf in &source.leaves {
        let (fate, field) = fates.at(leaf.frame, &leaf.span);
        let kept = match fate {
            Fate::Mapped => false,
            Fate::Kept => true,
            Fate::Lost(_) => continue,
        };
        if !sample.wants((&leaf.path, field, kept, leaf.kind as u8)) {
            continue;
        }
        let shows = |value: &String| {
            let pipe = Pipe::new(case.way, to, &Options::default()).expect("both sides were found");
            match unless_other(pipe, source.around(leaf, value), &before.bytes) {
                None => true,
                Some(report) => !kept && Essence::of(&report) != essence,
            }
        };
        let others = words.others(case.way.0.name, &leaf.path, source.text(leaf), leaf.kind);
        if others.iter().any(shows) || fates.is_lost_late(field) {
            continue;
        }
        // The kept lines that restore a session contain the value, too, or the value follows from them.
        let text = source.text(leaf);
        if case.is_restored_by(to) && (support(&before.bytes, text) || is_filler(to.0, &leaf.path, text)) {
            continue;
        }
        let word = if kept { "kept" } else { "mapped" };
        let field = field.map_or("no field", Field::word);
        breaches.push(Breach::new(
            LEAF,
            case,
            to,
            &leaf.path,
            format!("{word} ({field}), but no change shows"),
        ));
    }
    breaches
}

/// Whether a value in a record stands for a fact that the log does not hold: the schema requires a model and a provider,
/// and the record has `unknown` or the issuer of the dialect in their place.
fn is_filler(log: &Dialect, path: &str, json: &str) -> bool {
    let text = json.trim_matches('"');
    match path.rsplit_once("/session/agent-meta/") {
        Some((_, "model-id")) => text == "unknown",
        Some((_, "model-provider")) => text == log.issuer.unwrap_or("unknown"),
        _ => false,
    }
}

/// Whether an output contains a value.
pub fn support(output: &[u8], json: &str) -> bool {
    let text = json.trim_matches('"');
    text.is_empty() || find(output, text.as_bytes()).is_some()
}

/// Rows that are not about a leaf of a document; they are not in the trace.
const BESIDE: [&str; 3] = ["(unparsed)", "(nothing was written)", "(holes of a kept line)"];

/// Every leaf has one fate, and the trace and the rows agree with it.
pub fn counting_law(source: &Source<'_>, to: Way) -> Vec<Breach> {
    let case = source.case;
    let report = convert_traced(case.way, to, &case.bytes).report;
    let Report { leaves, mapped, kept, lost, kept_paths, lost_paths, trace, .. } = &report;
    let mut breaches = Vec::new();
    let mut same = |what: &str, a: u64, b: u64| {
        if a != b {
            breaches.push(Breach::new(COUNTING, case, to, what, format!("{a} is not {b}")));
        }
    };
    same("mapped + kept + lost = leaves", mapped + kept + lost, *leaves);
    let sum = |rows: &[interlingua::ledger::Row], traced: bool, reason: Option<Reason>| -> u64 {
        let rows = rows.iter().filter(|row| !traced || !BESIDE.contains(&&*row.path));
        rows.filter(|row| reason.is_none() || row.reason == reason).map(|row| row.count).sum()
    };
    let traced = |wanted: &dyn Fn(Fate) -> bool| -> u64 {
        trace.iter().filter(|leaf| wanted(leaf.fate)).map(|leaf| leaf.count).sum()
    };
    same("the rows of what is lost", sum(lost_paths, false, None), *lost);
    same("the rows of what is kept", sum(kept_paths, false, None), *kept);
    let nothing_written = lost_paths.iter().any(|row| row.path == "(nothing was written)");
    if !nothing_written {
        same("the trace of what is kept", traced(&|fate| fate == Fate::Kept), sum(kept_paths, true, None));
    }
    for reason in [
        Reason::NoSlot,
        Reason::Narrowed,
        Reason::Merged,
        Reason::Redundant,
        Reason::Foreign,
        Reason::Refused,
        Reason::Invalid,
    ] {
        let place = format!("the trace of what is lost, {}", reason.word());
        let found = traced(&|fate| fate == Fate::Lost(reason));
        same(&place, found, sum(lost_paths, true, Some(reason)));
    }
    // An independent count.
    let unparsed: u64 =
        kept_paths.iter().chain(lost_paths).filter(|row| row.path == "(unparsed)").map(|row| row.count).sum();
    if !nothing_written {
        same("the leaves of all frames", source.read + unparsed, *leaves);
    }
    // No value has two fates.
    let mut spans: Vec<_> = trace.iter().filter_map(|leaf| Some((leaf.frame, leaf.span.clone()?))).collect();
    spans.sort_by_key(|(frame, span)| (*frame, span.start));
    let twice = spans.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1.end > pair[1].1.start);
    same("values with two fates", twice.count() as u64, 0);
    breaches
}

/// The output for an empty input has no content. If the output equals it, every leaf must be lost.
pub fn nothing_law(case: &Case, to: Way) -> Vec<Breach> {
    let out = convert(case.way, to, &case.bytes);
    let says_nothing = out.bytes.trim_ascii().is_empty() || out.bytes == convert(case.way, to, b"").bytes;
    if says_nothing && out.report.lost != out.report.leaves {
        let how = format!("{} of {} leaves lost", out.report.lost, out.report.leaves);
        return vec![Breach::new(NOTHING, case, to, "", how)];
    }
    Vec::new()
}
