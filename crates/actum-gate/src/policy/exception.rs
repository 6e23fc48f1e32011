//! Exceptions of exact paths from built-in protection: `except` under `[protected]` (D-5).

use actum_core::{PathRule, RelPath};

use super::profile::{Exceptions, Profile, groups_covering};
use super::written::Value;
use super::{Diagnostic, Policy};
use crate::spelling::{Guard, Spellings};

/// Reason why the operator's policy cannot exclude a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoException {
    /// Pattern instead of an exact path.
    #[error("it is a pattern; an exception is the exact path of one file")]
    Pattern,
    /// Profile other than `interactive`.
    #[error("the profile `{profile}` has no exceptions; they are for `interactive` alone")]
    Profile {
        /// Profile in force.
        profile: Profile,
    },
    /// Path that decides about changes, or about their undo.
    #[error("`{rule}`, {group}, has no exceptions: a change there could let any other change pass")]
    Decides {
        /// Built-in rule.
        rule: PathRule,
        /// Group of the rule.
        group: &'static str,
    },
    /// Path that no built-in rule of the profile protects.
    #[error("no built-in rule of the profile `interactive` protects it")]
    NotProtected,
    /// Path that a rule of a policy itself protects.
    #[error("`{rule}` under `protected.paths` protects it as well; narrow that rule instead")]
    OwnRule {
        /// Rule of the policy.
        rule: PathRule,
    },
}

impl Policy {
    /// Checks whether the operator's policy could exclude a path.
    ///
    /// # Errors
    /// [`NoException`].
    pub fn check_exception(&self, path: &RelPath) -> Result<(), NoException> {
        match self.profiles.iter().find(|profile| **profile != Profile::Interactive) {
            Some(&profile) => Err(NoException::Profile { profile }),
            None => check(path, self.layers.iter().flat_map(|layer| &layer.protected)),
        }
    }
}

/// Reads one exception of a file whose own rules also protect these paths.
pub(super) fn read(value: &Value<'_>, own: &[PathRule]) -> Result<RelPath, Diagnostic> {
    let text = value.text("a path, which is a text")?;
    let path = RelPath::new(text).map_err(|error| value.unusable(&error))?;
    let checked =
        if text.contains(['*', '?']) { Err(NoException::Pattern) } else { check(&path, own) };
    checked.map(|()| path).map_err(|why| value.unusable(&format!("`{text}`: {why}")))
}

fn check<'r>(
    path: &RelPath,
    own: impl IntoIterator<Item = &'r PathRule>,
) -> Result<(), NoException> {
    let spellings = Spellings::from_path(path);
    let mut is_protected = false;
    for (guard, group) in groups_covering(&spellings) {
        match group.exceptions {
            Exceptions::Interactive => is_protected = true,
            Exceptions::Never if group.profiles.contains(&Profile::Interactive) => {
                let rule = guard.rule().clone();
                return Err(NoException::Decides { rule, group: group.name });
            }
            Exceptions::Never => {}
        }
    }
    if !is_protected {
        return Err(NoException::NotProtected);
    }
    match own.into_iter().find(|rule| Guard::new(rule).covers(&spellings)) {
        Some(rule) => Err(NoException::OwnRule { rule: rule.clone() }),
        None => Ok(()),
    }
}
