//! Prepares a request as a gateway does, with a server from a configuration: the URL, the headers, the translated body, the
//! report as JSON, and the models that the gateway can list: `cargo run -p interlingua-models --example gateway`

use std::io::Write;

use interlingua::dialects::{Options, Role};
use interlingua::model::Usage;
use interlingua::pipe::Exchange;
use interlingua::wire::endpoints::Api;
use interlingua_models::{Prices, Registry, parse_backends, prices};
use interlingua_report::ReadableReport;

const CONFIGURATION: &str = r#"
[[backend]]
name = "harbour"
dialect = "openai-chat"
base = "openai"
max-temperature = 1.0
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let request = br#"{"model":"claude-opus-5-5","max_tokens":9,"top_k":5,"messages":[{"role":"user","content":"hi"}]}"#;
    // The backend is freed with its last user, so a gateway can load its configuration again.
    let backend = parse_backends(CONFIGURATION)?.into_iter().next().ok_or("no backend")?;
    let api = Api::of(backend.dialect).ok_or("not a wire dialect")?;
    let options = Options::default().with_model("gpt-5.5".to_owned()).with_backend(backend.clone());
    let mut exchange = Exchange::new("anthropic".parse()?, backend.dialect.parse()?, &options);
    let mut body = Vec::new();
    let summary = exchange.request(request, &mut body)?;

    let endpoint = api.endpoint(Role::Request, summary.answer_role()).ok_or("no endpoint")?;
    let model = summary.model.as_deref().unwrap_or_default();
    let (key, value) = api.key_header("KEY");
    let mut out = std::io::stdout();
    writeln!(out, "{} {}{}", endpoint.method, api.base_url, endpoint.path_for(model))?;
    writeln!(out, "{key}: {value}\n\n{}\n", String::from_utf8(body)?)?;
    writeln!(out, "{}", ReadableReport::new(&summary.report).to_json())?;

    let listed: Vec<&str> = Registry::built_in().models_of("openai").map(|model| &*model.name).collect();
    let usage = Usage::new(1_000, 100);
    let cost = Prices::built_in().cost("gpt-5.5", &usage).map(|cost| prices::exact_dollars(cost.cost));
    writeln!(out, "{} models; 1,000 tokens in and 100 out cost ${}", listed.len(), cost.unwrap_or_default())?;
    Ok(())
}
