//! Parsing of language tags, and the words that apply to a tag.

use actum_agent::confirmation::{AmbiguousReason, LanguageTag};
use actum_agent::limits::LANGUAGE_CHARS_MAX;

use crate::fixture::{ambiguous, answer, confirmed, lexicon, tag};

/// AEC-5
#[test]
fn language_tag_is_read_in_any_case_and_written_canonically() {
    for (given, canonical) in [
        ("DE", "de"),
        ("de-at", "de-AT"),
        ("SR-latn-rs", "sr-Latn-RS"),
        ("zh-hant-HK", "zh-Hant-HK"),
        ("es-419", "es-419"),
        ("sl-Rozaj", "sl-rozaj"),
        ("en-us-u-hc-h12", "en-US-u-hc-h12"),
        ("fil", "fil"),
    ] {
        assert_eq!(tag(given).as_str(), canonical);
        assert_eq!(tag(canonical), tag(given));
        let json = serde_json::to_string(&tag(given)).unwrap();
        assert_eq!(json, format!("\"{canonical}\""));
        assert_eq!(serde_json::from_str::<LanguageTag>(&json).unwrap(), tag(given));
    }
}

/// AEC-5
#[test]
fn malformed_language_tags_are_rejected() {
    for text in [
        "",
        "d",
        "-",
        "de-",
        "-de",
        "de--AT",
        "de_AT",
        "deutsch",
        "i-klingon",
        "x-private",
        "zh-min-nan",
        "de AT",
        "de\0",
        "de-АТ",
        "ｄｅ",
        "*",
        "en-u",
        "en-x",
    ] {
        let error = LanguageTag::new(text).unwrap_err();
        assert_eq!(error.given, text);
    }
    let variants = "de-abcdefgh-bcdefghi-cdefghij-defgh";
    assert_eq!(variants.len(), LANGUAGE_CHARS_MAX);
    assert!(LanguageTag::new(variants).is_ok());
    assert!(LanguageTag::new(&format!("{variants}i")).is_err());
    assert!(serde_json::from_str::<LanguageTag>("\"de_AT\"").is_err());
}

/// AEC-5
#[test]
fn language_tag_resolves_to_the_words_of_its_language_and_script() {
    for (given, entry) in [
        ("de-AT", "de"),
        ("de-1996", "de"),
        ("en-US-u-hc-h12", "en"),
        ("pt-BR", "pt"),
        ("es-419", "es"),
        ("nb-NO", "nb"),
        ("no", "no"),
        ("sr", "sr"),
        ("sr-RS", "sr"),
        ("sr-Cyrl", "sr"),
        ("sr-Cyrl-ME", "sr"),
        ("sr-Latn", "sr-Latn"),
        ("sr-Latn-RS", "sr-Latn"),
        ("sr-ME", "sr-Latn"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zh-SG", "zh"),
        ("zh-Hans-HK", "zh"),
        ("zh-TW", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("zh-Hant-MO", "zh-Hant"),
        ("yue", "yue"),
        ("yue-CN", "yue-Hans"),
        ("yue-Hant-HK", "yue"),
        ("uz", "uz"),
        ("uz-Cyrl-UZ", "uz-Cyrl"),
        ("mn-CN", "mn-Mong"),
        ("kk-CN", "kk-Arab"),
        ("bs-Cyrl", "bs-Cyrl"),
        ("ff-Adlm-GN", "ff-Adlm"),
        // Deprecated subtags.
        ("iw", "he"),
        ("in-ID", "id"),
        ("mo", "ro"),
        ("sh", "sr-Latn"),
        ("sh-Cyrl", "sr"),
        ("cnr", "sr-Latn"),
        ("tl-PH", "fil"),
        ("cmn-TW", "zh-Hant"),
    ] {
        assert_eq!(lexicon().entry_tag(&tag(given)), Some(entry), "{given}");
    }
}

/// AEC-5
#[test]
fn a_language_or_script_without_words_is_unknown() {
    for unknown in [
        "und",
        "und-Latn",
        "xx",
        "tlh",
        "ff",
        "ff-Latn",
        "bal",
        "pa-PK",
        "uz-AF",
        "az-IR",
        "zh-Latn-pinyin",
        "hi-Latn",
        "ru-Latn",
        "de-Cyrl",
        "en-Shaw",
        "ja-Latn",
        "mul",
        "zxx",
    ] {
        assert_eq!(lexicon().entry_tag(&tag(unknown)), None, "{unknown}");
        let reason = ambiguous(AmbiguousReason::UnknownLanguage);
        for (_, words) in lexicon().languages() {
            assert_eq!(answer(unknown, &words.affirmative[0]), reason, "{unknown}");
        }
        assert_eq!(answer(unknown, "ok"), reason);
    }
    assert_eq!(answer("zh-TW", "是"), confirmed("是"));
    assert_eq!(answer("sr-ME", "da"), confirmed("da"));
}
