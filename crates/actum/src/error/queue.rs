//! Reasons for a queued plan that cannot be answered or carried out.

use actum_core::RunId;
use actum_gate::answer::AnswerProblem;
use actum_record::ledger::Answer;

use super::moved::{Moved, listed};

/// Most pending plans of one ledger.
pub const QUEUE_MAX: usize = 1000;

/// Most pending plans of one user in one workspace, through all agents together.
pub const QUEUE_OF_ONE_MAX: usize = 100;

/// Failure to answer or carry out a queued plan.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The queue has no such plan.
    #[error("there is no plan {plan} in the queue")]
    NoPlan {
        /// Requested plan.
        plan: RunId,
    },
    /// The alert does not exist, or has been acknowledged already.
    #[error("no alert with the number {index} waits")]
    NoAlert {
        /// Number of the alert.
        index: u64,
    },
    /// The plan cannot be answered in its state.
    #[error("plan {plan} cannot be {}: {}", wanted.as_str(), state.told())]
    State {
        /// Plan.
        plan: RunId,
        /// Intended answer.
        wanted: Answer,
        /// State of the plan.
        state: PlanState,
    },
    /// The plan is no longer pending, so no part of it can be chosen.
    #[error("no part of plan {plan} can be kept: {}", state.told())]
    NoParts {
        /// Plan.
        plan: RunId,
        /// State of the plan.
        state: PlanState,
    },
    /// The plan cannot be carried out in its state.
    #[error("plan {plan} cannot be carried out: {}", state.told())]
    NotApproved {
        /// Plan.
        plan: RunId,
        /// State of the plan.
        state: PlanState,
    },
    /// The approved change differs from what would happen now.
    #[error("plan {plan} is stale: {}", listed(moved))]
    Stale {
        /// Plan.
        plan: RunId,
        /// Differences.
        moved: Vec<Moved>,
    },
    /// The kept request is not the queued one.
    #[error("what is kept of the request of plan {plan} {what}")]
    Input {
        /// Plan.
        plan: RunId,
        /// Problem of the kept request.
        what: String,
    },
    /// No valid key signed the answer, so it would have no effect.
    #[error("plan {plan} cannot be answered so: {problem}")]
    Unproven {
        /// Plan.
        plan: RunId,
        /// Reason why the answer would not count.
        problem: AnswerProblem,
    },
    /// Too many plans of one user are pending. The limit keeps the queue open to other users.
    #[error(
        "the queue is full: {QUEUE_OF_ONE_MAX} plans of this user are pending in this workspace (all agents together), so the \
         plan was not queued"
    )]
    FullOfOne,
    /// Too many plans are pending.
    #[error("the queue is full: {QUEUE_MAX} plans are pending, so the plan was not queued")]
    Full,
}

/// State of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanState {
    /// The plan is pending, without an answer.
    Waiting,
    /// The plan can be carried out.
    Approved,
    /// The plan may not be carried out.
    Denied,
    /// The plan was approved, and may no longer be carried out.
    Revoked,
    /// The plan was carried out, or begun; the entry has the outcome.
    CarriedOut,
    /// The plan was not answered, or not carried out, in time.
    Expired,
    /// The plan has an answer that no valid key signed.
    Unproven,
}

impl PlanState {
    /// Returns the word for documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Revoked => "revoked",
            Self::CarriedOut => "carried_out",
            Self::Expired => "expired",
            Self::Unproven => "unproven",
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::Waiting => "nobody has answered yet",
            Self::Approved => "it is approved already",
            Self::Denied => "it was denied",
            Self::Revoked => "its approval was revoked",
            Self::CarriedOut => "it was carried out or tried already, and an approval counts once",
            Self::Expired => "it has expired",
            Self::Unproven => {
                "no key that counts signed its answer; `actum revoke` takes that away"
            }
        }
    }
}
