//! Audits as one JSON document.

use interlingua::json::{JsonBuffer, JsonWriter};

use super::{Audit, AuditSeverity};

/// One JSON document with the findings of every input, and a newline. `failed` lists the inputs that could not be read,
/// each with the reason.
pub fn audits_to_json(audits: &[Audit], failed: &[(String, String)]) -> String {
    let mut buffer = JsonBuffer::default();
    let json = &mut buffer.hold();
    json.object().key("format").literal("interlingua-audit-1");
    json.key("counts").object();
    for severity in AuditSeverity::ALL {
        json.key(severity.word()).u64(audits.iter().map(|audit| audit.count(severity)).sum());
    }
    json.end_object().key("files").array();
    for audit in audits {
        write_audit(audit, json);
    }
    json.end_array().key("failed").array();
    for (name, reason) in failed {
        json.object().key("name").plain(name).key("error").plain(reason).end_object();
    }
    json.end_array().end_object();
    buffer.held().to_owned() + "\n"
}

fn write_audit(audit: &Audit, json: &mut JsonWriter<'_>) {
    let (dialect, role) = audit.source;
    json.object().key("name").plain(&audit.name);
    json.key("dialect").literal(dialect.name).key("role").literal(role.word());
    json.key("findings").array();
    for finding in &audit.findings {
        json.object().key("rule").literal(finding.rule.id());
        json.key("severity").literal(finding.severity.word());
        json.key("place").plain(&finding.place.frame.name(audit.framing));
        json.key("frame").u64(finding.place.frame.number);
        if let Some(pointer) = &finding.place.pointer {
            json.key("pointer").plain(pointer);
        }
        json.key("message").plain(&finding.message).end_object();
    }
    json.end_array().key("unlisted").object();
    for (severity, count) in audit.unlisted {
        json.key(severity.word()).u64(count);
    }
    json.end_object().end_object();
}
