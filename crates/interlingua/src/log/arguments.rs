//! Calls, for logs in which a tool has one name and its arguments are an object.

use super::build::LogBuilder;
use super::gather::GatheredItem;
use super::values::{NativeObject, NativeValue};
use crate::json::{Raw, Str};
use crate::model::{Args, CallKind, ToolCall};
use crate::tape::TapeBuf;
use crate::wire::is_object;

/// What the block of a call says.
#[derive(Debug)]
pub struct CallValues<'g> {
    /// The call's id.
    pub id: Option<Str<'g>>,
    /// The tool's name.
    pub name: Str<'g>,
    /// The arguments.
    pub arguments: Option<NativeValue<'g>>,
}

impl<'g> CallValues<'g> {
    /// For a kept frame, as they came; for one that is built, with an id, the tool's group before its name, and an object of
    /// arguments.
    pub fn new(
        item: GatheredItem<'g>,
        call: &'g ToolCall<'static>,
        log: Option<&mut LogBuilder<'_, '_>>,
    ) -> Self {
        let Some(log) = log else {
            let id = item.call_id().map(Str::reborrow);
            return Self { id, name: call.name.reborrow(), arguments: arguments_of(item) };
        };
        if call.namespace.is_some() {
            log.note("tool group put before the tool's name");
        }
        let id = Some(log.call_id(item, call));
        Self { id, name: name_with_group(call), arguments: Some(arguments_object(item, call.kind, log)) }
    }
}

/// The arguments of a call, as they came.
fn arguments_of(item: GatheredItem<'_>) -> Option<NativeValue<'_>> {
    item.arguments().map(|args| match args {
        Args::Json(json) => json.into(),
        Args::Text(text) => text.into(),
    })
}

/// The arguments of a call as an object, for dialects that take nothing else. Free text becomes its
/// one member; text that is an object is that object.
fn arguments_object<'g>(
    item: GatheredItem<'g>,
    kind: CallKind,
    log: &mut LogBuilder<'_, '_>,
) -> NativeValue<'g> {
    let text = match arguments_of(item) {
        Some(NativeValue::Text(text)) => text,
        Some(NativeValue::Json(json)) => match json.text() {
            Some(text) => text.into_owned(),
            None => return json.into(),
        },
        Some(object) => return object,
        None => return NativeObject::default().into(),
    };
    let plain = text.decode();
    let plain = plain.trim();
    if kind != CallKind::FreeText && plain.is_empty() {
        return NativeObject::default().into();
    }
    if kind != CallKind::FreeText && is_object(&mut TapeBuf::default(), plain) {
        return Raw::owned(plain.to_owned()).into();
    }
    log.note("arguments that are no JSON object became the member `input`");
    let mut object = NativeObject::new();
    object.put("input", text);
    object.into()
}

/// The name of a tool in a log that knows no groups: its group stands before it.
pub(crate) fn name_with_group<'c>(call: &'c ToolCall<'_>) -> Str<'c> {
    match &call.namespace {
        Some(group) => Str::from_plain(&format!("{}__{}", group.decode(), call.name.decode())),
        None => call.name.reborrow(),
    }
}
