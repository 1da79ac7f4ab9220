//! The rules: stable ids, default severities and one sentence for people.

use interlingua::error::Code;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditSeverity {
    /// A fact that an auditor should know, normal in honest sessions.
    Info,
    /// Unusual in an honest session.
    Warning,
    /// A breach of a rule that honest sessions keep, or of the policy.
    Error,
}

impl AuditSeverity {
    /// Every severity, the lowest first.
    pub const ALL: [AuditSeverity; 3] = [AuditSeverity::Info, AuditSeverity::Warning, AuditSeverity::Error];

    /// The word in policies and reports.
    pub const fn word(self) -> &'static str {
        match self {
            AuditSeverity::Info => "info",
            AuditSeverity::Warning => "warning",
            AuditSeverity::Error => "error",
        }
    }
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuditRule {
    /// An item is earlier than the item before it.
    TimeBackwards,
    /// The clock jumps forward between two items of one turn.
    ClockJump,
    /// A time is before the first agents or in the future.
    ImplausibleTime,
    /// The numbers of lines, events or messages have a gap.
    SequenceGap,
    /// A call was denied, and its result shows a success.
    DeniedButExecuted,
    /// A permission was requested and not answered, and the result of the call shows a success.
    ExecutedWithoutDecision,
    /// The policy denies the tool.
    ToolDenied,
    /// The tool is not in the policy's list of allowed tools.
    ToolNotAllowed,
    /// Reasoning is present, but only as encrypted state.
    EncryptedReasoning,
    /// An id has the form that this program gives to items without an id.
    MadeUpId,
    /// A time is the placeholder that this program writes for items without a time.
    MadeUpTime,
    /// A result is the placeholder that this program writes for calls without a result.
    MadeUpResult,
    /// A problem that `check` reports.
    Problem(Code),
}

/// The rules of the audit itself.
const OWN: [AuditRule; 12] = [
    AuditRule::TimeBackwards,
    AuditRule::ClockJump,
    AuditRule::ImplausibleTime,
    AuditRule::SequenceGap,
    AuditRule::DeniedButExecuted,
    AuditRule::ExecutedWithoutDecision,
    AuditRule::ToolDenied,
    AuditRule::ToolNotAllowed,
    AuditRule::EncryptedReasoning,
    AuditRule::MadeUpId,
    AuditRule::MadeUpTime,
    AuditRule::MadeUpResult,
];

/// The problems of `check`, each of which is a rule.
const CODES: [Code; 25] = [
    Code::Empty,
    Code::InvalidJson,
    Code::Torn,
    Code::InvalidUtf8,
    Code::NulBytes,
    Code::TooDeep,
    Code::TooLarge,
    Code::DuplicateKey,
    Code::LoneSurrogate,
    Code::NumberOverflow,
    Code::UnknownShape,
    Code::Framing,
    Code::Schema,
    Code::DanglingLink,
    Code::ResultWithoutCall,
    Code::CallWithoutResult,
    Code::DuplicateId,
    Code::ReusedCallId,
    Code::SecondResult,
    Code::EarlyResult,
    Code::ParentCircle,
    Code::Abandoned,
    Code::Lifecycle,
    Code::UnfilledHole,
    Code::Overgrown,
];

impl AuditRule {
    /// Every rule: those of the audit itself, then the problems of `check`.
    pub fn all() -> impl Iterator<Item = AuditRule> {
        OWN.into_iter().chain(CODES.map(AuditRule::Problem))
    }

    pub(super) const fn of_code(code: Code) -> Self {
        AuditRule::Problem(code)
    }

    /// The stable id.
    pub const fn id(self) -> &'static str {
        match self {
            AuditRule::TimeBackwards => "time-backwards",
            AuditRule::ClockJump => "clock-jump",
            AuditRule::ImplausibleTime => "implausible-time",
            AuditRule::SequenceGap => "sequence-gap",
            AuditRule::DeniedButExecuted => "denied-but-executed",
            AuditRule::ExecutedWithoutDecision => "executed-without-decision",
            AuditRule::ToolDenied => "tool-denied",
            AuditRule::ToolNotAllowed => "tool-not-allowed",
            AuditRule::EncryptedReasoning => "encrypted-reasoning",
            AuditRule::MadeUpId => "made-up-id",
            AuditRule::MadeUpTime => "made-up-time",
            AuditRule::MadeUpResult => "made-up-result",
            AuditRule::Problem(code) => code.name(),
        }
    }

    /// The severity without a policy.
    pub const fn default_severity(self) -> AuditSeverity {
        match self {
            AuditRule::DeniedButExecuted | AuditRule::ToolDenied | AuditRule::ToolNotAllowed => {
                AuditSeverity::Error
            }
            AuditRule::TimeBackwards
            | AuditRule::ClockJump
            | AuditRule::ImplausibleTime
            | AuditRule::SequenceGap
            | AuditRule::ExecutedWithoutDecision
            | AuditRule::MadeUpId
            | AuditRule::MadeUpTime
            | AuditRule::MadeUpResult => AuditSeverity::Warning,
            AuditRule::EncryptedReasoning => AuditSeverity::Info,
            AuditRule::Problem(code) => match code {
                // Rewound turns, interrupted calls and forks are normal.
                Code::Abandoned | Code::CallWithoutResult => AuditSeverity::Info,
                code => match code.severity() {
                    interlingua::error::Severity::Error => AuditSeverity::Error,
                    interlingua::error::Severity::Warning => AuditSeverity::Warning,
                },
            },
        }
    }

    /// One line about the rule.
    pub const fn summary(self) -> &'static str {
        match self {
            AuditRule::TimeBackwards => "an item is earlier than the item before it",
            AuditRule::ClockJump => "the clock jumps forward within a turn",
            AuditRule::ImplausibleTime => "a time is before 2022 or in the future",
            AuditRule::SequenceGap => "the numbers of the log have a gap",
            AuditRule::DeniedButExecuted => "a denied tool call has a successful result",
            AuditRule::ExecutedWithoutDecision => "a tool call succeeded while its permission was open",
            AuditRule::ToolDenied => "the policy denies the tool",
            AuditRule::ToolNotAllowed => "the tool is not on the policy's allow list",
            AuditRule::EncryptedReasoning => "reasoning is present but encrypted",
            AuditRule::MadeUpId => "an id was made up by a conversion",
            AuditRule::MadeUpTime => "a time was made up by a conversion",
            AuditRule::MadeUpResult => "a tool result was made up by a conversion",
            AuditRule::Problem(code) => code.message(),
        }
    }
}
