//! Actions and tasks that are under way: `HOME/tenants/TENANT/acting/WORKSPACE.ID` and
//! `…/tasks/WORKSPACE.ID`, a file that is locked by the process that carries it out. An unlocked
//! one is left from a process that ended before. `WORKSPACE.ID.json` beside it has all that another
//! process needs to end it.
//!
//! Those of actions are made and removed under the lock of the workspace, those of tasks under the
//! turn. Those of file tasks (`…/file-tasks/`) are named by the task id alone and removed under
//! their own lock. `actum status` locks each of the others for a moment, to look at it. Marks and
//! notes outlive the process; notes that are synced outlive a stop of the machine, too.

use actum_core::RunId;
use actum_record::ledger::{TenantId, WorkspaceId};

use super::disk::{Directory, Lock, Sharing};
use super::{HomeError, LedgerHome};

/// The longest notes, in bytes: 64 MiB.
const NOTES_BYTES_MAX: usize = 64 << 20;

/// Kind of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// An action.
    Action,
    /// A task plan.
    Task,
    /// A file task.
    FileTask,
}

/// An activity that is under way, or was left so.
#[derive(Debug)]
#[must_use = "it is told for left as soon as this is gone"]
pub struct UnderWay {
    id: RunId,
    name: String,
    directory: Directory,
    _lock: Lock,
}

/// Marks of the actions and tasks of one tenant that are under way on this machine.
#[derive(Debug, Clone)]
pub struct Marks {
    home: LedgerHome,
    tenant: TenantId,
}

impl Marks {
    /// The marks of a tenant. Nothing is opened before it is needed.
    pub fn new(home: LedgerHome, tenant: TenantId) -> Self {
        Self { home, tenant }
    }

    /// Marks an action or task as under way, as long as this process lives and the mark is held.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn begin(
        &self,
        doing: Activity,
        id: RunId,
        workspace: WorkspaceId,
    ) -> Result<UnderWay, HomeError> {
        let directory = self.directory_made(doing)?;
        let name = name(workspace, id);
        let lock = directory.lock(&name, Sharing::Exclusive)?;
        Ok(UnderWay { id, name, directory, _lock: lock })
    }

    /// Takes the mark of an activity, made if it is missing. `None` if another process holds it.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn take(
        &self,
        doing: Activity,
        id: RunId,
        workspace: WorkspaceId,
    ) -> Result<Option<UnderWay>, HomeError> {
        let directory = self.directory_made(doing)?;
        let name = name(workspace, id);
        let lock = directory.lock_if_free_made(&name)?;
        Ok(lock.map(|lock| UnderWay { id, name, directory, _lock: lock }))
    }

    /// Keeps other processes from carrying out tasks in a workspace, as long as the turn is held. `None` if another
    /// process has it.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn begin_tasks(&self, workspace: WorkspaceId) -> Result<Option<TaskTurn>, HomeError> {
        let directory = self.directory_made(Activity::Task)?;
        let lock = directory.lock_if_free_made(&format!("{workspace}"))?;
        Ok(lock.map(|lock| TaskTurn { _lock: lock }))
    }

    /// Takes the abandoned activities of a workspace, one after the other. Locks each; skips those
    /// that another process has locked.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn abandoned(
        &self,
        doing: Activity,
        workspace: WorkspaceId,
    ) -> Result<impl Iterator<Item = Result<UnderWay, HomeError>>, HomeError> {
        self.taken(doing, workspace, Directory::lock_if_free)
    }

    /// Takes all tasks in a workspace that are marked, one after the other. None is being carried
    /// out, since the turn is held. A process that only looks at one holds it for a moment, which
    /// is waited for, two seconds at most.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn abandoned_tasks(
        &self,
        _turn: &TaskTurn,
        workspace: WorkspaceId,
    ) -> Result<impl Iterator<Item = Result<UnderWay, HomeError>>, HomeError> {
        self.taken(Activity::Task, workspace, Directory::lock_soon)
    }

    fn taken(
        &self,
        doing: Activity,
        workspace: WorkspaceId,
        lock: fn(&Directory, &str) -> Result<Option<Lock>, HomeError>,
    ) -> Result<impl Iterator<Item = Result<UnderWay, HomeError>>, HomeError> {
        let listed = self.directory(doing)?.map(|directory| marked(&directory, workspace));
        let ids = listed.transpose()?.unwrap_or_default();
        let take = move |id| -> Result<Option<UnderWay>, HomeError> {
            let Some(directory) = self.directory(doing)? else { return Ok(None) };
            let name = name(workspace, id);
            let lock = lock(&directory, &name)?;
            Ok(lock.map(|lock| UnderWay { id, name, directory, _lock: lock }))
        };
        Ok(ids.into_iter().filter_map(move |id| take(id).transpose()))
    }

    fn directory(&self, doing: Activity) -> Result<Option<Directory>, HomeError> {
        let tenant = self.home.existing_tenant(&self.tenant)?;
        tenant.map_or(Ok(None), |tenant| tenant.directory.directory(doing.directory()))
    }

    fn directory_made(&self, doing: Activity) -> Result<Directory, HomeError> {
        self.home.tenant(&self.tenant)?.directory.directory_made(doing.directory())
    }
}

/// Name of the file of a mark.
fn name(workspace: WorkspaceId, id: RunId) -> String {
    format!("{workspace}.{id}")
}

fn marked(directory: &Directory, workspace: WorkspaceId) -> Result<Vec<RunId>, HomeError> {
    let prefix = format!("{workspace}.");
    let id = |name: &String| name.strip_prefix(&prefix)?.parse().ok();
    Ok(directory.names()?.iter().filter_map(id).collect())
}

/// The turn of one process to carry out tasks in a workspace.
#[derive(Debug)]
#[must_use = "another may take it as soon as this is gone"]
pub struct TaskTurn {
    _lock: Lock,
}

impl Activity {
    fn directory(self) -> &'static str {
        match self {
            Self::Action => "acting",
            Self::Task => "tasks",
            Self::FileTask => "file-tasks",
        }
    }
}

impl UnderWay {
    /// Its name.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Stores the notes that another process needs to end it, and replaces the notes before. Until
    /// they are made durable, a stop of the machine can leave any bytes in their place.
    ///
    /// # Errors
    /// [`HomeError`]; the notes before are still stored.
    pub fn note(&self, notes: &[u8]) -> Result<(), HomeError> {
        self.directory.replace_for_now(&self.notes(), notes)
    }

    /// Stores the notes durably: at any time either these are there or the notes before.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn note_durably(&self, notes: &[u8]) -> Result<(), HomeError> {
        self.directory.replace(&self.notes(), notes)
    }

    /// Makes the last notes durable.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn sync(&self) -> Result<(), HomeError> {
        self.directory.sync_file(&self.notes())
    }

    /// The device of the file system that it is on: a sync of that makes it durable as well.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn device(&self) -> Result<u64, HomeError> {
        self.directory.device()
    }

    /// Returns the last notes.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn noted(&self) -> Result<Option<Vec<u8>>, HomeError> {
        let noted = self.directory.read(&self.notes(), NOTES_BYTES_MAX)?;
        Ok(noted.map(|mut bytes| std::mem::take(&mut *bytes)))
    }

    /// Takes the mark away.
    ///
    /// # Errors
    /// [`HomeError`]
    pub fn end(self) -> Result<(), HomeError> {
        self.directory.remove(&self.notes())?;
        self.directory.remove(&self.name)
    }

    fn notes(&self) -> String {
        format!("{}.json", self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    /// AA-13: an abandoned action is distinguished from one that is under way.
    #[test]
    fn an_action_is_left_once_nobody_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let marks = Marks::new(home, TenantId::default());
        let [here, elsewhere] = [1, 2].map(WorkspaceId::from_random);
        let left = |workspace| -> Vec<RunId> {
            let left = marks.abandoned(Activity::Action, workspace).unwrap();
            left.map(|left| left.unwrap().id()).collect()
        };
        assert_eq!(left(here), []);
        let [one, two] = [1, 2].map(RunId::from_random);
        let first = marks.begin(Activity::Action, one, here).unwrap();
        let second = marks.begin(Activity::Action, two, here).unwrap();
        assert_eq!(left(here), []);
        drop(first);
        assert_eq!((left(here), left(elsewhere)), (vec![one], vec![]));
        second.end().unwrap();
        let settled = marks.abandoned(Activity::Action, here).unwrap().next().unwrap().unwrap();
        assert_eq!((settled.id(), left(here)), (one, vec![]), "somebody settles it");
        settled.end().unwrap();
        let files = std::fs::read_dir(directory.path().join("home/tenants/default/acting"));
        assert_eq!((left(here), files.unwrap().count()), (vec![], 0));
    }

    /// FE-11: a mark has one holder, also where marks are removed while others take them.
    #[test]
    fn a_mark_is_taken_by_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let marks = Marks::new(home, TenantId::default());
        let (here, id) = (WorkspaceId::from_random(1), RunId::from_random(2));
        let (held, taken) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..2000 {
                        let Some(mark) = marks.take(Activity::FileTask, id, here).unwrap() else {
                            continue;
                        };
                        assert!(!held.swap(true, Ordering::SeqCst), "two hold it");
                        std::thread::yield_now();
                        taken.fetch_add(1, Ordering::SeqCst);
                        held.store(false, Ordering::SeqCst);
                        mark.end().unwrap();
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }

    /// EX-13: an abandoned task can be ended by another process.
    #[test]
    fn what_is_noted_of_a_task_is_there_for_whoever_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let marks = Marks::new(home, TenantId::default());
        let (here, id) = (WorkspaceId::from_random(1), RunId::from_random(2));
        let begun = marks.begin(Activity::Task, id, here).unwrap();
        assert_eq!(begun.noted().unwrap(), None);
        begun.note(b"one").unwrap();
        begun.note(b"another").unwrap();
        begun.sync().unwrap();
        assert!(marks.abandoned(Activity::Task, here).unwrap().next().is_none(), "it is held");
        drop(begun);
        assert!(marks.abandoned(Activity::Action, here).unwrap().next().is_none());
        let turn = marks.begin_tasks(here).unwrap().unwrap();
        let looked_at = marks.abandoned(Activity::Task, here).unwrap().next().unwrap().unwrap();
        std::thread::scope(|threads| {
            let taken = threads.spawn(|| {
                let mut taken = marks.abandoned_tasks(&turn, here).unwrap();
                taken.next().is_some()
            });
            drop(looked_at);
            assert!(taken.join().unwrap(), "it is waited for");
        });
        let left = marks.abandoned(Activity::Task, here).unwrap().next().unwrap().unwrap();
        assert_eq!(left.noted().unwrap().unwrap(), b"another");
        left.end().unwrap();
        assert!(marks.abandoned(Activity::Task, here).unwrap().next().is_none());
    }
}
