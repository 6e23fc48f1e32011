//! The names in a task plan, each checked once.

use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;
use actum_document::{Characters, Text};
use serde::{Deserialize, Serialize};

use super::limits::{ACTION_ID_CHARS_MAX, ID_CHARS_MAX, SELECTOR_CHARS_MAX};

/// A text that is no such name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be used as {what}: expected a text {expected}", Cut(given.as_bytes(), 80))]
pub struct NameError {
    /// What it would be, with its article.
    pub what: &'static str,
    /// What it must be.
    pub expected: Text,
    /// The text.
    pub given: String,
}

macro_rules! name {
    ($(#[$about:meta])* $name:ident, $what:literal, $text:ident = $form:expr) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        pub(super) const $text: Text = $form;

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                if $text.holds(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(NameError { what: $what, expected: $text, given: text.to_owned() })
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Cut(self.0.as_bytes(), SHOWN_BYTES_MAX).fmt(f)
            }
        }
    };
}

/// How much of a name a message shows: all of most.
const SHOWN_BYTES_MAX: usize = 200;

name! {
    /// What a planner calls a plan: 1 to 128 letters, digits, `.`, `_` and `-` (EX-2).
    PlanId, "a plan id", PLAN_ID = Text::filled(ID_CHARS_MAX, Characters::Id)
}

name! {
    /// What the protocol layer calls a task: 1 to 128 letters, digits, `.`, `_` and `-` (EX-2).
    TaskId, "a task id", TASK_ID = Text::filled(ID_CHARS_MAX, Characters::Id)
}

name! {
    /// What a plan calls one of its actions: 1 to 128 characters without control characters.
    ActionId, "an action id", ACTION_ID = Text::filled(ACTION_ID_CHARS_MAX, Characters::OneLine)
}

name! {
    /// A JSONPath (RFC 9535) as it is written; what it selects is for the edit to say (EX-10).
    Selector, "a JSONPath", SELECTOR = Text::filled(SELECTOR_CHARS_MAX, Characters::Selector)
}

impl From<&PlanId> for TaskId {
    /// The task of a plan that came without an envelope (EX-2).
    fn from(plan: &PlanId) -> Self {
        Self(plan.0.clone())
    }
}
