//! Facts of a request that the conversion of its answer needs: the settings of the client, and its tools by the names that
//! were sent to the backend.

use crate::json::{Raw, Str};
use crate::model::{CallKind, Request, ToolCall};
use crate::tape::TapeBuf;
use crate::wire::backends::Capabilities;
use crate::wire::{aliases, schemas};

/// Facts of a request that its answer needs.
#[derive(Debug, Default)]
pub(super) struct RequestState {
    pub(super) model: Option<Str<'static>>,
    pub(super) stream: bool,
    pub(super) max_tokens: Option<u64>,
    /// The client asked for the usage of a stream.
    pub(super) stream_usage: bool,
    /// The client asked for summaries of the reasoning.
    pub(super) summaries: bool,
    /// The tools of the request, in the order of the name and group sent to the backend; `None` if the backend is unknown or
    /// the answer is copied.
    pub(super) tools: Option<Vec<(SentTool, DeclaredTool)>>,
}

/// The name of a tool as sent to the backend, and its group if the backend's dialect has groups; both escaped.
type SentTool = (String, Option<String>);

/// A tool as declared by the client.
#[derive(Debug)]
pub(super) struct DeclaredTool {
    pub(super) kind: CallKind,
    pub(super) namespace: Option<Str<'static>>,
    pub(super) name: Str<'static>,
    /// The tool's schema, if it is strict and has optional properties that the backend received as required.
    pub(super) optional: Option<Raw<'static>>,
}

impl RequestState {
    /// Stores the settings of a request.
    pub(super) fn learn(&mut self, request: &Request<'_>) {
        self.stream_usage = request.stream_usage == Some(true);
        self.summaries = request.reasoning.visibility.as_ref().is_some_and(|word| !word.is("omitted"));
        self.model = request.model.clone().map(Str::into_owned);
    }

    /// Stores the tools of a request to a backend with these capabilities.
    pub(super) fn learn_tools(&mut self, request: &Request<'_>, takes: &Capabilities, groups: bool) {
        let mut tape = TapeBuf::default();
        let names = aliases::sent_names(request.tools.iter(), groups, takes.tool_names);
        let mut tools = Vec::with_capacity(request.tools.len());
        for (tool, sent) in request.tools.iter().zip(names) {
            let schema = tool.schema.as_ref().filter(|_| {
                takes.schemas.strict_requires_all
                    && tool.strict == Some(true)
                    && tool.kind == CallKind::Function
            });
            let optional = schema.filter(|schema| !schemas::requires_all(schema, &mut tape));
            let declared = DeclaredTool {
                kind: tool.kind,
                namespace: tool.namespace.clone().map(Str::into_owned),
                name: tool.name.clone().into_owned(),
                optional: optional.map(|schema| schema.clone().into_owned()),
            };
            let group = tool.namespace.as_ref().filter(|_| groups).map(|group| group.as_escaped().to_owned());
            tools.push(((sent.as_escaped().to_owned(), group), declared));
        }
        // No two tools have the same name and group.
        tools.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.tools = Some(tools);
    }

    /// The declared tool of a backend's call. Backends add, drop and split groups: OpenAI gives a deferred tool a
    /// `namespace` equal to its name, and models omit the group or write it into the name.
    pub(super) fn tool_of(&self, call: &ToolCall<'_>) -> Option<&DeclaredTool> {
        let tools = self.tools.as_ref()?;
        let find = |name: &str, group: Option<&str>| {
            let key = |(known, of): &SentTool| (&**known, of.as_deref()).cmp(&(name, group));
            let at = tools.binary_search_by(|(sent, _)| key(sent)).ok()?;
            tools.get(at).map(|(_, tool)| tool)
        };
        let (name, group) = (call.name.as_escaped(), call.namespace.as_ref().map(Str::as_escaped));
        let only_of_name = || {
            let start = tools.partition_point(|((known, _), _)| &**known < name);
            let mut all = tools.iter().skip(start).take_while(|((known, _), _)| known == name);
            all.next().filter(|_| all.next().is_none()).map(|(_, tool)| tool)
        };
        let joined = || find(aliases::joined_name(call.namespace.as_ref()?, &call.name).as_escaped(), None);
        let split = || {
            let mut cuts = name.match_indices(aliases::GROUP_MARK).filter(|_| group.is_none());
            cuts.find_map(|(cut, mark)| find(&name[cut + mark.len()..], Some(&name[..cut])))
        };
        find(name, group).or_else(joined).or_else(|| find(name, None)).or_else(only_of_name).or_else(split)
    }
}
