//! Extract of CLDR: the answers of all locales, with the language, script and quality of each.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::json;

/// Unmodified part of CLDR from which the lexicon is derived.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extract {
    pub(super) format: String,
    /// CLDR release.
    pub(super) cldr: String,
    /// Replacements for language subtags, such as `he` for `iw`.
    pub(super) aliases: BTreeMap<String, String>,
    /// Usual script of each language.
    pub(super) scripts: BTreeMap<String, String>,
    /// Regions in which a language usually has a different script, such as `zh-TW` and `Hant`.
    pub(super) region_scripts: BTreeMap<String, String>,
    /// CLDR coverage level of each language, and of each language in a script, where there is one.
    pub(super) levels: BTreeMap<String, Level>,
    /// `yesstr` and `nostr` of each locale, inherited values included.
    pub(super) posix: BTreeMap<String, (String, String)>,
}

/// Coverage level of CLDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Basic,
    Moderate,
    Modern,
}

/// Reason why an extract cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExtractError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it has the format `{format}` and the release {cldr}")]
    Other { format: String, cldr: String },
}

impl Extract {
    pub(super) const FORMAT: &str = "actum.cldr-extract/1";

    pub(super) fn read(bytes: &[u8]) -> Result<Self, ExtractError> {
        let extract: Self = serde_json::from_slice(bytes)?;
        if extract.format != Self::FORMAT || extract.cldr != super::CLDR {
            let Self { format, cldr, .. } = extract;
            return Err(ExtractError::Other { format, cldr });
        }
        Ok(extract)
    }

    pub(super) fn write(&self) -> String {
        json::document(&[
            ("format", json::value(&self.format)),
            ("cldr", json::value(&self.cldr)),
            ("aliases", json::lines(json::members(&self.aliases))),
            ("scripts", json::lines(json::members(&self.scripts))),
            ("region_scripts", json::lines(json::members(&self.region_scripts))),
            ("levels", json::lines(json::members(&self.levels))),
            ("posix", json::lines(json::members(&self.posix))),
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// AEC-5
    #[test]
    fn vendored_extract_matches_the_output_format_of_a_fetch() {
        let bytes = fs::read(xtask::root().join(crate::lexicon::EXTRACT)).unwrap();
        assert_eq!(Extract::read(&bytes).unwrap().write().as_bytes(), bytes);
    }
}
