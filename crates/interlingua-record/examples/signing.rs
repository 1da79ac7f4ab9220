//! The speed of hashing and signing, beside SHA-256 alone over the same bytes in the same run, on one thread.
//!
//! `cargo run --release -p interlingua-record --example signing [RECORD]`. Without a file, a record of 32 MiB is generated.
//! The best of several rounds counts. On Linux the time of the thread is measured, because the machine may be busy.

#![allow(clippy::print_stdout, reason = "a program for developers")]

use std::time::{Duration, Instant};

use interlingua_record::signed::{
    KeyAlgorithm, MAX_PAYLOAD, PayloadForm, SignSettings, SigningKey, sign, verify,
};
use ring::digest::{SHA256, digest};

const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let small = match std::env::args().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => generated(32 << 20),
    };
    let large = repeated(&small, MAX_PAYLOAD * 2);
    for (name, record, payload) in [
        ("bytes signed", &small, PayloadForm::Detached),
        ("digest signed", &small, PayloadForm::Digest),
        ("digest signed", &large, PayloadForm::Digest),
    ] {
        println!("{name}: a record of {} MiB", record.len() >> 20);
        let alone = best(|| _ = std::hint::black_box(digest(&SHA256, record)));
        report("SHA-256 alone", record, alone, alone);
        for algorithm in [KeyAlgorithm::Ed25519, KeyAlgorithm::Es256] {
            let key = SigningKey::from_pem(&SigningKey::generate(algorithm)?)?;
            let settings = SignSettings {
                key: &key,
                signer: "x",
                time: 0,
                chain: None,
                payload,
                checkpoint: false,
                earlier: None,
            };
            let file = sign(record.as_slice(), &settings)?.file;
            let time = best(|| drop(sign(record.as_slice(), &settings)));
            report(&format!("sign, {}", algorithm.name()), record, time, alone);
            let time = best(|| drop(verify(&file, Some(&mut record.as_slice()), &key.public(), None)));
            report(&format!("verify, {}", algorithm.name()), record, time, alone);
            let checkpoint = SignSettings { checkpoint: true, ..settings };
            let time = best(|| drop(sign(record.as_slice(), &checkpoint)));
            report(&format!("checkpoint, {}", algorithm.name()), record, time, alone);
        }
    }
    Ok(())
}

fn best(mut work: impl FnMut()) -> Duration {
    let begin = Instant::now();
    let time = |_| {
        let start = thread_time().unwrap_or_else(|| begin.elapsed());
        work();
        thread_time().unwrap_or_else(|| begin.elapsed()).saturating_sub(start)
    };
    (0..ROUNDS).map(time).min().unwrap_or_default()
}

/// The time that this thread ran, where Linux reports it: other programs on a busy machine do not count.
fn thread_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn report(name: &str, record: &[u8], time: Duration, alone: Duration) {
    let speed = record.len() as u128 * 1000 / time.as_nanos().max(1);
    println!("  {name:22} {speed:6} MB/s  {:.2}x", alone.as_secs_f64() / time.as_secs_f64());
}

const BEFORE: &str = r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","entries":["#;
const AFTER: &str = r#"],"agent-meta":{"model-id":"m","model-provider":"p"}}}"#;

/// A record with entries of about 1.5 KiB.
fn generated(size: usize) -> Vec<u8> {
    let text = "a line of output, as tools print it\\n".repeat(30);
    let entry = format!(
        r#"{{"type":"tool-result","id":"0","call-id":"1","output":"{text}","vendor-ext":{{"vendor":"v","data":{{"type":"user","a":"~","b":[1,2,{{"c":"~"}}]}}}}}}"#
    );
    let count = size / (entry.len() + 1);
    format!("{BEFORE}{}{AFTER}", vec![entry; count].join(",")).into_bytes()
}

/// A record with the entries of another record, repeated to this size.
fn repeated(record: &[u8], size: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(record);
    let start = text.find(r#""entries":["#).map_or(0, |at| at + 11);
    let end = text.rfind("}],").map_or(text.len(), |at| at + 1);
    let entries = &text[start..end];
    format!("{}{}{}", &text[..start], vec![entries; size / entries.len() + 1].join(","), &text[end..])
        .into_bytes()
}
