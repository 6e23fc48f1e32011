//! Folds words with `toNFKC_Casefold` (Unicode 3.13), and derives their spellings without accents.

use std::collections::BTreeSet;

use actum_core::path::is_ignorable;
use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Maximum number of folding rounds. Two rounds reach the fixed point, because Unicode defines the mapping as closed.
const ROUNDS_MAX: usize = 4;

/// Set of folded words, which can also be looked up by their ASCII spellings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    exact: BTreeSet<String>,
    ascii: BTreeSet<String>,
}

/// Folds compatibility forms and case, and removes ignorable characters.
pub(crate) fn fold(text: &str) -> String {
    let (normalizer, mapper) = (ComposingNormalizer::new_nfkc(), CaseMapper::new());
    let mut folded = normalizer.normalize(text).into_owned();
    for _ in 0..ROUNDS_MAX {
        let seen: String = folded.chars().filter(|character| !is_ignorable(*character)).collect();
        let next = normalizer.normalize(&mapper.fold_string(&seen)).into_owned();
        if next == folded {
            break;
        }
        folded = next;
    }
    folded
}

/// Returns the ASCII spellings of a folded word: one without accents, and one with `ae`, `oe` and `ue` for umlauts.
fn ascii_spellings(word: &str) -> impl Iterator<Item = String> {
    let long = word.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue");
    [without_accents(word), without_accents(&long)].into_iter().filter(|word| word.is_ascii())
}

fn without_accents(word: &str) -> String {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let is_accent = |c: char| categories.get(c) == GeneralCategory::NonspacingMark;
    let decomposed = DecomposingNormalizer::new_nfd().normalize(word).into_owned();
    decomposed.chars().filter(|c| !is_accent(*c)).collect()
}

impl Terms {
    /// Folds words and adds them to the set.
    pub(crate) fn extend<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        for word in words {
            let word = fold(word);
            self.ascii.extend(ascii_spellings(&word));
            self.exact.insert(word);
        }
    }

    /// Creates a set from words, which are folded.
    pub(crate) fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut terms = Self::default();
        terms.extend(words);
        terms
    }

    /// Returns true if the set contains a folded word. A word without accents also matches terms with accents, but not
    /// the reverse: the term `supprime` does not match `supprimé`.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.exact.contains(word) || (word.is_ascii() && self.ascii.contains(word))
    }

    /// Returns true if a term differs from the word by exactly one typing mistake. Words and terms shorter than
    /// `chars_min` never match.
    pub(crate) fn has_near(&self, word: &str, chars_min: usize) -> bool {
        let chars = word.chars().count();
        chars >= chars_min
            && self.exact.iter().chain(&self.ascii).any(|term| {
                let term_chars = term.chars().count();
                term_chars >= chars_min
                    && chars.abs_diff(term_chars) <= 1
                    && strsim::osa_distance(term, word) == 1
            })
    }

    /// Returns the folded words in sorted order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.exact.iter().map(String::as_str)
    }

    /// Returns the number of folded words in the set.
    pub(crate) fn len(&self) -> usize {
        self.exact.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-1
    #[test]
    fn words_match_in_any_case_and_without_accents() {
        let terms = Terms::new(["lösche", "Supprime", "Straße"]);
        for word in ["lösche", "LÖSCHE", "losche", "loesche", "supprime", "STRASSE", "ｌösche"]
        {
            assert!(terms.has(&fold(word)), "{word}");
        }
        assert!(!terms.has("supprimé"));
        assert!(terms.has_near("supprme", 5));
        assert!(!terms.has_near("suprme", 5));
    }
}
