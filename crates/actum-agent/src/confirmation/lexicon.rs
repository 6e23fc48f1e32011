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
/// Most languages of a lexicon, scripts counted apart.
pub const LANGUAGES_MAX: usize = 1024;
/// Most words of one list.
pub const WORDS_MAX: usize = 64;

/// `cargo xtask lexicon` writes it.
static BUILT_IN: &[u8] = include_bytes!("confirm_lexicon.json");

/// Canonical words of all languages. Its reference is the digest of its bytes (`confirm_lexicon_version_ref`).
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
    /// Languages with a region where another script than their usual one is written.
    region_scripts: BTreeMap<String, String>,
    /// Acknowledgements of all languages.
    banned: Vec<String>,
    languages: BTreeMap<String, Words>,
}

/// Bytes that are not a lexicon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexiconError {
    /// It is too large.
    #[error("the lexicon has {bytes} bytes, more than {LEXICON_BYTES_MAX}")]
    Size {
        /// Its size.
        bytes: usize,
    },
    /// It is not strict JSON.
    #[error("the lexicon cannot be read: {source}")]
    Syntax {
        /// The mistake.
        #[from]
        source: CanonicalError,
    },
    /// A member is missing, unknown or of another type.
    #[error("the lexicon has another form: {message}")]
    Form {
        /// The mistake.
        message: String,
    },
    /// It is a document of another format.
    #[error("the lexicon has the format `{found}` instead of `{}`", Lexicon::FORMAT)]
    Format {
        /// Its format.
        found: String,
    },
    /// Its version is not 1 to 64 letters, digits, `.`, `+` and `-`.
    #[error("the lexicon has an invalid version")]
    Version,
    /// It has too many languages, or none.
    #[error("the lexicon has {count} languages instead of 1 to {LANGUAGES_MAX}")]
    Languages {
        /// Their number.
        count: usize,
    },
    /// A key is not a canonical language tag of the form that is used there, or its script is not one.
    #[error("the lexicon has the invalid key `{key}`")]
    Key {
        /// The key.
        key: String,
    },
    /// A list of words cannot be used.
    #[error("the lexicon cannot be used for `{language}`: {problem}")]
    Token {
        /// Language; `und` for the words of all languages.
        language: String,
        /// Diagnostic.
        problem: TokenProblem,
    },
}

/// Diagnostic in the words of a language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// There is no affirmative, or no negative.
    #[error("it has no affirmative or no negative")]
    Missing,
    /// A list is too long.
    #[error("a list has more than {WORDS_MAX} words")]
    TooMany,
    /// A word is not in its normal form, which an answer is compared with.
    #[error("`{token}` is not normalised")]
    NotNormalised {
        /// The word.
        token: String,
    },
    /// A word stands twice: in one list, in two, or in one and among the banned words of all languages.
    #[error("`{token}` stands twice")]
    Repeated {
        /// The word.
        token: String,
    },
}

impl Lexicon {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.confirmation-lexicon/1";

    /// Reads the lexicon of this program. Keep it: reading checks every word.
    ///
    /// # Errors
    /// [`LexiconError`], which a test excludes.
    pub fn built_in() -> Result<Self, LexiconError> {
        Self::new(Cow::Borrowed(BUILT_IN))
    }

    /// Digest of the lexicon of this program, without reading it.
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
        // Refuses what a map would hide: a language that stands twice.
        let value = canonical::read(&bytes)?;
        let document: Document = serde_json::from_value(value)
            .map_err(|error| LexiconError::Form { message: canonical::describe(&error) })?;
        document.check()?;
        Ok(Self { reference: Digest::of(&bytes), bytes, document })
    }

    /// Digest of its bytes (`confirm_lexicon_version_ref`).
    pub fn reference(&self) -> Digest {
        self.reference
    }

    /// Its bytes, for the ledger.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its version, such as `cldr-48.2.0+actum.1`.
    pub fn version(&self) -> &str {
        &self.document.version
    }

    /// Words of a language, for a prompt to show; `None` for an unknown one.
    pub fn words(&self, language: &LanguageTag) -> Option<&Words> {
        self.entry(language).map(|(_, words)| words)
    }

    /// Tag under which the lexicon has the words of a language: `de` for `de-AT`, `zh-Hant` for `zh-TW`.
    pub fn entry_tag(&self, language: &LanguageTag) -> Option<&str> {
        self.entry(language).map(|(tag, _)| tag)
    }

    /// All languages, in the order of their tags.
    pub fn languages(&self) -> impl Iterator<Item = (&str, &Words)> {
        self.document.languages.iter().map(|(tag, words)| (tag.as_str(), words))
    }

    /// Acknowledgements that are banned in all languages.
    pub fn banned(&self) -> &[String] {
        &self.document.banned
    }

    pub(super) fn is_banned(&self, token: &str) -> bool {
        self.document.banned.iter().any(|banned| banned == token)
    }

    /// The word is canonical in some language.
    pub(super) fn has_canonical(&self, token: &str) -> bool {
        self.document
            .languages
            .values()
            .flat_map(|words| words.affirmative.iter().chain(&words.negative))
            .any(|word| word == token)
    }

    /// Looks a language up: with its script, then without if that is its usual one. A deprecated language is replaced
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

/// Checks a key: a tag in canonical form, and of the form that is used there.
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

/// First word that is not in its normal form, that stands twice, or that is among the others.
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
