//! Errors of this crate, and the state of the workspace after each.

use std::io;

use actum_core::path::Quoted;
use actum_core::{BudgetStatus, Digest, PathError, RelPath, RunId, scope::ScopeError};
use actum_edit::nearest_match::NearestMatch;
use actum_edit::{EditError, HunkError, change_set::ChangeSetError};
use actum_record::keyring::{KEYRING_FILE, KEYS_DIRECTORY};

/// Error with the state in which it left the workspace.
#[derive(Debug)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// State of the workspace after it.
    pub state: State,
    /// Other refusals of the same change, each at paths of its own.
    pub also: Vec<ErrorKind>,
}

/// State of the workspace after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// No target was touched.
    Unchanged,
    /// No target was touched, but runs were removed from the history.
    Forgotten {
        /// Number of runs removed.
        runs: u32,
    },
    /// Some targets had been touched; all are restored.
    Restored,
    /// The change is visible, but may not survive a power cut.
    Published,
    /// The user must act: something is neither as before nor as after.
    NeedsAttention,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unchanged => "nothing was changed",
            Self::Forgotten { runs: 1 } => {
                "1 run was removed from the history before that, and no file was changed"
            }
            Self::Forgotten { runs } => {
                return write!(
                    f,
                    "{runs} runs were removed from the history before that, and no file was changed"
                );
            }
            Self::Restored => "the workspace was restored and is as before",
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
    /// Returns the message without any content of a file, for records that outlive the workspace.
    pub fn without_content(&self) -> String {
        format!("{}; {}", self.kind.without_content(), self.state)
    }
}

impl ErrorKind {
    /// Returns the message without any content of a file.
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

/// Permission of a message to quote the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// The message may quote it.
    Allowed,
    /// The message may not quote it: the file may hold credentials.
    Withheld,
}

/// Object other than a file that a path refers to.
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

/// Operation on a past run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The run is undone.
    Undo(RunId),
    /// The run was undone, and is redone.
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

/// Effect for which a file or directory must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededFor {
    /// Its content or its permission bits change.
    Change,
    /// The object is removed.
    Delete,
    /// The object is moved.
    Rename,
    /// The object is copied.
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

/// Path whose state differs from what a past run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathConflict {
    /// The path.
    pub path: RelPath,
    /// Kind of the difference.
    pub difference: Difference,
    /// The newest later run that changed it, if a run did.
    pub by: Option<RunId>,
}

/// Kind of difference between a path and what a run left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// A file has other content.
    Content,
    /// A file has other content, but what the run put there is still in it.
    Elsewhere,
    /// A file has other content, and does not hold the lines of the run with their context exactly once.
    Around,
    /// A file has another mode or owner, or other attributes.
    Attributes,
    /// A file is missing.
    Gone,
    /// A file exists where the run left none.
    FileThere,
    /// A directory exists where the run left none.
    DirectoryThere,
    /// The object at the path is not a file.
    NotAFile(NotAFile),
    /// The operating system denies access to it.
    Unreadable,
}

impl std::fmt::Display for PathConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` has changed since ({})", self.path, self.difference)?;
        self.by.map_or(Ok(()), |run| write!(f, " by run {run}"))
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Content => f.write_str("its content is different"),
            Self::Elsewhere => {
                f.write_str("its content is different, elsewhere than the run changed it")
            }
            Self::Around => f.write_str(
                "its content is different, and does not hold the lines of the run with their context exactly once",
            ),
            Self::Attributes => f.write_str("its mode, owner or attributes are different"),
            Self::Gone => f.write_str("it does not exist any more"),
            Self::FileThere => f.write_str("a file is there now"),
            Self::DirectoryThere => f.write_str("a directory is there now"),
            Self::NotAFile(found) => write!(f, "it is {found} now"),
            Self::Unreadable => f.write_str("it cannot be read"),
        }
    }
}

/// Private place that contains a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivatePlace {
    /// Place of keys, credentials or policies that the caller names.
    Named(RelPath),
    /// Home of ledgers and keys.
    Home(RelPath),
}

impl std::fmt::Display for PrivatePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(place) => {
                write!(f, "`{place}` is a place of keys, credentials or the operator's policy")
            }
            Self::Home(home) => write!(
                f,
                "`{home}/{KEYS_DIRECTORY}/{KEYRING_FILE}` marks `{home}` as a home of ledgers and keys"
            ),
        }
    }
}

/// Kind of an error.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum ErrorKind {
    /// The change set contradicts itself.
    #[error("the change set cannot be used: {source}")]
    ChangeSet { source: ChangeSetError },
    /// The path is not a path of the workspace.
    #[error(transparent)]
    Path { source: PathError },
    /// The path is outside what the run may touch (FO-3).
    #[error("outside the scope: {source}")]
    Scope { source: ScopeError },
    /// The run would change more than it may (FO-4).
    #[error("over the budget: {status}")]
    Budget { status: BudgetStatus },
    /// The hunks do not apply. `near` is the nearest match of the one that does not.
    #[error("cannot patch `{path}`: {}", hunk_text(source, near.as_ref(), *quoting))]
    Hunk { path: RelPath, source: HunkError, near: Option<NearestMatch>, quoting: Quoting },
    /// The edit matches nowhere or more than once, or was made for another content.
    #[error("cannot edit `{path}`: {}", edit_text(source, *quoting))]
    Edit { path: RelPath, source: EditError, quoting: Quoting },
    /// The file is too large to be edited in memory, or would be after the edit.
    #[error(
        "cannot edit `{path}`: it has {bytes} bytes, or would have, and files are edited in memory \
         up to {max}"
    )]
    TooLargeToSearch { path: RelPath, bytes: u64, max: u64 },
    /// The content is not the expected one (FO-6).
    #[error(
        "cannot {needed_for} `{path}`: expected SHA-256 {expected}, found {}",
        found_text(found.as_ref())
    )]
    Expected { path: RelPath, expected: Digest, found: Option<Digest>, needed_for: NeededFor },
    /// A required file is missing.
    #[error("cannot {needed_for} `{path}`: it does not exist")]
    Missing { path: RelPath, needed_for: NeededFor },
    /// The path of a new file is occupied.
    #[error("cannot create `{path}`: something is there already")]
    Exists { path: RelPath },
    /// The path is not a regular file.
    #[error("cannot change `{path}`: it is {found}; only regular files are changed")]
    NotAFile { path: RelPath, found: NotAFile },
    /// No symbolic link can have this target (symlink(2)).
    #[error(
        "cannot make the link `{path}`: its target has {bytes} bytes; 1 to 4095 are possible, and no NUL"
    )]
    LinkTarget { path: RelPath, bytes: usize },
    /// A component of the path is not a directory of the workspace.
    #[error("cannot reach `{path}`: `{component}` on the way is {found}")]
    Component { path: RelPath, component: RelPath, found: NotAFile },
    /// A component of the path is a regular file.
    #[error("cannot reach `{path}`: `{component}` on the way is a file")]
    UnderAFile { path: RelPath, component: RelPath },
    /// The path leads into ledgers and keys, credentials or an operator's policy.
    #[error("cannot use `{path}`: {place}, so no change leads there")]
    Private { path: RelPath, place: PrivatePlace },
    /// The path lies on another file system.
    #[error("cannot reach `{path}`: another file system is mounted on the way")]
    OtherFileSystem { path: RelPath },
    /// The limits forbid breaking a hard link.
    #[error(
        "cannot change `{path}`: the file has {links} names (hard links), and this run may not break them"
    )]
    HardLink { path: RelPath, links: u64 },
    /// Owner, mode or attributes cannot be carried over.
    #[error("cannot change `{path}`: its {what} cannot be kept: {source}")]
    Attributes { path: RelPath, what: &'static str, source: io::Error },
    /// Another process changed a file while the run was under way.
    #[error("`{path}` was changed by someone else while the change was under way ({detail})")]
    Conflict { path: RelPath, detail: &'static str },
    /// The path is blocked: a recovery could not restore it, and the user must resolve it.
    #[error("`{path}` has been waiting for a person since run {run}")]
    Blocked { path: RelPath, run: RunId },
    /// The path is not blocked.
    #[error("`{path}` is not blocked")]
    NotBlocked { path: RelPath },
    /// Paths that changed after `run`, which was to be undone or redone: all of them, ordered by path.
    #[error("cannot {attempt}: {}", conflicts_text(conflicts))]
    ChangedSince { attempt: Attempt, run: RunId, conflicts: Vec<PathConflict> },
    /// The files already are as before the run, or as before its undo.
    #[error("cannot {attempt}: its files already are as they were {}", before_text(*attempt))]
    AsBefore { attempt: Attempt },
    /// The run is undone already, or redone already.
    #[error("cannot {attempt}: run {by} has {} it already", done_text(*attempt))]
    AlreadyUndone { attempt: Attempt, by: RunId },
    /// No change is in effect.
    #[error("there is no run to undo: {}", among(*runs, "no change is in effect"))]
    NoRunToUndo { runs: usize },
    /// No undo is in effect.
    #[error("there is no run to redo: {}", among(*runs, "no undo is in effect"))]
    NoRunToRedo { runs: usize },
    /// The run to redo was not undone.
    #[error("run {run} is in effect, so there is nothing to redo")]
    InEffect { run: RunId },
    /// The run changed nothing that could be undone.
    #[error("cannot {attempt}: {}", nothing_text(*attempt))]
    NothingToUndo { attempt: Attempt },
    /// No run has this id.
    #[error("there is no run `{run}` in this workspace")]
    UnknownRun { run: RunId },
    /// The runs of a range are in the wrong order.
    #[error("run {from} is newer than run {to}")]
    RunsReversed { from: RunId, to: RunId },
    /// The bytes that undo needs are missing or not as recorded.
    #[error("cannot {attempt}: the saved content of `{path}` is damaged or gone")]
    LostImage { attempt: Attempt, path: RelPath },
    /// Another process holds the workspace.
    #[error("the workspace is in use{}", holder_text(holder.as_deref()))]
    Busy { holder: Option<String> },
    /// The journal cannot be trusted.
    #[error(
        "the journal is damaged at byte {offset} ({what}); it is left as it is, and no run is \
         accepted"
    )]
    Damaged { offset: u64, what: &'static str },
    /// Runs were made, but their journal is missing.
    #[error("the journal `.actum/journal` is missing, but runs were made")]
    JournalMissing,
    /// Only a damaged journal is set aside.
    #[error("the journal is sound and is not set aside")]
    JournalSound,
    /// The journal was written by a newer program.
    #[error(
        "the state in `.actum` has format {found}, and this program knows {known}; use a newer actum"
    )]
    NewerFormat { found: u32, known: u32 },
    /// A history file cannot be trusted.
    #[error("the record of run {run} in the history is damaged")]
    DamagedHistory { run: RunId },
    /// `.actum` is not what it should be.
    #[error("the state directory `.actum` cannot be used: {what}")]
    State { what: String },
    /// The directory is not a workspace.
    #[error("there is no workspace here: `.actum` does not exist")]
    NotAWorkspace,
    /// No record states what the files held before another program changed them.
    #[error(
        "cannot adopt what another program changed: no snapshot says what the files held before"
    )]
    NoSnapshot,
    /// The files that another program will change are larger than a snapshot can hold.
    #[error(
        "cannot take a snapshot of what the files hold: they have {bytes} bytes, and at most {max} are kept"
    )]
    SnapshotTooLarge { bytes: u64, max: u64 },
    /// The change does not fit into one run.
    #[error(
        "the change is too large for one run: its record needs {bytes} bytes, at most {max} are possible"
    )]
    TooLarge { bytes: u64, max: u64 },
    /// A sync or a roll back failed on this handle.
    #[error(
        "an earlier write could not be made durable, so this handle takes no more runs; open the workspace again"
    )]
    Poisoned,
    /// The operating system refused the call.
    #[error("cannot {action}: {source}")]
    Io { action: String, source: io::Error },
}

/// Returns the reason why none of `runs` runs can be undone or redone.
fn among(runs: usize, none: &'static str) -> &'static str {
    if runs == 0 { "there are no runs yet" } else { none }
}

fn before_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Undo(_) => "before it",
        Attempt::Redo(_) => "before it was undone",
    }
}

fn nothing_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Undo(_) => "it did not succeed, so there is nothing of it to undo",
        Attempt::Redo(_) => "its undo did not succeed, so there is nothing to bring back",
    }
}

fn done_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Undo(_) => "undone",
        Attempt::Redo(_) => "brought back",
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

const WITHHELD: &str = "its content is not shown, since the file may hold credentials";

/// Number of conflicts that a message names.
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

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds the attempted action to an error of the operating system.
pub(crate) trait ResultExt<T> {
    fn doing(self, action: impl FnOnce() -> String) -> Result<T>;
}

impl<T> ResultExt<T> for io::Result<T> {
    fn doing(self, action: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| ErrorKind::Io { action: action(), source }.into())
    }
}

impl ErrorKind {
    /// Returns the error for a file that must exist to be changed.
    pub(crate) fn missing(path: &RelPath) -> Self {
        Self::Missing { path: path.clone(), needed_for: NeededFor::Change }
    }
}

impl Error {
    /// Returns true if a component of a path is not a directory.
    pub(crate) fn is_in_the_way(&self) -> bool {
        matches!(self.kind, ErrorKind::UnderAFile { .. } | ErrorKind::Component { .. })
    }

    /// Returns the reason why the operating system does not let a path be changed. Only if a retry would not help:
    /// missing rights, a mount at the path or around it, a broken disk.
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

    /// Returns true if a write found no space.
    pub fn is_disk_full(&self) -> bool {
        let ErrorKind::Io { source, .. } = &self.kind else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Turns the error of an undo into that of a redo of `run`.
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

    /// Replaces the effect for which the file is needed.
    pub(crate) fn needed_for(mut self, effect: NeededFor) -> Self {
        if let ErrorKind::Missing { needed_for, .. } | ErrorKind::Expected { needed_for, .. } =
            &mut self.kind
        {
            *needed_for = effect;
        }
        self
    }

    /// Replaces the state of the workspace in the error.
    pub(crate) fn leaving(self, state: State) -> Self {
        Self { state, ..self }
    }
}
