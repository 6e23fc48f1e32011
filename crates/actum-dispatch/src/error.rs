//! Errors of the dispatcher.

use actum_agent::ReasonCode;
use actum_core::canonical::CanonicalError;
use actum_ledger::LedgerError;
use actum_record::ledger::{AgentState, ConfirmationOutcome};

/// Message of [`DispatchError::NoHost`].
const NO_HOST: &str = "the goal has a `confirm_state`, which only a host with a host key can relay";

/// Error that ends a dispatch without an outcome. A decision that was made before the error stays recorded.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// The engine or the ledger failed.
    #[error(transparent)]
    Engine(#[from] actum::Error),
    /// A document has no canonical form, so it cannot be recorded.
    #[error("failed to record a document of the decision: {0}; nothing was dispatched")]
    Document(#[from] CanonicalError),
    /// The built-in confirmation lexicon is invalid.
    #[error("failed to load the confirmation lexicon: {0}; nothing was dispatched")]
    Lexicon(#[from] actum_agent::confirmation::LexiconError),
    /// The simulation needs a check, but it has none of its own and the host configured none.
    #[error(
        "`{simulation}` has no check of its own, and none was given; nothing was dispatched or recorded"
    )]
    NoCheck {
        /// Name of the simulation.
        simulation: actum_core::ActionName,
    },
    /// The simulation that is supposed to resolve a Dev Intake goal is not active.
    #[error("`{simulation}` is not active; nothing was recorded")]
    NotActive {
        /// Name of the simulation.
        simulation: actum_core::ActionName,
    },
    /// The goal relays an answer of the user, but the caller has no host key.
    #[error("{}; nothing was dispatched or recorded", NO_HOST)]
    NoHost,
    /// The answer relayed by the host was not recorded.
    #[error("the answer relayed by the goal was rejected: {0}")]
    Relay(#[source] Box<ConfirmError>),
    /// The decision lacks a part that is necessary to dispatch it.
    #[error("the decision has no {missing}; nothing was dispatched")]
    Incomplete {
        /// Name of the missing part.
        missing: &'static str,
    },
    /// Other processes kept working on the same step, so that every attempt failed.
    #[error("another process is working on this goal; nothing was dispatched")]
    Busy,
    /// The events of the goal in the ledger are damaged or incomplete.
    #[error("the events of this goal cannot be used: {message}; nothing was dispatched")]
    Damaged {
        /// Description of the problem.
        message: String,
    },
}

/// Reason why the answer to a confirmation prompt was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmError {
    /// The goal has no pending prompt.
    #[error("the goal `{correlation}` has no open prompt; nothing was recorded")]
    NoPrompt {
        /// Id of the goal.
        correlation: String,
    },
    /// The step of the goal has already reached a final state.
    #[error("the goal has already ended with the state `{}`; nothing was recorded", state.as_str())]
    Ended {
        /// Final state of the step.
        state: AgentState,
    },
    /// The answer belongs to a prompt that is not the newest one of the goal.
    #[error("{prompt} is not the newest prompt of the goal; nothing was recorded")]
    Prompt {
        /// Digest of the prompt that was answered.
        prompt: actum_core::Digest,
    },
    /// The prompt has expired.
    #[error("the prompt expired at {expires}; nothing was recorded")]
    Expired {
        /// Time at which the prompt expired.
        expires: actum_core::Timestamp,
    },
    /// The answer comes from a different conversation than the prompt.
    #[error("the prompt belongs to the thread `{thread}`; nothing was recorded")]
    Thread {
        /// Conversation that the prompt belongs to.
        thread: String,
    },
    /// The newest prompt is for a different plan than the one that was shown to the user.
    #[error(
        "the answer is for plan {plan}, but the newest prompt is for plan {newest}; nothing was recorded"
    )]
    Plan {
        /// Fingerprint of the plan that was shown to the user.
        plan: actum_core::Digest,
        /// Fingerprint of the plan in the newest prompt.
        newest: actum_core::Digest,
    },
    /// An earlier answer to the plan is final.
    #[error(
        "an earlier answer is final: {}; nothing was recorded",
        match outcome {
            ConfirmationOutcome::Ambiguous => ReasonCode::ConfirmationAttemptsExhausted,
            ConfirmationOutcome::Rejected | ConfirmationOutcome::Confirmed => ReasonCode::ConfirmationRejected,
        }.sentence()
    )]
    Final {
        /// Outcome of the final answer.
        outcome: ConfirmationOutcome,
    },
    /// The language of the answer is not a valid BCP 47 tag.
    #[error("{0}; nothing was recorded")]
    Language(#[from] actum_agent::confirmation::LanguageTagError),
    /// The answer comes from the dispatching process, which must not confirm its own goals.
    #[error("{}; nothing was recorded", ReasonCode::ConfirmationByDispatcher.sentence())]
    Dispatcher,
    /// The ledger or the engine failed.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
}

/// Maximum duration of a waiver of the SLO gate in days.
pub(crate) const WAIVER_DAYS_MAX: i64 = 30;

/// Reason why the SLO gate was not waived.
#[derive(Debug, thiserror::Error)]
pub enum WaiveError {
    /// The waiver does not end in the future, or it would last too long.
    #[error(
        "a waiver must end in the future and within {} days; nothing was recorded",
        WAIVER_DAYS_MAX
    )]
    Until,
    /// The key that signed the waiver is not a valid approval key.
    #[error("{0}; nothing was recorded")]
    Key(#[from] actum_gate::SloWaiverProblem),
    /// The ledger or the engine failed.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
}

impl From<actum::Error> for ConfirmError {
    fn from(error: actum::Error) -> Self {
        Self::Dispatch(error.into())
    }
}

impl From<LedgerError> for DispatchError {
    fn from(error: LedgerError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<actum::CatalogError> for DispatchError {
    fn from(error: actum::CatalogError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<LedgerError> for ConfirmError {
    fn from(error: LedgerError) -> Self {
        Self::Dispatch(error.into())
    }
}

impl From<CanonicalError> for ConfirmError {
    fn from(error: CanonicalError) -> Self {
        Self::Dispatch(error.into())
    }
}
