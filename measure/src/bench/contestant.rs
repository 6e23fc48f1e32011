//! Contestants, and the setup of each in its own workspace.

mod in_place;
mod library;
mod processes;

use std::path::{Path, PathBuf};

use super::Failure;
use super::material::Change;
use super::measurement::Who;

pub(in crate::bench) use processes::Surroundings;

/// Contestant that applies a change and undoes it. Only these two operations are timed.
pub(super) trait Contestant {
    fn apply(&mut self, change: &Change<'_>) -> Result<(), Failure>;
    /// Undoes the change that was applied last.
    fn revert(&mut self, change: &Change<'_>) -> Result<(), Failure>;
}

/// Programs that were built for the comparison.
pub(super) struct Programs {
    /// Path of the `actum` binary, or the reason why it is missing.
    pub(super) actum: Result<PathBuf, String>,
}

impl Who {
    /// Returns the name of the workspace's directory below that of the stock. Three contestants share a workspace,
    /// because they create no inodes and restore every byte.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Process => "process",
            Self::GitApply => "git-apply",
            Self::GitCommit => "git-commit",
            Self::Patch => "patch",
            Self::InPlace | Self::InPlaceChecked | Self::InPlaceLogged => "in-place",
        }
    }

    /// Prepares to work in `workspace`, whose files already exist.
    pub(super) fn enter(
        self,
        workspace: &Path,
        programs: &Programs,
        surroundings: &Surroundings,
    ) -> Result<Box<dyn Contestant>, Failure> {
        Ok(match self {
            Self::Library => Box::new(library::Library::enter(workspace)?),
            Self::Process => {
                let actum = programs.actum.as_ref().map_err(String::as_str)?;
                Box::new(processes::actum(actum, workspace, surroundings)?)
            }
            Self::GitApply => Box::new(processes::git_apply(workspace, surroundings)?),
            Self::GitCommit => Box::new(processes::git_commit(workspace, surroundings)?),
            Self::Patch => Box::new(processes::gnu_patch(workspace, surroundings)?),
            Self::InPlace => Box::new(in_place::Plain::enter(workspace)),
            Self::InPlaceChecked => Box::new(in_place::Checked::enter(workspace)?),
            Self::InPlaceLogged => Box::new(in_place::Logged::enter(workspace)?),
        })
    }
}
