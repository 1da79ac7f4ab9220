//! Backends by name: the built-in list and the backends defined in the user's file.

use std::fs;
use std::path::Path;

use interlingua::dialects::Dialect;
use interlingua::wire::backends::{Backend, SharedBackend};
use interlingua_models::parse_backends;
use interlingua_report::safe;

use crate::error::CommandError;
use crate::flags::BackendFlags;

/// The backend selected by the flags, for a target of the given dialect.
pub(crate) fn chosen(
    flags: &BackendFlags,
    dialect: &'static Dialect,
) -> Result<Option<SharedBackend>, CommandError> {
    let own = own(flags.backends.as_deref())?;
    let Some(name) = &flags.backend else { return Ok(None) };
    let speaks = |backend: &SharedBackend| backend.name == *name && backend.dialect == dialect.name;
    let found = own.into_iter().find(speaks);
    let found = found.or_else(|| Backend::named(name, dialect.name).map(Into::into));
    found.map(Some).ok_or_else(|| CommandError::UnknownBackend(name.clone(), dialect))
}

/// The backends defined in the user's file.
pub(crate) fn own(path: Option<&Path>) -> Result<Vec<SharedBackend>, CommandError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let name = safe::path_name(path);
    let text = fs::read_to_string(path).map_err(|error| CommandError::Read(name.clone(), error))?;
    parse_backends(&text).map_err(|error| CommandError::Backends(name, error.to_string()))
}
