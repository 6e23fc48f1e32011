//! Differences between a plan as it was shown and as it is now.

use std::collections::BTreeMap;
use std::fmt;

use actum_core::FileState;
use actum_core::path_name::PathName;
use actum_record::ledger::Bound;
use actum_record::receipt::PathEffect;

/// Most differences that a message lists.
const TOLD_MAX: usize = 5;

/// Difference from something that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// Request.
    Plan,
    /// Limits of the request.
    Limits,
    /// Policy in force.
    Policy,
    /// Requester.
    Actor,
    /// Decision of the gates.
    Grounds,
    /// File that the change starts from.
    File {
        /// Path of the file.
        path: PathName,
        /// Earlier state.
        was: Option<FileState>,
        /// Current state.
        is: Option<FileState>,
    },
    /// Effect on a file.
    Effect {
        /// Path of the file.
        path: PathName,
        /// Earlier result.
        was: Option<FileState>,
        /// Current result.
        is: Option<FileState>,
    },
}

impl Moved {
    /// Returns the differences between `then` and `now`, which are bound to these changes.
    pub fn between(
        (then, was): (&Bound, &[PathEffect]),
        (now, is): (&Bound, &[PathEffect]),
    ) -> Vec<Self> {
        let whole = [
            (then.plan != now.plan, Self::Plan),
            (then.limits != now.limits, Self::Limits),
            (then.policy != now.policy, Self::Policy),
        ];
        let whole = whole.into_iter().filter_map(|(is_other, moved)| is_other.then_some(moved));
        whole.chain(Self::in_files(was, is)).collect()
    }

    /// Returns the differences of the files alone.
    pub fn in_files(was: &[PathEffect], is: &[PathEffect]) -> Vec<Self> {
        let by_path = |change: &[PathEffect]| -> BTreeMap<PathName, PathEffect> {
            change.iter().map(|effect| (effect.path.clone(), effect.clone())).collect()
        };
        let (was, mut is) = (by_path(was), by_path(is));
        let mut moved = Vec::new();
        for (path, was) in was {
            match is.remove(&path) {
                Some(is) if is == was => {}
                Some(is) if is.before != was.before => {
                    moved.push(Self::File { path, was: was.before, is: is.before });
                }
                is => {
                    let is = is.and_then(|is| is.after);
                    moved.push(Self::Effect { path, was: was.after, is });
                }
            }
        }
        let others = is.into_iter();
        moved.extend(others.map(|(path, is)| Self::Effect { path, was: None, is: is.after }));
        moved
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => f.write_str("the request changed"),
            Self::Limits => f.write_str("the limits changed"),
            Self::Policy => f.write_str("the policy in force changed"),
            Self::Grounds => f.write_str("the decision of the gates changed"),
            Self::Actor => f.write_str("another actor made the request"),
            Self::File { path, was, is } => match (was, is) {
                (Some(_), None) => write!(f, "the file `{path}` is gone"),
                (None, Some(_)) => write!(f, "the file `{path}` exists now"),
                (Some(was), Some(is)) if was.sha256 == is.sha256 => {
                    write!(f, "the mode of `{path}` changed ({} -> {})", was.mode, is.mode)
                }
                (_, _) => write!(f, "the file `{path}` was edited"),
            },
            Self::Effect { path, was: Some(was), is: Some(is) } if was.sha256 == is.sha256 => {
                write!(f, "the resulting mode of `{path}` changed ({} -> {})", was.mode, is.mode)
            }
            Self::Effect { path, .. } => write!(f, "the result for `{path}` differs"),
        }
    }
}

/// Lists all differences in one sentence.
pub(crate) fn listed(moved: &[Moved]) -> String {
    let mut told: Vec<String> = moved.iter().take(TOLD_MAX).map(ToString::to_string).collect();
    let more = moved.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        told.push(format!("{more} more changes"));
    }
    told.join(", and ")
}
