//! Errors for a home of the ledger that cannot be used, with suggestions on how to fix it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use actum_core::{ShellWord, path::Quoted};

/// Reason why the home of the ledger, or an entry in it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// The path is relative, so it would refer to a different directory each time the current directory changes.
    #[error("cannot use `{}` as the home of the ledger: the path is not absolute", Shown(path))]
    Relative {
        /// Relative path that was given.
        path: PathBuf,
    },
    /// The entry is a symbolic link, which is not followed because a user who can change it could redirect actum to
    /// different keys.
    #[error(
        "cannot use `{}`: it is a symbolic link, which is not followed here; use the path of its target, or \
         replace the link with {what}",
        Shown(path)
    )]
    Symlink {
        /// Path of the symbolic link.
        path: PathBuf,
        /// Expected kind of the entry.
        what: Thing,
    },
    /// The entry at the path has the wrong kind.
    #[error("cannot use `{}`: it is not {what}", Shown(path))]
    Other {
        /// Path of the entry.
        path: PathBuf,
        /// Expected kind of the entry.
        what: Thing,
    },
    /// The entry belongs to a different user, who could write to it, so it is not trusted.
    #[error(
        "cannot use `{}`: it belongs to user {owner}, but this process runs as user {user}; run actum as \
         the owner, or use a different `ACTUM_HOME`",
        Shown(path)
    )]
    Owner {
        /// Path of the entry.
        path: PathBuf,
        /// User id of the owner of the entry.
        owner: u32,
        /// Effective user id of this process.
        user: u32,
    },
    /// The permission bits of the entry give other users access to it.
    #[error(
        "cannot use `{}`: other users can access it, because its mode is {mode:04o} instead of {:04o}; if \
         none of them did, run `chmod {:o} {}`",
        Shown(path),
        what.mode(),
        what.mode(),
        ShellWord::path(path.as_os_str().as_bytes())
    )]
    TooOpen {
        /// Path of the entry.
        path: PathBuf,
        /// Kind of the entry.
        what: Thing,
        /// Permission bits of the entry.
        mode: u32,
    },
    /// The process cannot write to the directory.
    #[error("cannot write to `{}`: {source}", Shown(path))]
    Unwritable {
        /// Path of the directory.
        path: PathBuf,
        /// Error returned by the operating system.
        source: io::Error,
    },
    /// The file is larger than any file of this kind that actum writes.
    #[error("cannot read `{}`: it has more than {max} bytes", Shown(path))]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size of the file in bytes.
        max: usize,
    },
    /// The change has taken effect, but could not be synced, so it may be lost in a power cut.
    #[error(
        "cannot sync `{}`: {source}; the change has taken effect, but may be lost in a power cut until the next command \
         that changes something there syncs it",
        Shown(path)
    )]
    Unsynced {
        /// Directory that could not be synced.
        path: PathBuf,
        /// Error returned by the operating system.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {doing} `{}`: {source}", Shown(path))]
    System {
        /// Operation that failed, as a verb for the message.
        doing: &'static str,
        /// Path on which the operation failed.
        path: PathBuf,
        /// Error returned by the operating system.
        source: io::Error,
    },
}

/// Kind that an entry in the home is expected to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    /// Directory.
    Directory,
    /// Regular file.
    File,
}

impl HomeError {
    /// Converts the error of a failed sync to one that reports that the change itself has taken effect.
    pub(super) fn unsynced(self) -> Self {
        if let Self::System { path, source, .. } = self {
            return Self::Unsynced { path, source };
        }
        self
    }
}

impl Thing {
    /// Returns the permission bits with which such an entry is created. An existing entry may have fewer.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::Directory => 0o700,
            Self::File => 0o600,
        }
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::File => "a regular file",
        })
    }
}

/// Wrapper that displays a path with special characters escaped.
pub(crate) struct Shown<'p>(pub(crate) &'p Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quoted(self.0.as_os_str().as_bytes()).fmt(f)
    }
}
