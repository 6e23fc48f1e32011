//! Failures to run a command in a sandbox, or to report it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::{ShellWord, path::Quoted};
use actum_sandbox::{NoProgram, PolicyError, SpawnError, Unmet, Unsatisfiable, WaitError};
use actum_workspace::State;

use super::policy::PolicyFileError;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::snippet::Snippet;
use actum::reason::Reason;

/// Failure to run or report a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxFailure {
    #[error("{0}; nothing was started")]
    Policy(#[from] PolicyFileError),
    /// The operator's rules are unknown.
    #[error(transparent)]
    Operator { source: Box<Failure> },
    #[error("the sandbox policy cannot be used: {error}; nothing was started")]
    Invalid { error: PolicyError, from_file: bool },
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    #[error("cannot find `{}`: {why}; nothing was started", Quoted(name.as_os_str().as_bytes()))]
    NotFound { name: PathBuf, why: NoProgram, hint: String },
    #[error(
        "cannot run `{}`: it is not executable; nothing was started",
        Quoted(name.as_os_str().as_bytes())
    )]
    NotExecutable { name: PathBuf },
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error("cannot write the policy: {0}; nothing was started")]
    Unwritten(#[source] io::Error),
}

impl FailureKind for SandboxFailure {
    /// Returns the exit code, as `env`, `timeout` and shells do.
    fn exit(&self) -> Exit {
        const UNAVAILABLE: u8 = 125;
        const NOT_RUN: u8 = 126;
        const NOT_FOUND: u8 = 127;
        Exit::Passed(match self {
            Self::Spawn(SpawnError::Command { .. }) | Self::NotExecutable { .. } => NOT_RUN,
            Self::NotFound { .. } => NOT_FOUND,
            Self::Policy(_)
            | Self::Operator { .. }
            | Self::Invalid { .. }
            | Self::Unsatisfiable(_)
            | Self::Spawn(_)
            | Self::Wait(_)
            | Self::Unwritten(_) => UNAVAILABLE,
        })
    }

    fn reason(&self) -> Reason {
        match self {
            Self::Operator { source } => source.reason(),
            Self::Policy(PolicyFileError::NotAllowed(_)) => Reason::SandboxNotAllowed,
            Self::Policy(_)
            | Self::Invalid { .. }
            | Self::Unsatisfiable(Unsatisfiable::Policy(_)) => Reason::PolicyInvalid,
            Self::Unsatisfiable(refused) if refused.code() == "NEEDS_TIER_N" => Reason::NeedsTierN,
            Self::Unsatisfiable(_) => Reason::SandboxUnavailable,
            Self::NotFound { .. }
            | Self::NotExecutable { .. }
            | Self::Spawn(SpawnError::Command { .. }) => Reason::CommandNotRun,
            Self::Spawn(_) | Self::Wait(_) => Reason::SandboxFailed,
            Self::Unwritten(_) => Reason::ResultUnwritten,
        }
    }

    /// Returns the wrong line of a policy.
    fn excerpt(&self) -> Option<&Snippet> {
        let Self::Policy(PolicyFileError::Malformed { quote, .. }) = self else { return None };
        quote.snippet()
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NotFound { hint, .. } => hint.clone(),
            Self::Operator { source } => return source.hints(),
            Self::Policy(PolicyFileError::NotAllowed(why)) => why.hint(),
            Self::NotExecutable { name } => {
                let name = ShellWord::path(name.as_os_str().as_bytes());
                format!("`chmod +x {name}`, or start it by its interpreter")
            }
            Self::Spawn(SpawnError::Command { errno, .. }) => match *errno {
                Some(NOT_A_PROGRAM) => {
                    "start it by its interpreter, for example `-- sh FILE`".to_owned()
                }
                _ => "what a program outside of `/usr` needs is allowed with `--exec PATH`, also \
                      where a link leads to it"
                    .to_owned(),
            },
            Self::Policy(PolicyFileError::NotThere { .. }) => {
                "what may be written or read must be there: make it first".to_owned()
            }
            Self::Policy(PolicyFileError::Malformed { .. })
            | Self::Invalid { from_file: true, .. } => {
                "`actum sandbox run --print-policy` writes one that is valid".to_owned()
            }
            Self::Unsatisfiable(Unsatisfiable::Host(unmet)) if unmet.iter().all(is_limit) => {
                "a control group of its own makes memory and processes hard: `systemd-run --user \
                 --scope -p Delegate=yes actum …`; or let the limit be polled"
                    .to_owned()
            }
            Self::Unsatisfiable(Unsatisfiable::Host(unmet)) if unmet.iter().any(is_resource) => {
                "raise the limits of this process (`ulimit -n`, `ulimit -u`, `ulimit -v`)"
                    .to_owned()
            }
            Self::Unsatisfiable(_) => {
                "`actum doctor` says what this host can hold, and what would change that".to_owned()
            }
            Self::Policy(_)
            | Self::Invalid { from_file: false, .. }
            | Self::Spawn(_)
            | Self::Wait(_)
            | Self::Unwritten(_) => return Vec::new(),
        };
        vec![hint]
    }

    fn state(&self) -> Option<String> {
        match self {
            // The message of its source does not contain the state.
            Self::Operator { .. } => Some(State::Unchanged.to_string()),
            // The message states that nothing was started, or that the outcome of the command is unknown.
            Self::Policy(_)
            | Self::Invalid { .. }
            | Self::Unsatisfiable(_)
            | Self::NotFound { .. }
            | Self::NotExecutable { .. }
            | Self::Spawn(_)
            | Self::Wait(_)
            | Self::Unwritten(_) => None,
        }
    }
}

/// ENOEXEC (execve(2)).
const NOT_A_PROGRAM: i32 = 8;

fn is_resource(unmet: &Unmet) -> bool {
    matches!(unmet, Unmet::Resources { .. })
}

fn is_limit(unmet: &Unmet) -> bool {
    matches!(unmet, Unmet::Limit { .. })
}
