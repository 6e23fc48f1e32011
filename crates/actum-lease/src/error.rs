//! Errors that occur when leases are read, verified or granted, each with a permanent reason code.

use actum_core::Timestamp;
use actum_core::path::Cut;
use actum_record::keyring::KeyProblem;
use actum_record::lease::{LEASE_BLOCKS_MAX, LeaseTermError};

use crate::limits::{CHAIN_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_TEXT_BYTES_MAX};

/// Reason why a text is not a lease, or why a lease is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The text is longer than the longest possible token.
    #[error(
        "a lease may have at most {TOKEN_TEXT_BYTES_MAX} characters, but this text has {given}"
    )]
    TextTooLong {
        /// Length of the text in bytes, without surrounding whitespace.
        given: usize,
    },
    /// The token is longer than [`TOKEN_BYTES_MAX`].
    #[error("a lease may have at most {TOKEN_BYTES_MAX} bytes, but this one has {given}")]
    TooLarge {
        /// Length of the token in bytes.
        given: usize,
    },
    /// The token has more than [`LEASE_BLOCKS_MAX`] blocks.
    #[error("a lease may have at most {LEASE_BLOCKS_MAX} blocks, but this one has {given}")]
    TooManyBlocks {
        /// Number of blocks in the token.
        given: usize,
    },
    /// The chain document is longer than [`CHAIN_BYTES_MAX`].
    #[error(
        "a lease chain document may have at most {CHAIN_BYTES_MAX} bytes, but this one has {given}"
    )]
    ChainTooLarge {
        /// Length of the document in bytes.
        given: usize,
    },
    /// The text is not valid base64url.
    #[error("this is not a lease: expected base64url text")]
    NotBase64,
    /// The bytes are not a Biscuit token, or are not encoded in the usual way.
    #[error("this is not a lease: the base64url text does not encode a Biscuit token")]
    NotBiscuit,
    /// The bytes are not a valid chain document.
    #[error("this is not a lease chain document (`{}`): {message}", crate::limits::CHAIN_FORMAT)]
    NotChain {
        /// Reason why the document is invalid.
        message: String,
    },
    /// A block does not have the form that leases require.
    #[error("block {block} of the lease has an unsupported form: {problem}")]
    Form {
        /// Number of the block in the lease, counted from 1.
        block: usize,
        /// Difference from the required form.
        problem: FormProblem,
    },
    /// A signature in the chain of blocks, or the proof at the end, is wrong.
    #[error(
        "the lease was modified or was signed with a different key: a signature does not match"
    )]
    Signature,
    /// The keyring contains no lease key that could have signed the token.
    #[error("the lease was signed with a key that is not a lease key in the keyring (hint {})", hint_text(*hint))]
    KeyUnknown {
        /// Unsigned key hint from the token.
        hint: Option<u32>,
    },
    /// The signing key is not valid.
    #[error("the lease is not valid: {source}")]
    Key {
        /// Reason why the key is not valid.
        source: KeyProblem,
    },
}

/// Difference between a block and the form that `docs/lease-format.md` defines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormProblem {
    /// The bytes are not a Biscuit block of a known version.
    #[error("it cannot be decoded as a Biscuit block")]
    Undecodable,
    /// The block contains a part other than checks.
    #[error("it contains {part}, but a lease may only contain checks")]
    Foreign {
        /// Name of the part, with its article.
        part: &'static str,
    },
    /// The block contains no checks.
    #[error("it has no checks")]
    Empty,
    /// A check does not have a documented form.
    #[error("check {check} is not one of the documented checks")]
    Check {
        /// Number of the check in the block, counted from 1.
        check: usize,
    },
    /// Two checks in the block restrict the same field.
    #[error("check {check} is the second check for `{field}`")]
    Repeated {
        /// Number of the check in the block, counted from 1.
        check: usize,
        /// Field that the check restricts.
        field: &'static str,
    },
    /// The symbol table of the block contains a string that is repeated or not used.
    #[error("its symbol table contains a string twice, or one that no check uses")]
    Symbols,
    /// The block uses a signature algorithm other than Ed25519.
    #[error("it uses a signature algorithm other than Ed25519")]
    Algorithm,
    /// The version of the block's signed payload is not 1.
    #[error("its signature has version {given}, but leases require version 1 (Biscuit 3.3)")]
    SignatureVersion {
        /// Version of the signed payload.
        given: u32,
    },
    /// The checks exceed a limit of leases, or the first block lacks a required field.
    #[error(transparent)]
    Terms {
        /// Exceeded limit or missing field.
        #[from]
        source: LeaseTermError,
    },
}

/// Reason why a lease cannot be granted, attenuated or sealed. No token was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The terms exceed a limit, or lack a field that the first block requires.
    #[error("the lease cannot be written: {source}")]
    Terms {
        /// Exceeded limit or missing field.
        #[from]
        source: LeaseTermError,
    },
    /// The time cannot be represented in a Biscuit token.
    #[error("`{field}` is {given}, but a lease can only store whole seconds since 1970")]
    Time {
        /// Field of the terms that contains the time.
        field: &'static str,
        /// Time that cannot be represented.
        given: Timestamp,
    },
    /// The terms contain no restriction, so the new block would have no effect.
    #[error("there is nothing to narrow: specify at least one restriction")]
    Empty,
    /// The token is sealed, so no block can be added to it.
    #[error("the lease is sealed, so it can be used but not narrowed")]
    Sealed,
    /// actum would reject the resulting token.
    #[error("the lease cannot be written: {source}")]
    Unreadable {
        /// Reason why the resulting token would be rejected.
        source: LeaseError,
    },
    /// The Biscuit library returned an error.
    #[error("the lease cannot be written: {}", Cut(message.as_bytes(), 200))]
    Biscuit {
        /// Error message of the Biscuit library.
        message: String,
    },
}

impl LeaseError {
    /// Returns the permanent reason code of the error.
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
    /// Returns the permanent reason code of the error.
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
