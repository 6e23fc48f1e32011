//! Reasons for policies that are not loaded, with their place in the text.

use std::fmt;

use crate::limits::{
    ANNOTATION_BYTES_MAX, POLICIES_MAX, POLICY_BYTES_MAX, POLICY_NESTING_MAX, POLICY_OPERATORS_MAX,
};

/// Most problems that a message lists.
const PROBLEMS_TOLD_MAX: usize = 10;

/// Reason why policies are not loaded. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The text is longer than [`POLICY_BYTES_MAX`].
    #[error("the access policies have {bytes} bytes, and at most {POLICY_BYTES_MAX} are read")]
    Bytes {
        /// Size of the text.
        bytes: usize,
    },
    /// There are more policies than [`POLICIES_MAX`].
    #[error("there are {count} access policies, and at most {POLICIES_MAX} are read")]
    TooMany {
        /// Number of policies.
        count: usize,
    },
    /// Brackets are nested deeper than [`POLICY_NESTING_MAX`].
    #[error(
        "line {line} of the access policies has brackets that are nested more than \
         {POLICY_NESTING_MAX} deep"
    )]
    Nesting {
        /// Line at which the limit is exceeded.
        line: usize,
    },
    /// A policy has more operators than [`POLICY_OPERATORS_MAX`].
    #[error(
        "line {line} of the access policies is in a policy with more than {POLICY_OPERATORS_MAX} \
         operators; write it as several policies, or its alternatives as a set"
    )]
    Operators {
        /// Line at which the limit is exceeded.
        line: usize,
    },
    /// The text is not Cedar.
    #[error("the access policies cannot be read: {0}")]
    Syntax(Problems),
    /// The policies are not valid against the schema.
    #[error("the access policies are not valid: {0}")]
    Invalid(Problems),
    /// The policy has slots that nothing fills, so it would never hold.
    #[error(
        "the access policy {policy} is a template, with `?principal` or `?resource`, and nothing \
         fills these; name whom and what it is about"
    )]
    Template {
        /// Policy.
        policy: String,
    },
    /// Two policies would have one name in the grounds.
    #[error("the access policies {first} and {second} have the same `@id`, `{id}`")]
    SameId {
        /// Position of one policy, counted from 1.
        first: usize,
        /// Position of the other.
        second: usize,
        /// Common name.
        id: String,
    },
    /// The name of a policy is that of a built-in one, or is not usable.
    #[error("the access policy {position} has the `@id` `{id}`, which {why}")]
    Id {
        /// Position of the policy, counted from 1.
        position: usize,
        /// Name of the policy.
        id: String,
        /// Reason why the name is not allowed.
        why: &'static str,
    },
    /// An annotation is longer than [`ANNOTATION_BYTES_MAX`].
    #[error(
        "the `@{key}` of the access policy {position} has {bytes} bytes, and at most \
         {ANNOTATION_BYTES_MAX} are read"
    )]
    Annotation {
        /// Position of the policy, counted from 1.
        position: usize,
        /// Annotation: `id` or `reason`.
        key: &'static str,
        /// Size of the annotation.
        bytes: usize,
    },
    /// The built-in policies cannot be read, a defect of actum.
    #[error("the access policies that are part of actum cannot be read: {message}")]
    BuiltIn {
        /// Message of Cedar.
        message: String,
    },
}

/// Reason why the policies of several files are not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", of_file(file.as_deref()))]
pub struct AccessFileError {
    /// Name of the file, if the problem is in one alone.
    pub file: Option<String>,
    /// Problem.
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

    /// Returns the permanent name of the problem.
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

/// Problems of policies, in the order of their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<PolicyProblem>);

/// Problem of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyProblem {
    /// Line, if known.
    pub line: Option<usize>,
    /// Policy, if known: its `@id`, or its position.
    pub policy: Option<String>,
    /// Problem and remedy.
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
