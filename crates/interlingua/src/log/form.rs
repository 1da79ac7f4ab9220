//! A log dialect: its native form of items, and the rules for the frames that it builds.

use super::build::LogBuilder;
use super::file::is_date;
use super::gather::GatheredItem;
use super::identity::SessionIds;
use super::media::MediaRules;
use super::stages::NewStage;
use super::values::NativeObject;
use crate::framing::Framing;
use crate::json::{Raw, Str};
use crate::model::{CallKind, Event, Field, ItemHead, Origin};
use crate::pipe::WriterOutput;
use crate::tape::Val;
use crate::wire::backends::NameRule;

/// A dialect's native form of items.
///
/// Notices, requests, turns and live events have no frame in another agent's log; the support table of a log answers
/// `No` to all their fields. The table applies to built frames only: a kept frame holds all its values.
pub trait LogForm: Send {
    /// The capabilities of built frames.
    const RULES: LogRules;

    /// The values of an item at their places in a kept frame. Tags and made-up members may be omitted: they have no
    /// hole.
    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g>;

    /// The values of an event that is not an item, at their places in a kept frame.
    fn kept_event<'g>(&mut self, event: &'g Event<'static>, kept: Val<'_>) -> NativeObject<'g> {
        let _ = (event, kept);
        NativeObject::default()
    }

    /// Called before a kept frame is restored, for items and other events alike.
    fn gives_back(&mut self, kept: Val<'_>) {
        let _ = kept;
    }

    /// Whether frames restored with other items already contain this item, although no frame was kept for it.
    fn has_given_back(&mut self, head: &ItemHead<'_>) -> bool {
        let _ = head;
        false
    }

    /// The class of an element of a kept list, which matches it with native elements; at most eight classes.
    fn class_of(list: &str, element: Val<'_>) -> usize {
        let _ = (list, element);
        0
    }

    /// The issuer of the state in a kept frame, for agents that use several providers and name each.
    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        let _ = kept;
        Str::escaped(Self::RULES.issuer)
    }

    /// Writes an item without a kept frame, with [`LogBuilder::write`].
    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>);

    /// Writes held-back values at the end of the session.
    fn finish(&mut self, log: &mut LogBuilder<'_, '_>) {
        let _ = log;
    }

    /// Books the fields of an item head that a frame cannot hold, beyond the rules. `around` is the enclosing item.
    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        let _ = (head, around, out);
    }
}

/// Rules for all built frames of a log. Values outside these lists are booked as lost. Set the members that are not
/// empty, and take the others from [`LogRules::NOTHING`].
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct LogRules {
    /// The dialect's name.
    pub dialect: &'static str,
    /// The framing of the file.
    pub framing: Framing,
    /// The issuer of the log's opaque state.
    pub issuer: &'static str,
    /// The message origins that the log can hold.
    pub origins: &'static [Origin],
    /// The kinds of call the log can hold.
    pub calls: &'static [CallKind],
    /// The media in messages and results.
    pub media: MediaRules,
    /// The fields of inner items that a message or result can hold.
    pub within: &'static [Field],
    /// The stages that regroup a history for this log, in the order they are applied, after the stages of every log.
    pub stages: &'static [NewStage],
    /// Whether frames name their parent frame, and assistant frames their model.
    pub chained: bool,
    /// Whether frames have no times.
    pub untimed: bool,
    /// The session facts in the head of the file, known before the first item.
    pub session_head: &'static [Field],
    /// The session facts that any frame may hold.
    pub session: &'static [Field],
    /// The session ids the program accepts.
    pub session_ids: SessionIds,
    /// The call ids the program's API accepts.
    pub call_ids: NameRule,
    /// The tool names of calls that the program's API accepts.
    pub call_names: NameRule,
    /// Whether a call names the group of its tool apart. In all other logs, the group is put before the tool's name.
    pub call_groups: bool,
}

impl LogRules {
    /// Rules of lines without any fields, as a base.
    pub const NOTHING: LogRules = LogRules {
        dialect: "",
        framing: Framing::Lines,
        issuer: "",
        origins: &[],
        calls: &[],
        media: MediaRules::NONE,
        within: &[],
        stages: &[],
        chained: false,
        untimed: false,
        session_head: &[],
        session: &[],
        session_ids: SessionIds::Nowhere,
        call_ids: NameRule { most: 64, ..NameRule::ANY },
        // Most programs send a history to models of any vendor.
        call_names: NameRule::TOOL,
        call_groups: false,
    };

    /// Whether the file accepts the value for the session fact.
    pub(super) fn takes(&self, field: Field, value: &Raw<'_>) -> bool {
        match field {
            Field::SessionId => self.session_ids.form_of(value.as_str().trim_matches('"')).is_some(),
            Field::SessionStart => is_date(value),
            _ => true,
        }
    }
}
