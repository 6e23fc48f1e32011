//! Lexicon of a language: words, phrases of the core actions, questions and messages.

use std::collections::BTreeMap;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use serde::Deserialize;

use crate::fold::Terms;
use crate::limits::{LEXICON_BYTES_MAX, TERMS_MAX};
use crate::phrase::{Phrase, PhraseError};
use crate::refusal::RefusalCode;
use crate::simulation::{FrameError, FrameWords};

/// Codes of the built-in languages, each with its document.
const BUILT_IN: [(&str, &[u8]); 6] = [
    ("de", include_bytes!("../data/de.json")),
    ("en", include_bytes!("../data/en.json")),
    ("es", include_bytes!("../data/es.json")),
    ("fr", include_bytes!("../data/fr.json")),
    ("it", include_bytes!("../data/it.json")),
    ("pt", include_bytes!("../data/pt.json")),
];
/// Language of questions if the user's is unknown.
const FALLBACK: &str = "en";
/// Questions of each lexicon.
const QUESTIONS: [&str; 17] = [
    "commands", "command", "content", "document", "doubt", "edits", "either", "empty", "error",
    "field", "find", "from", "hidden", "path", "replace", "run", "to",
];
/// Longest question or message of a lexicon, in characters, without the names that are filled in.
const TEXT_CHARS_MAX: usize = 300;

/// Words of one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lexicon {
    /// Words without a meaning for the intent: articles, politeness.
    pub(crate) function_words: Terms,
    /// Words that change the meaning of a command: negation, questions, conditions, times.
    pub(crate) guards: Terms,
    /// Neighbouring words that act as guards: `can we` asks for permission.
    pub(crate) guard_phrases: Vec<Phrase>,
    /// Verbs that destroy.
    pub(crate) destructive: Terms,
    /// Phrases of refused goals. Their words count in any order.
    pub(crate) refusals: BTreeMap<RefusalCode, Vec<Phrase>>,
    messages: BTreeMap<RefusalCode, String>,
    questions: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    frames: BTreeMap<String, FrameWords>,
}

/// Lexicons of all built-in languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lexicons {
    languages: BTreeMap<&'static str, Lexicon>,
    /// Lexicon of all other languages.
    empty: Lexicon,
    reference: Digest,
}

/// Lexicon that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexiconError {
    /// The lexicon is too large.
    #[error("the lexicon has {bytes} bytes, more than {LEXICON_BYTES_MAX}")]
    Size {
        /// Size of the lexicon.
        bytes: usize,
    },
    /// The lexicon is not strict JSON.
    #[error("the lexicon cannot be read: {0}")]
    Syntax(#[from] CanonicalError),
    /// A member is missing, unknown or of another type.
    #[error("the lexicon has another form: {message}")]
    Form {
        /// Error.
        message: String,
    },
    /// The lexicon has another format or language.
    #[error("the lexicon is not `{}` for `{language}`", Lexicon::FORMAT)]
    Format {
        /// Expected language.
        language: String,
    },
    /// A question or message is missing, unknown or too long.
    #[error("the lexicon of `{language}` has no usable text `{name}`")]
    Text {
        /// Language.
        language: String,
        /// Name of the text.
        name: String,
    },
    /// A phrase of a refused goal cannot be used.
    #[error("the lexicon of `{language}` has an unusable phrase: {source}")]
    Phrase {
        /// Language.
        language: String,
        /// Error.
        source: PhraseError,
    },
    /// The words of a frame cannot be used.
    #[error("the frame `{frame}` cannot be used: {source}")]
    Frame {
        /// Name of the frame.
        frame: String,
        /// Error.
        source: FrameError,
    },
    /// The frames of the core actions and of the lexicons differ.
    #[error("the frame `{frame}` is missing or unknown in a lexicon")]
    UnknownFrame {
        /// Name of the frame.
        frame: String,
    },
    /// A list is too long.
    #[error("the lexicon of `{language}` has a list of more than {TERMS_MAX} words")]
    TooMany {
        /// Language.
        language: String,
    },
}

/// Document of a lexicon. Each entry of a list holds one or more words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    language: String,
    function_words: Vec<String>,
    guards: Vec<String>,
    guard_phrases: Vec<String>,
    destructive: Vec<String>,
    refusals: BTreeMap<RefusalCode, Vec<String>>,
    messages: BTreeMap<RefusalCode, String>,
    questions: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    frames: BTreeMap<String, FrameDocument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameDocument {
    phrases: Vec<String>,
    #[serde(default)]
    objects: Vec<String>,
    #[serde(default)]
    cues: BTreeMap<String, Vec<String>>,
}

impl Lexicon {
    /// Value of `format`.
    pub(crate) const FORMAT: &str = "actum.finder-lexicon/1";

    /// Reads a lexicon strictly.
    pub(crate) fn read(language: &str, bytes: &[u8]) -> Result<Self, LexiconError> {
        if bytes.len() > LEXICON_BYTES_MAX {
            return Err(LexiconError::Size { bytes: bytes.len() });
        }
        let document: Document = serde_json::from_value(canonical::read(bytes)?)
            .map_err(|error| LexiconError::Form { message: canonical::describe(&error) })?;
        if document.format != Self::FORMAT || document.language != language {
            return Err(LexiconError::Format { language: language.to_owned() });
        }
        document.check_texts()?;
        let terms = |words: &[String]| {
            let terms = Terms::new(words.iter().flat_map(|words| words.split_whitespace()));
            let too_many = || LexiconError::TooMany { language: language.to_owned() };
            (terms.len() <= TERMS_MAX).then_some(terms).ok_or_else(too_many)
        };
        let read_phrases = |texts: &[String]| {
            let phrases: Result<Vec<Phrase>, _> =
                texts.iter().map(|text| Phrase::new(text)).collect();
            phrases.map_err(|source| LexiconError::Phrase { language: language.to_owned(), source })
        };
        let phrases =
            |(code, texts): (&RefusalCode, &Vec<String>)| Ok((*code, read_phrases(texts)?));
        let frames = document.frames.iter().map(|(name, frame)| {
            let wrong = |source| LexiconError::Frame { frame: name.clone(), source };
            Ok((name.clone(), frame.words().map_err(wrong)?))
        });
        Ok(Self {
            function_words: terms(&document.function_words)?,
            guards: terms(&document.guards)?,
            guard_phrases: read_phrases(&document.guard_phrases)?,
            destructive: terms(&document.destructive)?,
            refusals: document.refusals.iter().map(phrases).collect::<Result<_, LexiconError>>()?,
            frames: frames.collect::<Result<_, LexiconError>>()?,
            messages: document.messages,
            questions: document.questions,
            labels: document.labels,
        })
    }

    /// Returns the words of a frame of a core action, by `ACTION.FRAME`.
    pub(crate) fn frame(&self, name: &str) -> Option<&FrameWords> {
        self.frames.get(name)
    }

    /// Returns the names of all frames.
    pub(crate) fn frame_names(&self) -> impl Iterator<Item = &String> {
        self.frames.keys()
    }
}

impl Document {
    fn check_texts(&self) -> Result<(), LexiconError> {
        let Self { language, messages, questions, .. } = self;
        let is_usable = |text: &String| {
            (1..=TEXT_CHARS_MAX).contains(&text.chars().count()) && !text.contains(char::is_control)
        };
        let wrong =
            |name: &str| LexiconError::Text { language: language.clone(), name: name.to_owned() };
        for name in QUESTIONS {
            questions.get(name).filter(|text| is_usable(text)).ok_or_else(|| wrong(name))?;
        }
        if let Some(name) = questions.keys().find(|name| !QUESTIONS.contains(&name.as_str())) {
            return Err(wrong(name));
        }
        for code in RefusalCode::ALL {
            let text = messages.get(&code).filter(|text| is_usable(text));
            text.ok_or_else(|| wrong(code.as_str()))?;
        }
        Ok(())
    }
}

impl FrameDocument {
    fn words(&self) -> Result<FrameWords, FrameError> {
        fn each(words: &[String]) -> impl Iterator<Item = &str> {
            words.iter().flat_map(|words| words.split_whitespace())
        }
        FrameWords::new(
            self.phrases.iter().map(String::as_str),
            each(&self.objects),
            self.cues.iter().map(|(pointer, words)| (pointer.as_str(), each(words).collect())),
        )
    }
}

impl Lexicons {
    /// Reads the built-in lexicons.
    pub(crate) fn built_in() -> Result<Self, LexiconError> {
        let read = |(code, bytes): (&'static str, &[u8])| Ok((code, Lexicon::read(code, bytes)?));
        let languages = BUILT_IN.into_iter().map(read).collect::<Result<_, LexiconError>>()?;
        let bytes = BUILT_IN.map(|(_, bytes)| bytes);
        let reference = Digest::tagged("actum/finder-lexicons/1", &bytes);
        Ok(Self { languages, empty: Lexicon::default(), reference })
    }

    /// Returns the digest of all lexicons.
    pub(crate) fn reference(&self) -> Digest {
        self.reference
    }

    /// Returns the languages, by code.
    pub(crate) fn languages(&self) -> impl Iterator<Item = (&'static str, &Lexicon)> {
        self.languages.iter().map(|(code, lexicon)| (*code, lexicon))
    }

    /// Returns the lexicon of a language, or an empty one if the language is not built in.
    pub(crate) fn get(&self, language: &str) -> &Lexicon {
        self.languages.get(language).unwrap_or(&self.empty)
    }

    /// Returns the question in a language, or else in English.
    pub(crate) fn question(&self, language: &str, name: &str) -> Option<&str> {
        let texts = [language, FALLBACK].map(|code| self.get(code).questions.get(name));
        texts.into_iter().flatten().next().map(String::as_str)
    }

    /// Returns the message of a refusal in a language, or else in English.
    pub(crate) fn message(&self, language: &str, code: RefusalCode) -> &str {
        let texts = [language, FALLBACK].map(|language| self.get(language).messages.get(&code));
        texts.into_iter().flatten().next().map_or(code.as_str(), String::as_str)
    }

    /// Returns the description of a core action in a language, or else in English.
    pub(crate) fn label(&self, language: &str, simulation: &str) -> Option<&str> {
        let labels = [language, FALLBACK].map(|code| self.get(code).labels.get(simulation));
        labels.into_iter().flatten().next().map(String::as_str)
    }
}
