//! Rules for the content of files that an action changes (EX-20). JSON and YAML must remain parseable, schemas must be
//! valid, and new executables must be declared in the plan.
//!
//! After each action, its file is checked according to the file name. A file that did not parse before the action may
//! remain broken, so that it can be repaired in several steps. Shell syntax is not searched for, because actum never
//! passes content to a shell. Credentials are left to the credential gate, which knows the operator's exceptions.

mod executable;
mod language;
#[cfg(test)]
mod properties;
mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use actum_core::RelPath;
use actum_edit::edit::{Language, Unsound};
use actum_gate::credential::scan;
use actum_task::{Action, ErrorCode, Work};

use super::problem::ActionProblem;

/// Number of bytes read from a file whose name implies no language, which is enough to find a `#!` line.
const START_BYTES: u64 = 4096;

/// Path and content of a file before or after an action.
#[derive(Debug, Clone, Copy)]
struct File<'a> {
    path: &'a RelPath,
    /// Content of the file, truncated if it is longer than the part that is checked.
    content: &'a [u8],
}

/// Extent to which a file was checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// The file was checked completely.
    Whole,
    /// The file is too large to be parsed.
    TooLarge {
        /// Language that the file name implies.
        language: Language,
    },
}

/// Checks the result of an action, given the content of its file before and after the action.
///
/// # Errors
/// `ResultNotParseable`, `ResultNotSchema`, `UndeclaredExecutable`, or `FileTooLarge` for a schema.
pub(super) fn check(
    action: &Action,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Result<Checked, ActionProblem> {
    let target = &action.target;
    let path = match &action.work {
        Work::Create { .. } | Work::Modify(_) | Work::UpdateSchema(_) => target,
        Work::Rename { new_path } => new_path,
        Work::Delete | Work::ExecuteSql(_) | Work::RunPipeline(_) => return Ok(Checked::Whole),
    };
    let Some(content) = after else { return Ok(Checked::Whole) };
    let start = |content| start_of(content, looked_at(action));
    let before = before.map(|content| File { path: target, content: start(content) });
    judge(action, before, File { path, content: start(content) })
}

/// Returns at most the first `bytes_max` bytes of `content`.
fn start_of(content: &[u8], bytes_max: u64) -> &[u8] {
    let length = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    content.get(..length).unwrap_or(content)
}

impl Checked {
    /// Returns a note for the report if the file was not checked completely, otherwise an empty string.
    pub(super) fn note(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::TooLarge { language } => format!(
                "; the file exceeds {} bytes, so its {} syntax was not checked",
                language.bytes_max(),
                language.as_str()
            ),
        }
    }
}

/// Returns the number of bytes to read from the file of an action. It is one more than the limit, so that a file that
/// exceeds the limit is detected.
fn looked_at(action: &Action) -> u64 {
    let languages = action.written().filter_map(language::from_path).map(Language::bytes_max);
    let schema = match &action.work {
        Work::UpdateSchema(_) => Some(schema::SCHEMA_BYTES_MAX),
        Work::Create { .. }
        | Work::Modify(_)
        | Work::Delete
        | Work::Rename { .. }
        | Work::ExecuteSql(_)
        | Work::RunPipeline(_) => None,
    };
    languages.chain(schema).max().map_or(START_BYTES, |bytes_max| bytes_max.saturating_add(1))
}

fn judge(
    action: &Action,
    before: Option<File<'_>>,
    after: File<'_>,
) -> Result<Checked, ActionProblem> {
    executable::judge(&action.work, before, after)?;
    let checked = parses(before, after)?;
    if let Work::UpdateSchema(change) = &action.work {
        schema::judge(change, after)?;
    }
    Ok(checked)
}

/// Checks that a file parses as the language of its name, if it is new or parsed before the action.
fn parses(before: Option<File<'_>>, after: File<'_>) -> Result<Checked, ActionProblem> {
    let Some(language) = language::from_path(after.path) else { return Ok(Checked::Whole) };
    let unsound = match language.judge(after.content) {
        Ok(()) => return Ok(Checked::Whole),
        Err(Unsound::TooLarge { .. }) => return Ok(Checked::TooLarge { language }),
        Err(unsound) => unsound,
    };
    let Some(required) = required(language, before) else { return Ok(Checked::Whole) };
    if required == language {
        return Err(not_parseable(after, language, &unsound));
    }
    match required.judge(after.content) {
        Ok(()) => Ok(Checked::Whole),
        Err(unsound) => Err(not_parseable(after, required, &unsound)),
    }
}

/// Returns the language that a file must parse as, given the `language` of its name and its previous content. Returns
/// `None` if the file did not parse before the action.
fn required(language: Language, before: Option<File<'_>>) -> Option<Language> {
    let Some(before) = before else { return Some(language) };
    let Some(named) = language::from_path(before.path) else { return Some(language) };
    let found = |named: Language| {
        language::at_most(named).iter().find(|it| it.judge(before.content).is_ok()).copied()
    };
    if let Some(found) = found(language) {
        return Some(found);
    }
    // A file that was too large to be parsed is treated as valid, because it may have been.
    let is_too_large = matches!(named.judge(before.content), Err(Unsound::TooLarge { .. }));
    (is_too_large || found(named).is_some()).then_some(language)
}

fn not_parseable(file: File<'_>, language: Language, unsound: &Unsound) -> ActionProblem {
    let (path, language) = (file.path, language.as_str());
    let description = match unsound {
        Unsound::TooLarge { .. } => unsound.to_string(),
        Unsound::At { line, column, problem } => {
            let problem = unless_secret(file.content, problem.to_string());
            format!("line {line}, column {column}: {problem}")
        }
    };
    let message = format!("`{path}` would not be valid {language}: {description}");
    ActionProblem::new(ErrorCode::ResultNotParseable, message)
}

/// Returns `message`, which may quote the content of a file, or a neutral text if the content may contain a credential.
fn unless_secret(content: &[u8], message: String) -> Cow<'static, str> {
    if scan(None, content).is_empty() {
        return message.into();
    }
    "details are hidden because the file may contain a credential".into()
}
