//! Human-readable formats for numbers.

use std::time::Duration;

/// Formats `12345` as `12,345`.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats milliseconds with three significant digits.
pub(super) fn milliseconds(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        ms if ms < 9.995 => format!("{ms:.2}"),
        ms if ms < 99.95 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

/// Formats a ratio as `2.9x`, or as `1/31` if the first value is much smaller.
pub(super) fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() || ratio <= 0.0 {
        return "?".to_owned();
    }
    let inverse = 1.0 / ratio;
    match ratio {
        ratio if ratio >= 9.95 => format!("{ratio:.0}x"),
        ratio if ratio > 0.5 => format!("{ratio:.2}x"),
        _ if inverse >= 9.95 => format!("1/{inverse:.0}"),
        _ => format!("1/{inverse:.1}"),
    }
}

/// Returns the ratio of `first` to `second`.
pub(super) fn over(first: Duration, second: Duration) -> f64 {
    first.as_secs_f64() / second.as_secs_f64()
}

/// Formats KiB as MiB.
pub(super) fn mebibytes(kibibytes: u64) -> String {
    format!("{}.{} MiB", kibibytes / 1024, kibibytes % 1024 * 10 / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        let micros = [7, 720, 9_994, 9_996, 99_940, 99_960];
        assert_eq!(
            micros.map(|micros| milliseconds(Duration::from_micros(micros))),
            ["0.01", "0.72", "9.99", "10.0", "99.9", "100"]
        );
        assert_eq!(mebibytes(1536), "1.5 MiB");
    }

    #[test]
    fn a_ratio_reads_as_a_fraction_or_a_factor() {
        let ratios = [1.0 / 31.0, 1.0 / 5.0, 0.5, 0.8, 1.0, 2.912, 12.3, 0.0, f64::NAN];
        assert_eq!(
            ratios.map(ratio),
            ["1/31", "1/5.0", "1/2.0", "0.80x", "1.00x", "2.91x", "12x", "?", "?"]
        );
    }
}
