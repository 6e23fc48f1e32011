//! Checks the phrases of a package, by which the Finder recognizes its action.

use actum::reason::Reason;
use actum_action::Manifest;
use actum_core::path::Harmless;
use actum_finder::{Phrase, PhraseError};

use crate::failure::FailureKind;

/// The manifest of a package declares a phrase that can never match an utterance.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use the package `{action}`: its `{language}` phrase `{}` can never match: {source}",
    Harmless(phrase.as_bytes())
)]
pub(crate) struct PhraseUnusable {
    action: String,
    language: String,
    phrase: String,
    source: PhraseError,
}

/// Checks all phrases in the manifest of a package.
///
/// # Errors
/// Returns an error for the first phrase that the Finder would ignore.
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
            "use only words in the phrase, without quotes, paths, numbers, `|` or invisible characters"
                .to_owned(),
        ]
    }

    fn state(&self) -> Option<String> {
        Some(actum_workspace::State::Unchanged.to_string())
    }
}
