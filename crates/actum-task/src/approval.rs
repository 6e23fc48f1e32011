//! What an operator signs to let a task go (EX-1, D-3).

mod verified;

pub use verified::{TaskApprovalError, VerifiedTaskApproval, verify_task_approval};

use actum_core::{Digest, Timestamp};
use actum_record::ledger::{Actor, Isolation, TenantId, WorkspaceId};
use actum_record::receipt::{ExternalPipeline, PathEffect};
use serde::{Deserialize, Serialize};

use super::codes::ErrorCode;
use super::name::TaskId;

/// An operator agrees to a task. An approval key signs it as the payload of an envelope (DSSE).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskApproval {
    /// [`TaskApproval::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Until when the task may be begun.
    pub expires: Timestamp,
    /// Whose ledger it is for.
    pub tenant: TenantId,
    /// The workspace that it is for.
    pub workspace: WorkspaceId,
    /// The task.
    pub task: TaskId,
    /// The SHA-256 of the plan.
    pub plan: Digest,
    /// The SHA-256 of the config.
    pub config: Digest,
    /// Change that the approver was shown: each path before and after.
    pub change: Vec<PathEffect>,
    /// External pipelines that the approver was shown, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Umask that gave new files in it their modes.
    pub umask: u32,
    /// Why, in the person's words.
    pub reason: Option<String>,
    /// Who agreed.
    pub by: Actor,
    /// What keeps others from agreeing so.
    pub isolation: Isolation,
}

/// What is about to be carried out, as an approval is held to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalSubject<'s> {
    /// Whose ledger it is.
    pub tenant: &'s TenantId,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The task.
    pub task: &'s TaskId,
    /// The SHA-256 of the plan.
    pub plan: Digest,
    /// The SHA-256 of the config.
    pub config: Digest,
}

/// Why an approval lets a task not go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskApprovalProblem {
    /// It is for another workspace or tenant.
    #[error("the approval is for another workspace")]
    OtherWorkspace,
    /// It is for another task.
    #[error("the approval is for the task `{approved}` and not for `{task}`")]
    OtherTask {
        /// What it is for.
        approved: TaskId,
        /// What would run.
        task: TaskId,
    },
    /// It is for another plan.
    #[error("the approval is for another plan")]
    OtherPlan,
    /// It is for the plan, with another config.
    #[error("the approval is for the plan with another config")]
    OtherConfig,
    /// It is from the future.
    #[error("the approval was given at {time}, which is still to come")]
    NotYet {
        /// When it was given.
        time: Timestamp,
    },
    /// It has expired.
    #[error("the approval expired at {expires}; ask for a new one")]
    Expired {
        /// When.
        expires: Timestamp,
    },
}

impl TaskApproval {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.task-approved/2";
    /// Value of `format` before an approval named the change. Such an approval is rejected.
    pub const FORMAT_WITHOUT_CHANGE: &str = "actum.task-approved/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.task-approved+json";

    /// Holds the approval to what is about to be carried out, `now`. Who signed it is for the gate to say.
    ///
    /// # Errors
    /// [`TaskApprovalProblem`], the first there is.
    pub fn check(
        &self,
        subject: &ApprovalSubject<'_>,
        now: Timestamp,
    ) -> Result<(), TaskApprovalProblem> {
        let ApprovalSubject { tenant, workspace, task, plan, config } = subject;
        if self.tenant != **tenant || self.workspace != *workspace {
            return Err(TaskApprovalProblem::OtherWorkspace);
        }
        if self.task != **task {
            let (approved, task) = (self.task.clone(), (*task).clone());
            return Err(TaskApprovalProblem::OtherTask { approved, task });
        }
        if self.plan != *plan {
            return Err(TaskApprovalProblem::OtherPlan);
        }
        if self.config != *config {
            return Err(TaskApprovalProblem::OtherConfig);
        }
        if now < self.time {
            return Err(TaskApprovalProblem::NotYet { time: self.time });
        }
        if now >= self.expires {
            return Err(TaskApprovalProblem::Expired { expires: self.expires });
        }
        Ok(())
    }

    /// Whether this staged change is the one that the approver was shown.
    pub fn covers(&self, staged: &[PathEffect]) -> bool {
        self.change == staged
    }
}

impl TaskApprovalProblem {
    /// Its code (EX-18).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Expired { .. } => ErrorCode::ApprovalExpired,
            Self::OtherWorkspace
            | Self::OtherTask { .. }
            | Self::OtherPlan
            | Self::OtherConfig
            | Self::NotYet { .. } => ErrorCode::ApprovalInvalid,
        }
    }
}
