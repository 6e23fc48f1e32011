//! Reviewed overlay with changes to the data of CLDR and the reason for each.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Changes to the words of CLDR.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overlay {
    format: String,
    /// Incremented with each change. It is the last part of the lexicon version.
    pub(super) version: u32,
    /// Acknowledgements that are banned in every language.
    pub(super) banned: Vec<Banned>,
    pub(super) languages: BTreeMap<String, OfLanguage>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Banned {
    pub(super) tokens: Vec<String>,
    reason: String,
}

/// Changes to one language.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfLanguage {
    /// Omits the language.
    pub(super) omit: Option<Omission>,
    /// Uses the row of another locale, or a row below basic coverage.
    pub(super) source: Option<Source>,
    /// Splits the row at another separator than `:`.
    pub(super) separator: Option<Separator>,
    #[serde(default)]
    pub(super) changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Omission {
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) locale: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Separator {
    pub(super) text: String,
    reason: String,
}

/// Change to one list of words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) list: List,
    #[serde(default)]
    pub(super) add: Vec<String>,
    #[serde(default)]
    pub(super) remove: Vec<String>,
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum List {
    Affirmative,
    Negative,
    Banned,
}

/// Reason why an overlay cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum OverlayError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it has the format `{0}`")]
    Format(String),
    #[error("a change of `{0}` has no reason, or changes nothing")]
    Idle(String),
}

impl Overlay {
    pub(super) const FORMAT: &str = "actum.lexicon-overlay/1";

    pub(super) fn read(bytes: &[u8]) -> Result<Self, OverlayError> {
        let overlay: Self = serde_json::from_slice(bytes)?;
        if overlay.format != Self::FORMAT {
            return Err(OverlayError::Format(overlay.format));
        }
        if overlay.banned.iter().any(|group| group.reason.is_empty() || group.tokens.is_empty()) {
            return Err(OverlayError::Idle("banned".to_owned()));
        }
        match overlay.languages.iter().find(|(_, of_language)| of_language.is_idle()) {
            Some((tag, _)) => Err(OverlayError::Idle(tag.clone())),
            None => Ok(overlay),
        }
    }
}

impl OfLanguage {
    /// Whether an entry changes nothing, or contains a change without a reason.
    fn is_idle(&self) -> bool {
        let Self { omit, source, separator, changes } = self;
        let reasons: Vec<&str> = [
            omit.as_ref().map(|it| it.reason.as_str()),
            source.as_ref().map(|it| it.reason.as_str()),
            separator.as_ref().map(|it| it.reason.as_str()),
        ]
        .into_iter()
        .flatten()
        .chain(changes.iter().map(|change| change.reason.as_str()))
        .collect();
        let is_empty = |change: &Change| change.add.is_empty() && change.remove.is_empty();
        reasons.is_empty() || reasons.contains(&"") || changes.iter().any(is_empty)
    }
}
