//! The two profiles of the record.

/// The version of the draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DraftProfile {
    /// Open maps: members outside the draft are beside the draft's members.
    #[default]
    V3,
    /// Closed maps: members outside the draft are in `vendor-ext`.
    V2,
}

/// Vendor name used for our own extensions.
pub(super) const OURS: &str = "interlingua";

impl DraftProfile {
    /// The version that the writer emits.
    pub(super) const fn version(self) -> &'static str {
        match self {
            DraftProfile::V3 => "3.0.0",
            DraftProfile::V2 => "2.0.0",
        }
    }
}
