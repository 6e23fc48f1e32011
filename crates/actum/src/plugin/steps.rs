//! Execution of the steps of a package, each in a separate sandboxed process (AA-10).

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_action::{Check, EXECUTE_FILE, Filesystem, PlanScope, ROLLBACK_FILE, VERIFY_FILE};
use actum_gate::CommandLine;
use actum_record::command::{CommandRecord, SandboxRecord};
use actum_record::receipt::PathEffect;
use actum_sandbox::{Outcome, Stdin};
use serde::Serialize;
use serde_json::{Map, Value};

use super::confinement::{self, BEFORE};
use super::error::PluginError;
use super::evidence::{self, RollbackEvidence};
use super::node::Node;
use super::package::Package;
use super::private_copy::PrivateCopy;
use super::{PluginCode, answer};
use crate::command::{Captured, CommandError, Runner, Seen, StagedView, record};

/// Maximum JavaScript heap size of a step, in MiB.
pub(super) const HEAP_MEBIBYTES_MAX: u32 = 512;
/// Maximum size of a request that the driver accepts, in bytes.
const REQUEST_BYTES_MAX: usize = 8 << 20;

type Result<T> = std::result::Result<T, PluginError>;

/// Step of a plugin package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Performs the action and returns its output.
    Execute,
    /// Checks the result of the action.
    Verify,
    /// Rolls back the change made by the action.
    Rollback,
}

impl Step {
    /// Returns the name of the step, as used in messages and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Verify => "verify",
            Self::Rollback => "rollback",
        }
    }

    /// Returns the name of the JavaScript file that implements the step.
    pub fn file(self) -> &'static str {
        match self {
            Self::Execute => EXECUTE_FILE,
            Self::Verify => VERIFY_FILE,
            Self::Rollback => ROLLBACK_FILE,
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Arguments with which a package is called.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    /// Input of the action.
    pub input: &'c Map<String, Value>,
    /// Write scope of the plan, passed to the package only for information. Another part of the pipeline checks the actual
    /// changes against it.
    pub scope: &'c PlanScope,
}

/// Result of a successful `execute` step.
#[derive(Debug)]
pub struct Executed {
    /// Output that the step returned and that conforms to the package's `outputSchema`.
    pub output: Value,
    /// Captured changes, all of which can be part of a run. They are empty for a package without write permission.
    pub captured: Captured,
    /// Record of the command line and the exit of the process.
    pub record: CommandRecord,
    /// Record of the sandbox that confined the process.
    pub sandbox: SandboxRecord,
    /// Last part of the process's standard error.
    pub stderr: String,
}

/// Package that is ready to run from a private copy.
#[derive(Debug)]
pub struct Steps<'p> {
    package: &'p Package,
    runner: Runner,
    node: PathBuf,
    copy: PrivateCopy,
}

/// Request that is sent to the driver on standard input.
#[derive(Serialize)]
struct Request<'r> {
    input: &'r Map<String, Value>,
    context: Context<'r>,
}

#[derive(Serialize)]
struct Context<'r> {
    workspace: &'r Path,
    action: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'r str>,
    step: Step,
    scope: &'r PlanScope,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'r Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'r str>,
}

impl<'p> Steps<'p> {
    /// Prepares a package to run in the workspace of `runner`.
    ///
    /// The steps have the same limits as commands of this runner. They have no network access and inherit no environment
    /// variable except `PATH`. A package without permission for the workspace sees an empty directory instead.
    ///
    /// # Errors
    /// Returns `NoNode`, `Copy` or `Command`. An outdated Node.js is detected only when a step fails to run.
    pub fn prepare(package: &'p Package, runner: &Runner, _allowed: PluginCode) -> Result<Self> {
        let node = Node::program(runner)?;
        let copy = PrivateCopy::new(package).map_err(PluginError::Copy)?;
        let sees = package.manifest.permissions.filesystem;
        let root = match sees {
            Filesystem::None => copy.nothing(),
            Filesystem::Read | Filesystem::Workspace => runner.root().to_owned(),
        };
        let own = copy.packages().chain([copy.driver()]).collect();
        let policy =
            confinement::derive_policy(runner.policy(), (sees, runner.root()), (&root, own));
        let runner = runner.clone().confined_by(policy).in_root(root);
        Ok(Self { package, runner, node, copy })
    }

    /// Runs `execute.js` on a view of the workspace.
    ///
    /// # Errors
    /// Returns `Input` before anything runs if the input violates its schema, or `Output` if the output does. If the step
    /// fails, returns `OldNode`, `Failed`, `Stopped`, `NoAnswer` or `Command`. Returns `Changed` if a package without write
    /// permission made changes, and `Unkept` if a change cannot be part of a run.
    pub fn execute(&self, call: Call<'_>) -> Result<Executed> {
        let action = || self.package.manifest.name.to_string();
        let checked = self.package.check_input(call.input);
        checked.map_err(|problem| PluginError::Input { action: action(), problem })?;
        let Ran { output, outcome, line } = self.run(Step::Execute, call, None, None)?;
        self.package.check_output(&output).map_err(PluginError::Output)?;
        let captured = match &outcome.captured {
            Some(layer) => Captured::new(layer, &[], Default::default())
                .map_err(CommandError::from)?
                .of_content(),
            None => Captured::default(),
        };
        self.check_permitted(&captured)?;
        if !captured.unkept.is_empty() {
            return Err(PluginError::Unkept(captured.unkept));
        }
        Ok(Executed {
            output,
            captured,
            record: record(&line, &outcome),
            sandbox: self.runner.record(&outcome.in_force, &[]),
            stderr: answer::stderr_excerpt(&outcome.stderr),
        })
    }

    /// Runs `verify.js` on a view of the staged change, and discards any changes that it makes. A failed check is a normal
    /// result, not an error.
    ///
    /// # Errors
    /// Returns `Failed`, `Stopped`, `NoAnswer` or `Command`. A step that returns no checks also counts as `Failed`.
    pub fn verify(
        &self,
        call: Call<'_>,
        output: &Value,
        staged: &StagedView,
    ) -> Result<Vec<Check>> {
        let ran = self.run(Step::Verify, call, Some(output), Some(staged))?;
        answer::checks(&ran.output)
    }

    /// Runs `rollback.js` on a view of the staged change, and compares the result with the workspace.
    ///
    /// The step must restore every path of `change`, and must not change any other path. The changes of the step are then
    /// discarded. It can run concurrently with [`verify`](Self::verify), because each step has its own view.
    ///
    /// # Errors
    /// Returns `NotRestored` with the first path that differs, or `Failed`, `Stopped`, `NoAnswer` or `Command` if the step
    /// fails.
    pub fn rollback(
        &self,
        call: Call<'_>,
        output: Option<&Value>,
        staged: &StagedView,
        change: &[PathEffect],
    ) -> Result<RollbackEvidence> {
        let ran = self.run(Step::Rollback, call, output, Some(staged))?;
        evidence::compare(ran.outcome.captured.as_ref(), change, self.runner.root())
    }

    /// Returns true if a stop was requested, so that no further step may start.
    pub(crate) fn is_stopped(&self) -> bool {
        self.runner.is_stopped()
    }

    fn check_permitted(&self, captured: &Captured) -> Result<()> {
        if self.package.manifest.is_write_like() {
            return Ok(());
        }
        let paths = captured.operations.iter().flat_map(|operation| operation.paths());
        let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path.as_bytes())));
        let unkept = captured.unkept.iter().map(|unkept| unkept.path.clone());
        let mut paths = paths.chain(unkept);
        match paths.next() {
            Some(path) => Err(PluginError::Changed { path, more: paths.count() }),
            None => Ok(()),
        }
    }

    fn run(
        &self,
        step: Step,
        call: Call<'_>,
        output: Option<&Value>,
        staged: Option<&StagedView>,
    ) -> Result<Ran> {
        let sees = match self.package.manifest.permissions.filesystem {
            Filesystem::None => None,
            Filesystem::Read | Filesystem::Workspace => Some(step),
        };
        let before = match sees {
            Some(Step::Verify | Step::Rollback) => Some(BEFORE),
            Some(Step::Execute) | None => None,
        };
        let request = self.request(step, call, output, before)?;
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| CommandError::NoText(path.as_os_str().to_owned()))
        };
        let heap = PathBuf::from(format!("--max-old-space-size={HEAP_MEBIBYTES_MAX}"));
        let words = [self.node.clone(), heap, self.copy.driver()].into_iter();
        let words = words.chain(self.copy.packages().map(|package| package.join(step.file())));
        let words = words.map(|word| text(&word)).collect::<std::result::Result<Vec<_>, _>>()?;
        let line = CommandLine::new(words).map_err(CommandError::from)?;
        let seen = Seen {
            staged: staged.filter(|_| sees.is_some()),
            before: before.map(PathBuf::from),
            ..Seen::default()
        };
        let child = self.runner.start(&line, seen, Stdin::Bytes(request))?;
        let outcome = child.wait_with(|_, _| ControlFlow::Continue(()));
        let outcome = outcome.map_err(CommandError::from)?;
        // Checking the version starts another process, so do it only after a failure.
        let old = || Node::find(&self.runner).err().filter(PluginError::is_of_node);
        Ok(Ran { output: answer::read(step, &outcome, old)?, outcome, line })
    }

    fn request(
        &self,
        step: Step,
        call: Call<'_>,
        output: Option<&Value>,
        before: Option<&str>,
    ) -> Result<Vec<u8>> {
        let manifest = &self.package.manifest;
        let context = Context {
            workspace: self.runner.root(),
            action: manifest.name.as_str(),
            version: manifest.version.as_deref(),
            step,
            scope: call.scope,
            output,
            before,
        };
        let request = serde_json::to_vec(&Request { input: call.input, context });
        let root = || self.runner.root().as_os_str().to_owned();
        // The path of the workspace is the only value that may not be valid UTF-8.
        let request = request.map_err(|_| CommandError::NoText(root()))?;
        match request.len() {
            bytes if bytes > REQUEST_BYTES_MAX => {
                Err(PluginError::RequestTooLarge { bytes, max: REQUEST_BYTES_MAX })
            }
            _ => Ok(request),
        }
    }
}

/// Result of a step that returned a valid answer.
struct Ran {
    output: Value,
    outcome: Outcome,
    line: CommandLine,
}
