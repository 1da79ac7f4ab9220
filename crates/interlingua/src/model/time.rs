//! Comparison of times as sources write them, and conversion to UTC.

use super::Time;
use crate::json::is_rfc3339;

/// The time in milliseconds since the start of 1970 in UTC, if the time has a supported form: RFC 3339 in any zone,
/// seconds (with or without a fraction) or milliseconds.
///
/// ```
/// use interlingua::json::Raw;
/// use interlingua::model::time;
///
/// let noon = time::epoch_millis(&Raw::new("\"2026-11-15T13:00:00.5+01:00\""));
/// assert_eq!(noon, Some(1_794_744_000_500));
/// assert_eq!(time::epoch_millis(&Raw::new("1794744000.5")), noon);
/// assert_eq!(time::date(1_794_744_000_500), "2026-11-15");
/// ```
pub fn epoch_millis(time: &Time<'_>) -> Option<u64> {
    let text = time.as_str();
    let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        return match whole.parse().ok()? {
            seconds @ 1..MILLIS_FROM => Some(seconds * 1000 + thousandths(fraction)),
            millis @ MILLIS_FROM..LATEST => Some(millis),
            _ => None,
        };
    };
    if !is_rfc3339(text.as_bytes()) {
        return None;
    }
    // `is_rfc3339` has checked the positions of the digits.
    let number = |at: std::ops::Range<usize>| text.get(at).and_then(|digits| digits.parse::<u64>().ok());
    let days = days_until(number(0..4)?, number(5..7)?, number(8..10)?)?;
    let local = ((days * 24 + number(11..13)?) * 60 + number(14..16)?) * 60 + number(17..19)?;
    let fraction = text.get(19..)?.strip_prefix('.').unwrap_or_default();
    let local = local * 1000 + thousandths(fraction);
    let (sign, offset) = match text.len().checked_sub(6).and_then(|at| Some((text.get(at..=at)?, at))) {
        Some((sign @ ("+" | "-"), at)) => (sign, number(at + 1..at + 3)? * 60 + number(at + 4..at + 6)?),
        _ => ("+", 0),
    };
    let offset = offset * 60_000;
    if sign == "+" { local.checked_sub(offset) } else { Some(local + offset) }
}

/// The first three digits of a fraction.
fn thousandths(fraction: &str) -> u64 {
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).chain([b'0'; 3]).take(3);
    digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

/// The days from 1970 to the given date.
fn days_until(year: u64, month: u64, day: u64) -> Option<u64> {
    // Years begin in March, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    days.checked_sub(1 + DAYS_TO_1970)
}

/// The date in UTC at `millis` milliseconds after the start of 1970, as `2026-11-15`.
pub fn date(millis: u64) -> String {
    let mut text = from_millis(millis.min(LATEST));
    text.truncate(10);
    text
}

/// Numbers from this value on are milliseconds; smaller numbers are seconds.
const MILLIS_FROM: u64 = 100_000_000_000;
/// The last millisecond of the year 9999.
const LATEST: u64 = 253_402_300_799_999;
/// The days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;

/// The time in UTC as RFC 3339, if the time is in UTC or a number. Numbers are seconds or milliseconds since 1970.
pub fn utc(time: &Time<'_>) -> Option<String> {
    let text = time.as_str();
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) => is_utc(text).then(|| text.to_owned()),
        None => match text.split('.').next()?.parse().ok()? {
            number @ 1..LATEST => Some(from_epoch(number)),
            _ => None,
        },
    }
}

/// Whether the text has the form `2026-11-15T10:51:54.182Z`.
fn is_utc(text: &str) -> bool {
    let form = b"dddd-dd-ddTdd:dd:dd";
    let bytes = text.as_bytes();
    let head = bytes.iter().zip(form).all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    });
    let fraction = bytes.get(form.len()..).and_then(|tail| tail.strip_suffix(b"Z"));
    head && fraction.is_some_and(|tail| {
        tail.is_empty() || tail.strip_prefix(b".").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    })
}

/// The time `number` seconds (or, from 1e11 on, milliseconds) after the start of 1970.
fn from_epoch(number: u64) -> String {
    from_millis(if number < MILLIS_FROM { number * 1000 } else { number })
}

fn from_millis(millis: u64) -> String {
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + DAYS_TO_1970;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Raw;

    #[test]
    fn times_are_compared_in_utc() {
        let millis = |json| epoch_millis(&Raw::new(json));
        let noon = Some(1_794_739_913_016);
        for same in [
            "\"2026-11-15T10:51:53.016Z\"",
            "\"2026-11-15T10:51:53.0169999Z\"",
            "\"2026-11-15T16:21:53.016+05:30\"",
            "\"2026-11-14T22:51:53.016-12:00\"",
            "1794739913016",
            "1794739913.016",
        ] {
            assert_eq!(millis(same), noon, "{same}");
        }
        assert_eq!(millis("\"2000-02-29T00:00:00Z\""), Some(951_782_400_000));
        assert_eq!(millis("\"1970-01-01T00:00:00Z\""), Some(0));
        for none in
            ["\"1970-01-01T00:00:00+01:00\"", "\"0000-01-01T00:00:00Z\"", "\"noon\"", "null", "0", "-5", "\""]
        {
            assert_eq!(millis(none), None, "{none}");
        }
        assert_eq!(date(951_782_400_000), "2000-02-29");
        assert_eq!(date(u64::MAX).len(), 10);
    }

    #[test]
    fn numbers_become_utc_and_other_zones_are_not_guessed() {
        let utc = |json| utc(&Raw::new(json));
        assert_eq!(utc("1794739913016").as_deref(), Some("2026-11-15T10:51:53.016Z"));
        assert_eq!(utc("951782400").as_deref(), Some("2000-02-29T00:00:00.000Z"));
        assert_eq!(utc("\"2026-11-15T10:51:54.182Z\"").as_deref(), Some("2026-11-15T10:51:54.182Z"));
        assert_eq!(utc("\"2026-11-15T10:51:54+01:00\""), None);
        assert_eq!(utc("99999999999999999999"), None);
        assert_eq!(utc("null"), None);
    }
}
