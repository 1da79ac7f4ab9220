//! The two neutral forms, and what both do.

pub mod record;
pub mod record_v2;
pub mod universal;
mod unreadable_run;

use crate::ledger::Reason;
use crate::model::{Field, ItemTail};
use crate::pipe::Target;

/// Gives up what is said of the end of an item that has no end of its own here. How it ended may follow from what holds
/// it.
fn lose_tail(tail: &ItemTail<'_>, out: &mut Target<'_>) {
    let ItemTail { id: _, status: _, native_status, is_error, exit_code, duration } = tail;
    out.lose_some(Field::ItemStatus, native_status.as_ref(), Reason::NoSlot);
    for (field, is_said) in [
        (Field::ResultIsError, is_error.is_some()),
        (Field::ResultExitCode, exit_code.is_some()),
        (Field::ResultDuration, duration.is_some()),
    ] {
        if is_said {
            out.lose(field, Reason::NoSlot);
        }
    }
}
