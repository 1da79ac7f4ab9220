//! Valid input of any length that is as awkward as its dialect allows: many items are open at once, one item has very
//! many parts, results come in the wrong order. Each shape is a function of the number of its elements.

pub mod agents;
pub mod bodies;
pub mod claude;
pub mod codex;
pub mod gemini;
pub mod record;
pub mod responses;
pub mod streams;
pub mod universal;

/// Generates input of a dialect in which an element is repeated this many times.
pub type HostileShape = fn(usize) -> Vec<u8>;

fn joined(count: usize, element: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for number in 0..count {
        if number > 0 {
            out.push(',');
        }
        out += &element(number);
    }
    out
}
