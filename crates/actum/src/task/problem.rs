//! What went wrong with an action, by the codes of the contract (EX-18).

use std::io;

use actum_core::RelPath;
use actum_core::place::Place;
use actum_document::{JsonPath, Mistake, Problem, Step};
use actum_edit::edit::{
    EditError, JsonValueError, LineError, PathProblem, ReplacementError, YamlError,
};
use actum_task::{ErrorCode, Mistakes};
use actum_workspace::{ErrorKind, NotAFile};

use super::protected::Violation;

/// What went wrong with an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionProblem {
    /// Its code.
    pub code: ErrorCode,
    /// The same in words.
    pub message: String,
}

impl ActionProblem {
    /// The code of what the workspace says.
    pub(super) fn code_of(kind: &ErrorKind) -> ErrorCode {
        of(kind)
    }

    /// With its code.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<actum_workspace::Error> for ActionProblem {
    fn from(error: actum_workspace::Error) -> Self {
        Self { code: of(&error.kind), message: error.kind.to_string() }
    }
}

fn of(kind: &ErrorKind) -> ErrorCode {
    match kind {
        ErrorKind::Missing { .. } => ErrorCode::FileNotFound,
        ErrorKind::Exists { .. } => ErrorCode::FileExists,
        ErrorKind::NotAFile { found: NotAFile::Symlink, .. } => ErrorCode::SymlinkRefused,
        ErrorKind::NotAFile { .. } | ErrorKind::UnderAFile { .. } | ErrorKind::HardLink { .. } => {
            ErrorCode::NotAFile
        }
        ErrorKind::Component { .. } | ErrorKind::OtherFileSystem { .. } => {
            ErrorCode::SymlinkRefused
        }
        ErrorKind::Path { .. } => ErrorCode::InvalidPath,
        ErrorKind::Scope { .. } | ErrorKind::Private { .. } => ErrorCode::OutOfScope,
        ErrorKind::Budget { .. } => ErrorCode::LimitExceeded,
        ErrorKind::TooLargeToSearch { .. } | ErrorKind::TooLarge { .. } => ErrorCode::FileTooLarge,
        ErrorKind::Hunk { .. } => ErrorCode::HunkMismatch,
        ErrorKind::Edit { source, .. } => of_edit(source),
        ErrorKind::Expected { .. }
        | ErrorKind::Conflict { .. }
        | ErrorKind::ChangedSince { .. } => ErrorCode::HashMismatch,
        ErrorKind::Attributes { source, .. } | ErrorKind::Io { source, .. } => of_io(source),
        ErrorKind::ChangeSet { .. }
        | ErrorKind::Blocked { .. }
        | ErrorKind::NotBlocked { .. }
        | ErrorKind::AsBefore { .. }
        | ErrorKind::AlreadyUndone { .. }
        | ErrorKind::NoRunToUndo { .. }
        | ErrorKind::NoRunToRedo { .. }
        | ErrorKind::InEffect { .. }
        | ErrorKind::NothingToUndo { .. }
        | ErrorKind::UnknownRun { .. }
        | ErrorKind::RunsReversed { .. }
        | ErrorKind::LostImage { .. }
        | ErrorKind::Busy { .. }
        | ErrorKind::Damaged { .. }
        | ErrorKind::JournalMissing
        | ErrorKind::JournalSound
        | ErrorKind::NewerFormat { .. }
        | ErrorKind::DamagedHistory { .. }
        | ErrorKind::State { .. }
        | ErrorKind::NotAWorkspace
        | ErrorKind::Poisoned => ErrorCode::InternalError,
    }
}

fn of_io(error: &io::Error) -> ErrorCode {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let is = |kinds: &[io::ErrorKind]| kinds.contains(&error.kind());
    if is(&[PermissionDenied, ReadOnlyFilesystem]) {
        ErrorCode::PermissionDenied
    } else if is(&[StorageFull, QuotaExceeded]) {
        ErrorCode::DiskFull
    } else {
        ErrorCode::InputOutput
    }
}

fn of_edit(error: &EditError) -> ErrorCode {
    match error {
        EditError::TooMuch { .. } => ErrorCode::LimitExceeded,
        EditError::Replace(error) => match error {
            ReplacementError::Missing { .. } => ErrorCode::PatternNotFound,
            ReplacementError::Empty
            | ReplacementError::Same { .. }
            | ReplacementError::Ambiguous { .. } => ErrorCode::PatternCount,
            ReplacementError::TooMany { .. } | ReplacementError::TooMuch { .. } => {
                ErrorCode::LimitExceeded
            }
        },
        EditError::Lines(error) => match error {
            LineError::NoPlace { .. } | LineError::NoLine { .. } | LineError::Reversed { .. } => {
                ErrorCode::LineOutOfRange
            }
            LineError::TooLarge { .. } => ErrorCode::FileTooLarge,
        },
        EditError::JsonValue(error) => match error {
            JsonValueError::NotJson { .. }
            | JsonValueError::OpenComment { .. }
            | JsonValueError::UnclearComment { .. } => ErrorCode::SourceNotParseable,
            JsonValueError::TooLarge { .. } => ErrorCode::FileTooLarge,
            JsonValueError::Path(problem) => of_path(problem),
            JsonValueError::NoObject { .. } => ErrorCode::SelectorNoMatch,
            JsonValueError::Exists { .. } => ErrorCode::PropertyExists,
            JsonValueError::Missing { .. } => ErrorCode::PropertyMissing,
            JsonValueError::TooDeep => ErrorCode::ResultNotParseable,
            JsonValueError::Value(_) | JsonValueError::Unproven { .. } => ErrorCode::InternalError,
        },
        EditError::Yaml(error) => match error {
            YamlError::TooLarge { .. } | YamlError::ResultTooLarge => ErrorCode::FileTooLarge,
            YamlError::NotUtf8 { .. } | YamlError::NotYaml { .. } => ErrorCode::SourceNotParseable,
            YamlError::Path(problem) => of_path(problem),
            YamlError::NoDocument { .. } | YamlError::Empty { .. } => ErrorCode::SelectorNoMatch,
            YamlError::Alias { .. }
            | YamlError::Anchored { .. }
            | YamlError::Tagged { .. }
            | YamlError::Name { .. }
            | YamlError::Unclear { .. } => ErrorCode::YamlNotEditable,
            YamlError::Value | YamlError::Unproven { .. } => ErrorCode::InternalError,
        },
        EditError::Chunk(_) | EditError::Binary(_) | EditError::Json(_) => ErrorCode::InternalError,
    }
}

fn of_path(problem: &PathProblem) -> ErrorCode {
    match problem {
        PathProblem::Nothing { .. } | PathProblem::Stops { .. } => ErrorCode::SelectorNoMatch,
        PathProblem::Several { .. } | PathProblem::Repeated { .. } => ErrorCode::SelectorSeveral,
        PathProblem::Doubled { .. } => ErrorCode::AmbiguousKey,
        PathProblem::Number { .. } | PathProblem::TooMuch { .. } => ErrorCode::SelectorInvalid,
    }
}

/// What is wrong with a task, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskProblem {
    /// Its code.
    pub code: ErrorCode,
    /// The same in words.
    pub message: String,
    /// The action that is meant, by its place in the plan.
    pub action: Option<usize>,
    /// The path of the project that is meant.
    pub target: Option<RelPath>,
    /// That path as it was given, where it is none of the project.
    pub given: Option<Vec<u8>>,
    /// The value of the document that is meant.
    pub json_path: Option<String>,
    /// Where in the document.
    pub place: Option<Place>,
    /// The permanent name of the reason, where the engine gave one.
    pub reason: Option<&'static str>,
}

impl TaskProblem {
    /// A problem of the task as a whole.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            action: None,
            target: None,
            given: None,
            json_path: None,
            place: None,
            reason: None,
        }
    }

    /// What came of an action of a plan.
    pub(super) fn of_action(action: usize, ActionProblem { code, message }: ActionProblem) -> Self {
        Self { action: Some(action), ..Self::new(code, message) }
    }

    /// A target that no plan may touch.
    pub(super) fn of_violation(violation: Violation) -> Self {
        let Violation { action, path, problem } = violation;
        let steps = vec![Step::Member("action_plan".to_owned()), Step::Element(action)];
        let json_path = Some(JsonPath(steps).to_string());
        Self { target: Some(path), json_path, ..Self::of_action(action, problem) }
    }

    /// All that is wrong with a document.
    pub(super) fn of_mistakes(document: &str, mistakes: &Mistakes) -> Vec<Self> {
        let one = |mistake: &Mistake| Self {
            action: match &*mistake.path.0 {
                [Step::Member(list), Step::Element(action), ..] if list == "action_plan" => {
                    Some(*action)
                }
                _ => None,
            },
            given: given(&mistake.problem),
            json_path: Some(mistake.path.to_string()).filter(|path| !path.is_empty()),
            place: mistake.place,
            ..Self::new(ErrorCode::of(mistake), format!("{document}: {}", mistake.problem))
        };
        mistakes.list.iter().map(one).collect()
    }
}

/// The path that a mistake is about, as it was given.
fn given(problem: &Problem) -> Option<Vec<u8>> {
    let Problem::Path(error) = problem else { return None };
    Some(error.given.clone())
}
