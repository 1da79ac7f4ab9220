//! Tests that know what a value means. The laws see that a change shows; these see that it means the right thing: each
//! word has its class, each cap holds at N and not at N + 1, the second session is like the first.
//!
//! `cargo xtask mutants` tries them: `tests/mutants` in the repository lists mistakes of meaning.

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
