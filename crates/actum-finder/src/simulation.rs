//! Simulations in the form that the Finder searches, with their names, phrases and parameters.

use std::collections::BTreeMap;

use actum_core::{ActionName, Digest};
use serde::Deserialize;
use serde_json::Value;

use crate::fold::Terms;
use crate::limits::{FRAMES_MAX, PARAMETERS_MAX, PHRASES_MAX, TERMS_MAX};
use crate::phrase::{Phrase, PhraseError};

/// Language code (BCP 47) of words that apply to every language.
pub const ANY_LANGUAGE: &str = "und";

/// Active simulation of a catalog, which an utterance can match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    /// Name of the simulation, which is unique in the catalog.
    pub id: ActionName,
    /// Version, if the simulation has one.
    pub version: Option<String>,
    /// Action that the access policies decide on.
    pub access_action: String,
    /// Method for rolling back the simulation's effect.
    pub rollback: Rollback,
    /// Forms that the input can have, each with its own phrases.
    pub frames: Vec<Frame>,
}

/// Method for rolling back the effect of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollback {
    /// The effect is not rolled back, for example because there is none.
    None,
    /// The core action `undo_run` rolls back the effect.
    UndoRun,
}

/// Form of a simulation's input, described by its parameters and by the words that request it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Name of the frame, which is unique within its simulation.
    pub name: String,
    /// Parameters that the values of an utterance can fill.
    pub parameters: Vec<Parameter>,
    words: BTreeMap<String, FrameWords>,
}

/// Parameter of a frame, which a value of an utterance can fill.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// JSON Pointer (RFC 6901) to the value in the input. The segment `0` refers to the only element of a list.
    pub pointer: String,
    /// Kind of value that the parameter accepts.
    pub kind: ParameterKind,
    /// Whether the input must have a value for this parameter.
    pub required: bool,
    /// Whether a value is accepted only after a cue word.
    pub needs_cue: bool,
}

/// Kind of value that a parameter accepts.
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
    /// Value that an utterance cannot contain, such as a list. The Finder asks the user for it if it is required.
    Other,
    /// Fixed value that the frame implies.
    Fixed(Value),
}

/// Phrases, object words and cue words of a frame in one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameWords {
    pub(crate) phrases: Vec<Phrase>,
    pub(crate) objects: Terms,
    pub(crate) cues: BTreeMap<String, Terms>,
}

/// Reason why a frame is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A phrase of the frame is invalid.
    #[error("the phrase `{text}` is invalid: {source}")]
    Phrase {
        /// Text of the phrase.
        text: String,
        /// Reason why the phrase is invalid.
        source: PhraseError,
    },
    /// The frame has too many parameters, phrases or words.
    #[error(
        "a frame may have at most {PARAMETERS_MAX} parameters, {PHRASES_MAX} phrases and {TERMS_MAX} words per list"
    )]
    TooMany,
    /// The pointer of a parameter is not a JSON Pointer with simple names.
    #[error("expected a JSON Pointer such as `/path` or `/edits/0/find`, found `{pointer}`")]
    Pointer {
        /// Invalid pointer.
        pointer: String,
    },
    /// The frame has cue words for an unknown parameter.
    #[error("there are cue words for `{pointer}`, but no parameter has that pointer")]
    Cue {
        /// Pointer that the cue words refer to.
        pointer: String,
    },
}

impl Simulation {
    /// Creates a simulation without parameters, whose only phrase is its name. For example, `format_code` matches the
    /// words `format code`.
    ///
    /// # Errors
    /// Returns [`FrameError`] if the name does not form a valid phrase.
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

    /// Computes a digest of everything that a search uses. The order of frames and phrases does not affect the digest.
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

    /// Returns true if the simulation has at most [`FRAMES_MAX`] frames.
    pub(crate) fn fits(&self) -> bool {
        self.frames.len() <= FRAMES_MAX
    }
}

impl Frame {
    /// Creates a frame from its parameters and its words in each language (ISO 639-1, or [`ANY_LANGUAGE`]).
    ///
    /// # Errors
    /// Returns [`FrameError`] if there are too many parameters, a pointer is invalid, or cue words have no parameter.
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

    /// Returns a text that represents the entire frame, as input for the digest.
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

    /// Returns the words of the frame in one language, followed by those for all languages.
    pub(crate) fn words_in<'f>(&'f self, language: &str) -> impl Iterator<Item = &'f FrameWords> {
        let own = (language != ANY_LANGUAGE).then(|| self.words.get(language)).flatten();
        own.into_iter().chain(self.words.get(ANY_LANGUAGE))
    }

    /// Returns the words of the frame in all languages, with the language codes.
    pub(crate) fn all_words(&self) -> impl Iterator<Item = (&str, &FrameWords)> {
        self.words.iter().map(|(language, words)| (language.as_str(), words))
    }
}

impl Parameter {
    /// Returns the first name in the pointer, which is a member of the input object.
    pub fn member(&self) -> &str {
        self.pointer.split('/').nth(1).unwrap_or_default()
    }

    /// Returns true if the pointer consists of ASCII letters, digits and underscores, and starts with a letter.
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
    /// Creates the words from phrases, from words for the object of the intent, and from cue words. The cue words are
    /// keyed by the pointer of their parameter.
    ///
    /// # Errors
    /// Returns [`FrameError`] if a phrase is invalid or a list is too long.
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
