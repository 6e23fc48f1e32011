//! Diagnostics of Cedar as problems: with their lines, and with the names that exist instead of an unknown one.

use std::collections::BTreeSet;

use cedar_policy::{PolicyId, ValidationError, ValidationResult, ValidationWarning};
use miette::Diagnostic;

use crate::names::{AccessAction, CONTEXT, USER, WORKSPACE};
use crate::problem::{PolicyProblem, Problems};

/// Returns the problems of a text that is not Cedar.
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

/// Returns the problems of policies that are not valid against the schema; `None` for valid ones. `name` returns the
/// name of a policy in messages. Each place in the text is reported once, though it is checked for every action.
pub(crate) fn validation_problems(
    text: &str,
    result: &ValidationResult,
    name: impl Fn(&PolicyId) -> Option<String>,
) -> Option<Problems> {
    let errors = result
        .validation_errors()
        .map(|error| (error.policy_id(), error as &dyn Diagnostic, known(error)));
    // A wrong condition has no value, so it does not count as impossible.
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
            // The message already begins with the policy, under its name here.
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

/// Lists the names that exist instead of an unknown one.
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

/// Returns true for warnings that reject a policy.
///
/// A policy that can never hold is a mistake; a `forbid` of that kind would protect nothing. Marks that turn the
/// direction of text make it look like another one. Letters of several scripts in one string are accepted, as
/// file names have them.
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

/// Ends of the lines of a text.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}
