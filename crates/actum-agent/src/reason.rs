//! Reasons for a decision not to dispatch: a closed set, in report order (AEC-10).

use core::fmt;

use actum_record::ledger::AgentState;
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $state:ident, $sentence:literal;)*) => {
        /// Reason for a decision not to dispatch. Variants are in report order: denials first, unusable confirmations
        /// last.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ReasonCode {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl ReasonCode {
            /// All reasons, in their order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the permanent name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns the state of a step refused for this reason. A claimed step keeps its state.
            pub fn state(self) -> AgentState {
                match self {
                    $(Self::$name => AgentState::$state,)*
                }
            }

            /// Returns the sentence for the user.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)*
                }
            }
        }
    };
}

reasons! {
    /// The packet is not one of the four, or has a field that is missing, unknown or of another type.
    FinderPacketInvalid = "FINDER_PACKET_INVALID" => Refused, "the Finder packet is invalid";
    /// The user or the tenant is another one, or the access policies deny the simulation.
    AccessScopeViolation = "ACCESS_SCOPE_VIOLATION" => Refused, "the user has no access to this simulation";
    /// The packet was made for another goal.
    FinderPacketOfAnotherGoal = "FINDER_PACKET_OF_ANOTHER_GOAL" => Refused, "the Finder packet belongs to another goal";
    /// The Finder refuses the goal.
    FinderRefused = "FINDER_REFUSED" => Refused, "the Finder refused this goal";
    /// The user has to answer the question of the Finder.
    ClarifyRequired = "CLARIFY_REQUIRED" => AwaitingClarify, "the question of the Finder needs an answer first";
    /// There is no such simulation.
    SimulationMissing = "SIMULATION_MISSING" => Escalated, "no simulation exists for this goal; it was reported to Dev Intake";
    /// The first two candidates have the same score.
    CandidatesUnresolved = "CANDIDATES_UNRESOLVED" => Refused, "two simulations have the same score";
    /// An earlier event of the goal has a later time.
    ClockWentBackwards = "CLOCK_WENT_BACKWARDS" => Refused, "the clock went backwards since the last event of this goal";
    /// The correlation or the request key belongs to another goal, or the step was started under another key.
    IdempotencyViolation = "IDEMPOTENCY_VIOLATION" => Refused, "the goal, the request key or the step is already in use";
    /// The effect of the step has started and has not ended.
    StepUnderWay = "STEP_UNDER_WAY" => Refused, "this step is running";
    /// The step failed before, and an operator has to check it.
    StepNeedsAttention = "STEP_NEEDS_ATTENTION" => Refused, "this step failed and needs an operator";
    /// The step has no retries left.
    RetriesExhausted = "RETRIES_EXHAUSTED" => Refused, "this step has no retries left";
    /// A replay of an earlier decision of the goal failed.
    ReplayFailed = "REPLAY_FAILED" => Refused, "the replay of an earlier decision failed";
    /// The policy is another one than when the effect of the step was first started.
    PolicySnapshotChanged = "POLICY_SNAPSHOT_CHANGED" => Refused, "the policy changed since this step started";
    /// The catalog is another one than the Finder searched.
    CatalogSnapshotChanged = "CATALOG_SNAPSHOT_CHANGED" => Refused, "the catalog changed since it was searched";
    /// The catalog of the tenant has no such simulation.
    SimulationNotRegistered = "SIMULATION_NOT_REGISTERED" => Refused, "this simulation is not registered";
    /// The simulation is a draft or retired.
    SimulationNotActive = "SIMULATION_NOT_ACTIVE" => Refused, "this simulation is not active";
    /// The required fields do not fit the input schema of the simulation.
    RequiredFieldsInvalid = "REQUIRED_FIELDS_INVALID" => Refused, "the fields do not match the input schema";
    /// The packet names another access action than the catalog.
    AccessActionMismatch = "ACCESS_ACTION_MISMATCH" => Refused, "the packet names another access action than the catalog";
    /// The simulation is impactful, and the packet has no rollback plan.
    RollbackPlanMissing = "ROLLBACK_PLAN_MISSING" => Refused, "this simulation needs a rollback plan";
    /// The simulation of the rollback plan is not `undo_run`, or not active.
    RollbackPlanUnusable = "ROLLBACK_PLAN_UNUSABLE" => Refused, "the rollback plan is not an active `undo_run`";
    /// An operator has to approve the action.
    AccessApRequired = "ACCESS_AP_REQUIRED" => AwaitingAp, "an operator has to approve this action";
    /// The respondent rejected the prompt.
    ConfirmationRejected = "CONFIRMATION_REJECTED" => Refused, "the prompt was rejected";
    /// The answer was ambiguous as often as is allowed.
    ConfirmationAttemptsExhausted = "CONFIRMATION_ATTEMPTS_EXHAUSTED" => Refused, "there were too many ambiguous answers";
    /// The answer comes from the process that dispatches.
    ConfirmationByDispatcher = "CONFIRMATION_BY_DISPATCHER" => AwaitingConfirm, "the dispatching process cannot confirm its own goal";
    /// The answer belongs to another conversation.
    ConfirmationOfAnotherThread = "CONFIRMATION_OF_ANOTHER_THREAD" => AwaitingConfirm, "the answer belongs to another thread";
    /// The answer confirms another plan.
    ConfirmationOfAnotherPlan = "CONFIRMATION_OF_ANOTHER_PLAN" => AwaitingConfirm, "the answer confirms another plan";
    /// The answer was parsed with another lexicon.
    ConfirmationLexiconChanged = "CONFIRMATION_LEXICON_CHANGED" => AwaitingConfirm, "the lexicon changed since the answer";
    /// The answer came after the prompt had expired, or the prompt has expired since.
    ConfirmationExpired = "CONFIRMATION_EXPIRED" => AwaitingConfirm, "the confirmation has expired";
    /// The answer is neither yes nor no.
    ConfirmationAmbiguous = "CONFIRMATION_AMBIGUOUS" => AwaitingConfirm, "the answer was neither yes nor no";
    /// The user has to confirm the plan.
    ConfirmationRequired = "CONFIRMATION_REQUIRED" => AwaitingConfirm, "the user has to confirm this plan";
}

impl ReasonCode {
    /// Returns true for a missing or unusable confirmation, reported only if nothing denies.
    pub fn is_about_confirmation(self) -> bool {
        self >= Self::ConfirmationRejected
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
