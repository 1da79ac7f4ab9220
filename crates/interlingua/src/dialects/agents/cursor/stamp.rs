//! The transcript's only timestamp: a tag in the user's text, such as `Thursday, Aug 6, 2026, 3:53 PM (UTC+5:30)`.

/// The timestamp in a (still escaped) text as a JSON string, to the minute. `None` without a timestamp or without its
/// time zone.
pub(super) fn time_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<timestamp>")?;
    let (stamp, _) = rest.split_once("</timestamp>")?;
    let (moment, zone) = stamp.trim().split_once(" (UTC")?;
    let zone = offset(zone.strip_suffix(')')?)?;
    let mut pieces = moment.split(", ");
    let (_weekday, day, year, clock) = (pieces.next()?, pieces.next()?, pieces.next()?, pieces.next()?);
    let (month, day) = day.split_once(' ')?;
    let month = 1 + MONTHS.iter().position(|name| month.starts_with(name))?;
    let (day, year): (u8, u16) = (day.parse().ok()?, year.parse().ok()?);
    let (hour, minute) = clock_time(clock)?;
    let legal = pieces.next().is_none() && (1..=31).contains(&day) && year >= 1970;
    legal.then(|| format!("\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00{zone}\""))
}

/// `3:53 PM`
fn clock_time(clock: &str) -> Option<(u8, u8)> {
    let (time, half) = clock.split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let afternoon = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    ((1..=12).contains(&hour) && minute < 60).then_some((hour % 12 + afternoon, minute))
}

/// The offset after `UTC`: empty, `+5:30`, `-8`.
fn offset(zone: &str) -> Option<String> {
    if zone.is_empty() {
        return Some("Z".to_owned());
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let legal = matches!(sign, "+" | "-") && hours <= 14 && minutes < 60;
    legal.then(|| format!("{sign}{hours:02}:{minutes:02}"))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_a_time_where_it_tells_its_zone() {
        let time = |stamp: &str| time_in(&format!("<timestamp>{stamp}</timestamp>\\n<user_query>"));
        let is = |stamp, wanted: &str| assert_eq!(time(stamp).as_deref(), Some(wanted));
        is("Thursday, Aug 6, 2026, 3:53 PM (UTC+5:30)", "\"2026-08-06T15:53:00+05:30\"");
        is("Monday, Feb 2, 2026, 12:05 AM (UTC-8)", "\"2026-02-02T00:05:00-08:00\"");
        is("Monday, Feb 2, 2026, 12:05 PM (UTC)", "\"2026-02-02T12:05:00Z\"");
        for odd in
            ["Monday, Feb 2, 2026, 12:05 PM", "Feb 2, 2026 (UTC)", "now", "a, Feb x, 2026, 1:02 PM (UTC)"]
        {
            assert_eq!(time(odd), None, "{odd}");
        }
        assert_eq!(time_in("no tag"), None);
    }
}
