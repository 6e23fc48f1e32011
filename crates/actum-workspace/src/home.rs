//! The state directory `.actum` in the root of a workspace.
//!
//! ```text
//! .actum/.gitignore   contains `*`, so that git ignores the directory
//! .actum/lock         lock for one writer at a time; names the process that holds it
//! .actum/journal      intents and ends of runs that are not in the history yet
//! .actum/durable-end  number of the last record known to be durable, so that it is not synced again
//! .actum/rebuilding   periods in which recoveries changed the tree: start and last step of each
//! .actum/swept        time of the last sweep of the stage directory, and the amount displaced since
//! .actum/stage/       new inodes before they are published, and displaced inodes afterwards
//! .actum/keep/        second names of images that are too large for the journal, and block deltas
//! .actum/snapshots/   contents of files before another program changes them, until that is adopted
//! .actum/baseline     state of all files at the beginning of an agent's turn
//! .actum/contents/    copies of files left by the baseline and the newest runs, named after digests
//! .actum/captures/    changes made by commands, until a run takes them over
//! .actum/recorded/    for each ledger, the entry that recorded the last run there
//! .actum/adoption     pending request to bind the workspace to another ledger
//! .actum/history/     one file for each past run, with the data that an undo needs
//! .actum/lost/        content that recovery could not restore or found unrecorded, damaged journals
//! .actum/blocked      paths that no run may change until the user resolves them
//! ```

mod blocked;
pub(crate) mod lost_names;
mod rebuilding;
mod shared_files;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::FileMode;
use actum_core::path::Quoted;

use crate::disk::{Barrier, Disk, Kind, Rename, Stat};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::journal::Journal;

pub(crate) use rebuilding::{RebuildNote, RebuildTime};

/// Name of the state directory.
pub const STATE_DIRECTORY: &str = ".actum";
const JOURNAL: &[u8] = b"journal";
const JOURNAL_NEW: &[u8] = b"journal.new";
const LOCK: &[u8] = b"lock";
/// Size of the note in the lock file that names the holder of the lock, in bytes.
const NOTE: usize = 200;
/// Number of nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;
const DURABLE_END: &[u8] = b"durable-end";
pub(crate) const RECORDED: &[u8] = b"recorded";
pub(crate) const PRIVATE: FileMode = FileMode::PRIVATE;
const PRIVATE_DIRECTORY: FileMode = FileMode::PRIVATE_DIRECTORY;

/// Open handles to the root of a workspace and its state directories. Holding them is the authority to access the
/// workspace.
pub(crate) struct Home<H> {
    pub(crate) root: H,
    pub(crate) state: H,
    pub(crate) stage: H,
    pub(crate) keep: H,
    pub(crate) history: H,
    pub(crate) lost: H,
}

/// Lock of a workspace, which is released when this value is dropped.
pub(crate) struct Lock<D: Disk>(D::Handle);

impl<D: Disk> Drop for Lock<D> {
    fn drop(&mut self) {
        D::unlock(&self.0);
    }
}

/// Result of trying to take the lock of a workspace for reading.
pub(crate) enum ToRead<D: Disk> {
    /// The lock was taken, so no other process can hold the workspace until it is dropped.
    Held(Lock<D>),
    /// The lock file does not exist, so no process holds the lock.
    Missing,
    /// Another process holds the lock.
    Busy,
}

/// Result of comparing the file at `.actum/journal` with the journal that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// The file is the open journal. `has_coarse_timestamps` is true if its modification time is a whole second, which
    /// suggests a file system without finer timestamps.
    Open { has_coarse_timestamps: bool },
    /// The file is not the open journal, which was set aside.
    Another,
    /// The file has other hard links, through which a copy of the workspace can write to it.
    Shared,
}

/// Handling of a missing state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The state directory and its journal must exist.
    Refuse,
    /// The state directory is created if it is missing.
    Create,
    /// The state directory must exist, but its journal may be missing.
    Tolerate,
}

impl<H> Home<H> {
    /// Opens the workspace at `path`. Creates a missing state directory if `if_missing` allows it.
    pub(crate) fn open<D: Disk<Handle = H>>(
        disk: &D,
        path: &Path,
        if_missing: IfMissing,
    ) -> Result<Self> {
        let root = disk
            .open_root(path)
            .doing(|| format!("open the workspace `{}`", Quoted(path.as_os_str().as_bytes())))?;
        let state = match disk.open_directory(&root, STATE_DIRECTORY.as_bytes()) {
            Ok(state) => state,
            Err(error) => Self::open_missing(disk, &root, if_missing, error)?,
        };
        let owner = disk.stat(&state).doing(|| "check the owner of `.actum`".to_owned())?.user;
        if owner != disk.identity().0 {
            return Err(unusable(
                "it belongs to another user, whose records would be trusted; run actum as that user",
            ));
        }
        let complete = disk
            .stat_at(&state, JOURNAL)
            .doing(|| "check whether the journal exists".to_owned())?
            .is_some();
        if !complete {
            match if_missing {
                IfMissing::Refuse => return Err(Self::without_journal(disk, &state)),
                IfMissing::Create => Self::make(disk, &root, &state)?,
                IfMissing::Tolerate => {}
            }
        }
        let open = |name: &str| {
            let doing = || format!("open the state directory `.actum/{name}`");
            match disk.open_directory(&state, name.as_bytes()) {
                // Copies and backups often omit empty directories.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let made = disk.make_directory(&state, name.as_bytes(), PRIVATE_DIRECTORY);
                    made.doing(doing)?;
                    disk.open_directory(&state, name.as_bytes()).doing(doing)
                }
                opened => opened.doing(doing),
            }
        };
        Ok(Self {
            stage: open("stage")?,
            keep: open("keep")?,
            history: open("history")?,
            lost: open("lost")?,
            root,
            state,
        })
    }

    /// Creates and opens the missing state directory, or returns the reason why it could not be opened.
    fn open_missing<D: Disk<Handle = H>>(
        disk: &D,
        root: &H,
        if_missing: IfMissing,
        error: std::io::Error,
    ) -> Result<H> {
        let doing = || "open the state directory `.actum`".to_owned();
        let found = disk.stat_at(root, STATE_DIRECTORY.as_bytes());
        match found.doing(|| "check whether `.actum` exists".to_owned())?.map(|stat| stat.kind) {
            Some(Kind::Directory) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).doing(doing);
            }
            Some(Kind::Directory) => {} // another process has just created it
            Some(Kind::File | Kind::Symlink | Kind::Special) => {
                return Err(unusable("it is not a directory"));
            }
            None if if_missing != IfMissing::Create => return Err(ErrorKind::NotAWorkspace.into()),
            None => {
                match disk.make_directory(root, STATE_DIRECTORY.as_bytes(), PRIVATE_DIRECTORY) {
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    made => made.doing(|| "create the state directory `.actum`".to_owned())?,
                }
            }
        }
        disk.open_directory(root, STATE_DIRECTORY.as_bytes()).doing(doing)
    }

    /// Returns the error for a missing journal, which was either removed or never created.
    fn without_journal<D: Disk<Handle = H>>(disk: &D, state: &H) -> Error {
        match Self::runs_were_made(disk, state) {
            Ok(true) => ErrorKind::JournalMissing.into(),
            Ok(false) => unusable("it is incomplete; run `actum init` to complete it"),
            Err(error) => error,
        }
    }

    fn runs_were_made<D: Disk<Handle = H>>(disk: &D, state: &H) -> Result<bool> {
        let doing = || "check for earlier runs".to_owned();
        if disk.stat_at(state, DURABLE_END).doing(doing)?.is_some() {
            return Ok(true);
        }
        for name in ["keep", "history"] {
            match disk.open_directory(state, name.as_bytes()) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                opened => {
                    if !disk.list(&opened.doing(doing)?).doing(doing)?.is_empty() {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Creates the missing parts of the state directory. The journal is created last, so its presence proves that
    /// everything else exists.
    fn make<D: Disk<Handle = H>>(disk: &D, root: &H, state: &H) -> Result<()> {
        let doing = || "set up the state directory `.actum`".to_owned();
        let exists = |name: &[u8]| disk.stat_at(state, name).map(|stat| stat.is_some());
        let write = |name: &[u8], bytes: &[u8]| {
            if exists(name)? {
                return Ok(());
            }
            let file = disk.create(state, name, PRIVATE)?;
            disk.write_at(&file, bytes, 0)
        };
        write(b".gitignore", b"*\n").doing(doing)?;
        write(LOCK, b"").doing(doing)?;
        let lock = Self::take_lock(disk, state, true, "setting up")?;
        if exists(JOURNAL).doing(doing)? {
            return Ok(()); // another process has completed the setup
        }
        for name in ["stage", "keep", "history", "lost"] {
            match disk.make_directory(state, name.as_bytes(), PRIVATE_DIRECTORY) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => made.doing(doing)?,
            }
        }
        if Self::runs_were_made(disk, state)? {
            return Err(ErrorKind::JournalMissing.into());
        }
        Self::probe(disk, state)?;
        disk.sync(state, Barrier::Birth).doing(doing)?;
        Self::make_journal(disk, root, state, 1)?;
        disk.sync(root, Barrier::Birth).doing(doing)?;
        drop(lock);
        Ok(())
    }

    /// Returns an error if the file system does not support an operation that actum depends on.
    fn probe<D: Disk<Handle = H>>(disk: &D, state: &H) -> Result<()> {
        let names: [&[u8]; 2] = [b"probe.a", b"probe.b"];
        let clean = || {
            for name in names {
                if disk.stat_at(state, name)?.is_some() {
                    disk.unlink(state, name)?;
                }
            }
            Ok(())
        };
        let [a, b] = names;
        clean().doing(|| "set up the state directory `.actum`".to_owned())?;
        let tried = disk
            .create(state, a, PRIVATE)
            .and_then(|_| disk.create(state, b, PRIVATE))
            .and_then(|_| disk.rename(state, a, state, b, Rename::Exchange))
            .doing(|| {
                "exchange two files (RENAME_EXCHANGE), which every change requires; this file \
                 system or kernel does not support it"
                    .to_owned()
            });
        clean().doing(|| "set up the state directory `.actum`".to_owned())?;
        tried
    }

    /// Opens the journal for reading and writing.
    pub(crate) fn journal<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Journal<H>> {
        let file = disk.open_own(&self.state, JOURNAL).doing(|| "open the journal".to_owned())?;
        Journal::open(disk, file)
    }

    /// Opens the journal for reading only.
    pub(crate) fn journal_to_read<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Journal<H>> {
        let file = disk.open_file(&self.state, JOURNAL).doing(|| "open the journal".to_owned())?;
        Journal::open(disk, file)
    }

    /// Takes the workspace lock. If another process holds it, waits for it if `wait` is true.
    ///
    /// # Errors
    /// `Busy`, naming the holder, if another process holds the lock and `wait` is false.
    pub(crate) fn lock<D>(&self, disk: &D, wait: bool, why: &str) -> Result<Lock<D>>
    where
        D: Disk<Handle = H>,
    {
        Self::take_lock(disk, &self.state, wait, why)
    }

    /// Tries to take the workspace lock briefly, without waiting and without leaving a note. This also works if nothing
    /// in the workspace may be written.
    pub(crate) fn lock_to_read<D>(&self, disk: &D) -> Result<ToRead<D>>
    where
        D: Disk<Handle = H>,
    {
        let doing = || "check the workspace lock `.actum/lock`".to_owned();
        let file = match disk.open_file(&self.state, LOCK) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ToRead::Missing);
            }
            opened => opened.doing(doing)?,
        };
        Ok(match disk.lock(&file, false).doing(doing)? {
            true => ToRead::Held(Lock(file)),
            false => ToRead::Busy,
        })
    }

    /// Returns the sequence number of the last end record known to be durable in this epoch. The number is stored
    /// without a sync. A process that is killed between writing an end and storing its number leaves the old number.
    pub(crate) fn durable_end<D: Disk<Handle = H>>(&self, disk: &D) -> Option<u64> {
        let file = disk.open_file(&self.state, DURABLE_END).ok()?;
        let mut note = [0; 8];
        let read = disk.read_at(&file, &mut note, 0).ok()?;
        (read == note.len()).then(|| u64::from_le_bytes(note))
    }

    /// Stores the sequence number of an end record that is durable. If this fails, the next process makes that record
    /// durable again.
    pub(crate) fn note_durable_end<D: Disk<Handle = H>>(&self, disk: &D, sequence: u64) {
        let noted = disk
            .open_own(&self.state, DURABLE_END)
            .or_else(|_| disk.create(&self.state, DURABLE_END, PRIVATE))
            .and_then(|file| disk.write_at(&file, &sequence.to_le_bytes(), 0));
        drop(noted);
    }

    fn take_lock<D>(disk: &D, state: &H, wait: bool, why: &str) -> Result<Lock<D>>
    where
        D: Disk<Handle = H>,
    {
        let doing = || "acquire the workspace lock `.actum/lock`".to_owned();
        loop {
            let file = match disk.open_own(state, LOCK) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    match disk.create(state, LOCK, PRIVATE) {
                        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                        created => created.doing(doing)?,
                    }
                }
                opened => opened.doing(doing)?,
            };
            if !disk.lock(&file, wait).doing(doing)? {
                let mut note = [0; NOTE];
                let size = disk.read_at(&file, &mut note, 0).unwrap_or(0);
                let note = String::from_utf8_lossy(note.get(..size).unwrap_or_default());
                let holder = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
                return Err(ErrorKind::Busy { holder }.into());
            }
            // If another process has replaced the lock file in the meantime, this lock protects nothing.
            let held = disk.stat(&file).doing(doing)?.inode;
            let named = disk.stat_at(state, LOCK).doing(doing)?.map(|stat| stat.inode);
            if named == Some(held) {
                // The note lets other processes name the holder of the lock. Errors are ignored, because a full disk
                // must not prevent an undo. The note has a fixed size, because truncating a file to zero frees its
                // block, which can take milliseconds. `why` is empty for an undo that does not know its run yet.
                let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
                let note = format!("process {}{why}", disk.process()).into_bytes();
                let mut padded = vec![b' '; NOTE];
                for (place, byte) in padded.iter_mut().zip(&note) {
                    *place = *byte;
                }
                drop(disk.write_at(&file, &padded, 0));
                return Ok(Lock(file));
            }
        }
    }

    fn make_journal<D: Disk<Handle = H>>(disk: &D, root: &H, state: &H, first: u64) -> Result<()> {
        let doing = || "create a new journal".to_owned();
        if disk.stat_at(state, JOURNAL_NEW).doing(doing)?.is_some() {
            disk.unlink(state, JOURNAL_NEW).doing(doing)?; // left by an earlier attempt
        }
        let epoch = disk.epoch(root).doing(|| "determine the current boot and mount".to_owned())?;
        let journal = disk.create(state, JOURNAL_NEW, PRIVATE).doing(doing)?;
        let written = Journal::write_new(disk, &journal, epoch, first);
        if written.is_err() {
            drop(disk.unlink(state, JOURNAL_NEW)); // free the space again in case the disk is full
        }
        written.doing(doing)?;
        disk.rename(state, JOURNAL_NEW, state, JOURNAL, Rename::NoReplace).doing(doing)?;
        disk.sync(state, Barrier::Birth).doing(doing)
    }

    /// Checks whether the name of the journal still refers to the open `journal`.
    ///
    /// # Errors
    /// `JournalMissing` if no file has that name; `State` if `.actum` was replaced; `Io`.
    pub(crate) fn compare_journal<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        journal: &Journal<H>,
    ) -> Result<Named> {
        let doing = || "check the state directory `.actum`".to_owned();
        let identity = |stat: Stat| (stat.device, stat.inode);
        let named = disk.stat_at(&self.root, STATE_DIRECTORY.as_bytes()).doing(doing)?;
        if named.map(identity) != Some(identity(disk.stat(&self.state).doing(doing)?)) {
            return Err(unusable("it was moved or replaced while in use; try again"));
        }
        let held = disk.stat(journal.file()).doing(doing)?;
        match disk.stat_at(&self.state, JOURNAL).doing(doing)? {
            Some(named) if named.links > 1 => Ok(Named::Shared),
            Some(named) if identity(named) == identity(held) => {
                Ok(Named::Open { has_coarse_timestamps: named.modified.0 % SECOND == 0 })
            }
            Some(_) => Ok(Named::Another),
            None => Err(ErrorKind::JournalMissing.into()),
        }
    }

    /// Opens the journal file without reading its head, or returns `None` if it does not exist.
    pub(crate) fn damaged_journal<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Option<H>> {
        match disk.open_file(&self.state, JOURNAL) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open the journal".to_owned()).map(Some),
        }
    }

    /// Moves the journal, if it exists, to `name` in the lost directory. Then starts a new one, whose sequence numbers
    /// come after `newest`. Returns true if there was an old journal. The caller must hold the lock.
    pub(crate) fn set_aside_journal<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        name: &str,
        newest: u64,
    ) -> Result<bool> {
        let doing = || "set the journal aside".to_owned();
        let is_there = disk.stat_at(&self.state, JOURNAL).doing(doing)?.is_some();
        if is_there {
            disk.link(&self.state, JOURNAL, &self.lost, name.as_bytes()).doing(doing)?;
            disk.sync(&self.lost, Barrier::Lost).doing(doing)?;
            disk.unlink(&self.state, JOURNAL).doing(doing)?;
        }
        // The gap is so large that no sector of the old journal can be mistaken for one of the new journal.
        Self::make_journal(disk, &self.root, &self.state, newest.saturating_add(1 << 20))?;
        Ok(is_there)
    }
}

fn unusable(what: &str) -> Error {
    ErrorKind::State { what: what.to_owned() }.into()
}

/// Replaces a small file of actum's own atomically, so that after a crash it has either the old or the new content.
pub(crate) fn replace_file<D: Disk>(
    disk: &D,
    directory: &D::Handle,
    (temporary, name): (&[u8], &[u8]),
    bytes: &[u8],
) -> std::io::Result<()> {
    if disk.stat_at(directory, temporary)?.is_some() {
        disk.unlink(directory, temporary)?;
    }
    let file = disk.create(directory, temporary, FileMode::PRIVATE)?;
    disk.write_at(&file, bytes, 0)?;
    disk.sync(&file, Barrier::Lost)?;
    disk.rename(directory, temporary, directory, name, Rename::Replace)
}
