//! The two neutral forms.

pub mod record;
pub mod universal;
