//! Failures of `actum lease` and of reading lease files.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::reason::{self, Reason};
use actum_core::path::Quoted;
use actum_core::{ShellWord, Timestamp};
use actum_lease::{GrantError, LeaseError};
use actum_record::lease::{LeaseId, LeaseTermError};

use crate::failure::FailureKind;

/// Failure to read, grant, narrow or find a lease. Messages never quote the token, because it is a credential.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseFailure {
    /// The file does not contain a valid lease.
    #[error("cannot use {input} as a lease: {source}")]
    Unreadable { input: String, source: LeaseError },
    #[error("cannot grant the lease: {0}")]
    Terms(#[from] LeaseTermError),
    #[error("cannot narrow the lease: {0}")]
    Attenuate(GrantError),
    #[error(
        "`{}` cannot be a base directory: it leads through a symbolic link to `{}`",
        quoted(path),
        quoted(real)
    )]
    BaseThroughLink { path: PathBuf, real: PathBuf },
    #[error("`{}` cannot be a base directory: {why}", quoted(path))]
    BaseUnusable { path: PathBuf, why: &'static str },
    #[error("the lease would expire at {expires}, which is not after {after}")]
    NeverValid { expires: Timestamp, after: Timestamp },
    #[error(
        "the lease would expire at {expires}, but the latest possible expiry is {latest}, {DAYS_MAX} days after its start"
    )]
    TooLong { expires: Timestamp, latest: Timestamp },
    #[error("there is no lease whose id begins with `{}`", Quoted(prefix.as_bytes()))]
    NoSuchLease { prefix: String },
    #[error("the lease id `{}` is ambiguous: it matches {}", Quoted(prefix.as_bytes()), listed(leases))]
    Ambiguous { prefix: String, leases: Vec<LeaseId> },
    #[error("the lease has {blocks} blocks, so there is no block {block}")]
    NoSuchBlock { block: usize, blocks: usize },
}

/// Maximum number of days between the start of a lease and its expiry.
pub(crate) const DAYS_MAX: i64 = 366;

fn quoted(path: &Path) -> Quoted<'_> {
    Quoted(path.as_os_str().as_bytes())
}

fn listed(leases: &[LeaseId]) -> String {
    leases.iter().map(|lease| format!("`{lease}`")).collect::<Vec<_>>().join(", ")
}

impl FailureKind for LeaseFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::Unreadable { source, .. } => reason::of_lease(source),
            Self::Attenuate(source) => reason::of_grant(source),
            Self::Terms(_)
            | Self::BaseThroughLink { .. }
            | Self::BaseUnusable { .. }
            | Self::NeverValid { .. }
            | Self::TooLong { .. } => Reason::LeaseTermsInvalid,
            Self::NoSuchLease { .. } | Self::Ambiguous { .. } | Self::NoSuchBlock { .. } => {
                Reason::LeaseUnknown
            }
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Unreadable { .. } => {
                "pass a file that `actum lease grant` or `actum lease attenuate` wrote"
            }
            Self::Terms(_) => "`actum lease grant --help` lists the terms of a lease",
            Self::Attenuate(GrantError::Sealed) => {
                "ask its owner for a lease that is not sealed; this one can be used, but not narrowed"
            }
            Self::Attenuate(_) => "`actum lease attenuate --help` lists the terms of a lease",
            Self::BaseThroughLink { real, .. } => {
                return vec![format!(
                    "pass the directory itself: `--base {}`",
                    ShellWord::path(real.as_os_str().as_bytes())
                )];
            }
            Self::BaseUnusable { .. } => {
                "create the directory first, because a lease allows changes below its base directories, but not to the \
                 directories themselves"
            }
            Self::NeverValid { .. } => "pass a later `--expires` or an earlier `--not-before`",
            Self::TooLong { .. } => "choose an earlier expiry, and grant a new lease later",
            Self::NoSuchLease { .. } => "`actum lease list --all` lists the leases of this ledger",
            Self::Ambiguous { .. } => "use a longer prefix of the id",
            Self::NoSuchBlock { .. } => "`actum lease show FILE` lists the blocks",
        };
        vec![hint.to_owned()]
    }
}
