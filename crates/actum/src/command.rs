//! Runs commands and captures their effects. Each command runs in a sandbox on a view of the workspace, and its changes
//! become operations that pass the gates like any others (AA-6, AA-10).

mod cache;
mod capture;
mod check;
mod exec;
mod quotas;
mod staged_view;
mod trial;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_core::{Digest, RelPath};
use actum_gate::CommandLine;
use actum_gate::policy::SandboxAllowance;
use actum_record::command::{CommandEnd, CommandRecord, SandboxRecord};
use actum_sandbox::{
    Ended, Helper, HostReport, InForce, Missing, Outcome, SandboxPolicy, SpawnError, StartError,
    Stdin, Stop, Tier, View, Violation,
};
use actum_workspace::STATE_DIRECTORY;

use crate::error::CAPTURED_BYTES_MAX;
use crate::real_path::real;

pub use crate::error::{CommandError, Unkept, WhyUnkept};

pub use cache::Caches;
pub use capture::Captured;
pub(crate) use capture::digest;
pub(crate) use check::{Checked, as_check};
pub use exec::{Attempt, Ending, Exec};
pub(crate) use quotas::quotas_of;
pub use staged_view::StagedView;
pub use trial::{Trial, Tried, permitted_line};

/// Runs sandboxed commands on views of a workspace.
#[derive(Debug, Clone)]
pub struct Runner {
    helper: Helper,
    host: HostReport,
    policy: SandboxPolicy,
    root: PathBuf,
    /// Directories of the workspace that the operator declares as caches.
    caches: Vec<RelPath>,
    /// Stop request that ends all running commands, if the runner has one.
    stop: Option<Stop>,
}

/// Describes the view of the workspace that a command runs on.
#[derive(Debug, Default)]
pub(crate) struct Seen<'s> {
    /// Staged changes that are layered over the files of the workspace.
    pub(crate) staged: Option<&'s StagedView>,
    /// Path at which the command also sees the workspace without the staged changes.
    pub(crate) before: Option<PathBuf>,
    /// Cache directories in which the command's changes are permanent.
    pub(crate) caches: Vec<PathBuf>,
    /// Empty directory that receives the changes. Without it, they are held in memory.
    pub(crate) upper: Option<PathBuf>,
}

impl Runner {
    /// Creates a runner for commands in the workspace at `root`. `policy` confines them; it must not specify a view or
    /// allow writes in the workspace. `allowance` lists the caches.
    pub fn new(
        helper: Helper,
        host: HostReport,
        policy: SandboxPolicy,
        root: &Path,
        allowance: &SandboxAllowance,
    ) -> Self {
        let caches = allowance.caches.clone();
        Self { helper, host, policy, root: root.to_owned(), caches, stop: None }
    }

    /// Sets a stop request, which ends all running commands and prevents new ones.
    #[must_use]
    pub fn stopping_when(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Returns whether a stop was requested, so that no further command may start.
    pub(crate) fn is_stopped(&self) -> bool {
        // Treat a stop request that cannot be read as not made.
        self.stop.as_ref().is_some_and(|stop| stop.is_asked_for().unwrap_or(false))
    }

    /// Replaces the sandbox policy, which must satisfy the conditions of [`Runner::new`].
    #[must_use]
    pub fn confined_by(mut self, policy: SandboxPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Removes all directories inside the workspace from `PATH`. Otherwise, a process with write access to the
    /// workspace could replace the program that a command rule allows by name.
    #[must_use]
    pub fn finding_programs_outside(mut self) -> Self {
        let root = real(&self.root);
        let is_outside = |directory: &&str| !real(Path::new(directory)).starts_with(&root);
        if let Some(path) = self.policy.env.get_mut("PATH") {
            *path = path.split(':').filter(is_outside).collect::<Vec<_>>().join(":");
        }
        self
    }

    /// Returns a workspace path that the sandbox hides from commands, if there is one besides the state directory and
    /// sockets.
    fn unseen(&self) -> Option<&Path> {
        let root = real(&self.root);
        let is_socket = |path: &Path| {
            std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        };
        let is_state = |path: &Path| path == root.join(STATE_DIRECTORY);
        let mut hidden = self.policy.hide.iter().map(PathBuf::as_path);
        hidden.find(|path| path.starts_with(&root) && !is_state(path) && !is_socket(path))
    }

    /// Returns the directories of the workspace that the operator declares as caches.
    pub(crate) fn caches(&self) -> &[RelPath] {
        &self.caches
    }

    /// Checks that the host can confine commands in namespaces.
    ///
    /// # Errors
    /// Returns the feature that the host lacks.
    pub(crate) fn confines(&self) -> Result<(), &Missing> {
        self.host.tier_n.as_ref().copied()
    }

    /// Returns the sandbox policy that confines the commands.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// Returns the path of the workspace root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Moves the runner to another root directory, which has no caches.
    #[must_use]
    pub(crate) fn in_root(mut self, root: PathBuf) -> Self {
        self.root = root;
        self.caches = Vec::new();
        self
    }

    /// Starts a command on the described view of the workspace.
    pub(crate) fn start(
        &self,
        line: &CommandLine,
        seen: Seen<'_>,
        stdin: Stdin,
    ) -> Result<actum_sandbox::Child, CommandError> {
        let Seen { staged, before, caches, upper } = seen;
        let staged = staged.map(|staged| staged.path().to_owned());
        let (base, max) = (self.root.clone(), CAPTURED_BYTES_MAX);
        let view = Some(View { base, staged, caches, before, upper, max });
        self.start_in(line, SandboxPolicy { view, stdin, floor: Tier::N, ..self.policy.clone() })
    }

    /// Starts a command on the workspace itself, without a view. The command can only read it.
    pub(crate) fn start_outside(
        &self,
        line: &CommandLine,
    ) -> Result<actum_sandbox::Child, CommandError> {
        let stdin = Stdin::Empty;
        self.start_in(line, SandboxPolicy { stdin, floor: Tier::N, ..self.policy.clone() })
    }

    fn start_in(
        &self,
        line: &CommandLine,
        policy: SandboxPolicy,
    ) -> Result<actum_sandbox::Child, CommandError> {
        if self.is_stopped() {
            return Err(CommandError::Interrupted);
        }
        let program = self.program(line)?;
        let arguments = line.argv().get(1..).unwrap_or_default();
        let arguments = arguments.iter().map(OsString::from);
        let words: Vec<_> = std::iter::once(program.into_os_string()).chain(arguments).collect();
        let started = policy.start(&self.host, &self.helper, &words);
        let mut child = started.map_err(|error| match error {
            StartError::Unsatisfiable(error) => CommandError::from(error),
            StartError::Spawn(error) => CommandError::from(error),
        })?;
        if let Some(stop) = &self.stop {
            child.stop_when(stop.clone());
        }
        Ok(child)
    }

    /// Finds the program that a command line names.
    ///
    /// # Errors
    /// `NotFound` if there is no such program.
    pub fn program(&self, line: &CommandLine) -> Result<PathBuf, CommandError> {
        let name = line.argv().first().ok_or(SpawnError::Empty)?;
        let found = self.policy.program(Path::new(name));
        found.map_err(|why| CommandError::NotFound { name: name.clone(), why })
    }

    /// Describes the confinement under which a command ran, for its record.
    pub(crate) fn record(&self, in_force: &InForce, passed: &[PathBuf]) -> SandboxRecord {
        let caches = passed.iter();
        let caches = caches.map(|cache| cache.strip_prefix(&self.root).unwrap_or(cache));
        SandboxRecord {
            tier: in_force.tier.to_string(),
            landlock: in_force.landlock,
            is_root: in_force.is_root,
            caches: caches.map(|cache| Quoted(cache.as_os_str().as_bytes()).to_string()).collect(),
        }
    }
}

/// Creates the record of a finished command.
pub(crate) fn record(line: &CommandLine, outcome: &Outcome) -> CommandRecord {
    CommandRecord {
        argv: line.argv().to_vec(),
        ended: end(outcome),
        wall_ms: outcome.usage.wall,
        stdout: Digest::of(&outcome.stdout),
        stderr: Digest::of(&outcome.stderr),
    }
}

/// Returns how a command ended. A violation takes precedence over the exit status, because it is the reason why the
/// command was ended.
fn end(outcome: &Outcome) -> CommandEnd {
    match (outcome.violated.first(), outcome.ended) {
        (Some(violation), _) => CommandEnd::Stopped(describe_violation(violation)),
        (None, Some(Ended::Code(code))) => CommandEnd::Code(code),
        (None, Some(Ended::Signal(signal))) => CommandEnd::Signal(signal),
        (None, None) => {
            CommandEnd::Stopped("it was ended before its exit status was known".to_owned())
        }
    }
}

fn describe_violation(violation: &Violation) -> String {
    match violation {
        Violation::Limit(resource) => format!("it exceeded its limit of {resource}"),
        Violation::Unwatched => "one of its processes could not be monitored".to_owned(),
        Violation::Interrupted => "it was interrupted".to_owned(),
        Violation::Made(path) => {
            format!("it created `{}`, which must not exist", Quoted(path.as_os_str().as_bytes()))
        }
    }
}

/// Exit codes that count as success in addition to 0.
pub type Accepted = BTreeSet<i32>;
