//! Backends that several owners share: built-in backends, and backends of a configuration that may be loaded again.

use std::cell::RefCell;
use std::collections::VecDeque;
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

/// The most models whose rows a thread remembers, and the longest name of such a model in bytes.
const MOST_KNOWN: usize = 8;
const LONGEST_KNOWN: usize = 200;

impl SharedBackend {
    /// The capabilities of the model on this backend, to be stored by a writer.
    pub fn capabilities(&self, model: Option<&Str<'_>>) -> ModelCapabilities {
        ModelCapabilities { row: self.known_row_of(model), backend: self.clone() }
    }

    /// The row of a model. The rows of the last models of built-in backends are remembered in each thread: a search compares
    /// the model with hundreds of patterns, and a conversion searches twice.
    fn known_row_of(&self, model: Option<&Str<'_>>) -> Option<usize> {
        /// A backend, the name of a model as it is escaped, and the row of the model.
        type KnownRow = (&'static Backend, String, Option<usize>);
        thread_local! {
            static KNOWN: RefCell<VecDeque<KnownRow>> = const { RefCell::new(VecDeque::new()) };
        }
        let (Inner::BuiltIn(backend), Some(name)) = (&self.0, model) else { return self.row_of(model) };
        let name = name.as_escaped();
        KNOWN.with_borrow_mut(|known| {
            let is_it = |(of, known, _): &&KnownRow| std::ptr::eq(*of, *backend) && known == name;
            if let Some((_, _, row)) = known.iter().find(is_it) {
                return *row;
            }
            let row = self.row_of(model);
            if name.len() <= LONGEST_KNOWN {
                known.truncate(MOST_KNOWN - 1);
                known.push_front((backend, name.to_owned(), row));
            }
            row
        })
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
