//! What an action may not make of a file (EX-20): JSON or YAML that cannot be read, a schema that is none, and what runs
//! though the plan does not say so.
//!
//! A file is judged after each action, by its name. What could not be read before may stay so, or nobody could repair
//! it. No content is ever handed to a shell, so nothing is looked for that only a shell would run. Credentials are
//! looked for by the gate, which knows what the operator allows.

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

/// How much is read of a file whose name says no language, in bytes: more than the line that names its interpreter.
const START_BYTES: u64 = 4096;

/// A file on one side of an action.
#[derive(Debug, Clone, Copy)]
struct File<'a> {
    path: &'a RelPath,
    /// What it holds, or the beginning of that where it is longer than is looked at.
    content: &'a [u8],
}

/// What was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// All there is to it.
    Whole,
    /// Not whether it is sound, as it is too large for that.
    TooLarge {
        /// What it would have been read as.
        language: Language,
    },
}

/// Judges what an action made of its file, of which this is what it held before and what it holds now.
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

/// The first bytes of a content.
fn start_of(content: &[u8], bytes_max: u64) -> &[u8] {
    let length = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    content.get(..length).unwrap_or(content)
}

impl Checked {
    /// What is to be said of it besides.
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

/// How many bytes of its file are looked at: one more than can be judged, so that it shows where there are more.
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

/// Whether a file is what its name says, if it was before or is new.
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

/// What a file has to be that its name calls `language`, by what it was; nothing where it could not be read before.
fn required(language: Language, before: Option<File<'_>>) -> Option<Language> {
    let Some(before) = before else { return Some(language) };
    let Some(named) = language::of(before.path) else { return Some(language) };
    let found = |named: Language| {
        language::at_most(named).iter().find(|it| it.judge(before.content).is_ok()).copied()
    };
    if let Some(found) = found(language) {
        return Some(found);
    }
    // What was too large to be read may have been sound.
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

/// A message that can show a piece of the content, or less where there may be a secret in that.
fn unless_secret(content: &[u8], message: String) -> Cow<'static, str> {
    if scan(None, content).is_empty() {
        return message.into();
    }
    "what is wrong is not shown, since something in the file looks like a credential".into()
}
