//! Ids and selectors of a task plan. Each has its own type that can only hold a valid value.

use std::fmt;
use std::str::FromStr;

use actum_core::path::Cut;
use actum_document::{Characters, Text};
use serde::{Deserialize, Serialize};

use super::limits::{ACTION_ID_CHARS_MAX, ID_CHARS_MAX, SELECTOR_CHARS_MAX};

/// Error for a text that is not a valid id or selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be used as {what}: expected a string {expected}", Cut(given.as_bytes(), 80))]
pub struct NameError {
    /// Kind of name that was expected, with its article.
    pub what: &'static str,
    /// Form that a valid name has.
    pub expected: Text,
    /// Text that was rejected.
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
            /// Returns the name as text.
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

/// Maximum number of bytes of a name that messages show. Longer names are truncated.
const SHOWN_BYTES_MAX: usize = 200;

name! {
    /// Id of a plan, chosen by the planner. It has 1 to 128 letters, digits, `.`, `_` and `-` (EX-2).
    PlanId, "a plan id", PLAN_ID = Text::filled(ID_CHARS_MAX, Characters::Id)
}

name! {
    /// Id of a task, chosen by the protocol layer. It has 1 to 128 letters, digits, `.`, `_` and `-` (EX-2).
    TaskId, "a task id", TASK_ID = Text::filled(ID_CHARS_MAX, Characters::Id)
}

name! {
    /// Id of an action, unique in its plan. It has 1 to 128 characters and no control characters.
    ActionId, "an action id", ACTION_ID = Text::filled(ACTION_ID_CHARS_MAX, Characters::OneLine)
}

name! {
    /// JSONPath (RFC 9535) as written in a plan. Only its start is validated here; the edit that uses it parses it (EX-10).
    Selector, "a JSONPath", SELECTOR = Text::filled(SELECTOR_CHARS_MAX, Characters::Selector)
}

impl From<&PlanId> for TaskId {
    /// Returns the id of a task whose plan came without an envelope: the id of the plan (EX-2).
    fn from(plan: &PlanId) -> Self {
        Self(plan.0.clone())
    }
}
