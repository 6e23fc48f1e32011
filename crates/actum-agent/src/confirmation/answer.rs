//! Parses answers to confirmation prompts.

use alloc::string::String;
use core::fmt;

use actum_record::ledger::ConfirmationOutcome;
use serde::{Deserialize, Serialize};

use super::language::LanguageTag;
use super::lexicon::Lexicon;
use super::normalise::normalise;

/// Result of parsing an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The answer is a canonical affirmative word of the language.
    Confirmed {
        /// Recognised word in normalised form.
        token: String,
    },
    /// The answer is a canonical negative word of the language.
    Rejected {
        /// Recognised word in normalised form.
        token: String,
    },
    /// The answer neither confirms nor rejects.
    Ambiguous {
        /// Reason given by the first check that failed.
        why: AmbiguousReason,
    },
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $sentence:literal;)*) => {
        /// Reason why an answer is ambiguous. The variants are in the order of the checks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum AmbiguousReason {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl AmbiguousReason {
            /// All reasons, in the order of the checks.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the stable code of the reason.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns an explanation of the reason for the user.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)*
                }
            }
        }
    };
}

reasons! {
    /// The lexicon has no words for the language, or none in its script.
    UnknownLanguage = "UNKNOWN_LANGUAGE" => "the lexicon has no words for this language";
    /// The answer is longer than [`UTTERANCE_BYTES_MAX`](super::UTTERANCE_BYTES_MAX).
    TooLong = "TOO_LONG" => "the answer is too long";
    /// The answer contains a control character, a bidirectional control or another invisible character.
    ControlCharacter = "CONTROL_CHARACTER" => "the answer contains an invisible character";
    /// The answer consists only of spaces and punctuation.
    Empty = "EMPTY" => "the answer is empty";
    /// A word in the answer mixes letters of different scripts.
    MixedScript = "MIXED_SCRIPT" => "a word in the answer mixes scripts";
    /// The answer is an acknowledgement such as `okay`, which does not confirm.
    BannedAcknowledgement = "BANNED_ACKNOWLEDGEMENT" => "the answer acknowledges, but does not confirm";
    /// The answer is a canonical word, but only in other languages.
    AnotherLanguage = "ANOTHER_LANGUAGE" => "the answer is a word in another language";
    /// The answer does not appear in the lexicon.
    NotInLexicon = "NOT_IN_LEXICON" => "the answer is neither yes nor no";
}

/// Parses an answer to a confirmation prompt. The answer confirms or rejects only if the entire answer, once
/// normalised, is a canonical word of `language`.
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
    /// Returns the outcome that is recorded in the ledger.
    pub fn outcome(&self) -> ConfirmationOutcome {
        match self {
            Self::Confirmed { .. } => ConfirmationOutcome::Confirmed,
            Self::Rejected { .. } => ConfirmationOutcome::Rejected,
            Self::Ambiguous { .. } => ConfirmationOutcome::Ambiguous,
        }
    }

    /// Returns the canonical word in normalised form, or `None` if the answer is ambiguous.
    pub fn token(&self) -> Option<&str> {
        match self {
            Self::Confirmed { token } | Self::Rejected { token } => Some(token),
            Self::Ambiguous { .. } => None,
        }
    }

    /// Returns the reason why the answer is ambiguous, if it is.
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
