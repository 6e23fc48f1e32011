//! Reasons for a policy that cannot be used.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_access::AccessError;
use actum_core::path::Quoted;
use actum_gate::PolicyFileError;
use actum_gate::policy::Source;

/// Most files of access policies.
pub(crate) const ACCESS_FILES_MAX: usize = 1000;

/// Longest name of a file of access policies, in bytes. It appears in grounds.
pub(crate) const ACCESS_NAME_BYTES_MAX: usize = 100;

/// Policy that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use {} `{}`: {problem}",
    whose.policy(),
    Quoted(path.as_os_str().as_bytes())
)]
pub struct PolicyError {
    /// Owner of the policy.
    pub whose: Source,
    /// Path of the policy.
    pub path: PathBuf,
    /// Problem of the policy.
    pub problem: PolicyProblem,
}

/// Problem of a policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyProblem {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
    /// The path is a link, a directory or a special file.
    #[error("it is no regular file")]
    NoFile,
    /// Other users may write to the file.
    #[error("other users may write to it (its mode is {mode:04o})")]
    TooOpen {
        /// Permission bits.
        mode: u32,
    },
    /// Other users may write to the directory of policies.
    #[error(
        "other users may write to this directory (its mode is {mode:04o}) and replace the policy in it"
    )]
    DirectoryTooOpen {
        /// Permission bits.
        mode: u32,
    },
    /// The file belongs to another user.
    #[error(
        "it belongs to the user with the number {uid}, who may write to it; change the owner with `chown`"
    )]
    OfAnother {
        /// Number of the owner.
        uid: u32,
    },
    /// The policy sets a key that only the operator's may set.
    #[error("it sets `{key}`, {what}; only the operator's policy can")]
    OperatorsOwn {
        /// Key.
        key: &'static str,
        /// Description of the key.
        what: &'static str,
    },
    /// The path of the access policies is not a directory.
    #[error("it is no directory; access policies are files in one")]
    NoDirectory,
    /// The directory has too many files of access policies.
    #[error("it has more than {ACCESS_FILES_MAX} files of access policies; write several into one")]
    TooManyFiles,
    /// The name of a file of access policies cannot be written in a receipt.
    #[error(
        "the name of the file `{}` has other characters than ASCII letters, digits, `.`, `_` and `-`, or \
         more than {ACCESS_NAME_BYTES_MAX} bytes",
        Quoted(name.as_bytes())
    )]
    Name {
        /// Name of the file.
        name: OsString,
    },
    /// The access policies are not UTF-8 text.
    #[error("it is no UTF-8 text")]
    NoText,
    /// The access policies cannot be read or are not valid.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The file is not a policy.
    #[error(transparent)]
    File(#[from] PolicyFileError),
}
