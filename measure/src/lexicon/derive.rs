//! Derives the lexicon from the extract and the overlay.

use std::collections::{BTreeMap, BTreeSet};

use actum_agent::confirmation::{AmbiguousReason, LanguageTag, LanguageTagError, Words, normalise};

use super::Derived;
use super::extract::Extract;
use super::overlay::{Change, List, OfLanguage, Overlay};

/// Row of locales that have no words of their own.
const ROOT: (&str, &str) = ("yes:y", "no:n");

/// Reason why the overlay does not fit the extract.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DeriveError {
    #[error(transparent)]
    Tag(#[from] LanguageTagError),
    #[error("`{language}`: `{text}` cannot be normalised: {why}")]
    Form { language: String, text: String, why: AmbiguousReason },
    #[error("`{language}`: no usual script is known")]
    Script { language: String },
    #[error("`{language}`: there is no row of `{locale}`")]
    Source { language: String, locale: String },
    #[error("`{language}`: the overlay adds `{token}`, which is there already")]
    Added { language: String, token: String },
    #[error("`{language}`: the overlay removes `{token}`, which is missing")]
    Removed { language: String, token: String },
    #[error("`{language}`: the overlay leaves it out, and it is not there")]
    Omitted { language: String },
    #[error("`{language}`: `{token}` is in two lists")]
    Contradiction { language: String, token: String },
    #[error("`{language}`: no affirmative or no negative is left; add one, or leave it out")]
    Incomplete { language: String },
}

pub(super) fn derive(extract: &Extract, overlay: &Overlay) -> Result<Derived, DeriveError> {
    let undetermined = LanguageTag::new("und")?;
    let mut banned = Vec::new();
    for token in overlay.banned.iter().flat_map(|group| &group.tokens) {
        add(&mut banned, &undetermined, token)?;
    }
    let mut languages = BTreeMap::new();
    let tags: BTreeSet<&String> = extract.posix.keys().chain(overlay.languages.keys()).collect();
    for tag in tags {
        let of_language = overlay.languages.get(tag);
        if let Some(words) = words(extract, tag, of_language)? {
            check(tag, &words, &banned)?;
            languages.insert(tag.clone(), words);
        }
    }
    let is_used =
        |language: &str| languages.keys().any(|tag| tag.split('-').next() == Some(language));
    let language_of = |tag: &str| tag.split('-').next().unwrap_or(tag).to_owned();
    let (mut aliases, mut region_scripts) =
        (extract.aliases.clone(), extract.region_scripts.clone());
    aliases.retain(|language, tag| !is_used(language) && is_used(&language_of(tag)));
    region_scripts.retain(|tag, _| is_used(&language_of(tag)));
    let version = format!("cldr-{}+actum.{}", extract.cldr, overlay.version);
    Ok(Derived { version, aliases, region_scripts, banned, languages })
}

/// Returns the words of a language, or `None` if neither CLDR nor the overlay has usable ones.
fn words(
    extract: &Extract,
    text: &str,
    of_language: Option<&OfLanguage>,
) -> Result<Option<Words>, DeriveError> {
    let tag = LanguageTag::new(text)?;
    let language = text.to_owned();
    let row = row(extract, &tag, of_language)?;
    let nothing = OfLanguage::default();
    let of_language = of_language.unwrap_or(&nothing);
    if of_language.omit.is_some() {
        return if row.is_some() { Ok(None) } else { Err(DeriveError::Omitted { language }) };
    }
    if row.is_none() && of_language.changes.is_empty() {
        return Ok(None);
    }
    let usual = extract.scripts.get(tag.language()).map(String::as_str);
    let script = tag.script().or(usual).ok_or(DeriveError::Script { language })?.to_owned();
    let separator = of_language.separator.as_ref().map_or(":", |separator| &separator.text);
    let (yes, no) = row.unwrap_or_default();
    let mut words = Words {
        script,
        affirmative: forms(&tag, yes, separator)?,
        negative: forms(&tag, no, separator)?,
        banned: Vec::new(),
    };
    for change in &of_language.changes {
        apply(&mut words, &tag, change)?;
    }
    Ok(Some(words))
}

/// Returns the row of a language: the one selected by the overlay, or one with own words and at least basic coverage.
fn row<'a>(
    extract: &'a Extract,
    tag: &LanguageTag,
    of_language: Option<&OfLanguage>,
) -> Result<Option<(&'a str, &'a str)>, DeriveError> {
    let of = |locale: &str| extract.posix.get(locale).map(|(yes, no)| (yes.as_str(), no.as_str()));
    if let Some(source) = of_language.and_then(|of_language| of_language.source.as_ref()) {
        let (language, locale) = (tag.to_string(), source.locale.clone());
        return of(&locale).map(Some).ok_or(DeriveError::Source { language, locale });
    }
    let is_base = match tag.script() {
        None => tag.as_str() == tag.language(),
        // For example, `sr-Cyrl` is the same as `sr`.
        Some(script) => {
            tag.as_str() == format!("{}-{script}", tag.language())
                && extract.scripts.get(tag.language()).is_none_or(|usual| usual != script)
        }
    };
    let is_covered = extract.levels.contains_key(tag.as_str());
    Ok(of(tag.as_str()).filter(|row| is_base && is_covered && *row != ROOT))
}

/// Returns the normalised forms of a row, which is written as `long:short` or as alternatives. Single letters are dropped because
/// one can mean yes in one language and no in another; abbreviations are dropped because they are not words.
fn forms(tag: &LanguageTag, row: &str, separator: &str) -> Result<Vec<String>, DeriveError> {
    let mut forms: Vec<String> = Vec::new();
    for part in row.split(separator).flat_map(|part| part.split(['/', ':'])) {
        match normalised(tag, part) {
            Ok(form) if !forms.contains(&form) => forms.push(form),
            Ok(_) | Err(DeriveError::Form { why: AmbiguousReason::Empty, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let all = forms.clone();
    forms.retain(|form| is_word_sign(form) || !is_abbreviation(form, &all));
    Ok(forms)
}

/// Whether a form is a single letter or the beginning of another form of the row.
fn is_abbreviation(form: &str, all: &[String]) -> bool {
    let is_start = |other: &String| other != form && other.starts_with(form);
    form.chars().count() == 1 || all.iter().any(is_start)
}

/// Whether the form begins with a character that represents a word or a syllable: Han, Yi or Hangul.
fn is_word_sign(form: &str) -> bool {
    form.starts_with(|character| {
        matches!(
            character,
            '\u{3400}'..='\u{4dbf}'
                | '\u{4e00}'..='\u{9fff}'
                | '\u{a000}'..='\u{a48c}'
                | '\u{ac00}'..='\u{d7a3}'
        )
    })
}

fn normalised(tag: &LanguageTag, text: &str) -> Result<String, DeriveError> {
    normalise(tag, text).map_err(|why| DeriveError::Form {
        language: tag.to_string(),
        text: text.to_owned(),
        why,
    })
}

fn apply(words: &mut Words, tag: &LanguageTag, change: &Change) -> Result<(), DeriveError> {
    let list = match change.list {
        List::Affirmative => &mut words.affirmative,
        List::Negative => &mut words.negative,
        List::Banned => &mut words.banned,
    };
    for token in &change.remove {
        let (language, token) = (tag.to_string(), normalised(tag, token)?);
        let at = list.iter().position(|word| *word == token);
        list.remove(at.ok_or(DeriveError::Removed { language, token })?);
    }
    change.add.iter().try_for_each(|token| add(list, tag, token))
}

fn add(list: &mut Vec<String>, tag: &LanguageTag, token: &str) -> Result<(), DeriveError> {
    let token = normalised(tag, token)?;
    if list.contains(&token) {
        return Err(DeriveError::Added { language: tag.to_string(), token });
    }
    list.push(token);
    Ok(())
}

fn check(tag: &str, words: &Words, banned: &[String]) -> Result<(), DeriveError> {
    let Words { affirmative, negative, banned: of_language, .. } = words;
    let language = tag.to_owned();
    if affirmative.is_empty() || negative.is_empty() {
        return Err(DeriveError::Incomplete { language });
    }
    let mut seen = BTreeSet::new();
    let mut all = [affirmative, negative, of_language].into_iter().flatten().chain(banned);
    match all.find(|token| !seen.insert(*token)) {
        Some(token) => Err(DeriveError::Contradiction { language, token: token.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use actum_agent::confirmation::Lexicon;

    use super::*;

    fn extract(rows: &[(&str, &str, &str)]) -> Extract {
        let posix = rows
            .iter()
            .map(|(tag, yes, no)| ((*tag).to_owned(), ((*yes).to_owned(), (*no).to_owned())));
        let language = |tag: &str| tag.split('-').next().unwrap().to_owned();
        let mut scripts: BTreeMap<String, String> =
            rows.iter().map(|(tag, ..)| (language(tag), "Latn".to_owned())).collect();
        scripts.insert("sr".to_owned(), "Cyrl".to_owned());
        let level = serde_json::from_str("\"basic\"").unwrap();
        Extract {
            format: Extract::FORMAT.to_owned(),
            cldr: super::super::CLDR.to_owned(),
            aliases: BTreeMap::new(),
            scripts,
            region_scripts: BTreeMap::new(),
            levels: rows.iter().map(|(tag, ..)| ((*tag).to_owned(), level)).collect(),
            posix: posix.collect(),
        }
    }

    fn overlay(languages: &str) -> Overlay {
        let text = format!(
            r#"{{"format":"{}","version":3,"banned":[],"languages":{languages}}}"#,
            Overlay::FORMAT
        );
        Overlay::read(text.as_bytes()).unwrap()
    }

    fn derived(rows: &[(&str, &str, &str)], languages: &str) -> Result<Vec<String>, DeriveError> {
        let derived = derive(&extract(rows), &overlay(languages))?;
        assert_eq!(derived.version, "cldr-48.2.0+actum.3");
        let words = |(tag, Words { affirmative, negative, .. }): (&String, &Words)| {
            format!("{tag} {} {}", affirmative.join(","), negative.join(","))
        };
        Ok(derived.languages.iter().map(words).collect())
    }

    /// AEC-5
    #[test]
    fn single_letters_and_abbreviations_are_dropped_but_word_signs_kept() {
        let rows = [
            ("gd", "tha:th:t:y", "chan eil:ch:c:n"),
            ("sw", "Ndiyo:N", "Hapana:H"),
            ("zh", "确定:是", "否定:否"),
        ];
        let expected = ["gd tha chan eil", "sw ndiyo hapana", "zh 确定,是 否定,否"];
        assert_eq!(derived(&rows, "{}").unwrap(), expected);
    }

    /// AEC-5
    #[test]
    fn malformed_rows_are_repaired() {
        let rows = [
            ("km", "បាទ/ចាស\u{200b}៖ y", "ទេ\u{200b}៖ n"),
            ("mr", "होयःहो", "नाहीःना"),
            ("yo", "Bẹ́ẹ̀ni :N", "Bẹ́ẹ̀kọ́:K"),
        ];
        let languages = r#"{
            "km": {"separator": {"text": "៖", "reason": "r"}},
            "mr": {"separator": {"text": "ः", "reason": "r"}}
        }"#;
        let expected = ["km បាទ,ចាស ទេ", "mr होय नाही", "yo bẹ́ẹ̀ni bẹ́ẹ̀kọ́"];
        assert_eq!(derived(&rows, languages).unwrap(), expected);
    }

    /// AEC-5
    #[test]
    fn regions_and_languages_without_distinct_words_are_omitted() {
        let rows = [
            ("de", "ja:j", "nein:n"),
            ("de-AT", "ja:j", "nein:n"),
            ("en", "yes:y", "no:n"),
            ("sr", "да:д", "не:н"),
            ("sr-Cyrl", "да:д", "не:н"),
            ("sr-Latn", "da:d", "ne:n"),
        ];
        let expected = ["de ja nein", "sr да не", "sr-Latn da ne"];
        assert_eq!(derived(&rows, "{}").unwrap(), expected);
        let mut extract = extract(&rows);
        extract.levels.remove("de");
        let derived = derive(&extract, &overlay("{}")).unwrap();
        assert!(!derived.languages.contains_key("de"));
    }

    /// AEC-5
    #[test]
    fn conflicting_overlay_change_is_rejected() {
        let rows = [("de", "ja:j", "nein:n")];
        let change = |list: &str, verb: &str, token: &str| {
            format!(
                r#"{{"de":{{"changes":[{{"list":"{list}","{verb}":["{token}"],"reason":"r"}}]}}}}"#
            )
        };
        let fault = |languages: &str| derived(&rows, languages).unwrap_err().to_string();
        assert_eq!(
            fault(&change("affirmative", "add", "JA")),
            "`de`: the overlay adds `ja`, which is there already"
        );
        assert_eq!(
            fault(&change("affirmative", "remove", "jo")),
            "`de`: the overlay removes `jo`, which is missing"
        );
        assert_eq!(fault(&change("negative", "add", "ja")), "`de`: `ja` is in two lists");
        assert_eq!(fault(&change("banned", "add", "ja")), "`de`: `ja` is in two lists");
        assert_eq!(
            fault(&change("negative", "remove", "nein")),
            "`de`: no affirmative or no negative is left; add one, or leave it out"
        );
        assert_eq!(
            fault(&change("banned", "add", "j\u{430}")),
            "`de`: `j\u{430}` cannot be normalised: MIXED_SCRIPT"
        );
        assert_eq!(
            fault(r#"{"fr":{"omit":{"reason":"r"}}}"#),
            "`fr`: the overlay leaves it out, and it is not there"
        );
        assert_eq!(
            fault(r#"{"de":{"source":{"locale":"de-XX","reason":"r"}}}"#),
            "`de`: there is no row of `de-XX`"
        );
        assert_eq!(derived(&rows, r#"{"de":{"omit":{"reason":"r"}}}"#).unwrap(), [""; 0]);
    }

    /// AEC-5
    #[test]
    fn no_affirmative_word_is_a_single_letter() {
        let lexicon = Lexicon::built_in().unwrap();
        let affirmatives = lexicon.languages().flat_map(|(_, words)| &words.affirmative);
        let short: Vec<&String> = affirmatives.filter(|word| word.chars().count() == 1).collect();
        assert!(short.iter().all(|word| is_word_sign(word)), "{short:?}");
    }
}
