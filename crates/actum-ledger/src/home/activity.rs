//! Marks of actions and tasks that are in progress.
//!
//! A mark is a file `HOME/tenants/TENANT/acting/WORKSPACE.ID` (actions) or `…/tasks/WORKSPACE.ID` (tasks), which is
//! locked by the process that carries out the action or task. If the file is not locked, its process has ended without
//! finishing the work. The file `WORKSPACE.ID.json` next to it contains notes for the process that finishes it.
//!
//! Marks of actions are created and removed while the workspace lock is held, and marks of tasks while the task turn is
//! held. Marks of file tasks (`…/file-tasks/`) have names that depend only on the task id, and are removed under their
//! own lock. `actum status` briefly locks marks of actions and tasks to inspect them. Marks and notes survive the end of
//! their process, and synced notes also survive a crash of the machine.

use actum_core::RunId;
use actum_record::ledger::{TenantId, WorkspaceId};

use super::disk::{Directory, Lock, Sharing};
use super::{HomeError, LedgerHome};

/// Maximum size of the notes of one activity, 64 MiB.
const NOTES_BYTES_MAX: usize = 64 << 20;

/// Kind of work that is marked while it is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Action of an agent.
    Action,
    /// Execution of a task plan.
    Task,
    /// File task, such as moving a file.
    FileTask,
}

/// Locked mark of an activity, which is either carried out by this process or was abandoned by another one.
#[derive(Debug)]
#[must_use = "the activity is considered abandoned once this mark is dropped"]
pub struct ActivityMark {
    id: RunId,
    name: String,
    directory: Directory,
    _lock: Lock,
}

/// Marks of the actions and tasks of one tenant that are in progress on this machine.
#[derive(Debug, Clone)]
pub struct Marks {
    home: LedgerHome,
    tenant: TenantId,
}

impl Marks {
    /// Creates a handle on the marks of a tenant. No file is opened until it is needed.
    pub fn new(home: LedgerHome, tenant: TenantId) -> Self {
        Self { home, tenant }
    }

    /// Marks an activity as in progress, until the mark is dropped or this process ends.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the mark cannot be created or locked.
    pub fn begin(
        &self,
        doing: Activity,
        id: RunId,
        workspace: WorkspaceId,
    ) -> Result<ActivityMark, HomeError> {
        let directory = self.directory_made(doing)?;
        let name = name(workspace, id);
        let lock = directory.lock(&name, Sharing::Exclusive)?;
        Ok(ActivityMark { id, name, directory, _lock: lock })
    }

    /// Takes the mark of an activity, and creates it if it does not exist. Returns `None` if another process holds it.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the mark cannot be created or locked.
    pub fn take(
        &self,
        doing: Activity,
        id: RunId,
        workspace: WorkspaceId,
    ) -> Result<Option<ActivityMark>, HomeError> {
        let directory = self.directory_made(doing)?;
        let name = name(workspace, id);
        let lock = directory.lock_if_free_made(&name)?;
        Ok(lock.map(|lock| ActivityMark { id, name, directory, _lock: lock }))
    }

    /// Prevents other processes from carrying out tasks in a workspace while the returned turn is held. Returns `None` if
    /// another process holds the turn.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the lock file cannot be created or locked.
    pub fn begin_tasks(&self, workspace: WorkspaceId) -> Result<Option<TaskTurn>, HomeError> {
        let directory = self.directory_made(Activity::Task)?;
        let lock = directory.lock_if_free_made(&format!("{workspace}"))?;
        Ok(lock.map(|lock| TaskTurn { _lock: lock }))
    }

    /// Takes the marks of abandoned activities in a workspace one by one. Marks that are locked by another process are
    /// skipped, because their activities are still in progress.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the marks cannot be listed or locked.
    pub fn abandoned(
        &self,
        doing: Activity,
        workspace: WorkspaceId,
    ) -> Result<impl Iterator<Item = Result<ActivityMark, HomeError>>, HomeError> {
        self.taken(doing, workspace, Directory::lock_if_free)
    }

    /// Takes the marks of all tasks in a workspace one by one. All of them are abandoned, because the caller holds the turn.
    ///
    /// If another process briefly holds a mark to inspect it, waits for up to two seconds.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the marks cannot be listed or locked, or if another process does not release a mark.
    pub fn abandoned_tasks(
        &self,
        _turn: &TaskTurn,
        workspace: WorkspaceId,
    ) -> Result<impl Iterator<Item = Result<ActivityMark, HomeError>>, HomeError> {
        self.taken(Activity::Task, workspace, Directory::lock_soon)
    }

    fn taken(
        &self,
        doing: Activity,
        workspace: WorkspaceId,
        lock: fn(&Directory, &str) -> Result<Option<Lock>, HomeError>,
    ) -> Result<impl Iterator<Item = Result<ActivityMark, HomeError>>, HomeError> {
        let listed = self.directory(doing)?.map(|directory| marked(&directory, workspace));
        let ids = listed.transpose()?.unwrap_or_default();
        let take = move |id| -> Result<Option<ActivityMark>, HomeError> {
            let Some(directory) = self.directory(doing)? else { return Ok(None) };
            let name = name(workspace, id);
            let lock = lock(&directory, &name)?;
            Ok(lock.map(|lock| ActivityMark { id, name, directory, _lock: lock }))
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

/// Returns the file name of a mark.
fn name(workspace: WorkspaceId, id: RunId) -> String {
    format!("{workspace}.{id}")
}

fn marked(directory: &Directory, workspace: WorkspaceId) -> Result<Vec<RunId>, HomeError> {
    let prefix = format!("{workspace}.");
    let id = |name: &String| name.strip_prefix(&prefix)?.parse().ok();
    Ok(directory.names()?.iter().filter_map(id).collect())
}

/// Exclusive right of a process to carry out tasks in a workspace.
#[derive(Debug)]
#[must_use = "another process may take the turn once this guard is dropped"]
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

impl ActivityMark {
    /// Returns the id of the activity.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Stores the notes that another process needs to finish the activity, replacing any earlier notes.
    ///
    /// Until the notes are synced, a crash of the machine may leave arbitrary bytes in their place.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the notes cannot be written. The earlier notes are kept in this case.
    pub fn note(&self, notes: &[u8]) -> Result<(), HomeError> {
        self.directory.replace_for_now(&self.notes(), notes)
    }

    /// Stores the notes atomically and durably. After a crash, either the new notes or the earlier ones are present.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the notes cannot be written or synced.
    pub fn note_durably(&self, notes: &[u8]) -> Result<(), HomeError> {
        self.directory.replace(&self.notes(), notes)
    }

    /// Makes the latest notes durable.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the notes cannot be synced.
    pub fn sync(&self) -> Result<(), HomeError> {
        self.directory.sync_file(&self.notes())
    }

    /// Returns the device number of the file system that contains the mark. Syncing that file system also makes the notes
    /// durable.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the system call fails.
    pub fn device(&self) -> Result<u64, HomeError> {
        self.directory.device()
    }

    /// Returns the latest notes, or `None` if there are none.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the notes cannot be read.
    pub fn noted(&self) -> Result<Option<Vec<u8>>, HomeError> {
        let noted = self.directory.read(&self.notes(), NOTES_BYTES_MAX)?;
        Ok(noted.map(|mut bytes| std::mem::take(&mut *bytes)))
    }

    /// Removes the mark and its notes, because the activity has ended.
    ///
    /// # Errors
    /// Returns [`HomeError`] if a file cannot be removed.
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

    /// AA-13: an action is reported as abandoned only once no process holds its mark.
    #[test]
    fn action_is_abandoned_once_no_process_holds_its_mark() {
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
        assert_eq!((settled.id(), left(here)), (one, vec![]), "a held mark is not abandoned");
        settled.end().unwrap();
        let files = std::fs::read_dir(directory.path().join("home/tenants/default/acting"));
        assert_eq!((left(here), files.unwrap().count()), (vec![], 0));
    }

    /// FE-11: a mark has at most one holder, even if marks are removed while other threads take them.
    #[test]
    fn mark_has_at_most_one_holder() {
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
                        assert!(!held.swap(true, Ordering::SeqCst), "two threads hold the mark");
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

    /// EX-13: another process can read the notes of an abandoned task and end it.
    #[test]
    fn notes_of_an_abandoned_task_are_readable_by_another_process() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let marks = Marks::new(home, TenantId::default());
        let (here, id) = (WorkspaceId::from_random(1), RunId::from_random(2));
        let begun = marks.begin(Activity::Task, id, here).unwrap();
        assert_eq!(begun.noted().unwrap(), None);
        begun.note(b"one").unwrap();
        begun.note(b"another").unwrap();
        begun.sync().unwrap();
        assert!(marks.abandoned(Activity::Task, here).unwrap().next().is_none(), "mark is held");
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
            assert!(taken.join().unwrap(), "waits for the held mark");
        });
        let left = marks.abandoned(Activity::Task, here).unwrap().next().unwrap().unwrap();
        assert_eq!(left.noted().unwrap().unwrap(), b"another");
        left.end().unwrap();
        assert!(marks.abandoned(Activity::Task, here).unwrap().next().is_none());
    }
}
