//! Reasons why the home of the ledger cannot be used, with remedies.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use actum_core::{ShellWord, path::Quoted};

/// Reason why the home of the ledger, or an entry in it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// A relative path names another directory wherever the program is started.
    #[error("cannot use `{}` as the home of the ledger: the path is not absolute", Shown(path))]
    Relative {
        /// The path.
        path: PathBuf,
    },
    /// A user who can change the link could lead to other keys.
    #[error(
        "cannot use `{}`: it is a symbolic link, which is not followed here; give the path that it \
         leads to, or put {what} in its place",
        Shown(path)
    )]
    Symlink {
        /// The path.
        path: PathBuf,
        /// Expected kind of the entry.
        what: Thing,
    },
    /// Another entry is at the path.
    #[error("cannot use `{}`: it is not {what}", Shown(path))]
    Other {
        /// The path.
        path: PathBuf,
        /// Expected kind of the entry.
        what: Thing,
    },
    /// An entry that another user can write is not trusted.
    #[error(
        "cannot use `{}`: it belongs to the user {owner}, and this process runs as {user}; run it as \
         that user, or with a home of its own",
        Shown(path)
    )]
    Owner {
        /// The path.
        path: PathBuf,
        /// Owner of the entry.
        owner: u32,
        /// User of this process.
        user: u32,
    },
    /// Other users may read or write it.
    #[error(
        "cannot use `{}`: other users may reach it: its mode is {mode:04o} and must be {:04o}; if \
         nobody did, run `chmod {:o} {}`",
        Shown(path),
        what.mode(),
        what.mode(),
        ShellWord::path(path.as_os_str().as_bytes())
    )]
    TooOpen {
        /// The path.
        path: PathBuf,
        /// Kind of the entry.
        what: Thing,
        /// The permission bits it has.
        mode: u32,
    },
    /// The directory cannot be written to.
    #[error("cannot write in `{}`: {source}", Shown(path))]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is longer than any that this program writes.
    #[error("cannot read `{}`: it has more than {max} bytes", Shown(path))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Limit in bytes.
        max: usize,
    },
    /// The change was made, and may be lost in a power cut.
    #[error(
        "cannot sync `{}`: {source}; the change is made and counts, and whether it survives a power cut is not known; \
         the next command that changes something there syncs it",
        Shown(path)
    )]
    Unsynced {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The system refused something.
    #[error("cannot {doing} `{}`: {source}", Shown(path))]
    System {
        /// Attempted operation.
        doing: &'static str,
        /// Path of the operation.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Expected kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    /// A directory.
    Directory,
    /// A regular file.
    File,
}

impl HomeError {
    /// Turns the error of a sync into one that states that the change was made.
    pub(super) fn unsynced(self) -> Self {
        if let Self::System { path, source, .. } = self {
            return Self::Unsynced { path, source };
        }
        self
    }
}

impl Thing {
    /// The permission bits it is made with; it may have fewer.
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

/// A path in human-readable form.
pub(crate) struct Shown<'p>(pub(crate) &'p Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quoted(self.0.as_os_str().as_bytes()).fmt(f)
    }
}
