//! Patterns of rules: the subset of vale's regular expressions that describes a finite number of phrases.
//!
//! A pattern consists of words separated by blanks. `(?:a|b)` is a choice, and `?` makes the preceding letter or choice optional.
//! `\A` at the beginning matches only the first word of a text. `(?! a)` at the end excludes matches that are followed by these
//! words.

use std::fmt;

/// Maximum number of phrases in a pattern. More are treated as a mistake.
const PHRASES_MAX: usize = 64;

/// Sequence of lower-case words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) words: Vec<String>,
    /// Whether the phrase matches only at the beginning of a text.
    pub(super) opens: bool,
    /// Words that may not follow the phrase in a match.
    pub(super) not_before: Vec<Vec<String>>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatternError {
    #[error("`{sign}` is no part of a pattern here: use words, `(?:a|b)`, `?`, `\\A` and `(?! a)`")]
    Sign { sign: Sign },
    #[error("a choice is not closed: write `(?:a|b)`")]
    Open,
    #[error("it describes no phrase: write a word")]
    Empty,
    #[error("it describes more than {PHRASES_MAX} phrases: write several patterns")]
    TooMany,
}

/// Character that is not allowed at its position in a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sign(char);

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(super) fn phrases(pattern: &str) -> Result<Vec<Phrase>, PatternError> {
    let (opens, pattern) = match pattern.strip_prefix(r"\A") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (pattern, not_before) = match pattern.split_once("(?!") {
        Some((pattern, rest)) => {
            (pattern, texts(rest.strip_suffix(')').ok_or(PatternError::Open)?)?)
        }
        None => (pattern, Vec::new()),
    };
    let phrase = |words| Phrase { words, opens, not_before: not_before.clone() };
    Ok(texts(pattern)?.into_iter().map(phrase).collect())
}

/// Returns the words of each text described by a pattern without its anchors.
fn texts(pattern: &str) -> Result<Vec<Vec<String>>, PatternError> {
    let texts = sequence(&mut pattern.chars().peekable(), 0)?;
    let words = |text: &String| text.split_whitespace().map(str::to_lowercase).collect();
    let texts: Vec<Vec<String>> = texts.iter().map(words).collect();
    if texts.iter().any(Vec::is_empty) { Err(PatternError::Empty) } else { Ok(texts) }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Returns all texts of a sequence, which ends at the end of the pattern, a bar or a closing bracket at this depth.
fn sequence(chars: &mut Chars<'_>, depth: usize) -> Result<Vec<String>, PatternError> {
    let mut texts = vec![String::new()];
    while let Some(&char) = chars.peek() {
        if depth > 0 && "|)".contains(char) {
            break;
        }
        chars.next();
        let mut choices = match char {
            '(' => choice(chars, depth + 1)?,
            ' ' | '-' | '\'' => vec![char.to_string()],
            _ if char.is_alphanumeric() => vec![char.to_string()],
            _ => return Err(PatternError::Sign { sign: Sign(char) }),
        };
        if chars.next_if_eq(&'?').is_some() {
            choices.push(String::new());
        }
        texts = texts
            .iter()
            .flat_map(|text| choices.iter().map(move |choice| format!("{text}{choice}")))
            .collect();
        if texts.len() > PHRASES_MAX {
            return Err(PatternError::TooMany);
        }
    }
    Ok(texts)
}

/// Returns all texts of a choice whose opening bracket has been consumed.
fn choice(chars: &mut Chars<'_>, depth: usize) -> Result<Vec<String>, PatternError> {
    if chars.next() != Some('?') || chars.next() != Some(':') {
        return Err(PatternError::Sign { sign: Sign('(') });
    }
    let mut texts = sequence(chars, depth)?;
    loop {
        match chars.next() {
            Some('|') => texts.extend(sequence(chars, depth)?),
            Some(_) => return Ok(texts),
            None => return Err(PatternError::Open),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pattern: &str) -> Result<Vec<String>, PatternError> {
        Ok(phrases(pattern)?.into_iter().map(|phrase| phrase.words.join(" ")).collect())
    }

    #[test]
    fn pattern_expands_to_all_phrases() {
        let cases = [
            ("Told", vec!["told"]),
            ("tells?", vec!["tells", "tell"]),
            ("(?:is|are) told", vec!["is told", "are told"]),
            ("is (?:no longer )?there", vec!["is no longer there", "is there"]),
            ("a(?:b(?:c|d)|e)", vec!["abc", "abd", "ae"]),
            ("no-one's", vec!["no-one's"]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(texts(pattern), Ok(expected.into_iter().map(str::to_owned).collect()));
        }
    }

    #[test]
    fn pattern_can_be_anchored_to_the_start() {
        let phrase = Phrase { words: vec!["what".into()], opens: true, not_before: Vec::new() };
        assert_eq!(phrases(r"\AWhat"), Ok(vec![phrase]));
    }

    #[test]
    fn pattern_supports_negative_lookahead() {
        let not_before = vec![vec!["of".into(), "it".into()], vec!["but".into()]];
        let phrase = Phrase { words: vec!["none".into()], opens: false, not_before };
        assert_eq!(phrases("none(?! (?:of it|but))"), Ok(vec![phrase]));
    }

    #[test]
    fn patterns_that_only_vale_supports_are_rejected() {
        let sign = |sign| Err(PatternError::Sign { sign: Sign(sign) });
        let cases = [
            (r"\w+", sign('\\')),
            ("a.*", sign('.')),
            ("(a|b)", sign('(')),
            ("[ab]", sign('[')),
            ("a|b", sign('|')),
            ("a)", sign(')')),
            ("(?:a", Err(PatternError::Open)),
            ("a(?! b", Err(PatternError::Open)),
            ("a(?! b) c", Err(PatternError::Open)),
            ("a(?!)", Err(PatternError::Empty)),
            ("a?", Err(PatternError::Empty)),
            ("", Err(PatternError::Empty)),
        ];
        for (pattern, expected) in cases {
            assert_eq!(texts(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_has_at_most_64_phrases() {
        assert_eq!(texts("xa?b?c?d?e?f?").map(|it| it.len()), Ok(64));
        assert_eq!(texts("xa?b?c?d?e?f?g?"), Err(PatternError::TooMany));
    }
}
