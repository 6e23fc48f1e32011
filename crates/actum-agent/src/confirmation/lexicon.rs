//! Lexicon: canonical words of each language, as one versioned document.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use serde::Deserialize;

use super::language::LanguageTag;
use super::normalise::normalise;

/// Largest lexicon, in bytes.
pub const LEXICON_BYTES_MAX: usize = 1 << 20;
/// Most languages of a lexicon. Each script of a language counts.
pub const LANGUAGES_MAX: usize = 1024;
/// Most words of one list.
pub const WORDS_MAX: usize = 64;

/// Lexicon of this program, which `cargo xtask lexicon` writes.
static BUILT_IN: &[u8] = include_bytes!("confirm_lexicon.json");

/// Canonical words of all languages. The lexicon's reference is the digest of its bytes
/// (`confirm_lexicon_version_ref`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexicon {
    bytes: Cow<'static, [u8]>,
    reference: Digest,
    document: Document,
}

/// Words of one language in one script, normalised; the canonical one of each list first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Script of the language, as ISO 15924 names it.
    pub script: String,
    /// Words that confirm.
    pub affirmative: Vec<String>,
    /// Words that reject.
    pub negative: Vec<String>,
    /// Acknowledgements that neither confirm nor reject.
    pub banned: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    version: String,
    /// Deprecated language subtags, each with the tag that replaces it.
    aliases: BTreeMap<String, LanguageTag>,
    /// Languages with a region whose script is not the usual one.
    region_scripts: BTreeMap<String, String>,
    /// Acknowledgements of all languages.
    banned: Vec<String>,
    languages: BTreeMap<String, Words>,
}

/// Error of bytes that are not a lexicon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexiconError {
    /// The lexicon is too large.
    #[error("the lexicon has {bytes} bytes, more than {LEXICON_BYTES_MAX}")]
    Size {
        /// Size of the lexicon.
        bytes: usize,
    },
    /// The lexicon is not strict JSON.
    #[error("the lexicon cannot be read: {source}")]
    Syntax {
        /// Error.
        #[from]
        source: CanonicalError,
    },
    /// A member is missing, unknown or of another type.
    #[error("the lexicon has another form: {message}")]
    Form {
        /// Error.
        message: String,
    },
    /// The document has another format.
    #[error("the lexicon has the format `{found}` instead of `{}`", Lexicon::FORMAT)]
    Format {
        /// Format of the document.
        found: String,
    },
    /// The version is not 1 to 64 letters, digits, `.`, `+` and `-`.
    #[error("the lexicon has an invalid version")]
    Version,
    /// The lexicon has too many languages, or none.
    #[error("the lexicon has {count} languages instead of 1 to {LANGUAGES_MAX}")]
    Languages {
        /// Number of languages.
        count: usize,
    },
    /// A key is not a canonical language tag of the form at its place, or its script does not exist.
    #[error("the lexicon has the invalid key `{key}`")]
    Key {
        /// Key.
        key: String,
    },
    /// A list of words cannot be used.
    #[error("the lexicon cannot be used for `{language}`: {problem}")]
    Token {
        /// Language; `und` for the words of all languages.
        language: String,
        /// Problem of the list.
        problem: TokenProblem,
    },
}

/// Problem of the words of a language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// The language has no affirmative, or no negative.
    #[error("it has no affirmative or no negative")]
    Missing,
    /// A list is too long.
    #[error("a list has more than {WORDS_MAX} words")]
    TooMany,
    /// A word is not in its normal form, with which an answer is compared.
    #[error("`{token}` is not normalised")]
    NotNormalised {
        /// Word.
        token: String,
    },
    /// A word is repeated: in one list, in two, or in one and among the banned words of all languages.
    #[error("`{token}` is repeated")]
    Repeated {
        /// Word.
        token: String,
    },
}

impl Lexicon {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.confirmation-lexicon/1";

    /// Reads the lexicon of this program. Keep the result: reading checks every word.
    ///
    /// # Errors
    /// [`LexiconError`], which a test excludes.
    pub fn built_in() -> Result<Self, LexiconError> {
        Self::new(Cow::Borrowed(BUILT_IN))
    }

    /// Returns the digest of this program's lexicon, without reading it.
    pub fn built_in_reference() -> Digest {
        Digest::of(BUILT_IN)
    }

    /// Reads a lexicon strictly.
    ///
    /// # Errors
    /// [`LexiconError`]
    pub fn read(bytes: &[u8]) -> Result<Self, LexiconError> {
        Self::new(Cow::Owned(bytes.to_owned()))
    }

    fn new(bytes: Cow<'static, [u8]>) -> Result<Self, LexiconError> {
        if bytes.len() > LEXICON_BYTES_MAX {
            return Err(LexiconError::Size { bytes: bytes.len() });
        }
        // Rejects a repeated language, which a map would hide.
        let value = canonical::read(&bytes)?;
        let document: Document = serde_json::from_value(value)
            .map_err(|error| LexiconError::Form { message: canonical::describe(&error) })?;
        document.check()?;
        Ok(Self { reference: Digest::of(&bytes), bytes, document })
    }

    /// Returns the digest of the bytes (`confirm_lexicon_version_ref`).
    pub fn reference(&self) -> Digest {
        self.reference
    }

    /// Returns the bytes, for the ledger.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the version, such as `cldr-48.2.0+actum.1`.
    pub fn version(&self) -> &str {
        &self.document.version
    }

    /// Returns the words of a language for a prompt; `None` for an unknown language.
    pub fn words(&self, language: &LanguageTag) -> Option<&Words> {
        self.entry(language).map(|(_, words)| words)
    }

    /// Returns the tag under which the lexicon has the words of a language: `de` for `de-AT`, `zh-Hant` for `zh-TW`.
    pub fn entry_tag(&self, language: &LanguageTag) -> Option<&str> {
        self.entry(language).map(|(tag, _)| tag)
    }

    /// Returns all languages, in the order of their tags.
    pub fn languages(&self) -> impl Iterator<Item = (&str, &Words)> {
        self.document.languages.iter().map(|(tag, words)| (tag.as_str(), words))
    }

    /// Returns the acknowledgements that are banned in all languages.
    pub fn banned(&self) -> &[String] {
        &self.document.banned
    }

    pub(super) fn is_banned(&self, token: &str) -> bool {
        self.document.banned.iter().any(|banned| banned == token)
    }

    /// Returns true if the word is canonical in some language.
    pub(super) fn has_canonical(&self, token: &str) -> bool {
        self.document
            .languages
            .values()
            .flat_map(|words| words.affirmative.iter().chain(&words.negative))
            .any(|word| word == token)
    }

    /// Looks up a language: with its script, then without if that is its usual one. A deprecated language is replaced
    /// first, and a region can imply a script. Variants and extensions do not matter.
    fn entry(&self, tag: &LanguageTag) -> Option<(&str, &Words)> {
        let Document { aliases, region_scripts, languages, .. } = &self.document;
        let alias = aliases.get(tag.language());
        let language = alias.map_or(tag.language(), LanguageTag::language);
        let region = tag.region().or_else(|| alias?.region());
        let implied = || region_scripts.get(&format!("{language}-{}", region?)).map(String::as_str);
        let script = tag.script().or_else(|| alias?.script()).or_else(implied);
        let with_script =
            script.and_then(|script| languages.get_key_value(&format!("{language}-{script}")));
        let (tag, words) = with_script.or_else(|| {
            languages
                .get_key_value(language)
                .filter(|(_, words)| script.is_none_or(|script| words.script == script))
        })?;
        Some((tag, words))
    }
}

impl Document {
    fn check(&self) -> Result<(), LexiconError> {
        let Self { format, version, aliases, region_scripts, banned, languages } = self;
        if format != Lexicon::FORMAT {
            return Err(LexiconError::Format { found: format.clone() });
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
        if !(1..=64).contains(&version.len()) || !version.bytes().all(is_plain) {
            return Err(LexiconError::Version);
        }
        if !(1..=LANGUAGES_MAX).contains(&languages.len()) {
            return Err(LexiconError::Languages { count: languages.len() });
        }
        for key in aliases.keys() {
            check_key(key, |tag| tag.language() == key)?;
        }
        for (key, script) in region_scripts {
            let is_used = |tag: &LanguageTag| tag.region().is_some() && tag.script().is_none();
            check_key(key, is_used)?;
            check_script(script)?;
        }
        let undetermined = LanguageTag::new("und").map_err(|_| key_error("und"))?;
        check_words(&undetermined, &[banned], &[])?;
        for (key, words) in languages {
            let is_used = |tag: &LanguageTag| tag.region().is_none() && tag.language() != "und";
            let tag = check_key(key, is_used)?;
            let Words { script, affirmative, negative, banned: acknowledgements } = words;
            check_script(script)?;
            if tag.script().is_some_and(|of_key| of_key != script) {
                return Err(key_error(key));
            }
            if affirmative.is_empty() || negative.is_empty() {
                let language = key.clone();
                return Err(LexiconError::Token { language, problem: TokenProblem::Missing });
            }
            check_words(&tag, &[affirmative, negative, acknowledgements], banned)?;
        }
        Ok(())
    }
}

/// Checks a key: a canonical tag of the form at its place.
fn check_key(
    key: &str,
    is_used: impl Fn(&LanguageTag) -> bool,
) -> Result<LanguageTag, LexiconError> {
    LanguageTag::new(key)
        .ok()
        .filter(|tag| tag.as_str() == key && is_used(tag))
        .ok_or_else(|| key_error(key))
}

fn check_script(script: &str) -> Result<(), LexiconError> {
    let tag = LanguageTag::new(&format!("und-{script}")).map_err(|_| key_error(script))?;
    if tag.script() == Some(script) { Ok(()) } else { Err(key_error(script)) }
}

fn key_error(key: &str) -> LexiconError {
    LexiconError::Key { key: key.to_owned() }
}

/// Checks lists of words.
fn check_words(
    language: &LanguageTag,
    lists: &[&Vec<String>],
    others: &[String],
) -> Result<(), LexiconError> {
    match problem(language, lists, others) {
        Some(problem) => {
            Err(LexiconError::Token { language: language.as_str().to_owned(), problem })
        }
        None => Ok(()),
    }
}

/// Returns the first word that is not in its normal form, is repeated, or is among the others.
fn problem(
    language: &LanguageTag,
    lists: &[&Vec<String>],
    others: &[String],
) -> Option<TokenProblem> {
    if lists.iter().any(|list| list.len() > WORDS_MAX) {
        return Some(TokenProblem::TooMany);
    }
    let mut seen: BTreeSet<&String> = others.iter().collect();
    for token in lists.iter().copied().flatten() {
        if normalise(language, token).as_ref() != Ok(token) {
            return Some(TokenProblem::NotNormalised { token: token.clone() });
        }
        if !seen.insert(token) {
            return Some(TokenProblem::Repeated { token: token.clone() });
        }
    }
    None
}
