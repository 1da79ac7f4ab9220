//! Shared code of the two benches: input, conversions, baselines and tables.
//!
//! `main.rs` measures time, `bin/allocations.rs` counts allocations. They are separate because a counting allocator
//! takes time, mostly from contestants that allocate most, which are the baselines.

pub mod baseline;
pub mod corpus;
pub mod run;
pub mod table;
pub mod wire;
