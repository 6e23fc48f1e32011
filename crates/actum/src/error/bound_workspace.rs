//! Error detail that names the workspace which belongs to a different ledger.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::RelPath;
use actum_core::path::Quoted;

/// Workspace that belongs to a different ledger, located relative to the command's workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundWorkspace {
    /// The workspace that the command runs in.
    This,
    /// Workspace reached by a path on the command line.
    At(PathBuf),
    /// Workspace that encloses the command's workspace.
    Around(PathBuf),
    /// Workspace nested inside the command's workspace and reached by a changed path.
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
