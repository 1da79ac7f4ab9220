//! What logs share: an item is gathered with all that belongs to it, then the frame that was kept for it is given back
//! with its holes filled, or a frame is built.
//!
//! A dialect says how its values look ([`LogForm`]): the same native values fill the holes of a kept frame and make up a
//! built one. Everything else is here: which frame may be filled and what becomes of the others, what stands between
//! frames, what a built frame cannot say, ids, times and the facts of the session.

mod file;
mod fill;
mod gather;
mod values;
mod writer;

pub use file::{LogFile, is_date};
pub use fill::has_hole;
pub use gather::{GatheredContent, GatheredItem, GatheredItems};
pub use values::{NativeElement, NativeObject, NativeValue};
pub use writer::{ItemPlace, LogForm, LogRules, LogWriter};
