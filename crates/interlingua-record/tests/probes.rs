//! Runs our checker on the probes: every verdict must be correct.

#![expect(clippy::expect_used, reason = "a test that cannot read its files has failed")]

mod support;

use interlingua::error::{Problem, Severity};
use support::Verdict;

#[test]
fn our_checker_is_right_on_every_probe() {
    let probes = support::probes();
    assert_eq!(probes.len(), 208);
    let wrong: Vec<String> = probes
        .iter()
        .filter_map(|probe| {
            let problems = interlingua_record::check(&probe.json);
            let failing = |problem: &&Problem| problem.code.severity() == Severity::Error;
            let found = if problems.iter().any(|problem| failing(&problem)) {
                Verdict::Invalid
            } else {
                Verdict::Valid
            };
            let which = || format!("{}: {found:?}, {problems:?}", probe.name);
            (found != probe.verdict).then(which)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_breach_is_reported_where_it_is() {
    let problems = interlingua_record::check(
        br#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m",
            "model-provider":"p"},"entries":[{"type":"user"},{"type":"assistant","children":[
            {"type":"tool-call","name":7,"input":{}}]}]}}"#,
    );
    let places: Vec<_> = problems.iter().map(|problem| problem.place.pointer.as_deref()).collect();
    assert_eq!(places, [Some("/session/entries/1/children/0/name")]);
}
