//! Times as the source wrote them, in the one form the envelope has.

use crate::model::Time;

/// The time in UTC as RFC 3339, if it can be told. Numbers are seconds or milliseconds since 1970.
pub(super) fn utc(time: &Time<'_>) -> Option<String> {
    let text = time.as_str();
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) => is_utc(text).then(|| text.to_owned()),
        None => match text.split('.').next()?.parse().ok()? {
            number @ 1..253_402_300_799_999 => Some(from_epoch(number)),
            _ => None,
        },
    }
}

/// Whether the text is a time like `2026-11-15T10:51:54.182Z`.
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

/// The time so many seconds (or, from 1e11 on, milliseconds) after 1970 began.
fn from_epoch(number: u64) -> String {
    let (seconds, millis) =
        if number < 100_000_000_000 { (number, 0) } else { (number / 1000, number % 1000) };
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
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
