//! Errors of the dispatcher.

use actum_agent::ReasonCode;
use actum_core::canonical::CanonicalError;
use actum_ledger::LedgerError;
use actum_record::ledger::{AgentState, ConfirmationOutcome};

/// Message of [`DispatchError::NoHost`].
const NO_HOST: &str = "the goal has a `confirm_state`, which only a host with a host key can relay";

/// Error that ends a cycle without an outcome. A decision made before it stays recorded.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// The engine or the ledger failed.
    #[error(transparent)]
    Engine(#[from] actum::Error),
    /// A document cannot be written in canonical form.
    #[error("a document of the decision cannot be recorded: {0}; nothing was dispatched")]
    Document(#[from] CanonicalError),
    /// The built-in lexicon is damaged.
    #[error("the confirmation lexicon cannot be used: {0}; nothing was dispatched")]
    Lexicon(#[from] actum_agent::confirmation::LexiconError),
    /// The simulation has no check of its own, and the host names none.
    #[error(
        "`{simulation}` has no check of its own, and none was given; nothing was dispatched or recorded"
    )]
    NoCheck {
        /// Simulation.
        simulation: actum_core::ActionName,
    },
    /// A simulation that resolves a wish is not active.
    #[error("`{simulation}` is not active; nothing was recorded")]
    NotActive {
        /// Simulation.
        simulation: actum_core::ActionName,
    },
    /// The goal relays an answer of the user, and the caller is not a host.
    #[error("{}; nothing was dispatched or recorded", NO_HOST)]
    NoHost,
    /// The answer that the host relays is not recorded.
    #[error("the answer that the goal relays is refused: {0}")]
    Relay(#[source] Box<ConfirmError>),
    /// The decision lacks a part that its dispatch needs.
    #[error("the decision has no {missing}; nothing was dispatched")]
    Incomplete {
        /// Missing part.
        missing: &'static str,
    },
    /// Another process works on the step at the same time, repeatedly.
    #[error("another process is working on this goal; nothing was dispatched")]
    Busy,
    /// An event of the goal in the ledger has changed.
    #[error("the events of this goal cannot be used: {message}; nothing was dispatched")]
    Damaged {
        /// Problem.
        message: String,
    },
}

/// Reason why an answer is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmError {
    /// The goal has no pending prompt.
    #[error("the goal `{correlation}` has no open prompt; nothing was recorded")]
    NoPrompt {
        /// Goal.
        correlation: String,
    },
    /// The effect of the goal has ended.
    #[error("the goal was carried out, and ended `{}`; nothing was recorded", state.as_str())]
    Ended {
        /// State of its step.
        state: AgentState,
    },
    /// The prompt is not the newest of the goal.
    #[error("{prompt} is not the newest prompt of the goal; nothing was recorded")]
    Prompt {
        /// Digest of the prompt that is answered.
        prompt: actum_core::Digest,
    },
    /// The prompt has expired.
    #[error("the prompt expired at {expires}; nothing was recorded")]
    Expired {
        /// End of its validity.
        expires: actum_core::Timestamp,
    },
    /// The answer belongs to another conversation.
    #[error("the prompt belongs to the thread `{thread}`; nothing was recorded")]
    Thread {
        /// Thread of the prompt.
        thread: String,
    },
    /// The newest prompt has another plan than the one that was shown.
    #[error(
        "the answer is for plan {plan}, but the newest prompt is for plan {newest}; nothing was recorded"
    )]
    Plan {
        /// Plan that was shown.
        plan: actum_core::Digest,
        /// Plan of the newest prompt.
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
    /// The text is not a language tag.
    #[error("{0}; nothing was recorded")]
    Language(#[from] actum_agent::confirmation::LanguageTagError),
    /// The dispatching process cannot confirm.
    #[error("{}; nothing was recorded", ReasonCode::ConfirmationByDispatcher.sentence())]
    Dispatcher,
    /// The ledger or the engine failed.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
}

/// Longest waiver of the SLO gate, in days.
pub(crate) const WAIVER_DAYS_MAX: i64 = 30;

/// Reason why the SLO gate is not waived.
#[derive(Debug, thiserror::Error)]
pub enum WaiveError {
    /// The end is not in the future, or too late.
    #[error(
        "a waiver has to end in the future, within {} days; nothing was recorded",
        WAIVER_DAYS_MAX
    )]
    Until,
    /// The approval key does not count.
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
