//! Phrases that name an intent.

use crate::fold::{Terms, fold};
use crate::limits::{ALTERNATIVES_MAX, PHRASE_CHARS_MAX, PHRASE_WORDS_MAX};
use crate::utterance::Utterance;

/// Words that name an intent in their order. Other words may stand between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    text: String,
    words: Vec<Terms>,
}

/// Text that is not a phrase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a phrase has 1 to {PHRASE_WORDS_MAX} words, at most {ALTERNATIVES_MAX} alternatives for each, and at most \
     {PHRASE_CHARS_MAX} characters"
)]
pub struct PhraseError;

impl Phrase {
    /// Reads a phrase. `|` separates alternatives of one word: `make|create copy`.
    ///
    /// # Errors
    /// [`PhraseError`]
    pub fn new(text: &str) -> Result<Self, PhraseError> {
        let words: Vec<Terms> =
            text.split_whitespace().map(|word| Terms::new(word.split('|'))).collect();
        let fits = text.chars().count() <= PHRASE_CHARS_MAX
            && (1..=PHRASE_WORDS_MAX).contains(&words.len())
            && words.iter().all(|word| (1..=ALTERNATIVES_MAX).contains(&word.len()))
            && words.iter().all(|word| word.iter().all(is_word));
        if fits { Ok(Self { text: fold(text), words }) } else { Err(PhraseError) }
    }

    /// The text, folded.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Words, each with its alternatives.
    pub(crate) fn words(&self) -> &[Terms] {
        &self.words
    }

    /// Finds the words in their order. Function words of the language can be missing; at least one other word is found.
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

    /// Tests for the words side by side.
    pub(crate) fn stands_in(&self, utterance: &Utterance) -> bool {
        (0..utterance.tokens.len()).any(|start| {
            self.words.iter().enumerate().all(|(index, alternatives)| {
                utterance.word(start + index).is_some_and(|word| alternatives.has(word))
            })
        })
    }

    /// Finds the words in any order.
    pub(crate) fn find_anywhere(&self, utterance: &Utterance) -> Option<Vec<usize>> {
        self.words.iter().try_fold(Vec::new(), |mut found, alternatives| {
            let is_new = |(at, word): &(usize, &str)| !found.contains(at) && alternatives.has(word);
            let (at, _) = utterance.words().find(is_new)?;
            found.push(at);
            Some(found)
        })
    }
}

/// Tests for a word that an utterance can have: one token.
fn is_word(text: &str) -> bool {
    use crate::utterance::Token;
    matches!(&*Utterance::new(text).tokens, [Token::Word(word)] if word == text)
}
