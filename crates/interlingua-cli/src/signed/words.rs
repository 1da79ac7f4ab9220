//! Prose and JSON about signatures. Only verified values are printed.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use interlingua::json::escape_into;
use interlingua_record::signed::{
    EnvelopeFacts, HeadFacts, LogInclusion, ProofFacts, ReceiptCheck, RedactReport, RedactedPlace, Removed,
    SignatureCheck, SignatureFault, TreeHead, Verification, hex, utc,
};
use interlingua_report::safe;

use super::{SignerKey, has_receipt};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();

/// How many removed places the prose lists.
const LISTED: usize = 20;

/// A file that is refused as a whole, as text.
pub(super) fn refused(name: &str, fault: &SignatureFault) -> String {
    let (name, fault) = (safe::exact_line(name), fault.to_string());
    format!("{name}: {RED}not valid{RED:#}\n  {}\n", safe::exact_line(&fault))
}

/// A file that is refused as a whole, as JSON.
pub(super) fn refused_json(name: &str, fault: &SignatureFault) -> String {
    format!("{{\"file\":{},\"valid\":false,\"reason\":{}}}\n", quoted(name), quoted(&fault.to_string()))
}

/// The key, and the certificate of the key.
fn signer_key(key: &SignerKey, text: &mut String) {
    let public = key.key();
    let _ = writeln!(text, "  key: {} {}", public.algorithm().name(), hex(&public.kid()));
    if let SignerKey::Certified(found) = key {
        let (subject, anchor) = (safe::exact_line(&found.subject), safe::exact_line(&found.anchor));
        let _ = writeln!(text, "  certificate: `{subject}`, certified by `{anchor}` of the trust store");
        let _ = match &found.now {
            None => {
                writeln!(text, "    valid at the claimed time of signing, and now; revocation is not checked")
            }
            Some(fault) => writeln!(
                text,
                "    valid at the claimed time of signing, which only the signer's clock confirms; {YELLOW}{}{YELLOW:#}",
                safe::exact_line(&fault.to_string())
            ),
        };
    }
}

/// The key, and the certificate of the key, as the value of a JSON member.
fn signer_key_json(key: &SignerKey) -> String {
    let public = key.key();
    let certificate = match key {
        SignerKey::Given(_) => String::new(),
        SignerKey::Certified(found) => {
            let now =
                found.now.as_ref().map_or_else(|| "null".to_owned(), |fault| quoted(&fault.to_string()));
            let (subject, anchor) = (quoted(&found.subject), quoted(&found.anchor));
            format!(r#","certificate":{{"subject":{subject},"anchor":{anchor},"fault-now":{now}}}"#)
        }
    };
    let (algorithm, kid) = (quoted(public.algorithm().name()), hex(&public.kid()));
    format!(r#"{{"algorithm":{algorithm},"kid":"{kid}"{certificate}}}"#)
}

/// The result for a file, as text.
pub(super) fn verified(
    name: &str,
    result: &Result<Verification, SignatureFault>,
    key: &SignerKey,
    receipts: Option<&ReceiptCheck>,
) -> String {
    let verification = match result {
        Ok(verification) => verification,
        Err(fault) => return refused(name, fault),
    };
    let name = safe::exact_line(name);
    let is_registered = receipts.is_none_or(has_receipt);
    let mut text = if verification.is_sound() && is_registered {
        format!("{name}: {GREEN}valid{GREEN:#}\n")
    } else {
        format!("{name}: {RED}not valid{RED:#}\n")
    };
    signer_key(key, &mut text);
    text.push_str("  signature over the exact bytes: ");
    match &verification.envelope {
        SignatureCheck::Holds(facts) => envelope(facts, &mut text),
        SignatureCheck::Fails(fault) => fails(fault, &mut text),
        SignatureCheck::Absent => {
            let _ = writeln!(text, "{YELLOW}none{YELLOW:#} (a checkpoint, or a redacted record)");
        }
    }
    text.push_str("  signature over the tree of entries: ");
    match &verification.head {
        SignatureCheck::Holds(facts) => {
            head(facts, &mut text);
            if is_source_uncovered(verification) {
                let _ = writeln!(text, "    {YELLOW}not covered{YELLOW:#}: `source`, the digest of the log");
            }
        }
        SignatureCheck::Fails(fault) => fails(fault, &mut text),
        SignatureCheck::Absent => {
            let _ = writeln!(text, "{YELLOW}none{YELLOW:#}");
        }
    }
    if let Some(check) = receipts {
        log_receipts(check, &mut text);
    }
    text
}

/// The receipts of transparency logs.
fn log_receipts(check: &ReceiptCheck, text: &mut String) {
    for LogInclusion { origin, time, index, size, is_place_signed } in &check.holding {
        let time = time.map_or_else(|| "an unknown time".to_owned(), utc);
        let note = if *is_place_signed {
            ""
        } else {
            "\n    the log did not sign the number: another one can have the same receipt"
        };
        let _ = writeln!(
            text,
            "  receipt of a log: {GREEN}holds{GREEN:#}\n    number {index} of {size} in the log `{}` at {time} by the log's clock{note}",
            safe::exact_line(origin)
        );
    }
    for fault in &check.failing {
        text.push_str("  receipt of a log: ");
        fails(fault, text);
    }
    if check.holding.is_empty() && check.failing.is_empty() {
        let _ = writeln!(text, "  receipt of a log: {RED}none{RED:#}");
    }
}

fn log_receipts_json(check: &ReceiptCheck) -> String {
    let holding = check.holding.iter().map(|LogInclusion { origin, time, index, size, is_place_signed }| {
        let time = time.map_or_else(|| "null".to_owned(), |time| time.to_string());
        let origin = quoted(origin);
        format!(r#"{{"status":"holds","origin":{origin},"time":{time},"index":{index},"size":{size},"place-signed":{is_place_signed}}}"#)
    });
    let failing = check
        .failing
        .iter()
        .map(|fault| format!(r#"{{"status":"fails","reason":{}}}"#, quoted(&fault.to_string())));
    format!("[{}]", holding.chain(failing).collect::<Vec<_>>().join(","))
}

fn fails(fault: &SignatureFault, text: &mut String) {
    let _ = writeln!(text, "{RED}does not hold{RED:#}: {}", safe::exact_line(&fault.to_string()));
}

fn envelope(facts: &EnvelopeFacts, text: &mut String) {
    let EnvelopeFacts { signer, session, time, bytes, digest, has_metadata } = facts;
    let _ = writeln!(text, "{GREEN}holds{GREEN:#}");
    signed_by(signer, session, *time, text);
    let _ = writeln!(text, "    covers all {bytes} bytes of the record, SHA-256 {}", hex(digest));
    let metadata = if *has_metadata { "present, and confirmed by the record" } else { "none" };
    let _ = writeln!(text, "    trace metadata: {metadata}");
}

/// Whether the record names a digest of its source that no signature covers.
pub(super) fn is_source_uncovered(verification: &Verification) -> bool {
    let is_open = verification.head.facts().is_some_and(|facts| facts.has_open_source);
    is_open && verification.envelope.facts().is_none()
}

fn head(facts: &HeadFacts, text: &mut String) {
    let HeadFacts { head, removed, continues, has_open_source: _ } = facts;
    let _ = writeln!(text, "{GREEN}holds{GREEN:#}");
    signed_by(&head.signer, &head.session, Some(head.time), text);
    let _ = writeln!(
        text,
        "    covers {} entries and the members around them, root {}",
        head.size,
        hex(&head.root)
    );
    if let Some(size) = continues {
        let _ = writeln!(text, "    continues the earlier state of {size} entries");
    }
    if removed.entries + removed.parts > 0 {
        let _ = writeln!(
            text,
            "    {YELLOW}removed after signing{YELLOW:#}: {} entries, and {} parts of other entries",
            removed.entries, removed.parts
        );
        let places: Vec<String> = removed.places.iter().take(LISTED).map(place_words).collect();
        let _ = writeln!(text, "      {}", places.join(", "));
    }
}

fn signed_by(signer: &str, session: &str, time: Option<u64>, text: &mut String) {
    let time = time.map_or_else(|| "at an unknown time".to_owned(), |time| format!("at {}", utc(time)));
    let _ = writeln!(
        text,
        "    signed under the name `{}` for the session `{}` {time} by the signer's clock",
        safe::exact_line(signer),
        safe::exact_line(session)
    );
}

/// The result for a file, as JSON.
pub(super) fn verified_json(
    name: &str,
    result: &Result<Verification, SignatureFault>,
    key: &SignerKey,
    receipts: Option<&ReceiptCheck>,
) -> String {
    let is_registered = receipts.is_none_or(has_receipt);
    let is_sound = matches!(result, Ok(verification) if verification.is_sound() && is_registered);
    let mut json = format!(r#"{{"file":{},"valid":{is_sound},"key":{}"#, quoted(name), signer_key_json(key));
    match result {
        Err(fault) => {
            let _ = write!(json, r#","reason":{}"#, quoted(&fault.to_string()));
        }
        Ok(Verification { envelope, head }) => {
            let _ = write!(
                json,
                r#","bytes":{},"tree":{}"#,
                check(envelope, envelope_json),
                check(head, head_json)
            );
        }
    }
    if let Some(check) = receipts {
        let _ = write!(json, r#","receipts":{}"#, log_receipts_json(check));
    }
    json.push_str("}\n");
    json
}

fn check<T>(check: &SignatureCheck<T>, facts: impl Fn(&T) -> String) -> String {
    match check {
        SignatureCheck::Holds(found) => format!(r#"{{"status":"holds",{}}}"#, facts(found)),
        SignatureCheck::Fails(fault) => {
            format!(r#"{{"status":"fails","reason":{}}}"#, quoted(&fault.to_string()))
        }
        SignatureCheck::Absent => r#"{"status":"absent"}"#.to_owned(),
    }
}

fn envelope_json(facts: &EnvelopeFacts) -> String {
    let EnvelopeFacts { signer, session, time, bytes, digest, has_metadata } = facts;
    let time = time.map_or_else(|| "null".to_owned(), |time| time.to_string());
    format!(
        r#""signer":{},"session":{},"time":{time},"size":{bytes},"sha-256":"{}","trace-metadata":{has_metadata}"#,
        quoted(signer),
        quoted(session),
        hex(digest)
    )
}

fn head_json(facts: &HeadFacts) -> String {
    let HeadFacts { head, removed: Removed { entries, parts, places }, continues, has_open_source } = facts;
    let place = |(entry, part): &(u64, Option<&'static str>)| match part {
        Some(part) => format!(r#"{{"entry":{entry},"part":{}}}"#, quoted(part)),
        None => format!(r#"{{"entry":{entry}}}"#),
    };
    let places: Vec<String> = places.iter().map(place).collect();
    let continues = continues.map(|size| format!(r#","continues":{size}"#)).unwrap_or_default();
    format!(
        r#""signer":{},"session":{},"time":{},"entries":{},"root":"{}"{continues},"covers-source":{},"removed":{{"entries":{entries},"parts":{parts},"places":[{}]}}"#,
        quoted(&head.signer),
        quoted(&head.session),
        head.time,
        head.size,
        hex(&head.root),
        !has_open_source,
        places.join(",")
    )
}

/// The result for a proof, as text. The entry is printed, because the proof holds it and the signature covers it.
pub(super) fn proof(name: &str, result: &Result<ProofFacts, SignatureFault>, key: &SignerKey) -> String {
    let facts = match result {
        Ok(facts) => facts,
        Err(fault) => return refused(name, fault),
    };
    let mut text = format!("{}: {GREEN}valid{GREEN:#}\n", safe::exact_line(name));
    signer_key(key, &mut text);
    match facts {
        ProofFacts::Entry { head, index, entry, removed, is_removed } => {
            let _ = writeln!(text, "  entry {index} is part of the signed record of {} entries", head.size);
            signed_by(&head.signer, &head.session, Some(head.time), &mut text);
            if *is_removed {
                let _ = writeln!(
                    text,
                    "    {YELLOW}removed after signing{YELLOW:#}: the whole entry; the proof shows only the hash in its place"
                );
            }
            if !removed.is_empty() {
                let _ = writeln!(text, "    {YELLOW}removed after signing{YELLOW:#}: {}", removed.join(", "));
            }
            let _ = writeln!(text, "  {}", safe::exact_line(&String::from_utf8_lossy(entry)));
        }
        ProofFacts::Continuation { earlier, head } => {
            let _ = writeln!(
                text,
                "  the signed record of {} entries continues the signed state of {} entries",
                head.size, earlier.size
            );
            signed_by(&earlier.signer, &earlier.session, Some(earlier.time), &mut text);
            signed_by(&head.signer, &head.session, Some(head.time), &mut text);
        }
    }
    text
}

/// The result for a proof, as JSON.
pub(super) fn proof_json(name: &str, result: &Result<ProofFacts, SignatureFault>, key: &SignerKey) -> String {
    let facts = match result {
        Err(fault) => format!(r#","reason":{}"#, quoted(&fault.to_string())),
        Ok(ProofFacts::Entry { head, index, entry, removed, is_removed }) => {
            let removed: Vec<String> = removed.iter().map(|part| quoted(part)).collect();
            format!(
                r#","head":{},"index":{index},"entry":{},"entry-removed":{is_removed},"removed":[{}]"#,
                tree_head_json(head),
                quoted(&String::from_utf8_lossy(entry)),
                removed.join(",")
            )
        }
        Ok(ProofFacts::Continuation { earlier, head }) => {
            format!(r#","head":{},"earlier":{}"#, tree_head_json(head), tree_head_json(earlier))
        }
    };
    format!(
        "{{\"file\":{},\"valid\":{},\"key\":{}{facts}}}\n",
        quoted(name),
        result.is_ok(),
        signer_key_json(key)
    )
}

fn tree_head_json(head: &TreeHead) -> String {
    format!(
        r#"{{"signer":{},"session":{},"time":{},"entries":{},"root":"{}"}}"#,
        quoted(&head.signer),
        quoted(&head.session),
        head.time,
        head.size,
        hex(&head.root)
    )
}

/// The removed places and the classes of found secrets.
pub(super) fn redacted(report: &RedactReport) -> String {
    let entries = report.places.iter().filter(|(_, part)| part.is_none()).count();
    let mut text =
        format!("removed {entries} entries, and {} parts of other entries\n", report.places.len() - entries);
    let places: Vec<String> = report.places.iter().take(LISTED).map(place_words).collect();
    if !places.is_empty() {
        let more = report.places.len() - places.len();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let _ = writeln!(text, "  {}{more}", places.join(", "));
    }
    for (class, count) in &report.secrets {
        let _ = writeln!(text, "  secrets of the class {}: {count}", safe::exact_line(class));
    }
    text
}

/// Removed texts and secrets that are still in the record; empty if there are none.
pub(super) fn left_over(report: &RedactReport) -> String {
    let mut text = String::new();
    if !report.copies.is_empty() {
        let places: Vec<String> = report.copies.iter().take(LISTED).map(place_words).collect();
        let _ = writeln!(text, "copies of removed texts are still in the record: {}", places.join(", "));
        text.push_str("hint: `--everywhere` removes them, too\n");
    }
    if report.copy_in_frame {
        text.push_str(
            "a removed text is still in the members outside the entries, which cannot be redacted\n",
        );
    }
    if report.source_kept {
        text.push_str(
            "the digest of the source is still in the record: it has another form than `convert` writes\n",
        );
    }
    if !report.in_frame.is_empty() {
        let classes: Vec<String> = report.in_frame.iter().map(|class| safe::exact_line(class)).collect();
        let _ = writeln!(
            text,
            "secrets are in the members outside the entries, which cannot be redacted: {}",
            classes.join(", ")
        );
    }
    text
}

fn place_words((entry, part): &RedactedPlace) -> String {
    match part {
        Some(part) => format!("entry {entry} `{part}`"),
        None => format!("entry {entry}"),
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    escape_into(text, &mut json);
    json.push('"');
    json
}

/// The result for a record that is shown: a line for each signature, and one for the removed places.
pub(super) fn state(result: &Result<Verification, SignatureFault>) -> Vec<String> {
    let verification = match result {
        Ok(verification) => verification,
        Err(fault) => return vec![format!("NOT VALID: {fault}")],
    };
    let mut lines = Vec::new();
    match &verification.envelope {
        SignatureCheck::Holds(facts) => lines.push(format!("the exact bytes are signed by {}", facts.signer)),
        SignatureCheck::Fails(fault) => lines.push(format!("NOT VALID over the bytes: {fault}")),
        SignatureCheck::Absent => {}
    }
    match &verification.head {
        SignatureCheck::Holds(facts) => {
            let (count, signer) = (facts.head.size, &facts.head.signer);
            lines.push(format!("the tree of {count} entries is signed by {signer}"));
            let Removed { entries, parts, places } = &facts.removed;
            if entries + parts > 0 {
                let listed: Vec<String> = places.iter().take(LISTED).map(place_words).collect();
                let more = if places.len() > LISTED { ", …" } else { "" };
                lines
                    .push(format!("removed, with a signed hash in their place: {}{more}", listed.join(", ")));
            }
        }
        SignatureCheck::Fails(fault) => lines.push(format!("NOT VALID over the entries: {fault}")),
        SignatureCheck::Absent => lines.push("the entries have no signed tree".to_owned()),
    }
    lines
}
