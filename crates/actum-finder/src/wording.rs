//! Formats questions and messages for the user in the language of the utterance.

use actum_core::path::Cut;

use crate::lexicon::Lexicons;
use crate::limits::REPEATED_BYTES_MAX;
use crate::rank::Ranked;
use crate::simulation::{Parameter, Simulation};
use crate::utterance::{Given, Token, Utterance};

/// Maximum length of a sentence in a packet, in characters.
const SENTENCE_CHARS_MAX: usize = actum_agent::limits::SENTENCE_CHARS_MAX;
/// Maximum length of a simulation's name in a question, in bytes.
const LABEL_BYTES_MAX: usize = 64;

/// Formats questions in one language.
pub(crate) struct Wording<'a> {
    pub(crate) lexicons: &'a Lexicons,
    pub(crate) language: &'a str,
}

impl Wording<'_> {
    /// Returns the question that asks the user for the value of a parameter.
    pub(crate) fn ask_field(&self, parameter: &Parameter) -> String {
        let is_name = |segment: &&str| segment.contains(|c: char| c.is_ascii_alphabetic());
        let name = parameter.pointer.rsplit('/').find(is_name).unwrap_or_default();
        match self.lexicons.question(self.language, name) {
            Some(question)
                if !matches!(name, "doubt" | "either" | "empty" | "field" | "hidden") =>
            {
                sentence(question)
            }
            Some(_) | None => self.fill("field", &[("{field}", parameter.member())]),
        }
    }

    /// Returns the question that asks the user whether to use a simulation, or which of two.
    pub(crate) fn ask_simulation(&self, ranked: &[Ranked<'_>]) -> String {
        match ranked {
            [] => self.ask("empty"),
            [only] => self.fill("doubt", &[("{first}", &self.label(only.simulation))]),
            [first, second, ..] => {
                let (first, second) = (self.label(first.simulation), self.label(second.simulation));
                self.fill("either", &[("{first}", &first), ("{second}", &second)])
            }
        }
    }

    /// Returns a question that has no placeholders.
    pub(crate) fn ask(&self, name: &str) -> String {
        sentence(self.lexicons.question(self.language, name).unwrap_or(name))
    }

    fn fill(&self, name: &str, values: &[(&str, &str)]) -> String {
        let question = self.lexicons.question(self.language, name).unwrap_or(name).to_owned();
        let filled =
            values.iter().fold(question, |question, (place, value)| question.replace(place, value));
        sentence(&filled)
    }

    /// Returns the name of a simulation, preceded by its description if the lexicon has one.
    fn label(&self, simulation: &Simulation) -> String {
        let id = Cut(simulation.id.as_str().as_bytes(), LABEL_BYTES_MAX);
        match self.lexicons.label(self.language, simulation.id.as_str()) {
            Some(label) => format!("{label} (`{id}`)"),
            None => format!("`{id}`"),
        }
    }
}

/// Returns the words of an utterance as a single line for Dev Intake. Values are replaced by placeholders, because they
/// are not part of the requested capability.
pub(crate) fn capability(utterance: &Utterance) -> String {
    let words: Vec<&str> = utterance
        .tokens
        .iter()
        .map(|token| match token {
            Token::Word(word) => word.as_str(),
            Token::Given(Given::Path(_)) => "<path>",
            Token::Given(Given::Run(_)) => "<run>",
            Token::Given(Given::Number(_)) => "<number>",
            Token::Given(Given::Quoted(_) | Given::Unclear(_)) => "<text>",
        })
        .collect();
    sentence(&Cut(words.join(" ").as_bytes(), REPEATED_BYTES_MAX).to_string())
}

/// Removes control characters from a text and truncates it to the maximum length of a sentence.
fn sentence(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SENTENCE_CHARS_MAX).collect()
}
