//! A policy that cannot be used.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_access::AccessError;
use actum_core::path::Quoted;
use actum_gate::PolicyFileError;
use actum_gate::policy::Source;

/// The most files.
pub(crate) const ACCESS_FILES_MAX: usize = 1000;

/// The longest name of a file, in bytes; it stands in grounds.
pub(crate) const ACCESS_NAME_BYTES_MAX: usize = 100;

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use {} `{}`: {problem}",
    whose.policy(),
    Quoted(path.as_os_str().as_bytes())
)]
pub struct PolicyError {
    /// Whose it is.
    pub whose: Source,
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: PolicyProblem,
}

/// What is wrong with a policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyProblem {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
    /// A link, a directory or something special is in its place.
    #[error("it is no regular file")]
    NoFile,
    /// Others may write to it.
    #[error("other users may write to it (its mode is {mode:04o})")]
    TooOpen {
        /// Its permission bits.
        mode: u32,
    },
    /// Others may write to the directory of policies.
    #[error(
        "other users may write to this directory (its mode is {mode:04o}) and replace the policy in it"
    )]
    DirectoryTooOpen {
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error(
        "it belongs to the user with the number {uid}, who may write to it; `chown` gives it to you"
    )]
    OfAnother {
        /// The number.
        uid: u32,
    },
    /// It says what only the operator's may say.
    #[error("it sets `{key}`, {what}; only the operator's policy can")]
    OperatorsOwn {
        /// What it sets.
        key: &'static str,
        /// What that is.
        what: &'static str,
    },
    /// Something else is in the place of the directory of access policies.
    #[error("it is no directory; access policies are files in one")]
    NoDirectory,
    /// Too many files of access policies.
    #[error("it has more than {ACCESS_FILES_MAX} files of access policies; write several into one")]
    TooManyFiles,
    /// A file of access policies whose name cannot stand in a receipt.
    #[error(
        "the name of the file `{}` has something else in it than letters of ASCII, digits, `.`, `_` and `-`, or \
         more than {ACCESS_NAME_BYTES_MAX} bytes",
        Quoted(name.as_bytes())
    )]
    Name {
        /// The name.
        name: OsString,
    },
    /// Access policies that are no text.
    #[error("it is no UTF-8 text")]
    NoText,
    /// Access policies that cannot be read, or are not valid.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It is no policy.
    #[error(transparent)]
    File(#[from] PolicyFileError),
}
