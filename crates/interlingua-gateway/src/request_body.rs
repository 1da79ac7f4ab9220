//! The body of a client's request: the limits on its size and its time, and its compression.

use std::io::Read;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use interlingua::model::FailureClass;
use ruzstd::decoding::StreamingDecoder;
use tokio::time::timeout;

use crate::call::FailedCall;
use crate::service::ClientBody;

/// The limits on the body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    /// The most bytes, also after the compression.
    pub(crate) most: usize,
    /// The longest time without a byte.
    pub(crate) silence: Duration,
}

/// The whole body of a request, without compression.
pub(crate) async fn whole(
    body: ClientBody,
    headers: &HeaderMap,
    limits: BodyLimits,
) -> Result<Bytes, FailedCall> {
    let bytes = match body {
        ClientBody::Whole(bytes) if bytes.len() <= limits.most => bytes,
        ClientBody::Whole(_) => return Err(too_large(limits.most)),
        ClientBody::Incoming(body) => received(body, limits).await?,
    };
    match headers.get(header::CONTENT_ENCODING) {
        Some(coding) => decoded(bytes, coding.as_bytes(), limits.most),
        None => Ok(bytes),
    }
}

fn too_large(most: usize) -> FailedCall {
    FailedCall::new(FailureClass::TooLarge, format!("the request is larger than {most} bytes"))
}

async fn received(mut body: Incoming, limits: BodyLimits) -> Result<Bytes, FailedCall> {
    let invalid = |message: String| FailedCall::new(FailureClass::InvalidRequest, message);
    let (mut pieces, mut length) = (Vec::new(), 0);
    loop {
        let frame = match timeout(limits.silence, body.frame()).await {
            Ok(Some(frame)) => frame.map_err(|_| invalid("the request broke off".to_owned()))?,
            Ok(None) => break,
            Err(_) => {
                let seconds = limits.silence.as_secs();
                return Err(invalid(format!("no byte of the request came for {seconds} s")));
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > limits.most {
            return Err(too_large(limits.most));
        }
        pieces.push(data);
    }
    // Most bodies have a single piece, which needs no copy. A buffer that grows with each piece would keep more memory.
    Ok(match <[Bytes; 1]>::try_from(pieces) {
        Ok([only]) => only,
        Err(pieces) => pieces.concat().into(),
    })
}

/// A body without its compression. The limit holds for the result, because a few bytes can decode to gigabytes.
fn decoded(body: Bytes, coding: &[u8], most: usize) -> Result<Bytes, FailedCall> {
    let coding = String::from_utf8_lossy(coding).trim().to_ascii_lowercase();
    let invalid = |message: String| FailedCall::new(FailureClass::InvalidRequest, message);
    let broken = |error: &dyn std::fmt::Display| invalid(format!("the request is not `{coding}`: {error}"));
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut plain = Vec::new();
    let result = match &*coding {
        "" | "identity" => return Ok(body),
        "gzip" | "x-gzip" => MultiGzDecoder::new(&*body).take(limit).read_to_end(&mut plain),
        "deflate" => ZlibDecoder::new(&*body).take(limit).read_to_end(&mut plain),
        "zstd" => {
            let decoder = StreamingDecoder::new(&*body).map_err(|error| broken(&error))?;
            decoder.take(limit).read_to_end(&mut plain)
        }
        _ => {
            let message = format!(
                "the gateway cannot read a request with `content-encoding: {coding}`, only gzip, deflate and zstd"
            );
            return Err(invalid(message));
        }
    };
    result.map_err(|error| broken(&error))?;
    if plain.len() > most {
        return Err(too_large(most));
    }
    Ok(plain.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).expect("written to memory");
        encoder.finish().expect("written to memory").into()
    }

    #[test]
    fn a_compressed_body_is_decoded_up_to_the_limit() {
        let text = b"{\"model\":\"m\"}".repeat(100);
        let zstd = ruzstd::encoding::compress_to_vec(&*text, ruzstd::encoding::CompressionLevel::Fastest);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(&text).expect("written to memory");
        let zlib = zlib.finish().expect("written to memory");
        for (coding, packed) in
            [("gzip", gzip(&text)), ("X-GZIP", gzip(&text)), (" zstd", zstd.into()), ("deflate", zlib.into())]
        {
            let whole = decoded(packed.clone(), coding.as_bytes(), text.len()).expect(coding);
            assert_eq!(whole, text, "{coding}");
            let refused = decoded(packed.clone(), coding.as_bytes(), text.len() - 1).expect_err(coding);
            assert_eq!(refused.class, FailureClass::TooLarge, "{coding}");
            let cut = packed.slice(..packed.len() / 2);
            assert!(decoded(cut, coding.as_bytes(), text.len()).is_err(), "{coding}");
        }
    }

    #[test]
    fn a_body_of_another_coding_is_refused() {
        assert_eq!(decoded(Bytes::from_static(b"x"), b"identity", 9).expect("plain"), "x");
        let refused = decoded(Bytes::from_static(b"x"), b"br", 9).expect_err("unknown");
        assert!(refused.message.contains("`content-encoding: br`"), "{}", refused.message);
        assert!(decoded(Bytes::from_static(b"{}"), b"gzip", 9).is_err());
    }
}
