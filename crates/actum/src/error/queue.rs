//! Errors from answering or carrying out a queued plan.

use actum_core::RunId;
use actum_gate::answer::AnswerProblem;
use actum_record::ledger::Answer;

use super::moved::{Moved, listed};

/// Maximum number of pending plans in one ledger.
pub const QUEUE_MAX: usize = 1000;

/// Maximum number of pending plans per user and workspace, counted across all of the user's agents.
pub const QUEUE_OF_ONE_MAX: usize = 100;

/// Error from answering or carrying out a queued plan.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The queue does not contain a plan with this id.
    #[error("there is no plan {plan} in the queue")]
    NoPlan {
        /// Id of the requested plan.
        plan: RunId,
    },
    /// The alert does not exist or has already been acknowledged.
    #[error("there is no unacknowledged alert with the number {index}")]
    NoAlert {
        /// Index of the alert's entry in the ledger, which users see as its number.
        index: u64,
    },
    /// The state of the plan does not allow this answer.
    #[error("plan {plan} cannot be {}: {}", wanted.as_str(), state.describe())]
    State {
        /// Id of the plan.
        plan: RunId,
        /// Answer that was attempted.
        wanted: Answer,
        /// Current state of the plan.
        state: PlanState,
    },
    /// A part of the plan was selected, but the plan is no longer pending.
    #[error("cannot keep a part of plan {plan}: {}", state.describe())]
    NoParts {
        /// Id of the plan.
        plan: RunId,
        /// Current state of the plan.
        state: PlanState,
    },
    /// The state of the plan does not allow it to be carried out.
    #[error("plan {plan} cannot be carried out: {}", state.describe())]
    NotApproved {
        /// Id of the plan.
        plan: RunId,
        /// Current state of the plan.
        state: PlanState,
    },
    /// The files, limits or policy changed, so the plan would no longer make the change that was reviewed.
    #[error("plan {plan} is stale: {}", listed(moved))]
    Stale {
        /// Id of the plan.
        plan: RunId,
        /// Differences from the reviewed plan.
        moved: Vec<Moved>,
    },
    /// The stored request of the plan is missing, unreadable or modified.
    #[error("the stored request of plan {plan} {what}")]
    Input {
        /// Id of the plan.
        plan: RunId,
        /// Problem with the stored request, as a clause that continues the message.
        what: String,
    },
    /// The answer is not signed by a valid approval key, so it would have no effect.
    #[error("cannot answer plan {plan} with this key: {problem}")]
    Unproven {
        /// Id of the plan.
        plan: RunId,
        /// Reason why the signed answer is not valid.
        problem: AnswerProblem,
    },
    /// The user has too many pending plans. The limit per user leaves room in the queue for other users.
    #[error(
        "the queue is full: {QUEUE_OF_ONE_MAX} plans of this user are pending in this workspace (across all agents), so the \
         plan was not queued"
    )]
    FullOfOne,
    /// The ledger has too many pending plans.
    #[error("the queue is full: {QUEUE_MAX} plans are pending, so the plan was not queued")]
    Full,
}

/// State of a queued plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanState {
    /// The plan is pending and has not been answered.
    Waiting,
    /// The plan was approved and can be carried out.
    Approved,
    /// The plan was denied and can never be carried out.
    Denied,
    /// The approval of the plan was revoked, so the plan can no longer be carried out.
    Revoked,
    /// The plan was carried out or at least started. The ledger records the outcome.
    CarriedOut,
    /// The plan was not answered in time, or was approved but not carried out in time.
    Expired,
    /// The plan was answered, but not with a valid approval key.
    Unproven,
}

impl PlanState {
    /// Returns the name of the state in JSON documents.
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

    fn describe(self) -> &'static str {
        match self {
            Self::Waiting => "it has not been answered yet",
            Self::Approved => "it is already approved",
            Self::Denied => "it was denied",
            Self::Revoked => "its approval was revoked",
            Self::CarriedOut => {
                "it was already carried out or attempted, and an approval can be used only once"
            }
            Self::Expired => "it has expired",
            Self::Unproven => {
                "its answer is not signed by a valid key; `actum revoke` removes the answer"
            }
        }
    }
}
