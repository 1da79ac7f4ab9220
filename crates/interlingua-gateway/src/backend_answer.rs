//! The body of a backend's answer: whole, or its beginning, which decides whether it is a stream.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use interlingua::model::FailureClass;
use tokio::time::timeout;

use crate::backend::BackendBody;
use crate::call::FailedCall;

/// The largest accepted whole answer in bytes.
const MOST_ANSWER: usize = 256 << 20;

/// The most space before the first event of a stream with another content type.
const MOST_SPACE: usize = 4 << 10;

/// Some servers write it before JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The object or the array of a body; `None` for another text.
pub(crate) fn json_text(bytes: &[u8]) -> Option<&[u8]> {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii_start();
    matches!(text.first(), Some(b'{' | b'[')).then_some(text)
}

/// Whether a body begins as a stream of server-sent events, and the bytes that were read for the decision.
pub(crate) async fn begins_stream(
    body: &mut BackendBody,
    idle_timeout: Duration,
) -> Result<(bool, Bytes), FailedCall> {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let mut begin = Bytes::new();
    loop {
        let text = begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&begin).trim_ascii_start();
        if FIELDS.iter().any(|field| text.starts_with(field)) {
            return Ok((true, begin));
        }
        let may_begin = |field: &&[u8]| field.starts_with(text) || BYTE_ORDER_MARK.starts_with(text);
        if begin.len() > MOST_SPACE || !FIELDS.iter().any(may_begin) {
            return Ok((false, begin));
        }
        match timeout(idle_timeout, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else { continue };
                begin = if begin.is_empty() { data } else { [begin, data].concat().into() };
            }
            Ok(Some(Err(error))) => return Err(broke_off(&error)),
            Ok(None) => return Ok((false, begin)),
            Err(_) => return Err(broke_off(&"it was not complete in time")),
        }
    }
}

fn broke_off(cause: &dyn std::fmt::Display) -> FailedCall {
    FailedCall::new(FailureClass::Incomplete, format!("the answer of the backend broke off: {cause}"))
}

/// A whole body, complete within the timeout.
pub(crate) async fn whole(mut body: BackendBody, idle_timeout: Duration) -> Result<Bytes, FailedCall> {
    // The bytes of a short answer arrive with its head, and need no timer.
    if let Some(bytes) = body.take_ready() {
        return Ok(bytes);
    }
    match timeout(idle_timeout, body.whole(MOST_ANSWER)).await {
        Ok(bytes) => bytes.map_err(|error| broke_off(&error)),
        Err(_) => Err(broke_off(&"it was not complete in time")),
    }
}
