//! Language tags (BCP 47).

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use actum_core::path::Cut;
use icu_locale_core::{LanguageIdentifier, Locale};
use serde::{Deserialize, Serialize};

use crate::limits::LANGUAGE_CHARS_MAX;

/// Well-formed BCP 47 tag of a language, in canonical case: `de-AT`, `sr-Latn`, `zh-Hant-HK`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LanguageTag {
    text: String,
    parts: LanguageIdentifier,
}

/// Error of a text that is not a language tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a language tag: expected one of BCP 47 of at most {LANGUAGE_CHARS_MAX} characters, such as `de-AT`",
    Cut(given.as_bytes(), LANGUAGE_CHARS_MAX)
)]
pub struct LanguageTagError {
    /// Text.
    pub given: String,
}

impl LanguageTag {
    /// Reads a tag in any case. Rejects extended language subtags (`zh-yue`), tags of private use alone (`x-klingon`)
    /// and underscores.
    ///
    /// # Errors
    /// [`LanguageTagError`]
    pub fn new(text: &str) -> Result<Self, LanguageTagError> {
        let locale = match text.len() {
            1..=LANGUAGE_CHARS_MAX => Locale::try_from_str(text).ok(),
            _ => None,
        };
        let Some(locale) = locale else {
            return Err(LanguageTagError { given: text.to_owned() });
        };
        Ok(Self { text: locale.to_string(), parts: locale.id })
    }

    /// Returns the tag in canonical case.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the language subtag; `und` for an undetermined language.
    pub fn language(&self) -> &str {
        self.parts.language.as_str()
    }

    /// Returns the script subtag.
    pub fn script(&self) -> Option<&str> {
        self.parts.script.as_ref().map(icu_locale_core::subtags::Script::as_str)
    }

    /// Returns the region subtag.
    pub fn region(&self) -> Option<&str> {
        self.parts.region.as_ref().map(icu_locale_core::subtags::Region::as_str)
    }

    /// Returns true if the language has a dotted and a dotless i, which case folding keeps separate.
    pub(super) fn is_turkic(&self) -> bool {
        matches!(self.language(), "az" | "tr")
    }
}

impl fmt::Display for LanguageTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for LanguageTag {
    type Err = LanguageTagError;

    fn from_str(text: &str) -> Result<Self, LanguageTagError> {
        Self::new(text)
    }
}

impl TryFrom<String> for LanguageTag {
    type Error = LanguageTagError;

    fn try_from(text: String) -> Result<Self, LanguageTagError> {
        Self::new(&text)
    }
}

impl From<LanguageTag> for String {
    fn from(tag: LanguageTag) -> Self {
        tag.text
    }
}
