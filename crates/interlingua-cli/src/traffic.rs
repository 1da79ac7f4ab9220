//! The traffic of a gateway as text: open calls, calls that have ended, and sums for each route. Every name and message
//! from the gateway is made safe for a terminal.

use std::collections::{BTreeMap, VecDeque};

use interlingua::json::Raw;
use interlingua::model::{Usage, time};
use interlingua_gateway::{FeedCall, FeedEvent};
use interlingua_report::render::{number, plural, table};
use interlingua_report::safe;

/// The most rows of sums. Calls of further routes are summed in one row.
const MOST_ROUTES: usize = 500;

/// The most calls that have ended and are shown.
const MOST_ENDED: usize = 200;

/// The most durations of a route from which its percentiles are computed: those of its last calls.
const MOST_DURATIONS: usize = 1000;

/// The most characters of a name in a table.
const MOST_NAME: usize = 32;

/// The calls of a gateway since the view began.
#[derive(Debug)]
pub(crate) struct Traffic {
    url: String,
    open: BTreeMap<String, FeedCall>,
    ended: VecDeque<FeedCall>,
    routes: BTreeMap<(String, String), Sums>,
    total: Sums,
    missed: u64,
}

/// Sums of calls.
#[derive(Debug, Default)]
struct Sums {
    calls: u64,
    errors: u64,
    input: u64,
    output: u64,
    cost: f64,
    losses: u64,
    durations: VecDeque<u64>,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewSize {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl ViewSize {
    pub(crate) const USUAL: Self = Self { rows: 24, columns: 80 };
}

impl Traffic {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: safe::exact_line(url),
            open: BTreeMap::new(),
            ended: VecDeque::new(),
            routes: BTreeMap::new(),
            total: Sums::default(),
            missed: 0,
        }
    }

    pub(crate) fn add(&mut self, event: FeedEvent) {
        match event {
            FeedEvent::Started(call) | FeedEvent::Moved(call) => {
                self.open.insert(call.id.clone(), call);
            }
            FeedEvent::Ended(call) => {
                self.open.remove(&call.id);
                self.total.add(&call);
                let mut route = (call.backend.clone(), call.model_sent.clone());
                if self.routes.len() >= MOST_ROUTES && !self.routes.contains_key(&route) {
                    route = ("other".to_owned(), "other".to_owned());
                }
                self.routes.entry(route).or_default().add(&call);
                self.ended.truncate(MOST_ENDED - 1);
                self.ended.push_front(call);
            }
            FeedEvent::Lagged { missed, open } => {
                self.missed += missed;
                self.open.retain(|id, _| open.contains(id));
            }
            // `ready` changes no call, and neither does an event of a newer gateway.
            _ => {}
        }
    }

    /// The open calls as a table.
    pub(crate) fn open_calls(&self, now: u64) -> String {
        if self.open.is_empty() {
            return format!("no open calls at {}\n", self.url);
        }
        let rows: Vec<_> = self.open.values().map(|call| open_row(call, now)).collect();
        table(&OPEN_HEAD, &rows)
    }

    /// The whole view, in lines that fit the terminal.
    pub(crate) fn view(&self, now: u64, size: ViewSize) -> String {
        let Sums { calls, errors, input, output, cost, losses, .. } = &self.total;
        let mut lines = vec![
            format!("interlingua top: {} (Ctrl-C ends)", self.url),
            format!(
                "{} open, {} ended, {}, {} tokens in, {} out, {}, {}",
                number(self.open.len() as u64),
                number(*calls),
                plural(*errors, "error"),
                number(*input),
                number(*output),
                dollars(*cost),
                if *losses == 1 { "1 loss".to_owned() } else { format!("{} losses", number(*losses)) },
            ),
        ];
        if self.missed > 0 {
            lines.push(format!("{} missed: the sums are too low", plural(self.missed, "event")));
        }
        let mut routes: Vec<_> = self.routes.iter().collect();
        routes.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.calls));
        let routes: Vec<_> = routes.into_iter().map(|(route, sums)| route_row(route, sums)).collect();
        let open: Vec<_> = self.open.values().map(|call| open_row(call, now)).collect();
        let ended: Vec<_> = self.ended.iter().map(ended_row).collect();
        // Each table has an empty line and a head. The calls that have ended get the lines that are left.
        let room = size.rows.saturating_sub(lines.len());
        for (head, rows, share) in
            [(&ROUTE_HEAD[..], &routes[..], room / 3), (&OPEN_HEAD[..], &open[..], room / 3)]
        {
            push_table(&mut lines, head, rows, share);
        }
        let left = size.rows.saturating_sub(lines.len());
        push_table(&mut lines, &ENDED_HEAD, &ended, left);
        lines.truncate(size.rows);
        let lines: Vec<String> = lines.iter().map(|line| clipped(line, size.columns)).collect();
        lines.join("\n")
    }
}

impl Sums {
    fn add(&mut self, call: &FeedCall) {
        self.calls += 1;
        self.errors += u64::from(is_error(call));
        let (input, output) = tokens(call.usage.as_ref());
        self.input = self.input.saturating_add(input);
        self.output = self.output.saturating_add(output);
        self.cost += call.cost.unwrap_or(0.0);
        self.losses = self.losses.saturating_add(call.losses);
        self.durations.truncate(MOST_DURATIONS - 1);
        self.durations.push_front(call.duration_ms);
    }

    /// The duration that `percent` of the calls do not exceed.
    fn percentile(&self, percent: usize) -> u64 {
        let mut sorted: Vec<u64> = self.durations.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    }
}

/// The line of a call that has ended, for programs: values with tabs between them.
pub(crate) fn line(call: &FeedCall) -> String {
    let (input, output) = tokens(call.usage.as_ref());
    let count = |count: u64| if call.usage.is_some() { count.to_string() } else { String::new() };
    let values = [
        start(call),
        call.id.clone(),
        call.status.to_string(),
        call.duration_ms.to_string(),
        call.client.clone(),
        call.client_dialect.clone(),
        call.model_asked.clone(),
        call.backend.clone(),
        call.model_sent.clone(),
        count(input),
        count(output),
        call.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        call.losses.to_string(),
        call.attempts.to_string(),
        failure(call),
    ];
    let values: Vec<String> = values.iter().map(|value| safe::one_line(value)).collect();
    values.join("\t") + "\n"
}

const ROUTE_HEAD: [&str; 10] =
    ["BACKEND", "MODEL", "CALLS", "ERRORS", "IN", "OUT", "COST", "LOSSES", "P50", "P95"];

fn route_row((backend, model): &(String, String), sums: &Sums) -> Vec<String> {
    vec![
        name(if backend.is_empty() { "(none)" } else { backend }),
        name(model),
        number(sums.calls),
        number(sums.errors),
        number(sums.input),
        number(sums.output),
        dollars(sums.cost),
        number(sums.losses),
        seconds(sums.percentile(50)),
        seconds(sums.percentile(95)),
    ]
}

const OPEN_HEAD: [&str; 6] = ["AGE", "CLIENT", "DIALECT", "ASKED", "BACKEND", "MODEL"];

fn open_row(call: &FeedCall, now: u64) -> Vec<String> {
    vec![
        seconds(now.saturating_sub(call.started)),
        name(&call.client),
        name(&call.client_dialect),
        name(&call.model_asked),
        name(&call.backend),
        name(&call.model_sent),
    ]
}

const ENDED_HEAD: [&str; 11] =
    ["TIME", "STATUS", "TOOK", "CLIENT", "ASKED", "BACKEND", "IN", "OUT", "COST", "LOSSES", "FAILURE"];

fn ended_row(call: &FeedCall) -> Vec<String> {
    let (input, output) = tokens(call.usage.as_ref());
    let count = |count: u64| if call.usage.is_some() { number(count) } else { "-".to_owned() };
    // The time of the day without milliseconds.
    let start = start(call).get(11..19).unwrap_or_default().to_owned();
    vec![
        start,
        call.status.to_string(),
        seconds(call.duration_ms),
        name(&call.client),
        name(&call.model_asked),
        name(&call.backend),
        count(input),
        count(output),
        call.cost.map_or_else(|| "-".to_owned(), dollars),
        number(call.losses),
        safe::one_line(&failure(call)),
    ]
}

/// Adds a table that fits into `room` lines, with the number of rows that are left out.
fn push_table(lines: &mut Vec<String>, head: &[&str], rows: &[Vec<String>], room: usize) {
    if rows.is_empty() || room < 3 {
        return;
    }
    let most = room - 2;
    let shown = if rows.len() > most { most - 1 } else { rows.len() };
    lines.push(String::new());
    lines.extend(table(head, &rows[..shown]).lines().map(str::to_owned));
    if shown < rows.len() {
        lines.push(format!("… {} more", number((rows.len() - shown) as u64)));
    }
}

fn is_error(call: &FeedCall) -> bool {
    call.failure.is_some() || call.status >= 400
}

/// The class and the message of the failure; empty without a failure.
fn failure(call: &FeedCall) -> String {
    match &call.failure {
        Some((class, message)) if message.is_empty() => class.clone(),
        Some((class, message)) => format!("{class}: {message}"),
        None if call.is_cancelled => "the client left".to_owned(),
        None => String::new(),
    }
}

/// All input tokens, cached or not, and all output tokens.
fn tokens(usage: Option<&Usage>) -> (u64, u64) {
    let Some(usage) = usage else { return (0, 0) };
    let input = [usage.input, usage.cache_read, usage.cache_write];
    let input = input.into_iter().flatten().fold(0, u64::saturating_add);
    (input, usage.output.unwrap_or(0))
}

/// The start of a call in UTC.
fn start(call: &FeedCall) -> String {
    time::utc(&Raw::new(&call.started.to_string())).unwrap_or_default()
}

fn name(text: &str) -> String {
    let text = safe::exact_line(text);
    match text.char_indices().nth(MOST_NAME) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a duration for people")]
fn seconds(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..100_000 => format!("{:.1} s", millis as f64 / 1000.0),
        _ => format!("{} s", number(millis / 1000)),
    }
}

fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.01 { format!("${cost:.5}") } else { format!("${cost:.2}") }
}

/// The line without the characters that do not fit. Sequences for bold text take no room.
fn clipped(line: &str, columns: usize) -> String {
    let mut out = String::new();
    let (mut room, mut in_sequence) = (columns, false);
    for letter in line.chars() {
        in_sequence |= letter == '\u{1b}';
        if in_sequence {
            out.push(letter);
            in_sequence = letter != 'm';
        } else if room > 0 {
            out.push(letter);
            room -= 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let mut sums = Sums::default();
        assert_eq!(sums.percentile(95), 0);
        sums.durations = (1..=100).collect();
        assert_eq!((sums.percentile(50), sums.percentile(95)), (50, 95));
        sums.durations = [7].into();
        assert_eq!((sums.percentile(50), sums.percentile(95)), (7, 7));
    }

    #[test]
    fn a_line_is_clipped_at_the_width_with_its_styles() {
        assert_eq!(clipped("\u{1b}[1mabcdef\u{1b}[0mgh", 4), "\u{1b}[1mabcd\u{1b}[0m");
        assert_eq!(clipped("ab", 4), "ab");
    }

    #[test]
    fn rows_without_room_are_counted() {
        let rows: Vec<_> = (0..9).map(|row| vec![row.to_string()]).collect();
        let mut lines = Vec::new();
        push_table(&mut lines, &["N"], &rows, 6);
        assert_eq!(lines.len(), 6);
        assert_eq!((&*lines[4], &*lines[5]), ("2", "… 6 more"));
    }
}
