//! Items to lines. A kept line is written back byte for byte; another agent's session becomes lines with a role, text
//! and calls.

use crate::blocks::text_block;
use crate::log::{
    CallValues, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, NativeObject, NativeValue,
    OneAgent, stage,
};
use crate::model::{Author, CallKind, ItemKind, ItemKindTag};
use crate::tape::Val;
use crate::wire::backends::NameRule;

pub(super) struct CursorForm;

impl LogForm for CursorForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        calls: &[CallKind::Function, CallKind::FreeText],
        // A subagent has a session of its own.
        stages: &[stage::<OneAgent>],
        // Cursor never sends this file to an API.
        call_names: NameRule::ANY,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, _: Val<'_>) -> NativeObject<'g> {
        let mut message = NativeObject::new();
        message.put("content", NativeValue::one_or_list(item.only_text(), blocks_of(item, None)));
        let mut line = NativeObject::new();
        line.put("message", message);
        line
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let blocks = blocks_of(item, Some(log));
        if blocks.is_empty() {
            return;
        }
        let role = if item.head().author == Author::Assistant { "assistant" } else { "user" };
        let mut message = NativeObject::new();
        message.put("content", blocks);
        let mut line = NativeObject::new();
        line.literal("role", role).put("message", message);
        log.write(line);
    }
}

/// The blocks of an item, for a kept line or for a built line. Results and reasoning have no block.
fn blocks_of<'g>(item: GatheredItem<'g>, mut log: Option<&mut LogBuilder<'_, '_>>) -> Vec<NativeObject<'g>> {
    let block = |content| match content {
        GatheredContent::Part(part) => text_block(part),
        GatheredContent::Item(item) if log.is_none() && item.of() == ItemKindTag::Reasoning => {
            let mut block = NativeObject::typed("thinking");
            block.put_some("thinking", item.only_text());
            Some(block)
        }
        GatheredContent::Item(item) => {
            let ItemKind::ToolCall(call) = &item.head().kind else { return None };
            let built = log.is_some();
            let CallValues { id, name, arguments } = CallValues::new(item, call, log.as_deref_mut());
            let mut block = NativeObject::typed("tool_use");
            block.put_some("id", id.filter(|_| !built)).put("name", name).put_some("input", arguments);
            Some(block)
        }
    };
    item.blocks().into_iter().filter_map(block).collect()
}
