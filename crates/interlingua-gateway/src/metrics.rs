//! Counters of a gateway in the text format of Prometheus.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering as AtomicOrdering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::finished::FinishedCall;

/// The upper bounds of the histogram of durations, in seconds.
const BOUNDS: [f64; 10] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];

/// The most rows. Beyond them, models are counted as `other`.
const MOST_ROWS: usize = 1000;

/// The counters of a gateway.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    rows: Mutex<BTreeMap<Labels, Row>>,
    open: AtomicI64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Labels {
    client: String,
    dialect: &'static str,
    backend: String,
    model: String,
    status: u16,
}

/// The values of labels in the order of [`Labels`], so that a call finds its row without copies of its names.
trait LabelValues {
    fn values(&self) -> (&str, &str, &str, &str, u16);
}

impl LabelValues for Labels {
    fn values(&self) -> (&str, &str, &str, &str, u16) {
        (&self.client, self.dialect, &self.backend, &self.model, self.status)
    }
}

impl LabelValues for FinishedCall {
    fn values(&self) -> (&str, &str, &str, &str, u16) {
        (&self.client, self.client_dialect, &self.backend, &self.model_sent, self.status)
    }
}

impl<'l> Borrow<dyn LabelValues + 'l> for Labels {
    fn borrow(&self) -> &(dyn LabelValues + 'l) {
        self
    }
}

impl PartialEq for dyn LabelValues + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

impl Eq for dyn LabelValues + '_ {}

impl PartialOrd for dyn LabelValues + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn LabelValues + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.values().cmp(&other.values())
    }
}

#[derive(Debug, Default)]
struct Row {
    calls: u64,
    seconds: f64,
    buckets: [u64; BOUNDS.len()],
    input: u64,
    cached: u64,
    output: u64,
    dollars: f64,
    losses: u64,
    again: u64,
    cancelled: u64,
}

impl Row {
    fn count(&mut self, call: &FinishedCall) {
        self.calls += 1;
        let seconds = call.duration.as_secs_f64();
        self.seconds += seconds;
        for (bucket, _) in self.buckets.iter_mut().zip(BOUNDS).filter(|(_, bound)| seconds <= *bound) {
            *bucket += 1;
        }
        if let Some(usage) = &call.usage {
            self.input += usage.input.unwrap_or(0);
            self.cached += usage.cache_read.unwrap_or(0);
            self.output += usage.output.unwrap_or(0);
        }
        #[expect(clippy::cast_precision_loss, reason = "a sum for people")]
        {
            self.dollars += call.cost.unwrap_or(0) as f64 / interlingua_models::prices::DOLLAR as f64;
        }
        self.losses += call.losses;
        self.again += call.attempts.len().saturating_sub(1) as u64;
        self.cancelled += u64::from(call.is_cancelled);
    }
}

/// A value of a row.
type RowValue = fn(&Row) -> f64;

impl Metrics {
    pub(crate) fn opened(&self) {
        self.open.fetch_add(1, AtomicOrdering::Relaxed);
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, AtomicOrdering::Relaxed);
    }

    /// Counts a call that has ended.
    pub(crate) fn count(&self, call: &FinishedCall) {
        // No holder of the lock panics.
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = rows.get_mut(call as &dyn LabelValues) {
            return row.count(call);
        }
        let model = if rows.len() < MOST_ROWS { call.model_sent.clone() } else { "other".to_owned() };
        let labels = Labels {
            client: call.client.clone(),
            dialect: call.client_dialect,
            backend: call.backend.clone(),
            model,
            status: call.status,
        };
        rows.entry(labels).or_default().count(call);
    }

    /// The counters as text. `circuits` has the name of each backend and whether its circuit is open.
    pub(crate) fn text<'b>(
        &self,
        uptime: Duration,
        circuits: impl Iterator<Item = (&'b str, bool)>,
    ) -> String {
        let mut text = String::new();
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        #[expect(clippy::cast_precision_loss, reason = "Prometheus has floating-point numbers")]
        let families: [(&str, &str, RowValue); 8] = [
            ("calls_total", "Model calls that have ended.", |row| row.calls as f64),
            ("input_tokens_total", "Input tokens that backends counted.", |row| row.input as f64),
            ("cached_tokens_total", "Input tokens read from a cache.", |row| row.cached as f64),
            ("output_tokens_total", "Output tokens that backends counted.", |row| row.output as f64),
            ("dollars_total", "The computed cost of calls.", |row| row.dollars),
            ("losses_total", "Values that a backend or a client could not get.", |row| row.losses as f64),
            ("attempts_again_total", "Attempts after the first one.", |row| row.again as f64),
            ("cancelled_total", "Calls that the client left.", |row| row.cancelled as f64),
        ];
        for (name, help, value) in families {
            head(&mut text, name, help, "counter");
            for (labels, row) in rows.iter() {
                line(&mut text, name, labels, "", value(row));
            }
        }
        head(&mut text, "call_seconds", "The duration of calls.", "histogram");
        for (labels, row) in rows.iter() {
            #[expect(clippy::cast_precision_loss, reason = "Prometheus has floating-point numbers")]
            let calls = row.calls as f64;
            for (count, bound) in row.buckets.iter().zip(BOUNDS) {
                #[expect(clippy::cast_precision_loss, reason = "Prometheus has floating-point numbers")]
                line(&mut text, "call_seconds_bucket", labels, &format!(",le=\"{bound}\""), *count as f64);
            }
            line(&mut text, "call_seconds_bucket", labels, ",le=\"+Inf\"", calls);
            line(&mut text, "call_seconds_sum", labels, "", row.seconds);
            line(&mut text, "call_seconds_count", labels, "", calls);
        }
        drop(rows);
        head(&mut text, "open_calls", "Model calls in progress.", "gauge");
        let _ = writeln!(text, "interlingua_open_calls {}", self.open.load(AtomicOrdering::Relaxed));
        head(&mut text, "backend_circuit_open", "Whether a backend is paused after failures.", "gauge");
        for (backend, is_open) in circuits {
            let (backend, value) = (label(backend), u8::from(is_open));
            let _ = writeln!(text, "interlingua_backend_circuit_open{{backend=\"{backend}\"}} {value}");
        }
        head(&mut text, "uptime_seconds", "The age of the process.", "gauge");
        let _ = writeln!(text, "interlingua_uptime_seconds {}", uptime.as_secs());
        text
    }
}

/// Adds a counter without labels.
pub(crate) fn counter(text: &mut String, name: &str, help: &str, value: u64) {
    head(text, name, help, "counter");
    let _ = writeln!(text, "interlingua_{name} {value}");
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP interlingua_{name} {help}\n# TYPE interlingua_{name} {kind}");
}

fn line(text: &mut String, name: &str, labels: &Labels, more: &str, value: f64) {
    let Labels { client, dialect, backend, model, status } = labels;
    let (client, backend, model) = (label(client), label(backend), label(model));
    let _ = writeln!(
        text,
        "interlingua_{name}{{client=\"{client}\",dialect=\"{dialect}\",backend=\"{backend}\",model=\"{model}\",status=\"{status}\"{more}}} {value}"
    );
}

/// The value of a label, escaped.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
