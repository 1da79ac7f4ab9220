//! JSON as bytes: text that stays escaped, values that stay verbatim, and a writer that inserts the commas.

mod one_line;
mod text;
mod writer;

pub use text::*;
pub use writer::*;
