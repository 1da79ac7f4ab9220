//! An allocator that counts the allocations of each thread, and input generators to measure.
//!
//! Counting per thread separates tests that run in parallel. A block freed by another thread is counted as freed there;
//! the measured code starts no threads.

pub mod generate;
pub mod hostile;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with four counters.
#[derive(Debug)]
pub struct Counting;

/// The allocations of a thread since its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Number of allocations and reallocations.
    pub calls: u64,
    /// Bytes returned by these calls, including the old content of a grown block: growing a block often by small
    /// amounts adds up here.
    pub asked: u64,
    /// Bytes held now.
    pub live: i64,
    /// The most bytes held at once since [`restart`].
    pub peak: i64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { calls: 0, asked: 0, live: 0, peak: 0 }) };
}

/// The counters of this thread.
pub fn counts() -> Counts {
    COUNTS.get()
}

/// Resets the peak to the bytes held now.
pub fn restart() {
    let counts = COUNTS.get();
    COUNTS.set(Counts { peak: counts.live, ..counts });
}

/// Counts a block of `new` bytes that replaces a block of `old` bytes; 0 means no block.
fn count(old: usize, new: usize) {
    // The counters of an ending thread are already destroyed.
    let _ = COUNTS.try_with(|cell| {
        let Counts { calls, asked, live, peak } = cell.get();
        let live = live + bytes(new) - bytes(old);
        cell.set(Counts {
            calls: calls + u64::from(new > 0),
            asked: asked + new as u64,
            live,
            peak: peak.max(live),
        });
    });
}

#[expect(clippy::cast_possible_wrap, reason = "no block is larger than half the address space")]
fn bytes(size: usize) -> i64 {
    size as i64
}

#[expect(unsafe_code, reason = "the trait is unsafe; every call goes to the system's allocator unchanged")]
// SAFETY: each method passes its arguments to `System` unchanged and returns its result.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size(), 0);
        unsafe { System.dealloc(block, layout) }
    }

    /// A grown block is counted once, at its new size: the system remaps the pages of large blocks instead of copying
    /// bytes.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), size);
        unsafe { System.realloc(block, layout, size) }
    }
}
