//! Consent: the change that an approval lets a task make (EX-1, AA-5).

use actum_record::receipt::{ExternalPipeline, PathEffect};
use actum_task::{ErrorCode, TaskApproval, VerifiedTaskApproval};

use super::problem::TaskProblem;
use crate::queue::{self, Moved};
use crate::reason::Reason;

/// Consent to a task, held until its change is staged.
#[derive(Debug)]
#[must_use = "a signed approval is for one change alone"]
pub(super) enum Consent {
    /// Unsigned envelope, which names the documents only.
    Documents,
    /// Signed approval, which names the documents and the change that was shown.
    Change(Box<TaskApproval>),
}

impl Consent {
    pub(super) fn signed(verified: VerifiedTaskApproval) -> Self {
        Self::Change(Box::new(verified.approval))
    }

    /// Umask that gave new files the modes that were shown.
    pub(super) fn umask(&self) -> Option<u32> {
        match self {
            Self::Documents => None,
            Self::Change(approval) => Some(approval.umask),
        }
    }

    /// Checks that the external pipelines are the approved ones.
    ///
    /// # Errors
    /// `ApprovalInvalid`
    pub(super) fn check_external(&self, pipelines: &[ExternalPipeline]) -> Result<(), TaskProblem> {
        let Self::Change(approval) = self else { return Ok(()) };
        if approval.external == pipelines {
            return Ok(());
        }
        let message = "the operator's policy declares an external pipeline of the plan differently than when the plan was approved; \
                       nothing was changed; look at it and approve it again with `actum plan approve`";
        let reason = Some(Reason::PlanStale.name());
        Err(TaskProblem { reason, ..TaskProblem::new(ErrorCode::ApprovalInvalid, message) })
    }

    /// Checks that the staged change is the approved one.
    ///
    /// # Errors
    /// `ApprovalInvalid`, with the paths that differ.
    pub(super) fn check_change(&self, staged: &[PathEffect]) -> Result<(), TaskProblem> {
        let Self::Change(approval) = self else { return Ok(()) };
        if approval.covers(staged) {
            return Ok(());
        }
        let moved = Moved::in_files(&approval.change, staged);
        let told = match moved.is_empty() {
            true => "the same paths are changed in another way".to_owned(),
            false => queue::list_moved(&moved),
        };
        let message = format!(
            "the workspace changed since the plan was approved: {told}; nothing was changed; `actum plan preview` shows the \
             change as it is now, and `actum plan approve` approves it"
        );
        let reason = Some(Reason::PlanStale.name());
        Err(TaskProblem { reason, ..TaskProblem::new(ErrorCode::ApprovalInvalid, message) })
    }
}
