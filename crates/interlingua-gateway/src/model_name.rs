//! The name of the model in the body of a request, found without a parse of the whole body.

use std::ops::Range;

use interlingua::dialects::Dialect;
use interlingua::tape::{Limits, TapeBuf};

/// Whether requests of a dialect hold the model in their body.
pub(crate) fn has_model(dialect: &Dialect) -> bool {
    dialect.name != "gemini"
}

/// The model of a request body. A body that is no JSON may have a model, too: the translation reports its errors.
pub(crate) fn model_of(body: &[u8]) -> Option<String> {
    if let Some(model) = plain_model(body) {
        return std::str::from_utf8(&body[model]).ok().map(str::to_owned);
    }
    let text = std::str::from_utf8(body).ok()?;
    let mut buffer = TapeBuf::default();
    let tape = buffer.parse(text, &Limits::default()).ok()?;
    Some(tape.root().get("model")?.str()?.decode().into_owned())
}

/// The body with another model; `None` if the body has no model to replace.
pub(crate) fn with_model(body: &[u8], model: &str) -> Option<Vec<u8>> {
    let span = if let Some(inner) = plain_model(body) {
        inner.start - 1..inner.end + 1
    } else {
        let text = std::str::from_utf8(body).ok()?;
        TapeBuf::default().parse(text, &Limits::default()).ok()?.root().get("model")?.span()
    };
    let mut changed = Vec::with_capacity(body.len() + model.len());
    changed.extend_from_slice(&body[..span.start]);
    changed.push(b'"');
    changed.extend_from_slice(interlingua::json::Str::plain(model).as_escaped().as_bytes());
    changed.push(b'"');
    changed.extend_from_slice(&body[span.end..]);
    Some(changed)
}

/// The place of the text of the first member `model` in the object of a body, if the text has no escapes. The search
/// skips strings and the values around the member; a parser would index all of them.
fn plain_model(body: &[u8]) -> Option<Range<usize>> {
    let (mut at, mut depth, mut is_key) = (0, 0_usize, false);
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let start = at;
                at = end_of_string(body, start)? + 1;
                if depth == 1 && is_key && &body[start..at - 1] == b"model" {
                    let rest = body[at..].trim_ascii_start().strip_prefix(b":")?;
                    let value = rest.trim_ascii_start().strip_prefix(b"\"")?;
                    let start = body.len() - value.len();
                    let end = end_of_string(body, start)?;
                    return (!body[start..end].contains(&b'\\')).then_some(start..end);
                }
            }
            b'{' | b'[' => {
                depth += 1;
                is_key = *byte == b'{';
            }
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' => is_key = true,
            b':' => is_key = false,
            _ => {}
        }
    }
    None
}

/// The end of a string that starts after its quotation mark.
fn end_of_string(body: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', body.get(at..)?)?;
        if body[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_model_is_replaced() {
        let body = br#"{ "messages" : [{"model":"inner"}], "model":"a\u0062" ,"n":1e0}"#;
        assert_eq!(model_of(body).as_deref(), Some("ab"));
        let changed = with_model(body, "x\"y").expect("a model");
        assert_eq!(changed, br#"{ "messages" : [{"model":"inner"}], "model":"x\"y" ,"n":1e0}"#);
        assert_eq!(with_model(b"{}", "x"), None);
    }

    #[test]
    fn the_model_is_a_member_of_the_outer_object() {
        for (body, model) in [
            (r#"{"model":"m"}"#, Some("m")),
            (r#" { "a" : "model" , "model" : "m" , "model" : "n" }"#, Some("m")),
            (r#"{"a":["model","x",{"model":"x"}],"b":"\"model\":\\","model":"m/ü"}"#, Some("m/ü")),
            (r#"{"mod\u0065l":"m"}"#, None),
            (r#"{"model":"\u006d"}"#, Some("m")),
            (r#"{"model":7}"#, None),
            (r#"["model","m"]"#, None),
            (r#"{"a":{"model":"m"}}"#, None),
            (r#"{"a":"model"}"#, None),
            (r#"{"model":"m"#, None),
            (r#"{"model"#, None),
            ("{\"a\":\"\\", None),
            ("", None),
        ] {
            assert_eq!(model_of(body.as_bytes()).as_deref(), model, "{body}");
        }
    }
}
