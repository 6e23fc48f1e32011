//! Why a plan in the queue cannot be answered or carried out.

use actum_core::RunId;
use actum_gate::answer::AnswerProblem;
use actum_record::ledger::Answer;

use super::moved::{Moved, listed};

/// The most plans that wait at once in one ledger.
pub const QUEUE_MAX: usize = 1000;

/// The most of them in one workspace that one user asks for, by whatever agents.
pub const QUEUE_OF_ONE_MAX: usize = 100;

/// Why a plan in the queue cannot be answered or carried out.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// There is no such plan.
    #[error("there is no plan {plan} in the queue")]
    NoPlan {
        /// Its name.
        plan: RunId,
    },
    /// There is no such alert, or somebody has seen it already.
    #[error("no alert with the number {index} waits")]
    NoAlert {
        /// The number.
        index: u64,
    },
    /// It is too late, or too early.
    #[error("plan {plan} cannot be {}: {}", wanted.as_str(), state.told())]
    State {
        /// The plan.
        plan: RunId,
        /// What was to be said.
        wanted: Answer,
        /// Where it stands.
        state: PlanState,
    },
    /// It does not wait any more, so no part of it can be chosen.
    #[error("no part of plan {plan} can be kept: {}", state.told())]
    NoParts {
        /// The plan.
        plan: RunId,
        /// Where it stands.
        state: PlanState,
    },
    /// It cannot be carried out.
    #[error("plan {plan} cannot be carried out: {}", state.told())]
    NotApproved {
        /// The plan.
        plan: RunId,
        /// Where it stands.
        state: PlanState,
    },
    /// What was approved is not what would happen now.
    #[error("plan {plan} is stale: {}", listed(moved))]
    Stale {
        /// The plan.
        plan: RunId,
        /// What is other now.
        moved: Vec<Moved>,
    },
    /// What is kept of the request is not what was queued.
    #[error("what is kept of the request of plan {plan} {what}")]
    Input {
        /// The plan.
        plan: RunId,
        /// What is wrong with it.
        what: String,
    },
    /// The answer is signed by no key that counts, so nothing would come of it.
    #[error("plan {plan} cannot be answered so: {problem}")]
    Unproven {
        /// The plan.
        plan: RunId,
        /// Why it would not count.
        problem: AnswerProblem,
    },
    /// Too many of one wait already, so that nobody keeps others from asking.
    #[error(
        "the queue is full: {QUEUE_OF_ONE_MAX} plans of this user are pending in this workspace (all agents together), so the \
         plan was not queued"
    )]
    FullOfOne,
    /// Too many wait already.
    #[error("the queue is full: {QUEUE_MAX} plans are pending, so the plan was not queued")]
    Full,
}

/// Where a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanState {
    /// Nobody has answered.
    Waiting,
    /// It can be carried out.
    Approved,
    /// It may not be carried out.
    Denied,
    /// It was approved, and may not be carried out any more.
    Revoked,
    /// It was carried out, or begun: the entry says where.
    CarriedOut,
    /// Nobody answered in time, or it was not carried out in time.
    Expired,
    /// There is an answer, and no key that counts signed it.
    Unproven,
}

impl PlanState {
    /// The word for it in documents.
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
