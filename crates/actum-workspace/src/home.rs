//! The state directory `.actum` in the root of a workspace.
//!
//! ```text
//! .actum/.gitignore   `*`: git never shows what is here
//! .actum/lock         one writer at a time; says who holds it
//! .actum/journal      intents and ends of runs not yet in the history
//! .actum/durable-end  the last record that is known to be durable, so that it is not synced twice
//! .actum/rebuilding   while recovery changes the tree: when it began, and its last step
//! .actum/swept        when the stage directory was last swept, and what was displaced since
//! .actum/stage/       new inodes before they are published, displaced ones after
//! .actum/keep/        second names of images too large for the journal, and block deltas
//! .actum/snapshots/   what files held before another program changes them, until that is adopted
//! .actum/baseline     the state of all files at the beginning of a turn of an agent
//! .actum/contents/    copies of files, named after their digests, for what the baseline and the newest runs left
//! .actum/captures/    changes of commands, until a run takes them
//! .actum/recorded/    for each ledger the entry that recorded the last run there
//! .actum/adoption     a request to bind the workspace to another ledger, while it waits
//! .actum/history/     one file for each past run: what undo needs
//! .actum/lost/        what recovery could not restore or had no record of, and damaged journals
//! .actum/blocked      blocked paths, until the user resolves them
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
/// Size of the holder's note in the lock, in bytes.
const NOTE: usize = 200;
/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;
const DURABLE_END: &[u8] = b"durable-end";
pub(crate) const RECORDED: &[u8] = b"recorded";
pub(crate) const PRIVATE: FileMode = FileMode::PRIVATE;
const PRIVATE_DIRECTORY: FileMode = FileMode::PRIVATE_DIRECTORY;

/// Open handles on the root and the state directory: the authority of a workspace.
pub(crate) struct Home<H> {
    pub(crate) root: H,
    pub(crate) state: H,
    pub(crate) stage: H,
    pub(crate) keep: H,
    pub(crate) history: H,
    pub(crate) lost: H,
}

/// Lock of a workspace; it ends when this is dropped.
pub(crate) struct Lock<D: Disk>(D::Handle);

impl<D: Disk> Drop for Lock<D> {
    fn drop(&mut self) {
        D::unlock(&self.0);
    }
}

/// Result of taking the lock of a workspace for reading.
pub(crate) enum ToRead<D: Disk> {
    /// No process holds the workspace while this is held.
    Held(Lock<D>),
    /// The lock file is missing, so no process holds it.
    Missing,
    /// Another process holds the lock.
    Busy,
}

/// File that the name of the journal refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// The open journal, and whether its modification time is a whole second, as on a file system without finer
    /// timestamps.
    Open { has_coarse_timestamps: bool },
    /// Another file: the open journal was set aside.
    Another,
    /// A file with other hard links, through which a copy of the workspace writes to it.
    Shared,
}

/// Handling of a missing state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The directory must exist.
    Refuse,
    /// The directory is made.
    Create,
    /// The directory must exist, but its journal may be missing.
    Tolerate,
}

impl<H> Home<H> {
    /// Opens the workspace at `path`.
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
        let owner = disk.stat(&state).doing(|| "look at `.actum`".to_owned())?.user;
        if owner != disk.identity().0 {
            return Err(unusable(
                "it belongs to another user, whose records would be believed; run actum as that \
                 user",
            ));
        }
        let complete =
            disk.stat_at(&state, JOURNAL).doing(|| "look for the journal".to_owned())?.is_some();
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
                // Copies and backups often leave empty directories out.
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

    /// Makes and opens the state directory, or returns the reason why it could not be opened.
    fn open_missing<D: Disk<Handle = H>>(
        disk: &D,
        root: &H,
        if_missing: IfMissing,
        error: std::io::Error,
    ) -> Result<H> {
        let doing = || "open the state directory `.actum`".to_owned();
        let found = disk.stat_at(root, STATE_DIRECTORY.as_bytes());
        match found.doing(|| "look for `.actum`".to_owned())?.map(|stat| stat.kind) {
            Some(Kind::Directory) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).doing(doing);
            }
            Some(Kind::Directory) => {} // another process made it just now
            Some(Kind::File | Kind::Symlink | Kind::Special) => {
                return Err(unusable("it is not a directory"));
            }
            None if if_missing != IfMissing::Create => return Err(ErrorKind::NotAWorkspace.into()),
            None => {
                match disk.make_directory(root, STATE_DIRECTORY.as_bytes(), PRIVATE_DIRECTORY) {
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    made => made.doing(|| "make the state directory `.actum`".to_owned())?,
                }
            }
        }
        disk.open_directory(root, STATE_DIRECTORY.as_bytes()).doing(doing)
    }

    /// Returns the error for a missing journal: it was removed, or was never made.
    fn without_journal<D: Disk<Handle = H>>(disk: &D, state: &H) -> Error {
        match Self::runs_were_made(disk, state) {
            Ok(true) => ErrorKind::JournalMissing.into(),
            Ok(false) => unusable("it is only half made; `actum init` completes it"),
            Err(error) => error,
        }
    }

    fn runs_were_made<D: Disk<Handle = H>>(disk: &D, state: &H) -> Result<bool> {
        let doing = || "look for earlier runs".to_owned();
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

    /// Makes what is missing in the state directory. The journal comes last, so its presence proves that everything
    /// exists.
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
            return Ok(()); // another process was faster
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

    /// Refuses a file system that lacks what the protocol depends on.
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
                "exchange two files (RENAME_EXCHANGE), which every change needs; this file \
                 system or kernel does not offer it"
                    .to_owned()
            });
        clean().doing(|| "set up the state directory `.actum`".to_owned())?;
        tried
    }

    /// Opens the journal.
    pub(crate) fn journal<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Journal<H>> {
        let file = disk.open_own(&self.state, JOURNAL).doing(|| "open the journal".to_owned())?;
        Journal::open(disk, file)
    }

    /// Opens the journal read-only.
    pub(crate) fn journal_to_read<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Journal<H>> {
        let file = disk.open_file(&self.state, JOURNAL).doing(|| "open the journal".to_owned())?;
        Journal::open(disk, file)
    }

    /// Takes the workspace lock.
    ///
    /// # Errors
    /// `Busy`, naming the holder, when another process has it and `wait` is not set.
    pub(crate) fn lock<D>(&self, disk: &D, wait: bool, why: &str) -> Result<Lock<D>>
    where
        D: Disk<Handle = H>,
    {
        Self::take_lock(disk, &self.state, wait, why)
    }

    /// Takes the lock for a moment, without a note. This also works where nothing may be written.
    pub(crate) fn lock_to_read<D>(&self, disk: &D) -> Result<ToRead<D>>
    where
        D: Disk<Handle = H>,
    {
        let doing = || "look at the workspace lock `.actum/lock`".to_owned();
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

    /// Returns the sequence number of the last end that is known to be durable in this epoch. It is a note in memory: a
    /// process that is killed between writing an end and noting it leaves the old one.
    pub(crate) fn durable_end<D: Disk<Handle = H>>(&self, disk: &D) -> Option<u64> {
        let file = disk.open_file(&self.state, DURABLE_END).ok()?;
        let mut note = [0; 8];
        let read = disk.read_at(&file, &mut note, 0).ok()?;
        (read == note.len()).then(|| u64::from_le_bytes(note))
    }

    /// Records that the end `sequence` is durable. Where that fails, the next process makes it durable once more.
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
        let doing = || "take the workspace lock `.actum/lock`".to_owned();
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
            // If another process replaced the file while this one waited, the lock is worthless.
            let held = disk.stat(&file).doing(doing)?.inode;
            let named = disk.stat_at(state, LOCK).doing(doing)?.map(|stat| stat.inode);
            if named == Some(held) {
                // The note helps other processes to wait; a full disk must not prevent an undo. It has one size,
                // because truncating a file to zero frees its block, which can take milliseconds.
                // An undo has no label before it knows its run.
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
        let doing = || "make a new journal".to_owned();
        if disk.stat_at(state, JOURNAL_NEW).doing(doing)?.is_some() {
            disk.unlink(state, JOURNAL_NEW).doing(doing)?; // of an earlier try, maybe cut off
        }
        let epoch =
            disk.epoch(root).doing(|| "find out which boot and mount this is".to_owned())?;
        let journal = disk.create(state, JOURNAL_NEW, PRIVATE).doing(doing)?;
        let written = Journal::write_new(disk, &journal, epoch, first);
        if written.is_err() {
            drop(disk.unlink(state, JOURNAL_NEW)); // frees space on a full disk
        }
        written.doing(doing)?;
        disk.rename(state, JOURNAL_NEW, state, JOURNAL, Rename::NoReplace).doing(doing)?;
        disk.sync(state, Barrier::Birth).doing(doing)
    }

    /// Compares the open `journal` with the one that the workspace has.
    ///
    /// # Errors
    /// `JournalMissing`; `State` where `.actum` was exchanged; `Io`.
    pub(crate) fn compare_journal<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        journal: &Journal<H>,
    ) -> Result<Named> {
        let doing = || "look at the state directory `.actum`".to_owned();
        let identity = |stat: Stat| (stat.device, stat.inode);
        let named = disk.stat_at(&self.root, STATE_DIRECTORY.as_bytes()).doing(doing)?;
        if named.map(identity) != Some(identity(disk.stat(&self.state).doing(doing)?)) {
            return Err(unusable("it was moved or exchanged while it was in use; try again"));
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

    /// Opens the file of a journal that cannot be trusted, if it exists.
    pub(crate) fn damaged_journal<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Option<H>> {
        match disk.open_file(&self.state, JOURNAL) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open the journal".to_owned()).map(Some),
        }
    }

    /// Moves the journal to `name` in the lost directory, if it exists, and starts a new one whose records come after
    /// `newest`. Returns true if it existed. The lock is held.
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
        // The number is far enough ahead that no sector of the old journal can pass for one of the new.
        Self::make_journal(disk, &self.root, &self.state, newest.saturating_add(1 << 20))?;
        Ok(is_there)
    }
}

fn unusable(what: &str) -> Error {
    ErrorKind::State { what: what.to_owned() }.into()
}

/// Replaces a small file of actum's own atomically: after a crash it is the old one or the new one.
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
