//! Input that is legal, of any length, and as awkward as its dialect allows: much is open at once, one thing has very
//! many parts, answers come in the wrong order. Each shape is a function of how often its element is repeated.

pub mod agents;
pub mod bodies;
pub mod claude;
pub mod codex;
pub mod gemini;
pub mod record;
pub mod responses;
pub mod streams;
pub mod universal;

/// Bytes of some dialect in which something is repeated that many times.
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
