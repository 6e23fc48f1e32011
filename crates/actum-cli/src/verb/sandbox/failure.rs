//! Failures to run a command in a sandbox.

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

/// Failure to run a command in a sandbox, or to print its policy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxFailure {
    #[error("{0}; nothing was started")]
    Policy(#[from] PolicyFileError),
    /// The operator's policy cannot be used, or does not permit the command.
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
    /// Returns the exit code that `env`, `timeout` and shells use for such a failure.
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

    /// Returns the invalid line of a policy file.
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
                format!("run `chmod +x {name}`, or start it with its interpreter")
            }
            Self::Spawn(SpawnError::Command { errno, .. }) => match *errno {
                Some(NOT_A_PROGRAM) => {
                    "start it with its interpreter, for example `-- sh FILE`".to_owned()
                }
                _ => "pass `--exec PATH` for the files outside `/usr` that the program needs, including \
                      the targets of symbolic links"
                    .to_owned(),
            },
            Self::Policy(PolicyFileError::NotThere { .. }) => {
                "create the path first, because only existing paths can be allowed".to_owned()
            }
            Self::Policy(PolicyFileError::Malformed { .. })
            | Self::Invalid { from_file: true, .. } => {
                "run `actum sandbox run --print-policy` to print a valid policy".to_owned()
            }
            Self::Unsatisfiable(Unsatisfiable::Host(unmet)) if unmet.iter().all(is_limit) => {
                "to enforce hard limits of memory and processes, run actum in its own control group with \
                 `systemd-run --user --scope -p Delegate=yes actum …`; or use polled limits"
                    .to_owned()
            }
            Self::Unsatisfiable(Unsatisfiable::Host(unmet)) if unmet.iter().any(is_resource) => {
                "raise the limits of this process (`ulimit -n`, `ulimit -u`, `ulimit -v`)"
                    .to_owned()
            }
            Self::Unsatisfiable(_) => {
                "run `actum doctor` to see what this host can enforce, and how to change that".to_owned()
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
            // The message of the source does not mention the workspace, so the state is added.
            Self::Operator { .. } => Some(State::Unchanged.to_string()),
            // These messages already state that nothing was started, or that the outcome of the command is unknown.
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

/// `ENOEXEC`: the file has no format that the kernel can execute (execve(2)).
const NOT_A_PROGRAM: i32 = 8;

fn is_resource(unmet: &Unmet) -> bool {
    matches!(unmet, Unmet::Resources { .. })
}

fn is_limit(unmet: &Unmet) -> bool {
    matches!(unmet, Unmet::Limit { .. })
}
