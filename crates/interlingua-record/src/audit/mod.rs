//! The audit: rules about the honesty of a session, beyond the form that `check` examines.
//!
//! ```text
//! bytes -> AuditReader (events -> rules) -> Audit -> JSON, SARIF
//!                 \-- CheckWriter (links, pairing, damage) --/
//! ```
//!
//! Each finding has a rule with a stable id, a place, a severity and a message. An [`AuditPolicy`] holds the allowed
//! tools, the severity of each rule and the limits. The audit keeps hashes of ids and the findings, at most
//! [`MOST_OF_A_RULE`] of each rule; its time is linear in the input. The audit reads no clock and opens no file.

mod json;
mod made_up;
mod oversight;
mod places;
mod policy;
mod rules;
mod sarif;
mod sequence;
mod times;
mod writer;

use std::sync::mpsc::{self, Receiver};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::{Error, Place};
use interlingua::framing::Framing;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;

pub use json::audits_to_json;
pub use policy::{AuditPolicy, AuditPolicyError};
pub use rules::{AuditRule, AuditSeverity};
pub use sarif::audits_to_sarif;
use writer::{AuditWriter, Found};

/// How many findings of one rule are listed for one input; further findings are counted.
pub const MOST_OF_A_RULE: usize = 100;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditFinding {
    /// The rule.
    pub rule: AuditRule,
    /// The severity under the policy.
    pub severity: AuditSeverity,
    /// The place in the input. The JSON pointer of an element begins at the document that holds the element.
    pub place: Place,
    /// The found value and the expected value, for people.
    pub message: String,
}

/// The audit of one input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Audit {
    /// The name of the input.
    pub name: String,
    /// The dialect and the role of the input.
    pub source: (&'static Dialect, Role),
    /// The framing of the input, which determines the names of places.
    pub framing: Framing,
    /// The findings, in the order of the input.
    pub findings: Vec<AuditFinding>,
    /// The number of findings that are not listed, for each severity.
    pub unlisted: [(AuditSeverity, u64); 3],
    /// The number of frames that were understood.
    pub read: u64,
}

impl Audit {
    /// The number of findings with the given severity, listed or not.
    pub fn count(&self, severity: AuditSeverity) -> u64 {
        let listed = self.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
        let unlisted = self.unlisted.iter().find(|(of, _)| *of == severity).map_or(0, |(_, count)| *count);
        listed + unlisted
    }

    /// Whether any finding has at least the given severity.
    pub fn reaches(&self, severity: AuditSeverity) -> bool {
        AuditSeverity::ALL.into_iter().any(|of| of >= severity && self.count(of) > 0)
    }
}

/// Audits the bytes of one input.
///
/// ```
/// use interlingua::dialects::{Dialect, Options, Role};
/// use interlingua_record::audit::{AuditPolicy, AuditReader};
///
/// let log = concat!(
///     r#"{"type":"user","uuid":"a","sessionId":"s","timestamp":"2026-11-15T10:00:00Z","message":{"role":"user","content":"1"}}"#, "\n",
///     r#"{"type":"user","uuid":"b","parentUuid":"a","sessionId":"s","timestamp":"2026-11-15T08:00:00Z","message":{"role":"user","content":"2"}}"#, "\n",
/// );
/// let claude = Dialect::named("claude-code").expect("registered");
/// let mut reader = AuditReader::new("s.jsonl", (claude, Role::Log), &AuditPolicy::default(), &Options::default())?;
/// reader.push(log.as_bytes());
/// let audit = reader.finish();
/// assert_eq!(audit.findings[0].rule.id(), "time-backwards");
/// # Ok::<(), interlingua::error::Error>(())
/// ```
#[derive(Debug)]
pub struct AuditReader {
    name: String,
    source: (&'static Dialect, Role),
    policy: AuditPolicy,
    pipe: Pipe,
    found: Receiver<Found>,
}

impl AuditReader {
    /// An audit of an input of that dialect and role. It fails if the dialect has no reader for the role. Times are
    /// compared with [`Options::now`], if set.
    pub fn new(
        name: &str,
        source: (&'static Dialect, Role),
        policy: &AuditPolicy,
        options: &Options,
    ) -> Result<Self, Error> {
        let (done, found) = mpsc::channel();
        let writer = AuditWriter::new(source.0, policy.clone(), options.now, done);
        let pipe = Pipe::with_writer(source, Box::new(writer), options)?;
        Ok(Self { name: name.to_owned(), source, policy: policy.clone(), pipe, found })
    }

    /// Audits the next bytes, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pipe.push(bytes, &mut Vec::new());
    }

    /// The findings, after the last byte.
    pub fn finish(self) -> Audit {
        let report = self.pipe.finish(&mut Vec::new());
        // A pipe that is finished has finished its writer.
        let found = self.found.try_recv().unwrap_or_default();
        let mut audit = Audit {
            name: self.name,
            source: self.source,
            framing: report.framing,
            findings: Vec::new(),
            unlisted: AuditSeverity::ALL.map(|severity| (severity, 0)),
            read: report.read,
        };
        let mut add_unlisted = |severity: AuditSeverity, more: u64| {
            audit.unlisted.iter_mut().filter(|(of, _)| *of == severity).for_each(|(_, count)| *count += more);
        };
        for (rule, count) in found.unlisted {
            if let Some(severity) = self.policy.severity(rule) {
                add_unlisted(severity, count);
            }
        }
        let (errors, warnings) = unlisted_problems(&report);
        add_unlisted(AuditSeverity::Error, errors);
        add_unlisted(AuditSeverity::Warning, warnings);
        let problems = report.problems.iter().map(|problem| {
            let detail =
                if problem.detail.is_empty() { String::new() } else { format!(": {}", problem.detail) };
            (
                AuditRule::of_code(problem.code),
                problem.place.clone(),
                problem.code.message().to_owned() + &detail,
            )
        });
        for (rule, place, message) in found.listed.into_iter().chain(problems) {
            if let Some(severity) = self.policy.severity(rule) {
                let place = places::from_document(place, report.framing);
                audit.findings.push(AuditFinding { rule, severity, place, message });
            }
        }
        audit.findings.sort_by_key(|finding| finding.place.frame.number);
        audit
    }
}

/// The numbers of errors and warnings beyond the problems that a report lists. Their rules are unknown, so the policy
/// cannot change their severity.
fn unlisted_problems(report: &Report) -> (u64, u64) {
    let is_error = |code: interlingua::error::Code| code.severity() == interlingua::error::Severity::Error;
    let listed = report.problems.iter().filter(|problem| is_error(problem.code)).count() as u64;
    let errors = report.errors.saturating_sub(listed);
    (errors, report.more_problems.saturating_sub(errors))
}
