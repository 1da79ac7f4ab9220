//! The two profiles of the record.

/// Which form of the draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DraftProfile {
    /// Open maps: what the draft does not know stands beside what it knows.
    #[default]
    V3,
    /// Closed maps: it stands in `vendor-ext`.
    V2,
}

/// Who says what no vendor said.
pub(super) const OURS: &str = "interlingua";

impl DraftProfile {
    /// The version we write.
    pub(super) const fn version(self) -> &'static str {
        match self {
            DraftProfile::V3 => "3.0.0",
            DraftProfile::V2 => "2.0.0",
        }
    }
}
