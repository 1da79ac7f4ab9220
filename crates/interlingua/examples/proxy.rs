//! Converts one model call both ways, as a proxy does: an Anthropic request for a server of OpenAI Chat, and its response
//! for the Anthropic client: `cargo run -p interlingua --example proxy`

use std::io::Write;

use interlingua::dialects::Options;
use interlingua::pipe::Exchange;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let response =
        br#"{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop",
        "message":{"role":"assistant","content":"hello"}}]}"#;
    let mut exchange = Exchange::new("anthropic".parse()?, "openai-chat".parse()?, &Options::default());
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let summary = exchange.request(request, &mut to_server)?;
    exchange.answer(summary.answer_role())?.finish_with(response, &mut to_client);
    let mut out = std::io::stdout();
    out.write_all(&to_server)?;
    out.write_all(b"\n")?;
    out.write_all(&to_client)?;
    out.write_all(b"\n")?;
    Ok(())
}
