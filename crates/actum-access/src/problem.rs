//! Why policies are not loaded, and where in their text.

use std::fmt;

use crate::limits::{
    ANNOTATION_BYTES_MAX, POLICIES_MAX, POLICY_BYTES_MAX, POLICY_NESTING_MAX, POLICY_OPERATORS_MAX,
};

/// How many problems a sentence tells.
const PROBLEMS_TOLD_MAX: usize = 10;

/// Why policies are not loaded. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// More than [`POLICY_BYTES_MAX`].
    #[error("the access policies have {bytes} bytes, and at most {POLICY_BYTES_MAX} are read")]
    Bytes {
        /// How many.
        bytes: usize,
    },
    /// More than [`POLICIES_MAX`].
    #[error("there are {count} access policies, and at most {POLICIES_MAX} are read")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// Deeper than [`POLICY_NESTING_MAX`].
    #[error(
        "line {line} of the access policies has brackets that are nested more than \
         {POLICY_NESTING_MAX} deep"
    )]
    Nesting {
        /// Where.
        line: usize,
    },
    /// More than [`POLICY_OPERATORS_MAX`].
    #[error(
        "line {line} of the access policies is in a policy with more than {POLICY_OPERATORS_MAX} \
         operators; write it as several policies, or its alternatives as a set"
    )]
    Operators {
        /// Where.
        line: usize,
    },
    /// It is not Cedar.
    #[error("the access policies cannot be read: {0}")]
    Syntax(Problems),
    /// It is not valid against the schema.
    #[error("the access policies are not valid: {0}")]
    Invalid(Problems),
    /// It has slots that nothing fills, so it would never hold.
    #[error(
        "the access policy {policy} is a template, with `?principal` or `?resource`, and nothing \
         fills these; name whom and what it is about"
    )]
    Template {
        /// Which policy.
        policy: String,
    },
    /// Two policies would have one name in the grounds.
    #[error("the access policies {first} and {second} have the same `@id`, `{id}`")]
    SameId {
        /// The one, counted from 1.
        first: usize,
        /// The other.
        second: usize,
        /// The name.
        id: String,
    },
    /// A policy would pass for one that is built in, or has no name after all.
    #[error("the access policy {position} has the `@id` `{id}`, which {why}")]
    Id {
        /// Which policy, counted from 1.
        position: usize,
        /// Its name.
        id: String,
        /// Why it cannot have it.
        why: &'static str,
    },
    /// More than [`ANNOTATION_BYTES_MAX`].
    #[error(
        "the `@{key}` of the access policy {position} has {bytes} bytes, and at most \
         {ANNOTATION_BYTES_MAX} are read"
    )]
    Annotation {
        /// Which policy, counted from 1.
        position: usize,
        /// `id` or `reason`.
        key: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// What is built in cannot be read, which would be a defect of actum.
    #[error("the access policies that are part of actum cannot be read: {message}")]
    BuiltIn {
        /// What Cedar says.
        message: String,
    },
}

/// Why the policies of several files are not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", of_file(file.as_deref()))]
pub struct AccessFileError {
    /// The name of the file, where the problem is in one alone.
    pub file: Option<String>,
    /// What it is.
    pub problem: AccessError,
}

impl From<AccessError> for AccessFileError {
    fn from(problem: AccessError) -> Self {
        Self { file: None, problem }
    }
}

fn of_file(file: Option<&str>) -> String {
    file.map_or(String::new(), |file| format!("`{file}`: "))
}

impl AccessError {
    pub(crate) fn built_in(error: impl fmt::Display) -> Self {
        Self::BuiltIn { message: error.to_string() }
    }

    /// The permanent name of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Bytes { .. }
            | Self::TooMany { .. }
            | Self::Nesting { .. }
            | Self::Operators { .. }
            | Self::Annotation { .. } => "ACCESS_POLICIES_TOO_LARGE",
            Self::Syntax(_) => "ACCESS_POLICIES_MALFORMED",
            Self::Invalid(_) | Self::Template { .. } | Self::SameId { .. } | Self::Id { .. } => {
                "ACCESS_POLICIES_INVALID"
            }
            Self::BuiltIn { .. } => "ACCESS_BUILT_IN",
        }
    }
}

/// What is wrong with policies, in the order of their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<PolicyProblem>);

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyProblem {
    /// The line, if it is known.
    pub line: Option<usize>,
    /// The policy, if it is known: its `@id`, or its place among them.
    pub policy: Option<String>,
    /// What it is, and what would be right.
    pub message: String,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().take(PROBLEMS_TOLD_MAX).enumerate() {
            f.write_str(if number == 0 { "" } else { "; " })?;
            write!(f, "{problem}")?;
        }
        match self.0.len().saturating_sub(PROBLEMS_TOLD_MAX) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, policy, message } = self;
        match (policy, line) {
            (Some(policy), Some(line)) => write!(f, "{policy}, line {line}: {message}"),
            (Some(policy), None) => write!(f, "{policy}: {message}"),
            (None, Some(line)) => write!(f, "line {line}: {message}"),
            (None, None) => f.write_str(message),
        }
    }
}
