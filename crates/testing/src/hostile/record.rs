//! Records.

use super::joined;

/// A record with one entry that was made from this many lines, each with surrounding whitespace.
pub fn kept_lines(count: usize) -> Vec<u8> {
    let more = joined(count, |number| format!(r#"{{"type":"mode","number":{number}}}"#));
    let space = joined(count + 1, |_| r#"["","\r"]"#.to_owned());
    record(&format!(
        r#"{{"type":"user","id":"a1","content":"hi","vendor-ext":{{"vendor":"claude-code","data":{{"type":"user","uuid":"~","message":{{"role":"user","content":"~"}}}},"more":[{more}],"space":[{space}]}}}}"#
    ))
}

/// A record with one entry that was made from this many lines, without whitespace.
pub fn kept_lines_close(count: usize) -> Vec<u8> {
    let more = joined(count, |number| format!(r#"{{"type":"mode","number":{number}}}"#));
    record(&format!(
        r#"{{"type":"user","id":"a1","content":"hi","vendor-ext":{{"vendor":"claude-code","data":{{"type":"user","uuid":"~","message":{{"role":"user","content":"~"}}}},"more":[{more}]}}}}"#
    ))
}

/// A record with one message of this many calls.
pub fn children(count: usize) -> Vec<u8> {
    let children = joined(count, |number| {
        format!(r#"{{"type":"tool-call","name":"f","input":{{}},"call-id":"call_{number}"}}"#)
    });
    record(&format!(r#"{{"type":"assistant","id":"a1","content":"now","children":[{children}]}}"#))
}

/// A record with one message in which this many calls and later texts alternate.
pub fn interleaved_children(count: usize) -> Vec<u8> {
    let children = joined(count, |number| {
        format!(
            r#"{{"type":"tool-call","name":"f","input":{{}},"call-id":"call_{number}"}},{{"type":"assistant","part":{},"content":"then"}}"#,
            number + 1
        )
    });
    record(&format!(r#"{{"type":"assistant","id":"a1","content":"now","children":[{children}]}}"#))
}

/// A record with one message of this many texts.
pub fn texts(count: usize) -> Vec<u8> {
    let parts = joined(count, |number| format!(r#"{{"type":"text","text":"part {number}"}}"#));
    record(&format!(r#"{{"type":"assistant","id":"a1","content":[{parts}]}}"#))
}

/// A record with one text of this many bytes.
pub fn long_text(count: usize) -> Vec<u8> {
    record(&format!(r#"{{"type":"assistant","id":"a1","content":"{}"}}"#, "x".repeat(count)))
}

fn record(entries: &str) -> Vec<u8> {
    format!(
        r#"{{"version":"3.0.0","id":"s","session":{{"session-id":"s","agent-meta":{{"model-id":"m","model-provider":"anthropic"}},"entries":[{entries}]}}}}"#
    )
    .into_bytes()
}
