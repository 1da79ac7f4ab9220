//! What the agents family speaks.

pub mod pi;
