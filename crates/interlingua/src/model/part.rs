//! Parts: the content of items.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, said_enum, words};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, ItemId, ItemKindTag, Show, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

/// A piece of an item. Deltas with the same part number are joined.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Delta<'a> {
    /// The item that grows.
    pub item: ItemId,
    /// The number of the part, from 0.
    pub part: u32,
    /// The piece.
    pub value: Part<'a>,
    /// Whether the source itself sent the part in pieces.
    pub arrival: Arrival,
}

owned!(Delta { item, part, value, arrival });

words! {
    /// The delivery of a piece: live consumers of our events distinguish agents that stream.
    pub enum Arrival {
        /// The source wrote the whole part at once; the delta is ours.
        Whole = "whole",
        /// The source streamed this piece.
        Streamed = "streamed",
    }

    /// The purpose of opaque state.
    pub enum OpaqueKind {
        /// Proof that the neighbouring content (visible reasoning, a call, a text) is genuine.
        Signature = "signature",
        /// The encrypted content itself.
        Encrypted = "encrypted",
    }
}

said_enum! {
    /// The content of items.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Part<'a> {
        /// Text, or the visible text of reasoning.
        Text(Str<'a>),
        /// A summary of reasoning, not the reasoning itself.
        Summary(Str<'a>),
        /// A picture, document, sound or film.
        Media(Media<'a>),
        /// A JSON value that is not interpreted further.
        Json(Raw<'a>),
        /// Tool arguments.
        Args(Args<'a>),
        /// A file that was read or changed.
        File(FileRef<'a>),
        /// The source of the statement in the part with the given number.
        Citation(Citation<'a>),
        /// Text of a refusal by the model.
        Refusal(Str<'a>),
        /// State only its issuer can read. It is never shown and never sent to a different provider.
        Opaque(Opaque<'a>),
        /// A request to cache everything up to the part with the given number.
        Cache(CacheMark<'a>),
    }

    /// Tool arguments: OpenAI writes them as a string, Anthropic as an object, and streams cut them anywhere.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Args<'a> {
        /// The text of the arguments, or a piece of it.
        Text(Str<'a>),
        /// The arguments as a value.
        Json(Raw<'a>),
    }

    /// The location of media bytes.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MediaSource<'a> {
        /// Inline, in base64.
        Base64(Str<'a>),
        /// At a URL.
        Url(Str<'a>),
        /// In a provider's file store, under this id.
        File(Str<'a>),
        /// Inline, as plain text: a document that can be cited.
        Text(Str<'a>),
    }
}

impl Part<'_> {
    /// Shows every value with its field, as a part of an item of the given kind.
    pub fn each_field(&mut self, of: ItemKindTag, show: &mut Show<'_>) {
        match self {
            Part::Text(text) => show(of.text(), text),
            Part::Summary(text) => show(Field::ReasoningSummary, text),
            Part::Media(Media { media_type, source, name, context, citable, detail }) => {
                media_type.show(Field::MediaType, show);
                let (MediaSource::Base64(place)
                | MediaSource::Url(place)
                | MediaSource::File(place)
                | MediaSource::Text(place)) = source;
                show(of.media(), place);
                name.show(Field::MediaName, show);
                context.show(Field::MediaContext, show);
                citable.show(Field::MediaCitable, show);
                detail.show(Field::MediaDetail, show);
            }
            Part::Json(json) => show(of.json(), json),
            Part::Args(Args::Text(text)) => show(Field::CallArgs, text),
            Part::Args(Args::Json(json)) => show(Field::CallArgs, json),
            Part::File(file) => file.each_field(show),
            Part::Citation(citation) => citation.each_field(show),
            Part::Refusal(text) => show(Field::Refusal, text),
            Part::Opaque(Opaque { kind, issuer, value }) => {
                show(kind.field(), value);
                show(Field::Issuer, issuer);
            }
            Part::Cache(CacheMark { kind, lifetime }) => {
                show(Field::CacheMark, kind);
                lifetime.show(Field::CacheLifetime, show);
            }
        }
    }
}

/// A picture, document, sound or film.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Media<'a> {
    /// The media type, for example `image/png`, if present.
    pub media_type: Option<Str<'a>>,
    /// The location of the bytes.
    pub source: MediaSource<'a>,
    /// A file name or title.
    pub name: Option<Str<'a>>,
    /// Background about the media for the model, not for citation.
    pub context: Option<Str<'a>>,
    /// Whether the model should cite the media.
    pub citable: Option<bool>,
    /// The level of detail at which the model looks at the media, in the dialect's own word.
    pub detail: Option<Str<'a>>,
}

impl<'a> MediaSource<'a> {
    /// The bytes, or the address or id of the bytes.
    pub const fn text(&self) -> &Str<'a> {
        match self {
            MediaSource::Base64(text)
            | MediaSource::Url(text)
            | MediaSource::File(text)
            | MediaSource::Text(text) => text,
        }
    }
}

impl<'a> Media<'a> {
    /// Media with only the required fields.
    pub const fn new(media_type: Option<Str<'a>>, source: MediaSource<'a>) -> Self {
        Self { media_type, source, name: None, context: None, citable: None, detail: None }
    }
}

owned!(Media { media_type, source, name, context, citable, detail });

said! {
    /// A file that was read or changed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FileRef<'a> {
        /// The path of the file.
        pub path: Str<'a> => FilePath,
        /// `read`, `write` or `patch`.
        pub action: Str<'a> => FileAction,
        /// The change as a diff.
        pub diff: Option<Str<'a>> => FileDiff,
    }

    /// The source of a statement. Numbers are as written; the citation's kind defines their unit.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Citation<'a> {
        /// The dialect's own word for this kind of citation.
        pub kind: Option<Str<'a>> => CitationKind,
        /// The cited text.
        pub quote: Option<Str<'a>> => CitationQuote,
        /// The title of the source.
        pub title: Option<Str<'a>> => CitationTitle,
        /// The location of the source: an address, or the name of a document or file.
        pub source: Option<Str<'a>> => CitationSource,
        /// The index of the source among the documents of the request.
        pub document: Option<Raw<'a>> => CitationDocument,
        /// The start of the cited text in the source.
        pub start: Option<Raw<'a>> => CitationStart,
        /// The end of the cited text in the source.
        pub end: Option<Raw<'a>> => CitationEnd,
        /// The start of the statement in the answer.
        pub from: Option<Raw<'a>> => CitationFrom,
        /// The end of the statement in the answer.
        pub to: Option<Raw<'a>> => CitationTo,
        /// State that the provider expects back with the citation.
        pub state: Option<Str<'a>> => CitationState,
    }
}

/// A request to the provider to cache everything up to this point.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct CacheMark<'a> {
    /// The type of cache mark, in the dialect's own word.
    pub kind: Str<'a>,
    /// The lifetime of the cache entry, in the dialect's own word.
    pub lifetime: Option<Str<'a>>,
}

owned!(CacheMark { kind, lifetime });

/// State only its issuer can read. It may belong to any item: providers sign reasoning, calls or texts.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Opaque<'a> {
    /// The purpose of the state.
    pub kind: OpaqueKind,
    /// The provider that issued the state, such as [`issuers::ANTHROPIC`].
    pub issuer: Str<'a>,
    /// The state.
    pub value: Str<'a>,
}

owned!(Opaque { kind, issuer, value });

impl Opaque<'_> {
    /// Whether the given provider issued the state.
    pub fn is_of(&self, issuer: &str) -> bool {
        self.issuer.is(issuer)
    }
}

/// Issuers of opaque state, as named in records and reports.
pub mod issuers {
    /// Anthropic.
    pub const ANTHROPIC: &str = "anthropic";
    /// OpenAI.
    pub const OPENAI: &str = "openai";
    /// Google.
    pub const GOOGLE: &str = "google";
    /// xAI.
    pub const XAI: &str = "xai";
    /// GitHub Copilot, regardless of the provider behind it.
    pub const COPILOT: &str = "copilot";
}

impl OpaqueKind {
    /// The field of opaque state of this kind.
    pub const fn field(self) -> Field {
        match self {
            OpaqueKind::Signature => Field::Signature,
            OpaqueKind::Encrypted => Field::Encrypted,
        }
    }
}
