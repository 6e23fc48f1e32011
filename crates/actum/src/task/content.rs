//! Content rules for files that an action changes (EX-20). JSON and YAML must stay readable, schemas must be valid, and
//! new executables must be declared in the plan.
//!
//! Each action's file is checked afterwards, by its name. A file that was unreadable before may stay so, so that it can
//! be repaired. No content is ever passed to a shell, so content that only a shell would run is not searched for. The
//! credential gate searches for credentials, since it knows the operator's exceptions.

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

/// Number of bytes that are read of a file whose name implies no language. It is more than a line with an interpreter
/// needs.
const START_BYTES: u64 = 4096;

/// File before or after an action.
#[derive(Debug, Clone, Copy)]
struct File<'a> {
    path: &'a RelPath,
    /// Content, or its beginning if it exceeds the checked length.
    content: &'a [u8],
}

/// Extent of a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// Checked completely.
    Whole,
    /// Too large to be parsed.
    TooLarge {
        /// Language of its name.
        language: Language,
    },
}

/// Checks the result of an action, given the content of its file before and after.
///
/// # Errors
/// `ResultNotParseable`, `ResultNotSchema`, `UndeclaredExecutable`, `FileTooLarge` for a schema.
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

/// Returns the first bytes of a content.
fn start_of(content: &[u8], bytes_max: u64) -> &[u8] {
    let length = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    content.get(..length).unwrap_or(content)
}

impl Checked {
    /// Returns a note about the check for the report.
    pub(super) fn note(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::TooLarge { language } => format!(
                "; it has more than {} bytes, and whether it is {} was not checked",
                language.bytes_max(),
                language.as_str()
            ),
        }
    }
}

/// Returns the number of bytes of a file that are read: one more than the limit, so that a larger file is detected.
fn looked_at(action: &Action) -> u64 {
    let languages = action.written().filter_map(language::of).map(Language::bytes_max);
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

/// Checks that a file has the language of its name, if it had before or is new.
fn parses(before: Option<File<'_>>, after: File<'_>) -> Result<Checked, ActionProblem> {
    let Some(language) = language::of(after.path) else { return Ok(Checked::Whole) };
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

/// Returns the language that a file must have, given its name's `language` and its content before. Returns `None` if it
/// was unreadable before.
fn required(language: Language, before: Option<File<'_>>) -> Option<Language> {
    let Some(before) = before else { return Some(language) };
    let Some(named) = language::of(before.path) else { return Some(language) };
    let found = |named: Language| {
        language::at_most(named).iter().find(|it| it.judge(before.content).is_ok()).copied()
    };
    if let Some(found) = found(language) {
        return Some(found);
    }
    // A file that was too large to be parsed may have been valid.
    let is_too_large = matches!(named.judge(before.content), Err(Unsound::TooLarge { .. }));
    (is_too_large || found(named).is_some()).then_some(language)
}

fn not_parseable(file: File<'_>, language: Language, unsound: &Unsound) -> ActionProblem {
    let (path, language) = (file.path, language.as_str());
    let said = match unsound {
        Unsound::TooLarge { .. } => unsound.to_string(),
        Unsound::At { line, column, problem } => {
            let problem = unless_secret(file.content, problem.to_string());
            format!("line {line}, column {column}: {problem}")
        }
    };
    let message = format!("`{path}` would not be {language}: {said}");
    ActionProblem::new(ErrorCode::ResultNotParseable, message)
}

/// Returns a message that may quote the content, or a neutral one if the content may contain a secret.
fn unless_secret(content: &[u8], message: String) -> Cow<'static, str> {
    if scan(None, content).is_empty() {
        return message.into();
    }
    "what is wrong is not shown, since something in the file looks like a credential".into()
}
