//! Author of a commit, with the time of the commit.

use actum_core::Timestamp;
use actum_core::path::Cut;

use crate::problem::{GitProblem, ResultExt};

/// Author and committer of a commit, with its time. git stores the time in seconds and in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    name: String,
    email: String,
    at: Timestamp,
}

/// Reason why git cannot represent an author's name or address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a valid author {what}: it must contain a letter or digit, but no `<`, `>` or control \
     character",
    Cut(given.as_bytes(), 80)
)]
pub struct AuthorError {
    /// Name or address that was given.
    pub given: String,
    /// Kind of field, which is `name` or `address`.
    pub what: &'static str,
}

impl Author {
    /// Creates an author from a name, an email address and the time of the commit.
    ///
    /// # Errors
    /// Returns [`AuthorError`] if git would truncate the name or address, or parse a part of it as another field.
    pub fn new(name: &str, email: &str, at: Timestamp) -> Result<Self, AuthorError> {
        for (what, text) in [("name", name), ("address", email)] {
            let is_harmless = text.chars().all(|c| !c.is_control() && !matches!(c, '<' | '>'));
            if !is_harmless || !text.chars().any(char::is_alphanumeric) {
                return Err(AuthorError { given: text.to_owned(), what });
            }
        }
        Ok(Self { name: name.to_owned(), email: email.to_owned(), at })
    }

    /// Returns the name and address as git writes them, such as `Ada <ada@example.org>`.
    pub fn shown(&self) -> String {
        format!("{} <{}>", self.name, self.email)
    }

    pub(crate) fn signature(&self) -> Result<git2::Signature<'static>, GitProblem> {
        // git cannot represent times before 1970.
        let seconds = self.at.micros().div_euclid(1_000_000).max(0);
        git2::Signature::new(&self.name, &self.email, &git2::Time::new(seconds, 0))
            .doing("creating the author signature")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-17: names and addresses that would inject a field into a commit are rejected.
    #[test]
    fn author_cannot_inject_a_field_into_a_commit() {
        let at = Timestamp::from_micros(0);
        assert!(Author::new("Ada", "ada@example.org", at).is_ok());
        for name in ["", " ", ".,;", "Ada\nparent 0", "Ada <root@x>", "Ada\0", "A\u{85}"] {
            assert!(Author::new(name, "ada@example.org", at).is_err(), "{name:?}");
            assert!(Author::new("Ada", name, at).is_err(), "{name:?}");
        }
    }
}
