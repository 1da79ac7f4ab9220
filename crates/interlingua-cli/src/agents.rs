//! The daemon as a part of the server: agents behind the paths of the gateway's address.

use std::pin::Pin;

use http::header;
use interlingua_daemon::{ApiBody, ApiRequest, Daemon};
use interlingua_gateway::{Extension, ExtensionBody, ExtensionRequest, ExtensionResponse};
use tokio::runtime::Handle;

/// Answers the requests about agents on the runtime of the daemon.
pub(crate) struct AgentPaths {
    pub(crate) daemon: Daemon,
    pub(crate) runtime: Handle,
}

impl Extension for AgentPaths {
    fn serves(&self, path: &str) -> bool {
        Daemon::serves(path)
    }

    fn is_public(&self, path: &str) -> bool {
        path == "/v1/health"
    }

    fn answer(&self, request: ExtensionRequest) -> Pin<Box<dyn Future<Output = ExtensionResponse> + Send>> {
        let text = |name| request.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (content_type, last_event_id) = (text(header::CONTENT_TYPE.as_str()), text("last-event-id"));
        let mut asked = ApiRequest::new(request.method, request.path);
        asked.query = request.query;
        asked.content_type = content_type;
        asked.last_event_id = last_event_id;
        asked.body = request.body;
        let daemon = self.daemon.clone();
        let answer = self.runtime.spawn(async move { daemon.answer(asked).await });
        Box::pin(async move {
            match answer.await {
                Ok(response) => {
                    let body = match response.body {
                        ApiBody::Stream(pieces) => ExtensionBody::Stream(pieces),
                        ApiBody::Whole(bytes) => ExtensionBody::Whole(bytes),
                        _ => ExtensionBody::Whole(bytes::Bytes::new()),
                    };
                    ExtensionResponse::new(response.status, response.content_type, body)
                }
                // The server is ending.
                Err(_) => ExtensionResponse::new(503, None, ExtensionBody::Whole(bytes::Bytes::new())),
            }
        })
    }
}
