//! `verify --html`: a page about the signatures of a file, for readers without knowledge of signatures.
//!
//! The page has no script and loads nothing. Each value of the file is escaped, and only values that a signature covers are
//! on the page.

use std::fmt::Write as _;

use interlingua_record::signed::{
    HeadFacts, ReceiptCheck, SignatureCheck, SignatureFault, Verification, hex, utc,
};
use interlingua_report::safe;

use super::{SignerKey, VerifiedFile, is_other_log, words};

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em;border-bottom:1px solid #ccc}\
.verdict{padding:.7em 1em;border-left:.4em solid;font-weight:bold}.good{border-color:#2a7a2a}.bad{border-color:#b00020}\
.part{border-color:#b07000}code{overflow-wrap:anywhere;background:#f3f3f3;padding:0 .2em}li{margin:.3em 0}";

/// The page about a signature file and its record. `now` is the time of verification.
pub(super) fn page(
    name: &str,
    files: &[VerifiedFile],
    result: &Result<Verification, SignatureFault>,
    key: Option<&SignerKey>,
    receipts: Option<&ReceiptCheck>,
    now: u64,
) -> String {
    let name = escaped(name);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Verification of {name}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>Verification of <code>{name}</code></h1>\n"
    );
    let faults = faults(result, receipts);
    let removed = result
        .as_ref()
        .ok()
        .and_then(|found| found.head.facts())
        .filter(|facts| facts.removed.entries + facts.removed.parts > 0);
    let (class, verdict) = match (faults.is_empty(), removed) {
        (false, _) => {
            ("bad", "Not valid. At least one signature or statement does not hold; see “What does not hold”.")
        }
        (true, Some(_)) => ("part", "Valid. Content was removed after signing; the rest is unchanged."),
        (true, None) => {
            ("good", "Valid. All signatures of the file hold: nothing was changed or removed after signing.")
        }
    };
    let _ = writeln!(html, "<p class=\"verdict {class}\">{verdict}</p>");
    let _ = writeln!(
        html,
        "<p>Verified on {}, by the clock of the computer that made this page, with interlingua {}.</p>",
        day(now),
        env!("CARGO_PKG_VERSION")
    );
    html.push_str(
        "<p>A <b>record</b> is the protocol of one session with an AI agent. Its <b>entries</b> are the messages, the calls of \
         tools and their results, in their order. A <b>digest</b> (SHA-256) identifies a file: another file has another digest.</p>\n",
    );
    html.push_str("<h2>What was verified</h2>\n");
    let file = |VerifiedFile { name, role, size, digest }: &VerifiedFile| {
        format!("<code>{}</code>, {role}: {size} bytes, digest <code>{}</code>", escaped(name), hex(digest))
    };
    list(&files.iter().map(file).collect::<Vec<_>>(), &mut html);
    if let Ok(verification) = result {
        who(verification, key, &mut html);
        when(verification, receipts, &mut html);
        covered(verification, &mut html);
    }
    html.push_str("<h2>What was removed</h2>\n");
    match (removed, result) {
        (Some(facts), _) => removed_list(facts, &mut html),
        (None, Ok(Verification { head: SignatureCheck::Holds(_), .. })) => {
            html.push_str("<p>Nothing: every entry is as it was when it was signed.</p>\n");
        }
        (None, _) => html.push_str("<p>Unknown: no signature over the list of entries holds.</p>\n"),
    }
    html.push_str("<h2>What does not hold</h2>\n");
    if faults.is_empty() {
        html.push_str("<p>Nothing was found that does not hold.</p>\n");
    } else {
        list(&faults, &mut html);
    }
    html.push_str(
        "<h2>What a signature does not show</h2>\n<p>A signature shows that the holder of a key signed this content, and that \
         the content is unchanged. It does not show that the content is true or complete. Whether a certificate was revoked \
         is not checked.</p>\n</body>\n</html>\n",
    );
    html
}

/// Every statement that does not hold.
fn faults(result: &Result<Verification, SignatureFault>, receipts: Option<&ReceiptCheck>) -> Vec<String> {
    let mut faults = Vec::new();
    match result {
        Err(fault) => faults.push(format!("The file: {}.", escaped(&fault.to_string()))),
        Ok(Verification { envelope, head }) => {
            if let SignatureCheck::Fails(fault) = envelope {
                faults.push(format!("The signature over the exact bytes: {}.", escaped(&fault.to_string())));
            }
            if let SignatureCheck::Fails(fault) = head {
                faults.push(format!(
                    "The signature over the list of entries: {}.",
                    escaped(&fault.to_string())
                ));
            }
            if let (SignatureCheck::Absent, SignatureCheck::Absent) = (envelope, head) {
                faults.push("The file has no signature.".to_owned());
            }
        }
    }
    if let Some(check) = receipts {
        let failing = check.failing.iter().filter(|fault| !is_other_log(fault));
        faults.extend(failing.map(|fault| format!("A receipt of a log: {}.", escaped(&fault.to_string()))));
        if check.holding.is_empty() {
            faults.push("The file has no receipt that holds with the key of the log.".to_owned());
        }
    }
    faults
}

fn who(verification: &Verification, key: Option<&SignerKey>, html: &mut String) {
    html.push_str("<h2>Who signed</h2>\n");
    let names = [
        verification.envelope.facts().map(|facts| &facts.signer),
        verification.head.facts().map(|facts| &facts.head.signer),
    ];
    let mut names: Vec<_> = names.into_iter().flatten().collect();
    names.dedup();
    let Some(key) = key.filter(|_| !names.is_empty()) else {
        html.push_str("<p>Unknown: no signature holds.</p>\n");
        return;
    };
    let mut lines: Vec<String> =
        names.iter().map(|name| format!("The signer calls itself <b>{}</b>.", escaped(name))).collect();
    let public = key.key();
    let (algorithm, kid) = (public.algorithm().name(), hex(&public.kid()));
    lines.push(format!("The key of the signature is the {algorithm} key <code>{kid}</code>."));
    lines.push(match key {
        SignerKey::Given(_) => {
            "The person who made this page supplied the key. The link between key and person is not part of the file.".to_owned()
        }
        SignerKey::Certified(found) => {
            let (subject, anchor) = (escaped(&found.subject), escaped(&found.anchor));
            let now = found.now.as_ref().map_or_else(String::new, |fault| format!(" Today: {}.", escaped(&fault.to_string())));
            format!("<b>{anchor}</b>, trusted by the person who made this page, certifies the key as that of <b>{subject}</b>. The certificate was valid at the claimed time of signing.{now}")
        }
    });
    list(&lines, html);
}

fn when(verification: &Verification, receipts: Option<&ReceiptCheck>, html: &mut String) {
    html.push_str("<h2>When</h2>\n");
    let times = [
        verification.envelope.facts().and_then(|facts| facts.time),
        verification.head.facts().map(|facts| facts.head.time),
    ];
    let mut times: Vec<u64> = times.into_iter().flatten().collect();
    times.dedup();
    let mut lines: Vec<String> = times
        .iter()
        .map(|time| {
            format!("Signed on {}, by the clock of the signer, which nobody else confirms.", day(*time))
        })
        .collect();
    for place in receipts.map(|check| check.holding.as_slice()).unwrap_or_default() {
        let time = place.time.map_or_else(|| "an unknown time".to_owned(), day);
        let origin = escaped(&place.origin);
        let number =
            if place.is_place_signed { format!(" as number {}", place.index) } else { String::new() };
        lines.push(format!(
            "Registered in the log <b>{origin}</b>{number} on {time}, by the clock of the log."
        ));
    }
    if lines.is_empty() {
        lines.push("Unknown: no signature with a time holds.".to_owned());
    }
    list(&lines, html);
}

fn covered(verification: &Verification, html: &mut String) {
    html.push_str("<h2>What is covered</h2>\n");
    let mut lines = Vec::new();
    match &verification.envelope {
        SignatureCheck::Holds(facts) => lines.push(format!(
            "All {} bytes of the record of the session <code>{}</code>. Digest (SHA-256): <code>{}</code>.",
            facts.bytes,
            escaped(&facts.session),
            hex(&facts.digest)
        )),
        SignatureCheck::Absent => lines.push(
            "The file has no signature over the exact bytes: it is a checkpoint, or content was removed."
                .to_owned(),
        ),
        SignatureCheck::Fails(_) => {}
    }
    match &verification.head {
        SignatureCheck::Holds(facts) => {
            let but = match facts.removed.entries + facts.removed.parts {
                0 => "",
                _ => " Of the removed content, a hash is covered.",
            };
            lines.push(format!(
                "Each of the {} entries of the session <code>{}</code>, their order, and all content around the entries.{but}",
                facts.head.size,
                escaped(&facts.head.session)
            ));
        }
        SignatureCheck::Absent => {
            lines.push("The file has no signature over the list of entries.".to_owned());
        }
        SignatureCheck::Fails(_) => {}
    }
    if words::is_source_uncovered(verification) {
        lines.push(
            "Not covered: the member <code>source</code> of the record, a digest of the file that the record was made from."
                .to_owned(),
        );
    }
    if lines.is_empty() {
        lines.push("Nothing: no signature holds.".to_owned());
    }
    list(&lines, html);
}

fn removed_list(facts: &HeadFacts, html: &mut String) {
    let removed = &facts.removed;
    let _ = writeln!(
        html,
        "<p>{} of {} entries, and {} parts of other entries, were removed after signing. The holder of the original can prove \
         the removed content. Entries are numbered from 0: entry 0 is the first one.</p>",
        removed.entries, facts.head.size, removed.parts
    );
    let place = |(entry, part): &(u64, Option<&'static str>)| match part {
        Some(part) => format!("entry {entry}: {} (<code>{part}</code>)", part_name(part)),
        None => format!("entry {entry}"),
    };
    list(&removed.places.iter().map(place).collect::<Vec<_>>(), html);
    if removed.entries + removed.parts > removed.places.len() as u64 {
        html.push_str("<p>The list holds only the first removed places.</p>\n");
    }
}

/// A part of an entry in the words of its reader.
fn part_name(part: &str) -> &'static str {
    match part {
        "children" => "the calls, thoughts and other items inside the message",
        "content" => "the text",
        "data" => "the facts of the event",
        "encrypted" => "the encrypted form",
        "files" => "the list of files",
        "input" => "the arguments of the call",
        "output" => "the result",
        "signature" => "the proof by the vendor of the model",
        "vendor-ext" => "the original line of the log",
        _ => "a part",
    }
}

/// A time, such as `2026-02-10 17:27:14 UTC`.
fn day(time: u64) -> String {
    utc(time).replace('T', " ").replace('Z', " UTC")
}

fn list(lines: &[String], html: &mut String) {
    html.push_str("<ul>\n");
    for line in lines {
        let _ = writeln!(html, "<li>{line}</li>");
    }
    html.push_str("</ul>\n");
}

/// A value of the file as HTML: without control characters, and without markup.
fn escaped(text: &str) -> String {
    let mut html = String::new();
    interlingua_view::escape(&safe::exact_line(text), &mut html);
    html
}
