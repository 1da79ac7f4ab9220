//! A -> B -> A, for all pairs of the nine agents: nothing is missing that is not declared.

use super::{Home, SESSIONS, counts, file_of};

/// The declared differences: what a pair does not carry, and why.
const DECLARED: [(&str, &str, &str); 0] = [];

#[test]
fn every_session_comes_back_from_every_agent() {
    let mut missing = Vec::new();
    let mut pairs = 0;
    for (source, _, place) in SESSIONS {
        let home = Home::new(&[source]);
        for (target, ..) in SESSIONS.iter().filter(|(target, ..)| *target != source) {
            pairs += 1;
            let there = home.carried(home.path(place).to_str().expect("UTF-8"), target, &[]);
            let back = home.carried(&file_of(&there), source, &[]);
            assert!(counts(&there, "prompts").0 > 0, "{source} has prompts");
            for sort in ["prompts", "answers", "calls", "results", "pictures"] {
                let ((all, kept), (again, returned)) = (counts(&there, sort), counts(&back, sort));
                // A call without a result has a marked result in the other agent, which comes back, too.
                let is_more = if sort == "results" { again < all } else { again != all };
                if kept < all || returned < again || is_more {
                    missing.push(format!(
                        "{source} -> {target}: {sort} {kept} of {all}; back {returned} of {again}"
                    ));
                }
            }
        }
    }
    assert_eq!(pairs, 72);
    let is_declared = |line: &String| {
        DECLARED.iter().any(|(from, to, sort)| line.starts_with(&format!("{from} -> {to}: {sort} ")))
    };
    let undeclared: Vec<&String> = missing.iter().filter(|line| !is_declared(line)).collect();
    assert!(undeclared.is_empty(), "{undeclared:#?}");
    let is_used = |(from, to, sort): &&(&str, &str, &str)| {
        missing.iter().any(|line| line.starts_with(&format!("{from} -> {to}: {sort} ")))
    };
    assert_eq!(DECLARED.iter().filter(is_used).count(), DECLARED.len(), "a declared difference is gone");
}
