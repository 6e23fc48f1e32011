//! A moment, to the microsecond.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::path::Cut;

/// Microseconds since the beginning of 1970 (UTC). Written as RFC 3339 with six digits after the
/// second and `Z`, so that texts sort as moments do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

/// From the beginning of the year 0 to 9999-12-30T22:00, where the calendar of `jiff` ends; the form
/// has no room for much more.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200_000_000..=253_402_207_200_000_000;

/// A text that is no moment in the one form there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no time: expected a form like `2026-11-21T18:03:07.000000Z`",
    Cut(given.as_bytes(), 40)
)]
pub struct TimestampError {
    /// The text that was given.
    pub given: String,
}

impl Timestamp {
    /// The moment so many microseconds after the beginning of 1970; what lies outside the years
    /// 0 to 9999 becomes the first or the last moment there is.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// Microseconds since the beginning of 1970.
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
        let read = text
            .parse::<jiff::Timestamp>()
            .ok()
            .map(|moment| Self::from_micros(moment.as_microsecond()));
        read.filter(|read| read.to_string() == text)
            .ok_or_else(|| TimestampError { given: text.to_owned() })
    }
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
    fn a_moment_survives_being_written_and_read() {
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

    #[test]
    fn another_spelling_of_a_moment_is_refused() {
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
