//! The three laws of DESIGN section 3, for every dialect in the registry and every fixture: no leaf is lost silently,
//! the input can be restored, the order of events is sound. The fixtures of a new dialect are tested as soon as the
//! dialect is registered; a breach names the fixture, the dialects and the finding.
//!
//! `INTERLINGUA_FULL=1` tries every cut and many more mutations; `INTERLINGUA_CORPUS=<folder>` adds real logs.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "fixtures are files, settings of a test run are variables")]

use interlingua::ledger::Report;

mod any_input;
mod leaves;
mod order;
mod restored;
mod wire_round_trips;

/// The bytes that one fixture may convert in one test.
const SOME: usize = 16 << 20;

fn counts(report: &Report) -> String {
    let Report { leaves, mapped, kept, lost, .. } = report;
    format!("{leaves} leaves, {mapped} mapped, {kept} kept, {lost} lost")
}
