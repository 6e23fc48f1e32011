//! Detects placeholders that stand for a secret, such as sample values, sequences and repeated characters.

/// Lowercase words that mark a token as made up. Each is long enough to be rare in random tokens.
const WORDS: [&[u8]; 16] = [
    b"0000000",
    b"12345678",
    b"abcdefgh",
    b"changeme",
    b"deadbeef",
    b"dummy",
    b"example",
    b"fake",
    b"foobar",
    b"notreal",
    b"placeholder",
    b"redacted",
    b"sample",
    b"secret",
    b"xxxx",
    b"your",
];

/// Maximum length of a repeating unit that [`is_random`] detects, in bytes.
const PERIOD_MAX: usize = 16;

/// Returns true if the part of a token that should be random contains a placeholder word or does not look
/// random.
pub(super) fn is_made_up(random: &[u8]) -> bool {
    holds_any(random, &WORDS) || !is_random(random)
}

/// Returns true if `text` contains any of the lowercase `words`, ignoring ASCII case. Empty words never match.
pub(super) fn holds_any(text: &[u8], words: &[&[u8]]) -> bool {
    let mut words = words.iter().filter(|word| !word.is_empty());
    words.any(|word| text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word)))
}

/// Returns true if `text` could be random: characters rarely repeat, adjacent characters are mostly not equal
/// or consecutive, and the text is not a repetition of a shorter unit.
///
/// In random hexadecimal text, 1 in 16 pairs of characters is equal, and larger alphabets have fewer equal
/// pairs. For 32 digits, the limit of 1 in 6 is more than seven standard deviations above that mean.
pub(super) fn is_random(text: &[u8]) -> bool {
    let mut counts = [0_usize; 256];
    for &byte in text {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let same: usize = counts.iter().map(|count| count * count).sum();
    let neighbours = text.windows(2).filter(|pair| match pair {
        [one, other] => one.abs_diff(*other) <= 1,
        _ => false,
    });
    let periodic = (1..=PERIOD_MAX.min(text.len() / 2))
        .any(|period| text.iter().zip(text.iter().skip(period)).all(|(one, other)| one == other));
    same * 6 <= text.len() * text.len() && neighbours.count() * 2 <= text.len() && !periodic
}

/// Lowercase words that are common in the passwords of examples and test setups.
const PASSWORD_WORDS: [&[u8]; 32] = [
    b"1234",
    b"abcd",
    b"admin",
    b"bad",
    b"change",
    b"default",
    b"demo",
    b"dummy",
    b"example",
    b"fake",
    b"foo",
    b"guest",
    b"hunter",
    b"insert",
    b"invalid",
    b"mock",
    b"mypass",
    b"pa$$",
    b"pass",
    b"passw0rd",
    b"placeholder",
    b"postgres",
    b"pwd",
    b"qwert",
    b"redacted",
    b"root",
    b"secret",
    b"test",
    b"token",
    b"user",
    b"xxx",
    b"your",
];

/// Returns true if `password` looks like a sample password or a reference to a variable.
pub(super) fn is_sample_password(password: &[u8]) -> bool {
    holds_any(password, &PASSWORD_WORDS) || is_reference(password)
}

/// Returns true if `value` is a variable reference or template placeholder: `${X}`, `$X`, `%X%`, `{{ x }}`,
/// `<x>`.
pub(super) fn is_reference(value: &[u8]) -> bool {
    value.starts_with(b"$") && !value.iter().skip(1).any(u8::is_ascii_punctuation)
        || value.starts_with(b"%") && value.ends_with(b"%")
        || value.iter().any(|byte| b"{}<>[]()".contains(byte))
        || value.windows(2).any(|pair| pair == b"$$" || pair == b"..")
}

/// Minimum entropy per character of random text, in units of 1/256 bit. Random hexadecimal digits have 4 bits
/// each.
const ENTROPY_MIN: u64 = 3 * 256;

/// Returns true if `text` has a digit, high entropy, and frequent changes between lowercase letters, uppercase
/// letters and digits. Identifiers made of words do not meet these conditions.
pub(super) fn looks_random(text: &[u8]) -> bool {
    // A change from uppercase to lowercase is not counted because it usually marks the start of a word.
    let changes = text.windows(2).filter(|pair| match pair {
        [one, other] if other.is_ascii_uppercase() => {
            !one.is_ascii_uppercase() && one.is_ascii_alphanumeric()
        }
        [one, other] if one.is_ascii_digit() => other.is_ascii_lowercase(),
        [one, other] => one.is_ascii_alphabetic() && other.is_ascii_digit(),
        _ => false,
    });
    let has_digit = text.iter().any(u8::is_ascii_digit);
    has_digit
        && changes.count() * 4 >= text.len()
        && entropy(text) >= ENTROPY_MIN
        && is_random(text)
}

/// Computes the Shannon entropy per byte, in units of 1/256 bit. Integer arithmetic makes the result identical
/// on every machine.
fn entropy(text: &[u8]) -> u64 {
    let mut counts = [0_u64; 256];
    for &byte in text {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length: u64 = counts.iter().sum();
    let weighted: u64 = counts.iter().map(|&count| count * log2(count)).sum();
    log2(length).saturating_sub(weighted.checked_div(length).unwrap_or_default())
}

/// Computes the base-2 logarithm of `number` in units of 1/256. Returns 0 for 0.
fn log2(number: u64) -> u64 {
    let Some(whole) = number.checked_ilog2() else { return 0 };
    // The number, scaled to between 1 and 2 in units of 2^-31. Each squaring yields one more bit of the
    // logarithm.
    let mut fraction = (u128::from(number) << 31) >> whole;
    let mut digits = 0;
    for _ in 0..8 {
        fraction = (fraction * fraction) >> 31;
        let carry = u64::from(fraction >= 1 << 32);
        fraction >>= carry;
        digits = digits << 1 | carry;
    }
    u64::from(whole) << 8 | digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-20
    #[test]
    fn examples_sequences_and_repetitions_are_placeholders() {
        for made_up in [
            "IOSFODNN7EXAMPLE",
            "aaaaaaaaaaaaaaaaaaaaaaaa",
            "123456789abcdefghijkmnop",
            "q7Kd02Xw".repeat(4).as_str(),
            "yourTokenGoesRightHere19",
            "",
        ] {
            assert!(made_up.is_empty() || is_made_up(made_up.as_bytes()), "{made_up}");
        }
    }

    /// EX-20
    #[test]
    fn entropy_is_computed_in_integers() {
        assert_eq!((log2(0), log2(1), log2(2), log2(8), log2(3)), (0, 0, 256, 768, 405));
        assert_eq!((entropy(b""), entropy(b"aaaa"), entropy(b"abcdabcd")), (0, 0, 512));
    }

    /// EX-20
    #[test]
    fn names_made_of_words_do_not_look_random() {
        for name in ["userPasswordResetToken2", "oauth2_token_endpoint_v1", "sha256-of-the-content"]
        {
            assert!(!looks_random(name.as_bytes()), "{name}");
        }
        for random in ["q7Kd02XwZr9Lp3Tb", "9f86d081884c7d659a2feaa0c55ad015", "k3v9qzt1x8mw2rj5"] {
            assert!(looks_random(random.as_bytes()), "{random}");
        }
    }

    /// EX-20
    #[test]
    fn random_values_are_not_placeholders() {
        for random in ["9f86d081884c7d659a2feaa0c55ad015", "Q7JH2MXPLZ5RD3KW", "u7Rk2Vb9Qe4Xp0Lw"] {
            assert!(!is_made_up(random.as_bytes()), "{random}");
        }
    }
}
