//! The sessions of all agents on this machine.
//!
//! ```text
//! homes (where each agent keeps sessions) -> Library (reads new and changed files) -> list, names
//!                                                   \-> Catalogue (SQLite; files that did not change are not read again)
//! ```
//!
//! The library never changes a session of an agent. To carry a session on in another agent, [`carry`] writes a new session
//! beside the others. The catalogue is a cache: it may be deleted at any time, and a damaged one is built anew.

#![forbid(unsafe_code)]

pub mod backup;
pub mod carry;
mod catalogue;
mod compare;
mod digests;
pub mod homes;
mod imported;
mod library;
mod name;
mod runs;
mod search;
mod words;

pub use backup::{BackupError, BackupReport, SavedState, SessionBackup};
pub use carry::{CarriedSession, CarryError, NewSession, Successor, SuccessorPlace};
pub use catalogue::CatalogueError;
pub use compare::{Comparison, ComparisonRules, FinishedContents, Kept, SessionContents};
pub use homes::{AgentHome, Environment};
pub use library::{FoundSession, Library, ListedSession, Refreshed};
pub use name::{NUMBER, NameError, SessionName, id_word};
pub use search::{SearchHit, SearchQuery};
