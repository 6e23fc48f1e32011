//! Proof of how an answer was parsed (`confirmation_parse_proof_ref`), which allows the parsing to be repeated later.

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

/// Answer to a confirmation prompt, as contained in a request.
///
/// A proof contains only the digest of the utterance, never the utterance itself. To allow a replay, the caller must
/// keep the utterance with the request or as a separate document in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Language of the answer, as named in the request.
    pub language: &'a LanguageTag,
    /// Words of the user, unchanged.
    pub utterance: &'a str,
    /// Digest of the prompt that was answered.
    pub prompt: Digest,
    /// Fingerprint of the plan shown in the prompt.
    pub plan_fingerprint: Digest,
}

/// Record of how an answer was parsed, and with which result.
///
/// A given lexicon and reply always produce the same proof. A parser with different rules must use a different
/// [`FORMAT`](Self::FORMAT).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseProof {
    /// Format version, always [`ParseProof::FORMAT`].
    pub format: String,
    /// Digest of the lexicon that was used.
    pub lexicon: Digest,
    /// Language of the answer, as named in the request.
    pub language: LanguageTag,
    /// Tag of the lexicon entry that was used, or `None` if the lexicon does not contain the language.
    pub entry: Option<String>,
    /// Digest of the utterance.
    pub utterance: Digest,
    /// Canonical word that was recognised, or `None` if the answer is ambiguous.
    pub token: Option<String>,
    /// Outcome of parsing the answer.
    pub outcome: ConfirmationOutcome,
    /// Reason why the answer is ambiguous, if it is.
    pub reason: Option<AmbiguousReason>,
    /// Digest of the prompt that was answered.
    pub prompt: Digest,
    /// Fingerprint of the plan shown in the prompt.
    pub plan_fingerprint: Digest,
}

/// Error returned if bytes are not a valid proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The proof is not strict JSON.
    #[error("the confirmation proof cannot be read: {source}")]
    Syntax {
        /// Error of the JSON reader.
        #[from]
        source: CanonicalError,
    },
    /// A member is missing, unknown or of the wrong type.
    #[error("the confirmation proof is malformed: {message}")]
    Form {
        /// Description of the problem.
        message: String,
    },
    /// The document has a different format version.
    #[error("the confirmation proof has the format `{found}` instead of `{}`", ParseProof::FORMAT)]
    Format {
        /// Format version found in the document.
        found: String,
    },
    /// The proof is not in canonical form.
    #[error("the confirmation proof is not in canonical form")]
    NotCanonical,
}

/// First difference between a proof and the result of parsing the answer again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ProofMismatch {
    /// The format differs, so the proof was created with different rules.
    #[error("the confirmation proof has a different format")]
    Format,
    /// The lexicon differs.
    #[error("the confirmation proof was created with a different lexicon")]
    Lexicon,
    /// The language of the answer differs.
    #[error("the confirmation proof is for an answer in a different language")]
    Language,
    /// The utterance differs.
    #[error("the confirmation proof is for a different utterance")]
    Utterance,
    /// The prompt differs.
    #[error("the confirmation proof is for a different prompt")]
    Prompt,
    /// The plan shown in the prompt differs.
    #[error("the confirmation proof is for a different plan")]
    Plan,
    /// The token, outcome, reason or entry differs, although the input is the same.
    #[error("the confirmation proof does not match the result of the parser")]
    Result,
}

impl ParseProof {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.confirmation-proof/1";

    /// Parses a reply and returns the proof of the result.
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

    /// Parses the reply again and compares the result with this proof.
    ///
    /// # Errors
    /// Returns the first [`ProofMismatch`], in the order of its variants.
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

    /// Parses a proof strictly. The bytes must be canonical and contain exactly the members of a proof.
    ///
    /// # Errors
    /// Returns a [`ProofError`] if the bytes are not a valid proof.
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

    /// Returns the canonical bytes of the proof.
    ///
    /// # Errors
    /// Returns a [`CanonicalError`] if the proof has no canonical form.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }
}
