//! Token counts: by the backend where it counts, or else an estimate that says so.

use http::{HeaderMap, HeaderName, HeaderValue, Response};
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::FailureClass;
use interlingua::pipe::Pipe;

use crate::answer_body::AnswerBody;
use crate::backend::HttpClient;
use crate::call::{CallTarget, ClientCall, FailedCall, json_response, whole};

/// The header of a count that is an estimate.
const ESTIMATE: HeaderName = HeaderName::from_static("x-interlingua-estimate");

impl ClientCall {
    /// Counts the tokens of the request.
    pub(crate) async fn count(
        &self,
        target: CallTarget<'_>,
        http: &HttpClient,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let CallTarget { backend, send } = target;
        let endpoint = backend.api.endpoint(Role::Count, Role::Counted).filter(|_| backend.counts_tokens());
        let Some(endpoint) = endpoint else { return self.estimate() };
        let model = send.unwrap_or(&self.model);
        let options = Options::default().with_model(model.to_owned());
        let sent = convert((self.dialect, backend.dialect), Role::Count, &options, &self.body)?;
        let reply = backend.send(http, backend.dialect, endpoint, model, sent, &HeaderMap::new()).await;
        let reply = reply.map_err(|error| FailedCall::new(FailureClass::Overloaded, error.0))?;
        if reply.status >= 400 {
            return self.estimate();
        }
        let bytes = whole(reply.body).await?;
        let counted = convert((backend.dialect, self.dialect), Role::Counted, &Options::default(), &bytes)?;
        Ok(json_response(200, counted, None))
    }

    /// A count of four bytes per token, marked as an estimate.
    fn estimate(&self) -> Result<Response<AnswerBody>, FailedCall> {
        let tokens = (self.body.len() as u64).div_ceil(4);
        let counted = format!("{{\"input_tokens\":{tokens}}}");
        let anthropic = Dialect::named("anthropic").unwrap_or(self.dialect);
        let body =
            convert((anthropic, self.dialect), Role::Counted, &Options::default(), counted.as_bytes())?;
        let mut response = json_response(200, body, None);
        response.headers_mut().insert(ESTIMATE, HeaderValue::from_static("true"));
        Ok(response)
    }
}

fn convert(
    (from, to): (&'static Dialect, &'static Dialect),
    role: Role,
    options: &Options,
    bytes: &[u8],
) -> Result<Vec<u8>, FailedCall> {
    let pipe = Pipe::new((from, role), (to, role), options)
        .map_err(|error| FailedCall::new(FailureClass::InvalidRequest, error.to_string()))?;
    let (mut out, is_copy) = (Vec::new(), pipe.is_copy());
    let report = pipe.finish_with(bytes, &mut out);
    if report.read == 0 && !is_copy {
        return Err(FailedCall::new(FailureClass::InvalidRequest, "the request is not JSON"));
    }
    Ok(out)
}
