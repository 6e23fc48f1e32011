//! Author and time of a commit.

use actum_core::Timestamp;
use actum_core::path::Cut;

use crate::problem::{GitProblem, ResultExt};

/// Author and committer of a commit, with its time. The time is written in seconds, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    name: String,
    email: String,
    at: Timestamp,
}

/// Error of a name or an address that git has no form for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` cannot be the {what} of an author: it needs a letter or a digit, and neither `<`, `>` nor a \
     control character",
    Cut(given.as_bytes(), 80)
)]
pub struct AuthorError {
    /// The given text.
    pub given: String,
    /// Name of the field: name or address.
    pub what: &'static str,
}

impl Author {
    /// Creates an author with a name, an address and the time of the commit.
    ///
    /// # Errors
    /// [`AuthorError`]: git would cut the text off, or take part of it for another field.
    pub fn new(name: &str, email: &str, at: Timestamp) -> Result<Self, AuthorError> {
        for (what, text) in [("name", name), ("address", email)] {
            let is_harmless = text.chars().all(|c| !c.is_control() && !matches!(c, '<' | '>'));
            if !is_harmless || !text.chars().any(char::is_alphanumeric) {
                return Err(AuthorError { given: text.to_owned(), what });
            }
        }
        Ok(Self { name: name.to_owned(), email: email.to_owned(), at })
    }

    /// Returns name and address in git's form: `Ada <ada@example.org>`.
    pub fn shown(&self) -> String {
        format!("{} <{}>", self.name, self.email)
    }

    pub(crate) fn signature(&self) -> Result<git2::Signature<'static>, GitProblem> {
        // git has no commits before 1970.
        let seconds = self.at.micros().div_euclid(1_000_000).max(0);
        git2::Signature::new(&self.name, &self.email, &git2::Time::new(seconds, 0))
            .doing("naming the author")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-17
    #[test]
    fn no_author_can_add_a_field_to_a_commit() {
        let at = Timestamp::from_micros(0);
        assert!(Author::new("Ada", "ada@example.org", at).is_ok());
        for name in ["", " ", ".,;", "Ada\nparent 0", "Ada <root@x>", "Ada\0", "A\u{85}"] {
            assert!(Author::new(name, "ada@example.org", at).is_err(), "{name:?}");
            assert!(Author::new("Ada", name, at).is_err(), "{name:?}");
        }
    }
}
