//! Sessions: directory, times, program and policies of a conversation.

use super::macros::{EachField, IntoOwned, Shown, owned, said};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Status};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

/// A time as written: an RFC 3339 string (with its quotes) or a number.
pub type Time<'a> = Raw<'a>;

said! {
    /// The facts of a session. `None` means that the source has no value, or no new value.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Session<'a> {
        /// The id the agent gave the session.
        pub id: Option<Str<'a>> => SessionId,
        /// The session this session was forked or spawned from.
        pub parent: Option<Str<'a>> => SessionParent,
        /// The call in the parent session that spawned this session.
        pub parent_call: Option<Str<'a>> => SessionParentCall,
        /// The working directory.
        pub cwd: Option<Str<'a>> => SessionCwd,
        /// The version of the agent program.
        pub cli_version: Option<Str<'a>> => SessionVersion,
        /// The model in use.
        pub model: Option<Str<'a>> => SessionModel,
        /// The provider of the model.
        pub provider: Option<Str<'a>> => SessionProvider,
        /// The branch checked out.
        pub branch: Option<Str<'a>> => SessionBranch,
        /// The commit checked out.
        pub commit: Option<Str<'a>> => SessionCommit,
        /// The location of the repository.
        pub repository: Option<Str<'a>> => SessionRepository,
        /// A title for people.
        pub title: Option<Str<'a>> => SessionTitle,
        /// The start time.
        pub start: Option<Time<'a>> => SessionStart,
        /// The agent program.
        pub agent: Option<Str<'a>> => SessionAgent,
        /// The mode that decides when the agent asks for permission, in the agent's own word.
        pub permission_mode: Option<Str<'a>> => PermissionMode,
        /// The actions that need a person's approval, in the agent's own terms.
        pub approval_policy: Option<Raw<'a>> => ApprovalPolicy,
        /// The paths and resources commands may touch, in the agent's own terms.
        pub sandbox_policy: Option<Raw<'a>> => SandboxPolicy,
        /// The reasoning effort, in the agent's own word.
        pub effort: Option<Str<'a>> => SessionEffort,
        /// The native id of the last item of the current branch: items off the path to this id were abandoned.
        pub leaf: Option<Str<'a>> => SessionLeaf,
        /// The kinds of data this agent never writes, so that their absence is not taken for a fact: our words,
        /// separated by commas.
        pub unrecorded: Option<Str<'a>> => SessionUnrecorded,
    }

    /// The end of a session.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SessionEnd<'a> {
        /// The status at the end.
        pub status: Status => SessionEndStatus,
        /// The reason, for people.
        pub message: Option<Str<'a>> => SessionEndMessage,
    }

    /// The conversation went back to an earlier point.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Rewind<'a> {
        /// The native id of the last item that remains in the conversation.
        pub to: Option<Str<'a>> => RewindTo,
        /// The number of user turns that were taken back.
        pub turns: Option<u64> => RewindTurns,
    }

    /// Earlier parts of the conversation were replaced by a shorter text.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Compaction<'a> {
        /// The trigger (`auto`, `manual`), in the agent's own word.
        pub trigger: Option<Str<'a>> => CompactionTrigger,
        /// The number of tokens before the compaction.
        pub before: Option<u64> => CompactionBefore,
        /// The number of tokens after the compaction.
        pub after: Option<u64> => CompactionAfter,
        /// The summary of the removed items, unless a message holds it ([`super::Origin::Summary`]).
        pub summary: Option<Str<'a>> => CompactionSummary,
        /// The conversation that replaces the old conversation, in the agent's own terms.
        pub history: Option<Raw<'a>> => CompactionHistory,
        /// The native id of the first earlier item that remains in the conversation.
        pub kept_from: Option<Str<'a>> => CompactionKeptFrom,
    }
}

/// Operations on each fact of a session.
macro_rules! each_fact {
    ($($fact:ident),* $(,)?) => {
        impl<'a> Session<'a> {
            /// Takes over the facts of `news`; facts missing in `news` keep their values.
            pub fn update(&mut self, news: Session<'a>) {
                let Session { $($fact),* } = news;
                $(if $fact.is_some() {
                    self.$fact = $fact;
                })*
            }

            /// Whether each fact is absent or equal to the known fact.
            pub fn is_old_news(&self, known: &Session<'_>) -> bool {
                true $(&& (self.$fact.is_none() || self.$fact == known.$fact))*
            }

            /// The facts that differ from the known facts.
            #[must_use]
            pub fn news_to(self, known: &Session<'a>) -> Self {
                Self { $($fact: self.$fact.filter(|said| known.$fact.as_ref() != Some(said))),* }
            }

            /// The facts that are also present in `other`.
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
