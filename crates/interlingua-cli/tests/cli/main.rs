//! The command, run as its users run it. One program holds all tests: each program of its own would be linked for a second, and
//! tests that wait would not run beside others.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run has failed")]

mod agents_served;
mod attribute;
mod audit;
mod bad_input;
mod bounded;
mod bulk;
mod carrying;
mod check;
mod continuation;
mod convert;
mod detection;
mod editor;
mod encoded;
mod examples;
mod families;
mod files;
mod flags;
mod gateway;
mod hostile;
mod huge;
mod joined;
mod live;
mod new_user;
mod orders;
mod promises;
mod reports;
mod run_agent;
mod scrapi;
mod show;
mod signed;
mod small_things;
mod stats;
mod stores;
mod support;
mod terminal;
