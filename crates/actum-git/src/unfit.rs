//! Reasons other than uncommitted changes why a path cannot be committed.

use actum_core::RelPath;

/// Reason why a path cannot be committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// git is configured to ignore the path, and the path is not in HEAD.
    #[error("git is configured to ignore it")]
    Ignored,
    /// git, or a file system that git supports, would treat a component of the path as git's own directory.
    #[error("git does not accept the name, because a file system could treat it as `.git`")]
    Name,
    /// The path is a submodule or is inside one.
    #[error("`{at}` is a submodule, so its files belong to a different repository")]
    Submodule {
        /// Path of the submodule.
        at: RelPath,
    },
    /// The path is inside a different repository that is not a submodule.
    #[error("`{at}` is a separate repository")]
    Nested {
        /// Path of the other repository.
        at: RelPath,
    },
    /// git would convert the file's content before storing it.
    #[error("git would not store its bytes unchanged, because {0}")]
    Converted(Conversion),
    /// A `.gitattributes` or `.gitignore` that applies to the path is not a regular file.
    #[error("`{at}` is not a regular file, so git's rules for the files below it are unknown")]
    Rules {
        /// Path of the `.gitattributes` or `.gitignore`.
        at: RelPath,
    },
}

/// Conversion that git would apply to a file's content before storing it as a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Conversion {
    /// The attribute `filter` is set.
    #[error("`.gitattributes` sets a `filter` for it")]
    Filter,
    /// The attribute `working-tree-encoding` is set.
    #[error("`.gitattributes` sets a `working-tree-encoding` for it")]
    Encoding,
    /// The attribute `ident` is set, and the content contains an `$Id:`, which git would replace.
    #[error("`.gitattributes` sets `ident` for it, and it contains `$Id:`")]
    Ident,
    /// The attribute `text`, `eol` or `crlf` is set, and the content has lines that end with CRLF.
    #[error(
        "`.gitattributes` normalizes its line endings to LF, but it contains lines that end with CRLF"
    )]
    LineEnds,
    /// The setting `core.autocrlf` is enabled, and the content has lines that end with CRLF.
    #[error("`core.autocrlf` is set, and it contains lines that end with CRLF")]
    AutoCrlf,
}
