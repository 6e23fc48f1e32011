//! Simulations as the Finder knows them: names, phrases and parameters.

use std::collections::BTreeMap;

use actum_core::{ActionName, Digest};
use serde::Deserialize;
use serde_json::Value;

use crate::fold::Terms;
use crate::limits::{FRAMES_MAX, PARAMETERS_MAX, PHRASES_MAX, TERMS_MAX};
use crate::phrase::{Phrase, PhraseError};

/// Language code of words that count in every language (BCP 47).
pub const ANY_LANGUAGE: &str = "und";

/// Active simulation of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    /// Name.
    pub id: ActionName,
    /// Version, if the simulation has one.
    pub version: Option<String>,
    /// Action that access policies judge.
    pub access_action: String,
    /// Rollback of its effect.
    pub rollback: Rollback,
    /// Forms of its input, each with its own phrases.
    pub frames: Vec<Frame>,
}

/// Rollback of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollback {
    /// There is no effect to roll back.
    None,
    /// `undo_run` reverts the effect.
    UndoRun,
}

/// Form of the input of a simulation: parameters, and the words that ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Name within its simulation.
    pub name: String,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    words: BTreeMap<String, FrameWords>,
}

/// Parameter of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// JSON Pointer (RFC 6901) of its place in the input; `0` is the one element of a list.
    pub pointer: String,
    /// Kind of its value.
    pub kind: ParameterKind,
    /// The input requires the parameter.
    pub required: bool,
    /// A value counts only behind a cue word.
    pub needs_cue: bool,
}

/// Kind of value that a parameter takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// Path of a file in the workspace.
    Path,
    /// Text in quotes.
    Text,
    /// Command line in quotes.
    Command,
    /// Id of a run.
    Run,
    /// Whole number.
    Number,
    /// Flag: `true` if the utterance has one of its cue words.
    Flag,
    /// Value that no utterance gives, such as a list. The Finder asks for a required one.
    Other,
    /// Value that the frame itself implies.
    Fixed(Value),
}

/// Words of a frame in one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameWords {
    pub(crate) phrases: Vec<Phrase>,
    pub(crate) objects: Terms,
    pub(crate) cues: BTreeMap<String, Terms>,
}

/// Error of a frame that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The phrase cannot be used.
    #[error("the phrase `{text}` cannot be used: {source}")]
    Phrase {
        /// Phrase.
        text: String,
        /// Error.
        source: PhraseError,
    },
    /// The list is too long.
    #[error(
        "a frame has at most {PARAMETERS_MAX} parameters, {PHRASES_MAX} phrases and {TERMS_MAX} words of a kind"
    )]
    TooMany,
    /// The text is not a pointer.
    #[error("`{pointer}` is not a JSON Pointer of a parameter, such as `/path` or `/edits/0/find`")]
    Pointer {
        /// Pointer.
        pointer: String,
    },
    /// The cue words belong to no parameter.
    #[error("no parameter has the pointer `{pointer}` of the cue words")]
    Cue {
        /// Pointer.
        pointer: String,
    },
}

impl Simulation {
    /// Creates a simulation without a declared frame. Its name is its phrase: `format_code` matches `format code`.
    ///
    /// # Errors
    /// [`FrameError`]
    pub fn from_name(
        id: ActionName,
        version: Option<String>,
        access_action: String,
        rollback: Rollback,
    ) -> Result<Self, FrameError> {
        let phrase = id.as_str().replace('_', " ");
        let words = FrameWords::new([phrase.as_str()], [], [])?;
        let frames = vec![Frame::new("name", Vec::new(), [(ANY_LANGUAGE, words)])?];
        Ok(Self { id, version, access_action, rollback, frames })
    }

    /// Computes the digest of all that a search uses, independent of the order of frames and phrases.
    pub(crate) fn digest(&self) -> Digest {
        let mut frames: Vec<String> = self.frames.iter().map(Frame::describe).collect();
        frames.sort_unstable();
        let version = self.version.as_deref().unwrap_or_default();
        let rollback = format!("{:?}", self.rollback);
        let own = [self.id.as_str(), version, &self.access_action, &rollback];
        let parts: Vec<&[u8]> =
            own.into_iter().chain(frames.iter().map(String::as_str)).map(str::as_bytes).collect();
        Digest::tagged("actum/finder-simulation/1", &parts)
    }

    /// Returns true if the number of frames is within its limit.
    pub(crate) fn fits(&self) -> bool {
        self.frames.len() <= FRAMES_MAX
    }
}

impl Frame {
    /// Creates a frame from parameters and the words of each language (ISO 639-1, or [`ANY_LANGUAGE`]).
    ///
    /// # Errors
    /// [`FrameError`]
    pub fn new<'w>(
        name: &str,
        parameters: Vec<Parameter>,
        words: impl IntoIterator<Item = (&'w str, FrameWords)>,
    ) -> Result<Self, FrameError> {
        if parameters.len() > PARAMETERS_MAX {
            return Err(FrameError::TooMany);
        }
        if let Some(wrong) = parameters.iter().find(|parameter| !parameter.has_pointer()) {
            return Err(FrameError::Pointer { pointer: wrong.pointer.clone() });
        }
        let words: BTreeMap<String, FrameWords> =
            words.into_iter().map(|(language, words)| (language.to_owned(), words)).collect();
        let is_known = |pointer: &str| parameters.iter().any(|it| it.pointer == pointer);
        let mut pointers = words.values().flat_map(|words| words.cues.keys());
        if let Some(pointer) = pointers.find(|pointer| !is_known(pointer)) {
            return Err(FrameError::Cue { pointer: pointer.clone() });
        }
        Ok(Self { name: name.to_owned(), parameters, words })
    }

    /// Returns a text of the whole frame, for a digest.
    fn describe(&self) -> String {
        let words = self.words.iter().map(|(language, words)| {
            let FrameWords { phrases, objects, cues } = words;
            let phrases: Vec<&str> = phrases.iter().map(Phrase::as_str).collect();
            let objects: Vec<&str> = objects.iter().collect();
            let cues =
                cues.iter().map(|(pointer, cues)| (pointer, cues.iter().collect::<Vec<_>>()));
            format!("{language:?} {phrases:?} {objects:?} {:?}", cues.collect::<Vec<_>>())
        });
        let words: Vec<String> = words.collect();
        format!("{:?} {:?} {words:?}", self.name, self.parameters)
    }

    /// Returns the words for a language, and those of every language.
    pub(crate) fn words_in<'f>(&'f self, language: &str) -> impl Iterator<Item = &'f FrameWords> {
        let own = (language != ANY_LANGUAGE).then(|| self.words.get(language)).flatten();
        own.into_iter().chain(self.words.get(ANY_LANGUAGE))
    }

    /// Returns the words of all languages.
    pub(crate) fn all_words(&self) -> impl Iterator<Item = (&str, &FrameWords)> {
        self.words.iter().map(|(language, words)| (language.as_str(), words))
    }
}

impl Parameter {
    /// Returns the first name of the pointer: a member of the input.
    pub fn member(&self) -> &str {
        self.pointer.split('/').nth(1).unwrap_or_default()
    }

    /// Returns true for a pointer whose parts are plain names.
    fn has_pointer(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut segments = self.pointer.split('/');
        segments.next() == Some("")
            && self.pointer.len() <= 256
            && self.member().starts_with(|c: char| c.is_ascii_alphabetic())
            && segments.all(|segment| !segment.is_empty() && segment.chars().all(is_plain))
    }
}

impl FrameWords {
    /// Reads phrases, words that name the object of the intent, and cue words of parameters by their pointers.
    ///
    /// # Errors
    /// [`FrameError`]
    pub fn new<'w>(
        phrases: impl IntoIterator<Item = &'w str>,
        objects: impl IntoIterator<Item = &'w str>,
        cues: impl IntoIterator<Item = (&'w str, Vec<&'w str>)>,
    ) -> Result<Self, FrameError> {
        let read = |text: &'w str| {
            Phrase::new(text).map_err(|source| FrameError::Phrase { text: text.to_owned(), source })
        };
        let mut phrases: Vec<Phrase> = phrases.into_iter().map(read).collect::<Result<_, _>>()?;
        phrases.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        phrases.dedup();
        let cues: BTreeMap<String, Terms> = cues
            .into_iter()
            .map(|(pointer, words)| (pointer.to_owned(), Terms::new(words)))
            .collect();
        let objects = Terms::new(objects);
        let is_short = |terms: &Terms| terms.len() <= TERMS_MAX;
        match phrases.len() <= PHRASES_MAX && is_short(&objects) && cues.values().all(is_short) {
            true => Ok(Self { phrases, objects, cues }),
            false => Err(FrameError::TooMany),
        }
    }
}
