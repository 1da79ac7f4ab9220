//! Interlingua's own two formats, and the code they share.

pub mod record;
pub mod record_v2;
pub mod universal;
mod unreadable_run;

use crate::ledger::Reason;
use crate::model::{Field, ItemTail};
use crate::pipe::WriterOutput;

/// Books as lost the end of an item that has no end of its own in the target. The item around it may imply the status.
fn lose_tail(tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
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
