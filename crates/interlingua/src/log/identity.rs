//! Session ids: the ids a program accepts, and the made-up id for a source without an acceptable id.

use std::borrow::Cow;

use super::file::is_uuid;
use super::gather::GatheredItem;
use crate::dialects::Options;
use crate::json::Raw;
use crate::ledger::TextDigest;
use crate::model::Part;

/// The session ids a program accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum SessionIds {
    /// The log has no session id.
    Nowhere,
    /// A UUID.
    Uuid,
    /// A UUID of version 1 to 5: Qwen Code does not find sessions with any other id.
    EarlyUuid,
    /// A UUID after this prefix.
    PrefixedUuid(&'static str),
    /// Letters, digits, `_` and `-` after this prefix.
    PrefixedWord(&'static str),
}

impl SessionIds {
    /// The form of a foreign session id that the program accepts, if there is one. Different ids have different forms.
    pub fn form_of(self, id: &str) -> Option<Cow<'_, str>> {
        let is_word = |id: &str| {
            !id.is_empty()
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        match self {
            SessionIds::Nowhere => None,
            SessionIds::Uuid => is_uuid(id).then_some(Cow::Borrowed(id)),
            SessionIds::EarlyUuid => is_early_uuid(id).then_some(Cow::Borrowed(id)),
            SessionIds::PrefixedUuid(prefix) => match id.strip_prefix(prefix) {
                Some(rest) => is_uuid(rest).then_some(Cow::Borrowed(id)),
                None => is_uuid(id).then(|| Cow::Owned(format!("{prefix}{id}"))),
            },
            SessionIds::PrefixedWord(prefix) => match id.strip_prefix(prefix) {
                Some(rest) => is_word(rest).then_some(Cow::Borrowed(id)),
                None => is_word(id).then(|| Cow::Owned(format!("{prefix}{id}"))),
            },
        }
    }

    /// An id derived from a digest.
    fn made_of(self, digest: u128) -> String {
        let [one, two, three, four] = [96, 64, 32, 0].map(|bits| (digest >> bits) as u32);
        let uuid = format!(
            "{one:08x}-{:04x}-5{:03x}-{:x}{:03x}-{:04x}{four:08x}",
            two >> 16,
            two & 0xfff,
            8 | three >> 30,
            three >> 16 & 0xfff,
            three & 0xffff
        );
        match self {
            SessionIds::PrefixedUuid(prefix) => format!("{prefix}{uuid}"),
            SessionIds::PrefixedWord(prefix) => format!("{prefix}{}", uuid.replace('-', "")),
            SessionIds::Nowhere | SessionIds::Uuid | SessionIds::EarlyUuid => uuid,
        }
    }
}

fn is_early_uuid(id: &str) -> bool {
    let at = |place: usize| id.as_bytes().get(place).copied().unwrap_or_default();
    is_uuid(id)
        && matches!(at(14), b'1'..=b'5')
        && matches!(at(19).to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b')
}

/// The made-up id of a session, and the inputs it is derived from.
#[derive(Debug, Default)]
pub(super) struct MadeUpId {
    /// The name and the location of the source.
    source: [Option<String>; 2],
    /// The number of earlier sessions in the file.
    earlier: usize,
    id: Option<String>,
    is_noted: bool,
}

impl MadeUpId {
    pub(super) fn new(options: &Options) -> Self {
        Self { source: [options.source_name.clone(), options.source_place.clone()], ..Self::default() }
    }

    /// The id, once made.
    pub(super) fn id(&self) -> Option<Raw<'static>> {
        self.id.as_ref().map(|id| Raw::owned(format!("\"{id}\"")))
    }

    /// Whether the report lacks a remark about the made-up id; marks the remark as made.
    pub(super) fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.is_noted, true)
    }

    /// Prepares for a further session in the same file.
    pub(super) fn next_session(&mut self) {
        *self =
            Self { source: std::mem::take(&mut self.source), earlier: self.earlier + 1, ..Self::default() };
    }

    /// Makes the id once: from the source's id if the program does not accept that id, or else from the name and
    /// location of the source and the first item of the session. Several sessions may come from files with the same
    /// name.
    pub(super) fn make(&mut self, form: SessionIds, known: Option<&str>, first: GatheredItem<'_>) {
        if self.id.is_some() {
            return;
        }
        let mut seed = TextDigest::new();
        let mut add = |text: &str| seed.bytes(text.as_bytes());
        if let Some(known) = known {
            add(known);
        } else {
            for text in &self.source {
                add(text.as_deref().unwrap_or_default());
            }
            add(&self.earlier.to_string());
            add(first.head().time.as_ref().map_or("", Raw::as_str));
            for part in first.parts() {
                if let Part::Text(text) | Part::Summary(text) = part {
                    add(&text.decode());
                }
            }
        }
        self.id = Some(form.made_of(seed.end()));
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionIds, TextDigest};

    #[test]
    fn a_made_up_id_is_one_that_the_program_takes() {
        for form in [
            SessionIds::Uuid,
            SessionIds::EarlyUuid,
            SessionIds::PrefixedUuid("T-"),
            SessionIds::PrefixedWord("ses_"),
        ] {
            for seed in 0..200u8 {
                let mut digest = TextDigest::new();
                digest.bytes(&[seed]);
                let id = form.made_of(digest.end());
                assert_eq!(form.form_of(&id).as_deref(), Some(id.as_str()), "{form:?}");
            }
        }
    }

    #[test]
    fn qwen_takes_versions_one_to_five() {
        let id = |version: char| format!("01a1de00-0000-{version}000-8000-0000000c0de0");
        for version in '0'..='9' {
            let is_early = ('1'..='5').contains(&version);
            assert_eq!(SessionIds::EarlyUuid.form_of(&id(version)).is_some(), is_early, "version {version}");
            assert!(SessionIds::Uuid.form_of(&id(version)).is_some(), "version {version}");
        }
        assert!(SessionIds::EarlyUuid.form_of("01a1de00-0000-4000-c000-0000000c0de0").is_none());
    }
}
