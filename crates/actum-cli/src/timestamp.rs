//! Conversion of times in UTC to and from text, in the form of RFC 3339 or as an age.

use std::fmt::Display;

use actum_core::path::Quoted;
use actum_workspace::disk::Time;
use jiff::Timestamp;

use crate::duration;
use crate::failure::Failure;

/// Returns the age of a time in words, such as `2 hours ago`, or its date if it is two weeks old or older.
pub(crate) fn ago(time: Time) -> String {
    exact_of(time).map_or_else(|| fallback(time), |stamp| between(stamp, Timestamp::now()))
}

/// Formats a time with a precision of one second, followed by its age.
pub(crate) fn to_the_second(time: Time) -> String {
    let stamp = exact_of(time).map_or_else(|| fallback(time), |stamp| format!("{stamp:.0}"));
    format!("{stamp} ({})", ago(time))
}

/// Parses a time in the past: an age (`30m`, `2h`, `1d`), or a date and time (RFC 3339).
///
/// # Errors
/// `Usage`.
pub(crate) fn parse_since(text: &str) -> Result<Time, Failure> {
    let ago = duration::milliseconds(text).map(|ago| {
        let ago = i64::try_from(ago).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX).saturating_sub(ago)
    });
    let exact = || i64::try_from(text.parse::<Timestamp>().ok()?.as_nanosecond()).ok();
    ago.or_else(exact).map(Time).ok_or_else(|| {
        let shown = Quoted(text.as_bytes());
        let message = format!(
            "`{shown}` is not a time; use an age such as `30m`, `2h` or `1d`, or a date and time such as \
             `2026-03-01T12:00:00Z`"
        );
        Failure::Usage { message }
    })
}

fn between(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second());
    let in_units = |length: i64, unit: &str| {
        let count = seconds / length;
        format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
    };
    match seconds {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => in_units(HOUR, "hour"),
        DAY..DATED => in_units(DAY, "day"),
        _ => then.strftime("%Y-%m-%d").to_string(), // also for a time in the future, after the clock was set back
    }
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Age from which a date is shown instead, in seconds.
const DATED: i64 = 14 * DAY;

/// Formats a time with its full precision, for programs.
pub(crate) fn exact(time: Time) -> String {
    exact_of(time).map_or_else(|| fallback(time), |stamp| stamp.to_string())
}

/// Formats a time from the ledger, which is an RFC 3339 time, with a precision of one second.
pub(crate) fn second(time: impl Display) -> String {
    let text = time.to_string();
    text.split('.').next().map(|second| format!("{second}Z")).unwrap_or(text)
}

fn exact_of(time: Time) -> Option<Timestamp> {
    Timestamp::from_nanosecond(time.0.into()).ok()
}

/// Formats a time as a number of nanoseconds. This is never needed, because every 64-bit number of nanoseconds has a
/// date.
fn fallback(time: Time) -> String {
    format!("{} ns", time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_printed_in_the_largest_fitting_unit() {
        let then = Timestamp::from_second(1_700_000_000).unwrap();
        let age =
            |seconds: i64| between(then, Timestamp::from_second(1_700_000_000 + seconds).unwrap());
        assert_eq!(age(0), "just now");
        assert_eq!(age(59), "just now");
        assert_eq!(age(60), "1 min ago");
        assert_eq!(age(3599), "59 min ago");
        assert_eq!(age(7200), "2 hours ago");
        assert_eq!(age(13 * 24 * 3600), "13 days ago");
        assert_eq!(age(14 * 24 * 3600), "2023-11-14");
        assert_eq!(age(-5), "2023-11-14");
    }

    #[test]
    fn times_are_formatted_as_rfc_3339() {
        let time = Time(1_700_000_000_123_456_789);
        assert_eq!(to_the_second(time), "2023-11-14T22:13:20Z (2023-11-14)");
        assert_eq!(exact(time), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(exact(Time(-1)), "1969-12-31T23:59:59.999999999Z");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(exact(Time(extreme)).ends_with('Z'));
        }
    }
}
