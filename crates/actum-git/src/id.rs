//! Id of a git commit.

use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;

/// Id of a commit, which is a SHA-1 digest written as 40 lowercase hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(git2::Oid);

/// Maximum number of bytes of an invalid commit id that an error message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Error for text that is not a commit id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a commit id: expected 40 hexadecimal characters",
    Cut(given.as_bytes(), SHOWN_BYTES_MAX)
)]
pub struct CommitIdError {
    /// Text that was given.
    pub given: String,
}

impl CommitId {
    pub(crate) fn from_oid(oid: git2::Oid) -> Self {
        Self(oid)
    }

    pub(crate) fn oid(self) -> git2::Oid {
        self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CommitId {
    type Err = CommitIdError;

    /// Parses 40 hexadecimal characters in upper or lower case. Abbreviated ids are rejected.
    fn from_str(text: &str) -> Result<Self, CommitIdError> {
        let whole = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let oid = whole.then(|| git2::Oid::from_str(text).ok()).flatten();
        oid.map(Self).ok_or_else(|| CommitIdError { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-17: only a full 40-character id is accepted as a commit id.
    #[test]
    fn only_a_full_id_is_accepted_as_a_commit_id() {
        let whole = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(whole.parse::<CommitId>().unwrap().to_string(), whole);
        for text in ["", "HEAD", "0123456", &whole.replace('f', "g"), &format!("{whole}0")] {
            assert!(text.parse::<CommitId>().is_err(), "{text}");
        }
    }
}
