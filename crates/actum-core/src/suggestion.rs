//! Suggestions of similar words for error messages. They never influence how input is interpreted.

/// Maximum length of a word in bytes for which a similar word is searched.
const COMPARED_BYTES_MAX: usize = 100;

/// Returns the known word that is most similar to `given`, if there is a sufficiently similar one.
///
/// The comparison ignores case, `_` and `-`, because naming conventions differ between languages.
pub fn suggest<'w>(given: &str, known: &[&'w str]) -> Option<&'w str> {
    let plain = |word: &str| word.replace(['_', '-'], "").to_lowercase();
    if given.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let given = plain(given);
    let distances =
        known.iter().map(|word| (strsim::damerau_levenshtein(&given, &plain(word)), word));
    let (distance, word) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= word.len().min(6) / 3).then_some(*word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_suggest_the_intended_word() {
        let known = ["actionType", "input", "scope", "ok"];
        for (given, expected) in [
            ("action_type", Some("actionType")),
            ("ACTION-TYPE", Some("actionType")),
            ("actoinTpye", Some("actionType")),
            ("inptu", Some("input")),
            ("scopes", Some("scope")),
            ("OK", Some("ok")),
            ("kk", None),
            ("output", None),
            ("", None),
        ] {
            assert_eq!(suggest(given, &known), expected, "{given}");
        }
        assert_eq!(suggest("a", &[]), None);
        let long = "é".repeat(COMPARED_BYTES_MAX / 2);
        assert_eq!(suggest(&long, &[&long]), Some(&*long));
        assert_eq!(suggest(&format!("{long}x"), &[&long]), None);
    }
}
