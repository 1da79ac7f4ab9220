//! Formats that other tools read, and that nothing is read from: trajectories of Harbor and spans of OpenTelemetry.
//!
//! An export has a place of its own for the main values of a session, and an open map for every other value, under the
//! names of our model. So an export loses only values that no dialect of ours understands.

mod facts;
mod sequence;
mod support;
mod usage;

pub mod atif;
pub mod otel;
