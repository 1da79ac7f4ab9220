//! Compares the cells of `interlingua matrix` with the fate of every leaf of every fixture: an exact or emulated field
//! is never lost, an unsupported field never arrives, and each field of a source has a cell.

use std::collections::{BTreeMap, BTreeSet};

use interlingua::dialects::{DIALECTS, Role};
use interlingua::ledger::{Fate, Reason};
use interlingua::model::{Field, Support};

use super::inner_items::nested_cases;
use super::support::{Case, Way, convert_traced, fixtures, on_two_threads, other_targets};

#[test]
fn a_cell_of_the_matrix_is_what_conversions_show() {
    let cases: Vec<Case> = fixtures().into_iter().chain(nested_cases()).collect();
    let found = on_two_threads(&cases, |case| {
        other_targets(case).into_iter().flat_map(|to| wrong_cells(case, to)).collect::<Vec<_>>()
    });
    // One line for each cell, because many leaves show the same error.
    let cells: BTreeMap<String, String> = found.into_iter().flatten().collect();
    let lines: Vec<String> = cells.iter().map(|(cell, how)| format!("{cell}: {how}")).collect();
    assert!(lines.is_empty(), "{} cells are wrong:\n{}", lines.len(), lines.join("\n"));
}

/// The cells that the conversion of a case shows to be wrong, each with the finding.
fn wrong_cells(case: &Case, to: Way) -> BTreeMap<String, String> {
    let (from, role) = case.way;
    let report = convert_traced(case.way, to, &case.bytes).report;
    let mut wrong = BTreeMap::new();
    for leaf in &report.trace {
        let Some(field) = leaf.field.filter(|field| is_listed(*field)) else { continue };
        let found = match (from.carries(role, to.0, field), leaf.fate) {
            (None, Fate::Lost(reason)) => format!("no cell, but lost ({})", reason.word()),
            // Damaged input and turns that the source abandoned are independent of the target.
            (
                Some(Support::Exactly | Support::Emulated(_)),
                Fate::Lost(Reason::Invalid | Reason::Abandoned),
            ) => {
                continue;
            }
            (Some(support @ (Support::Exactly | Support::Emulated(_))), Fate::Lost(reason)) => {
                format!("{support:?}, but lost ({})", reason.word())
            }
            (Some(support @ Support::No(_)), Fate::Mapped) => format!("{support:?}, but it arrives"),
            (None | Some(_), Fate::Mapped | Fate::Kept | Fate::Lost(_)) => continue,
        };
        let cell = format!("{} -> {} in {}, {}", from.name, to.0.name, role.word(), field.word());
        wrong.entry(cell).or_insert_with(|| format!("{found} from {case}"));
    }
    wrong
}

#[test]
fn what_a_reader_has_beyond_its_writer_is_declared() {
    let cases = fixtures();
    let found = on_two_threads(&cases, |case| (case.way.0.name, fields_beyond_writer(case)));
    let mut held: BTreeMap<&str, BTreeSet<Field>> = BTreeMap::new();
    for (dialect, fields) in found {
        held.entry(dialect).or_default().extend(fields);
    }
    for dialect in DIALECTS {
        let declared: BTreeSet<Field> = dialect.reads_more.iter().copied().collect();
        let seen = held.remove(dialect.name).unwrap_or_default();
        assert_eq!(declared, seen, "{}: declared, and seen in fixtures", dialect.name);
    }
}

/// The fields that leaves of a case were read as, or lost as, although a writer of the same dialect and role has no
/// place for them.
fn fields_beyond_writer(case: &Case) -> BTreeSet<Field> {
    let (from, role) = case.way;
    let own = from.role(role).and_then(|spec| spec.write.as_ref());
    let Some(own) = own.filter(|_| is_compared(role)) else { return BTreeSet::new() };
    let mut fields = BTreeSet::new();
    for to in other_targets(case) {
        let report = convert_traced(case.way, to, &case.bytes).report;
        fields.extend(report.trace.iter().filter_map(|leaf| leaf.field));
    }
    fields.retain(|field| is_listed(*field) && matches!((own.support)(*field), Support::No(_)));
    fields
}

/// Whether the matrix has rows for the field: tags and padding have no meaning of their own.
fn is_listed(field: Field) -> bool {
    !matches!(field, Field::Structure | Field::Padding)
}

/// Whether the matrix compares that role.
const fn is_compared(role: Role) -> bool {
    matches!(role, Role::Request | Role::Response | Role::Stream | Role::Log | Role::Live)
}
