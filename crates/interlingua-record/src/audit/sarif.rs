//! Audits as SARIF 2.1.0 (Static Analysis Results Interchange Format, OASIS), for code review and dashboards.

use std::fmt::Write as _;

use interlingua::framing::FramePart;
use interlingua::json::{JsonBuffer, JsonWriter};

use super::{Audit, AuditFinding, AuditRule, AuditSeverity};

/// One SARIF log with one run, and a newline. `failed` lists the inputs that could not be read, each with the reason.
pub fn audits_to_sarif(audits: &[Audit], failed: &[(String, String)]) -> String {
    let rules: Vec<AuditRule> = AuditRule::all().collect();
    let mut buffer = JsonBuffer::default();
    let json = &mut buffer.hold();
    json.object().key("$schema").literal("https://json.schemastore.org/sarif-2.1.0.json");
    json.key("version").literal("2.1.0").key("runs").array().object();
    json.key("tool").object().key("driver").object();
    json.key("name").literal("interlingua").key("version").literal(env!("CARGO_PKG_VERSION"));
    json.key("informationUri").literal(env!("CARGO_PKG_REPOSITORY"));
    json.key("rules").array();
    for rule in &rules {
        json.object().key("id").literal(rule.id());
        json.key("shortDescription").object().key("text").plain(rule.summary()).end_object();
        json.key("defaultConfiguration").object().key("level").literal(level(rule.default_severity()));
        json.end_object().end_object();
    }
    json.end_array().end_object().end_object();
    json.key("invocations").array().object().key("executionSuccessful").bool(failed.is_empty());
    json.key("toolExecutionNotifications").array();
    for (name, reason) in failed {
        notification("error", name, reason, json);
    }
    for audit in audits {
        let unlisted: u64 = audit.unlisted.iter().map(|(_, count)| count).sum();
        if unlisted > 0 {
            notification(
                "warning",
                &audit.name,
                &format!("{unlisted} further findings are not listed"),
                json,
            );
        }
    }
    json.end_array().end_object().end_array();
    json.key("columnKind").literal("unicodeCodePoints").key("results").array();
    for audit in audits {
        for finding in &audit.findings {
            let index = rules.iter().position(|rule| *rule == finding.rule);
            result(audit, finding, index, json);
        }
    }
    json.end_array().end_object().end_array().end_object();
    buffer.held().to_owned() + "\n"
}

const fn level(severity: AuditSeverity) -> &'static str {
    match severity {
        AuditSeverity::Info => "note",
        AuditSeverity::Warning => "warning",
        AuditSeverity::Error => "error",
    }
}

fn notification(level: &'static str, name: &str, text: &str, json: &mut JsonWriter<'_>) {
    json.object().key("level").literal(level).key("message").object().key("text").plain(text).end_object();
    json.key("locations").array().object();
    artifact(name, json);
    json.end_object().end_object().end_array().end_object();
}

/// Begins a physical location with its file; the caller adds a region and ends the object.
fn artifact(name: &str, json: &mut JsonWriter<'_>) {
    json.key("physicalLocation").object();
    json.key("artifactLocation").object().key("uri").plain(&uri(name)).end_object();
}

fn result(audit: &Audit, finding: &AuditFinding, index: Option<usize>, json: &mut JsonWriter<'_>) {
    json.object().key("ruleId").literal(finding.rule.id());
    if let Some(index) = index {
        json.key("ruleIndex").u64(index as u64);
    }
    json.key("level").literal(level(finding.severity));
    json.key("message").object().key("text").plain(&finding.message).end_object();
    json.key("locations").array().object();
    artifact(&audit.name, json);
    if finding.place.frame.part == FramePart::Line {
        json.key("region").object().key("startLine").u64(finding.place.frame.number).end_object();
    }
    json.end_object();
    json.key("logicalLocations").array().object();
    let place = finding.place.frame.name(audit.framing);
    json.key("name").plain(&place);
    let pointer = finding.place.pointer.as_deref().unwrap_or_default();
    json.key("fullyQualifiedName").plain(if pointer.is_empty() { &place } else { pointer });
    json.end_object().end_array().end_object().end_array().end_object();
}

/// A relative URI or a `file` URI of a path: every byte that a path segment does not allow is escaped.
fn uri(name: &str) -> String {
    let scheme = if name.starts_with('/') { "file://" } else { "" };
    name.bytes().fold(scheme.to_owned(), |mut uri, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
        uri
    })
}
