//! Names of actions, which are either core actions or packages in the catalog.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::core_action::CoreAction;
use crate::path::Cut;

/// Maximum length of an action name, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// Name of an action, which has 1 to 64 characters of a-z, 0-9 and `_`, and starts with a letter.
///
/// The directory of an action package has the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ActionName(String);

/// Error for a text that is not a valid action name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not an action name: expected 1 to {NAME_CHARS_MAX} characters of a-z, 0-9 and `_`, starting \
     with a letter",
    Cut(given.as_bytes(), 80)
)]
pub struct ActionNameError {
    /// Text that was given as a name.
    pub given: String,
}

impl ActionName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a text starts with a letter of a-z and has only characters that are allowed in action names. Its length
    /// is not checked.
    pub fn has_its_characters(text: &str) -> bool {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    }

    /// Returns the core action with this name, or `None` if it is the name of a package.
    pub fn core(&self) -> Option<CoreAction> {
        CoreAction::parse(&self.0)
    }

    /// Returns whether this is the name of a core action.
    pub fn is_core(&self) -> bool {
        self.core().is_some()
    }
}

impl FromStr for ActionName {
    type Err = ActionNameError;

    fn from_str(text: &str) -> Result<Self, ActionNameError> {
        let is_sound = text.len() <= NAME_CHARS_MAX && Self::has_its_characters(text);
        is_sound
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| ActionNameError { given: text.to_owned() })
    }
}

impl From<ActionName> for String {
    fn from(name: ActionName) -> Self {
        name.0
    }
}

impl TryFrom<String> for ActionName {
    type Error = ActionNameError;

    fn try_from(text: String) -> Result<Self, ActionNameError> {
        text.parse()
    }
}

impl fmt::Display for ActionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
