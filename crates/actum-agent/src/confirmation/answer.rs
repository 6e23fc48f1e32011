//! Answers to prompts, and their parser.

use alloc::string::String;
use core::fmt;

use actum_record::ledger::ConfirmationOutcome;
use serde::{Deserialize, Serialize};

use super::language::LanguageTag;
use super::lexicon::Lexicon;
use super::normalise::normalise;

/// Result of parsing one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Canonical affirmative of the language.
    Confirmed {
        /// Word, normalised.
        token: String,
    },
    /// Canonical negative of the language.
    Rejected {
        /// Word, normalised.
        token: String,
    },
    /// Neither of the two.
    Ambiguous {
        /// First reason, in the order of the checks.
        why: AmbiguousReason,
    },
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $sentence:literal;)*) => {
        /// Reason why an answer is ambiguous, in the order of the checks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum AmbiguousReason {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl AmbiguousReason {
            /// All reasons, in their order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the permanent name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns the sentence for the user.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)*
                }
            }
        }
    };
}

reasons! {
    /// The lexicon has no words of the language, or none in its script.
    UnknownLanguage = "UNKNOWN_LANGUAGE" => "no words are known for this language";
    /// The answer is longer than [`UTTERANCE_BYTES_MAX`](super::UTTERANCE_BYTES_MAX).
    TooLong = "TOO_LONG" => "the answer is too long";
    /// The answer has a control character, a bidirectional control or another character that is not shown.
    ControlCharacter = "CONTROL_CHARACTER" => "the answer has a character that is not shown";
    /// The answer has only spaces and punctuation.
    Empty = "EMPTY" => "the answer is empty";
    /// A word of the answer has letters of several scripts.
    MixedScript = "MIXED_SCRIPT" => "a word of the answer mixes scripts";
    /// The answer acknowledges without confirming, as `okay` does.
    BannedAcknowledgement = "BANNED_ACKNOWLEDGEMENT" => "this acknowledges, but does not confirm";
    /// The answer is a canonical word of another language only.
    AnotherLanguage = "ANOTHER_LANGUAGE" => "this is a word of another language";
    /// The answer is not in the lexicon.
    NotInLexicon = "NOT_IN_LEXICON" => "the answer is neither yes nor no";
}

/// Parses an answer. It is confirmed or rejected only if all of it, normalised, is a canonical word of the language.
pub fn parse(lexicon: &Lexicon, language: &LanguageTag, utterance: &str) -> Answer {
    let Some(words) = lexicon.words(language) else {
        return Answer::Ambiguous { why: AmbiguousReason::UnknownLanguage };
    };
    let token = match normalise(language, utterance) {
        Ok(token) => token,
        Err(why) => return Answer::Ambiguous { why },
    };
    if lexicon.is_banned(&token) || words.banned.contains(&token) {
        Answer::Ambiguous { why: AmbiguousReason::BannedAcknowledgement }
    } else if words.affirmative.contains(&token) {
        Answer::Confirmed { token }
    } else if words.negative.contains(&token) {
        Answer::Rejected { token }
    } else if lexicon.has_canonical(&token) {
        Answer::Ambiguous { why: AmbiguousReason::AnotherLanguage }
    } else {
        Answer::Ambiguous { why: AmbiguousReason::NotInLexicon }
    }
}

impl Answer {
    /// Returns the outcome for the ledger.
    pub fn outcome(&self) -> ConfirmationOutcome {
        match self {
            Self::Confirmed { .. } => ConfirmationOutcome::Confirmed,
            Self::Rejected { .. } => ConfirmationOutcome::Rejected,
            Self::Ambiguous { .. } => ConfirmationOutcome::Ambiguous,
        }
    }

    /// Returns the canonical word, normalised; `None` for an ambiguous answer.
    pub fn token(&self) -> Option<&str> {
        match self {
            Self::Confirmed { token } | Self::Rejected { token } => Some(token),
            Self::Ambiguous { .. } => None,
        }
    }

    /// Returns the reason of an ambiguous answer.
    pub fn reason(&self) -> Option<AmbiguousReason> {
        match self {
            Self::Confirmed { .. } | Self::Rejected { .. } => None,
            Self::Ambiguous { why } => Some(*why),
        }
    }
}

impl fmt::Display for AmbiguousReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
