//! Approval of a task that an operator has signed (EX-1, D-3).

mod verified;

pub use verified::{TaskApprovalError, VerifiedTaskApproval, verify_task_approval};

use actum_core::{Digest, Timestamp};
use actum_record::ledger::{Actor, Isolation, TenantId, WorkspaceId};
use actum_record::receipt::{ExternalPipeline, PathEffect};
use serde::{Deserialize, Serialize};

use super::codes::ErrorCode;
use super::name::TaskId;

/// Approval of a task by an operator. It is the payload of an envelope (DSSE) that an approval key signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskApproval {
    /// Format identifier of the document, which is always [`TaskApproval::FORMAT`].
    pub format: String,
    /// Time at which the approval was given.
    pub time: Timestamp,
    /// Time at which the approval expires. The task must start before it.
    pub expires: Timestamp,
    /// Tenant whose ledger records the task.
    pub tenant: TenantId,
    /// Workspace in which the task may run.
    pub workspace: WorkspaceId,
    /// Id of the approved task.
    pub task: TaskId,
    /// SHA-256 of the approved plan.
    pub plan: Digest,
    /// SHA-256 of the approved system config.
    pub config: Digest,
    /// Change that was shown to the approver, as the state of each path before and after it.
    pub change: Vec<PathEffect>,
    /// External pipelines that were shown to the approver, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Umask from which the modes of new files in the change were computed.
    pub umask: u32,
    /// Reason for the approval, as written by the approver.
    pub reason: Option<String>,
    /// Operator who approved the task.
    pub by: Actor,
    /// Degree to which the approval was isolated from other processes.
    pub isolation: Isolation,
}

/// Task that is about to run, to which an approval must apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalSubject<'s> {
    /// Tenant whose ledger records the task.
    pub tenant: &'s TenantId,
    /// Workspace in which the task is about to run.
    pub workspace: WorkspaceId,
    /// Id of the task.
    pub task: &'s TaskId,
    /// SHA-256 of the plan.
    pub plan: Digest,
    /// SHA-256 of the system config.
    pub config: Digest,
}

/// Reason why an approval does not apply to a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskApprovalProblem {
    /// The approval is for a different workspace or tenant.
    #[error("the approval is for a different workspace")]
    OtherWorkspace,
    /// The approval is for a different task.
    #[error("the approval is for the task `{approved}`, not for `{task}`")]
    OtherTask {
        /// Id of the task in the approval.
        approved: TaskId,
        /// Id of the task that is about to run.
        task: TaskId,
    },
    /// The approval is for a different plan.
    #[error("the approval is for a different plan")]
    OtherPlan,
    /// The approval is for the plan with a different system config.
    #[error("the approval is for the plan with a different config")]
    OtherConfig,
    /// The time of the approval is in the future.
    #[error("the time of the approval, {time}, is in the future")]
    NotYet {
        /// Time at which the approval was given.
        time: Timestamp,
    },
    /// The approval has expired.
    #[error("the approval expired at {expires}; request a new one")]
    Expired {
        /// Time at which the approval expired.
        expires: Timestamp,
    },
}

impl TaskApproval {
    /// Format identifier of the document.
    pub const FORMAT: &str = "actum.task-approved/2";
    /// Format identifier of older approvals, which do not state the approved change. They are rejected.
    pub const FORMAT_WITHOUT_CHANGE: &str = "actum.task-approved/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.task-approved+json";

    /// Checks that the approval applies to the task that is about to run at the time `now`. The signer is checked
    /// separately, by [`verify_task_approval`].
    ///
    /// # Errors
    /// Returns the first [`TaskApprovalProblem`] that is found.
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

    /// Returns whether a staged change equals the change that was shown to the approver.
    pub fn covers(&self, staged: &[PathEffect]) -> bool {
        self.change == staged
    }
}

impl TaskApprovalProblem {
    /// Returns the error code of the problem (EX-18).
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
