//! Items to lines. A kept line is written back byte for byte; another agent's session becomes a file that Droid resumes.

use super::read;
use crate::blocks::{blocks_of, only_text};
use crate::json::{Raw, Str};
use crate::log::{
    AnswersTogether, FrameHead, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules, NativeObject,
    NativeValue, OneAgent, ResultsTogether, SessionIds, SignedThoughts, stage,
};
use crate::model::{Author, CallKind, Field, ItemHead, ItemKindTag, Origin, issuers};
use crate::tape::Val;
use crate::wire::backends::NameRule;

pub(super) struct DroidForm;

impl LogForm for DroidForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::ANTHROPIC,
        // A `compaction_state` line would hide all earlier lines from Droid, so a summary is written as a message.
        origins: &[Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/"], ..MediaRules::NONE },
        chained: true,
        // A subagent has a session of its own. Droid answers each call whose result is not in the next message with `Tool
        // execution was cancelled`. It sends thinking with its signature to Anthropic's API.
        stages: &[
            stage::<OneAgent>,
            stage::<AnswersTogether>,
            stage::<ResultsTogether>,
            stage::<SignedThoughts>,
        ],
        session_head: &[Field::SessionId, Field::SessionCwd, Field::SessionTitle],
        session: &[Field::SessionModel],
        session_ids: SessionIds::Uuid,
        // Droid can continue with any vendor's model; all vendors accept call ids under this rule.
        call_ids: NameRule::TOOL,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, parent, time, model, .. } = item.head();
        let mut line = NativeObject::new();
        line.put_some("id", native_id.as_ref()).put_some("parentId", parent.as_ref());
        line.put_some("timestamp", time.as_ref());
        if item.of() == ItemKindTag::Notice {
            return line;
        }
        if kept.get("message").is_none() {
            line.put_some("summaryText", item.only_text());
            return line;
        }
        let blocks = blocks_of(item, None);
        let mut message = NativeObject::new();
        message.put_some("modelId", model.as_ref());
        message.put("content", NativeValue::one_or_list(only_text(&blocks), blocks));
        line.put("message", message);
        line
    }

    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        read::issuer(kept.get("message").unwrap_or(kept))
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let blocks = blocks_of(item, Some(log));
        if blocks.is_empty() {
            return;
        }
        if !log.has_frames() {
            let title = log.say_or(Field::SessionTitle, "\"Session of another agent\"", "made up the title");
            let id = log.session_id();
            let cwd = log.say_or(Field::SessionCwd, "\"/\"", "made up the working directory");
            let mut head = NativeObject::typed("session_start");
            head.put("id", id).put("title", title).literal("owner", "unknown").put("version", Raw::new("2"));
            head.put("cwd", cwd);
            log.write(head);
        }
        let FrameHead { id, parent, time } = log.frame_of(item);
        let mut message = NativeObject::new();
        let is_assistant = item.head().author == Author::Assistant;
        message.literal("role", if is_assistant { "assistant" } else { "user" }).put("content", blocks);
        if is_assistant {
            message.put("modelId", log.model_of(item));
        } else if item.head().origin == Some(Origin::Harness) {
            message.literal("visibility", "llm_only");
        }
        let mut line = NativeObject::typed("message");
        // Droid refuses a `null`: the first message has no parent.
        line.put("id", id).put_some("parentId", parent).put("timestamp", time).put("message", message);
        log.write(line);
    }
}
