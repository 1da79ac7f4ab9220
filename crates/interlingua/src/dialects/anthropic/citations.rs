//! Citations, in the citation types of the Messages API.

use crate::json::JsonWriter;
use crate::ledger::Reason;
use crate::model::{Citation, Field};
use crate::pipe::WriterOutput;

/// Member names of one citation type; an empty name means the type has no such member.
struct CitationNames {
    kind: &'static str,
    title: &'static str,
    source: &'static str,
    document: &'static str,
    start: &'static str,
    end: &'static str,
    state: &'static str,
}

const WEB: CitationNames = CitationNames {
    kind: "web_search_result_location",
    title: "title",
    source: "url",
    document: "",
    start: "",
    end: "",
    state: "encrypted_index",
};

const CITATIONS: [CitationNames; 5] = [
    of_document("char_location", "start_char_index", "end_char_index"),
    of_document("page_location", "start_page_number", "end_page_number"),
    of_document("content_block_location", "start_block_index", "end_block_index"),
    WEB,
    CitationNames {
        kind: "search_result_location",
        title: "title",
        source: "source",
        document: "search_result_index",
        start: "start_block_index",
        end: "end_block_index",
        state: "",
    },
];

const fn of_document(kind: &'static str, start: &'static str, end: &'static str) -> CitationNames {
    let (title, source, document, state) = ("document_title", "", "document_index", "");
    CitationNames { kind, title, source, document, start, end, state }
}

/// Whether the API defines the citation's type.
pub(super) fn is_own_citation(citation: &Citation<'_>) -> bool {
    citation.kind.as_ref().is_some_and(|kind| CITATIONS.iter().any(|names| kind.is(names.kind)))
}

/// Writes a citation. A citation of a type the API does not define is written as a web search result.
pub(super) fn write_citation(citation: &Citation<'_>, json: &mut JsonWriter<'_>, out: &mut WriterOutput<'_>) {
    let Citation { kind, quote, title, source, document, start, end, state, from: _, to: _ } = citation;
    let own = kind.as_ref().and_then(|kind| CITATIONS.iter().find(|names| kind.is(names.kind)));
    if own.is_none() {
        out.lose_some(Field::CitationKind, kind.as_ref(), Reason::Narrowed);
    }
    let names = own.unwrap_or(&WEB);
    json.object().key("type").literal(names.kind);
    json.key("cited_text").str(&quote.clone().unwrap_or_default());
    let texts = [
        (names.title, title, Field::CitationTitle),
        (names.source, source, Field::CitationSource),
        (names.state, state, Field::CitationState),
    ];
    for (name, text, field) in texts {
        match text {
            Some(text) if name.is_empty() => out.lose_str(field, text, Reason::NoSlot),
            Some(text) => _ = json.key(name).str(text),
            // Clients require both members.
            None if name == WEB.state || name == WEB.source => _ = json.key(name).literal(""),
            None => {}
        }
    }
    let numbers = [
        (names.document, document, Field::CitationDocument),
        (names.start, start, Field::CitationStart),
        (names.end, end, Field::CitationEnd),
    ];
    for (name, number, field) in numbers {
        match number {
            Some(number) if name.is_empty() => out.lose_raw(field, number, Reason::NoSlot),
            Some(number) => _ = json.key(name).raw(number),
            None => {}
        }
    }
    json.end_object();
}
