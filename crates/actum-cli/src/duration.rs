//! Parses durations as typed on the command line, such as `30s` or `2h`.

/// Parses a duration such as `500ms`, `30s`, `10m`, `2h` or `7d` into milliseconds. Returns `None` if the text is not a
/// whole number followed by one of these units, or if the value overflows.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at_checked(digits)?;
    let each = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-12, FE-17
    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        for (text, milliseconds_of) in [
            ("500ms", Some(500)),
            ("30s", Some(30_000)),
            ("10m", Some(600_000)),
            ("2h", Some(7_200_000)),
            ("7d", Some(604_800_000)),
            ("0s", Some(0)),
            ("", None),
            ("s", None),
            ("10", None),
            ("1.5h", None),
            ("-1s", None),
            ("1 h", None),
            ("1w", None),
            ("213503982335d", None),
        ] {
            assert_eq!(milliseconds(text), milliseconds_of, "{text}");
        }
    }
}
