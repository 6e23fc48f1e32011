//! Lexicons, which contain the words, core action phrases, questions and messages of one language each.

use std::collections::BTreeMap;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use serde::Deserialize;

use crate::fold::Terms;
use crate::limits::{LEXICON_BYTES_MAX, TERMS_MAX};
use crate::phrase::{Phrase, PhraseError};
use crate::refusal::RefusalCode;
use crate::simulation::{FrameError, FrameWords};

/// Codes of the built-in languages, each with its lexicon document.
const BUILT_IN: [(&str, &[u8]); 6] = [
    ("de", include_bytes!("../data/de.json")),
    ("en", include_bytes!("../data/en.json")),
    ("es", include_bytes!("../data/es.json")),
    ("fr", include_bytes!("../data/fr.json")),
    ("it", include_bytes!("../data/it.json")),
    ("pt", include_bytes!("../data/pt.json")),
];
/// Language of questions and messages that are not available in the language of the user.
const FALLBACK: &str = "en";
/// Names of the questions that every lexicon must contain.
const QUESTIONS: [&str; 17] = [
    "commands", "command", "content", "document", "doubt", "edits", "either", "empty", "error",
    "field", "find", "from", "hidden", "path", "replace", "run", "to",
];
/// Maximum length of a question or message in a lexicon, in characters, before names are filled in.
const TEXT_CHARS_MAX: usize = 300;

/// Words, phrases and texts of one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lexicon {
    /// Words that do not affect the intent, such as articles and `please`.
    pub(crate) function_words: Terms,
    /// Words that change the meaning of a command, such as negations, question words, conditions and times.
    pub(crate) guards: Terms,
    /// Sequences of adjacent words that act as guards. For example, `can we` asks a question.
    pub(crate) guard_phrases: Vec<Phrase>,
    /// Verbs for destructive actions, such as `delete`.
    pub(crate) destructive: Terms,
    /// Phrases that cause a goal to be refused. Their words match in any order.
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
    /// Empty lexicon, used for all other languages.
    empty: Lexicon,
    reference: Digest,
}

/// Reason why a lexicon cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexiconError {
    /// The lexicon exceeds its maximum size.
    #[error("the lexicon has {bytes} bytes, but the limit is {LEXICON_BYTES_MAX}")]
    Size {
        /// Size of the lexicon, in bytes.
        bytes: usize,
    },
    /// The lexicon is not valid JSON, or is JSON that parsers interpret differently.
    #[error("cannot read the lexicon: {0}")]
    Syntax(#[from] CanonicalError),
    /// A member of the lexicon is missing, unknown or of the wrong type.
    #[error("the lexicon is invalid: {message}")]
    Form {
        /// Description of the invalid member.
        message: String,
    },
    /// The lexicon has an unexpected format or language.
    #[error("expected a lexicon in the format `{}` for the language `{language}`", Lexicon::FORMAT)]
    Format {
        /// Language code that was expected.
        language: String,
    },
    /// A question or message is missing, unknown, too long, or contains control characters.
    #[error("the text `{name}` is missing or invalid in the lexicon for `{language}`")]
    Text {
        /// Language code of the lexicon.
        language: String,
        /// Name of the question or message.
        name: String,
    },
    /// A guard phrase or a phrase of a refused goal is invalid.
    #[error("the lexicon for `{language}` has an invalid phrase: {source}")]
    Phrase {
        /// Language code of the lexicon.
        language: String,
        /// Reason why the phrase is invalid.
        source: PhraseError,
    },
    /// A frame of a core action is invalid.
    #[error("the frame `{frame}` is invalid: {source}")]
    Frame {
        /// Name of the frame, as `ACTION.FRAME`.
        frame: String,
        /// Reason why the frame is invalid.
        source: FrameError,
    },
    /// A lexicon has a frame that no core action has, or lacks one.
    #[error("the frame `{frame}` is missing or unknown in a lexicon")]
    UnknownFrame {
        /// Name of the frame, as `ACTION.FRAME`.
        frame: String,
    },
    /// A list of words is too long.
    #[error("the lexicon for `{language}` has a list of more than {TERMS_MAX} words")]
    TooMany {
        /// Language code of the lexicon.
        language: String,
    },
}

/// Lexicon document as JSON. Each entry of a list contains one or more words.
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
    /// Required value of `format` in a lexicon document.
    pub(crate) const FORMAT: &str = "actum.finder-lexicon/1";

    /// Reads a lexicon for the given language. Unknown members and a different format or language are errors.
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

    /// Returns the words of a core action's frame, given its name in the form `ACTION.FRAME`.
    pub(crate) fn frame(&self, name: &str) -> Option<&FrameWords> {
        self.frames.get(name)
    }

    /// Returns the names of all frames in the lexicon.
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

    /// Returns the digest of all lexicon documents.
    pub(crate) fn reference(&self) -> Digest {
        self.reference
    }

    /// Returns the built-in languages with their lexicons, ordered by language code.
    pub(crate) fn languages(&self) -> impl Iterator<Item = (&'static str, &Lexicon)> {
        self.languages.iter().map(|(code, lexicon)| (*code, lexicon))
    }

    /// Returns the lexicon for a language, or an empty lexicon if the language is not built in.
    pub(crate) fn get(&self, language: &str) -> &Lexicon {
        self.languages.get(language).unwrap_or(&self.empty)
    }

    /// Returns a question in the given language, or in English if the language does not have it.
    pub(crate) fn question(&self, language: &str, name: &str) -> Option<&str> {
        let texts = [language, FALLBACK].map(|code| self.get(code).questions.get(name));
        texts.into_iter().flatten().next().map(String::as_str)
    }

    /// Returns the message for a refusal in the given language, or in English if the language does not have it.
    pub(crate) fn message(&self, language: &str, code: RefusalCode) -> &str {
        let texts = [language, FALLBACK].map(|language| self.get(language).messages.get(&code));
        texts.into_iter().flatten().next().map_or(code.as_str(), String::as_str)
    }

    /// Returns the description of a core action in the given language, or in English if the language does not have it.
    pub(crate) fn label(&self, language: &str, simulation: &str) -> Option<&str> {
        let labels = [language, FALLBACK].map(|code| self.get(code).labels.get(simulation));
        labels.into_iter().flatten().next().map(String::as_str)
    }
}
