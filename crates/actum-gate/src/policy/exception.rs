//! Exempts exact paths from built-in protection, as listed in `except` under `[protected]` (D-5).

use actum_core::{PathRule, RelPath};

use super::profile::{Exceptions, Profile, groups_covering};
use super::written::Value;
use super::{Diagnostic, Policy};
use crate::spelling::{Guard, Spellings};

/// Reason why the operator's policy cannot exempt a path from protection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoException {
    /// The path is a pattern, but must be exact.
    #[error("an exception must be the exact path of one file, not a pattern")]
    Pattern,
    /// The profile in force does not allow exceptions.
    #[error("the profile `{profile}` does not allow exceptions; only `interactive` does")]
    Profile {
        /// Profile in force.
        profile: Profile,
    },
    /// The path affects how changes are judged or undone.
    #[error(
        "`{rule}` ({group}) allows no exceptions, as a change there could let any other change pass"
    )]
    Decides {
        /// Built-in rule that protects the path.
        rule: PathRule,
        /// Name of the group that contains the rule.
        group: &'static str,
    },
    /// No built-in rule of the profile protects the path.
    #[error("no built-in rule of the profile `interactive` protects this path")]
    NotProtected,
    /// A rule of the policy file also protects the path.
    #[error("`{rule}` under `protected.paths` also protects this path; narrow that rule instead")]
    OwnRule {
        /// Rule of the policy file.
        rule: PathRule,
    },
}

impl Policy {
    /// Checks whether the operator's policy could exempt a path from protection.
    ///
    /// # Errors
    /// Returns [`NoException`] with the reason if it could not.
    pub fn check_exception(&self, path: &RelPath) -> Result<(), NoException> {
        match self.profiles.iter().find(|profile| **profile != Profile::Interactive) {
            Some(&profile) => Err(NoException::Profile { profile }),
            None => check(path, self.layers.iter().flat_map(|layer| &layer.protected)),
        }
    }
}

/// Reads an exception from a policy file. `own` are the file's own protection rules, which must not cover the
/// path.
pub(super) fn read(value: &Value<'_>, own: &[PathRule]) -> Result<RelPath, Diagnostic> {
    let text = value.text("a path (a string)")?;
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
