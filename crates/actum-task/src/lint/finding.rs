//! What a lint finds, and where.

use actum_core::RelPath;
use actum_document::{JsonPath, Step};

use crate::codes::ErrorCode;
use crate::name::ActionId;
use crate::plan::ActionType;

/// Something that would go wrong. `action` is the place of an action in the plan, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The plan touches too many files.
    #[error("the plan touches {files} files, but a task may touch {files_max}; split it")]
    TooManyFiles {
        /// How many.
        files: usize,
        /// How many it may.
        files_max: u32,
    },
    /// A content is too large.
    #[error("the action `{id}` makes a file of {bytes} bytes, but a file may have {bytes_max}")]
    TooLarge {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// How large the content is.
        bytes: u64,
        /// How large it may be.
        bytes_max: u64,
    },
    /// This host cannot run actions of this type.
    #[error("the action `{id}` is of the type {action_type}, which cannot be run here: {why}")]
    NotAvailable {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// Its type.
        action_type: ActionType,
        /// Reason.
        why: String,
    },
    /// Its pipeline cannot be run as the plan says.
    #[error("the action `{id}` cannot run its pipeline: {why}")]
    Pipeline {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// Code.
        code: ErrorCode,
        /// Reason.
        why: String,
    },
    /// It comes after an external pipeline.
    #[error("the action `{id}` has to come before every external pipeline: {why}")]
    AfterExternal {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// Reason.
        why: String,
    },
    /// Two actions touch one file and could run at once.
    #[error(
        "the actions `{first}` and `{second}` both touch `{path}` and could run at once; let one depend \
         on the other, or run them one after the other"
    )]
    Unordered {
        /// Which action: the second.
        action: usize,
        /// The file.
        path: RelPath,
        /// The one that stands first.
        first: ActionId,
        /// The other.
        second: ActionId,
    },
    /// The target is not there.
    #[error(
        "the action `{id}` would fail: its target `{path}` does not exist then; make it in an action \
         before, or correct the path"
    )]
    Missing {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// The target.
        path: RelPath,
    },
    /// Something is where a file would be made.
    #[error(
        "the action `{id}` would fail: `{path}` exists already then; change the file, or choose \
         another path"
    )]
    Exists {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// The field that has the path.
        field: &'static str,
        /// The path.
        path: RelPath,
    },
    /// A file is where a directory would have to be.
    #[error(
        "the action `{id}` would fail: `{path}` lies below `{file}`, which is a file then; choose \
         another path"
    )]
    BelowFile {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// The field that has the path.
        field: &'static str,
        /// The path.
        path: RelPath,
        /// The file.
        file: RelPath,
    },
    /// A symbolic link is the target, or on the way to it.
    #[error(
        "the action `{id}` cannot change `{path}`: `{link}` is a symbolic link, and none is followed; name \
         the file by its path without links"
    )]
    Linked {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// The field that has the path.
        field: &'static str,
        /// The path.
        path: RelPath,
        /// The link.
        link: RelPath,
    },
    /// An action waits for one that would fail.
    #[error(
        "the action `{id}` would be skipped, since it depends on `{because}`, which would not be done"
    )]
    Skipped {
        /// Which action.
        action: usize,
        /// Its id.
        id: ActionId,
        /// The action that it waits for.
        because: ActionId,
    },
}

impl Finding {
    /// Its code (EX-18).
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

    /// The action that it is about; none where it is the plan as a whole.
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

    /// The value in the plan that is meant. Of a field of an operation it names the operation, since the
    /// field may stand in its `details`.
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
