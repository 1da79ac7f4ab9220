//! Tests of the pipe, the exchange, joined sessions and the kit for logs.

#![allow(missing_docs, reason = "not published")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../support/sdk_user.rs"]
mod sdk_user;
#[path = "../support/mod.rs"]
mod support;

mod caps;
mod doors;
mod exchange;
mod graph;
mod logs;
mod loops;
