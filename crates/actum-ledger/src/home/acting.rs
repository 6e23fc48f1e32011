//! The actions that are under way: `HOME/tenants/TENANT/acting/WORKSPACE.ACTION`, a file that is locked by the process
//! that carries the action out. One that nobody has locked is left from a process that came to its end before the
//! action did.
//!
//! These files are made, looked for and removed under the lock of the workspace alone. They outlive the process, and
//! not for sure the machine.

use actum_core::RunId;
use actum_core::ledger::WorkspaceId;

use super::disk::{Directory, Lock, Sharing};
use super::{HomeError, TenantHome};

const ACTING: &str = "acting";

/// An action that is under way, or was left so.
#[derive(Debug)]
#[must_use = "it is told for left as soon as this is gone"]
pub struct Acting {
    id: RunId,
    name: String,
    directory: Directory,
    _lock: Lock,
}

impl TenantHome {
    /// Marks an action as under way, as long as this process lives and what is given is there.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn begin_action(&self, id: RunId, workspace: WorkspaceId) -> Result<Acting, HomeError> {
        let directory = self.directory.directory_made(ACTING)?;
        let name = format!("{workspace}.{id}");
        let lock = directory.lock(&name, Sharing::Exclusive)?;
        Ok(Acting { id, name, directory, _lock: lock })
    }

    /// The actions in a workspace that are marked, whether somebody carries them out or not.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn marked_actions(&self, workspace: WorkspaceId) -> Result<Vec<RunId>, HomeError> {
        let Some(directory) = self.directory.directory(ACTING)? else { return Ok(Vec::new()) };
        let prefix = format!("{workspace}.");
        let id = |name: &String| name.strip_prefix(&prefix)?.parse().ok();
        Ok(directory.names()?.iter().filter_map(id).collect())
    }

    /// One of them, where nobody carries it out any more.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn left_action(
        &self,
        id: RunId,
        workspace: WorkspaceId,
    ) -> Result<Option<Acting>, HomeError> {
        let Some(directory) = self.directory.directory(ACTING)? else { return Ok(None) };
        let name = format!("{workspace}.{id}");
        let lock = directory.lock_if_free(&name)?;
        Ok(lock.map(|lock| Acting { id, name, directory, _lock: lock }))
    }
}

impl Acting {
    /// Its name.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Takes the mark away.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn end(self) -> Result<(), HomeError> {
        self.directory.remove(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::LedgerHome;

    /// AA-13: what was cut off is told from what is under way.
    #[test]
    fn an_action_is_left_once_nobody_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let tenant = home.tenant(&"default".parse().unwrap()).unwrap();
        let [here, elsewhere] = [1, 2].map(WorkspaceId::from_random);
        let taken = |id, workspace| tenant.left_action(id, workspace).unwrap();
        let left = |workspace| -> Vec<RunId> {
            let marked = tenant.marked_actions(workspace).unwrap().into_iter();
            marked.filter(|id| taken(*id, workspace).is_some()).collect()
        };
        assert_eq!(left(here), []);
        let [one, two] = [1, 2].map(RunId::from_random);
        let first = tenant.begin_action(one, here).unwrap();
        let second = tenant.begin_action(two, here).unwrap();
        assert_eq!(left(here), []);
        drop(first);
        assert_eq!((left(here), left(elsewhere)), (vec![one], vec![]));
        second.end().unwrap();
        let settled = taken(one, here).unwrap();
        assert_eq!((settled.id(), left(here)), (one, vec![]), "somebody settles it");
        settled.end().unwrap();
        assert_eq!(tenant.marked_actions(here).unwrap(), []);
        assert!(taken(one, here).is_none());
    }
}
