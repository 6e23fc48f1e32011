//! Times in UTC as RFC 3339 writes them.

use actum_workspace::disk::Time;
use jiff::Timestamp;

/// A time to the second, for people.
pub(crate) fn to_the_second(time: Time) -> String {
    exact_of(time).map_or_else(|| fallback(time), |stamp| format!("{stamp:.0}"))
}

/// A time with all its digits, for programs.
pub(crate) fn exact(time: Time) -> String {
    exact_of(time).map_or_else(|| fallback(time), |stamp| stamp.to_string())
}

fn exact_of(time: Time) -> Option<Timestamp> {
    Timestamp::from_nanosecond(time.0.into()).ok()
}

/// Every number of nanoseconds in 64 bits has a date, so this is never seen.
fn fallback(time: Time) -> String {
    format!("{} ns", time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339_says() {
        let time = Time(1_700_000_000_123_456_789);
        assert_eq!(to_the_second(time), "2023-11-14T22:13:20Z");
        assert_eq!(exact(time), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(exact(Time(-1)), "1969-12-31T23:59:59.999999999Z");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(exact(Time(extreme)).ends_with('Z'));
        }
    }
}
