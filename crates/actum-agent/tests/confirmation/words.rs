//! Every word of the lexicon, checked under its own language tag and under all the others.

use std::collections::BTreeSet;

use actum_agent::confirmation::{AmbiguousReason, Answer, normalise, parse};

use crate::fixture::{ambiguous, answer, confirmed, lexicon, rejected, tag};

/// Expressions that a user might type instead of yes, one language per line.
const ACKNOWLEDGEMENTS: &[(&str, &[&str])] = &[
    ("af", &["miskien later"]),
    ("ar", &["حسنا", "تمام", "ربما لاحقا"]),
    ("az", &["yaxşı", "bəlkə sonra"]),
    ("bg", &["добре", "може би по-късно"]),
    ("bn", &["ঠিক আছে", "হয়তো পরে"]),
    ("ca", &["d'acord", "potser més tard"]),
    ("cs", &["dobře", "možná později"]),
    ("da", &["fint", "måske senere"]),
    ("de", &["gut", "in Ordnung", "vielleicht später"]),
    ("el", &["Εντάξει", "ίσως αργότερα"]),
    ("en", &["okay", "fine", "maybe later", "sure", "Got it!"]),
    ("es", &["vale", "de acuerdo", "tal vez más tarde"]),
    ("et", &["hästi", "võib-olla hiljem"]),
    ("fa", &["باشه", "شاید بعدا"]),
    ("fi", &["selvä", "ehkä myöhemmin"]),
    ("fil", &["sige", "baka mamaya"]),
    ("fr", &["d'accord", "peut-être plus tard"]),
    ("he", &["בסדר", "אולי אחר כך"]),
    ("hi", &["ठीक है", "शायद बाद में"]),
    ("hr", &["u redu", "možda kasnije"]),
    ("hu", &["rendben", "talán később"]),
    ("id", &["baik", "mungkin nanti"]),
    ("it", &["va bene", "forse più tardi"]),
    ("ja", &["オーケー", "了解です。", "ｵｯｹｰ"]),
    ("ko", &["좋아요", "알겠습니다", "나중에"]),
    ("lt", &["gerai", "galbūt vėliau"]),
    ("lv", &["labi", "varbūt vēlāk"]),
    ("nb", &["greit", "kanskje senere"]),
    ("nl", &["prima", "misschien later"]),
    ("pl", &["dobrze", "może później"]),
    ("pt-BR", &["tá bom", "talvez mais tarde"]),
    ("ro", &["bine", "poate mai târziu"]),
    ("ru", &["ладно", "ХОРОШО", "может быть позже"]),
    ("sk", &["dobre", "možno neskôr"]),
    ("sr", &["у реду", "можда касније"]),
    ("sv", &["okej", "kanske senare"]),
    ("sw", &["sawa", "labda baadaye"]),
    ("ta", &["சரி", "ஒருவேளை"]),
    ("th", &["โอเค", "ครับ", "ตกลง"]),
    ("tr", &["tamam", "belki sonra"]),
    ("uk", &["добре", "можливо пізніше"]),
    ("ur", &["ٹھیک ہے", "شاید بعد میں"]),
    ("vi", &["được rồi", "có lẽ"]),
    ("zh-CN", &["好的", "以后再说", "确定"]),
    ("zh-TW", &["沒問題", "以後再說", "確定"]),
];

/// AEC-5, AEC-15
#[test]
fn at_agent_10_multilingual_confirmation_lexicon_enforced() {
    let languages: BTreeSet<&str> =
        lexicon().languages().filter_map(|(key, _)| key.split('-').next()).collect();
    assert!(languages.len() >= 130, "{}", languages.len());
    for (key, words) in lexicon().languages() {
        for word in &words.affirmative {
            assert_eq!(answer(key, word), confirmed(word), "{key}");
        }
        for word in &words.negative {
            assert_eq!(answer(key, word), rejected(word), "{key}");
        }
        for word in words.banned.iter().chain(lexicon().banned()) {
            let expected = ambiguous(AmbiguousReason::BannedAcknowledgement);
            assert_eq!(answer(key, word), expected, "{key} {word}");
        }
    }
}

/// AEC-5
#[test]
fn acknowledgements_of_many_languages_do_not_confirm() {
    let languages: BTreeSet<&str> =
        ACKNOWLEDGEMENTS.iter().filter_map(|(key, _)| key.split('-').next()).collect();
    assert!(languages.len() >= 30);
    for (key, phrases) in ACKNOWLEDGEMENTS {
        for phrase in
            [*phrases, &["OK", "ok.", "Okay!", "ｏｋ", "👍", "👍\u{fe0f}", "fine"]].concat()
        {
            let expected = ambiguous(AmbiguousReason::BannedAcknowledgement);
            assert_eq!(answer(key, phrase), expected, "{key} {phrase}");
        }
    }
    let with_own = lexicon().languages().filter(|(_, words)| !words.banned.is_empty());
    assert!(with_own.count() >= 90);
}

/// AEC-5
#[test]
fn affirmative_word_confirms_only_in_its_own_languages() {
    let mut refused = 0;
    for (_, words) in lexicon().languages() {
        for word in &words.affirmative {
            for (key, others) in lexicon().languages() {
                let other = tag(key);
                let is_its_own =
                    normalise(&other, word).is_ok_and(|token| others.affirmative.contains(&token));
                let result = parse(lexicon(), &other, word);
                assert_eq!(matches!(result, Answer::Confirmed { .. }), is_its_own, "{key} {word}");
                refused += usize::from(!is_its_own);
            }
        }
    }
    assert!(refused > 20_000, "{refused}");
}

/// AEC-5
#[test]
fn word_with_opposite_meanings_is_judged_by_the_language_tag() {
    use AmbiguousReason::{AnotherLanguage, BannedAcknowledgement, UnknownLanguage};
    for language in ["bs", "hr", "ro", "sl", "sr-Latn"] {
        assert_eq!(answer(language, "da"), confirmed("da"), "{language}");
    }
    // `da` means no in Luo; `ii` means yes in Embu and Meru but no in Northern Sami. The lexicon contains none of these.
    for (language, word) in [("luo", "da"), ("ebu", "ii"), ("mer", "ii"), ("se", "ii")] {
        assert_eq!(answer(language, word), ambiguous(UnknownLanguage), "{language}");
    }
    assert_eq!(answer("sr", "da"), ambiguous(AnotherLanguage));
    for language in ["dsb", "lb"] {
        assert_eq!(answer(language, "jo"), confirmed("jo"), "{language}");
    }
    assert_eq!(answer("sq", "jo"), rejected("jo"));
    assert_eq!(answer("sv", "jo"), ambiguous(BannedAcknowledgement));
    assert_eq!(answer("de", "jo"), ambiguous(AnotherLanguage));
    assert_eq!(answer("es", "no"), rejected("no"));
    assert_eq!(answer("cs", "no"), ambiguous(BannedAcknowledgement));
    assert_eq!(answer("pl", "no"), ambiguous(BannedAcknowledgement));
}

/// AEC-5: a single letter is ambiguous: `n` abbreviates yes in Swahili, and `y` abbreviates no in Azerbaijani.
#[test]
fn a_single_latin_letter_confirms_in_no_language() {
    for (key, _) in lexicon().languages() {
        for letter in ('a'..='z').chain('A'..='Z') {
            let result = answer(key, &letter.to_string());
            assert!(matches!(result, Answer::Ambiguous { .. }), "{key} {letter}: {result:?}");
        }
    }
}

/// AEC-5
#[test]
fn the_reviewed_words_of_some_languages_are_known() {
    for (language, word) in [
        ("az", "bəli"),
        ("es", "sí"),
        ("es", "si"),
        ("fr", "oui"),
        ("ht", "wi"),
        ("km", "ចាស"),
        ("ko", "네"),
        ("mn-Mong", "ᠲᠡᠢᠢᠮᠣ"),
        ("mr", "होय"),
        ("my", "ဟုတ်ကဲ့"),
        ("th", "ใช่"),
        ("zh", "是"),
        ("zh-Hant", "是"),
    ] {
        assert_eq!(answer(language, word), confirmed(word), "{language}");
    }
    assert_eq!(answer("el-polyton", "Ναί"), confirmed("ναί"));
    assert_eq!(answer("yo", "Bẹ́ẹ̀ni"), confirmed("bẹ́ẹ̀ni"));
    assert_eq!(answer("my", "Yes"), ambiguous(AmbiguousReason::AnotherLanguage));
}
