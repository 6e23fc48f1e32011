//! Readings, each of which interprets an utterance as one frame of a simulation in one language.

use std::collections::BTreeSet;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use serde::Serialize;

use crate::fields::{Fields, Setting};
use crate::lexicon::{Lexicon, Lexicons};
use crate::limits::MISTYPED_CHARS_MIN;
use crate::phrase::Phrase;
use crate::simulation::{ANY_LANGUAGE, Frame, FrameWords, ParameterKind, Simulation};
use crate::utterance::Utterance;

/// Points for each matching word of the phrase that is not a function word.
const PHRASE_WORD: u32 = 100;
/// Points for each required value that the utterance provides.
const VALUE: u32 = 40;
/// Points for a word that names the object of the intent.
const OBJECT: u32 = 10;
/// Points if the normalised intent matches the same simulation.
const INTENT: u32 = 60;
/// Points that are deducted for each unexplained word and surplus value, and for a guard.
const UNEXPLAINED: u32 = 30;

/// Interpretation of an utterance as a phrase of one simulation.
#[derive(Debug, Clone)]
pub(crate) struct Reading<'s> {
    pub(crate) simulation: &'s Simulation,
    pub(crate) frame: &'s Frame,
    pub(crate) language: String,
    pub(crate) phrase: &'s Phrase,
    pub(crate) fields: Fields,
    /// Positions of the words that match the phrase.
    pub(crate) matched: Vec<usize>,
    /// Positions of words that this frame does not explain.
    pub(crate) unexplained: Vec<usize>,
    pub(crate) has_guard: bool,
    pub(crate) has_object: bool,
    /// Whether the utterance has a destructive verb but the simulation is harmless, or the reverse.
    pub(crate) is_mismatched: bool,
    pub(crate) score: u32,
}

/// Reading as recorded in the evidence. It contains a digest of the input, but no values from the utterance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ReadingEvidence {
    simulation: String,
    version: Option<String>,
    frame: String,
    language: String,
    phrase: String,
    matched: Vec<usize>,
    unexplained: Vec<usize>,
    surplus_values: usize,
    guarded: bool,
    mismatched: bool,
    clear: bool,
    score: u32,
    missing: Option<String>,
    required_fields: Digest,
}

/// Interprets one utterance as frames of simulations.
pub(crate) struct Reader<'a> {
    pub(crate) utterance: &'a Utterance,
    pub(crate) lexicons: &'a Lexicons,
    /// Codes of the languages whose phrases are used.
    pub(crate) languages: &'a [String],
    /// Names of the simulations that match the normalised intent.
    pub(crate) intended: &'a BTreeSet<String>,
}

impl<'a> Reader<'a> {
    /// Returns all readings of the utterance as a frame of the simulation, in every language of the search.
    pub(crate) fn read<'s>(&self, simulation: &'s Simulation) -> Vec<Reading<'s>> {
        let is_destructive = self.is_destructive(simulation);
        let mut readings = Vec::new();
        for frame in &simulation.frames {
            for language in self.languages {
                let lexicon = self.lexicons.get(language);
                for words in frame.words_in(language) {
                    readings.extend(words.phrases.iter().filter_map(|phrase| {
                        let of = Of { simulation, frame, words, phrase, is_destructive };
                        self.read_phrase(&of, language, lexicon)
                    }));
                }
            }
        }
        readings
    }

    /// Returns true if the utterance contains a single-word phrase of the simulation with a typing mistake.
    pub(crate) fn has_mistyped_verb(&self, simulation: &Simulation) -> bool {
        let frames = simulation.frames.iter();
        frames.flat_map(|frame| self.languages.iter().map(move |code| (frame, code))).any(
            |(frame, code)| {
                let lexicon = self.lexicons.get(code);
                let verbs = frame.words_in(code).flat_map(|words| &words.phrases);
                let verbs = verbs.filter_map(|phrase| match phrase.words() {
                    [verb] => Some(verb),
                    _ => None,
                });
                verbs.into_iter().any(|verb| {
                    self.utterance.words().any(|(_, word)| {
                        !lexicon.function_words.has(word) && verb.has_near(word, MISTYPED_CHARS_MIN)
                    })
                })
            },
        )
    }

    /// Returns true if any phrase of the simulation contains a destructive verb.
    fn is_destructive(&self, simulation: &Simulation) -> bool {
        simulation.frames.iter().flat_map(Frame::all_words).any(|(language, words)| {
            let mut phrases = words.phrases.iter().flat_map(Phrase::words);
            phrases
                .any(|alternatives| alternatives.iter().any(|word| self.destroys(language, word)))
        })
    }

    /// Returns true if the word is a destructive verb in the language. For [`ANY_LANGUAGE`], all languages are checked.
    fn destroys(&self, language: &str, word: &str) -> bool {
        match language {
            ANY_LANGUAGE => {
                self.lexicons.languages().any(|(_, lexicon)| lexicon.destructive.has(word))
            }
            language => self.lexicons.get(language).destructive.has(word),
        }
    }

    fn read_phrase<'s>(
        &self,
        of: &Of<'s>,
        language: &str,
        lexicon: &Lexicon,
    ) -> Option<Reading<'s>> {
        let Of { simulation, frame, words, phrase, is_destructive } = *of;
        let matched = phrase.find(self.utterance, &lexicon.function_words)?;
        let setting = Setting {
            utterance: self.utterance,
            matched: &matched,
            function_words: &lexicon.function_words,
            words,
        };
        let fields = Fields::assign(frame, &setting);
        // A word that is used as part of the phrase, as an object or as a cue does not act as a guard. For example, `como`
        // can be a question word, but means `as` before a path.
        let is_used = |at: usize, word: &str| {
            matched.contains(&at) || fields.cues.contains(&at) || words.objects.has(word)
        };
        let is_guard = |at: usize, word: &str| lexicon.guards.has(word) && !is_used(at, word);
        let has_guard = self.utterance.words().any(|(at, word)| is_guard(at, word))
            || lexicon.guard_phrases.iter().any(|phrase| phrase.stands_in(self.utterance));
        let unexplained: Vec<usize> = self
            .utterance
            .words()
            .filter(|(at, word)| {
                !setting.explains(*at, word)
                    && !fields.cues.contains(at)
                    && !is_mistyped(word, lexicon)
            })
            .map(|(at, _)| at)
            .collect();
        let has_object = self.utterance.words().any(|(_, word)| words.objects.has(word));
        let destroying: Vec<usize> = self
            .utterance
            .words()
            .filter(|(_, word)| self.destroys(language, word))
            .map(|(at, _)| at)
            .collect();
        let is_destroying = destroying.iter().any(|at| matched.contains(at));
        let is_mismatched =
            is_destructive != is_destroying || destroying.iter().any(|at| !matched.contains(at));
        let is_content = |at: &&usize| {
            self.utterance.word(**at).is_some_and(|word| !lexicon.function_words.has(word))
        };
        let points = count(matched.iter().filter(is_content).count()) * PHRASE_WORD
            + fields.given_count(frame) * VALUE
            + u32::from(has_object) * OBJECT
            + u32::from(self.intended.contains(simulation.id.as_str())) * INTENT;
        let faults = count(unexplained.len() + fields.surplus) + u32::from(has_guard);
        Some(Reading {
            simulation,
            frame,
            language: language.to_owned(),
            phrase,
            score: points.saturating_sub(faults.saturating_mul(UNEXPLAINED)),
            fields,
            matched,
            unexplained,
            has_guard,
            has_object,
            is_mismatched,
        })
    }
}

/// Phrase that is matched with the utterance, and the frame and simulation that it comes from.
#[derive(Clone, Copy)]
struct Of<'s> {
    simulation: &'s Simulation,
    frame: &'s Frame,
    words: &'s FrameWords,
    phrase: &'s Phrase,
    is_destructive: bool,
}

impl Reading<'_> {
    /// Returns true if every word and value is explained, no guard changes the meaning, and the verb fits the simulation.
    pub(crate) fn is_clear(&self) -> bool {
        self.unexplained.is_empty()
            && self.fields.surplus == 0
            && !self.has_guard
            && !self.is_mismatched
    }

    /// Returns true if more than the phrase suggests the simulation, such as an object word or a value. Frames with a
    /// command or run parameter need no further evidence, because their verbs have few other meanings.
    pub(crate) fn has_evidence(&self) -> bool {
        let is_distinctive = |kind: &ParameterKind| match kind {
            ParameterKind::Command | ParameterKind::Run => true,
            ParameterKind::Path
            | ParameterKind::Text
            | ParameterKind::Number
            | ParameterKind::Flag
            | ParameterKind::Other
            | ParameterKind::Fixed(_) => false,
        };
        self.has_object
            || self.fields.has_given(self.frame)
            || self.frame.parameters.iter().any(|parameter| is_distinctive(&parameter.kind))
    }

    /// Returns the reading as it is recorded in the evidence.
    pub(crate) fn evidence(&self) -> Result<ReadingEvidence, CanonicalError> {
        let fields = canonical::to_vec(&self.fields.to_object(self.frame))?;
        Ok(ReadingEvidence {
            simulation: self.simulation.id.to_string(),
            version: self.simulation.version.clone(),
            frame: self.frame.name.clone(),
            language: self.language.clone(),
            phrase: self.phrase.as_str().to_owned(),
            matched: self.matched.clone(),
            unexplained: self.unexplained.clone(),
            surplus_values: self.fields.surplus,
            guarded: self.has_guard,
            mismatched: self.is_mismatched,
            clear: self.is_clear(),
            score: self.score,
            missing: self.fields.missing(self.frame).map(|parameter| parameter.pointer.clone()),
            required_fields: Digest::of(&fields),
        })
    }
}

/// Returns true if the word is a mistyped function word. A word that could also be a mistyped guard or destructive verb
/// is not one.
fn is_mistyped(word: &str, lexicon: &Lexicon) -> bool {
    let near = |terms: &crate::fold::Terms| terms.has_near(word, MISTYPED_CHARS_MIN);
    !lexicon.guards.has(word)
        && !lexicon.destructive.has(word)
        && near(&lexicon.function_words)
        && !near(&lexicon.guards)
        && !near(&lexicon.destructive)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX / (2 * PHRASE_WORD))
}
