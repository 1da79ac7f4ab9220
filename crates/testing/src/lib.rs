//! An allocator that counts what one thread asks for, and input to try it on.
//!
//! Counting per thread keeps tests apart that run side by side. A block that another thread frees is counted as freed
//! there; the measured code starts no threads.

pub mod generate;
pub mod hostile;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with four counters.
#[derive(Debug)]
pub struct Counting;

/// What a thread has asked for since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Calls that gave memory: allocations and growths.
    pub calls: u64,
    /// Bytes that those calls gave, with what they gave before if a block grew: who grows a block by little many times
    /// shows here.
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

/// Forgets the peak: from now on it is what is held now.
pub fn restart() {
    let counts = COUNTS.get();
    COUNTS.set(Counts { peak: counts.live, ..counts });
}

/// Counts a block of `new` bytes in the place of one of `old` bytes; where there is none, that is 0.
fn count(old: usize, new: usize) {
    // A thread that is ending has no counters any more.
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
// SAFETY: each method hands its arguments to `System` as they came and returns what it gave.
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

    /// A block that grows is counted once, at its new size: the system moves pages of large blocks, not bytes.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), size);
        unsafe { System.realloc(block, layout, size) }
    }
}
