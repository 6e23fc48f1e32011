//! Language tags as defined by BCP 47.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use actum_core::path::Cut;
use icu_locale_core::{LanguageIdentifier, Locale};
use serde::{Deserialize, Serialize};

use crate::limits::LANGUAGE_CHARS_MAX;

/// Well-formed BCP 47 language tag in canonical case, for example `de-AT`, `sr-Latn` or `zh-Hant-HK`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LanguageTag {
    text: String,
    parts: LanguageIdentifier,
}

/// Error returned if a text is not a valid language tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a language tag: expected a BCP 47 tag of at most {LANGUAGE_CHARS_MAX} characters, such as `de-AT`",
    Cut(given.as_bytes(), LANGUAGE_CHARS_MAX)
)]
pub struct LanguageTagError {
    /// Text that was given as a language tag.
    pub given: String,
}

impl LanguageTag {
    /// Parses a language tag, ignoring case. Rejects extended language subtags (`zh-yue`), tags that consist only of
    /// private-use subtags (`x-klingon`), and underscores.
    ///
    /// # Errors
    /// Returns a [`LanguageTagError`] if the text is not a supported tag.
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

    /// Returns the language subtag, which is `und` for an undetermined language.
    pub fn language(&self) -> &str {
        self.parts.language.as_str()
    }

    /// Returns the script subtag, if the tag has one.
    pub fn script(&self) -> Option<&str> {
        self.parts.script.as_ref().map(icu_locale_core::subtags::Script::as_str)
    }

    /// Returns the region subtag, if the tag has one.
    pub fn region(&self) -> Option<&str> {
        self.parts.region.as_ref().map(icu_locale_core::subtags::Region::as_str)
    }

    /// Checks whether the language distinguishes a dotted and a dotless i, so that it needs Turkic case folding.
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
