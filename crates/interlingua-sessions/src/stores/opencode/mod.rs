//! Sessions of OpenCode: a database, and before that a tree of small files. Each session in either form becomes one document
//! like that of `opencode export`. The database holds credentials, too, so only five tables can be read.
//!
//! ```text
//! opencode.db, -wal --copy--> rows  \
//!                                    > { info, project, messages: [ { info, parts } … ], todo }  -> the core
//! storage/session|message|part ---> files /
//! ```

pub(crate) mod database;
pub(crate) mod tree;
