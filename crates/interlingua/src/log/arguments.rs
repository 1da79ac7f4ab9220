//! Calls, for logs in which a tool has a single name and its arguments are an object.

use super::build::LogBuilder;
use super::gather::GatheredItem;
use super::values::{NativeObject, NativeValue};
use crate::json::{JsonBuffer, Raw, Str};
use crate::model::{Args, CallKind, Field, ItemId, Part, ToolCall};
use crate::pipe::EventSink;
use crate::tape::{Claim, Limits, TapeBuf, Val};
use crate::wire::is_object;

/// The native values of a call's block.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct CallValues<'g> {
    /// The call's id.
    pub id: Option<Str<'g>>,
    /// The tool's name.
    pub name: Str<'g>,
    /// The arguments.
    pub arguments: Option<NativeValue<'g>>,
}

impl<'g> CallValues<'g> {
    /// For a kept frame: the values as read. For a built frame: with an id, the tool's group before its name, and the
    /// arguments as an object.
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

    /// The arguments of a built call, for logs that write JSON in a string.
    pub(crate) fn spelled_arguments(&self) -> Str<'static> {
        let mut json = JsonBuffer::default();
        if let Some(arguments) = &self.arguments {
            arguments.write(&mut json.hold());
        }
        Str::from_plain(json.held())
    }
}

/// The arguments of a call, as read.
fn arguments_of(item: GatheredItem<'_>) -> Option<NativeValue<'_>> {
    item.arguments().map(|args| match args {
        Args::Json(json) => json.into(),
        Args::Text(text) => text.into(),
    })
}

/// The arguments of a call as an object, for dialects that accept only objects. Free text, a list and a scalar become the
/// object's only member; text that is a JSON object becomes that object.
fn arguments_object<'g>(
    item: GatheredItem<'g>,
    kind: CallKind,
    log: &mut LogBuilder<'_, '_>,
) -> NativeValue<'g> {
    let text = match arguments_of(item) {
        Some(NativeValue::Text(text)) => text,
        Some(NativeValue::Json(json)) => match json.text() {
            Some(text) => text.into_owned(),
            None if json.as_str().trim_start().starts_with('{') => return json.into(),
            None => return wrapped(json.into(), log),
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
    wrapped(text.into(), log)
}

/// An object with the arguments as its only member.
fn wrapped<'g>(arguments: NativeValue<'g>, log: &mut LogBuilder<'_, '_>) -> NativeValue<'g> {
    log.note("arguments that are no JSON object became the member `input`");
    let mut object = NativeObject::new();
    object.put("input", arguments);
    object.into()
}

/// The name of a tool in a log without tool groups: the group is prefixed to the name.
pub(crate) fn name_with_group<'c>(call: &'c ToolCall<'_>) -> Str<'c> {
    match &call.namespace {
        Some(group) => Str::from_plain(&format!("{}__{}", group.decode(), call.name.decode())),
        None => call.name.reborrow(),
    }
}

/// Arguments as text, for logs that write JSON in a string: a JSON value is escaped once more.
pub(crate) fn arguments_text(item: GatheredItem<'_>) -> Option<Str<'_>> {
    item.arguments().map(|args| match args {
        Args::Text(text) => text.reborrow(),
        Args::Json(json) => Str::plain(json.as_str()),
    })
}

/// Reads arguments that are JSON in a string. The buffers are reused.
#[derive(Default)]
pub(crate) struct SpelledArguments {
    plain: String,
    tape: TapeBuf,
}

impl SpelledArguments {
    /// Emits the arguments in the string and claims the string.
    pub(crate) fn read(&mut self, arguments: Val<'_>, item: ItemId, out: &mut EventSink<'_>) {
        let Some(text) = arguments.str() else {
            // A hole cannot distinguish a value from a string, so the value also stays in the kept frame.
            if !arguments.is_null() {
                let json = arguments.note(Field::CallArgs);
                out.delta(item, 0, Part::Args(Args::Json(json)));
            }
            return;
        };
        let is_value = self.is_object(&text);
        // A text with a different spelling cannot be restored from the value, so the text is only noted.
        let exact = !is_value || Str::plain(&self.plain) == text;
        arguments.claim(if exact { Claim::Taken(Field::CallArgs) } else { Claim::Noted(Field::CallArgs) });
        self.say(&text, is_value, item, out);
    }

    /// Emits arguments that were joined from several strings.
    pub(crate) fn read_pieces(&mut self, text: &Str<'_>, item: ItemId, out: &mut EventSink<'_>) {
        let is_value = self.is_object(text);
        self.say(text, is_value, item, out);
    }

    /// Whether the whole text is a JSON object. A text with replacement characters from decoding is no longer the same
    /// JSON.
    fn is_object(&mut self, text: &Str<'_>) -> bool {
        self.plain.clear();
        text.decode_into(&mut self.plain);
        let limits = Limits { depth: 100, ..Limits::default() };
        let sound = !self.plain.contains(char::REPLACEMENT_CHARACTER) || Str::plain(&self.plain) == *text;
        let object = self.plain.starts_with('{') && self.plain.ends_with('}');
        sound && object && self.tape.parse(&self.plain, &limits).is_ok()
    }

    fn say(&self, text: &Str<'_>, is_value: bool, item: ItemId, out: &mut EventSink<'_>) {
        let args = if is_value { Args::Json(Raw::new(&self.plain)) } else { Args::Text(text.reborrow()) };
        out.delta(item, 0, Part::Args(args));
    }
}
