//! The stage before the writer of a request's settings. The stage alone decides which settings a target accepts and books
//! the losses; the writer prints every member of the narrowed request.
//!
//! A dialect lists its steps in the order of its notes: the tables of single values, the reasoning, the answer's format, the
//! tools and the choice among them. [`Narrowing::lose`] books a setting and removes it from the request in one step, so that
//! no setting is dropped without a loss or printed in spite of one.

use std::borrow::Cow;
use std::collections::HashSet;

use super::aliases;
use super::backends::Capabilities;
use super::profile::{FreeText, Profile};
use super::schemas::{answer_schema, tool_schema};
use super::settings::{FittedNumber, OfferedTools, SETTINGS_MARK, Setting, SettingForm, fitted, stops};
use super::thinking::ThinkingPlan;
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::model::{
    CacheMark, CallKind, Field, Format, Reasoning, Request, SchemaFormat, SettingMut, SettingRef, Support,
    Tool, ToolChoice,
};
use crate::pipe::WriterOutput;
use crate::tape::TapeBuf;

/// A request that is narrowed step by step to the settings of a target.
pub(crate) struct Narrowing<'n, 'a, 'o> {
    /// The request of the source.
    pub(crate) asked: &'n Request<'a>,
    /// The request as the target accepts it so far.
    pub(crate) request: Cow<'n, Request<'a>>,
    pub(crate) takes: &'n Capabilities,
    profile: &'static Profile,
    out: WriterOutput<'o>,
    tape: TapeBuf,
}

/// The members of tools that a dialect does not have, by the kind of tool, each with the reason for its loss.
pub(crate) struct ToolRules {
    /// On the vendor's own tools.
    pub(crate) not_on_own: &'static [(Field, Reason)],
    /// On tools of the vendor that replace another vendor's tool, beside its type, name and settings.
    pub(crate) not_on_stand_ins: &'static [(Field, Reason)],
    /// On functions that the client describes.
    pub(crate) not_on_functions: &'static [(Field, Reason)],
    /// On tools that take plain text.
    pub(crate) not_on_free_text: &'static [(Field, Reason)],
    /// The setting that a replacing tool needs, by the type of that tool.
    pub(crate) of_stand_ins: &'static [(&'static str, (&'static str, &'static str))],
    /// Whether a function without a schema needs an empty schema.
    pub(crate) needs_schema: bool,
    /// Whether a function is strict unless the request says otherwise.
    pub(crate) is_strict: bool,
}

impl ToolRules {
    /// Tools with every member, as a base.
    pub(crate) const EVERYTHING: Self = Self {
        not_on_own: &[],
        not_on_stand_ins: &[],
        not_on_functions: &[],
        not_on_free_text: &[],
        of_stand_ins: &[],
        needs_schema: false,
        is_strict: false,
    };
}

/// Sampling settings, which some models refuse together with reasoning.
const SAMPLING: [Field; 4] = [Field::Temperature, Field::TopP, Field::TopK, Field::TopLogprobs];

/// The schema of a free-text tool for servers whose tools take only objects.
const FREE_TEXT: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;

impl<'n, 'a, 'o> Narrowing<'n, 'a, 'o> {
    pub(crate) fn new(
        asked: &'n Request<'a>,
        profile: &'static Profile,
        takes: &'n Capabilities,
        out: &'o mut WriterOutput<'_>,
    ) -> Self {
        let (request, tape) = (Cow::Borrowed(asked), TapeBuf::default());
        Self { asked, request, takes, profile, out: out.reborrow(), tape }
    }

    pub(crate) fn note(&mut self, what: &'static str) {
        self.out.ledger.note(what);
    }

    /// The request, for changes.
    pub(crate) fn change(&mut self) -> &mut Request<'a> {
        self.request.to_mut()
    }

    /// Books the asked value of a setting as lost, if there is one, and removes the setting from the request.
    pub(crate) fn lose(&mut self, field: Field, reason: Reason) {
        let Some(setting) = self.asked.setting(field).filter(is_set) else { return };
        match setting {
            SettingRef::Text(text) => self.out.lose_some(field, text.as_ref(), reason),
            SettingRef::Number(Some(number)) => self.out.lose_raw(field, number, reason),
            SettingRef::Number(None) => {}
            SettingRef::Flag(_) => self.out.lose(field, reason),
            SettingRef::Texts(texts) => {
                for text in texts {
                    self.out.lose_str(field, text, reason);
                }
            }
            SettingRef::Pairs(pairs) => {
                for (_, value) in pairs {
                    self.out.lose_str(field, value, reason);
                }
            }
        }
        self.clear(field);
    }

    /// Books that the asked value of a setting is written in another form.
    pub(crate) fn narrowed(&mut self, field: Field) {
        if let Some(SettingRef::Text(Some(text))) = self.asked.setting(field) {
            self.out.lose_str(field, text, Reason::Narrowed);
        }
    }

    fn clear(&mut self, field: Field) {
        match self.change().setting_mut(field) {
            Some(SettingMut::Text(text)) => *text = None,
            Some(SettingMut::Number(number)) => *number = None,
            Some(SettingMut::Flag(flag)) => *flag = None,
            Some(SettingMut::Texts(texts)) => texts.clear(),
            Some(SettingMut::Pairs(pairs)) => pairs.clear(),
            None => {}
        }
    }

    /// Narrows each single value of a table.
    pub(crate) fn values(&mut self, settings: &[Setting]) {
        let samples =
            self.takes.sampling_with_thinking || !ThinkingPlan::is_asked(&self.asked.reasoning, self.takes);
        for Setting { names: _, field, how } in settings {
            let Some(setting) = self.asked.setting(*field).filter(is_set) else {
                if *field == Field::RequestModel && self.takes.needs_model {
                    self.note("no model named: called `unknown`");
                    self.change().model = Some(Str::escaped("unknown"));
                }
                continue;
            };
            if matches!((self.profile.support)(*field), Support::No(_)) {
                // By the table, the ledger books the loss.
                self.clear(*field);
                continue;
            }
            if !self.takes.takes(*field) || !samples && SAMPLING.contains(field) {
                self.lose(*field, Reason::Refused);
                continue;
            }
            match setting {
                SettingRef::Text(Some(text)) => self.text(*field, text, how),
                SettingRef::Number(Some(number)) => self.number(*field, number, how),
                SettingRef::Texts(texts) if *field == Field::StopTexts => self.stop_texts(texts),
                SettingRef::Pairs(pairs) => self.pairs(*field, pairs, how),
                SettingRef::Text(None)
                | SettingRef::Number(None)
                | SettingRef::Flag(_)
                | SettingRef::Texts(_) => {}
            }
        }
    }

    fn text(&mut self, field: Field, text: &'n Str<'a>, how: &SettingForm) {
        let word = match how {
            SettingForm::Words(words) => {
                words.iter().find(|(ours, _)| text.is(ours)).map(|(_, theirs)| *theirs)
            }
            SettingForm::OwnWords(words) => words.iter().copied().find(|word| text.is(word)),
            SettingForm::ShortId(most) => return self.short_id(field, *most),
            SettingForm::AsIs | SettingForm::Between(..) | SettingForm::Pairs(_) => return,
        };
        match word {
            None => self.lose(field, Reason::Narrowed),
            Some(word) if text.is(word) => {}
            Some(word) => self.set_text(field, Str::escaped(word)),
        }
    }

    fn set_text(&mut self, field: Field, new: Str<'a>) {
        if let Some(SettingMut::Text(text)) = self.change().setting_mut(field) {
            *text = Some(new);
        }
    }

    /// Replaces an id of more than `most` characters by a hash.
    pub(crate) fn short_id(&mut self, field: Field, most: usize) {
        let Some(SettingRef::Text(Some(id))) = self.asked.setting(field) else { return };
        if let Some(short) = aliases::short_id(field, id, most, &mut self.out) {
            self.set_text(field, short);
        }
    }

    fn number(&mut self, field: Field, number: &Raw<'a>, how: &SettingForm) {
        let new = match fitted(field, number, how, self.takes) {
            FittedNumber::Fits => return,
            FittedNumber::Refused => return self.lose(field, Reason::Refused),
            FittedNumber::Respelled(new) => {
                self.note("number written in the form that the target takes");
                new
            }
            FittedNumber::Repaired(new) => {
                self.out.lose_raw(field, number, Reason::Refused);
                self.note("number brought into the range that the target takes");
                new
            }
        };
        if let Some(SettingMut::Number(number)) = self.change().setting_mut(field) {
            *number = Some(Raw::owned(new));
        }
    }

    fn stop_texts(&mut self, texts: &[Str<'a>]) {
        let mut kept = Vec::with_capacity(texts.len());
        for text in texts {
            if kept.len() < self.takes.max_stop_texts && stops(text, self.takes) {
                kept.push(text.clone());
            } else {
                self.out.lose_str(Field::StopTexts, text, Reason::Refused);
            }
        }
        if kept.len() < texts.len() {
            self.change().stop = kept;
        }
    }

    fn pairs(&mut self, field: Field, pairs: &[(Str<'a>, Str<'a>)], how: &SettingForm) {
        let SettingForm::Pairs(limits) = how else { return };
        let mut kept = Vec::with_capacity(pairs.len());
        for pair in pairs {
            if kept.len() < limits.count && limits.fit(pair) {
                kept.push(pair.clone());
            } else {
                self.out.lose_str(field, &pair.1, Reason::Refused);
            }
        }
        if kept.len() < pairs.len() {
            self.change().metadata = kept;
        }
    }

    /// Translates a list of words; unknown words are lost.
    pub(crate) fn modalities(&mut self, words: &[(&'static str, &'static str)]) {
        let mut known = Vec::new();
        for ours in &self.asked.modalities {
            match words.iter().find(|(word, _)| ours.is(word)) {
                Some((_, theirs)) => known.push(Str::escaped(theirs)),
                None => self.out.lose_str(Field::Modalities, ours, Reason::Narrowed),
            }
        }
        if !self.asked.modalities.is_empty() {
            self.change().modalities = known;
        }
    }

    /// Books the members of a cache mark, on the request or on a tool, for which the target has no word.
    pub(crate) fn cache(&mut self, mark: &CacheMark<'_>) {
        if !matches!((self.profile.support)(Field::SettingsCache), Support::No(_)) {
            self.profile.cache.lose_rest(mark, SETTINGS_MARK, &mut self.out);
        }
    }

    /// Books a flag or a word of the model that is not a setting of its own.
    pub(crate) fn lose_word(&mut self, field: Field, reason: Reason) {
        self.out.lose(field, reason);
    }

    /// The reasoning settings nearest to those of the source, in the form of the target's model.
    pub(crate) fn thinking(&mut self) -> ThinkingPlan<'a> {
        let limit = super::settings::stated_limit(self.asked, self.takes);
        ThinkingPlan::new(&self.asked.reasoning, limit, self.takes, &mut self.out)
    }

    /// Sets the reasoning that the writer prints.
    pub(crate) fn set_reasoning(&mut self, reasoning: Reasoning<'a>) {
        if self.request.reasoning != reasoning {
            self.change().reasoning = reasoning;
        }
    }

    /// Adapts the schema of the answer to the target.
    pub(crate) fn answer_schema(&mut self) {
        let Some(Format::Schema(asked)) = &self.asked.format else { return };
        let new = answer_schema(&asked.schema, self.takes.schemas, &mut self.tape, &mut self.out);
        if let Some(schema) = new {
            self.change().format = Some(Format::Schema(SchemaFormat { schema, ..asked.clone() }));
        }
    }

    /// Names the schema of the answer.
    pub(crate) fn name_answer_schema(&mut self) {
        if let Some(Format::Schema(format)) = &self.request.format
            && format.name.is_none()
        {
            let name = Some(Str::escaped("response"));
            let format = Format::Schema(SchemaFormat { name, ..format.clone() });
            self.change().format = Some(format);
            self.note("schema of the answer called `response`");
        }
    }
}

/// Whether the request has a value for the setting.
fn is_set(setting: &SettingRef<'_, '_>) -> bool {
    match setting {
        SettingRef::Text(text) => text.is_some(),
        SettingRef::Number(number) => number.is_some(),
        SettingRef::Flag(flag) => flag.is_some(),
        SettingRef::Texts(texts) => !texts.is_empty(),
        SettingRef::Pairs(pairs) => !pairs.is_empty(),
    }
}

/// Tools, and the choice among them.
impl<'a> Narrowing<'_, 'a, '_> {
    /// Narrows the tools that `listed` selects, and the choice among them. Returns whether any tool is offered.
    pub(crate) fn tools(&mut self, rules: &ToolRules, thinks: bool, listed: fn(&Tool<'_>) -> bool) -> bool {
        let (asked, profile) = (self.asked, self.profile);
        let lists_allowed = self.lists_allowed_tools();
        let allowed = asked.allowed_tools.iter().filter(|_| !lists_allowed);
        let allowed: HashSet<&str> = allowed.map(Str::as_escaped).collect();
        let is_allowed = |tool: &Tool<'_>| allowed.is_empty() || allowed.contains(tool.name.as_escaped());
        let is_offered = |tool: &Tool<'_>| listed(tool) && profile.offers(tool) && is_allowed(tool);
        for tool in asked.tools.iter().filter(|tool| listed(tool) && !is_offered(tool)) {
            let refused = profile.offers(tool);
            self.out.lose_all(tool, if refused { Reason::Refused } else { Reason::NoSlot });
            if refused {
                self.note("tools that may not be used are not offered");
            }
        }
        let listed = asked.tools.iter().filter(|tool| listed(tool));
        let names = aliases::sent_names(listed.clone(), profile.groups, self.takes.tool_names);
        let mut offered = Vec::with_capacity(names.len());
        let (mut chosen, mut group) = (None, None);
        for (tool, name) in listed.zip(names).filter(|(tool, _)| is_offered(tool)) {
            if name != tool.name {
                self.note("tool called by another name, which the target takes");
            }
            if profile.groups && tool.namespace.is_some() && tool.namespace.as_ref() != group {
                self.note("group of tools described by its name");
            }
            group = tool.namespace.as_ref();
            let is_chosen = matches!(&asked.tool_choice, Some(ToolChoice::Named(name)) if tool.name == *name);
            let tool = self.tool(tool, name.into_owned(), rules);
            if is_chosen && chosen.is_none() {
                chosen = Some(ToolChoice::Named(tool.name.clone()));
            }
            offered.push(tool);
        }
        let is_any = !offered.is_empty();
        self.choice(&offered, chosen, thinks);
        if !asked.tools.is_empty() {
            self.change().tools = offered;
        }
        is_any
    }

    /// Books a tool that is not offered.
    pub(crate) fn lose_all_of(&mut self, tool: &Tool<'_>, reason: Reason) {
        self.out.lose_all(tool, reason);
    }

    /// Whether the target has a list of allowed tools.
    fn lists_allowed_tools(&self) -> bool {
        !matches!((self.profile.support)(Field::AllowedTools), Support::No(_) | Support::Emulated(_))
    }

    fn choice(&mut self, offered: &[Tool<'a>], chosen: Option<ToolChoice<'a>>, thinks: bool) {
        let (asked, takes) = (self.asked, self.takes);
        if offered.is_empty() {
            self.lose_choice();
            self.lose(Field::ParallelCalls, Reason::Refused);
            if self.lists_allowed_tools() {
                self.lose(Field::AllowedTools, Reason::Refused);
            }
            return;
        }
        let new = match &asked.tool_choice {
            Some(ToolChoice::Required) if !takes.unnamed_calls => {
                let only = offered.first().filter(|_| offered.len() == 1);
                if only.is_some() {
                    self.note("call of the only tool demanded by its name");
                }
                only.map(|only| ToolChoice::Named(only.name.clone()))
            }
            Some(ToolChoice::Named(_)) => chosen,
            choice => choice.clone(),
        };
        let forces = matches!(asked.tool_choice, Some(ToolChoice::Required | ToolChoice::Named(_)));
        let may_force = takes.forced_calls_with_thinking || !thinks;
        if forces && !may_force || new.is_none() && asked.tool_choice == Some(ToolChoice::Required) {
            self.lose_choice();
            self.note("a call cannot be demanded of this model: left to it");
            self.change().tool_choice = Some(ToolChoice::Auto);
        } else if new.is_none() {
            self.lose_choice();
        } else if new != asked.tool_choice {
            self.change().tool_choice = new;
        }
        if asked.tool_choice == Some(ToolChoice::None) || !takes.takes(Field::ParallelCalls) {
            self.lose(Field::ParallelCalls, Reason::Refused);
        }
    }

    /// Books the tool choice and removes it from the request.
    pub(crate) fn lose_choice(&mut self) {
        match &self.asked.tool_choice {
            Some(ToolChoice::Named(name)) => self.out.lose_str(Field::ToolChoice, name, Reason::Refused),
            Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => {
                self.out.lose(Field::ToolChoice, Reason::Refused);
            }
            None => return,
        }
        self.change().tool_choice = None;
    }

    /// Narrows the list of allowed tools to the names that the target gets. The list is redundant beside a choice that
    /// `counts` does not accept.
    pub(crate) fn allowed_tools(
        &mut self,
        counts: impl FnOnce(Option<&ToolChoice<'_>>) -> bool,
        is_listed: impl Fn(&Tool<'_>) -> bool,
    ) {
        let asked = self.asked;
        if asked.allowed_tools.is_empty() || self.request.allowed_tools.is_empty() {
            return;
        }
        if !counts(self.request.tool_choice.as_ref()) {
            return self.lose(Field::AllowedTools, Reason::Redundant);
        }
        let offered = OfferedTools::of(&asked.tools);
        let mut names = Vec::with_capacity(asked.allowed_tools.len());
        for name in &asked.allowed_tools {
            match offered.get(name).filter(|tool| is_listed(tool)) {
                Some(tool) => names.push(self.sent_name(tool).into_owned()),
                None => self.out.lose_str(Field::AllowedTools, name, Reason::Refused),
            }
        }
        self.change().allowed_tools = names;
    }

    /// The name of a tool in the target.
    fn sent_name<'t>(&self, tool: &'t Tool<'_>) -> Str<'t> {
        let rule = self.takes.tool_names;
        match &tool.vendor_type {
            Some(own) if self.profile.own_type(own).is_some() => tool.name.reborrow(),
            Some(_) => {
                self.profile.stand_in(tool.service).map_or(Str::default(), |(_, own)| Str::escaped(own))
            }
            None if self.profile.groups => aliases::alias(&tool.name, rule),
            None => aliases::sent_name(tool, rule),
        }
    }

    /// A tool with the members that the target has.
    fn tool(&mut self, tool: &Tool<'a>, name: Str<'a>, rules: &ToolRules) -> Tool<'a> {
        let mut new = tool.clone();
        if let Some(mark) = &tool.cache {
            self.cache(mark);
        }
        if let Some(vendor_type) = &tool.vendor_type {
            let foreign = Some(tool.service).filter(|_| self.profile.own_type(vendor_type).is_none());
            if let Some(own) = foreign.and_then(|service| self.profile.stand_in(service)) {
                self.stand_in(tool, &mut new, own);
                self.lose_members(tool, &mut new, rules.not_on_stand_ins);
                let needed = rules.of_stand_ins.iter().filter(|(own_type, _)| *own_type == own.0);
                new.config = needed.map(|(_, (name, json))| (Str::escaped(name), Raw::new(json))).collect();
            }
            self.lose_members(tool, &mut new, rules.not_on_own);
            return new;
        }
        new.name = name;
        if tool.kind == CallKind::Vendor {
            self.out.lose_of(tool, Field::ToolKind, Reason::Narrowed);
        }
        let is_function = tool.kind != CallKind::FreeText;
        let lacking = if is_function { rules.not_on_functions } else { rules.not_on_free_text };
        self.lose_members(tool, &mut new, lacking);
        if !is_function && self.profile.free_text == FreeText::Wrapped {
            self.note("free-text tool offered as a function with the member `input`");
            (new.kind, new.schema, new.grammar) = (CallKind::Function, Some(Raw::new(FREE_TEXT)), None);
            return new;
        }
        if new.schema.is_some() || is_function && rules.needs_schema {
            let (schema, rules) = (tool.schema.as_ref(), self.takes.schemas);
            let fitting = tool_schema(schema, tool.strict, rules, &mut self.tape, &mut self.out);
            new.schema = fitting.or(new.schema);
        }
        if is_function && rules.is_strict && new.strict.is_none() && new.namespace.is_none() {
            self.note("tool said not to be strict, which here it would be");
            new.strict = Some(false);
        }
        new
    }

    /// Replaces another vendor's tool by the target's own tool for the same service, given by its type and name.
    pub(crate) fn stand_in(
        &mut self,
        tool: &Tool<'a>,
        new: &mut Tool<'a>,
        (own_type, own_name): (&'static str, &'static str),
    ) {
        self.note("another vendor's tool replaced by the target's own for the same");
        self.out.lose_some(Field::ToolType, tool.vendor_type.as_ref(), Reason::Narrowed);
        self.out.lose_str(Field::ToolName, &tool.name, Reason::Narrowed);
        self.lose_members(tool, new, &[(Field::ToolConfig, Reason::NoSlot)]);
        (new.vendor_type, new.name) = (Some(Str::escaped(own_type)), Str::escaped(own_name));
    }

    fn lose_members(&mut self, tool: &Tool<'a>, new: &mut Tool<'a>, members: &[(Field, Reason)]) {
        for (field, reason) in members {
            let raw = match field {
                Field::ToolSchema => new.schema.take(),
                Field::ToolOutputSchema => new.output_schema.take(),
                Field::ToolGrammar => new.grammar.take(),
                _ => None,
            };
            let has_word = match field {
                Field::ToolKind => true,
                Field::ToolStrict => new.strict.take().is_some(),
                Field::ToolDeferred => new.deferred.take().is_some(),
                _ => false,
            };
            if has_word {
                self.out.lose_of(tool, *field, *reason);
            }
            if *field == Field::ToolDescription {
                self.out.lose_some(*field, new.description.take().as_ref(), *reason);
            }
            let config =
                if *field == Field::ToolConfig { std::mem::take(&mut new.config) } else { Vec::new() };
            for value in config.into_iter().map(|(_, value)| value).chain(raw) {
                self.out.lose_raw(*field, &value, *reason);
            }
        }
    }

    /// Books a flag or a word of a tool.
    pub(crate) fn lose_of(&mut self, tool: &Tool<'_>, field: Field, reason: Reason) {
        self.out.lose_of(tool, field, reason);
    }
}
