//! Approval of a task, signed by an operator (EX-1, D-3).

mod verified;

pub use verified::{TaskApprovalError, VerifiedTaskApproval, verify_task_approval};

use actum_core::{Digest, Timestamp};
use actum_record::ledger::{Actor, Isolation, TenantId, WorkspaceId};
use actum_record::receipt::{ExternalPipeline, PathEffect};
use serde::{Deserialize, Serialize};

use super::codes::ErrorCode;
use super::name::TaskId;

/// Approval of a task by an operator. An approval key signs it as the payload of an envelope (DSSE).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskApproval {
    /// Format, always [`TaskApproval::FORMAT`].
    pub format: String,
    /// Time of the approval.
    pub time: Timestamp,
    /// Expiry time; the task must start before it.
    pub expires: Timestamp,
    /// Tenant whose ledger the approval is for.
    pub tenant: TenantId,
    /// Workspace of the approval.
    pub workspace: WorkspaceId,
    /// Id of the task.
    pub task: TaskId,
    /// SHA-256 of the plan.
    pub plan: Digest,
    /// SHA-256 of the config.
    pub config: Digest,
    /// Change that was shown to the approver: each path before and after.
    pub change: Vec<PathEffect>,
    /// External pipelines that were shown to the approver, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Umask that determined the modes of new files in the change.
    pub umask: u32,
    /// Reason in the approver's words.
    pub reason: Option<String>,
    /// Approver.
    pub by: Actor,
    /// Isolation of the approval from other processes.
    pub isolation: Isolation,
}

/// Task about to run, which an approval must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalSubject<'s> {
    /// Tenant whose ledger is used.
    pub tenant: &'s TenantId,
    /// Workspace of the task.
    pub workspace: WorkspaceId,
    /// Id of the task.
    pub task: &'s TaskId,
    /// SHA-256 of the plan.
    pub plan: Digest,
    /// SHA-256 of the config.
    pub config: Digest,
}

/// Reason why an approval does not apply to a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskApprovalProblem {
    /// Approval for another workspace or tenant.
    #[error("the approval is for another workspace")]
    OtherWorkspace,
    /// Approval for another task.
    #[error("the approval is for the task `{approved}` and not for `{task}`")]
    OtherTask {
        /// Task of the approval.
        approved: TaskId,
        /// Task about to run.
        task: TaskId,
    },
    /// Approval for another plan.
    #[error("the approval is for another plan")]
    OtherPlan,
    /// Approval for the plan with another config.
    #[error("the approval is for the plan with another config")]
    OtherConfig,
    /// Approval from the future.
    #[error("the approval was given at {time}, which is still to come")]
    NotYet {
        /// Time of the approval.
        time: Timestamp,
    },
    /// Expired approval.
    #[error("the approval expired at {expires}; ask for a new one")]
    Expired {
        /// Expiry time.
        expires: Timestamp,
    },
}

impl TaskApproval {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.task-approved/2";
    /// Value of `format` in an older version, in which an approval did not name the change. Such an approval
    /// is rejected.
    pub const FORMAT_WITHOUT_CHANGE: &str = "actum.task-approved/1";
    /// Payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.task-approved+json";

    /// Checks that the approval matches the task about to run, at the time `now`. The gate checks the signer.
    ///
    /// # Errors
    /// The first [`TaskApprovalProblem`] found.
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

    /// Returns true if this staged change is the one that was shown to the approver.
    pub fn covers(&self, staged: &[PathEffect]) -> bool {
        self.change == staged
    }
}

impl TaskApprovalProblem {
    /// Returns the error code (EX-18).
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
