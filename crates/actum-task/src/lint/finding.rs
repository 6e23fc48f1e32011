//! Findings of a lint and their positions.

use actum_core::RelPath;
use actum_document::{JsonPath, Step};

use crate::codes::ErrorCode;
use crate::name::ActionId;
use crate::plan::ActionType;

/// Predicted problem of a plan. `action` is the index of an action in the plan, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// Too many files in the plan.
    #[error("the plan touches {files} files, but a task may touch {files_max}; split it")]
    TooManyFiles {
        /// Number of files.
        files: usize,
        /// Maximum number of files.
        files_max: u32,
    },
    /// Content over the size limit.
    #[error("the action `{id}` makes a file of {bytes} bytes, but a file may have {bytes_max}")]
    TooLarge {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Size of the content.
        bytes: u64,
        /// Maximum size.
        bytes_max: u64,
    },
    /// Action type that this host cannot run.
    #[error("the action `{id}` is of the type {action_type}, which cannot be run here: {why}")]
    NotAvailable {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Type of the action.
        action_type: ActionType,
        /// Reason.
        why: String,
    },
    /// Pipeline that cannot run as planned.
    #[error("the action `{id}` cannot run its pipeline: {why}")]
    Pipeline {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Error code.
        code: ErrorCode,
        /// Reason.
        why: String,
    },
    /// Action after an external pipeline.
    #[error("the action `{id}` has to come before every external pipeline: {why}")]
    AfterExternal {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Reason.
        why: String,
    },
    /// Two actions that touch one file and could run at once.
    #[error(
        "the actions `{first}` and `{second}` both touch `{path}` and could run at once; let one depend \
         on the other, or run them one after the other"
    )]
    Unordered {
        /// Index of the second action.
        action: usize,
        /// Path of the file.
        path: RelPath,
        /// Id of the first action.
        first: ActionId,
        /// Id of the second action.
        second: ActionId,
    },
    /// Missing target.
    #[error(
        "the action `{id}` would fail: its target `{path}` does not exist then; make it in an action \
         before, or correct the path"
    )]
    Missing {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Path of the target.
        path: RelPath,
    },
    /// Existing file at a path to create.
    #[error(
        "the action `{id}` would fail: `{path}` exists already then; change the file, or choose \
         another path"
    )]
    Exists {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Field with the path.
        field: &'static str,
        /// Path to create.
        path: RelPath,
    },
    /// File at the path of a required directory.
    #[error(
        "the action `{id}` would fail: `{path}` lies below `{file}`, which is a file then; choose \
         another path"
    )]
    BelowFile {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Field with the path.
        field: &'static str,
        /// Path to create.
        path: RelPath,
        /// Path of the file.
        file: RelPath,
    },
    /// Symbolic link as the target or in its path.
    #[error(
        "the action `{id}` cannot change `{path}`: `{link}` is a symbolic link, and none is followed; name \
         the file by its path without links"
    )]
    Linked {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Field with the path.
        field: &'static str,
        /// Path of the target.
        path: RelPath,
        /// Path of the link.
        link: RelPath,
    },
    /// Action that depends on one that would fail.
    #[error(
        "the action `{id}` would be skipped, since it depends on `{because}`, which would not be done"
    )]
    Skipped {
        /// Index of the action.
        action: usize,
        /// Id of the action.
        id: ActionId,
        /// Id of the failing dependency.
        because: ActionId,
    },
}

impl Finding {
    /// Returns the error code (EX-18).
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

    /// Returns the index of the action concerned, or `None` for the plan as a whole.
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

    /// Returns the path of the value in the plan that causes the problem. For a field of an operation it is
    /// the path of the operation, since the field may be in its `details`.
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
