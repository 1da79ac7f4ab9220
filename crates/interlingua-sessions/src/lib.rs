//! Sessions on this machine: found in files, directories, patterns and stores, unpacked, opened, detected, joined and taken
//! apart.
//!
//! ```text
//! paths -> sources (files, stdin, directories, globs, stores) -> unpack -> Opened -> identify -> the core
//!                                       \-> joined: records of one family <-> one record
//! ```
//!
//! This crate reads the files of agents and never writes to them. Temporary copies live in folders that only the user can
//! open, and are removed. It parses no flags and prints nothing: errors are values of [`SourceError`], and hints that name
//! flags are the caller's. Sessions are read in pieces and never held whole.
//!
//! ```no_run
//! use std::path::PathBuf;
//!
//! use interlingua_sessions::{MOST_UNPACKED, SourceError, SourceHints, find};
//!
//! let found = find(&[PathBuf::from("logs")], None);
//! for file in &found.files {
//!     let name = file.input.name();
//!     let opened = file.input.open(MOST_UNPACKED)?;
//!     let identity = opened.identify(&name, &SourceHints::default())?;
//!     let mut bytes = 0;
//!     opened.each(|error| SourceError::Read(name.clone(), error), |piece| {
//!         bytes += piece.len();
//!         Ok(())
//!     })?;
//!     assert!(bytes > 0, "{name} is a log of {}", identity.dialect.name);
//! }
//! # Ok::<(), SourceError>(())
//! ```

#![forbid(unsafe_code)]

mod changes;
mod content;
mod error;
mod followed;
mod globs;
mod identify;
mod joined;
pub mod places;
mod private;
mod snapshot;
mod sources;
mod stores;
mod unpack;

pub use content::ContentForm;
pub use error::{SourceError, of_one_dialect};
pub use followed::{FollowEnd, FollowedInput};
pub use globs::is_pattern;
pub use identify::SourceHints;
pub use joined::{Family, SeparatedInput, is_joined, kinship};
pub use private::{PrivateFolder, remove_private_folders};
pub use snapshot::{OpenLine, SnapshotInput};
pub use sources::{FoundFile, FoundFiles, InputPlace, Opened, check_patterns, find};
pub use stores::{
    ArchiveError, SessionInput, SessionStore, StoreContents, StoredSession, is_database, is_store,
};
pub use unpack::{MOST_UNPACKED, Packing, UnpackDamage, UnpackError};
