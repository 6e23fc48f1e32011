//! Identifiers used by the Agent Execution Core for goals, threads, plans, steps and users (AEC-3). Each is a [`PlainId`].

use std::fmt;
use std::str::FromStr;

use actum_core::plain_id::{PlainId, PlainIdError};
use serde::{Deserialize, Serialize};

macro_rules! agent_names {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(PlainId);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl FromStr for $name {
            type Err = PlainIdError;

            fn from_str(text: &str) -> Result<Self, PlainIdError> {
                text.parse().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}

agent_names! {
    /// Id of a goal, which is shared by all cycles that work on the goal.
    CorrelationId,
    /// Id of the conversation that contains a goal, its confirmation prompt and the answer.
    ThreadId,
    /// Id of an execution plan, assigned by the core.
    AgentPlanId,
    /// Id of a step in an execution plan, assigned by the core.
    StepId,
    /// Id of the user on whose behalf a goal is pursued.
    UserId,
}
