//! Reasons why access policies are not loaded, with the affected lines.

use std::fmt;

use crate::limits::{
    ANNOTATION_BYTES_MAX, POLICIES_MAX, POLICY_BYTES_MAX, POLICY_NESTING_MAX, POLICY_OPERATORS_MAX,
};

/// Maximum number of problems that an error message lists.
const PROBLEMS_REPORTED_MAX: usize = 10;

/// Reason why access policies are not loaded. Line numbers start at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The policies together are larger than [`POLICY_BYTES_MAX`].
    #[error("the access policies have {bytes} bytes, but the limit is {POLICY_BYTES_MAX}")]
    Bytes {
        /// Total size of the policies, in bytes.
        bytes: usize,
    },
    /// There are more policies than [`POLICIES_MAX`].
    #[error("there are {count} access policies, but the limit is {POLICIES_MAX}")]
    TooMany {
        /// Number of policies that were found.
        count: usize,
    },
    /// A policy nests brackets deeper than [`POLICY_NESTING_MAX`].
    #[error(
        "line {line} of the access policies nests brackets more than \
         {POLICY_NESTING_MAX} levels deep"
    )]
    Nesting {
        /// Line on which the limit is exceeded.
        line: usize,
    },
    /// A policy contains more operators than [`POLICY_OPERATORS_MAX`].
    #[error(
        "line {line} of the access policies is in a policy with more than {POLICY_OPERATORS_MAX} \
         operators; split the policy, or write its alternatives as a set"
    )]
    Operators {
        /// Line on which the limit is exceeded.
        line: usize,
    },
    /// Cedar cannot parse the text.
    #[error("the access policies cannot be read: {0}")]
    Syntax(Problems),
    /// The policies are not valid against the schema.
    #[error("the access policies are not valid: {0}")]
    Invalid(Problems),
    /// The policy is a template. Its slots are never filled, so it could never match.
    #[error(
        "the access policy {policy} is a template with `?principal` or `?resource`, which is not \
         supported; name the principal and the resource instead"
    )]
    Template {
        /// Name of the template.
        policy: String,
    },
    /// Two policies have the same `@id`, so grounds could not distinguish them.
    #[error("the access policies {first} and {second} have the same `@id`, `{id}`")]
    SameId {
        /// Position of the first policy, starting at 1.
        first: usize,
        /// Position of the second policy, starting at 1.
        second: usize,
        /// `@id` that both policies have.
        id: String,
    },
    /// The `@id` of a policy is reserved for built-in policies or is not usable as a name.
    #[error("the access policy {position} has the `@id` `{id}`, which {why}")]
    Id {
        /// Position of the policy, starting at 1.
        position: usize,
        /// `@id` of the policy, with special characters escaped.
        id: String,
        /// Reason why this `@id` is not allowed.
        why: &'static str,
    },
    /// An annotation is longer than [`ANNOTATION_BYTES_MAX`].
    #[error(
        "the `@{key}` of the access policy {position} has {bytes} bytes, but the limit is \
         {ANNOTATION_BYTES_MAX}"
    )]
    Annotation {
        /// Position of the policy, starting at 1.
        position: usize,
        /// Key of the annotation: `id` or `reason`.
        key: &'static str,
        /// Size of the annotation, in bytes.
        bytes: usize,
    },
    /// The built-in policies cannot be loaded, which is a bug in actum.
    #[error("the built-in access policies cannot be loaded: {message}")]
    BuiltIn {
        /// Error message of Cedar.
        message: String,
    },
}

/// Reason why the policies of several files are not loaded, with the file that causes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", of_file(file.as_deref()))]
pub struct AccessFileError {
    /// Name of the affected file, or `None` if the problem concerns all files together.
    pub file: Option<String>,
    /// Problem that was found.
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

    /// Returns the stable reason code of the problem.
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

/// Problems found in a text of policies, in the order of their lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<PolicyProblem>);

/// Problem found in a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyProblem {
    /// Line number, if known.
    pub line: Option<usize>,
    /// `@id` of the policy or its position, if known.
    pub policy: Option<String>,
    /// Description of the problem, and how to fix it if known.
    pub message: String,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().take(PROBLEMS_REPORTED_MAX).enumerate() {
            f.write_str(if number == 0 { "" } else { "; " })?;
            write!(f, "{problem}")?;
        }
        match self.0.len().saturating_sub(PROBLEMS_REPORTED_MAX) {
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
