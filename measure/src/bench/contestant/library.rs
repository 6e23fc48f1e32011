//! Contestant that uses the engine in this process: it takes a parsed change set and returns a run id.

use std::path::Path;

use actum_core::RunId;
use actum_workspace::Workspace;

use super::Contestant;
use crate::bench::Failure;
use crate::bench::material::Change;

pub(super) struct Library {
    workspace: Workspace,
    applied: Option<RunId>,
}

impl Library {
    pub(super) fn enter(workspace: &Path) -> Result<Self, Failure> {
        Ok(Self { workspace: Workspace::open(workspace)?, applied: None })
    }
}

impl Contestant for Library {
    fn apply(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.applied = Some(self.workspace.apply(&change.change_set)?);
        Ok(())
    }

    fn revert(&mut self, _: &Change<'_>) -> Result<(), Failure> {
        let run = self.applied.take().ok_or("nothing was applied")?;
        self.workspace.revert(run)?;
        Ok(())
    }
}
