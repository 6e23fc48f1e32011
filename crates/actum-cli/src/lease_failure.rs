//! Failures of `actum lease`, and of reading the file of a lease.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::reason::{self, Reason};
use actum_core::path::Quoted;
use actum_core::{ShellWord, Timestamp};
use actum_lease::{GrantError, LeaseError};
use actum_record::lease::{LeaseId, LeaseTermError};

use crate::failure::FailureKind;

/// Failure to read, grant, narrow or find a lease. No message quotes a token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseFailure {
    /// The file holds no lease.
    #[error("cannot use {input} as a lease: {source}")]
    Unreadable { input: String, source: LeaseError },
    #[error("the lease cannot be granted: {0}")]
    Terms(#[from] LeaseTermError),
    #[error("the lease cannot be narrowed: {0}")]
    Attenuate(GrantError),
    #[error(
        "`{}` is not a base directory: it leads through a symbolic link to `{}`",
        quoted(path),
        quoted(real)
    )]
    BaseThroughLink { path: PathBuf, real: PathBuf },
    #[error("`{}` cannot be a base directory: {why}", quoted(path))]
    BaseUnusable { path: PathBuf, why: &'static str },
    #[error("the lease would expire at {expires}, which is not after {after}")]
    NeverValid { expires: Timestamp, after: Timestamp },
    #[error(
        "the lease would expire at {expires}, and the latest time is {latest}, {DAYS_MAX} days after its start"
    )]
    TooLong { expires: Timestamp, latest: Timestamp },
    #[error("there is no lease whose id begins with `{}`", Quoted(prefix.as_bytes()))]
    NoSuchLease { prefix: String },
    #[error("the ids of several leases begin with `{}`: {}", Quoted(prefix.as_bytes()), listed(leases))]
    Ambiguous { prefix: String, leases: Vec<LeaseId> },
    #[error("the lease has {blocks} blocks, and block {block} is not among them")]
    NoSuchBlock { block: usize, blocks: usize },
}

/// Longest time between the start of a lease and its expiry, in days.
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
                "give the file that `actum lease grant` or `actum lease attenuate` wrote"
            }
            Self::Terms(_) => "`actum lease grant --help` lists the terms of a lease",
            Self::Attenuate(GrantError::Sealed) => {
                "ask its owner for a lease that is not sealed; this one can be used as it is"
            }
            Self::Attenuate(_) => "`actum lease attenuate --help` lists the terms of a lease",
            Self::BaseThroughLink { real, .. } => {
                return vec![format!(
                    "give the directory itself: `--base {}`",
                    ShellWord::path(real.as_os_str().as_bytes())
                )];
            }
            Self::BaseUnusable { .. } => {
                "make the directory first: a lease allows changes below its base directories, not the directories themselves"
            }
            Self::NeverValid { .. } => "give a later `--expires`, or an earlier `--not-before`",
            Self::TooLong { .. } => {
                "grant another lease later; `actum lease revoke` ends one early"
            }
            Self::NoSuchLease { .. } => "`actum lease list --all` lists the leases of this ledger",
            Self::Ambiguous { .. } => "give more characters of the id",
            Self::NoSuchBlock { .. } => "`actum lease show FILE` lists the blocks",
        };
        vec![hint.to_owned()]
    }
}
