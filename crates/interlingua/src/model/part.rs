//! Parts: what items are made of.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, said_enum, words};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, ItemId, Of, Show, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

/// A piece of an item. Deltas with the same part number join.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta<'a> {
    /// The item that grows.
    pub item: ItemId,
    /// Which of its parts, from 0.
    pub part: u32,
    /// The piece.
    pub value: Part<'a>,
    /// Whether the source itself sent pieces.
    pub arrival: Arrival,
}

owned!(Delta { item, part, value, arrival });

words! {
    /// How a piece of an item came: live readers of our events want to know whether an agent streams.
    pub enum Arrival {
        /// The source wrote the part in one go; the delta is ours.
        Whole = "whole",
        /// The source sent this piece as it came.
        Streamed = "streamed",
    }

    /// What opaque state is to its issuer.
    pub enum OpaqueKind {
        /// Proof that what it stands beside (visible reasoning, a call, a text) is genuine.
        Signature = "signature",
        /// The thing itself, unreadable.
        Encrypted = "encrypted",
    }
}

said_enum! {
    /// What items are made of.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Part<'a> {
        /// Text, or the visible text of reasoning.
        Text(Str<'a>),
        /// A summary of reasoning that is not the reasoning itself.
        Summary(Str<'a>),
        /// A picture, document, sound or film.
        Media(Media<'a>),
        /// A JSON value with no further meaning to us.
        Json(Raw<'a>),
        /// Tool arguments.
        Args(Args<'a>),
        /// A file that was read or changed.
        File(FileRef<'a>),
        /// Where the statement in the part of that number comes from.
        Citation(Citation<'a>),
        /// Text by which the model declines.
        Refusal(Str<'a>),
        /// State only its issuer can read. It is never shown and never sent to anyone else.
        Opaque(Opaque<'a>),
        /// The provider should cache everything up to the part of that number.
        Cache(CacheMark<'a>),
    }

    /// Tool arguments: OpenAI writes them as a string, Anthropic as an object, and streams cut them anywhere.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Args<'a> {
        /// (A piece of) the text of the arguments.
        Text(Str<'a>),
        /// The arguments as a value.
        Json(Raw<'a>),
    }

    /// Where media bytes are.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MediaSource<'a> {
        /// Here, in base64.
        Base64(Str<'a>),
        /// At an address.
        Url(Str<'a>),
        /// In a provider's file store, under this id.
        File(Str<'a>),
        /// Here, as plain text: a document that can be cited.
        Text(Str<'a>),
    }
}

impl Part<'_> {
    /// Shows every value with its name, as a part of an item of that kind.
    pub fn each_field(&mut self, of: Of, show: &mut Show<'_>) {
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
pub struct Media<'a> {
    /// Such as `image/png`, if known.
    pub media_type: Option<Str<'a>>,
    /// Where the bytes are.
    pub source: MediaSource<'a>,
    /// A file name or title.
    pub name: Option<Str<'a>>,
    /// What the model should know about it and not cite.
    pub context: Option<Str<'a>>,
    /// Whether the model should cite it.
    pub citable: Option<bool>,
    /// How closely to look at it, in the dialect's own word.
    pub detail: Option<Str<'a>>,
}

impl<'a> MediaSource<'a> {
    /// The bytes, or the name of where they are.
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
    /// Media of which no more is known.
    pub const fn new(media_type: Option<Str<'a>>, source: MediaSource<'a>) -> Self {
        Self { media_type, source, name: None, context: None, citable: None, detail: None }
    }
}

owned!(Media { media_type, source, name, context, citable, detail });

said! {
    /// A file that was read or changed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FileRef<'a> {
        /// Its path.
        pub path: Str<'a> => FilePath,
        /// `read`, `write` or `patch`.
        pub action: Str<'a> => FileAction,
        /// What changed.
        pub diff: Option<Str<'a>> => FileDiff,
    }

    /// Where a statement comes from. Numbers are as written: what they count is the citation's kind.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Citation<'a> {
        /// The dialect's own word for this sort of citation.
        pub kind: Option<Str<'a>> => CitationKind,
        /// The words that are cited.
        pub quote: Option<Str<'a>> => CitationQuote,
        /// What the source is called.
        pub title: Option<Str<'a>> => CitationTitle,
        /// Where the source is: an address, or the name of a document or file.
        pub source: Option<Str<'a>> => CitationSource,
        /// The number of the source among those of the request.
        pub document: Option<Raw<'a>> => CitationDocument,
        /// Where in the source the cited words begin.
        pub start: Option<Raw<'a>> => CitationStart,
        /// Where they end.
        pub end: Option<Raw<'a>> => CitationEnd,
        /// Where in the answer the statement begins.
        pub from: Option<Raw<'a>> => CitationFrom,
        /// Where it ends.
        pub to: Option<Raw<'a>> => CitationTo,
        /// State that the provider wants back with it.
        pub state: Option<Str<'a>> => CitationState,
    }
}

/// The provider should cache everything up to here.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheMark<'a> {
    /// What sort of mark, in the dialect's own word.
    pub kind: Str<'a>,
    /// For how long, in the dialect's own word.
    pub lifetime: Option<Str<'a>>,
}

owned!(CacheMark { kind, lifetime });

/// State only its issuer can read. It may belong to any item: some sign reasoning, some calls, some texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque<'a> {
    /// What it is to the issuer.
    pub kind: OpaqueKind,
    /// The provider that issued it, such as [`issuers::ANTHROPIC`].
    pub issuer: Str<'a>,
    /// The state.
    pub value: Str<'a>,
}

owned!(Opaque { kind, issuer, value });

impl Opaque<'_> {
    /// Whether that provider issued it.
    pub fn is_of(&self, issuer: &str) -> bool {
        self.issuer.is(issuer)
    }
}

/// Those who issue opaque state, as records and reports name them.
pub mod issuers {
    /// Anthropic.
    pub const ANTHROPIC: &str = "anthropic";
    /// OpenAI.
    pub const OPENAI: &str = "openai";
    /// Google.
    pub const GOOGLE: &str = "google";
    /// xAI.
    pub const XAI: &str = "xai";
    /// GitHub Copilot, whatever provider it asked.
    pub const COPILOT: &str = "copilot";
}

impl OpaqueKind {
    /// The name of such state.
    pub const fn field(self) -> Field {
        match self {
            OpaqueKind::Signature => Field::Signature,
            OpaqueKind::Encrypted => Field::Encrypted,
        }
    }
}
