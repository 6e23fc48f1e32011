//! Normalisation of answers: `toNFKC_Casefold` (Unicode 3.13), without outer spaces and closing punctuation.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use actum_core::path::{is_ignorable, is_not_shown};
use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;

use super::answer::AmbiguousReason;
use super::language::LanguageTag;
use super::script::is_mixed;

/// Longest answer, in bytes.
pub const UTTERANCE_BYTES_MAX: usize = 256;

/// Marks that end a sentence. One may close an answer. Question marks are excluded: `yes?` asks.
const STOPS: &[char] = &[
    '.', '\u{589}', '\u{6d4}', '\u{964}', '\u{f0d}', '\u{104b}', '\u{1362}', '\u{166e}',
    '\u{17d4}', '\u{1803}', '\u{1c7e}', '\u{3002}', '\u{a4ff}',
];

/// Normalises an answer for the comparison with the words of a language. The result is a fixed point.
///
/// Removes the spaces around the answer, exclamation marks at its end or one full stop, and inverted exclamation marks
/// at its start. Runs of spaces become one space. Characters without width that writing systems use, such as U+200B to
/// U+200D and the soft hyphen, are dropped.
///
/// # Errors
/// `TooLong`, `ControlCharacter`, `Empty`, `MixedScript`.
pub fn normalise(language: &LanguageTag, utterance: &str) -> Result<String, AmbiguousReason> {
    if utterance.len() > UTTERANCE_BYTES_MAX {
        return Err(AmbiguousReason::TooLong);
    }
    // A terminal ends an answer with a line feed.
    let shown = utterance.trim_matches(['\t', '\n', '\r', ' ']);
    if shown.chars().any(|character| is_not_shown(character) && !is_dropped(character)) {
        return Err(AmbiguousReason::ControlCharacter);
    }
    let token = without_punctuation(&fold(language, shown));
    if token.is_empty() {
        return Err(AmbiguousReason::Empty);
    }
    if token.split(' ').any(is_mixed) {
        return Err(AmbiguousReason::MixedScript);
    }
    Ok(token)
}

/// Returns true for a character that is not shown and that writing systems use: soft hyphen, Mongolian variation
/// selectors, joiners and spaces without width, and variation selectors.
fn is_dropped(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
    )
}

/// Computes `toNFKC_Casefold`, with the Turkic mappings of i for a Turkic language.
fn fold(language: &LanguageTag, text: &str) -> String {
    let (normalizer, mapper) = (ComposingNormalizer::new_nfkc(), CaseMapper::new());
    let seen: String = text.chars().filter(|character| !is_ignorable(*character)).collect();
    // Composed before folding: `I` and a combining dot are one letter, which folds to `i`.
    let composed = normalizer.normalize(&seen);
    let without_case = match language.is_turkic() {
        true => mapper.fold_turkic_string(&composed),
        false => mapper.fold_string(&composed),
    };
    normalizer.normalize(&without_case).into_owned()
}

/// Removes opening and closing marks of an answer. Several different marks, or several stops as in `yes...`, hesitate
/// and stay.
fn without_punctuation(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let joined = words.join(" ");
    let opened = joined.trim_start_matches(['\u{a1}', ' ']);
    let loud = opened.trim_end_matches('!');
    let is_loud = loud.len() < opened.len();
    let closed = if is_loud { loud } else { opened.strip_suffix(STOPS).unwrap_or(opened) };
    let closed = closed.trim_end_matches(' ');
    let hesitates = closed.ends_with('!') || closed.ends_with(STOPS);
    if hesitates { opened.to_owned() } else { closed.to_owned() }
}
