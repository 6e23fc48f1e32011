//! Findings of the lint, with their error codes and JSON paths.

use actum_core::RelPath;
use actum_document::{JsonPath, Step};

use crate::codes::ErrorCode;
use crate::name::ActionId;
use crate::plan::ActionType;

/// Predicted problem of a plan. In every variant, `action` is the index of an action in the plan, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The plan touches more files than allowed.
    #[error(
        "the plan touches {files} files, but a task may touch at most {files_max}; split the plan"
    )]
    TooManyFiles {
        /// Number of files that the plan touches.
        files: usize,
        /// Maximum number of files that a task may touch.
        files_max: u32,
    },
    /// An action would write a file that exceeds the size limit.
    #[error(
        "the action `{id}` would write a file of {bytes} bytes, but a file may have at most {bytes_max} bytes"
    )]
    TooLarge {
        /// Index of the action that writes the file.
        action: usize,
        /// Id of the action that writes the file.
        id: ActionId,
        /// Size of the new content, in bytes.
        bytes: u64,
        /// Maximum size of a file, in bytes.
        bytes_max: u64,
    },
    /// This host cannot run actions of this type.
    #[error(
        "the action `{id}` has the type {action_type}, which is not available on this host: {why}"
    )]
    NotAvailable {
        /// Index of the action that cannot run.
        action: usize,
        /// Id of the action that cannot run.
        id: ActionId,
        /// Type of the action.
        action_type: ActionType,
        /// Reason why the host cannot run actions of this type.
        why: String,
    },
    /// The pipeline of an action cannot run as planned.
    #[error("the action `{id}` cannot run its pipeline: {why}")]
    Pipeline {
        /// Index of the action that runs the pipeline.
        action: usize,
        /// Id of the action that runs the pipeline.
        id: ActionId,
        /// Error code of the problem.
        code: ErrorCode,
        /// Reason why the pipeline cannot run.
        why: String,
    },
    /// An action would run after an external pipeline, which must be last.
    #[error("the action `{id}` must run before every external pipeline: {why}")]
    AfterExternal {
        /// Index of the action that would run too late.
        action: usize,
        /// Id of the action that would run too late.
        id: ActionId,
        /// Reason why the action must run before external pipelines.
        why: String,
    },
    /// Two actions touch the same file and could run at the same time.
    #[error(
        "the actions `{first}` and `{second}` both touch `{path}` and could run at the same time; make one \
         depend on the other, or set `execution_order` to `sequential`"
    )]
    Unordered {
        /// Index of the second action.
        action: usize,
        /// Path of the file that both actions touch.
        path: RelPath,
        /// Id of the first action.
        first: ActionId,
        /// Id of the second action.
        second: ActionId,
    },
    /// The target of an action would not exist.
    #[error(
        "the action `{id}` would fail because its target `{path}` would not exist; create the file in an \
         earlier action, or correct the path"
    )]
    Missing {
        /// Index of the action whose target is missing.
        action: usize,
        /// Id of the action whose target is missing.
        id: ActionId,
        /// Path of the missing target.
        path: RelPath,
    },
    /// An action would create a file at a path that is already in use.
    #[error(
        "the action `{id}` would fail because `{path}` would already exist; modify that file instead, or \
         choose a different path"
    )]
    Exists {
        /// Index of the action that creates the file.
        action: usize,
        /// Id of the action that creates the file.
        id: ActionId,
        /// Name of the field that contains the path.
        field: &'static str,
        /// Path at which the file would be created.
        path: RelPath,
    },
    /// An action would create a file below a path that is not a directory.
    #[error(
        "the action `{id}` would fail because `{path}` is below `{file}`, which would be a file; choose a \
         different path"
    )]
    BelowFile {
        /// Index of the action that creates the file.
        action: usize,
        /// Id of the action that creates the file.
        id: ActionId,
        /// Name of the field that contains the path.
        field: &'static str,
        /// Path at which the file would be created.
        path: RelPath,
        /// Parent path that would be a file instead of a directory.
        file: RelPath,
    },
    /// The path of a target is a symbolic link or leads through one.
    #[error(
        "the action `{id}` cannot change `{path}`: `{link}` is a symbolic link, and symbolic links are not \
         followed; use the path of the file itself"
    )]
    Linked {
        /// Index of the action that uses the path.
        action: usize,
        /// Id of the action that uses the path.
        id: ActionId,
        /// Name of the field that contains the path.
        field: &'static str,
        /// Path that is a symbolic link or leads through one.
        path: RelPath,
        /// Path of the symbolic link.
        link: RelPath,
    },
    /// An action would be skipped because it depends on another action that would fail.
    #[error(
        "the action `{id}` would be skipped because it depends on `{because}`, which would not be completed"
    )]
    Skipped {
        /// Index of the action that would be skipped.
        action: usize,
        /// Id of the action that would be skipped.
        id: ActionId,
        /// Id of the dependency that would fail or be skipped.
        because: ActionId,
    },
}

impl Finding {
    /// Returns the error code of the finding (EX-18).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TooManyFiles { .. } => ErrorCode::LimitExceeded,
            Self::TooLarge { .. } => ErrorCode::FileTooLarge,
            Self::NotAvailable { .. } => ErrorCode::NotAvailable,
            Self::Pipeline { code, .. } => *code,
            Self::AfterExternal { .. } => ErrorCode::PipelineNotLast,
            Self::Unordered { .. } => ErrorCode::UnorderedActions,
            Self::Missing { .. } => ErrorCode::FileNotFound,
            Self::Exists { .. } => ErrorCode::FileExists,
            Self::BelowFile { .. } => ErrorCode::NotAFile,
            Self::Linked { .. } => ErrorCode::SymlinkRefused,
            Self::Skipped { .. } => ErrorCode::DependencyFailed,
        }
    }

    /// Returns the index of the action that has the problem, or `None` if the problem concerns the entire plan.
    pub fn action(&self) -> Option<usize> {
        match self {
            Self::TooManyFiles { .. } => None,
            Self::TooLarge { action, .. }
            | Self::NotAvailable { action, .. }
            | Self::Pipeline { action, .. }
            | Self::AfterExternal { action, .. }
            | Self::Unordered { action, .. }
            | Self::Missing { action, .. }
            | Self::Exists { action, .. }
            | Self::BelowFile { action, .. }
            | Self::Linked { action, .. }
            | Self::Skipped { action, .. } => Some(*action),
        }
    }

    /// Returns the JSON path of the value in the plan that causes the problem. A problem in a field of an operation has the path of
    /// the operation, because the field may be in `details` instead.
    pub fn path(&self) -> JsonPath {
        let member = |name: &str| Step::Member(name.to_owned());
        let mut steps = vec![member("action_plan")];
        steps.extend(self.action().map(Step::Element));
        let field = match self {
            Self::TooManyFiles { .. } => None,
            Self::NotAvailable { .. } | Self::AfterExternal { .. } => Some("action_type"),
            Self::TooLarge { .. } | Self::Pipeline { .. } => Some("operation"),
            Self::Exists { field, .. }
            | Self::BelowFile { field, .. }
            | Self::Linked { field, .. }
                if *field == "new_path" =>
            {
                Some("operation")
            }
            Self::Skipped { .. } => Some("depends_on"),
            Self::Unordered { .. }
            | Self::Missing { .. }
            | Self::Exists { .. }
            | Self::BelowFile { .. }
            | Self::Linked { .. } => Some("target"),
        };
        steps.extend(field.map(member));
        JsonPath(steps)
    }
}
