//! Errors from reading policy files.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_access::AccessError;
use actum_core::path::Quoted;
use actum_gate::PolicyFileError;
use actum_gate::policy::Source;

/// Maximum number of access policy files.
pub(crate) const ACCESS_FILES_MAX: usize = 1000;

/// Maximum length in bytes of the name of an access policy file. The gates cite this name in the grounds of a decision.
pub(crate) const ACCESS_NAME_BYTES_MAX: usize = 100;

/// Error for a policy file or directory that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use {} `{}`: {problem}",
    origin.policy(),
    Quoted(path.as_os_str().as_bytes())
)]
pub struct PolicyError {
    /// Source of the policy, which decides who may write to it and what it may set.
    pub origin: Source,
    /// Path of the policy file or directory.
    pub path: PathBuf,
    /// Reason why the policy cannot be used.
    pub problem: PolicyProblem,
}

/// Reason why a policy file or directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyProblem {
    /// The policy file or directory cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
    /// The path is not a regular file but, for example, a symbolic link or a directory.
    #[error("it is not a regular file")]
    NoFile,
    /// The permissions of the policy file allow other users to write to it.
    #[error("other users may write to it (its mode is {mode:04o})")]
    TooOpen {
        /// Permission bits of the file or directory.
        mode: u32,
    },
    /// The permissions of the policy directory allow other users to replace the files in it.
    #[error(
        "other users may write to this directory (its mode is {mode:04o}) and replace the policy in it"
    )]
    DirectoryTooOpen {
        /// Permission bits of the file or directory.
        mode: u32,
    },
    /// The policy file is owned by a user other than root and the current user.
    #[error("another user (uid {uid}) owns it and may write to it; change the owner with `chown`")]
    OfAnother {
        /// User ID of the owner.
        uid: u32,
    },
    /// The policy sets a key that is allowed only in the operator's policy.
    #[error("it sets `{key}`, {what}; only the operator's policy can set it")]
    OperatorsOwn {
        /// Key that the policy may not set.
        key: &'static str,
        /// Description of the key, as a clause that follows its name in the message.
        what: &'static str,
    },
    /// The path for access policies is not a directory.
    #[error("it is not a directory; access policies must be files in a directory")]
    NoDirectory,
    /// The directory contains more than 1000 access policy files.
    #[error("it has more than {ACCESS_FILES_MAX} access policy files; combine some of them")]
    TooManyFiles,
    /// The name of an access policy file is too long for a receipt, or has characters that are not allowed there.
    #[error(
        "the file name `{}` is invalid: it may have at most {ACCESS_NAME_BYTES_MAX} bytes, and only ASCII letters, \
         digits, `.`, `_` and `-`",
        Quoted(name.as_bytes())
    )]
    Name {
        /// Name of the access policy file.
        name: OsString,
    },
    /// The access policy file is not UTF-8 text.
    #[error("it is not UTF-8 text")]
    NoText,
    /// The access policies cannot be parsed or are invalid.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The policy file cannot be parsed or has invalid content.
    #[error(transparent)]
    File(#[from] PolicyFileError),
}
