//! Problems of actions and tasks, with the error codes under which they are reported (EX-18).

use std::io;

use actum_core::RelPath;
use actum_core::place::Place;
use actum_document::{Diagnostic, JsonPath, Problem, Step};
use actum_edit::edit::{
    EditError, JsonValueError, LineError, PathProblem, ReplacementError, YamlError,
};
use actum_task::{ErrorCategory, ErrorCode, Mistakes, Response};
use actum_workspace::{ErrorKind, NotAFile};

use super::protected::Violation;

/// Reason why an action failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionProblem {
    /// Error code under which the problem is reported.
    pub code: ErrorCode,
    /// Description of the problem.
    pub message: String,
    /// Affected path, if known.
    pub path: Option<RelPath>,
    /// Chain of underlying errors, starting with the direct cause.
    pub causes: Vec<String>,
}

impl ActionProblem {
    /// Prefixes the message with the part of the action in which the problem occurred, such as a pipeline step.
    #[must_use]
    pub(super) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// Returns the error code under which a workspace error is reported.
    pub(super) fn code_of(kind: &ErrorKind) -> ErrorCode {
        code_from_kind(kind)
    }

    /// Creates a problem without a path or causes.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None, causes: Vec::new() }
    }

    /// Converts a workspace error to a problem, keeping its path and causes.
    pub(super) fn from_kind(kind: &ErrorKind) -> Self {
        let (path, causes) = (path_of(kind).cloned(), causes(kind));
        Self { path, causes, ..Self::new(code_from_kind(kind), kind.to_string()) }
    }

    /// Returns the error chain as text, one error per line. Returns `None` unless this is an internal error (5xxx).
    pub(super) fn stack_trace(&self) -> Option<String> {
        stack_trace(self.code, &self.message, &self.causes)
    }
}

/// Formats an error chain, one error per line. Returns `None` unless the code is that of an internal error.
fn stack_trace(code: ErrorCode, message: &str, causes: &[String]) -> Option<String> {
    let is_internal = code.category() == ErrorCategory::Internal;
    let caused = |text: String, cause: &String| format!("{text}\ncaused by: {cause}");
    is_internal.then(|| causes.iter().fold(message.to_owned(), caused))
}

/// Returns the texts of the underlying errors of an error, starting with the direct cause.
fn causes(error: &dyn std::error::Error) -> Vec<String> {
    let first = error.source();
    std::iter::successors(first, |error| error.source()).map(ToString::to_string).collect()
}

/// Returns the affected path of a workspace error, if the error is about a single path.
fn path_of(kind: &ErrorKind) -> Option<&RelPath> {
    match kind {
        ErrorKind::Attributes { path, .. }
        | ErrorKind::Conflict { path, .. }
        | ErrorKind::Expected { path, .. } => Some(path),
        ErrorKind::ChangedSince { conflicts, .. } => conflicts.first().map(|it| &it.path),
        ErrorKind::Missing { path, .. }
        | ErrorKind::Exists { path }
        | ErrorKind::NotAFile { path, .. }
        | ErrorKind::LinkTarget { path, .. }
        | ErrorKind::Component { path, .. }
        | ErrorKind::UnderAFile { path, .. }
        | ErrorKind::Private { path, .. }
        | ErrorKind::OtherFileSystem { path }
        | ErrorKind::HardLink { path, .. }
        | ErrorKind::Blocked { path, .. }
        | ErrorKind::NotBlocked { path }
        | ErrorKind::Hunk { path, .. }
        | ErrorKind::Edit { path, .. }
        | ErrorKind::TooLargeToSearch { path, .. }
        | ErrorKind::LostImage { path, .. } => Some(path),
        ErrorKind::Path { .. }
        | ErrorKind::Scope { .. }
        | ErrorKind::Budget { .. }
        | ErrorKind::TooLarge { .. }
        | ErrorKind::NoSnapshot
        | ErrorKind::SnapshotTooLarge { .. }
        | ErrorKind::Io { .. }
        | ErrorKind::ChangeSet { .. }
        | ErrorKind::AsBefore { .. }
        | ErrorKind::AlreadyUndone { .. }
        | ErrorKind::NoRunToUndo { .. }
        | ErrorKind::NoRunToRedo { .. }
        | ErrorKind::InEffect { .. }
        | ErrorKind::NothingToUndo { .. }
        | ErrorKind::UnknownRun { .. }
        | ErrorKind::RunsReversed { .. }
        | ErrorKind::Busy { .. }
        | ErrorKind::Damaged { .. }
        | ErrorKind::JournalMissing
        | ErrorKind::JournalSound
        | ErrorKind::NewerFormat { .. }
        | ErrorKind::DamagedHistory { .. }
        | ErrorKind::State { .. }
        | ErrorKind::NotAWorkspace
        | ErrorKind::Poisoned => None,
    }
}

impl From<actum_workspace::Error> for ActionProblem {
    fn from(error: actum_workspace::Error) -> Self {
        Self::from_kind(&error.kind)
    }
}

fn code_from_kind(kind: &ErrorKind) -> ErrorCode {
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
        ErrorKind::Path { .. } | ErrorKind::LinkTarget { .. } => ErrorCode::InvalidPath,
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
        | ErrorKind::NoSnapshot
        | ErrorKind::SnapshotTooLarge { .. }
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
            | YamlError::NoMember { .. }
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

/// Reason why a task was rejected or failed, with the affected action and the position in its documents, if known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskProblem {
    /// Error code under which the problem is reported.
    pub code: ErrorCode,
    /// Description of the problem.
    pub message: String,
    /// Index in the plan of the affected action.
    pub action: Option<usize>,
    /// Affected path in the project.
    pub target: Option<RelPath>,
    /// Affected path as written in the document, if it is not a valid project path.
    pub given: Option<Box<[u8]>>,
    /// JSONPath of the affected value in its document.
    pub json_path: Option<String>,
    /// Line and column of the affected value in its document.
    pub place: Option<Place>,
    /// Stable reason name, such as `PLAN_STALE`, if there is one.
    pub reason: Option<&'static str>,
    /// Chain of underlying errors, starting with the direct cause.
    pub causes: Option<Box<Vec<String>>>,
}

impl TaskProblem {
    /// Creates a problem that concerns the entire task.
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
            causes: None,
        }
    }

    /// Converts the problem of an action to a problem of its task.
    pub(super) fn of_action(action: usize, problem: ActionProblem) -> Self {
        let ActionProblem { code, message, path: _, causes } = problem;
        Self { action: Some(action), ..Self::new(code, message) }.caused_by(causes)
    }

    /// Converts a problem that was detected after the actions had ended, so it cannot be attributed to one of them.
    pub(super) fn of_late(ActionProblem { code, message, path, causes }: ActionProblem) -> Self {
        Self { target: path, ..Self::new(code, message) }.caused_by(causes)
    }

    /// Returns the error chain as text, one error per line. Returns `None` unless this is an internal error (5xxx).
    pub(super) fn stack_trace(&self) -> Option<String> {
        let causes = self.causes.as_deref().map(Vec::as_slice).unwrap_or_default();
        stack_trace(self.code, &self.message, causes)
    }

    /// Returns whether the problem is the failure of an action, even if it was detected only later. Examples are a file
    /// system error and a broken validation rule.
    pub(super) fn is_of_action(&self) -> bool {
        match self.code.response() {
            // Internal codes, such as cancellation or a timeout of the task, are not failures of an action.
            Response::StopAndRollBack => self.code.category() != ErrorCategory::Internal,
            Response::SkipAction => self.code.category() == ErrorCategory::Permission,
            Response::Reject
            | Response::RejectAndAlert
            | Response::SkipDependents
            | Response::UseCheckpoint
            | Response::StopRollBackAndEscalate
            | Response::Escalate => false,
        }
    }

    /// Adds the underlying errors of `error` as the causes of the problem.
    pub(super) fn because_of(self, error: &dyn std::error::Error) -> Self {
        self.caused_by(causes(error))
    }

    fn caused_by(self, causes: Vec<String>) -> Self {
        let causes = (!causes.is_empty()).then(|| Box::new(causes));
        Self { causes, ..self }
    }

    /// Creates the problem of an action whose target is protected.
    pub(super) fn of_violation(violation: Violation) -> Self {
        let Violation { action, path, problem } = violation;
        let steps = vec![Step::Member("action_plan".to_owned()), Step::Element(action)];
        let json_path = Some(JsonPath(steps).to_string());
        Self { target: Some(path), json_path, ..Self::of_action(action, problem) }
    }

    /// Converts all mistakes found in a document to problems. Their messages start with `document`, such as `the task plan`.
    pub(super) fn of_mistakes(document: &str, mistakes: &Mistakes) -> Vec<Self> {
        let one = |mistake: &Diagnostic| Self {
            action: match &*mistake.path.0 {
                [Step::Member(list), Step::Element(action), ..] if list == "action_plan" => {
                    Some(*action)
                }
                _ => None,
            },
            given: given(&mistake.problem),
            json_path: Some(mistake.path.to_string()).filter(|path| !path.is_empty()),
            place: mistake.place,
            ..Self::new(
                ErrorCode::from_diagnostic(mistake),
                format!("{document}: {}", mistake.problem),
            )
        };
        mistakes.list.iter().map(one).collect()
    }
}

/// Returns the invalid path that a mistake is about, as written in the document.
fn given(problem: &Problem) -> Option<Box<[u8]>> {
    let Problem::Path(error) = problem else { return None };
    Some(error.given.clone().into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(source: io::Error) -> ErrorKind {
        let path = RelPath::new(b"a.txt").unwrap();
        ErrorKind::Attributes { path, what: "owner", source }
    }

    /// EX-18: only an internal error is reported with its error chain.
    #[test]
    fn internal_error_includes_its_cause_chain() {
        let kind = ErrorKind::Io {
            action: "read a record".to_owned(),
            source: io::Error::other("the cause of it"),
        };
        let problem = TaskProblem::new(ErrorCode::InternalError, "no record").because_of(&kind);
        let chain = "no record\ncaused by: the cause of it";
        assert_eq!(problem.stack_trace().as_deref(), Some(chain));
        let of_action =
            ActionProblem { code: ErrorCode::InternalError, ..ActionProblem::from_kind(&kind) };
        assert!(of_action.stack_trace().unwrap().ends_with("caused by: the cause of it"));
        let full = attributes(io::ErrorKind::StorageFull.into());
        assert_eq!(ActionProblem::from_kind(&full).stack_trace(), None);
    }

    /// EX-18: a workspace error that names a path is attributed to that path.
    #[test]
    fn workspace_error_keeps_the_path_it_names() {
        for (source, code) in [
            (io::ErrorKind::StorageFull, ErrorCode::DiskFull),
            (io::ErrorKind::PermissionDenied, ErrorCode::PermissionDenied),
        ] {
            let problem =
                TaskProblem::of_late(ActionProblem::from_kind(&attributes(source.into())));
            assert_eq!((problem.code, problem.is_of_action()), (code, true));
            assert_eq!(problem.target.unwrap().as_bytes(), b"a.txt");
        }
        assert!(!TaskProblem::new(ErrorCode::Cancelled, "").is_of_action());
        assert!(!TaskProblem::new(ErrorCode::ChangedAfterRun, "").is_of_action());
    }
}
