//! Exceptions of exact paths from built-in protection: `except` under `[protected]` (D-5).

use actum_core::{PathRule, RelPath};

use super::profile::{Exceptions, Profile, groups_covering};
use super::written::Value;
use super::{Diagnostic, Policy};
use crate::spelling::{Guard, Spellings};

/// Why the operator's policy cannot except a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoException {
    /// Exceptions are exact paths.
    #[error("it is a pattern; an exception is the exact path of one file")]
    Pattern,
    /// Another profile than `interactive` is in force.
    #[error("the profile `{profile}` has no exceptions; they are for `interactive` alone")]
    Profile {
        /// The profile.
        profile: Profile,
    },
    /// The path decides over changes, or over what takes them back.
    #[error("`{rule}`, {group}, has no exceptions: a change there could let any other change pass")]
    Decides {
        /// The built-in rule.
        rule: PathRule,
        /// The group of the rule.
        group: &'static str,
    },
    /// No built-in rule of the profile protects it.
    #[error("no built-in rule of the profile `interactive` protects it")]
    NotProtected,
    /// A rule that a policy states itself protects it.
    #[error("`{rule}` under `protected.paths` protects it as well; narrow that rule instead")]
    OwnRule {
        /// The rule.
        rule: PathRule,
    },
}

impl Policy {
    /// Checks whether the operator's policy could except a path.
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

/// Reads one exception of a file that protects these paths besides.
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
    let spellings = Spellings::of(path);
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
