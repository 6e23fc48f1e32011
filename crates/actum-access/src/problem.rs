//! Why policies are not loaded, and where in their text.

use std::collections::BTreeSet;
use std::fmt;

use cedar_policy::{PolicyId, ValidationError, ValidationResult, ValidationWarning};
use miette::Diagnostic;

use crate::depth::{POLICY_NESTING_MAX, POLICY_OPERATORS_MAX};
use crate::names::{CONTEXT, USER, WORKSPACE};
use crate::policies::{ANNOTATION_BYTES_MAX, Named, POLICIES_MAX, POLICY_BYTES_MAX};
use crate::request::AccessAction;

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

impl Problems {
    /// Of a text that is not Cedar.
    pub(crate) fn of_syntax<'a>(
        text: &str,
        errors: impl IntoIterator<Item = &'a (dyn Diagnostic + 'a)>,
    ) -> Self {
        let lines = Lines::of(text);
        let problems = errors.into_iter().map(|error| PolicyProblem {
            line: offset(error).map(|offset| lines.line(offset)),
            policy: None,
            message: with_help(error),
        });
        Self::sorted(problems.collect())
    }

    /// Of policies that the schema has no place for; `None` where there are none. One place in the
    /// text is told once, though it is checked for every action.
    pub(crate) fn of_validation(
        text: &str,
        result: &ValidationResult,
        named: impl Fn(&PolicyId) -> Option<Named>,
    ) -> Option<Self> {
        let errors = result
            .validation_errors()
            .map(|error| (error.policy_id(), error as &dyn Diagnostic, known(error)));
        // A condition that is wrong has no value, and is not impossible for that.
        let wrong: BTreeSet<&PolicyId> =
            result.validation_errors().map(ValidationError::policy_id).collect();
        let warnings = result
            .validation_warnings()
            .filter(|warning| is_refused(warning) && !wrong.contains(warning.policy_id()));
        let warnings = warnings.map(|warning| {
            let diagnostic: &dyn Diagnostic = warning;
            (warning.policy_id(), diagnostic, None)
        });
        let lines = Lines::of(text);
        let mut problems: Vec<(Option<usize>, PolicyProblem)> = errors
            .chain(warnings)
            .map(|(id, error, known)| {
                let message = match known {
                    Some(known) => format!("{error}; {known}"),
                    None => with_help(error),
                };
                // The policy stands before the message already, under the name that it has here.
                let message = message.replace(&format!("for policy `{id}`, "), "");
                let policy = named(id).map(|named| named.to_string());
                let offset = offset(error);
                let line = offset.map(|offset| lines.line(offset));
                (offset, PolicyProblem { line, policy, message })
            })
            .collect();
        problems.sort();
        problems.dedup_by(|later, first| later.0.is_some() && later.0 == first.0);
        let problems: Vec<PolicyProblem> =
            problems.into_iter().map(|(_, problem)| problem).collect();
        (!problems.is_empty()).then(|| Self::sorted(problems))
    }

    fn sorted(mut problems: Vec<PolicyProblem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }
}

/// What is known instead of something that is not.
fn known(error: &ValidationError) -> Option<String> {
    let list = |names: &[&str]| names.join("`, `");
    if let ValidationError::UnsafeAttributeAccess(access) = error {
        let message = access.to_string();
        let (of, known) = if message.contains("in context for") {
            ("`context`", CONTEXT)
        } else if message.contains("`Workspace`") {
            ("a workspace", WORKSPACE)
        } else if message.contains("`User`") {
            ("a user", USER)
        } else {
            return None;
        };
        Some(format!("{of} has `{}`", list(known)))
    } else if let ValidationError::UnrecognizedActionId(_) = error {
        let actions = AccessAction::ALL.map(|action| format!("`Action::\"{}\"`", action.as_str()));
        Some(format!("there are {}", actions.join(", ")))
    } else if let ValidationError::UnrecognizedEntityType(_) = error {
        Some(format!("there are `{}`", list(&["User", "Workspace", "Action"])))
    } else {
        None
    }
}

/// A policy that can never hold is a slip of the pen; a `forbid` of that kind would protect nothing.
/// Marks that turn the direction of text make it read as another one. Letters of several scripts in
/// one string are no sign of anything, as file names have them.
fn is_refused(warning: &ValidationWarning) -> bool {
    !matches!(
        warning,
        ValidationWarning::MixedScriptString(_)
            | ValidationWarning::MixedScriptIdentifier(_)
            | ValidationWarning::ConfusableIdentifier(_)
    )
}

fn with_help(error: &dyn Diagnostic) -> String {
    match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    }
}

fn offset(error: &dyn Diagnostic) -> Option<usize> {
    error.labels()?.map(|label| label.offset()).min()
}

/// Where the lines of a text end.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}
