//! Conversion of times in seconds or milliseconds to dates, and of dates to milliseconds.
//!
//! A date keeps every digit of the number, so the conversion does not round.

use std::fmt::Write as _;

/// The first second of the year 10000: dates have four digits for the year.
const END: u64 = 253_402_300_800;

/// Writes the date at `millis` milliseconds since 1970, as JSON. Returns whether the date is in range.
pub(crate) fn date_of_millis(millis: u64, out: &mut String) -> bool {
    out.clear();
    let (seconds, rest) = (millis / 1000, millis % 1000);
    seconds < END && {
        write_date(seconds, out);
        write!(out, ".{rest:03}Z\"").is_ok()
    }
}

/// The same for seconds since 1970 in the form of a JSON number: digits, with an optional fraction.
pub(crate) fn date_of_seconds(number: &str, out: &mut String) -> bool {
    out.clear();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = whole.parse::<u64>().ok().filter(|seconds| *seconds < END);
    let Some(seconds) = seconds.filter(|_| digits(whole) && digits(fraction) && fraction.len() < 20) else {
        return false;
    };
    write_date(seconds, out);
    if number.contains('.') {
        out.push('.');
        out.push_str(fraction);
    }
    out.push_str("Z\"");
    true
}

/// The milliseconds since 1970 of a date, with or without its quotes. A finer fraction is truncated.
pub(crate) fn millis_of_date(date: &str) -> Option<u64> {
    let text = date.trim_matches('"');
    let (day, rest) = text.split_at_checked(10)?;
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let (year, month, day) = (number(day.get(..4))?, number(day.get(5..7))?, number(day.get(8..))?);
    let (hour, minute) = (number(rest.get(1..3))?, number(rest.get(4..6))?);
    let (second, rest) = (number(rest.get(7..9))?, rest.get(9..)?);
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
        None => ("", rest),
    };
    let millis =
        fraction.bytes().chain(*b"000").take(3).fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'));
    let offset = match zone.as_bytes() {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let minutes = number(zone.get(1..3))? * 60 + number(zone.get(4..6))?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    let seconds = days_before(year, month, day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second;
    u64::try_from(seconds * 1000 + millis).ok()
}

/// Writes a date up to its seconds, with the opening quote.
fn write_date(seconds: u64, out: &mut String) {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March have their leap day at the end; 400 years are one cycle.
    let days = days + 719_468;
    let (cycle, of_cycle) = (days / 146_097, days % 146_097);
    let year = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = cycle * 400 + year + next;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    // Writing to a string does not fail.
    let _ = write!(out, "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
}

/// The number of days between 1970 and a date.
const fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    cycle * 146_097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_dates_digit_for_digit() {
        let mut out = String::new();
        for (number, date) in [
            ("0", "\"1970-01-01T00:00:00Z\""),
            ("951782399.5", "\"2000-02-28T23:59:59.5Z\""),
            ("951782400", "\"2000-02-29T00:00:00Z\""),
            ("1794731870.6531172", "\"2026-11-15T08:37:50.6531172Z\""),
            ("253402300799.999", "\"9999-12-31T23:59:59.999Z\""),
        ] {
            assert!(date_of_seconds(number, &mut out));
            assert_eq!(out, date);
        }
        for none in ["", "-1", "1e9", "1.", ".5", "253402300800", "1.5e3", "x"] {
            assert!(!date_of_seconds(none, &mut out), "{none}");
        }
        assert!(date_of_millis(1_794_731_803_347, &mut out));
        assert_eq!(out, "\"2026-11-15T08:36:43.347Z\"");
        assert!(!date_of_millis(u64::MAX, &mut out));
    }

    #[test]
    fn dates_are_counted_back() {
        let mut out = String::new();
        for millis in (0..253_402_300_800_000).step_by(7_919_999_983) {
            assert!(date_of_millis(millis, &mut out));
            assert_eq!(millis_of_date(&out), Some(millis), "{out}");
        }
        assert_eq!(millis_of_date("2026-11-15T10:37:50.6531172+02:00"), Some(1_794_731_870_653));
        assert_eq!(millis_of_date("1969-12-31T23:59:59Z"), None);
        assert_eq!(millis_of_date("soon"), None);
    }
}
