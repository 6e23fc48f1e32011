//! Differences between a plan as it was reviewed and the plan as it is now.

use std::collections::BTreeMap;
use std::fmt;

use actum_core::FileState;
use actum_core::path_name::PathName;
use actum_record::ledger::Bound;
use actum_record::receipt::PathEffect;

/// Maximum number of differences listed in an error message.
const DIFFERENCES_MAX: usize = 5;

/// Difference in one of the facts that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The requested work changed.
    Plan,
    /// The limits of the request changed, such as its scope or budget.
    Limits,
    /// The policy in force changed.
    Policy,
    /// A different actor made the request.
    Actor,
    /// The gates reached a different decision, or reached it on different grounds.
    Grounds,
    /// A file that the change starts from was created, modified or removed.
    File {
        /// Path of the file, relative to the root of the workspace.
        path: PathName,
        /// State of the file when the plan was reviewed, or `None` if the file did not exist.
        was: Option<FileState>,
        /// Current state of the file, or `None` if it does not exist.
        is: Option<FileState>,
    },
    /// The change would have a different effect on a file.
    Effect {
        /// Path of the file, relative to the root of the workspace.
        path: PathName,
        /// State that the reviewed plan would have produced, or `None` for no file.
        was: Option<FileState>,
        /// State that the plan would produce now, or `None` for no file.
        is: Option<FileState>,
    },
}

impl Moved {
    /// Compares two bound plans, each given with its effects on files, and returns all differences.
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

    /// Compares two lists of effects on files, and returns the files that differ.
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
                (Some(_), None) => write!(f, "the file `{path}` was removed"),
                (None, Some(_)) => write!(f, "the file `{path}` was created"),
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

/// Joins the differences into one clause for an error message, shortened to [`DIFFERENCES_MAX`] of them.
pub(crate) fn listed(moved: &[Moved]) -> String {
    let mut differences: Vec<String> =
        moved.iter().take(DIFFERENCES_MAX).map(ToString::to_string).collect();
    let more = moved.len().saturating_sub(DIFFERENCES_MAX);
    if more > 0 {
        differences.push(format!("{more} more changes"));
    }
    differences.join(", and ")
}
