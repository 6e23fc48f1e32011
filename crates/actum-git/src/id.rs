//! Id of a commit.

use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;

/// Id of a commit: SHA-1, written as 40 lowercase hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(git2::Oid);

/// Number of bytes of an invalid commit id that an error shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Error of a text that is not the id of a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not the name of a commit: expected 40 hexadecimal characters",
    Cut(given.as_bytes(), SHOWN_BYTES_MAX)
)]
pub struct CommitIdError {
    /// The text that was given.
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

    /// Reads 40 hexadecimal characters of either case; a shortened id is rejected.
    fn from_str(text: &str) -> Result<Self, CommitIdError> {
        let whole = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let oid = whole.then(|| git2::Oid::from_str(text).ok()).flatten();
        oid.map(Self).ok_or_else(|| CommitIdError { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-17
    #[test]
    fn only_a_whole_name_is_the_name_of_a_commit() {
        let whole = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(whole.parse::<CommitId>().unwrap().to_string(), whole);
        for text in ["", "HEAD", "0123456", &whole.replace('f', "g"), &format!("{whole}0")] {
            assert!(text.parse::<CommitId>().is_err(), "{text}");
        }
    }
}
