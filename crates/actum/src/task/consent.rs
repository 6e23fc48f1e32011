//! Consent of an approver: the change that a task is allowed to make (EX-1, AA-5).

use actum_record::receipt::{ExternalPipeline, PathEffect};
use actum_task::{ErrorCode, TaskApproval, VerifiedTaskApproval};

use super::problem::TaskProblem;
use crate::queue::{self, Moved};
use crate::reason::Reason;

/// Consent to execute a task. It is checked again once the change of the task is staged.
#[derive(Debug)]
#[must_use = "a signed approval covers only one change"]
pub(super) enum Consent {
    /// An unsigned envelope, which approves the documents of the task but no specific change.
    Documents,
    /// A signed approval, which covers the documents of the task and the change that was shown to the approver.
    Change(Box<TaskApproval>),
}

impl Consent {
    pub(super) fn signed(verified: VerifiedTaskApproval) -> Self {
        Self::Change(Box::new(verified.approval))
    }

    /// Returns the umask from which the approved modes of new files were computed, if a change was approved.
    pub(super) fn umask(&self) -> Option<u32> {
        match self {
            Self::Documents => None,
            Self::Change(approval) => Some(approval.umask),
        }
    }

    /// Checks that the external pipelines are still declared as they were when the plan was approved.
    ///
    /// # Errors
    /// `ApprovalInvalid` if a declaration differs.
    pub(super) fn check_external(&self, pipelines: &[ExternalPipeline]) -> Result<(), TaskProblem> {
        let Self::Change(approval) = self else { return Ok(()) };
        if approval.external == pipelines {
            return Ok(());
        }
        let message = "an external pipeline of the plan is declared differently in the operator's policy than when the plan was \
                       approved; nothing was changed; review the plan and approve it again with `actum plan approve`";
        let reason = Some(Reason::PlanStale.name());
        Err(TaskProblem { reason, ..TaskProblem::new(ErrorCode::ApprovalInvalid, message) })
    }

    /// Checks that the staged change equals the approved change.
    ///
    /// # Errors
    /// `ApprovalInvalid`, with a message that lists the paths that differ.
    pub(super) fn check_change(&self, staged: &[PathEffect]) -> Result<(), TaskProblem> {
        let Self::Change(approval) = self else { return Ok(()) };
        if approval.covers(staged) {
            return Ok(());
        }
        let moved = Moved::in_files(&approval.change, staged);
        let difference = match moved.is_empty() {
            true => "the same paths would be changed differently".to_owned(),
            false => queue::list_moved(&moved),
        };
        let message = format!(
            "the workspace changed since the plan was approved: {difference}; nothing was changed; review the change with \
             `actum plan preview` and approve it with `actum plan approve`"
        );
        let reason = Some(Reason::PlanStale.name());
        Err(TaskProblem { reason, ..TaskProblem::new(ErrorCode::ApprovalInvalid, message) })
    }
}
