//! A program that is the model: clients of every model API talk to it.
//!
//! ```sh
//! cargo run -p interlingua-gateway --example own_model &
//! curl -s localhost:8787/v1/messages -d '{"model":"mine","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
//! ```

#![allow(clippy::print_stderr, reason = "an example")]

use interlingua_gateway::{
    Config, HandlerAnswer, HandlerCall, RouteSettings, Server, ServerParts, SystemLookup,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::default();
    config.routes.push(RouteSettings::new("*", "mine", None));
    let count = |call: &HandlerCall, answer: &mut HandlerAnswer| {
        answer.text(&format!("{} letters", call.user_text().chars().count()));
    };
    let parts = ServerParts::default().with_handler("mine", count);
    let server = Server::start(config, &SystemLookup, parts).await?;
    eprintln!("listening on http://{}", server.address());
    server.serve(std::future::pending()).await;
    Ok(())
}
