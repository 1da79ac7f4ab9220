//! Sessions with the mock agent, over the API. The numbers in the names of tests are those of the conformance list in
//! `docs/daemon.md`.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod durability;
mod files;
mod http_answers;
mod requests;
mod retention;
mod streams;
mod support;
mod turns;
