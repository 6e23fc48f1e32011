//! Phrases that express an intent, such as `delete file`.

use crate::fold::{Terms, fold};
use crate::limits::{ALTERNATIVES_MAX, PHRASE_CHARS_MAX, PHRASE_WORDS_MAX};
use crate::utterance::{Token, Utterance};

/// Sequence of words that expresses an intent. An utterance matches even if it has other words in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    text: String,
    words: Vec<Terms>,
}

/// Error for text that is not a valid phrase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a phrase must have 1 to {PHRASE_WORDS_MAX} words, with at most {ALTERNATIVES_MAX} alternatives for each, and at \
     most {PHRASE_CHARS_MAX} characters"
)]
pub struct PhraseError;

impl Phrase {
    /// Parses a phrase. A `|` separates alternatives for one word, as in `make|create copy`.
    ///
    /// # Errors
    /// Returns [`PhraseError`] if the text exceeds a limit or contains something other than words.
    pub fn new(text: &str) -> Result<Self, PhraseError> {
        let words: Vec<Terms> =
            text.split_whitespace().map(|word| Terms::new(word.split('|'))).collect();
        let fits = text.chars().count() <= PHRASE_CHARS_MAX
            && (1..=PHRASE_WORDS_MAX).contains(&words.len())
            && words.iter().all(|word| (1..=ALTERNATIVES_MAX).contains(&word.len()))
            && words.iter().all(|word| word.iter().all(is_word));
        if fits { Ok(Self { text: fold(text), words }) } else { Err(PhraseError) }
    }

    /// Parses a phrase that a package declares. It is split into words like an utterance, and may not have alternatives.
    ///
    /// # Errors
    /// Returns [`PhraseError`] if the text exceeds a limit or contains a quote, a path, a number or an invisible character.
    pub fn from_declared(text: &str) -> Result<Self, PhraseError> {
        let Utterance { tokens, flaw } = Utterance::new(text);
        let word = |token: &Token| match token {
            Token::Word(word) if !word.contains('|') => Some(word.clone()),
            Token::Word(_) | Token::Given(_) => None,
        };
        let words: Option<Vec<String>> = tokens.iter().map(word).collect();
        match (words, flaw) {
            (Some(words), None) => Self::new(&words.join(" ")),
            (Some(_) | None, _) => Err(PhraseError),
        }
    }

    /// Returns the folded text of the phrase.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the words of the phrase, each as a set of alternatives.
    pub(crate) fn words(&self) -> &[Terms] {
        &self.words
    }

    /// Finds the words of the phrase in order, and returns their positions. Function words may be missing from the
    /// utterance, but at least one other word must be found.
    pub(crate) fn find(&self, utterance: &Utterance, function_words: &Terms) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        let (mut next, mut has_content) = (0, false);
        for alternatives in &self.words {
            let is_optional = alternatives.iter().all(|word| function_words.has(word));
            let at = utterance
                .words()
                .find(|(at, word)| *at >= next && alternatives.has(word))
                .map(|(at, _)| at);
            match at {
                Some(at) => {
                    found.push(at);
                    next = at + 1;
                    has_content |= !is_optional;
                }
                None if is_optional => {}
                None => return None,
            }
        }
        has_content.then_some(found)
    }

    /// Returns true if the utterance contains the words of the phrase in order, without other words in between.
    pub(crate) fn stands_in(&self, utterance: &Utterance) -> bool {
        (0..utterance.tokens.len()).any(|start| {
            self.words.iter().enumerate().all(|(index, alternatives)| {
                utterance.word(start + index).is_some_and(|word| alternatives.has(word))
            })
        })
    }

    /// Finds the words of the phrase in any order, and returns their positions.
    pub(crate) fn find_anywhere(&self, utterance: &Utterance) -> Option<Vec<usize>> {
        self.words.iter().try_fold(Vec::new(), |mut found, alternatives| {
            let is_new = |(at, word): &(usize, &str)| !found.contains(at) && alternatives.has(word);
            let (at, _) = utterance.words().find(is_new)?;
            found.push(at);
            Some(found)
        })
    }
}

/// Returns true if an utterance would contain the text as a single word.
fn is_word(text: &str) -> bool {
    matches!(&*Utterance::new(text).tokens, [Token::Word(word)] if word == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-2
    #[test]
    fn declared_phrase_may_contain_only_utterance_words() {
        let read = |text: &str| Phrase::from_declared(text).map(|it| it.as_str().to_owned());
        for (text, words) in [
            ("Tidy up!", "tidy up"),
            ("range l'entrée", "range l entrée"),
            ("aufräumen", "aufräumen"),
            ("コードを整形", "コードを整形"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(words), "{text}");
        }
        for text in [
            "",
            " ",
            "…",
            "tidy|clean up",
            "tidy a.txt",
            "tidy \"x\"",
            "tidy \"x",
            "tidy 3 times",
            "tidy\u{200b} up",
            "tidy\u{202e} up",
            "a b c d e f g h i j k l m",
        ] {
            assert_eq!(read(text), Err(PhraseError), "{text}");
        }
    }
}
