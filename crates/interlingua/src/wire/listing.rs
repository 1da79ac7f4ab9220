//! Lists of models, and token counts of requests: small documents that every API has under its own names.

use crate::error::Code;
use crate::json::{JsonWriter, Str};
use crate::ledger::{Leftover, Reason};
use crate::model::{Event, Field, ItemKindTag, ModelInfo, Support, Turn, Usage};
use crate::pipe::{Doc, EventSink, Reader, Writer, WriterOutput};
use crate::tape::{Kind, Val};
use crate::wire::note_blanks;

/// A dialect's member names for a list of models.
pub(crate) struct ListWords {
    /// The member that holds the models.
    pub(crate) list: &'static str,
    /// The prefix of an id.
    pub(crate) id_prefix: &'static str,
    /// The member of a model that holds its id.
    pub(crate) id: &'static str,
    /// The members for the other fields of a model, the written member first for each field.
    pub(crate) members: &'static [(Field, &'static str)],
    /// Constant members of a model.
    pub(crate) tags: &'static [(&'static str, &'static str)],
    /// Constant members of the list, as JSON.
    pub(crate) around: &'static str,
    /// Whether times are in seconds and not strings.
    pub(crate) time_in_seconds: bool,
    /// Whether clients expect a name, so that a model without a name gets its id as the name.
    pub(crate) needs_name: bool,
    /// Default values, as JSON, for fields that clients expect and the source lacks.
    pub(crate) otherwise: &'static [(Field, &'static str)],
}

/// Reads a list of models.
pub(crate) struct ModelListReader(pub(crate) &'static ListWords);

impl Reader for ModelListReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let words = self.0;
        let Some(list) = doc.root.get(words.list).filter(|list| list.kind() == Kind::Array) else {
            return out.problem(Code::UnknownShape, None, "a list of models has a list of them");
        };
        note_blanks(doc.root);
        for (name, value) in doc.root.members().filter(|(name, _)| !name.is(words.list)) {
            // Only the tag is claimed; pagination members (first id, last id, whether there is more) are left over.
            if name.is("object") && value.is("list") {
                value.note(Field::Structure);
            }
        }
        for model in list.elements() {
            let text = |field: Field| {
                let names = words.members.iter().filter(move |(known, _)| *known == field);
                names.into_iter().find_map(|(_, name)| model.take_str(name, field))
            };
            let value = |field: Field| {
                let names = words.members.iter().filter(move |(known, _)| *known == field);
                let mut found =
                    names.filter_map(|(_, name)| model.get(name)).filter(|value| !value.is_null());
                found.next().map(|value| value.take(field))
            };
            for (name, word) in words.tags {
                model.get(name).filter(|tag| tag.is(word)).map(|tag| tag.note(Field::Structure));
            }
            // An id with a prefix is only noted: the frame keeps the full id.
            let id = model.get(words.id).and_then(|id| {
                if words.id_prefix.is_empty() {
                    id.take_text(Field::ModelId)
                } else {
                    id.note_text(Field::ModelId)
                }
            });
            let id = id.map(|id| match id.as_escaped().strip_prefix(words.id_prefix) {
                Some(bare) => Str::escaped(bare).into_owned(),
                None => id.into_owned(),
            });
            out.event(&Event::Model(ModelInfo {
                id,
                name: text(Field::ModelName),
                about: text(Field::ModelAbout),
                owner: text(Field::ModelOwner),
                time: value(Field::ModelTime),
                input_limit: value(Field::ModelInputLimit),
                output_limit: value(Field::ModelOutputLimit),
            }));
        }
    }
}

/// Writes a list of models.
pub(crate) struct ModelListWriter {
    words: &'static ListWords,
    begun: bool,
}

impl ModelListWriter {
    pub(crate) const fn new(words: &'static ListWords) -> Self {
        Self { words, begun: false }
    }

    fn begin(&mut self, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            out.json.object();
            if !self.words.around.is_empty() {
                out.json.with_value(self.words.around);
            }
            out.json.key(self.words.list).array();
        }
    }

    /// Writes a member; returns whether the dialect has one for the field.
    fn member(
        &self,
        field: Field,
        write: impl FnOnce(&mut JsonWriter<'_>),
        out: &mut WriterOutput<'_>,
    ) -> bool {
        let Some((_, name)) = self.words.members.iter().find(|(known, _)| *known == field) else {
            return false;
        };
        write(out.json.key(name));
        true
    }
}

impl Writer for ModelListWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let Event::Model(model) = event else {
            return out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
        };
        self.begin(out);
        let ModelInfo { id, name, about, owner, time, input_limit, output_limit } = model;
        out.json.object().key(self.words.id).open_string().piece(&Str::escaped(self.words.id_prefix));
        out.json.piece(&id.clone().unwrap_or(Str::escaped("unknown"))).close_string();
        for (name, word) in self.words.tags {
            out.json.key(name).literal(word);
        }
        for (field, text) in
            [(Field::ModelName, name), (Field::ModelAbout, about), (Field::ModelOwner, owner)]
        {
            if let Some(text) = text
                && !self.member(field, |json| _ = json.str(text), out)
            {
                out.lose_str(field, text, Reason::NoSlot);
            }
        }
        let seconds = |time: &crate::json::Raw<'_>| time.as_str().bytes().all(|byte| byte.is_ascii_digit());
        let sayable = time.as_ref().filter(|time| seconds(time) == self.words.time_in_seconds);
        for (field, value) in [
            (Field::ModelTime, sayable),
            (Field::ModelInputLimit, input_limit.as_ref()),
            (Field::ModelOutputLimit, output_limit.as_ref()),
        ] {
            if let Some(value) = value
                && !self.member(field, |json| _ = json.raw(value), out)
            {
                out.lose_raw(field, value, Reason::NoSlot);
            }
        }
        if let Some(time) = time.as_ref().filter(|_| sayable.is_none()) {
            out.lose_raw(Field::ModelTime, time, Reason::Narrowed);
        }
        if let Some(id) = id.as_ref().filter(|_| self.words.needs_name && name.is_none()) {
            out.ledger.note("id of a model as its name");
            self.member(Field::ModelName, |json| _ = json.str(id), out);
        }
        let said = |field: &Field| match field {
            Field::ModelOwner => owner.is_some(),
            Field::ModelTime => sayable.is_some(),
            _ => true,
        };
        for (field, value) in self.words.otherwise.iter().filter(|(field, _)| !said(field)) {
            out.ledger.note("what clients want to know of a model made up");
            self.member(*field, |json| _ = json.raw(&crate::json::Raw::new(value)), out);
        }
        out.json.end_object();
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.begin(out);
        out.json.end_array().end_object();
    }
}

/// The support table of a list of models.
pub(crate) const fn says_of_models(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding | Field::ModelId => Support::Exactly,
        Field::ModelName
        | Field::ModelAbout
        | Field::ModelOwner
        | Field::ModelTime
        | Field::ModelInputLimit
        | Field::ModelOutputLimit => Support::Less("as far as the API's list has a place for it"),
        _ => Support::No(Reason::NoSlot),
    }
}

/// The support table of a token count.
pub(crate) const fn says_of_count(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::UsageInput | Field::UsageCacheRead | Field::UsageCacheWrite => Support::Emulated("in the sum"),
        _ => Support::No(Reason::NoSlot),
    }
}

/// A dialect's form of a token count: the path to the number, and the JSON beside it.
pub(crate) struct CountWords {
    pub(crate) path: &'static [&'static str],
    /// The member for the count of cached tokens, beside the number.
    pub(crate) cached: Option<&'static str>,
    pub(crate) around: &'static str,
}

/// Reads the token count of a request.
pub(crate) struct CountReader(pub(crate) &'static CountWords);

impl Reader for CountReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let (holder, name) = self.place(doc.root);
        let all = holder.and_then(|holder| holder.note_u64(name, Field::UsageInput));
        let Some(all) = all else {
            return out.problem(Code::UnknownShape, None, "a count of tokens is a number");
        };
        note_blanks(doc.root);
        let cache_read = self.0.cached.and_then(|name| holder?.note_u64(name, Field::UsageCacheRead));
        let input = Some(all.saturating_sub(cache_read.unwrap_or(0)));
        let usage = Some(Usage { input, cache_read, ..Usage::default() });
        out.event(&Event::Usage(Turn { usage, ..Turn::default() }));
    }
}

impl CountReader {
    /// The object with the number, and the number's member name.
    fn place<'t>(&self, root: Val<'t>) -> (Option<Val<'t>>, &'static str) {
        let (name, way) = self.0.path.split_last().unwrap_or((&"", &[]));
        (way.iter().try_fold(root, |holder, name| holder.get(name)), name)
    }
}

/// Writes the token count of a request.
pub(crate) struct CountWriter {
    words: &'static CountWords,
    written: bool,
}

impl CountWriter {
    pub(crate) const fn new(words: &'static CountWords) -> Self {
        Self { words, written: false }
    }
}

impl Writer for CountWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let (Event::Usage(Turn { usage: Some(usage), .. }), false) = (event, self.written) else {
            return out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
        };
        self.written = true;
        out.json.object();
        if !self.words.around.is_empty() {
            out.json.with_value(self.words.around);
        }
        let (name, way) = self.words.path.split_last().unwrap_or((&"", &[]));
        for name in way {
            out.json.key(name).object();
        }
        out.json.key(name).u64(usage.all_input().unwrap_or(0));
        if let Some(cached) = self.words.cached {
            out.json.opt_u64(cached, usage.cache_read);
        }
        for _ in way {
            out.json.end_object();
        }
        out.json.end_object();
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}
