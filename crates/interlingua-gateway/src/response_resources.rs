//! The resources below `/v1/responses/{id}`: a stored response, its input items, its removal; and responses that are made in the
//! background, which a client polls and cancels.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use interlingua::dialects::Dialect;
use interlingua::json::Str;
use interlingua::model::FailureClass;
use interlingua::tape::{Limits, TapeBuf, Val};

use crate::answer_body::AnswerBody;
use crate::call::{FailedCall, json_response};
use crate::clients::Client;
use crate::finished::new_id;
use crate::service::{ClientBody, Gateway, GatewayState, ModelRequest};
use crate::stored_responses::{Cancelled, NewResponse, StoredResponse, rewritten};
use crate::telemetry::percent_decoded;

/// The most items in one page of a list, and the number without a limit.
const MOST_ITEMS: usize = 100;
const USUAL_ITEMS: usize = 20;

fn invalid(message: impl Into<String>) -> FailedCall {
    FailedCall::new(FailureClass::InvalidRequest, message)
}

/// Whether a path below `/v1/responses/` is that of a resource, for this method.
pub(crate) fn is_resource(method: &Method, rest: &str) -> bool {
    match rest.split_once('/') {
        None => [Method::GET, Method::DELETE].contains(method),
        Some((_, "input_items")) => method == Method::GET,
        Some((_, "cancel")) => method == Method::POST,
        Some(_) => false,
    }
}

impl Gateway {
    /// The answer to a request for a resource. `rest` is the path below `/v1/responses/`.
    pub(crate) fn response_resource(
        &self,
        client: &Client,
        request: &Request<ClientBody>,
        rest: &str,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let (id, resource) = rest.split_once('/').unwrap_or((rest, ""));
        let id = percent_decoded(id);
        let query = request.uri().query().unwrap_or_default();
        let responses = &self.log.responses;
        let missing =
            || FailedCall::new(FailureClass::NotFound, format!("Response with id '{id}' not found."));
        let stored = || responses.get(&id, &client.name).ok_or_else(missing);
        let body = match (resource, request.method()) {
            ("input_items", _) => input_items(&id, &*stored()?, query)?,
            ("cancel", _) => match responses.cancel(&id, &client.name) {
                Cancelled::Missing => return Err(missing()),
                Cancelled::NotInBackground => {
                    return Err(invalid("only a response with `background: true` can be cancelled"));
                }
                Cancelled::Response(response) => response,
            },
            (_, &Method::GET) => {
                if parameter(query, "stream").is_some_and(|value| value == "true") {
                    return Err(invalid("`stream` is not served for stored responses; poll the response"));
                }
                stored()?.response.clone()
            }
            _ => {
                if !responses.remove(&id, &client.name) {
                    return Err(missing());
                }
                let id = Str::plain(&id);
                format!(r#"{{"id":"{}","object":"response","deleted":true}}"#, id.as_escaped())
            }
        };
        Ok(json_response(200, body, None))
    }

    /// Begins a response in the background, and answers with the response so far.
    pub(crate) fn begin_in_background(
        self: &Arc<Self>,
        state: &GatewayState,
        client: &Client,
        request: ModelRequest,
        asked: BackgroundRequest,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let BackgroundRequest { model, streams, stores } = asked;
        if state.has_native_responses(&model, request.dialect) {
            return Err(invalid(format!(
                "`background` is not served for the model `{model}`, because its backend stores responses itself and the gateway cannot poll them; send the request without `background`"
            )));
        }
        if streams {
            return Err(invalid(
                "`background` with `stream` is not served; poll the response, or leave one of the two out",
            ));
        }
        if !stores {
            return Err(invalid(
                "a response with `background` must be stored; leave `store` out, or set it to true",
            ));
        }
        let whole = self.with_history(&request.body, client)?.unwrap_or_else(|| request.body.clone());
        let without = ["background", "stream", "store"];
        let body = rewritten(&whole, &without, &[("stream", "false"), ("store", "false")])?;
        let (now, id) = new_id();
        let id = format!("resp_{id}");
        let (client, created, settings) = (&client.name, now / 1000, &request.body);
        let new = NewResponse { id: &id, client, created, model: &model, settings };
        let queued = self.log.responses.begin(new, &whole)?;
        let (gateway, name, own_id) = (Arc::clone(self), client.clone(), id.clone());
        let request = ModelRequest { body: Bytes::from(body), ..request };
        let task = tokio::spawn(async move { gateway.run_in_background(&name, request, &own_id).await });
        self.log.responses.set_task(&id, task.abort_handle());
        Ok(json_response(200, queued, None))
    }

    async fn run_in_background(&self, client: &str, request: ModelRequest, id: &str) {
        // A gateway that is stopped ends the response first.
        let _open = self.open_connection();
        self.log.responses.set_in_progress(id);
        let dialect = request.dialect;
        let state = self.state();
        let Some(client) = state.client(client) else {
            let gone = FailedCall::new(FailureClass::Authentication, "the key of this client was removed");
            return self.log.responses.finish(id, &gone.body(dialect));
        };
        let returned = match self.respond(&state, client, request).await {
            Ok(response) => match response.into_body().collect().await {
                Ok(body) => body.to_bytes(),
                Err(_) => Bytes::from_static(b"{}"),
            },
            Err(failure) => Bytes::from(failure.body(dialect)),
        };
        self.log.responses.finish(id, &returned);
    }
}

/// The members of a request that decide whether it runs in the background.
pub(crate) struct BackgroundRequest {
    model: String,
    streams: bool,
    stores: bool,
}

impl BackgroundRequest {
    /// `None` for a request that does not ask for the background.
    pub(crate) fn of(dialect: &Dialect, body: &[u8]) -> Option<Self> {
        if dialect.name != "openai-responses" {
            return None;
        }
        memchr::memmem::find(body, b"background")?;
        let text = std::str::from_utf8(body).ok()?;
        let mut tape = TapeBuf::default();
        let tape = tape.parse(text, &Limits::default()).ok()?;
        let flag = |name| tape.root().get(name).and_then(|value| value.bool());
        let model = tape.root().get("model")?.str()?.decode().into_owned();
        let is_asked = flag("background") == Some(true);
        let (streams, stores) = (flag("stream") == Some(true), flag("store") != Some(false));
        is_asked.then_some(Self { model, streams, stores })
    }
}

/// The decoded value of a parameter.
fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .into_iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| percent_decoded(&value.replace('+', " ")))
}

/// A page of the input items of a response: the items of earlier responses that it continues, then the items of its request.
fn input_items(id: &str, stored: &StoredResponse, query: &str) -> Result<String, FailedCall> {
    let limit = match parameter(query, "limit") {
        None => USUAL_ITEMS,
        Some(limit) => limit
            .parse()
            .ok()
            .filter(|limit| (1..=MOST_ITEMS).contains(limit))
            .ok_or_else(|| invalid(format!("`limit` is a number from 1 to {MOST_ITEMS}")))?,
    };
    let is_ascending = match parameter(query, "order").as_deref() {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(_) => return Err(invalid("`order` is `asc` or `desc`")),
    };
    let array = format!("[{}]", stored.input);
    let mut tape = TapeBuf::default();
    let unreadable = |_| invalid("the stored items cannot be read");
    let tape = tape.parse(&array, &Limits::default()).map_err(unreadable)?;
    let numbered = tape.root().elements().enumerate();
    let mut items: Vec<(String, String)> = numbered.map(|(at, item)| input_item(id, at, item)).collect();
    if !is_ascending {
        items.reverse();
    }
    let begin = match parameter(query, "after") {
        None => 0,
        Some(after) => {
            let at = items.iter().position(|(id, _)| *id == after);
            at.ok_or_else(|| invalid(format!("`after`: the response has no item `{after}`")))? + 1
        }
    };
    let page = items.get(begin..).unwrap_or_default();
    let has_more = page.len() > limit;
    let page = page.get(..limit).unwrap_or(page);
    let quoted = |item: Option<&(String, String)>| match item {
        Some((id, _)) => format!("\"{}\"", Str::plain(id).as_escaped()),
        None => "null".to_owned(),
    };
    let data: Vec<&str> = page.iter().map(|(_, item)| item.as_str()).collect();
    let (first, last) = (quoted(page.first()), quoted(page.last()));
    let data = data.join(",");
    Ok(format!(
        r#"{{"object":"list","data":[{data}],"first_id":{first},"last_id":{last},"has_more":{has_more}}}"#
    ))
}

/// The id and the JSON of an item. An item without an id has one that is made of the response's id and the item's number.
fn input_item(response: &str, at: usize, item: Val<'_>) -> (String, String) {
    let text =
        |name: &str| item.get(name).and_then(|value| value.str()).map(|text| text.decode().into_owned());
    let kind = text("type").unwrap_or_else(|| "message".to_owned());
    let begin = match kind.as_str() {
        "message" => "msg",
        "function_call" => "fc",
        "function_call_output" => "fco",
        "reasoning" => "rs",
        _ => "item",
    };
    let made = || format!("{begin}_{}_{at}", response.trim_start_matches("resp_"));
    let id = text("id").filter(|id| !id.is_empty()).unwrap_or_else(made);
    let mut json =
        format!(r#"{{"id":"{}","type":"{}""#, Str::plain(&id).as_escaped(), Str::plain(&kind).as_escaped());
    if item.get("status").is_none() && ["msg", "fc", "fco"].contains(&begin) {
        json.push_str(r#","status":"completed""#);
    }
    for (name, value) in item.members().filter(|(name, _)| !name.is("id") && !name.is("type")) {
        json = json + ",\"" + name.as_escaped() + "\":";
        // The text of a message is short for one part.
        if name.is("content") && begin == "msg" && value.str().is_some() {
            let part = match text("role").as_deref() {
                Some("assistant") => {
                    format!(r#"[{{"type":"output_text","text":{},"annotations":[]}}]"#, value.text())
                }
                _ => format!(r#"[{{"type":"input_text","text":{}}}]"#, value.text()),
            };
            json.push_str(&part);
        } else {
            json.push_str(value.text());
        }
    }
    json.push('}');
    (id, json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored_responses::StoredResponses;

    fn page(query: &str) -> Result<String, FailedCall> {
        let responses = StoredResponses::new(10_000);
        let request = br#"{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c"},
            {"id":"own","type":"function_call_output","call_id":"c","status":"incomplete"},{"role":"assistant","content":"b"}]}"#;
        let answer = br#"{"id":"resp_1","object":"response","output":[{"type":"message","id":"out"}]}"#;
        responses.store("c", request, answer);
        input_items("resp_1", &responses.get("resp_1", "c").expect("stored"), query)
    }

    fn ids(query: &str) -> (Vec<String>, bool) {
        let page = page(query).unwrap_or_else(|_| panic!("{query}: no page"));
        let mut tape = TapeBuf::default();
        let tape = tape.parse(&page, &Limits::default()).expect("JSON");
        let data = tape.root().get("data").expect("data");
        let ids = data.elements().map(|item| item.get("id").expect("an id").str().expect("a text"));
        let ids = ids.map(|id| id.decode().into_owned()).collect();
        (ids, tape.root().get("has_more").and_then(|more| more.bool()).expect("a flag"))
    }

    #[test]
    fn items_are_listed_in_both_orders_and_in_pages() {
        let all = ["msg_1_0", "fc_1_1", "own", "msg_1_3"].map(str::to_owned);
        let reversed: Vec<String> = all.iter().rev().cloned().collect();
        assert_eq!(ids("order=asc"), (all.to_vec(), false));
        assert_eq!(ids(""), (reversed.clone(), false));
        assert_eq!(ids("limit=2"), (reversed[..2].to_vec(), true));
        assert_eq!(ids("limit=2&after=own"), (reversed[2..].to_vec(), false));
        assert_eq!(ids("order=asc&after=msg_1_3"), (Vec::new(), false));
        for wrong in ["limit=0", "limit=101", "limit=x", "order=up", "after=gone"] {
            assert!(page(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_item_has_an_id_a_type_and_a_list_of_parts() {
        let page = page("order=asc&limit=3").unwrap_or_else(|_| panic!("no page"));
        assert_eq!(
            page,
            r#"{"object":"list","data":[{"id":"msg_1_0","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"a"}]},{"id":"fc_1_1","type":"function_call","status":"completed","call_id":"c"},{"id":"own","type":"function_call_output","call_id":"c","status":"incomplete"}],"first_id":"msg_1_0","last_id":"own","has_more":true}"#
        );
    }
}
