//! Timestamps with microsecond precision.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::path::Cut;

/// Number of microseconds since 1970-01-01T00:00:00Z.
///
/// Timestamps are written in the format of RFC 3339 with six fractional digits and `Z`, so that the texts sort in
/// chronological order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

/// Supported range, from the start of the year 0 to 9999-12-30T22:00, where the calendar of `jiff` ends. The text
/// format could not represent much more, because a year has four digits.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200_000_000..=253_402_207_200_000_000;

/// Error for a text that is not a timestamp in the supported format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a valid time: expected a format like `2026-11-21T18:03:07.000000Z`",
    Cut(given.as_bytes(), 40)
)]
pub struct TimestampError {
    /// Text that was rejected.
    pub given: String,
}

impl Timestamp {
    /// Creates a timestamp from a number of microseconds since 1970. A value outside the years 0 to 9999 is replaced by
    /// the nearest supported timestamp.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// Parses a timestamp. Returns `None` if the text is not a valid timestamp.
    ///
    /// Leap seconds, which RFC 3339 allows, are rejected because a time counted from 1970 cannot represent them.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let text: &[u8; 27] = text.try_into().ok()?;
        let [
            a,
            b,
            c,
            d,
            b'-',
            e,
            f,
            b'-',
            g,
            h,
            b'T',
            i,
            j,
            b':',
            k,
            l,
            b':',
            m,
            n,
            b'.',
            rest @ ..,
        ] = text
        else {
            return None;
        };
        let [o, p, q, r, s, t, b'Z'] = rest else { return None };
        let (year, month, day) = (number([a, b, c, d])?, number([e, f])?, number([g, h])?);
        let (hour, minute, second) = (number([i, j])?, number([k, l])?, number([m, n])?);
        if !(1..=days_of_month(year, month)).contains(&day)
            || hour > 23
            || minute > 59
            || second > 59
        {
            return None;
        }
        let seconds = ((days_before(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        let micros = seconds * 1_000_000 + number([o, p, q, r, s, t])?;
        RANGE.contains(&micros).then_some(Self(micros))
    }

    /// Returns the number of microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            Err(_) => Err(fmt::Error),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let read = Self::from_text(text.as_bytes());
        read.ok_or_else(|| TimestampError { given: text.to_owned() })
    }
}

/// Parses a number from its decimal digits.
fn number<const N: usize>(digits: [&u8; N]) -> Option<i64> {
    digits.into_iter().try_fold(0, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
    })
}

/// Returns the number of days in a month, or 0 if there is no such month.
fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    }
}

/// Returns the number of days from 1970-01-01 to the given date.
///
/// The calculation starts each year in March, so that a leap day is the last day of its year. A period of 400 years
/// always has the same number of days.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + days - 719_468
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;

    fn try_from(text: String) -> Result<Self, TimestampError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_round_trips_through_text() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (1_795_291_387_000_042, "2026-11-21T20:03:07.000042Z"),
            (*RANGE.start(), "0000-01-01T00:00:00.000000Z"),
            (*RANGE.end(), "9999-12-30T22:00:00.000000Z"),
        ] {
            let moment = Timestamp::from_micros(micros);
            assert_eq!(moment.to_string(), text);
            assert_eq!(moment.to_string().parse::<Timestamp>(), Ok(moment));
        }
        assert_eq!(Timestamp::from_micros(i64::MAX).micros(), *RANGE.end());
        assert_eq!(Timestamp::from_micros(i64::MIN).micros(), *RANGE.start());
    }

    /// Previous implementation, used for comparison: `jiff` parses the text, and only the exact format that `jiff`
    /// writes is accepted.
    fn by_the_calendar_of_jiff(text: &str) -> Option<i64> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        let read = Timestamp::from_micros(moment.as_microsecond());
        (read.to_string() == text).then_some(read.micros())
    }

    #[test]
    fn every_calendar_day_parses_as_in_jiff() {
        for year in (0..=2400).chain([4000, 9998, 9999]) {
            for (month, day) in (0..=13).flat_map(|month| (27..=32).map(move |day| (month, day))) {
                for time in ["00:00:00.000000", "23:59:59.999999"] {
                    let text = format!("{year:04}-{month:02}-{day:02}T{time}Z");
                    let read = text.parse().ok().map(Timestamp::micros);
                    assert_eq!(read, by_the_calendar_of_jiff(&text), "{text}");
                }
            }
        }
    }

    #[test]
    fn every_single_byte_mutation_parses_as_in_jiff() {
        for text in [
            "2024-02-29T23:59:59.999999Z",
            "9999-12-30T22:00:00.000000Z",
            "0000-01-01T00:00:00.000000Z",
        ] {
            for at in 0..text.len() {
                for byte in 0..0x80 {
                    let mut changed = text.as_bytes().to_vec();
                    changed[at] = byte;
                    let changed = String::from_utf8(changed).unwrap();
                    let read = changed.parse().ok().map(Timestamp::micros);
                    assert_eq!(read, by_the_calendar_of_jiff(&changed), "{changed}");
                }
            }
        }
    }

    #[test]
    fn other_timestamp_spellings_are_refused() {
        for text in [
            "",
            "1970-01-01T00:00:00Z",
            "1970-01-01T00:00:00.000000+00:00",
            "1970-01-01 00:00:00.000000Z",
            "1970-01-01t00:00:00.000000z",
            "1970-13-01T00:00:00.000000Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
