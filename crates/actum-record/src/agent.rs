//! Names of the Agent Execution Core: correlations, threads, plans, steps and users (AEC-3). All of them are [`PlainId`]s.

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
            /// The text.
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
    /// One goal and all cycles that work on it.
    CorrelationId,
    /// Conversation that a goal, its prompt and the answer belong to.
    ThreadId,
    /// Execution plan, made by the core.
    AgentPlanId,
    /// Step of an execution plan, made by the core.
    StepId,
    /// User on whose behalf a goal is pursued.
    UserId,
}
