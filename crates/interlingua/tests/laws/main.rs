//! Laws over every dialect in the registry, and the tests of these laws: the slow tests.

#![allow(missing_docs, reason = "not published")]

#[path = "../support/mod.rs"]
mod support;

mod blank_lines;
mod books;
mod collisions;
mod frames;
mod mutants;
mod neighbours;
mod streams;
mod three_laws;
