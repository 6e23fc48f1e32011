//! Answers that resemble a yes without being one, and different byte sequences for the same yes.

use actum_agent::confirmation::{AmbiguousReason, Answer, UTTERANCE_BYTES_MAX};

use crate::fixture::{ambiguous, answer, confirmed, lexicon, rejected};

/// AEC-5
#[test]
fn only_the_whole_utterance_is_matched() {
    for utterance in [
        "yes please",
        "oh yes",
        "yes, but",
        "yes no",
        "no yes",
        "yes?",
        "yes...",
        "yes…",
        "yes, ",
        "\"yes\"",
        "yes/no",
        "yesno",
        "yes-yes",
        "y e s",
        "ye s",
        "not yes",
        "yes 👍",
        "1",
        "true",
        "confirm",
        "yes;",
        "yes.!",
        "yes!.",
        "yes..",
        "yes . .",
        "yes:",
        "(yes)",
        "yes yes",
        "y3s",
        "yés",
        "yes\u{301}",
    ] {
        let expected = ambiguous(AmbiguousReason::NotInLexicon);
        assert_eq!(answer("en", utterance), expected, "{utterance:?}");
    }
}

/// AEC-5
#[test]
fn case_whitespace_width_and_final_punctuation_are_ignored() {
    for utterance in [
        "yes",
        "YES",
        "Yes",
        "  yes\t",
        "yes\n",
        "\r\nyes\r\n",
        "yes!",
        "yes!!",
        "yes.",
        "yes !",
        "\u{a0}yes\u{3000}",
        "ＹＥＳ",
        "ｙｅｓ！",
        "𝐲𝐞𝐬",
        "ⓨⓔⓢ",
        "yeſ",
        "yes。",
        "¡yes!",
    ] {
        assert_eq!(answer("en", utterance), confirmed("yes"), "{utterance:?}");
    }
    for (language, utterance, token) in [
        ("es", "¡SÍ!", "sí"),
        ("es", "Si\u{301}", "sí"),
        ("hi", "हाँ।", "हाँ"),
        ("ja", "はい。", "はい"),
        ("am", "አዎን።", "አዎን"),
        ("ur", "ہاں۔", "ہاں"),
        ("hy", "Այո։", "այո"),
        ("el", "ΝΑΙ", "ναι"),
        ("ru", "ДА", "да"),
        ("gd", "THA", "tha"),
        ("vi", "CO\u{301}", "có"),
    ] {
        assert_eq!(answer(language, utterance), confirmed(token), "{language}");
    }
    assert_eq!(answer("gd", " Chan \u{2003} eil "), rejected("chan eil"));
    // Questions and hesitant answers in Japanese.
    for utterance in ["はい？", "はい?", "はいか", "はい…"] {
        assert!(matches!(answer("ja", utterance), Answer::Ambiguous { .. }), "{utterance}");
    }
}

/// AEC-5
#[test]
fn zero_width_format_characters_are_dropped() {
    for hidden in ['\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{fe0f}']
    {
        assert_eq!(answer("en", &format!("y{hidden}es{hidden}")), confirmed("yes"));
        let alone = answer("en", &hidden.to_string());
        assert_eq!(alone, ambiguous(AmbiguousReason::Empty));
    }
    assert_eq!(answer("km", "ទេ\u{200b}"), rejected("ទេ"));
}

/// AEC-5
#[test]
fn control_and_invisible_characters_are_rejected() {
    for hidden in [
        '\0',
        '\u{7}',
        '\u{8}',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{61c}',
        '\u{200e}',
        '\u{200f}',
        '\u{2028}',
        '\u{2029}',
        '\u{202a}',
        '\u{202e}',
        '\u{2061}',
        '\u{2066}',
        '\u{2069}',
        '\u{206a}',
        '\u{34f}',
        '\u{115f}',
        '\u{3164}',
        '\u{ffa0}',
        '\u{2800}',
        '\u{fff9}',
        '\u{ffff}',
        '\u{e0001}',
        '\u{e0079}',
        '\u{e0100}',
    ] {
        for utterance in [format!("yes{hidden}"), format!("{hidden}yes"), format!("y{hidden}es")] {
            let expected = ambiguous(AmbiguousReason::ControlCharacter);
            assert_eq!(answer("en", &utterance), expected, "{utterance:?}");
        }
    }
    for utterance in ["yes\nno", "ye\ts", "yes\n.", "yes\u{b}"] {
        let expected = ambiguous(AmbiguousReason::ControlCharacter);
        assert_eq!(answer("en", utterance), expected, "{utterance:?}");
    }
}

/// AEC-5
#[test]
fn lookalike_letters_of_another_script_are_rejected() {
    for (language, utterance) in [
        ("de", "j\u{430}"),
        ("en", "y\u{435}s"),
        ("en", "ye\u{455}"),
        ("en", "\u{443}es"),
        ("hr", "d\u{430}"),
        ("pl", "t\u{430}k"),
        ("ru", "д\u{61}"),
        ("el", "\u{3bd}a\u{3b9}"),
        ("fr", "\u{43e}ui"),
        ("tr", "\u{435}vet"),
        ("ja", "は\u{69}"),
        ("hy", "\u{561}y\u{578}"),
    ] {
        let expected = ambiguous(AmbiguousReason::MixedScript);
        assert_eq!(answer(language, utterance), expected, "{language} {utterance}");
    }
    // Every letter is from the other script, so the scripts are not mixed, but the word is unknown.
    for (language, utterance) in [("hr", "\u{501}\u{430}"), ("en", "\u{443}\u{435}\u{455}")] {
        let expected = ambiguous(AmbiguousReason::NotInLexicon);
        assert_eq!(answer(language, utterance), expected, "{language} {utterance}");
    }
}

/// AEC-5
#[test]
fn scripts_a_language_combines_are_not_reported_as_mixed() {
    let unknown = ambiguous(AmbiguousReason::NotInLexicon);
    for (language, utterance) in
        [("ja", "お願いします"), ("ja", "データ消去"), ("ko", "大한민국"), ("zh-TW", "ㄅ是")]
    {
        assert_eq!(answer(language, utterance), unknown, "{language}");
    }
    // Each of these words is valid only in its own language.
    assert_eq!(answer("ru", "да yes"), unknown);
    let mixed = ambiguous(AmbiguousReason::MixedScript);
    assert_eq!(answer("ja", "はい예"), mixed);
    assert_eq!(answer("ko", "예はい"), mixed);
}

/// AEC-5
#[test]
fn turkic_i_is_folded_only_for_turkish_and_azerbaijani() {
    for no in ["hayır", "HAYIR", "Hayır"] {
        assert_eq!(answer("tr", no), rejected("hayır"), "{no}");
    }
    // CLDR spells the word with a dotted i.
    for no in ["hayir", "HAYİR", "HAYI\u{307}R"] {
        assert_eq!(answer("tr-CY", no), rejected("hayir"), "{no}");
    }
    assert_eq!(answer("az", "BƏLİ"), confirmed("bəli"));
    assert_eq!(answer("az", "BƏLI\u{307}"), confirmed("bəli"));
    assert_eq!(answer("az", "BƏLI\u{200b}\u{307}"), confirmed("bəli"));
    let unknown = ambiguous(AmbiguousReason::NotInLexicon);
    assert_eq!(answer("az", "BƏLI"), unknown);
    assert_eq!(answer("az", "bəlı"), unknown);
    for (language, utterance) in [("pt", "s\u{131}m"), ("pt", "S\u{130}M"), ("es", "s\u{131}")] {
        assert_eq!(answer(language, utterance), unknown, "{language} {utterance}");
    }
    assert_eq!(answer("pt", "SIM"), confirmed("sim"));
}

/// AEC-5
#[test]
fn answer_has_at_most_256_bytes() {
    let padded = |bytes: usize| format!("yes{}", " ".repeat(bytes - 3));
    assert_eq!(answer("en", &padded(UTTERANCE_BYTES_MAX)), confirmed("yes"));
    let expected = ambiguous(AmbiguousReason::TooLong);
    assert_eq!(answer("en", &padded(UTTERANCE_BYTES_MAX + 1)), expected);
    // Normalisation expands each of these characters to 18 letters.
    let wide = "\u{fdfa}".repeat(UTTERANCE_BYTES_MAX / 3);
    assert_eq!(answer("ar", &wide), ambiguous(AmbiguousReason::NotInLexicon));
}

/// AEC-5
#[test]
fn an_answer_without_a_word_is_empty() {
    for utterance in ["", " ", "\n", ".", "!", "¡!", "\u{200b}\u{200b}", "\u{3000}", "。", " . "]
    {
        let expected = ambiguous(AmbiguousReason::Empty);
        assert_eq!(answer("en", utterance), expected, "{utterance:?}");
    }
    assert_eq!(answer("en", "..."), ambiguous(AmbiguousReason::NotInLexicon));
}

/// AEC-5
#[test]
fn reasons_have_permanent_names_and_the_first_one_is_reported() {
    let names: Vec<&str> = AmbiguousReason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(
        names,
        [
            "UNKNOWN_LANGUAGE",
            "TOO_LONG",
            "CONTROL_CHARACTER",
            "EMPTY",
            "MIXED_SCRIPT",
            "BANNED_ACKNOWLEDGEMENT",
            "ANOTHER_LANGUAGE",
            "NOT_IN_LEXICON"
        ]
    );
    for reason in AmbiguousReason::ALL {
        let json = serde_json::to_string(reason).unwrap();
        assert_eq!(json, format!("\"{reason}\""));
        assert!(!reason.sentence().is_empty());
    }
    let all_wrong = format!("j\u{430}\0{}", "x".repeat(300));
    assert_eq!(answer("xx", &all_wrong), ambiguous(AmbiguousReason::UnknownLanguage));
    assert_eq!(answer("de", &all_wrong), ambiguous(AmbiguousReason::TooLong));
    assert_eq!(answer("de", "j\u{430}\0"), ambiguous(AmbiguousReason::ControlCharacter));
    assert_eq!(lexicon().words(&crate::fixture::tag("de")).unwrap().affirmative, ["ja"]);
}
