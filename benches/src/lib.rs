//! What the two benches share: input, conversions, baselines and tables.
//!
//! Time is taken by `main.rs`, allocations are counted by `bin/allocations.rs`: an allocator that counts takes time of
//! its own, and most of it from those who allocate most, which are the baselines.

pub mod baseline;
pub mod corpus;
pub mod run;
pub mod table;
pub mod wire;
