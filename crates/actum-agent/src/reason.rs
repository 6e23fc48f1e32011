//! Reason codes for decisions not to dispatch a simulation. The set is closed and listed in report order (AEC-10).

use core::fmt;

use actum_record::ledger::AgentState;
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $state:ident, $sentence:literal;)*) => {
        /// Reason for a decision not to dispatch a simulation. Variants are listed in report order: denials come first, and
        /// problems with the confirmation come last.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ReasonCode {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl ReasonCode {
            /// All reasons in report order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the permanent reason code, such as `CLARIFY_REQUIRED`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns the state that a step gets if it is refused for this reason. A step that is already claimed keeps its
            /// current state.
            pub fn state(self) -> AgentState {
                match self {
                    $(Self::$name => AgentState::$state,)*
                }
            }

            /// Returns the reason as a sentence for the user, without a final period.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)*
                }
            }
        }
    };
}

reasons! {
    /// The packet is not one of the four packet types, or one of its fields is missing, unknown or of the wrong type.
    FinderPacketInvalid = "FINDER_PACKET_INVALID" => Refused, "the Finder packet is invalid";
    /// The user could not be identified, the caller belongs to a different tenant, or the access policies deny the simulation.
    AccessScopeViolation = "ACCESS_SCOPE_VIOLATION" => Refused, "the user has no access to this simulation";
    /// The Finder created the packet for a different goal.
    FinderPacketOfAnotherGoal = "FINDER_PACKET_OF_ANOTHER_GOAL" => Refused, "the Finder packet was created for a different goal";
    /// The Finder refused the goal.
    FinderRefused = "FINDER_REFUSED" => Refused, "the Finder refused this goal";
    /// The Finder asked a question that the user has to answer first.
    ClarifyRequired = "CLARIFY_REQUIRED" => AwaitingClarify, "the Finder asked a question that has to be answered first";
    /// The Finder found no simulation for the goal.
    SimulationMissing = "SIMULATION_MISSING" => Escalated,
        "no simulation exists for this goal; the goal was reported to Dev Intake";
    /// The first two candidates in the packet have the same score, so neither can be preferred.
    CandidatesUnresolved = "CANDIDATES_UNRESOLVED" => Refused, "two simulations have the same score";
    /// The system clock is behind the time of an earlier event of the goal.
    ClockWentBackwards = "CLOCK_WENT_BACKWARDS" => Refused, "the system clock is behind the last event of this goal";
    /// The correlation id or the request key belongs to a different goal, or the step was started under a different key.
    IdempotencyViolation = "IDEMPOTENCY_VIOLATION" => Refused,
        "the goal, the request key or the step is already used for something else";
    /// The effect of the step has started and has not ended yet.
    StepUnderWay = "STEP_UNDER_WAY" => Refused, "this step is already running";
    /// An earlier attempt at the step failed, and an operator has to check the result.
    StepNeedsAttention = "STEP_NEEDS_ATTENTION" => Refused,
        "an earlier attempt at this step failed; an operator has to check the result";
    /// The step has reached the maximum number of attempts.
    RetriesExhausted = "RETRIES_EXHAUSTED" => Refused, "this step has reached the maximum number of attempts";
    /// An earlier decision on the goal could not be replayed.
    ReplayFailed = "REPLAY_FAILED" => Refused, "an earlier decision on this goal could not be replayed";
    /// The policy has changed since the effect of the step was first started.
    PolicySnapshotChanged = "POLICY_SNAPSHOT_CHANGED" => Refused, "the policy has changed since this step was started";
    /// The catalog has changed since the Finder searched it.
    CatalogSnapshotChanged = "CATALOG_SNAPSHOT_CHANGED" => Refused, "the catalog has changed since the Finder searched it";
    /// The catalog of the tenant does not contain the simulation.
    SimulationNotRegistered = "SIMULATION_NOT_REGISTERED" => Refused, "the catalog does not contain this simulation";
    /// The simulation is a draft or was retired.
    SimulationNotActive = "SIMULATION_NOT_ACTIVE" => Refused, "this simulation is a draft or was retired";
    /// The required fields of the packet do not match the input schema of the simulation.
    RequiredFieldsInvalid = "REQUIRED_FIELDS_INVALID" => Refused, "the fields do not match the input schema of the simulation";
    /// The access action in the packet is not the one that the catalog lists for the simulation.
    AccessActionMismatch = "ACCESS_ACTION_MISMATCH" => Refused, "the access action in the packet does not match the catalog";
    /// The simulation is impactful, but the packet has no rollback plan.
    RollbackPlanMissing = "ROLLBACK_PLAN_MISSING" => Refused, "this simulation requires a rollback plan, but the packet has none";
    /// The rollback plan does not use `undo_run`, or `undo_run` is not active.
    RollbackPlanUnusable = "ROLLBACK_PLAN_UNUSABLE" => Refused,
        "the rollback plan does not use `undo_run`, or `undo_run` is not active";
    /// The access policies require an operator to approve the action.
    AccessApRequired = "ACCESS_AP_REQUIRED" => AwaitingAp, "an operator has to approve this action";
    /// The user answered no to the confirmation prompt.
    ConfirmationRejected = "CONFIRMATION_REJECTED" => Refused, "the user answered no";
    /// The user gave the maximum number of ambiguous answers to the prompt.
    ConfirmationAttemptsExhausted = "CONFIRMATION_ATTEMPTS_EXHAUSTED" => Refused,
        "the prompt was answered ambiguously too many times";
    /// The answer came from the dispatching process, which cannot confirm its own goal.
    ConfirmationByDispatcher = "CONFIRMATION_BY_DISPATCHER" => AwaitingConfirm,
        "the dispatching process cannot confirm its own goal";
    /// The answer belongs to a different conversation.
    ConfirmationOfAnotherThread = "CONFIRMATION_OF_ANOTHER_THREAD" => AwaitingConfirm,
        "the answer belongs to a different conversation";
    /// The answer confirms a different plan.
    ConfirmationOfAnotherPlan = "CONFIRMATION_OF_ANOTHER_PLAN" => AwaitingConfirm, "the answer confirms a different plan";
    /// The answer was parsed with a different lexicon than the active one.
    ConfirmationLexiconChanged = "CONFIRMATION_LEXICON_CHANGED" => AwaitingConfirm,
        "the answer was parsed with a different lexicon";
    /// The prompt expired before the answer arrived, or has expired since.
    ConfirmationExpired = "CONFIRMATION_EXPIRED" => AwaitingConfirm, "the confirmation has expired";
    /// The answer is neither yes nor no.
    ConfirmationAmbiguous = "CONFIRMATION_AMBIGUOUS" => AwaitingConfirm, "the answer is neither yes nor no";
    /// The user has not answered the confirmation prompt for this plan yet.
    ConfirmationRequired = "CONFIRMATION_REQUIRED" => AwaitingConfirm, "the user has to confirm this plan";
}

impl ReasonCode {
    /// Whether the reason is a missing or unusable confirmation. Such reasons are reported only if nothing else denies the
    /// dispatch.
    pub fn is_about_confirmation(self) -> bool {
        self >= Self::ConfirmationRejected
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
