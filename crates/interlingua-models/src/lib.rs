//! The registry of models, and files in the same words: capabilities of servers and models, prices, lists of models, and a
//! user's own backends.
//!
//! ```text
//! models.toml --+--> Registry::built_in: classes, backends, lists of models
//!               +--> Prices::built_in: prices by model
//!               +--> `cargo xtask docs`: the table of backends in the core
//! a user's file ---> parse_backends: backends for `Options::with_backend`
//! a user's file ---> Prices::parse: prices instead of the built-in ones
//! ```
//!
//! The core holds the capabilities as a generated table, because it parses nothing at its start. A test of this crate compares
//! that table with `models.toml`. This crate opens no files, prints nothing and parses no flags.
//!
//! ```
//! use interlingua::dialects::Options;
//! use interlingua_models::{Registry, parse_backends};
//!
//! let own = parse_backends(
//!     "[[backend]]\nname = \"harbour\"\ndialect = \"openai-chat\"\nbase = \"vllm\"\nmax-temperature = 1.0",
//! )?;
//! let options = Options::default().with_backend(own[0].clone());
//! assert!(Registry::built_in().models_of("anthropic").any(|model| model.name == "claude-opus-5-5"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod prices;
mod registry;
mod rules;
mod user_backends;

pub use prices::Prices;
pub use registry::{ClassRow, FactSource, KnownModel, ModelClass, Registry, RegistryError, ServerEntry};
pub use user_backends::{BackendFault, BackendsError, parse_backends};
