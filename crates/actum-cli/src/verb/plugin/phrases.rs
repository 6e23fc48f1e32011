//! Phrases of a package, as the Finder reads them.

use actum::reason::Reason;
use actum_action::Manifest;
use actum_core::path::Harmless;
use actum_finder::{Phrase, PhraseError};

use crate::failure::FailureKind;

/// Declared phrase that no utterance can have.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use the package `{action}`: no utterance has its phrase `{}` of the language `{language}`: {source}",
    Harmless(phrase.as_bytes())
)]
pub(crate) struct PhraseUnusable {
    action: String,
    language: String,
    phrase: String,
    source: PhraseError,
}

/// Checks each phrase of a package.
///
/// # Errors
/// The first phrase that the Finder would ignore.
pub(crate) fn check(manifest: &Manifest) -> Result<(), PhraseUnusable> {
    for (language, phrases) in &manifest.phrases {
        for phrase in phrases {
            Phrase::from_declared(phrase).map_err(|source| PhraseUnusable {
                action: manifest.name.to_string(),
                language: language.clone(),
                phrase: phrase.clone(),
                source,
            })?;
        }
    }
    Ok(())
}

impl FailureKind for PhraseUnusable {
    fn reason(&self) -> Reason {
        Reason::PluginUnusable
    }

    fn hints(&self) -> Vec<String> {
        vec![
            "write the phrase as words alone: without quotes, paths, numbers, `|` and characters that are not shown"
                .to_owned(),
        ]
    }

    fn state(&self) -> Option<String> {
        Some(actum_workspace::State::Unchanged.to_string())
    }
}
