//! Tests of the meaning of values. The laws check that a change is visible; these tests check that its meaning is
//! correct: each word has the right class, each limit holds at N and not at N + 1, the second session is handled like
//! the first.
//!
//! `cargo xtask mutants` tests these tests: `tests/mutants` in the repository lists mistakes of meaning.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "fixtures are files, settings of a test run are variables")]
#![allow(missing_docs, reason = "not published")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::format_push_string,
    clippy::cast_sign_loss,
    clippy::similar_names,
    reason = "short helpers of a test"
)]

#[path = "../support/mod.rs"]
mod support;

mod family;
mod limits;
mod probes;
mod second;
mod several;
mod tables;
