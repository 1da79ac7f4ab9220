//! Dates in Amp's form.

/// An RFC 3339 date in milliseconds since 1970, to the second. `None` for any other text.
pub(super) fn milliseconds(date: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| date.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let zone = date.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let offset = match zone.chars().last()? {
        sign @ ('+' | '-') => {
            let rest = date.get(zone.len()..)?;
            let (hours, minutes) = rest.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if sign == '+' { minutes } else { -minutes }
        }
        _ => 0,
    };
    // Days since 1970, counted in years that begin with March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 719_469;
    Some((((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_counted_from_1970() {
        for (date, wanted) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-15T08:42:34.057Z", 1_794_732_154_000),
            ("2024-02-29T23:59:59+01:30", 1_709_245_799_000),
            ("2000-03-01T00:00:00-05:00", 951_886_800_000),
        ] {
            assert_eq!(milliseconds(date), Some(wanted), "{date}");
        }
        assert_eq!(milliseconds("today"), None);
    }
}
