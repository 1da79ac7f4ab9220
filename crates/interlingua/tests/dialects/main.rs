//! Tests of the mapping of each dialect, in a module of its name, and fast tests over all dialects. One binary, because
//! each binary links the core and compiles the support code.

#![recursion_limit = "256"]
#![allow(missing_docs, reason = "not published")]
#![allow(clippy::format_collect, clippy::needless_pass_by_value, reason = "plain code is easier to check")]

#[allow(dead_code, reason = "the cases only fold streams")]
#[path = "../support/sdk_user.rs"]
mod sdk_user;
#[path = "../support/mod.rs"]
mod support;

mod acp;
mod aider;
mod amp;
mod amp_stream;
mod anthropic;
mod cases;
mod chat;
mod claude_code;
mod cline;
mod codex;
mod codex_app_server;
mod codex_exec;
mod copilot_chat;
mod copilot_cli;
mod copilot_stream;
mod crush;
mod cursor;
mod cursor_db;
mod cursor_stream;
mod detection;
mod droid;
mod export;
mod gemini;
mod gemini_cli;
mod gemini_stream;
mod goose;
mod history;
mod identity;
mod kimi;
mod kimi_stream;
mod nothing_silent;
mod odd_input;
mod opencode;
mod opencode_events;
mod opencode_stream;
mod pi;
mod pi_stream;
mod printed;
mod qwen_code;
mod qwen_stream;
mod record;
mod record_calls;
mod record_lists;
mod requests;
mod responses;
mod session_facts;
mod universal;
mod wire;
