//! Sessions: where, when and by what a conversation was held, and under which rules.

use super::macros::{EachField, IntoOwned, Shown, owned, said};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Status};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

/// A time as written: an RFC 3339 string (with its quotes) or a number.
pub type Time<'a> = Raw<'a>;

said! {
    /// What is known about a session. `None` means nothing new.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Session<'a> {
        /// The id the agent gave it.
        pub id: Option<Str<'a>> => SessionId,
        /// The session it was forked or spawned from.
        pub parent: Option<Str<'a>> => SessionParent,
        /// The call in that session by which it was spawned.
        pub parent_call: Option<Str<'a>> => SessionParentCall,
        /// The working directory.
        pub cwd: Option<Str<'a>> => SessionCwd,
        /// The version of the agent program.
        pub cli_version: Option<Str<'a>> => SessionVersion,
        /// The model in use.
        pub model: Option<Str<'a>> => SessionModel,
        /// Who provides the model.
        pub provider: Option<Str<'a>> => SessionProvider,
        /// The branch checked out.
        pub branch: Option<Str<'a>> => SessionBranch,
        /// The commit checked out.
        pub commit: Option<Str<'a>> => SessionCommit,
        /// Where the repository lives.
        pub repository: Option<Str<'a>> => SessionRepository,
        /// A name for people.
        pub title: Option<Str<'a>> => SessionTitle,
        /// When it began.
        pub start: Option<Time<'a>> => SessionStart,
        /// The agent program.
        pub agent: Option<Str<'a>> => SessionAgent,
        /// The mode in which the agent asks or does not ask, in its own word.
        pub permission_mode: Option<Str<'a>> => PermissionMode,
        /// What needs a person's approval, in the agent's own terms.
        pub approval_policy: Option<Raw<'a>> => ApprovalPolicy,
        /// What commands may touch, in the agent's own terms.
        pub sandbox_policy: Option<Raw<'a>> => SandboxPolicy,
        /// How hard the model is to think, in the agent's own word.
        pub effort: Option<Str<'a>> => SessionEffort,
        /// The native id of the last item of the branch that counts: what hangs on none of its ancestors was left behind.
        pub leaf: Option<Str<'a>> => SessionLeaf,
        /// What the agent does not write down at all, so that nobody takes its absence for a fact: our words, separated
        /// by commas.
        pub unrecorded: Option<Str<'a>> => SessionUnrecorded,
    }

    /// How a session ended.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SessionEnd<'a> {
        /// How.
        pub status: Status => SessionEndStatus,
        /// Why, for people.
        pub message: Option<Str<'a>> => SessionEndMessage,
    }

    /// The conversation went back to an earlier point.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Rewind<'a> {
        /// The native id of the last item that still counts.
        pub to: Option<Str<'a>> => RewindTo,
        /// How many turns of the user were taken back.
        pub turns: Option<u64> => RewindTurns,
    }

    /// Earlier parts of the conversation were replaced by less.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Compaction<'a> {
        /// What set it off (`auto`, `manual`), in the agent's own word.
        pub trigger: Option<Str<'a>> => CompactionTrigger,
        /// How many tokens the conversation had before.
        pub before: Option<u64> => CompactionBefore,
        /// How many it has now.
        pub after: Option<u64> => CompactionAfter,
        /// What stands for what was taken out, unless a message says it ([`super::Origin::Summary`]).
        pub summary: Option<Str<'a>> => CompactionSummary,
        /// The conversation that takes the place of the old one, in the agent's own terms.
        pub history: Option<Raw<'a>> => CompactionHistory,
        /// The native id of the first earlier item that still counts.
        pub kept_from: Option<Str<'a>> => CompactionKeptFrom,
    }
}

/// What is done to each fact of a session.
macro_rules! each_fact {
    ($($fact:ident),* $(,)?) => {
        impl<'a> Session<'a> {
            /// Later words win; what is not said again stays.
            pub fn update(&mut self, news: Session<'a>) {
                let Session { $($fact),* } = news;
                $(if $fact.is_some() {
                    self.$fact = $fact;
                })*
            }

            /// Whether it says nothing that is not known yet.
            pub fn is_old_news(&self, known: &Session<'_>) -> bool {
                true $(&& (self.$fact.is_none() || self.$fact == known.$fact))*
            }

            /// What it says that is not known yet.
            #[must_use]
            pub fn news_to(self, known: &Session<'a>) -> Self {
                Self { $($fact: self.$fact.filter(|said| known.$fact.as_ref() != Some(said))),* }
            }

            /// The facts that the other tells, too.
            #[must_use]
            pub fn where_said(self, other: &Session<'_>) -> Self {
                Self { $($fact: self.$fact.filter(|_| other.$fact.is_some())),* }
            }
        }
    };
}

#[rustfmt::skip]
each_fact!(
    id, parent, parent_call, cwd, cli_version, model, provider, branch, commit, repository, title, start, agent,
    permission_mode, approval_policy, sandbox_policy, effort, leaf, unrecorded,
);
