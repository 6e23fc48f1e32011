//! Normalises answers with `toNFKC_Casefold` (Unicode 3.13), and removes surrounding spaces and closing punctuation.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use actum_core::path::{is_ignorable, is_not_shown};
use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;

use super::answer::AmbiguousReason;
use super::language::LanguageTag;
use super::script::is_mixed;

/// Maximum size of an answer, in bytes.
pub const UTTERANCE_BYTES_MAX: usize = 256;

/// Characters that end a sentence. An answer may end with one of them. Question marks are excluded, because `yes?` is a
/// question.
const STOPS: &[char] = &[
    '.', '\u{589}', '\u{6d4}', '\u{964}', '\u{f0d}', '\u{104b}', '\u{1362}', '\u{166e}',
    '\u{17d4}', '\u{1803}', '\u{1c7e}', '\u{3002}', '\u{a4ff}',
];

/// Normalises an answer so that it can be compared with the words of a language. Normalising the result again does not
/// change it.
///
/// Removes surrounding spaces, inverted exclamation marks at the start, and either exclamation marks or a single full
/// stop at the end. Reduces runs of spaces to one space. Drops invisible characters that writing systems use, such as
/// U+200B to U+200D and the soft hyphen.
///
/// # Errors
/// Returns `TooLong`, `ControlCharacter`, `Empty` or `MixedScript` if the answer cannot be normalised.
pub fn normalise(language: &LanguageTag, utterance: &str) -> Result<String, AmbiguousReason> {
    if utterance.len() > UTTERANCE_BYTES_MAX {
        return Err(AmbiguousReason::TooLong);
    }
    // Remove the line feed that a terminal adds to an answer.
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

/// Checks whether an invisible character is in legitimate use by writing systems: the soft hyphen, Mongolian variation
/// selectors, zero-width joiners and spaces, and variation selectors.
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

/// Computes `toNFKC_Casefold`, with the Turkic mappings for the letter i if the language is Turkic.
fn fold(language: &LanguageTag, text: &str) -> String {
    let (normalizer, mapper) = (ComposingNormalizer::new_nfkc(), CaseMapper::new());
    let seen: String = text.chars().filter(|character| !is_ignorable(*character)).collect();
    // Compose before folding, because `I` followed by a combining dot is a single letter, which folds to `i`.
    let composed = normalizer.normalize(&seen);
    let without_case = match language.is_turkic() {
        true => mapper.fold_turkic_string(&composed),
        false => mapper.fold_string(&composed),
    };
    normalizer.normalize(&without_case).into_owned()
}

/// Removes the punctuation at the start and end of an answer. Mixed marks and repeated full stops, as in `yes...`,
/// express hesitation, so they are kept and the answer does not match.
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
