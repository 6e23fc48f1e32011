//! Errors of reading, verifying and granting leases, each with its permanent reason name.

use actum_core::Timestamp;
use actum_core::path::Cut;
use actum_record::keyring::KeyProblem;
use actum_record::lease::{LEASE_BLOCKS_MAX, LeaseTermError};

use crate::limits::{CHAIN_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_TEXT_BYTES_MAX};

/// Why a text is no lease, or a lease does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The text is longer than any token.
    #[error("a lease has at most {TOKEN_TEXT_BYTES_MAX} characters, and this text has {given}")]
    TextTooLong {
        /// Length without the whitespace around it.
        given: usize,
    },
    /// The token is longer than [`TOKEN_BYTES_MAX`].
    #[error("a lease has at most {TOKEN_BYTES_MAX} bytes, and this one has {given}")]
    TooLarge {
        /// Length.
        given: usize,
    },
    /// The token has more blocks than a lease can have.
    #[error("a lease has at most {LEASE_BLOCKS_MAX} blocks, and this one has {given}")]
    TooManyBlocks {
        /// Number of blocks.
        given: usize,
    },
    /// The chain document is longer than [`CHAIN_BYTES_MAX`].
    #[error(
        "the document of a lease has at most {CHAIN_BYTES_MAX} bytes, and this one has {given}"
    )]
    ChainTooLarge {
        /// Length.
        given: usize,
    },
    /// The text is not base64url.
    #[error("it is not a lease: expected base64url text")]
    NotBase64,
    /// The bytes are not a Biscuit, or one that is encoded in another way than the usual one.
    #[error("it is not a lease: the text is base64url, but not of a Biscuit token")]
    NotBiscuit,
    /// The bytes are not a chain document.
    #[error("it is not the document of a lease (`{}`): {message}", crate::limits::CHAIN_FORMAT)]
    NotChain {
        /// Difference.
        message: String,
    },
    /// A block is not in the form that leases have.
    #[error("block {block} of the lease has another form than actum reads: {problem}")]
    Form {
        /// Number of the block, the first one is 1.
        block: usize,
        /// Difference.
        problem: FormProblem,
    },
    /// A signature of the chain, or the proof at its end, is wrong.
    #[error("the lease was changed or was signed by another key: a signature does not match")]
    Signature,
    /// The keyring has no lease key that could have signed it.
    #[error("the lease was signed by a key that is not a lease key of the keyring (hint {})", hint_text(*hint))]
    KeyUnknown {
        /// Unsigned hint at the key, as the token has it.
        hint: Option<u32>,
    },
    /// The key that signed it does not count.
    #[error("the lease does not count: {source}")]
    Key {
        /// Reason.
        source: KeyProblem,
    },
}

/// Difference between a block and the form of `docs/lease-format.md`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormProblem {
    /// The bytes of the block are not a Biscuit block of a known version.
    #[error("it cannot be decoded as a Biscuit block")]
    Undecodable,
    /// The block has something besides checks.
    #[error("it has {part}, and a lease has nothing but checks")]
    Foreign {
        /// What it has.
        part: &'static str,
    },
    /// The block has no check.
    #[error("it has no checks")]
    Empty,
    /// A check is none of the documented ones.
    #[error("check {check} is not one of the documented checks")]
    Check {
        /// Number of the check, the first one is 1.
        check: usize,
    },
    /// Two checks of one kind.
    #[error("check {check} is the second one for `{field}`")]
    Repeated {
        /// Number of the check, the first one is 1.
        check: usize,
        /// Field of the terms.
        field: &'static str,
    },
    /// A text of the block is unused, or there twice.
    #[error("its symbol table has a text twice, or one that no check uses")]
    Symbols,
    /// Another signature algorithm than Ed25519.
    #[error("it uses another signature algorithm than Ed25519")]
    Algorithm,
    /// Another version of the signed payload than 1.
    #[error("its signature has version {given}, and leases have version 1 (Biscuit 3.3)")]
    SignatureVersion {
        /// Version.
        given: u32,
    },
    /// Its checks break a limit of leases, or the first block lacks one that it needs.
    #[error(transparent)]
    Terms {
        /// Limit or missing field.
        #[from]
        source: LeaseTermError,
    },
}

/// Why a lease cannot be granted, narrowed or sealed. No token was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The terms break a limit, or lack a field that the first block needs.
    #[error("the lease cannot be written: {source}")]
    Terms {
        /// Limit or missing field.
        #[from]
        source: LeaseTermError,
    },
    /// A time that Biscuit cannot hold.
    #[error("`{field}` is {given}, and a lease holds whole seconds from 1970 on")]
    Time {
        /// Field of the terms.
        field: &'static str,
        /// Time.
        given: Timestamp,
    },
    /// Terms without a field would narrow nothing.
    #[error("there is nothing to narrow: give at least one restriction")]
    Empty,
    /// The token is sealed.
    #[error("the lease is sealed, so it can be used but not narrowed")]
    Sealed,
    /// The result would not be a lease that is read again.
    #[error("the lease cannot be written: {source}")]
    Unreadable {
        /// Limit that it would break.
        source: LeaseError,
    },
    /// Biscuit failed.
    #[error("the lease cannot be written: {}", Cut(message.as_bytes(), 200))]
    Biscuit {
        /// Message of Biscuit.
        message: String,
    },
}

impl LeaseError {
    /// Permanent name of the reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TextTooLong { .. }
            | Self::TooLarge { .. }
            | Self::TooManyBlocks { .. }
            | Self::ChainTooLarge { .. } => "LEASE_TOO_LARGE",
            Self::NotBase64 | Self::NotBiscuit | Self::NotChain { .. } => "LEASE_MALFORMED",
            Self::Form { .. } => "LEASE_FORM_UNKNOWN",
            Self::Signature => "LEASE_SIGNATURE_INVALID",
            Self::KeyUnknown { .. } => "LEASE_KEY_UNKNOWN",
            Self::Key { source } => match source {
                KeyProblem::Unknown { .. } => "LEASE_KEY_UNKNOWN",
                KeyProblem::OtherRole { .. } => "KEY_OF_ANOTHER_ROLE",
                KeyProblem::TooEarly { .. } => "KEY_NOT_YET_VALID",
                KeyProblem::Expired { .. } => "KEY_EXPIRED",
                KeyProblem::Revoked { .. } => "KEY_REVOKED",
            },
        }
    }
}

impl GrantError {
    /// Permanent name of the reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Terms { .. } | Self::Time { .. } | Self::Empty => "LEASE_TERMS_INVALID",
            Self::Sealed => "LEASE_SEALED",
            Self::Unreadable { source } => source.reason(),
            Self::Biscuit { .. } => "LEASE_MALFORMED",
        }
    }
}

fn hint_text(hint: Option<u32>) -> String {
    hint.map_or_else(|| "none".to_owned(), |hint| format!("{hint:08x}"))
}
