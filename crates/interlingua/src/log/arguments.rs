//! Calls, for logs in which a tool has one name and its arguments are an object.

use super::file::LogFile;
use super::gather::GatheredItem;
use super::values::{NativeObject, NativeValue};
use crate::json::{Raw, Str};
use crate::model::{Args, CallKind, ToolCall};
use crate::pipe::Target;
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
    /// As they came, for a kept frame.
    pub fn own(item: GatheredItem<'g>, call: &'g ToolCall<'_>) -> Self {
        let id = call.call_id.as_ref().map(Str::reborrow);
        Self { id, name: call.name.reborrow(), arguments: arguments_of(item) }
    }

    /// As a built frame has them: with an id, the tool's group before its name, and an object of arguments.
    pub fn built(
        item: GatheredItem<'g>,
        call: &'g ToolCall<'_>,
        file: &mut LogFile,
        out: &mut Target<'_>,
    ) -> Self {
        if call.namespace.is_some() {
            out.ledger.note("tool group put before the tool's name");
        }
        let id = Some(file.call_id_of(item, out));
        Self { id, name: name_with_group(call), arguments: Some(arguments_object(item, call.kind, out)) }
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
fn arguments_object<'g>(item: GatheredItem<'g>, kind: CallKind, out: &mut Target<'_>) -> NativeValue<'g> {
    let text = match arguments_of(item) {
        Some(NativeValue::Text(text)) => text,
        // A JSON value that is a string is text.
        Some(NativeValue::Json(json)) if json.as_str().starts_with('"') => {
            Str::escaped(json.as_str().trim_matches('"')).into_owned()
        }
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
    out.ledger.note("arguments that are no JSON object became the member `input`");
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
