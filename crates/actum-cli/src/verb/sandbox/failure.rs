//! Why a command did not run in a sandbox, or could not be told of.

use std::io;
use std::path::PathBuf;

use actum_sandbox::{LayerError, SpawnError, Unsatisfiable};

use super::policy::PolicyFileError;
use crate::exit::Exit;
use crate::reason::Reason;

/// Why a command did not run, or was not told of.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxFailure {
    #[error("{0}; nothing was started")]
    Policy(#[from] PolicyFileError),
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    #[error("cannot find `{}`: {why}; nothing was started", name.display())]
    NotFound { name: PathBuf, why: &'static str },
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("cannot tell what the command changed: {0}; the directory is as before")]
    Changes(#[from] LayerError),
    #[error("cannot write the policy: {0}; nothing was started")]
    Unwritten(#[source] io::Error),
}

impl SandboxFailure {
    /// As `env`, `timeout` and shells do.
    pub(crate) fn exit(&self) -> Exit {
        const UNAVAILABLE: u8 = 125;
        const NOT_RUN: u8 = 126;
        const NOT_FOUND: u8 = 127;
        Exit::Passed(match self {
            Self::Spawn(SpawnError::Command(_)) => NOT_RUN,
            Self::NotFound { .. } => NOT_FOUND,
            Self::Policy(_)
            | Self::Unsatisfiable(_)
            | Self::Spawn(_)
            | Self::Changes(_)
            | Self::Unwritten(_) => UNAVAILABLE,
        })
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Policy(_) | Self::Unsatisfiable(Unsatisfiable::Policy(_)) => {
                Reason::PolicyInvalid
            }
            Self::Unsatisfiable(refused) if refused.code() == "NEEDS_TIER_N" => Reason::NeedsTierN,
            Self::Unsatisfiable(_) => Reason::SandboxUnavailable,
            Self::NotFound { .. } | Self::Spawn(SpawnError::Command(_)) => Reason::CommandNotRun,
            Self::Spawn(_) | Self::Changes(_) => Reason::SandboxFailed,
            Self::Unwritten(_) => Reason::ResultUnwritten,
        }
    }

    pub(crate) fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NotFound { .. } | Self::Spawn(SpawnError::Command(_)) => {
                "what a program outside of `/usr` needs is allowed with `--exec PATH`"
            }
            Self::Policy(_) | Self::Unsatisfiable(Unsatisfiable::Policy(_)) => {
                "`actum sandbox run --print-policy` writes one that is valid"
            }
            Self::Unsatisfiable(Unsatisfiable::Host(_)) => {
                "`actum doctor` says what this host can hold, and what would change that"
            }
            Self::Spawn(_) | Self::Changes(_) | Self::Unwritten(_) => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
