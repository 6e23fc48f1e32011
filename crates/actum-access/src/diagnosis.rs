//! Converts Cedar's diagnostics to problems with line numbers. Lists the known names if a policy uses an unknown one.

use std::collections::BTreeSet;

use cedar_policy::{PolicyId, ValidationError, ValidationResult, ValidationWarning};
use miette::Diagnostic;

use crate::names::{AccessAction, CONTEXT, USER, WORKSPACE};
use crate::problem::{PolicyProblem, Problems};

/// Returns the problems of a text that Cedar cannot parse.
pub(crate) fn syntax_problems<'a>(
    text: &str,
    errors: impl IntoIterator<Item = &'a (dyn Diagnostic + 'a)>,
) -> Problems {
    let lines = Lines::new(text);
    let problems = errors.into_iter().map(|error| PolicyProblem {
        line: offset(error).map(|offset| lines.line(offset)),
        policy: None,
        message: with_help(error),
    });
    sorted(problems.collect())
}

/// Returns the problems of policies that are not valid against the schema, or `None` if all of them are valid. `name`
/// maps the id of a policy to the name shown in messages. Cedar checks each policy once per action, but each position
/// in the text is reported only once.
pub(crate) fn validation_problems(
    text: &str,
    result: &ValidationResult,
    name: impl Fn(&PolicyId) -> Option<String>,
) -> Option<Problems> {
    let errors = result
        .validation_errors()
        .map(|error| (error.policy_id(), error as &dyn Diagnostic, known(error)));
    // A policy with a type error is also reported as impossible, so ignore the warnings about such policies.
    let wrong: BTreeSet<&PolicyId> =
        result.validation_errors().map(ValidationError::policy_id).collect();
    let warnings = result
        .validation_warnings()
        .filter(|warning| is_refused(warning) && !wrong.contains(warning.policy_id()));
    let warnings = warnings.map(|warning| {
        let diagnostic: &dyn Diagnostic = warning;
        (warning.policy_id(), diagnostic, None)
    });
    let lines = Lines::new(text);
    let mut problems: Vec<(Option<usize>, PolicyProblem)> = errors
        .chain(warnings)
        .map(|(id, error, known)| {
            let message = match known {
                Some(known) => format!("{error}; {known}"),
                None => with_help(error),
            };
            // Cedar's message starts with its own id of the policy. Remove it, because the problem already has the
            // policy's name.
            let message = message.replace(&format!("for policy `{id}`, "), "");
            let policy = name(id);
            let offset = offset(error);
            let line = offset.map(|offset| lines.line(offset));
            (offset, PolicyProblem { line, policy, message })
        })
        .collect();
    problems.sort();
    problems.dedup_by(|later, first| later.0.is_some() && later.0 == first.0);
    let problems: Vec<PolicyProblem> = problems.into_iter().map(|(_, problem)| problem).collect();
    (!problems.is_empty()).then(|| sorted(problems))
}

fn sorted(mut problems: Vec<PolicyProblem>) -> Problems {
    problems.sort();
    problems.dedup();
    Problems(problems)
}

/// Lists the names that are defined in the schema, for an error about an unknown name.
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
        Some(format!("known actions are {}", actions.join(", ")))
    } else if let ValidationError::UnrecognizedEntityType(_) = error {
        Some(format!("known entity types are `{}`", list(&["User", "Workspace", "Action"])))
    } else {
        None
    }
}

/// Checks whether a warning is serious enough to reject the policy.
///
/// A policy that can never match is a mistake, because a `forbid` of this kind would protect nothing. Bidirectional
/// control characters can disguise a policy as a different one. Mixed scripts in one string are accepted, because they
/// occur in file names.
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

/// Byte offsets of the line ends in a text.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}
