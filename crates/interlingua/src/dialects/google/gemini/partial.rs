//! Call arguments that arrive in pieces, each with the path of its value. Only the enterprise API streams arguments in
//! this form.

use std::collections::BTreeMap;

use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::model::{Args, Field, ItemId, Part};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};

use super::super::parts::either;

/// The arguments so far.
#[derive(Default)]
pub(in super::super) struct PartialArguments {
    root: Option<ArgumentNode>,
}

/// A value under construction.
enum ArgumentNode {
    Object(BTreeMap<String, ArgumentNode>),
    List(Vec<ArgumentNode>),
    /// The escaped content of a string.
    Text(String),
    /// Any other value.
    Other(String),
}

/// The deepest path that is followed.
const DEEPEST: usize = 60;

impl PartialArguments {
    /// Adds the pieces of one chunk. A piece with an invalid path stays unclaimed.
    pub(in super::super) fn add(&mut self, pieces: Option<Val<'_>>) {
        for piece in pieces.into_iter().flat_map(|pieces| pieces.elements()) {
            let Some(path) = either(piece, "jsonPath", "json_path").and_then(|path| path.str()) else {
                continue;
            };
            let plain = path.decode();
            let Some(steps) = steps(&plain) else { continue };
            let value = |camel, snake| either(piece, camel, snake);
            let text = value("stringValue", "string_value").and_then(|text| text.str());
            let number = value("numberValue", "number_value").filter(|number| number.kind() == Kind::Number);
            let flag = value("boolValue", "bool_value").filter(|flag| flag.kind() == Kind::Bool);
            let null = value("nullValue", "null_value").map(|_| "null");
            let other = number.or(flag).map(|value| value.text()).or(null);
            let root = self.root.get_or_insert_with(|| ArgumentNode::Object(BTreeMap::new()));
            let Some(place) = root.at(&steps) else { continue };
            match (text, other) {
                (Some(text), _) => place.grow(&text),
                (None, Some(other)) => *place = ArgumentNode::Other(other.to_owned()),
                (None, None) => continue,
            }
            for (name, value) in piece.members() {
                // Pieces of one text are joined, with or without `willContinue`.
                let announces = matches!(name.as_escaped(), "willContinue" | "will_continue");
                value.note(if announces { Field::Padding } else { Field::CallArgs });
            }
        }
    }

    /// Emits the arguments of the call, if there are any.
    pub(in super::super) fn say(&mut self, call: ItemId, out: &mut EventSink<'_>) {
        if let Some(root) = self.root.take() {
            let mut json = JsonBuffer::default();
            root.write(&mut json.hold());
            out.piece(call, 0, Part::Args(Args::Json(Raw::new(json.held()))));
        }
    }
}

/// One step of a path.
enum PathStep<'p> {
    Member(&'p str),
    Element(usize),
}

/// The steps of a path such as `$.foo.bar[0]['odd name']`.
fn steps(path: &str) -> Option<Vec<PathStep<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() && steps.len() < DEEPEST {
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            steps.push(PathStep::Member(named.get(..end).filter(|name| !name.is_empty())?));
            rest = named.get(end..)?;
            continue;
        }
        let inner = rest.strip_prefix('[')?;
        if let Some(quote) = inner.chars().next().filter(|quote| matches!(quote, '\'' | '"')) {
            let inner = inner.get(1..)?;
            let (name, after) = inner.split_once(quote)?;
            steps.push(PathStep::Member(name));
            rest = after.strip_prefix(']')?;
        } else {
            let (number, after) = inner.split_once(']')?;
            steps.push(PathStep::Element(number.parse().ok()?));
            rest = after;
        }
    }
    rest.is_empty().then_some(steps)
}

impl ArgumentNode {
    /// The value at the end of a path, created if missing. A list grows by one element at a time.
    fn at(&mut self, steps: &[PathStep<'_>]) -> Option<&mut ArgumentNode> {
        let Some((step, rest)) = steps.split_first() else { return Some(self) };
        let inner = match step {
            PathStep::Member(name) => {
                if !matches!(self, ArgumentNode::Object(_)) {
                    *self = ArgumentNode::Object(BTreeMap::new());
                }
                let ArgumentNode::Object(members) = self else { return None };
                members.entry((*name).to_owned()).or_insert_with(|| ArgumentNode::Other("null".to_owned()))
            }
            PathStep::Element(number) => {
                if !matches!(self, ArgumentNode::List(_)) {
                    *self = ArgumentNode::List(Vec::new());
                }
                let ArgumentNode::List(elements) = self else { return None };
                if *number == elements.len() {
                    elements.push(ArgumentNode::Other("null".to_owned()));
                }
                elements.get_mut(*number)?
            }
        };
        inner.at(rest)
    }

    /// Adds a piece of a text.
    fn grow(&mut self, text: &Str<'_>) {
        match self {
            ArgumentNode::Text(known) => known.push_str(text.as_escaped()),
            _ => *self = ArgumentNode::Text(text.as_escaped().to_owned()),
        }
    }

    fn write(&self, json: &mut JsonWriter<'_>) {
        match self {
            ArgumentNode::Object(members) => {
                json.object();
                for (name, value) in members {
                    json.key(Str::plain(name).as_escaped());
                    value.write(json);
                }
                json.end_object();
            }
            ArgumentNode::List(elements) => {
                json.array();
                for value in elements {
                    value.write(json);
                }
                json.end_array();
            }
            ArgumentNode::Text(text) => _ = json.literal(text),
            ArgumentNode::Other(value) => _ = json.raw(&Raw::new(value)),
        }
    }
}
