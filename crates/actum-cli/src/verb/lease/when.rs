//! Parses the start and expiry times of a lease, which users give as a time or a duration.

use std::str::FromStr;

use actum_core::Timestamp;

use crate::duration::milliseconds;

const SECOND_MS: u64 = 1000;
const SECOND_MICROS: i64 = 1_000_000;

/// Start or expiry time of a lease, with a precision of one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Absolute time.
    At(Timestamp),
    /// Duration relative to another time, in microseconds.
    After(i64),
}

/// Reason why a text is not a valid start or expiry time of a lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WhenError {
    #[error(
        "expected a time such as `2026-11-21T18:00:00Z` or a duration such as `10m`, `2h` or `7d`"
    )]
    Malformed,
    #[error("the times of a lease must be whole seconds")]
    Fraction,
}

impl When {
    /// Returns the absolute time. A duration is added to `start`.
    pub(super) fn resolve(self, start: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::After(micros) => add(start, micros),
        }
    }
}

/// Adds a number of microseconds to a time, saturating at the largest timestamp.
pub(super) fn add(time: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(time.micros().saturating_add(micros))
}

/// Rounds a time down to a whole second.
pub(super) fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_micros(time.micros() - time.micros().rem_euclid(SECOND_MICROS))
}

impl FromStr for When {
    type Err = WhenError;

    fn from_str(text: &str) -> Result<Self, WhenError> {
        if let Some(duration) = milliseconds(text) {
            if duration % SECOND_MS != 0 {
                return Err(WhenError::Fraction);
            }
            let micros = i64::try_from(duration).ok().and_then(|it| it.checked_mul(1000));
            return micros.map(Self::After).ok_or(WhenError::Malformed);
        }
        let time: jiff::Timestamp = text.parse().map_err(|_| WhenError::Malformed)?;
        if time.subsec_nanosecond() != 0 {
            return Err(WhenError::Fraction);
        }
        Ok(Self::At(Timestamp::from_micros(time.as_microsecond())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-17
    #[test]
    fn lease_times_are_whole_seconds() {
        let when = |text: &str| text.parse::<When>();
        let at = |text: &str| Ok(When::At(text.parse().unwrap()));
        assert_eq!(when("2026-11-21T18:00:00Z"), at("2026-11-21T18:00:00.000000Z"));
        assert_eq!(when("2026-11-21T18:00:00.000Z"), at("2026-11-21T18:00:00.000000Z"));
        assert_eq!(when("2026-11-21T19:00:00+01:00"), at("2026-11-21T18:00:00.000000Z"));
        assert_eq!(when("10m"), Ok(When::After(600_000_000)));
        assert_eq!(when("1500ms"), Err(WhenError::Fraction));
        assert_eq!(when("2026-11-21T18:00:00.5Z"), Err(WhenError::Fraction));
        for wrong in ["", "tomorrow", "2026-11-21", "2026-11-21T18:00:00", "-1h", "106751991168d"] {
            assert_eq!(when(wrong), Err(WhenError::Malformed), "{wrong}");
        }
    }

    /// FE-17
    #[test]
    fn lease_start_is_rounded_down_to_the_second() {
        for (micros, start) in [(1_999_999, 1_000_000), (2_000_000, 2_000_000), (0, 0)] {
            assert_eq!(whole_second(Timestamp::from_micros(micros)).micros(), start);
        }
    }
}
