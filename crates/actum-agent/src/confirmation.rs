//! Confirmations: the parser for answers, its lexicon, and the proof of its result (AEC-5).
//!
//! An answer confirms or rejects only if the entire answer, once normalised, is a canonical word of the language that
//! the request names. The language is never guessed. Every other answer is ambiguous, and [`AmbiguousReason`] states
//! why:
//!
//! ```
//! use actum_agent::confirmation::{Answer, LanguageTag, Lexicon, parse};
//!
//! let lexicon = Lexicon::built_in()?;
//! let german = LanguageTag::new("de-AT")?;
//! assert_eq!(parse(&lexicon, &german, "Ja!"), Answer::Confirmed { token: "ja".to_owned() });
//! assert_eq!(parse(&lexicon, &german, "nein"), Answer::Rejected { token: "nein".to_owned() });
//! assert!(matches!(parse(&lexicon, &german, "yes"), Answer::Ambiguous { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod language;
mod lexicon;
mod normalise;
mod proof;
mod script;

pub use answer::{AmbiguousReason, Answer, parse};
pub use language::{LanguageTag, LanguageTagError};
pub use lexicon::{
    LANGUAGES_MAX, LEXICON_BYTES_MAX, Lexicon, LexiconError, TokenProblem, WORDS_MAX, Words,
};
pub use normalise::{UTTERANCE_BYTES_MAX, normalise};
pub use proof::{ParseProof, ProofError, ProofMismatch, Reply};
