//! Reasons of decisions without a dispatch: a closed set, in the order of the checks (AEC-10).

use core::fmt;

use actum_record::ledger::AgentState;
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $state:ident, $sentence:literal;)*) => {
        /// Reason why nothing is dispatched. The order is that in which reasons are reported: those that deny first, those
        /// that wait for a confirmation last.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ReasonCode {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl ReasonCode {
            /// All of them, in their order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The permanent name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// State of a step of which this is the first reason, unless its effect has started.
            pub fn state(self) -> AgentState {
                match self {
                    $(Self::$name => AgentState::$state,)*
                }
            }

            /// Sentence for the user.
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
    FinderPacketInvalid = "FINDER_PACKET_INVALID" => Refused, "the packet of the Finder cannot be used";
    /// The user or the tenant is another one, or the access policies deny the simulation.
    AccessScopeViolation = "ACCESS_SCOPE_VIOLATION" => Refused, "this user may not do this here";
    /// The packet was made for another goal.
    FinderPacketOfAnotherGoal = "FINDER_PACKET_OF_ANOTHER_GOAL" => Refused, "the packet of the Finder was made for another goal";
    /// The Finder refuses the goal.
    FinderRefused = "FINDER_REFUSED" => Refused, "the Finder refuses this goal";
    /// The user has to answer the question of the Finder.
    ClarifyRequired = "CLARIFY_REQUIRED" => AwaitingClarify, "the question has to be answered first";
    /// There is no such simulation.
    SimulationMissing = "SIMULATION_MISSING" => Escalated, "there is no simulation for this yet; it was reported to the developers";
    /// The first two candidates have the same score.
    CandidatesUnresolved = "CANDIDATES_UNRESOLVED" => Refused, "two simulations fit equally well";
    /// An earlier event of the goal has a later time.
    ClockWentBackwards = "CLOCK_WENT_BACKWARDS" => Refused, "the clock went backwards since the last event of this goal";
    /// The key of the request stands for another goal, or the effect of the step was started under another key.
    IdempotencyViolation = "IDEMPOTENCY_VIOLATION" => Refused, "this key or this step already stands for something else";
    /// The effect of the step has started and has not ended.
    StepUnderWay = "STEP_UNDER_WAY" => Refused, "this step is under way";
    /// The effect of the step has ended, and a person has to look at it.
    StepNeedsAttention = "STEP_NEEDS_ATTENTION" => Refused, "this step failed before, and a person has to look at it";
    /// The effect of the step was started as often as is allowed.
    RetriesExhausted = "RETRIES_EXHAUSTED" => Refused, "this step was tried as often as is allowed";
    /// A replay of an earlier decision of the goal failed.
    ReplayFailed = "REPLAY_FAILED" => Refused, "an earlier decision on this goal could not be replayed";
    /// The policy is another one than when the effect of the step was first started.
    PolicySnapshotChanged = "POLICY_SNAPSHOT_CHANGED" => Refused, "the policy changed since this step was started";
    /// The catalog is another one than the Finder searched.
    CatalogSnapshotChanged = "CATALOG_SNAPSHOT_CHANGED" => Refused, "the catalog changed since it was searched";
    /// The catalog of the tenant has no such simulation.
    SimulationNotRegistered = "SIMULATION_NOT_REGISTERED" => Refused, "this simulation is not registered";
    /// The simulation is a draft or retired.
    SimulationNotActive = "SIMULATION_NOT_ACTIVE" => Refused, "this simulation is not active";
    /// The required fields do not fit the input schema of the simulation.
    RequiredFieldsInvalid = "REQUIRED_FIELDS_INVALID" => Refused, "the fields do not fit the simulation";
    /// The packet names another access action than the catalog.
    AccessActionMismatch = "ACCESS_ACTION_MISMATCH" => Refused, "the packet names another access action than the catalog";
    /// The simulation is impactful, and the packet has no rollback plan.
    RollbackPlanMissing = "ROLLBACK_PLAN_MISSING" => Refused, "this simulation needs a plan that takes it back";
    /// The simulation of the rollback plan is not registered or not active.
    RollbackPlanUnusable = "ROLLBACK_PLAN_UNUSABLE" => Refused, "the simulation that would take it back is not active";
    /// A person has to approve it.
    AccessApRequired = "ACCESS_AP_REQUIRED" => AwaitingAp, "a person has to approve this";
    /// The person said no.
    ConfirmationRejected = "CONFIRMATION_REJECTED" => Refused, "it was not confirmed";
    /// The answer was ambiguous as often as is allowed.
    ConfirmationAttemptsExhausted = "CONFIRMATION_ATTEMPTS_EXHAUSTED" => Refused, "the answers were ambiguous";
    /// The answer comes from the process that dispatches.
    ConfirmationByDispatcher = "CONFIRMATION_BY_DISPATCHER" => AwaitingConfirm, "the process that dispatches cannot confirm";
    /// The answer belongs to another conversation.
    ConfirmationOfAnotherThread = "CONFIRMATION_OF_ANOTHER_THREAD" => AwaitingConfirm, "the answer belongs to another conversation";
    /// The answer confirms another plan.
    ConfirmationOfAnotherPlan = "CONFIRMATION_OF_ANOTHER_PLAN" => AwaitingConfirm, "the answer confirms another plan";
    /// The answer was parsed with another lexicon.
    ConfirmationLexiconChanged = "CONFIRMATION_LEXICON_CHANGED" => AwaitingConfirm, "the lexicon changed since the answer";
    /// The answer came after the prompt had expired, or the prompt has expired since.
    ConfirmationExpired = "CONFIRMATION_EXPIRED" => AwaitingConfirm, "the confirmation has expired";
    /// The answer is neither yes nor no.
    ConfirmationAmbiguous = "CONFIRMATION_AMBIGUOUS" => AwaitingConfirm, "the answer was neither yes nor no";
    /// A person has to confirm it.
    ConfirmationRequired = "CONFIRMATION_REQUIRED" => AwaitingConfirm, "a person has to confirm this";
}

impl ReasonCode {
    /// The reason is a missing or unusable confirmation. It counts only where nothing denies.
    pub fn is_about_confirmation(self) -> bool {
        self >= Self::ConfirmationRejected
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
