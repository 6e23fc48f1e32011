//! Errors of reading, verifying and granting leases, each with its permanent reason name.

use actum_core::Timestamp;
use actum_core::path::Cut;
use actum_record::keyring::KeyProblem;
use actum_record::lease::{LEASE_BLOCKS_MAX, LeaseTermError};

use crate::limits::{CHAIN_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_TEXT_BYTES_MAX};

/// Reason why a text is not a lease, or a lease does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The text is longer than any token.
    #[error("a lease has at most {TOKEN_TEXT_BYTES_MAX} characters, and this text has {given}")]
    TextTooLong {
        /// Length without the surrounding whitespace.
        given: usize,
    },
    /// The token is longer than [`TOKEN_BYTES_MAX`].
    #[error("a lease has at most {TOKEN_BYTES_MAX} bytes, and this one has {given}")]
    TooLarge {
        /// Length.
        given: usize,
    },
    /// The token has too many blocks.
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
    /// The bytes are not a Biscuit, or not in its usual encoding.
    #[error("it is not a lease: the text is base64url, but not of a Biscuit token")]
    NotBiscuit,
    /// The bytes are not a chain document.
    #[error("it is not the document of a lease (`{}`): {message}", crate::limits::CHAIN_FORMAT)]
    NotChain {
        /// Problem of the document.
        message: String,
    },
    /// A block is not in the form of leases.
    #[error("block {block} of the lease has another form than actum reads: {problem}")]
    Form {
        /// Number of the block, counted from 1.
        block: usize,
        /// Problem of the block.
        problem: FormProblem,
    },
    /// A signature of the chain, or the proof at its end, is wrong.
    #[error("the lease was changed or was signed by another key: a signature does not match")]
    Signature,
    /// The keyring has no lease key that could have signed the token.
    #[error("the lease was signed by a key that is not a lease key of the keyring (hint {})", hint_text(*hint))]
    KeyUnknown {
        /// Unsigned hint at the key, from the token.
        hint: Option<u32>,
    },
    /// The signing key does not count.
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
    /// The block has a part besides checks.
    #[error("it has {part}, and a lease has nothing but checks")]
    Foreign {
        /// Part of the block.
        part: &'static str,
    },
    /// The block has no check.
    #[error("it has no checks")]
    Empty,
    /// A check is not a documented one.
    #[error("check {check} is not one of the documented checks")]
    Check {
        /// Number of the check, counted from 1.
        check: usize,
    },
    /// The block has two checks of one kind.
    #[error("check {check} is the second one for `{field}`")]
    Repeated {
        /// Number of the check, counted from 1.
        check: usize,
        /// Field of the terms.
        field: &'static str,
    },
    /// A text of the block is unused or repeated.
    #[error("its symbol table has a text twice, or one that no check uses")]
    Symbols,
    /// The signature algorithm is not Ed25519.
    #[error("it uses another signature algorithm than Ed25519")]
    Algorithm,
    /// The version of the signed payload is not 1.
    #[error("its signature has version {given}, and leases have version 1 (Biscuit 3.3)")]
    SignatureVersion {
        /// Version.
        given: u32,
    },
    /// The checks break a limit of leases, or the first block lacks a required field.
    #[error(transparent)]
    Terms {
        /// Limit or missing field.
        #[from]
        source: LeaseTermError,
    },
}

/// Reason why a lease cannot be granted, attenuated or sealed. No token was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The terms break a limit, or lack a required field of the first block.
    #[error("the lease cannot be written: {source}")]
    Terms {
        /// Limit or missing field.
        #[from]
        source: LeaseTermError,
    },
    /// Biscuit cannot hold the time.
    #[error("`{field}` is {given}, and a lease holds whole seconds from 1970 on")]
    Time {
        /// Field of the terms.
        field: &'static str,
        /// Time.
        given: Timestamp,
    },
    /// The terms have no field, so they would not tighten anything.
    #[error("there is nothing to narrow: give at least one restriction")]
    Empty,
    /// The token is sealed.
    #[error("the lease is sealed, so it can be used but not narrowed")]
    Sealed,
    /// The result would not be a readable lease.
    #[error("the lease cannot be written: {source}")]
    Unreadable {
        /// Limit that the result would break.
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
    /// Returns the permanent name of the reason.
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
    /// Returns the permanent name of the reason.
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
