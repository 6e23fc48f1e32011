//! Sizes in the form in which users type and read them.

use std::fmt;
use std::str::FromStr;

/// Number of bytes, parsed and printed with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// Units above the byte, each 1024 times as large as the previous one.
const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
const STEP: u64 = 1024;

/// Error for a text that is not a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SizeError {
    #[error(
        "expected a number of bytes, or a whole number with K, M, G or T (powers of 1024), such as `500M`"
    )]
    Malformed,
    #[error("the size is larger than 16777215T")]
    TooLarge,
}

impl FromStr for Size {
    type Err = SizeError;

    /// Parses a number of bytes with an optional unit, such as `65536`, `64K` or `64KiB`.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, unit) = text.split_at_checked(digits).ok_or(SizeError::Malformed)?;
        if digits.is_empty() {
            return Err(SizeError::Malformed);
        }
        let is_unit = |name: &&str| {
            unit.eq_ignore_ascii_case(name)
                || unit.eq_ignore_ascii_case(name.trim_end_matches("iB"))
        };
        let power = match unit {
            "" => 0,
            _ => UNITS.iter().position(is_unit).ok_or(SizeError::Malformed)? + 1,
        };
        let number: u64 = digits.parse().map_err(|_| SizeError::TooLarge)?;
        let bytes = (0..power).try_fold(number, |bytes, _| bytes.checked_mul(STEP));
        bytes.map(Self).ok_or(SizeError::TooLarge)
    }
}

impl fmt::Display for Size {
    /// Writes the size in the largest unit in which it is at least 1, rounded to a tenth: `1 byte`, `32 KiB`, `1.5
    /// GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = u128::from(self.0);
        let (mut unit, mut name) = (1, None);
        for next in UNITS {
            // A value that rounds to 1024 of one unit is written as 1 of the next unit.
            if tenths(bytes, unit) < 10 * u128::from(STEP) {
                break;
            }
            (unit, name) = (unit * u128::from(STEP), Some(next));
        }
        match (name, tenths(bytes, unit)) {
            (None, 10) => f.write_str("1 byte"),
            (None, _) => write!(f, "{bytes} bytes"),
            (Some(name), tenths) if tenths % 10 == 0 => write!(f, "{} {name}", tenths / 10),
            (Some(name), tenths) => write!(f, "{}.{} {name}", tenths / 10, tenths % 10),
        }
    }
}

/// Returns `bytes` in tenths of `unit`, rounded to the nearest integer.
fn tenths(bytes: u128, unit: u128) -> u128 {
    (bytes * 10 + unit / 2) / unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_parsed_in_bytes_or_with_a_unit() {
        let size = |text: &str| text.parse::<Size>().map(|Size(bytes)| bytes);
        for (text, bytes) in [
            ("0", 0),
            ("65536", 65_536),
            ("64K", 65_536),
            ("64k", 65_536),
            ("64KiB", 65_536),
            ("500M", 524_288_000),
            ("1G", 1 << 30),
            ("16777215T", 16_777_215 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "K", "-1", "1.5G", "64KB", "64 K", "1GiB ", "1P", "1é", "0x10"] {
            assert_eq!(size(wrong), Err(SizeError::Malformed), "{wrong}");
        }
        for large in ["16777216T", "18446744073709551616"] {
            assert_eq!(size(large), Err(SizeError::TooLarge), "{large}");
        }
    }

    #[test]
    fn size_is_printed_in_its_largest_unit_with_one_decimal() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (32_768, "32 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 52, "1023.9 KiB"),
            ((1 << 20) - 51, "1 MiB"),
            (1 << 30, "1 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), shown, "{bytes}");
        }
    }
}
