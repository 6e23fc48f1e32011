//! Splits a user's utterance into words and values.

mod path_like;
mod quote;

use actum_core::path::is_not_shown;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

use crate::fold::fold;
use path_like::classify;
pub(crate) use path_like::is_path_like;
use quote::{Quote, block, quote};

/// Utterance of a user, split into words and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// Words and values, in their original order.
    pub(crate) tokens: Vec<Token>,
    /// First flaw found in the utterance, if any.
    pub(crate) flaw: Option<Flaw>,
}

/// Word or value of an utterance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// Word that expresses the intent, folded.
    Word(String),
    /// Value, which does not take part in matching phrases.
    Given(Given),
}

/// Value of an utterance, in the user's spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
    /// Path or name of a file.
    Path(String),
    /// Text in quotes, or a block such as a diff.
    Quoted(String),
    /// Id of a run.
    Run(String),
    /// Whole number.
    Number(String),
    /// Value that no parameter accepts, such as a URL, an email address or a path with unusual characters.
    Unclear(String),
}

/// Flaw that makes an utterance unreliable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The utterance contains invisible characters.
    Hidden,
    /// The utterance contains a quote without an end.
    Unclosed,
}

/// Kind of a character outside quotes and values.
enum Kind {
    Letter,
    /// Symbol with a meaning, such as `€` or `&`, which forms a word by itself.
    Sign,
    Separator,
}

impl Utterance {
    /// Splits an utterance into words and values, and checks it for flaws.
    pub(crate) fn new(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut flaw = has_hidden(text).then_some(Flaw::Hidden);
        let (mut rest, mut before) = (text, '\n');
        while let Some(first) = rest.chars().next() {
            if let Some(document) = block(rest, before) {
                tokens.push(Token::Given(Given::Quoted(document.to_owned())));
                break;
            }
            match quote(rest, before) {
                Quote::Closed { text, behind } => {
                    tokens.push(Token::Given(Given::Quoted(text.to_owned())));
                    (rest, before) = (behind, '"');
                    continue;
                }
                Quote::Unclosed => flaw = flaw.or(Some(Flaw::Unclosed)),
                Quote::None => {}
            }
            if first.is_whitespace() || quote::opens(first) {
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                before = first;
                continue;
            }
            let ends = |c: char| c.is_whitespace() || quote::opens(c);
            let (chunk, behind) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
            match classify(chunk) {
                Some(given) => tokens.push(Token::Given(given)),
                None => split_words(chunk, &mut tokens),
            }
            (rest, before) = (behind, chunk.chars().next_back().unwrap_or(' '));
        }
        Self { tokens, flaw }
    }

    /// Returns the words with their positions.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        self.tokens.iter().enumerate().filter_map(|(at, token)| match token {
            Token::Word(word) => Some((at, word.as_str())),
            Token::Given(_) => None,
        })
    }

    /// Returns the values with their positions.
    pub(crate) fn given(&self) -> impl Iterator<Item = (usize, &Given)> {
        self.tokens.iter().enumerate().filter_map(|(at, token)| match token {
            Token::Word(_) => None,
            Token::Given(given) => Some((at, given)),
        })
    }

    /// Returns the word at a position, or `None` if there is a value or nothing.
    pub(crate) fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at)? {
            Token::Word(word) => Some(word),
            Token::Given(_) => None,
        }
    }
}

/// Returns true if the text contains invisible characters. Whitespace controls and the variation selector of emoji
/// (U+FE0F) are allowed.
fn has_hidden(text: &str) -> bool {
    text.chars().any(|c| is_not_shown(c) && !matches!(c, '\t' | '\n' | '\r' | '\u{fe0f}'))
}

fn split_words(chunk: &str, tokens: &mut Vec<Token>) {
    let mut word = String::new();
    for c in chunk.chars() {
        match kind(c) {
            Kind::Letter => word.push(c),
            Kind::Sign => {
                push_word(&mut word, tokens);
                tokens.push(Token::Word(fold(c.encode_utf8(&mut [0; 4]))));
            }
            Kind::Separator => push_word(&mut word, tokens),
        }
    }
    push_word(&mut word, tokens);
}

fn push_word(word: &mut String, tokens: &mut Vec<Token>) {
    if word.is_empty() {
        return;
    }
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let spelled = std::mem::take(word);
    tokens.push(match is_number {
        true => Token::Given(Given::Number(spelled)),
        false => Token::Word(fold(&spelled)),
    });
}

/// Returns the kind of a character. Underscores are letters, so that names of simulations are not split.
fn kind(c: char) -> Kind {
    use GeneralCategory as Category;
    if c.is_alphanumeric() || c == '_' {
        return Kind::Letter;
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    if matches!(category, Category::NonspacingMark | Category::SpacingMark) {
        return Kind::Letter;
    }
    let is_sign = matches!(category, Category::CurrencySymbol | Category::MathSymbol)
        || matches!(c, '&' | '%' | '@' | '#' | '*' | '\\' | '/');
    if is_sign { Kind::Sign } else { Kind::Separator }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |token: Token| match token {
            Token::Word(word) => word,
            Token::Given(Given::Path(path)) => format!("<{path}>"),
            Token::Given(Given::Quoted(text)) => format!("\"{text}\""),
            Token::Given(Given::Run(run)) => format!("run:{run}"),
            Token::Given(Given::Number(number)) => format!("#{number}"),
            Token::Given(Given::Unclear(text)) => format!("?{text}"),
        };
        Utterance::new(text).tokens.into_iter().map(show).collect()
    }

    /// AEC-1
    #[test]
    fn values_keep_their_spelling_and_words_are_folded() {
        for (text, tokens) in [
            ("Lösche BITTE Ärger.TXT.", "lösche bitte <Ärger.TXT>"),
            ("s'il te plaît, supprime-le", "s il te plaît supprime le"),
            ("mit „Hallo Welt“ und «x»", "mit \"Hallo Welt\" und \"x\""),
            ("don't touch `a b`", "don t touch \"a b\""),
            ("call rm_all on src/*.rs", "call rm_all on ?src/*.rs"),
            ("undo f3k7t2mzq9ra, 3 times", "undo run:f3k7t2mzq9ra #3 times"),
            ("see https://a.b/c or z.B. .env", "see ?https://a.b/c or z b <.env>"),
            ("and/or README", "and / or <README>"),
            ("pay 5€", "pay #5 €"),
        ] {
            assert_eq!(shown(text).join(" "), tokens, "{text}");
        }
    }

    /// AEC-1
    #[test]
    fn hidden_characters_and_unclosed_quotes_are_flaws() {
        assert_eq!(Utterance::new("delete \u{202e}txt.a").flaw, Some(Flaw::Hidden));
        assert_eq!(Utterance::new("del\u{200b}ete a.txt").flaw, Some(Flaw::Hidden));
        assert_eq!(Utterance::new("create a.txt with \"x").flaw, Some(Flaw::Unclosed));
        assert_eq!(Utterance::new("the users' file ❤️").flaw, None);
    }
}
