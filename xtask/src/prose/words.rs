//! Splits a paragraph into words and sentences.

use std::ops::Range;

/// Lower-case abbreviations whose period does not end a sentence.
const ABBREVIATIONS: &[&str] = &["cf", "e.g", "etc", "i.e", "vs"];

/// Word, with the text between the previous word and it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
    /// Whether only blanks and emphasis markers separate the word from the previous word or the beginning.
    pub(super) follows: bool,
    /// Whether the word is the first of a sentence.
    pub(super) begins: bool,
}

impl Word<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the words: letters and digits with the characters that join them. Code is not a word.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut at = 0;
    while let Some(Range { start, end }) = next_word(text, at) {
        let gap = text.get(at..start).unwrap_or_default();
        let last = words.last().map(|word| word.text);
        words.push(Word {
            text: text.get(start..end).unwrap_or_default(),
            start,
            follows: gap.chars().all(|char| " *_".contains(char)),
            begins: last.is_none_or(|last| ends_sentence(last, gap)),
        });
        at = end;
    }
    words
}

fn next_word(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let start = from + rest.find(char::is_alphanumeric)?;
    let mut end = start;
    let mut chars = text.get(start..)?.chars().peekable();
    while let Some(char) = chars.next() {
        let joins =
            "-'’_.".contains(char) && chars.peek().is_some_and(|next| next.is_alphanumeric());
        if !char.is_alphanumeric() && !joins {
            break;
        }
        end += char.len_utf8();
    }
    Some(start..end)
}

/// Whether a sentence ends in the gap after a word.
fn ends_sentence(last: &str, gap: &str) -> bool {
    let Some((_, after_stop)) = gap.split_once(['.', '!', '?']) else { return false };
    let after_stop = after_stop.trim_start_matches([')', ']', '"', '\'', '*', '_', '”']);
    after_stop.starts_with(' ') && !ABBREVIATIONS.contains(&last.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    /// Returns the words that begin a sentence.
    fn beginnings(text: &str) -> Vec<&str> {
        words(text).into_iter().filter(|word| word.begins).map(|word| word.text).collect()
    }

    #[test]
    fn words_keep_their_joining_characters() {
        let text = "It's a well-known v1.2, snake_case; (über) `````` 3 -- e.g. it.";
        let expected = ["It's", "a", "well-known", "v1.2", "snake_case", "über", "3", "e.g", "it"];
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn word_follows_another_only_across_whitespace_and_emphasis() {
        let follows: Vec<bool> = words("a  b *c* d, e ` f").iter().map(|it| it.follows).collect();
        assert_eq!(follows, [true, true, true, true, false, false]);
        assert!(words(" *a").iter().all(|it| it.follows));
        assert!(!words("` a").iter().any(|it| it.follows));
    }

    #[test]
    fn sentence_ends_at_a_period_before_whitespace() {
        let cases = [
            ("a b. C d! E? 3 f.", vec!["a", "C", "E", "3"]),
            ("a (b.) C", vec!["a", "C"]),
            ("a. ``` b", vec!["a", "b"]),
            ("a, e.g. B, i.e. C vs. D", vec!["a"]),
            ("a. scrypt b", vec!["a", "scrypt"]),
            ("a.b", vec!["a.b"]),
            ("a: B; C", vec!["a"]),
        ];
        for (text, expected) in cases {
            assert_eq!(beginnings(text), expected, "{text}");
        }
    }
}
