//! Rule on the language: parses its file, and finds offences.

use std::collections::{BTreeMap, HashMap};

use super::markdown::Paragraph;
use super::pattern::{PatternError, Phrase, phrases};
use super::words::Word;
use super::yaml::{self, Value, YamlError};

#[derive(Debug)]
pub(super) struct Rule {
    /// Name of the style and the file, in vale's notation: `Actum.Words`.
    pub(super) name: String,
    message: String,
    check: Check,
}

#[derive(Debug)]
enum Check {
    /// Banned phrases by their first word, with the longest phrase first.
    Phrases(HashMap<String, Vec<Banned>>),
    /// Limit on the number of words in a sentence.
    Sentences { words_max: usize },
}

#[derive(Debug)]
struct Banned {
    phrase: Phrase,
    replacement: Option<String>,
}

/// Text that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offence {
    pub(super) line: usize,
    /// Words that break the rule.
    pub(super) found: String,
    pub(super) message: String,
    /// Sentence around the offence, a part of which an exception can quote.
    pub(super) sentence: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RuleError {
    #[error(transparent)]
    Yaml(#[from] YamlError),
    #[error("the pattern `{pattern}`: {source}")]
    Pattern { pattern: String, source: PatternError },
    #[error("`{key}` is missing or not {expected}")]
    Key { key: &'static str, expected: &'static str },
    #[error("`{key}` is unknown: a rule has keys that both vale and this check know")]
    Unknown { key: String },
    #[error("the pattern `{pattern}` stands twice")]
    Twice { pattern: String },
}

/// Only supported token of an `occurrence` rule.
const WORD_TOKEN: &str = r"\b(\w+)\b";

/// Position of a text in a comment or document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// First paragraph of a doc comment.
    Opening,
    Elsewhere,
}

impl Rule {
    pub(super) fn read(name: &str, text: &str) -> Result<Self, RuleError> {
        let mut values = Values(yaml::read(text)?);
        values.expect("level", "error")?;
        let message = values.scalar("message", "a text")?;
        let check = match values.scalar("extends", "a check")?.as_str() {
            "existence" => values.existence()?,
            "substitution" => values.substitution()?,
            "occurrence" => values.occurrence()?,
            _ => {
                let expected = "`existence`, `substitution` or `occurrence`";
                return Err(RuleError::Key { key: "extends", expected });
            }
        };
        match values.0.into_keys().next() {
            Some(key) => Err(RuleError::Unknown { key }),
            None => Ok(Self { name: name.to_owned(), message, check }),
        }
    }

    /// Returns the offences in a paragraph whose words are `all`.
    pub(super) fn offences(
        &self,
        paragraph: &Paragraph,
        all: &[Word<'_>],
        position: Position,
    ) -> Vec<Offence> {
        let offence = |words: &[Word<'_>], replacement: Option<&str>| {
            let (first, last) = (words.first()?, words.last()?);
            let found = paragraph.text.get(first.start..last.end())?.to_owned();
            let message = replacement.iter().fold(self.message.clone(), |message, replacement| {
                message.replacen("%s", replacement, 1)
            });
            let message = message.replacen("%s", &found, 1).replace('\'', "`");
            let sentence = sentence(paragraph, all, first.start).to_owned();
            Some(Offence { line: paragraph.line_at(first.start), found, message, sentence })
        };
        match &self.check {
            Check::Phrases(phrases) => banned(phrases, all, position)
                .into_iter()
                .filter_map(|(words, banned)| offence(words, banned.replacement.as_deref()))
                .collect(),
            Check::Sentences { words_max } => all
                .chunk_by(|_, next| !next.begins)
                .filter(|sentence| sentence.len() > *words_max)
                .filter_map(|sentence| {
                    let found = offence(sentence, None)?;
                    let message = format!("{} ({} words)", found.message, sentence.len());
                    Some(Offence { message, ..found })
                })
                .collect(),
        }
    }
}

/// Returns the sentence that contains an offset, up to its last word.
fn sentence<'a>(paragraph: &'a Paragraph, words: &[Word<'_>], offset: usize) -> &'a str {
    let sentences = words.chunk_by(|_, next| !next.begins);
    let around = sentences.filter_map(|words| Some((words.first()?.start, words.last()?.end())));
    let (start, end) = around.take_while(|(start, _)| *start <= offset).last().unwrap_or_default();
    paragraph.text.get(start..end).unwrap_or_default()
}

/// Finds banned phrases that do not overlap. The first match is used, and the longest phrase at that position.
fn banned<'a, 'w>(
    phrases: &'a HashMap<String, Vec<Banned>>,
    words: &'w [Word<'w>],
    position: Position,
) -> Vec<(&'w [Word<'w>], &'a Banned)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let is_first = at == 0 && rest.first().is_some_and(|word| word.follows);
        let is_opening = position == Position::Opening && is_first;
        let first = rest.first().map(|word| word.text.to_lowercase()).unwrap_or_default();
        let candidates = phrases.get(&first).map(Vec::as_slice).unwrap_or_default();
        let matching =
            candidates.iter().filter(|it| is_opening || !it.phrase.opens).find_map(|it| {
                let (words, behind) = rest.split_at_checked(it.phrase.words.len())?;
                let excluded =
                    it.phrase.not_before.iter().any(|words| starts_with(behind, words, 0));
                (starts_with(words, &it.phrase.words, 1) && !excluded).then_some((words, it))
            });
        at += matching.map_or(1, |(words, _)| words.len());
        found.extend(matching);
    }
    found
}

/// Whether `words` begin with a phrase. From the word `joined` on, each must directly follow the previous word.
fn starts_with(words: &[Word<'_>], phrase: &[String], joined: usize) -> bool {
    let is_same = |(index, (word, text)): (usize, (&Word<'_>, &String))| {
        (index < joined || word.follows) && word.text.to_lowercase() == *text
    };
    words.len() >= phrase.len() && words.iter().zip(phrase).enumerate().all(is_same)
}

/// Keys of a rule file that have not been read yet.
struct Values(BTreeMap<String, Value>);

impl Values {
    fn scalar(&mut self, key: &'static str, expected: &'static str) -> Result<String, RuleError> {
        match self.0.remove(key) {
            Some(Value::Scalar(scalar)) => Ok(scalar),
            Some(Value::List(_) | Value::Map(_)) | None => Err(RuleError::Key { key, expected }),
        }
    }

    fn expect(&mut self, key: &'static str, expected: &'static str) -> Result<(), RuleError> {
        let is_so = self.scalar(key, expected)? == expected;
        if is_so { Ok(()) } else { Err(RuleError::Key { key, expected }) }
    }

    fn existence(&mut self) -> Result<Check, RuleError> {
        self.expect("ignorecase", "true")?;
        match self.0.remove("tokens") {
            Some(Value::List(tokens)) => {
                phrase_table(tokens.into_iter().map(|token| (token, None)))
            }
            Some(Value::Scalar(_) | Value::Map(_)) | None => {
                Err(RuleError::Key { key: "tokens", expected: "a list" })
            }
        }
    }

    fn substitution(&mut self) -> Result<Check, RuleError> {
        self.expect("ignorecase", "true")?;
        match self.0.remove("swap") {
            Some(Value::Map(swap)) => {
                phrase_table(swap.into_iter().map(|(token, value)| (token, Some(value))))
            }
            Some(Value::Scalar(_) | Value::List(_)) | None => {
                Err(RuleError::Key { key: "swap", expected: "a map" })
            }
        }
    }

    fn occurrence(&mut self) -> Result<Check, RuleError> {
        self.expect("scope", "sentence")?;
        self.expect("token", WORD_TOKEN)?;
        let words_max = self.scalar("max", "a number")?.parse();
        let words_max =
            words_max.map_err(|_| RuleError::Key { key: "max", expected: "a number" })?;
        Ok(Check::Sentences { words_max })
    }
}

fn phrase_table(
    tokens: impl Iterator<Item = (String, Option<String>)>,
) -> Result<Check, RuleError> {
    let mut table: HashMap<String, Vec<Banned>> = HashMap::new();
    for (pattern, replacement) in tokens {
        let phrases = phrases(&pattern);
        for phrase in
            phrases.map_err(|source| RuleError::Pattern { pattern: pattern.clone(), source })?
        {
            let first = phrase.words.first().cloned().unwrap_or_default();
            let same_first = table.entry(first).or_default();
            if same_first.iter().any(|banned| banned.phrase == phrase) {
                return Err(RuleError::Twice { pattern });
            }
            same_first.push(Banned { phrase, replacement: replacement.clone() });
        }
    }
    for same_first in table.values_mut() {
        same_first.sort_by_key(|banned| std::cmp::Reverse(banned.phrase.words.len()));
    }
    Ok(Check::Phrases(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::markdown::paragraphs;
    use crate::prose::words::words;

    const EXISTENCE: &str = "extends: existence\nmessage: 'leave out ''%s'''\nlevel: error\nignorecase: true\ntokens:\n  - told\n  - is told\n  - '\\AWhat'\n";
    const SUBSTITUTION: &str = "extends: substitution\nmessage: 'write %s, not ''%s'''\nlevel: error\nignorecase: true\nswap:\n  tells?: prints or reports\n";
    const OCCURRENCE: &str = "extends: occurrence\nmessage: split it\nlevel: error\nscope: sentence\nmax: 3\ntoken: '\\b(\\w+)\\b'\n";

    fn offences(rule: &str, position: Position, text: &str) -> Vec<String> {
        let rule = Rule::read("A.B", rule).unwrap();
        paragraphs((1..).zip(text.lines()))
            .iter()
            .flat_map(|it| rule.offences(it, &words(&it.text), position))
            .map(|it| format!("{}: {}: {}", it.line, it.found, it.message))
            .collect()
    }

    #[test]
    fn longest_phrase_matches_across_lines_and_ignores_case() {
        let text = "He is\n**Told**. Is. Told, is `x` told; untold";
        assert_eq!(
            offences(EXISTENCE, Position::Elsewhere, text),
            [
                "1: is\n**Told: leave out".replace('\n', " ") + " `is **Told`",
                "2: Told: leave out `Told`".into(),
                "2: told: leave out `told`".into()
            ]
        );
    }

    #[test]
    fn anchored_phrase_matches_only_at_the_start() {
        let text = "What is what";
        assert_eq!(offences(EXISTENCE, Position::Opening, text), ["1: What: leave out `What`"]);
        assert_eq!(offences(EXISTENCE, Position::Elsewhere, text), [""; 0]);
        assert_eq!(offences(EXISTENCE, Position::Opening, "Is what"), [""; 0]);
        assert_eq!(offences(EXISTENCE, Position::Opening, "`is` what"), [""; 0]);
    }

    #[test]
    fn phrase_before_an_excluded_word_does_not_match() {
        let rule = EXISTENCE.replace("- told", "- 'told(?! (?:apart|of it))'");
        let text = "Told apart, told of it, told of this, told. Apart";
        assert_eq!(
            offences(&rule, Position::Elsewhere, text),
            ["1: told: leave out `told`", "1: told: leave out `told`"]
        );
    }

    #[test]
    fn a_substitution_names_the_replacement() {
        assert_eq!(
            offences(SUBSTITUTION, Position::Elsewhere, "It tells."),
            ["1: tells: write prints or reports, not `tells`"]
        );
    }

    #[test]
    fn sentence_may_not_exceed_the_word_limit() {
        let text = "One two three. One `two` three four. A\nb c d";
        assert_eq!(
            offences(OCCURRENCE, Position::Elsewhere, text),
            ["1: A b c d: split it (4 words)"]
        );
    }

    #[test]
    fn a_rule_that_vale_would_read_differently_is_rejected() {
        let cases = [
            (EXISTENCE.replace("error", "warning"), "`level` is missing or not error"),
            (EXISTENCE.replace("ignorecase: true\n", ""), "`ignorecase` is missing or not true"),
            (
                EXISTENCE.replace("existence", "spelling"),
                "`extends` is missing or not `existence`, `substitution` or `occurrence`",
            ),
            (
                EXISTENCE.replace("  - told", "  - to.d"),
                "the pattern `to.d`: `.` is no part of a pattern here: use words, `(?:a|b)`, `?`, `\\A` and `(?! a)`",
            ),
            (
                format!("nonword: true\n{EXISTENCE}"),
                "`nonword` is unknown: a rule has keys that both vale and this check know",
            ),
            (EXISTENCE.replace("  - is told", "  - tol?d"), "the pattern `tol?d` stands twice"),
            (OCCURRENCE.replace("max: 3", "max: few"), "`max` is missing or not a number"),
            (SUBSTITUTION.replace("swap", "tokens"), "`swap` is missing or not a map"),
        ];
        for (text, problem) in cases {
            assert_eq!(Rule::read("A.B", &text).unwrap_err().to_string(), problem);
        }
    }
}
