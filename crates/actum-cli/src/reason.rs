//! The permanent names of the reasons for a refusal, and what the reader can do about each.

use std::io;

use actum_core::HunkError;
use actum_core::change_set::ChangeSetError;
use actum_core::format::Problem;
use actum_workspace::{Error, ErrorKind, NotAFile};

/// The name of the reason. Names are never changed or used again.
pub(crate) fn of(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ChangeSet { source } => of_change_set(source),
        ErrorKind::Path { .. } => "PATH_REFUSED",
        ErrorKind::Scope { .. } => "OUTSIDE_SCOPE",
        ErrorKind::Budget { .. } => "OVER_BUDGET",
        ErrorKind::Hunk { .. } => "HUNK_DOES_NOT_APPLY",
        ErrorKind::Edit { .. } => "EDIT_HAS_NO_PLACE",
        ErrorKind::TooLargeToSearch { .. } => "FILE_TOO_LARGE_TO_SEARCH",
        ErrorKind::Expected { .. } => "HASH_MISMATCH",
        ErrorKind::Missing { .. } => "FILE_MISSING",
        ErrorKind::Exists { .. } => "PATH_EXISTS",
        ErrorKind::NotAFile { .. } => "NOT_A_REGULAR_FILE",
        ErrorKind::Component { .. } => "WAY_IS_NO_DIRECTORY",
        ErrorKind::UnderAFile { .. } => "WAY_IS_A_FILE",
        ErrorKind::OtherFileSystem { .. } => "OTHER_FILE_SYSTEM",
        ErrorKind::HardLink { .. } => "HARD_LINK",
        ErrorKind::Attributes { .. } => "ATTRIBUTES_NOT_KEPT",
        ErrorKind::Conflict { .. } => "CHANGED_MEANWHILE",
        ErrorKind::Blocked { .. } => "PATH_BLOCKED",
        ErrorKind::NotBlocked { .. } => "PATH_NOT_BLOCKED",
        ErrorKind::ChangedSince { .. } => "CHANGED_SINCE",
        ErrorKind::AlreadyUndone { .. } => "ALREADY_UNDONE",
        ErrorKind::AsBefore { .. } => "ALREADY_AS_BEFORE",
        ErrorKind::NoRunToUndo => "NO_RUN_TO_UNDO",
        ErrorKind::NothingToUndo { .. } => "NOTHING_TO_UNDO",
        ErrorKind::UnknownRun { .. } => "UNKNOWN_RUN",
        ErrorKind::LostImage { .. } => "SAVED_CONTENT_LOST",
        ErrorKind::Busy { .. } => "WORKSPACE_IN_USE",
        ErrorKind::Damaged { .. } => "JOURNAL_DAMAGED",
        ErrorKind::JournalMissing => "JOURNAL_MISSING",
        ErrorKind::JournalSound => "JOURNAL_SOUND",
        ErrorKind::NewerFormat { .. } => "NEWER_FORMAT",
        ErrorKind::DamagedHistory { .. } => "HISTORY_DAMAGED",
        ErrorKind::State { .. } => "STATE_DIRECTORY_UNUSABLE",
        ErrorKind::NotAWorkspace => "NOT_A_WORKSPACE",
        ErrorKind::TooLarge { .. } => "RUN_TOO_LARGE",
        ErrorKind::Poisoned => "HANDLE_POISONED",
        ErrorKind::Io { .. } => "SYSTEM_ERROR",
    }
}

/// The same for an input that is not sound.
pub(crate) fn of_input(problem: &Problem) -> &'static str {
    match problem {
        Problem::ChangeSet(error) => of_change_set(error),
        Problem::Path(_) => "PATH_REFUSED",
        Problem::TooLarge { .. } => "INPUT_TOO_LARGE",
        Problem::ByteOrderMark
        | Problem::Utf16
        | Problem::Blank
        | Problem::Unrecognised { .. }
        | Problem::Json { .. }
        | Problem::JsonArray
        | Problem::NotUtf8
        | Problem::Codex(_)
        | Problem::Diff(_) => "INPUT_MALFORMED",
    }
}

fn of_change_set(error: &ChangeSetError) -> &'static str {
    match error {
        ChangeSetError::Path { .. } => "PATH_REFUSED",
        ChangeSetError::Digest { .. }
        | ChangeSetError::Duplicate { .. }
        | ChangeSetError::NoHunks { .. } => "CHANGE_SET_UNSOUND",
    }
}

/// What the reader can do. Nothing here turns a check off.
pub(crate) fn hints(error: &Error) -> Vec<String> {
    let hint = match &error.kind {
        ErrorKind::Hunk {
            source:
                HunkError::Malformed { .. }
                | HunkError::WrongCount { .. }
                | HunkError::Empty { .. }
                | HunkError::OutOfOrder { .. },
            ..
        } => "the change itself is malformed; make it again".to_owned(),
        ErrorKind::Hunk { .. } | ErrorKind::Edit { .. } => {
            "the change was made against other content; read the file and make it again".to_owned()
        }
        ErrorKind::Expected { found: Some(_), .. } => {
            "the file changed since it was read; read it again and make the change from that"
                .to_owned()
        }
        ErrorKind::Expected { found: None, .. } | ErrorKind::Missing { .. } => {
            "paths are relative to the root of the workspace, which `actum status` names".to_owned()
        }
        ErrorKind::Exists { .. } => {
            "patch what is there, or delete it in the same change".to_owned()
        }
        ErrorKind::NotAFile { found: NotAFile::Symlink, .. }
        | ErrorKind::Component { found: NotAFile::Symlink, .. } => {
            "name the file by its real path; links are not followed".to_owned()
        }
        ErrorKind::Scope { .. } => {
            "leave the path out of the change, or ask whoever set the scope".to_owned()
        }
        ErrorKind::Budget { .. } => "split the change, or ask whoever set the budget".to_owned(),
        ErrorKind::TooLargeToSearch { .. } => {
            "give the change as a diff with line numbers".to_owned()
        }
        ErrorKind::TooLarge { .. } => {
            "split the change into several runs; each can be undone by itself".to_owned()
        }
        ErrorKind::OtherFileSystem { .. } => {
            "make a workspace on that file system: `actum -C DIR init`".to_owned()
        }
        ErrorKind::HardLink { .. } => {
            "copy the file over itself to part it from its other names".to_owned()
        }
        ErrorKind::Attributes { .. } => {
            "run as the owner of the file, or as a user who may set what it has".to_owned()
        }
        ErrorKind::Conflict { .. } => "let the other program finish, then try again".to_owned(),
        ErrorKind::Blocked { run, path } => format!(
            "what actum knows of it is in `.actum/lost/{run}/`; when the file is as you want it, \
             `actum resolve {path}`"
        ),
        ErrorKind::NotBlocked { .. } => "`actum status` lists the blocked paths".to_owned(),
        ErrorKind::ChangedSince { run, .. } => format!(
            "`actum log` lists later runs, which can be undone first; `actum show {run}` has the \
             content the path should have, as SHA-256"
        ),
        ErrorKind::NoRunToUndo => {
            "to take an undo back, name it: `actum log` lists the runs, then `actum undo RUN`"
                .to_owned()
        }
        ErrorKind::AsBefore { .. } => {
            "to undo an earlier run, name it: `actum log` lists the runs, then `actum undo RUN`"
                .to_owned()
        }
        ErrorKind::AlreadyUndone { by, .. } => {
            format!("`actum undo {by}` brings the change back")
        }
        ErrorKind::UnknownRun { .. } | ErrorKind::NothingToUndo { .. } => {
            "`actum log` lists the runs".to_owned()
        }
        ErrorKind::LostImage { .. } | ErrorKind::DamagedHistory { .. } => {
            "other runs are not affected; `actum log` lists them".to_owned()
        }
        ErrorKind::Busy { .. } => {
            "try again when it has finished; `apply` and `undo` can `--wait` for it".to_owned()
        }
        ErrorKind::NotAWorkspace => {
            "make one with `actum init`, or name a directory in one: `actum -C DIR …`".to_owned()
        }
        ErrorKind::Damaged { .. } => {
            "look at the files; if they are right, `actum recover --set-aside-journal` keeps the \
             journal under `.actum/lost` and starts a new one"
                .to_owned()
        }
        ErrorKind::JournalMissing => {
            "look at the files; what a run had still to finish cannot be told. Then `actum recover \
             --set-aside-journal` starts a new journal"
                .to_owned()
        }
        ErrorKind::JournalSound => "`actum status` says what is to be done".to_owned(),
        ErrorKind::Poisoned => "run the command again".to_owned(),
        ErrorKind::Io { source, .. } if is_full(source) => {
            "free some space and try again; `actum gc` gives back old history".to_owned()
        }
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            "make the file system writable (`mount -o remount,rw`), then try again".to_owned()
        }
        ErrorKind::Io { source, .. } if too_many_open(source) => {
            "let the process open more files (`ulimit -n`), or split the change".to_owned()
        }
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "run as a user who may write there, `.actum` included".to_owned()
        }
        ErrorKind::ChangeSet { .. }
        | ErrorKind::Path { .. }
        | ErrorKind::NotAFile { .. }
        | ErrorKind::Component { .. }
        | ErrorKind::UnderAFile { .. }
        | ErrorKind::NewerFormat { .. }
        | ErrorKind::State { .. }
        | ErrorKind::Io { .. } => return Vec::new(),
    };
    vec![hint]
}

/// `EMFILE` and `ENFILE` (errno(3)), for which the standard library has no stable name.
fn too_many_open(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
