//! `find`: words in the sessions of all agents.

use clap::Args;
use interlingua_library::{FoundSession, SearchHit, SearchQuery};
use interlingua_report::json::document;
use interlingua_report::render::plural;
use interlingua_report::safe;

use crate::error::{CommandError, Exit};
use crate::flags::TalkFlags;
use crate::list::{self, ShortIds};
use crate::talk::{self, Talk};

/// Find words in the sessions of all agents on this machine, the newest first
///
/// A hit is a message, a call or a result that contains every word and every phrase in quotes. `agent:codex`, `tool:bash`,
/// `file:main.rs` and `error:` (a tool that failed) narrow the search.
#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Words, phrases in quotes, and filters
    #[arg(value_name = "TEXT", required = true)]
    query: Vec<String>,

    /// How many sessions are shown; 0 for all
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10)]
    number: usize,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkFlags,
}

/// How many hits of a session are shown without `-v`.
const MOST_HITS: usize = 3;

pub(crate) fn run(args: &Find, talk: &Talk) -> Result<Exit, CommandError> {
    let query = SearchQuery::parse(args.query.iter().map(String::as_str));
    if query.is_empty() {
        let hint = match &query.agent {
            Some(agent) => {
                format!("`interlingua list --agent {}` lists all its sessions", safe::one_line(agent))
            }
            None => "give a word, or a filter such as `tool:bash`, `file:main.rs` or `error:`".to_owned(),
        };
        return Err(CommandError::Usage("the query has no words".to_owned(), Some(hint)));
    }
    let most = if args.number == 0 { usize::MAX } else { args.number };
    let mut found = Vec::new();
    let ids = list::search(&query, talk, |session| {
        found.push(session);
        found.len() < most
    })?;
    if args.json {
        talk::data(to_json(&found).as_bytes())?;
    } else {
        let text = |found: &FoundSession| to_text(found, &ids, talk.verbose);
        talk::text(&found.iter().map(text).collect::<String>())?;
    }
    if found.is_empty() {
        talk.say("no session has it\n");
    } else if found.len() == most {
        talk.say(&format!("{} shown; `-n 0` searches all\n", plural(most as u64, "session")));
    }
    Ok(Exit::Done)
}

fn to_text(found: &FoundSession, ids: &ShortIds, verbose: bool) -> String {
    let FoundSession { session, hits, .. } = found;
    let bold = anstyle::Style::new().bold();
    let begin = ids.of_session(session);
    let mut text = format!("{bold}{begin}{bold:#}  {}  {}\n", session.agent, list::headline(session));
    let most = if verbose { usize::MAX } else { MOST_HITS };
    for SearchHit { speaker, context, place, .. } in hits.iter().take(most) {
        let (speaker, context) = (safe::one_line(speaker), safe::one_line(context));
        text = text + "  line " + &place.to_string() + "  " + &speaker + ": " + &context + "\n";
    }
    if hits.len() > most {
        text = text + "  … and " + &plural((hits.len() - most) as u64, "more hit") + "\n";
    }
    let place = hits.first().map_or(1, |hit| hit.place.max(1));
    text + &format!("  interlingua show {begin} --at {place}\n")
}

fn to_json(found: &[FoundSession]) -> String {
    document(|json| {
        json.object().key("version").u64(1).key("sessions").array();
        for FoundSession { session, hits, .. } in found {
            json.object().key("id").plain(&session.id()).key("agent").plain(&session.agent);
            json.key("path").plain(&session.input().to_string_lossy()).key("hits").array();
            for SearchHit { speaker, context, place, .. } in hits {
                json.object().key("speaker").plain(speaker).key("context").plain(context);
                json.key("place").u64(*place).end_object();
            }
            json.end_array().end_object();
        }
        json.end_array().end_object();
    })
}
