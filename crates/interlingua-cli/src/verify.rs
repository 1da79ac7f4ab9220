//! The comparison of a written session with its source, for `continue` and `convert --verify`.

use std::path::PathBuf;
use std::sync::Arc;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::log::{BudgetReader, Outline, ResultCuts};
use interlingua_library::{Comparison, ComparisonRules, Kept, SessionContents};
use interlingua_report::Identified;
use interlingua_report::render::{number, plural};
use interlingua_sessions::InputPlace;

use crate::convert::options;
use crate::error::CommandError;
use crate::flags::{CarryFlags, SourceFlags};

/// Reads the source and the files of its copy, and compares them. Items that the outline leaves out do not count.
pub(crate) fn compare(
    (input, identity): (&InputPlace, &Identified),
    to: (&'static Dialect, Role),
    written: &[PathBuf],
    conversion: &Options,
    flags: &SourceFlags,
) -> Result<Comparison, CommandError> {
    let outline = conversion.outline.as_deref();
    let read = |input: &InputPlace, contents: &mut SessionContents, outline: Option<&Outline>| {
        let failed = |error| CommandError::Read(input.name(), error);
        input.open(flags.max_unpacked)?.each(failed, |bytes| {
            contents.push(bytes, outline);
            Ok(())
        })
    };
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let cannot = |_| CommandError::NoSession(input.name(), dialect, role);
    let mut rules = ComparisonRules::default();
    (rules.are_tools_mapped, rules.cuts) = (conversion.map_tools, conversion.cuts.clone());
    let mut original = SessionContents::new((dialect, role), &options(flags), rules).map_err(cannot)?;
    read(input, &mut original, outline)?;
    let original = original.finish(outline);
    let mut copy = original.reader_of_copy(to, &options(flags)).map_err(cannot)?;
    for (number, path) in written.iter().enumerate() {
        if number > 0 {
            copy.next_file(to, &options(flags)).map_err(cannot)?;
        }
        read(&InputPlace::of(path), &mut copy, None)?;
    }
    Ok(original.compare(&copy.finish(None)))
}

/// The results that a budget cuts; `None` without a budget.
pub(crate) fn cuts(
    (input, identity): (&InputPlace, &Identified),
    outline: Option<&Arc<Outline>>,
    (carry, flags): (&CarryFlags, &SourceFlags),
) -> Result<Option<Arc<ResultCuts>>, CommandError> {
    let Some(budget) = carry.budget else { return Ok(None) };
    let from = (identity.dialect, identity.spec.role);
    let reader = BudgetReader::new(from, &options(flags), (outline.cloned(), budget));
    let mut reader = reader.map_err(|_| CommandError::NoSession(input.name(), from.0, from.1))?;
    let failed = |error| CommandError::Read(input.name(), error);
    input.open(flags.max_unpacked)?.each(failed, |bytes| {
        reader.push(bytes);
        Ok(())
    })?;
    Ok(Some(Arc::new(reader.finish())))
}

/// The sentence about a budget.
pub(crate) fn told_cuts(cuts: &ResultCuts) -> String {
    let ResultCuts { before, after, .. } = cuts;
    match cuts.count() {
        0 => format!("budget: about {} tokens, nothing is cut\n", number(*before)),
        count => format!(
            "budget: {} cut, about {} of {} tokens are left\n",
            plural(count as u64, "old result"),
            number(*after),
            number(*before)
        ),
    }
}

/// The parts of the source that the copy has.
pub(crate) fn came_along(comparison: &Comparison) -> String {
    let told = |Kept { all, kept, .. }: &Kept, word: &str| {
        let missing = if all == kept { String::new() } else { format!("{} of ", number(*kept)) };
        missing + &plural(*all, word)
    };
    let Comparison { prompts, answers, calls, results, pictures, moved, cut, of_subagents, .. } = comparison;
    let mut parts =
        vec![told(prompts, "prompt"), told(answers, "answer"), told(calls, "call"), told(results, "result")];
    if pictures.all > 0 {
        parts.push(told(pictures, "picture"));
    }
    let mut text = format!("read back: {} came along\n", parts.join(", "));
    if *moved > 0 {
        text = text + "in another order, or with another call: " + &plural(*moved, "part") + "\n";
    }
    if *cut > 0 {
        text = text + "cut to the budget: " + &plural(*cut, "result") + "\n";
    }
    if *of_subagents > 0 {
        text = text + "left in the source: " + &plural(*of_subagents, "item") + " of subagents\n";
    }
    text
}
