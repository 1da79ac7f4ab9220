//! The content blocks of a prompt as parts for the agent.

use interlingua::json::Str;
use interlingua::model::{Media, MediaSource, Part};
use serde_json::{Map, Value};

use super::messages::RpcError;
use crate::agents::Agent;

/// The parts of a prompt. Consecutive text blocks become one text; links and embedded texts become text, because few
/// agents have a field for them.
pub(super) fn parts(params: &Map<String, Value>, agent: &Agent) -> Result<Vec<Part<'static>>, RpcError> {
    let blocks = params.get("prompt").and_then(Value::as_array);
    let blocks = blocks.ok_or_else(|| RpcError::params("`prompt` is missing or not a list".to_owned()))?;
    let (mut parts, mut text) = (Vec::new(), String::new());
    for block in blocks {
        let member = |name: &str| member(block, name);
        match block["type"].as_str() {
            Some("text") => text.push_str(member("text")?),
            Some("resource_link") => {
                let address = member("uri")?;
                let name = block["name"].as_str().unwrap_or(address);
                text.extend(["[", name, "](", address, ")"]);
            }
            Some("resource") => {
                let resource = &block["resource"];
                let address = self::member(resource, "uri")?;
                let Some(content) = resource["text"].as_str() else {
                    return Err(RpcError::params(format!("{} takes no embedded bytes", agent.name)));
                };
                text.extend(["\n<context ref=\"", address, "\">\n", content, "\n</context>\n"]);
            }
            Some("image") if agent.images => {
                let (kind, data) = (member("mimeType")?, member("data")?);
                if !text.is_empty() {
                    parts.push(Part::Text(Str::from_plain(&std::mem::take(&mut text))));
                }
                let source = MediaSource::Base64(Str::from_plain(data));
                parts.push(Part::Media(Media::new(Some(Str::from_plain(kind)), source)));
            }
            kind => {
                let kind = kind.unwrap_or("without a type");
                return Err(RpcError::params(format!("{} takes no content block `{kind}`", agent.name)));
            }
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(Str::from_plain(&text)));
    }
    let is_blank = |part: &Part<'_>| matches!(part, Part::Text(text) if text.decode().trim().is_empty());
    if parts.iter().all(is_blank) {
        return Err(RpcError::params("the prompt is empty".to_owned()));
    }
    Ok(parts)
}

fn member<'b>(block: &'b Value, name: &str) -> Result<&'b str, RpcError> {
    let found = block[name].as_str();
    found.ok_or_else(|| RpcError::params(format!("a content block has no text `{name}`")))
}
