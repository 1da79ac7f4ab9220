//! One HTTP request outside model calls, with a bounded answer: for commands that ask another service.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use tokio::time::timeout;

use crate::connections::{cause, http_client};

/// An answer of a service.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Sends a request and reads the whole answer, of at most `most` bytes, within `time`. Redirections are not followed. The
/// error is a reason for people.
pub async fn fetch(request: Request<Bytes>, most: usize, time: Duration) -> Result<Fetched, String> {
    let exchange = async {
        let response = http_client().request(request.map(Full::new)).await.map_err(|error| cause(&error))?;
        let (parts, mut body) = response.into_parts();
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| cause(&error))?;
            let data = frame.into_data().unwrap_or_default();
            if bytes.len() + data.len() > most {
                return Err(format!("the answer has more than {most} bytes"));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Fetched { status: parts.status, headers: parts.headers, body: bytes.freeze() })
    };
    timeout(time, exchange).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
}
