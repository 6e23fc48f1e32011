//! Workspace that belongs to another ledger.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::RelPath;
use actum_core::path::Quoted;

/// Position of a workspace that belongs to another ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundWorkspace {
    /// Workspace of the command.
    This,
    /// Workspace that a path of the command line leads into.
    At(PathBuf),
    /// Workspace around that of the command.
    Around(PathBuf),
    /// Workspace inside that of the command, which a changed path leads into.
    Within(RelPath),
}

impl fmt::Display for BoundWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::This => f.write_str("this workspace"),
            Self::At(root) => {
                write!(f, "the workspace `{}`", Quoted(root.as_os_str().as_bytes()))
            }
            Self::Around(root) => {
                write!(
                    f,
                    "the workspace `{}` around this directory",
                    Quoted(root.as_os_str().as_bytes())
                )
            }
            Self::Within(root) => write!(f, "the workspace `{root}` inside this one"),
        }
    }
}
