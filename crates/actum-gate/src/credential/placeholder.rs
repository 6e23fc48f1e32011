//! What stands where a secret would be and is none: examples, sequences, one character over and over.

/// Words that made-up tokens hold, in lowercase. None is so short that a random token often does.
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

/// The longest stretch that may come again and again.
const PERIOD_MAX: usize = 16;

/// Whether the part of a token that should be random is made up.
pub(super) fn is_made_up(random: &[u8]) -> bool {
    holds_any(random, &WORDS) || !is_random(random)
}

/// Whether `text` holds one of these lowercase words, in any case. An empty word is none.
pub(super) fn holds_any(text: &[u8], words: &[&[u8]]) -> bool {
    let mut words = words.iter().filter(|word| !word.is_empty());
    words.any(|word| text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word)))
}

/// Whether nothing speaks against chance: not too many characters are the same, neighbours do not
/// follow each other in the alphabet, and nothing comes again and again.
///
/// The share of pairs that are the same is 1 in 16 for random hexadecimal digits and less for what
/// has more characters; 1 in 6 is more than seven deviations away from the former at 32 digits.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-20
    #[test]
    fn examples_sequences_and_repetitions_are_made_up() {
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
    fn what_looks_like_chance_is_not() {
        for random in ["9f86d081884c7d659a2feaa0c55ad015", "Q7JH2MXPLZ5RD3KW", "u7Rk2Vb9Qe4Xp0Lw"] {
            assert!(!is_made_up(random.as_bytes()), "{random}");
        }
    }
}
