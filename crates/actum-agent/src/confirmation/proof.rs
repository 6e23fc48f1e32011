//! Proof of a parsed answer (`confirmation_parse_proof_ref`), with which it can be parsed again.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use actum_record::ledger::ConfirmationOutcome;
use serde::{Deserialize, Serialize};

use super::answer::{AmbiguousReason, parse};
use super::language::LanguageTag;
use super::lexicon::Lexicon;

/// Answer to one prompt, as in the request.
///
/// A proof holds the digest of the utterance and never the utterance. For a replay the caller keeps the utterance with
/// the request, or in a document of its own in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Language of the answer.
    pub language: &'a LanguageTag,
    /// Words of the user, unchanged.
    pub utterance: &'a str,
    /// Digest of the answered prompt.
    pub prompt: Digest,
    /// Fingerprint of the plan that the prompt shows.
    pub plan_fingerprint: Digest,
}

/// Proof that an answer was parsed, with the result.
///
/// The proof is a function of lexicon and reply. A parser with other rules writes another [`FORMAT`](Self::FORMAT).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseProof {
    /// [`ParseProof::FORMAT`].
    pub format: String,
    /// Digest of the lexicon.
    pub lexicon: Digest,
    /// Language of the answer, as in the request.
    pub language: LanguageTag,
    /// Tag under which the lexicon has the words; `None` for an unknown language.
    pub entry: Option<String>,
    /// Digest of the utterance.
    pub utterance: Digest,
    /// Canonical word of the answer, normalised; `None` for an ambiguous answer.
    pub token: Option<String>,
    /// Result.
    pub outcome: ConfirmationOutcome,
    /// Reason of an ambiguous answer.
    pub reason: Option<AmbiguousReason>,
    /// Digest of the prompt.
    pub prompt: Digest,
    /// Fingerprint of the plan.
    pub plan_fingerprint: Digest,
}

/// Error of bytes that are not a proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The proof is not strict JSON.
    #[error("the confirmation proof cannot be read: {source}")]
    Syntax {
        /// Error.
        #[from]
        source: CanonicalError,
    },
    /// A member is missing, unknown or of another type.
    #[error("the confirmation proof has another form: {message}")]
    Form {
        /// Error.
        message: String,
    },
    /// The document has another format.
    #[error("the confirmation proof has the format `{found}` instead of `{}`", ParseProof::FORMAT)]
    Format {
        /// Format of the document.
        found: String,
    },
    /// The proof is not in canonical form.
    #[error("the confirmation proof is not in canonical form")]
    NotCanonical,
}

/// First difference between a proof and the result of parsing the answer again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ProofMismatch {
    /// Format: other rules made the proof.
    #[error("the confirmation proof has another format")]
    Format,
    /// Lexicon.
    #[error("the confirmation proof was made with another lexicon")]
    Lexicon,
    /// Language.
    #[error("the confirmation proof is for an answer in another language")]
    Language,
    /// Utterance.
    #[error("the confirmation proof is for another utterance")]
    Utterance,
    /// Prompt.
    #[error("the confirmation proof is for another prompt")]
    Prompt,
    /// Plan.
    #[error("the confirmation proof is for another plan")]
    Plan,
    /// Token, outcome, reason or entry: the same input had another result.
    #[error("the confirmation proof has another result than the parser")]
    Result,
}

impl ParseProof {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.confirmation-proof/1";

    /// Parses a reply, and returns the proof.
    pub fn new(lexicon: &Lexicon, reply: &Reply<'_>) -> Self {
        let Reply { language, utterance, prompt, plan_fingerprint } = *reply;
        let answer = parse(lexicon, language, utterance);
        Self {
            format: Self::FORMAT.to_owned(),
            lexicon: lexicon.reference(),
            language: language.clone(),
            entry: lexicon.entry_tag(language).map(ToOwned::to_owned),
            utterance: Digest::of(utterance.as_bytes()),
            token: answer.token().map(ToOwned::to_owned),
            outcome: answer.outcome(),
            reason: answer.reason(),
            prompt,
            plan_fingerprint,
        }
    }

    /// Parses the reply again, and compares the results.
    ///
    /// # Errors
    /// [`ProofMismatch`], the first in the order of its variants.
    pub fn verify(&self, lexicon: &Lexicon, reply: &Reply<'_>) -> Result<(), ProofMismatch> {
        let again = Self::new(lexicon, reply);
        let differences = [
            (self.format != again.format, ProofMismatch::Format),
            (self.lexicon != again.lexicon, ProofMismatch::Lexicon),
            (self.language != again.language, ProofMismatch::Language),
            (self.utterance != again.utterance, ProofMismatch::Utterance),
            (self.prompt != again.prompt, ProofMismatch::Prompt),
            (self.plan_fingerprint != again.plan_fingerprint, ProofMismatch::Plan),
            (*self != again, ProofMismatch::Result),
        ];
        match differences.into_iter().find(|(differs, _)| *differs) {
            Some((_, mismatch)) => Err(mismatch),
            None => Ok(()),
        }
    }

    /// Reads a proof strictly: canonical bytes with exactly its members.
    ///
    /// # Errors
    /// [`ProofError`]
    pub fn read(bytes: &[u8]) -> Result<Self, ProofError> {
        let proof: Self = serde_json::from_value(canonical::read(bytes)?)
            .map_err(|error| ProofError::Form { message: canonical::describe(&error) })?;
        if proof.format != Self::FORMAT {
            return Err(ProofError::Format { found: proof.format });
        }
        if proof.to_vec()? != bytes {
            return Err(ProofError::NotCanonical);
        }
        Ok(proof)
    }

    /// Returns the canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`]
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }
}
