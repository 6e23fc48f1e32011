//! Strict parsing of the lexicon document.

use actum_agent::confirmation::{
    LANGUAGES_MAX, LEXICON_BYTES_MAX, Lexicon, LexiconError, TokenProblem, WORDS_MAX,
};
use actum_core::Digest;
use serde_json::{Value, json};

use crate::fixture::lexicon;

fn small() -> Value {
    json!({
        "format": Lexicon::FORMAT,
        "version": "cldr-48.2.0+actum.1",
        "aliases": {"iw": "he"},
        "region_scripts": {"zh-TW": "Hant"},
        "banned": ["ok"],
        "languages": {
            "de": {
                "script": "Latn",
                "affirmative": ["ja"],
                "negative": ["nein"],
                "banned": ["gut"],
            },
        },
    })
}

fn read(value: &Value) -> Result<Lexicon, LexiconError> {
    Lexicon::read(&serde_json::to_vec(value).unwrap())
}

fn token(language: &str, problem: TokenProblem) -> LexiconError {
    LexiconError::Token { language: language.to_owned(), problem }
}

/// AEC-5
#[test]
fn the_reference_is_the_digest_of_the_bytes() {
    let built_in = lexicon();
    assert_eq!(built_in.reference(), Digest::of(built_in.bytes()));
    assert_eq!(Lexicon::read(built_in.bytes()).unwrap(), *built_in);
    assert!(built_in.version().starts_with("cldr-48.2.0+actum."), "{}", built_in.version());
    let lexicon = read(&small()).unwrap();
    assert_ne!(lexicon.reference(), built_in.reference());
    let pretty = serde_json::to_vec_pretty(&small()).unwrap();
    assert_ne!(Lexicon::read(&pretty).unwrap().reference(), lexicon.reference());
}

/// AEC-5
#[test]
fn malformed_lexicon_is_rejected() {
    let bytes = serde_json::to_vec(&small()).unwrap();
    assert!(matches!(Lexicon::read(b""), Err(LexiconError::Syntax { .. })));
    assert!(matches!(Lexicon::read(b"[]"), Err(LexiconError::Form { .. })));
    assert!(matches!(Lexicon::read(b"\xff"), Err(LexiconError::Syntax { .. })));
    let mut longer = bytes.clone();
    longer.push(b'x');
    assert!(matches!(Lexicon::read(&longer), Err(LexiconError::Syntax { .. })));
    let twice = String::from_utf8(bytes).unwrap().replace("\"de\":", "\"de\":{},\"de\":");
    assert!(matches!(Lexicon::read(twice.as_bytes()), Err(LexiconError::Syntax { .. })));

    for name in ["format", "version", "aliases", "region_scripts", "banned", "languages"] {
        let mut value = small();
        value.as_object_mut().unwrap().remove(name);
        assert!(matches!(read(&value), Err(LexiconError::Form { .. })), "{name}");
    }
    for place in ["", "/languages/de"] {
        let mut value = small();
        value.pointer_mut(place).unwrap()["more"] = json!(1);
        assert!(matches!(read(&value), Err(LexiconError::Form { .. })), "{place}");
    }
    let mut value = small();
    value["format"] = json!("actum.confirmation-lexicon/2");
    let found = "actum.confirmation-lexicon/2".to_owned();
    assert_eq!(read(&value), Err(LexiconError::Format { found }));
    for version in ["", "a b", "é", &"1".repeat(65)] {
        value = small();
        value["version"] = json!(version);
        assert_eq!(read(&value), Err(LexiconError::Version), "{version}");
    }
}

/// AEC-5
#[test]
fn non_canonical_lexicon_keys_are_rejected() {
    let words = small()["languages"]["de"].clone();
    for (place, key, of_key) in [
        ("languages", "DE", words.clone()),
        ("languages", "de-AT", words.clone()),
        ("languages", "de-Cyrl", words.clone()),
        ("languages", "und", words.clone()),
        ("languages", "", words),
        ("aliases", "iw-IL", json!("he")),
        ("aliases", "IN", json!("id")),
        ("region_scripts", "zh", json!("Hant")),
        ("region_scripts", "zh-Hant-TW", json!("Hant")),
    ] {
        let mut value = small();
        value[place][key] = of_key;
        let key = key.to_owned();
        assert_eq!(read(&value), Err(LexiconError::Key { key }), "{place}");
    }
    for script in ["latn", "Latin", "", "de", "419"] {
        let mut value = small();
        value["languages"]["de"]["script"] = json!(script);
        assert!(matches!(read(&value), Err(LexiconError::Key { .. })), "{script}");
        value = small();
        value["region_scripts"]["zh-TW"] = json!(script);
        assert!(matches!(read(&value), Err(LexiconError::Key { .. })), "{script}");
    }
    let mut value = small();
    value["aliases"]["xx"] = json!("no tag");
    assert!(matches!(read(&value), Err(LexiconError::Form { .. })));
}

/// AEC-5
#[test]
fn unmatchable_or_contradictory_words_are_rejected() {
    for word in ["JA", " ja", "ja.", "j\u{430}", "ｊａ", "", "j\0a", "ja\u{200b}"] {
        let mut value = small();
        value["languages"]["de"]["affirmative"] = json!([word]);
        let problem = TokenProblem::NotNormalised { token: word.to_owned() };
        assert_eq!(read(&value), Err(token("de", problem)), "{word:?}");
    }
    for (list, words) in [
        ("affirmative", json!(["ja", "ja"])),
        ("negative", json!(["nein", "ja"])),
        ("banned", json!(["ja"])),
    ] {
        let mut value = small();
        value["languages"]["de"][list] = words;
        let problem = TokenProblem::Repeated { token: "ja".to_owned() };
        assert_eq!(read(&value), Err(token("de", problem)), "{list}");
    }
    let mut value = small();
    value["banned"] = json!(["ja"]);
    let problem = TokenProblem::Repeated { token: "ja".to_owned() };
    assert_eq!(read(&value), Err(token("de", problem)));
    value["banned"] = json!(["OK"]);
    let problem = TokenProblem::NotNormalised { token: "OK".to_owned() };
    assert_eq!(read(&value), Err(token("und", problem)));
    for list in ["affirmative", "negative"] {
        let mut value = small();
        value["languages"]["de"][list] = json!([]);
        assert_eq!(read(&value), Err(token("de", TokenProblem::Missing)), "{list}");
    }
}

/// AEC-5
#[test]
fn bytes_languages_and_words_have_limits() {
    let mut bytes = serde_json::to_vec(&small()).unwrap();
    bytes.resize(LEXICON_BYTES_MAX, b' ');
    assert!(Lexicon::read(&bytes).is_ok());
    bytes.push(b' ');
    let size = LexiconError::Size { bytes: LEXICON_BYTES_MAX + 1 };
    assert_eq!(Lexicon::read(&bytes), Err(size));

    let words = |count: usize| (0..count).map(|number| format!("w{number}")).collect::<Vec<_>>();
    let mut value = small();
    value["languages"]["de"]["banned"] = json!(words(WORDS_MAX));
    assert!(read(&value).is_ok());
    value["languages"]["de"]["banned"] = json!(words(WORDS_MAX + 1));
    assert_eq!(read(&value), Err(token("de", TokenProblem::TooMany)));

    let languages = |count: usize| {
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
        let key = |number: usize| {
            format!("{}{}{}", letter(number / 676), letter(number / 26), letter(number))
        };
        let of_key = small()["languages"]["de"].clone();
        let members = (0..count).map(|number| (key(number), of_key.clone()));
        Value::Object(members.collect())
    };
    value = small();
    value["languages"] = languages(LANGUAGES_MAX);
    assert!(read(&value).is_ok());
    for count in [0, LANGUAGES_MAX + 1] {
        value["languages"] = languages(count);
        assert_eq!(read(&value), Err(LexiconError::Languages { count }));
    }
}
