//! Property tests with arbitrary answers and with slightly modified forms of a yes.

use actum_agent::confirmation::{
    Answer, LanguageTag, UTTERANCE_BYTES_MAX, Words, normalise, parse,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use unicode_normalization::UnicodeNormalization;

use crate::fixture::{lexicon, tag};

fn language(index: Index) -> (LanguageTag, &'static Words) {
    let languages: Vec<(&str, &Words)> = lexicon().languages().collect();
    let (key, words) = languages[index.index(languages.len())];
    (tag(key), words)
}

/// Normalises an answer with a different library, as an independent model. It does not handle the Turkic i.
fn plain(text: &str) -> String {
    let is_dropped = |character: &char| {
        !matches!(
            character,
            '\u{ad}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
                | '\u{fe00}'..='\u{fe0f}'
        )
    };
    let upper: String = text.nfkc().filter(is_dropped).flat_map(char::to_uppercase).collect();
    let lower: String = upper.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let is_mark =
        |character: char| character.is_whitespace() || "!.¡։۔।།။።᙮។᠃᱾。꓿".contains(character);
    lower.trim_matches(is_mark).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check(language: &LanguageTag, words: &Words, utterance: &str) -> Result<(), TestCaseError> {
    let result = parse(lexicon(), language, utterance);
    prop_assert_eq!(&result, &parse(lexicon(), language, utterance));
    match &result {
        Answer::Confirmed { token } => {
            prop_assert!(words.affirmative.contains(token), "{}: {:?}", language, utterance);
        }
        Answer::Rejected { token } => {
            prop_assert!(words.negative.contains(token), "{}: {:?}", language, utterance);
        }
        Answer::Ambiguous { .. } => return Ok(()),
    }
    let token = result.token().unwrap();
    prop_assert_eq!(normalise(language, utterance), Ok(token.to_owned()));
    if !["az", "tr"].contains(&language.language()) {
        prop_assert_eq!(plain(utterance), plain(token), "{}", language);
    }
    Ok(())
}

fn change() -> impl Strategy<Value = (u8, Index, char)> {
    let hostile = select(vec![
        '\u{430}',
        '\u{435}',
        '\u{131}',
        '\u{130}',
        '\u{307}',
        '\u{301}',
        '\u{200b}',
        '\u{200d}',
        '\u{202e}',
        '\u{ff41}',
        '\u{3000}',
        ' ',
        '.',
        '!',
        '?',
        '\0',
        '\n',
        'n',
        'o',
        '\u{e0061}',
        '\u{1f44d}',
        '\u{fe0f}',
        '\u{2019}',
        '\'',
        '\u{3002}',
        '\u{a1}',
    ]);
    (0..6_u8, any::<Index>(), prop_oneof![hostile, any::<char>()])
}

fn apply(text: &str, (kind, at, character): (u8, Index, char)) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let place = at.index(characters.len() + 1);
    match kind {
        0 | 1 => characters.insert(place, character),
        2 => return text.to_uppercase(),
        3 => return text.nfd().collect(),
        4 if place < characters.len() => characters[place] = character,
        _ if place < characters.len() => drop(characters.remove(place)),
        _ => characters.push(character),
    }
    characters.into_iter().collect()
}

/// AEC-5
#[test]
fn normalising_any_character_is_idempotent() {
    // Ideographs and Hangul syllables have no case, so they are skipped, as are the empty planes.
    let ranges = ['\0'..='\u{33ff}', '\u{a000}'..='\u{abff}', '\u{d7a4}'..='\u{1ffff}'];
    let compatible = ['\u{2f800}'..='\u{2fa1f}', '\u{e0000}'..='\u{e0fff}'];
    for language in ["en", "tr"].map(tag) {
        for character in ranges.iter().chain(&compatible).cloned().flatten() {
            for text in [
                character.to_string(),
                format!("i{character}"),
                format!("{character}\u{307}"),
                format!("{character}\u{345}\u{301}"),
            ] {
                if let Ok(token) = normalise(&language, &text) {
                    assert_eq!(normalise(&language, &token).as_ref(), Ok(&token), "{text:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// AEC-5
    #[test]
    fn any_answer_is_parsed_and_only_lexicon_words_confirm(
        index: Index,
        utterance in prop_oneof![any::<String>(), "\\PC{0,12}", "[yesnojai \u{200b}.!]{0,6}"],
    ) {
        let (language, words) = language(index);
        check(&language, words, &utterance)?;
    }

    /// AEC-5
    #[test]
    fn altered_yes_confirms_only_while_it_is_still_the_same_word(
        of_word: Index,
        of_tag: Index,
        is_own: bool,
        word: Index,
        changes in prop::collection::vec(change(), 0..4),
    ) {
        let (own, words) = language(of_word);
        let word = &words.affirmative[word.index(words.affirmative.len())];
        let utterance = changes.into_iter().fold(word.clone(), |text, change| apply(&text, change));
        let (language, words) = if is_own { (own, words) } else { language(of_tag) };
        check(&language, words, &utterance)?;
    }

    /// AEC-5
    #[test]
    fn normalising_any_utterance_is_idempotent(index: Index, utterance in "\\PC{0,20}") {
        let (language, _) = language(index);
        if let Ok(token) = normalise(&language, &utterance)
            // Compatibility decomposition can expand a word beyond the length limit.
            && token.len() <= UTTERANCE_BYTES_MAX
        {
            prop_assert_eq!(normalise(&language, &token), Ok(token));
        }
    }

    /// AEC-5
    #[test]
    fn any_text_is_a_valid_language_tag_or_rejected(text in prop_oneof![any::<String>(), "[a-zA-Z0-9-]{0,40}"]) {
        if let Ok(tag) = LanguageTag::new(&text) {
            prop_assert_eq!(&LanguageTag::new(tag.as_str()).unwrap(), &tag);
            parse(lexicon(), &tag, "yes");
        }
    }
}
