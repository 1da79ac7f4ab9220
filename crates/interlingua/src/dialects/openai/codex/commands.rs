//! What a command returned and how long it ran. The result itself says so in its text; otherwise an event before it does,
//! under the id of the call.

use std::collections::VecDeque;

use crate::json::Str;
use crate::ledger::hash;
use crate::tape::{Limits, TapeBuf, Val};

/// How a command ended.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) exit_code: Option<i64>,
    /// In milliseconds.
    pub(super) duration: Option<u64>,
}

/// Commands that ended and whose result has not come yet.
#[derive(Default)]
pub(super) struct Commands {
    /// By a hash of the call's id: two of 64 with the same one would be a wonder.
    ended: VecDeque<(u64, Ran)>,
    plain: String,
    tape: TapeBuf,
}

impl Commands {
    /// Results come soon after their events; whoever calls more tools than this at once loses the first.
    const MOST: usize = 64;

    /// A command ended. The event is only looked at: the result that it belongs to may never come.
    pub(super) fn ended(&mut self, call_id: &str, event: Val<'_>) {
        let exit_code = event.get("exit_code").and_then(|code| code.text().parse().ok());
        let duration = event.get("duration").and_then(|duration| {
            let nanos = duration.get("nanos")?.u64()? / 1_000_000;
            duration.get("secs")?.u64()?.checked_mul(1000)?.checked_add(nanos)
        });
        let ran = Ran { exit_code, duration };
        if ran == Ran::default() || call_id.is_empty() {
            return;
        }
        if self.ended.len() == Self::MOST {
            self.ended.pop_front();
        }
        self.ended.push_back((hash(0, call_id.as_bytes()), ran));
    }

    /// How the command ended that a result belongs to.
    pub(super) fn of(&mut self, call_id: &str, output: Option<Val<'_>>) -> Ran {
        let key = hash(0, call_id.as_bytes());
        let known = self.ended.iter().position(|(known, _)| *known == key);
        let told = known.and_then(|at| self.ended.remove(at)).map(|(_, ran)| ran).unwrap_or_default();
        let text = output.and_then(|output| output.str());
        let own = text.map(|text| self.read(&text)).unwrap_or_default();
        Ran { exit_code: own.exit_code.or(told.exit_code), duration: own.duration.or(told.duration) }
    }

    /// What the text of a result says: older ones are JSON with `metadata`, newer ones have lines before the output.
    fn read(&mut self, text: &Str<'_>) -> Ran {
        let escaped = text.as_escaped();
        if escaped.starts_with("{\\\"output\\\"") {
            self.plain.clear();
            text.decode_into(&mut self.plain);
            let Ok(tape) = self.tape.parse(&self.plain, &Limits::default()) else { return Ran::default() };
            let metadata = tape.root().get("metadata");
            let number = |name| metadata.and_then(|metadata| metadata.get(name)).map(|number| number.text());
            return Ran {
                exit_code: number("exit_code").and_then(|code| code.parse().ok()),
                duration: number("duration_seconds").and_then(milliseconds),
            };
        }
        let mut ran = Ran::default();
        // Lines are few and short, have nothing to escape, and end with `Output:`.
        for (number, piece) in escaped.split('\\').take(8).enumerate() {
            let line = if number == 0 { Some(piece) } else { piece.strip_prefix('n') };
            let Some(line) = line else { break };
            if let Some(code) =
                line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))
            {
                ran.exit_code = code.parse().ok();
            } else if let Some(time) = line.strip_prefix("Wall time: ") {
                ran.duration = time.strip_suffix(" seconds").and_then(milliseconds);
            } else if !is_head_line(line) {
                break;
            }
        }
        ran
    }
}

/// Whether a line may stand before the output of a command.
fn is_head_line(line: &str) -> bool {
    ["Chunk ID: ", "Original token count: ", "Total output lines: ", "Process running with"]
        .iter()
        .any(|head| line.starts_with(head))
}

/// Seconds, written with or without a fraction.
fn milliseconds(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let mut thousandths = 0;
    for digit in fraction.chars().chain("000".chars()).take(3) {
        thousandths = thousandths * 10 + u64::from(digit.to_digit(10)?);
    }
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}
