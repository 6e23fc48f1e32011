//! Paths that cannot be committed in their current form, apart from uncommitted changes.

use actum_core::RelPath;

/// Reason why a path cannot be committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// git is configured to ignore it, and it is not in HEAD.
    #[error("git is configured to ignore it")]
    Ignored,
    /// git, or a file system that it serves, would take a part of the path for its own directory.
    #[error("git does not accept that name, since a file system could take it for `.git`")]
    Name,
    /// The path lies in a submodule, or is one.
    #[error("`{at}` is a submodule, whose files are those of another repository")]
    Submodule {
        /// The submodule.
        at: RelPath,
    },
    /// The path lies in another repository that is no submodule.
    #[error("`{at}` is a repository of its own")]
    Nested {
        /// The directory.
        at: RelPath,
    },
    /// git would store other bytes than those of the file.
    #[error("git would not store its bytes as they are, since {0}")]
    Converted(Conversion),
    /// The rules of git for files are in an object that is no file.
    #[error("`{at}` is no regular file, so that it cannot be said what git does to files below it")]
    Rules {
        /// The `.gitattributes` or `.gitignore`.
        at: RelPath,
    },
}

/// Conversion by git of the bytes of a file on their way into a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Conversion {
    /// The attribute `filter`.
    #[error("`.gitattributes` gives it a `filter`")]
    Filter,
    /// The attribute `working-tree-encoding`.
    #[error("`.gitattributes` gives it a `working-tree-encoding`")]
    Encoding,
    /// The attribute `ident`, and an `$Id` that is filled in.
    #[error("`.gitattributes` gives it `ident`, and it holds an `$Id:`")]
    Ident,
    /// One of the attributes `text`, `eol` and `crlf`, and lines that end with CRLF.
    #[error(
        "`.gitattributes` makes it a text whose lines end with LF, and lines in it end with CRLF"
    )]
    LineEnds,
    /// The setting `core.autocrlf`, and lines that end with CRLF.
    #[error("`core.autocrlf` is set, and lines in it end with CRLF")]
    AutoCrlf,
}
