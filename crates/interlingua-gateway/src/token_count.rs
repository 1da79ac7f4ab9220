//! Token counts: by the backend where it counts, or else an estimate that says so.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response};
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::FailureClass;
use interlingua::pipe::Pipe;

use crate::answer_body::AnswerBody;
use crate::backend::BackendRequest;
use crate::backend_answer::whole;
use crate::call::{CallContext, ClientCall, FailedCall, json_response};
use crate::routes::ReadyRoute;

/// The header of a count that is an estimate.
const ESTIMATE: HeaderName = HeaderName::from_static("x-interlingua-estimate");

impl ClientCall<'_> {
    /// Counts the tokens of the request.
    pub(crate) async fn count(
        &self,
        route: &ReadyRoute,
        context: CallContext<'_>,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let Some(target) = route.targets.first() else { return self.estimate() };
        let backend = &context.backends[target.backend];
        let endpoint = backend.api.endpoint(Role::Count, Role::Counted).filter(|_| backend.counts_tokens());
        let (Some(endpoint), Ok(key)) = (endpoint, backend.keys.pick()) else { return self.estimate() };
        let model = target.send.as_deref().unwrap_or(&self.model);
        let options = Options::default().with_model(model.to_owned());
        let sent = convert((self.dialect, backend.dialect), Role::Count, &options, &self.body)?;
        let request = BackendRequest {
            dialect: backend.dialect,
            endpoint,
            model,
            body: Bytes::from(sent),
            key,
            own_headers: None,
        };
        let reply =
            tokio::time::timeout(context.idle_timeout, backend.send(context.connections, request)).await;
        let Ok(Ok(reply)) = reply else { return self.estimate() };
        if reply.status >= 400 {
            return self.estimate();
        }
        let bytes = whole(reply.body, context.idle_timeout).await?;
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
