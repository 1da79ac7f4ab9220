//! Prepares a request for another API, as a gateway does: the translated body, the URL, the headers, and the losses as text
//! and as JSON: `cargo run -p interlingua-report --example request`

use std::io::Write;

use interlingua::dialects::{Options, Role};
use interlingua::pipe::Exchange;
use interlingua::wire::endpoints::Api;
use interlingua_report::ReadableReport;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let request = br#"{"model":"claude-opus-5-5","max_tokens":9,"top_k":5,"messages":[{"role":"user","content":"hi"}]}"#;
    let options = Options::default().with_model("gpt-5.5".to_owned());
    let mut exchange = Exchange::new("anthropic".parse()?, "openai-chat".parse()?, &options);
    let mut body = Vec::new();
    let summary = exchange.request(request, &mut body)?;

    let api = Api::of("openai-chat").ok_or("not a wire dialect")?;
    let endpoint = api.endpoint(Role::Request, summary.answer_role()).ok_or("no endpoint")?;
    let model = summary.model.as_deref().unwrap_or_default();
    let (key, value) = api.key_header("KEY");
    let mut out = std::io::stdout();
    writeln!(out, "{} {}{}", endpoint.method, api.base_url, endpoint.path_for(model))?;
    writeln!(out, "{key}: {value}\n\n{}", String::from_utf8(body)?)?;

    let report = ReadableReport::new(&summary.report);
    writeln!(out, "\n{report}\n{}", report.to_json())?;
    Ok(())
}
