//! Errors of this crate, each of which also reports the state in which it left the workspace.

use std::io;

use actum_core::path::Quoted;
use actum_core::{BudgetStatus, Digest, PathError, RelPath, RunId, scope::ScopeError};
use actum_edit::nearest_match::NearestMatch;
use actum_edit::{EditError, HunkError, change_set::ChangeSetError};
use actum_record::keyring::{KEYRING_FILE, KEYS_DIRECTORY};

/// Error of an operation, together with the resulting state of the workspace.
#[derive(Debug)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// State of the workspace after the error.
    pub state: State,
    /// Further problems with the same change, which affect other paths.
    pub also: Vec<ErrorKind>,
}

/// State of the workspace after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// No file of the workspace was touched.
    Unchanged,
    /// No file of the workspace was touched, but runs were removed from the history.
    Forgotten {
        /// Number of runs that were removed.
        runs: u32,
    },
    /// Some files were modified, and all of them have been restored.
    Restored,
    /// The change is visible, but a power cut may still undo it.
    Published,
    /// Some files are in neither their old nor their new state, and the user must resolve this.
    NeedsAttention,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unchanged => "nothing was changed",
            Self::Forgotten { runs: 1 } => {
                "1 run had already been removed from the history, but no file was changed"
            }
            Self::Forgotten { runs } => {
                return write!(
                    f,
                    "{runs} runs had already been removed from the history, but no file was changed"
                );
            }
            Self::Restored => "the workspace was restored to its previous state",
            Self::Published => {
                "the change is visible but may not survive a power cut; run `actum recover`"
            }
            Self::NeedsAttention => "the workspace needs attention; run `actum status`",
        })
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.kind, self.state)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, state: State::Unchanged, also: Vec::new() }
    }
}

impl Error {
    /// Returns the error message without quoting the content of any file, for records that outlive the workspace.
    pub fn without_content(&self) -> String {
        format!("{}; {}", self.kind.without_content(), self.state)
    }
}

impl ErrorKind {
    /// Returns the error message without quoting the content of any file.
    pub fn without_content(&self) -> String {
        if let Self::Hunk { path, source, .. } = self {
            return format!("cannot patch `{path}`: {}", source.without_content());
        }
        if let Self::Edit { path, source, .. } = self {
            return format!("cannot edit `{path}`: {}", source.without_content());
        }
        self.to_string()
    }
}

/// Permission for an error message to quote the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// The message may quote the content.
    Allowed,
    /// The message must not quote the content, because the file may contain credentials.
    Withheld,
}

/// Kind of an object that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAFile {
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A FIFO, socket or device.
    Special,
}

impl std::fmt::Display for NotAFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Special => "a FIFO, socket or device",
        })
    }
}

/// Attempted operation on a past run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Undoing the run.
    Undo(RunId),
    /// Redoing the run after it was undone.
    Redo(RunId),
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Undo(run) => write!(f, "undo run {run}"),
            Self::Redo(run) => write!(f, "redo run {run}"),
        }
    }
}

/// Operation that requires a file or directory to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededFor {
    /// Changing the content or permission bits of the object.
    Change,
    /// Deleting the object.
    Delete,
    /// Renaming the object.
    Rename,
    /// Copying the object.
    Copy,
}

impl std::fmt::Display for NeededFor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Change => "change",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Copy => "copy",
        })
    }
}

/// Path whose current state differs from the state in which a past run left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathConflict {
    /// Path that differs.
    pub path: RelPath,
    /// Kind of the difference.
    pub difference: Difference,
    /// Most recent later run that changed the path, if there is one.
    pub by: Option<RunId>,
}

/// Difference between the current state of a path and the state in which a run left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The file has different content.
    Content,
    /// The file has different content, but the parts that the run changed are still the same.
    Elsewhere,
    /// The file has different content, and the lines that the run changed do not occur exactly once with their context.
    Around,
    /// The file has a different mode, owner or extended attributes.
    Attributes,
    /// The file is missing.
    Gone,
    /// A file exists at a path where the run left none.
    FileThere,
    /// A directory exists at a path where the run left none.
    DirectoryThere,
    /// The object at the path is not a file.
    NotAFile(NotAFile),
    /// The operating system denies access to the path.
    Unreadable,
}

impl std::fmt::Display for PathConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, difference, by } = self;
        match by {
            Some(run) => write!(f, "`{path}` was later changed by run {run} ({difference})"),
            None => write!(f, "`{path}` has changed since ({difference})"),
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Content => f.write_str("its content is different"),
            Self::Elsewhere => {
                f.write_str("its content is different, but not where the run changed it")
            }
            Self::Around => f.write_str(
                "its content has changed, and the lines of the run were not found at exactly one place in it",
            ),
            Self::Attributes => f.write_str("its mode, owner or extended attributes are different"),
            Self::Gone => f.write_str("it no longer exists"),
            Self::FileThere => f.write_str("a file now exists at this path"),
            Self::DirectoryThere => f.write_str("a directory now exists at this path"),
            Self::NotAFile(found) => write!(f, "it is now {found}"),
            Self::Unreadable => f.write_str("it cannot be read"),
        }
    }
}

/// Private location that contains a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivatePlace {
    /// A location of keys, credentials or policies that the caller specified.
    Named(RelPath),
    /// A home directory of ledgers and keys.
    Home(RelPath),
}

impl std::fmt::Display for PrivatePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(place) => {
                write!(f, "`{place}` contains keys, credentials or the operator's policy")
            }
            Self::Home(home) => write!(
                f,
                "`{home}/{KEYS_DIRECTORY}/{KEYRING_FILE}` marks `{home}` as a home of ledgers and keys"
            ),
        }
    }
}

/// Cause of an error.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum ErrorKind {
    /// The change set is inconsistent.
    #[error("the change set cannot be used: {source}")]
    ChangeSet { source: ChangeSetError },
    /// The path is not a valid workspace path.
    #[error(transparent)]
    Path { source: PathError },
    /// The path is outside the scope of the run (FO-3).
    #[error("outside the scope: {source}")]
    Scope { source: ScopeError },
    /// The change exceeds the budget of the run (FO-4).
    #[error("over the budget: {status}")]
    Budget { status: BudgetStatus },
    /// The hunks of a patch do not apply. `near` is the nearest match of the failing hunk.
    #[error("cannot patch `{path}`: {}", hunk_text(source, near.as_ref(), *quoting))]
    Hunk { path: RelPath, source: HunkError, near: Option<NearestMatch>, quoting: Quoting },
    /// The edit does not match exactly once, or was made for different content.
    #[error("cannot edit `{path}`: {}", edit_text(source, *quoting))]
    Edit { path: RelPath, source: EditError, quoting: Quoting },
    /// The file is too large to be edited in memory, either before or after the edit.
    #[error(
        "cannot edit `{path}`: its size of {bytes} bytes, before or after the edit, exceeds the limit of \
         {max} bytes"
    )]
    TooLargeToSearch { path: RelPath, bytes: u64, max: u64 },
    /// The file does not have the expected content (FO-6).
    #[error(
        "cannot {needed_for} `{path}`: expected SHA-256 {expected}, found {}",
        found_text(found.as_ref())
    )]
    Expected { path: RelPath, expected: Digest, found: Option<Digest>, needed_for: NeededFor },
    /// A required file is missing.
    #[error("cannot {needed_for} `{path}`: it does not exist")]
    Missing { path: RelPath, needed_for: NeededFor },
    /// The path of a new file already exists.
    #[error("cannot create `{path}`: it already exists")]
    Exists { path: RelPath },
    /// The path is not a regular file.
    #[error("cannot change `{path}`: it is {found}; only regular files can be changed")]
    NotAFile { path: RelPath, found: NotAFile },
    /// The target is not valid for a symbolic link (symlink(2)).
    #[error(
        "cannot create the symbolic link `{path}`: its target is {bytes} bytes long, but must be 1 to 4095 bytes without NUL"
    )]
    LinkTarget { path: RelPath, bytes: usize },
    /// A component of the path is not a directory of the workspace.
    #[error("cannot reach `{path}`: `{component}` is {found}")]
    Component { path: RelPath, component: RelPath, found: NotAFile },
    /// A component of the path is a regular file.
    #[error("cannot reach `{path}`: `{component}` is a file, not a directory")]
    UnderAFile { path: RelPath, component: RelPath },
    /// The path is in a private location, which contains ledgers, keys, credentials or an operator's policy.
    #[error("cannot use `{path}`: {place}, so changes there are not allowed")]
    Private { path: RelPath, place: PrivatePlace },
    /// The path is on a different file system from the workspace.
    #[error("cannot reach `{path}`: it is on a different file system from the workspace")]
    OtherFileSystem { path: RelPath },
    /// The file has several hard links, and the limits of the run forbid breaking them.
    #[error("cannot change `{path}`: it has {links} hard links, and this run may not break them")]
    HardLink { path: RelPath, links: u64 },
    /// The owner, mode or extended attributes of a file cannot be preserved.
    #[error("cannot change `{path}`: its {what} cannot be preserved: {source}")]
    Attributes { path: RelPath, what: &'static str, source: io::Error },
    /// Another process changed a file during the run.
    #[error("`{path}` was changed by another process during this run ({detail})")]
    Conflict { path: RelPath, detail: &'static str },
    /// The path is blocked because a recovery could not restore it. The user must resolve it first.
    #[error("`{path}` has been blocked since run {run} and must be resolved first")]
    Blocked { path: RelPath, run: RunId },
    /// The path to be resolved is not blocked.
    #[error("`{path}` is not blocked")]
    NotBlocked { path: RelPath },
    /// Paths have changed since the run that should be undone or redone. `conflicts` lists all of them, ordered by path.
    #[error("cannot {attempt}: {}", conflicts_text(conflicts))]
    ChangedSince { attempt: Attempt, run: RunId, conflicts: Vec<PathConflict> },
    /// The files already are in the state before the run or before its undo.
    #[error("cannot {attempt}: its files are already as they were {}", before_text(*attempt))]
    AsBefore { attempt: Attempt },
    /// The run has already been undone or redone.
    #[error("cannot {attempt}: run {by} has already {} it", done_text(*attempt))]
    AlreadyUndone { attempt: Attempt, by: RunId },
    /// There is no run in effect that could be undone.
    #[error("there is no run to undo: {}", among(*runs, "no change is in effect"))]
    NoRunToUndo { runs: usize },
    /// There is no undo in effect that could be reverted.
    #[error("there is no run to redo: {}", among(*runs, "no undo is in effect"))]
    NoRunToRedo { runs: usize },
    /// The run to be redone is in effect.
    #[error("cannot redo run {run}: it is already in effect")]
    InEffect { run: RunId },
    /// The run or its undo did not succeed, so there is nothing to undo or redo.
    #[error("cannot {attempt}: {}", nothing_text(*attempt))]
    NothingToUndo { attempt: Attempt },
    /// No run in the workspace has this ID.
    #[error("there is no run `{run}` in this workspace")]
    UnknownRun { run: RunId },
    /// The first run of a range is newer than the last one.
    #[error("run {from} is newer than run {to}")]
    RunsReversed { from: RunId, to: RunId },
    /// The saved bytes that an undo needs are missing or do not match their digest.
    #[error("cannot {attempt}: the saved content of `{path}` is damaged or missing")]
    LostImage { attempt: Attempt, path: RelPath },
    /// Another process holds the lock of the workspace.
    #[error("the workspace is in use{}", holder_text(holder.as_deref()))]
    Busy { holder: Option<String> },
    /// The journal is damaged, so its contents cannot be trusted.
    #[error(
        "the journal is damaged at byte {offset} ({what}); it was left unchanged, and no run \
         can start"
    )]
    Damaged { offset: u64, what: &'static str },
    /// The journal is missing although the workspace has runs.
    #[error("the journal `.actum/journal` is missing, although this workspace has runs")]
    JournalMissing,
    /// The journal is not damaged. Only a damaged journal can be set aside.
    #[error("the journal is not damaged, so it cannot be set aside")]
    JournalSound,
    /// The state directory was written by a newer version of actum.
    #[error(
        "the state in `.actum` has format {found}, but this version of actum supports {known}; use a newer version"
    )]
    NewerFormat { found: u32, known: u32 },
    /// The history file of a run is damaged.
    #[error("the record of run {run} in the history is damaged")]
    DamagedHistory { run: RunId },
    /// The state directory `.actum` cannot be used.
    #[error("the state directory `.actum` cannot be used: {what}")]
    State { what: String },
    /// The directory is not a workspace, because it has no `.actum` directory.
    #[error("there is no workspace here: `.actum` does not exist")]
    NotAWorkspace,
    /// There is no snapshot of the files from before another program changed them.
    #[error(
        "cannot adopt changes of another program: no snapshot has the earlier content of the files"
    )]
    NoSnapshot,
    /// The files that another program is about to change exceed the size limit of a snapshot.
    #[error(
        "cannot take a snapshot of the files: their total size of {bytes} bytes exceeds the limit of {max} bytes"
    )]
    SnapshotTooLarge { bytes: u64, max: u64 },
    /// The record of the change exceeds the size limit of a run.
    #[error(
        "the change is too large for one run: its record needs {bytes} bytes, but the limit is {max}"
    )]
    TooLarge { bytes: u64, max: u64 },
    /// An earlier sync or rollback failed, so this handle accepts no more runs.
    #[error(
        "an earlier write could not be made durable, so this handle accepts no more runs; reopen the workspace"
    )]
    Poisoned,
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Io { action: String, source: io::Error },
}

/// Returns the reason why no run can be undone or redone: there are no runs at all, or `none` applies.
fn among(runs: usize, none: &'static str) -> &'static str {
    if runs == 0 { "there are no runs yet" } else { none }
}

fn before_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Undo(_) => "before the run",
        Attempt::Redo(_) => "before the undo",
    }
}

fn nothing_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Undo(_) => "it did not succeed, so there is nothing to undo",
        Attempt::Redo(_) => "its undo did not succeed, so there is nothing to redo",
    }
}

fn done_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Undo(_) => "undone",
        Attempt::Redo(_) => "redone",
    }
}

fn found_text(found: Option<&Digest>) -> String {
    found.map_or_else(|| "no file".to_owned(), ToString::to_string)
}

fn hunk_text(source: &HunkError, near: Option<&NearestMatch>, quoting: Quoting) -> String {
    match quoting {
        Quoting::Allowed => {
            let near = near.map_or_else(String::new, |near| format!("; {near}"));
            format!("{source}{near}")
        }
        Quoting::Withheld => format!("{}; {WITHHELD}", source.without_content()),
    }
}

fn edit_text(source: &EditError, quoting: Quoting) -> String {
    match quoting {
        Quoting::Allowed => source.to_string(),
        Quoting::Withheld => format!("{}; {WITHHELD}", source.without_content()),
    }
}

const WITHHELD: &str = "its content is not shown because the file may contain credentials";

/// Maximum number of conflicts listed in a message.
const CONFLICTS_SHOWN_MAX: usize = 5;

fn conflicts_text(conflicts: &[PathConflict]) -> String {
    let shown = conflicts.iter().take(CONFLICTS_SHOWN_MAX);
    let mut text = shown.map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if let Some(more) = conflicts.len().checked_sub(CONFLICTS_SHOWN_MAX).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn holder_text(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(" by {}", Quoted(holder.as_bytes())))
}

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Extension of [`io::Result`] that adds the attempted action to an error.
pub(crate) trait ResultExt<T> {
    fn doing(self, action: impl FnOnce() -> String) -> Result<T>;
}

impl<T> ResultExt<T> for io::Result<T> {
    fn doing(self, action: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| ErrorKind::Io { action: action(), source }.into())
    }
}

impl ErrorKind {
    /// Creates the error for a missing file that should be changed.
    pub(crate) fn missing(path: &RelPath) -> Self {
        Self::Missing { path: path.clone(), needed_for: NeededFor::Change }
    }
}

impl Error {
    /// Returns true if a path cannot be reached because one of its parents is not a directory.
    pub(crate) fn is_in_the_way(&self) -> bool {
        matches!(self.kind, ErrorKind::UnderAFile { .. } | ErrorKind::Component { .. })
    }

    /// Returns the reason why the operating system permanently refuses to change a path: missing permissions, a mount
    /// point or a failing disk. Returns `None` for errors that a retry might resolve.
    pub(crate) fn refusal(&self) -> Option<String> {
        if let ErrorKind::OtherFileSystem { .. } = &self.kind {
            return Some(self.kind.to_string());
        }
        let (ErrorKind::Io { source, .. } | ErrorKind::Attributes { source, .. }) = &self.kind
        else {
            return None;
        };
        let is_refusal = matches!(
            source.kind(),
            io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::CrossesDevices
                | io::ErrorKind::ResourceBusy
        );
        let is_broken = crate::disk::is_input_output(source);
        (is_refusal || is_broken).then(|| source.to_string())
    }

    /// Returns true if a write failed because the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        let ErrorKind::Io { source, .. } = &self.kind else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Turns an error of an undo into the equivalent error of redoing `run`.
    pub(crate) fn of_redo(mut self, run: RunId) -> Self {
        if let ErrorKind::ChangedSince { attempt, .. }
        | ErrorKind::AsBefore { attempt }
        | ErrorKind::AlreadyUndone { attempt, .. }
        | ErrorKind::NothingToUndo { attempt }
        | ErrorKind::LostImage { attempt, .. } = &mut self.kind
        {
            *attempt = Attempt::Redo(run);
        }
        self
    }

    /// Sets the operation that required the missing or unexpected file.
    pub(crate) fn needed_for(mut self, effect: NeededFor) -> Self {
        if let ErrorKind::Missing { needed_for, .. } | ErrorKind::Expected { needed_for, .. } =
            &mut self.kind
        {
            *needed_for = effect;
        }
        self
    }

    /// Sets the state of the workspace after the error.
    pub(crate) fn leaving(self, state: State) -> Self {
        Self { state, ..self }
    }
}
