//! Backends that several owners share: built-in backends, and backends of a configuration that may be loaded again.

use std::ops::Deref;
use std::sync::Arc;

use super::{Backend, Capabilities};
use crate::json::Str;

/// A shared backend. A clone is cheap; a backend that is not built in is freed with its last clone.
#[derive(Clone, Debug)]
pub struct SharedBackend(Inner);

#[derive(Clone, Debug)]
enum Inner {
    BuiltIn(&'static Backend),
    Counted(Arc<Backend>),
}

impl SharedBackend {
    /// The capabilities of the model on this backend, to be stored by a writer.
    pub fn capabilities(&self, model: Option<&Str<'_>>) -> ModelCapabilities {
        ModelCapabilities { row: self.row_of(model), backend: self.clone() }
    }

    /// The capabilities of models without a row.
    pub(crate) fn default_capabilities(&self) -> ModelCapabilities {
        ModelCapabilities { row: None, backend: self.clone() }
    }
}

impl Deref for SharedBackend {
    type Target = Backend;

    fn deref(&self) -> &Backend {
        match &self.0 {
            Inner::BuiltIn(backend) => backend,
            Inner::Counted(backend) => backend,
        }
    }
}

impl From<&'static Backend> for SharedBackend {
    fn from(backend: &'static Backend) -> Self {
        Self(Inner::BuiltIn(backend))
    }
}

impl From<Arc<Backend>> for SharedBackend {
    fn from(backend: Arc<Backend>) -> Self {
        Self(Inner::Counted(backend))
    }
}

impl From<Backend> for SharedBackend {
    fn from(backend: Backend) -> Self {
        Self(Inner::Counted(Arc::new(backend)))
    }
}

impl From<&'static Backend> for Option<SharedBackend> {
    fn from(backend: &'static Backend) -> Self {
        Some(backend.into())
    }
}

impl From<Backend> for Option<SharedBackend> {
    fn from(backend: Backend) -> Self {
        Some(backend.into())
    }
}

/// The capabilities of one model, together with the backend that holds them.
#[derive(Clone, Debug)]
pub struct ModelCapabilities {
    backend: SharedBackend,
    /// The row of the model; `None` for a model without a row.
    row: Option<usize>,
}

impl Deref for ModelCapabilities {
    type Target = Capabilities;

    fn deref(&self) -> &Capabilities {
        self.backend.takes_of_row(self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::{Dialect, Options};
    use crate::pipe::Exchange;

    #[test]
    fn a_derived_backend_is_freed_with_its_last_user() {
        let base = Backend::named("vllm", "openai-chat").expect("built in");
        let backend = Arc::new(Backend::derived("mine", "", base, &[], &[]).expect("no rules"));
        let weak = Arc::downgrade(&backend);
        let options = Options::default().with_backend(SharedBackend::from(backend));
        let dialect = |name| Dialect::named(name).expect("a dialect");
        let mut exchange = Exchange::new(dialect("anthropic"), dialect("openai-chat"), &options);
        let request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
        exchange.request(request, &mut Vec::new()).expect("a request");
        drop(options);
        assert!(weak.upgrade().is_some(), "the exchange uses the backend");
        drop(exchange);
        assert!(weak.upgrade().is_none(), "a reference to the backend is left");
    }
}
