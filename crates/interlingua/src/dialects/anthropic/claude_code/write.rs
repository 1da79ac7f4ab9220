//! Items to lines. A kept line is written back byte for byte; another agent's session becomes lines that Claude Code
//! resumes.

use crate::blocks::{blocks_of, only_text};
use crate::json::{Raw, Str};
use crate::log::{
    FrameHead, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules, NativeObject, NativeValue,
    SessionIds, SignedThoughts, stage,
};
use crate::model::{Author, CallKind, Field, ItemHead, ItemKindTag, Origin, Part, issuers};
use crate::tape::Val;
use crate::wire::backends::NameRule;

/// Claude Code 2.1.197 hangs on a line without a version; resuming was tested with the version below.
const VERSION: &str = "2.1.325";

#[derive(Default)]
pub(super) struct ClaudeForm {
    /// The `message.id` shared by consecutive assistant lines: one response, one block a line, as Claude Code writes
    /// them.
    response: Option<String>,
}

impl LogForm for ClaudeForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::ANTHROPIC,
        origins: &[Origin::Own, Origin::Harness, Origin::Summary],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules {
            types: &["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"],
            by_address: true,
            from_assistant: true,
        },
        chained: true,
        session: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionBranch,
            Field::SessionModel,
            Field::PermissionMode,
        ],
        session_ids: SessionIds::Uuid,
        call_ids: NameRule { most: usize::MAX, ..NameRule::TOOL },
        stages: &[stage::<SignedThoughts>],
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let blocks = blocks_of(item, None);
        let content = NativeValue::one_or_list(only_text(&blocks), blocks);
        let mut line = NativeObject::new();
        let ItemHead { native_id, parent, time, model, .. } = item.head();
        line.put_some("uuid", native_id.as_ref())
            .put_some("parentUuid", parent.as_ref())
            .put_some("timestamp", time.as_ref());
        if item.of() == ItemKindTag::Notice {
            return notice_values(item, line);
        }
        let mut holder = NativeObject::new();
        if kept.get("message").is_some() {
            holder.put_some("model", model.as_ref()).put("content", content);
            line.put("message", holder);
        } else if kept.get("data").is_some() {
            // A subagent's message in a progress line.
            holder.put_some("model", model.as_ref()).put("content", content);
            let [mut wrapped, mut data] = [NativeObject::new(), NativeObject::new()];
            wrapped.put("message", holder);
            data.put("message", wrapped);
            line.put("data", data);
        } else {
            holder.put("prompt", content);
            line.put("attachment", holder);
        }
        line
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let ItemHead { author, agent, parent_call, .. } = item.head();
        let assistant = *author == Author::Assistant;
        let word = if assistant { "assistant" } else { "user" };
        let FrameHead { id, parent, time } = log.frame_of(item);
        let mut line = NativeObject::new();
        line.put("parentUuid", parent).put("isSidechain", agent.is_some());
        line.put_some("agentId", agent.as_ref()).put_some("parentToolUseID", parent_call.as_ref());
        line.literal("userType", "external")
            .put_some("cwd", log.say(Field::SessionCwd))
            .put("sessionId", log.session_id())
            .put_some("gitBranch", log.say(Field::SessionBranch));
        if !assistant {
            // Only user lines hold a permission mode.
            line.put_some("permissionMode", log.say(Field::PermissionMode));
        }
        line.literal("version", VERSION).literal("type", word);
        mark_origin(item, &mut line);
        let mut message = NativeObject::new();
        if assistant {
            self.response_head(item, &mut message, log);
        } else {
            self.response = None;
        }
        message.literal("role", word);
        let blocks = blocks_of(item, Some(log));
        let one = only_text(&blocks).filter(|_| !assistant);
        message.put("content", NativeValue::one_or_list(one, blocks));
        if assistant {
            message.put("stop_reason", Raw::new("null")).put("stop_sequence", Raw::new("null"));
        }
        line.put("message", message).put("uuid", id).put("timestamp", time);
        log.write(line);
    }
}

/// Puts a notice's content at every path where a line may hold it; only the path that was taken has a hole.
fn notice_values<'g>(item: GatheredItem<'g>, mut line: NativeObject<'g>) -> NativeObject<'g> {
    for part in item.parts() {
        match part {
            Part::Text(text) => _ = line.put("content", text),
            Part::Json(data) => {
                for holder in ["attachment", "data", "snapshot"] {
                    line.put(holder, data);
                }
            }
            Part::Summary(_)
            | Part::Media(_)
            | Part::Args(_)
            | Part::File(_)
            | Part::Citation(_)
            | Part::Refusal(_)
            | Part::Opaque(_)
            | Part::Cache(_) => {}
        }
    }
    line
}

impl ClaudeForm {
    /// `"id":…,"type":"message","model":…`; without these members Claude Code 2.1.197 hangs.
    fn response_head<'g>(
        &mut self,
        item: GatheredItem<'g>,
        message: &mut NativeObject<'g>,
        log: &mut LogBuilder<'_, '_>,
    ) {
        let made_up = || format!("msg_{}", log.made_up_id(item.head().id).replace('-', ""));
        let response = self.response.get_or_insert_with(made_up);
        message.put("id", Str::from_plain(response)).literal("type", "message");
        message.put("model", log.model_of(item));
    }
}

/// Marks the origin of a user line: injected text is a meta line.
fn mark_origin(item: GatheredItem<'_>, line: &mut NativeObject<'_>) {
    let meta = match item.head().origin {
        Some(Origin::Summary) => {
            line.put("isCompactSummary", true);
            false
        }
        Some(Origin::Harness) => true,
        Some(Origin::Own | Origin::Agent | Origin::Command) | None => false,
    };
    if meta {
        line.put("isMeta", true);
    }
}
