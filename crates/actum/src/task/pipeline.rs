//! Runs the pipelines of a task (EX-9). Their commands see a view of the workspace with the changes staged so far, and
//! the changes that they make to declared outputs are staged as well.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use actum_core::json::Value;
use actum_core::{Digest, PathRule, RelPath, count};
use actum_edit::Operation;
use actum_gate::policy::DeclaredPipeline;
use actum_record::command::{CommandEnd, CommandRecord, SandboxRecord};
use actum_record::receipt::ExternalPipeline;
use actum_sandbox::{Enforcement, Net, Resource, SandboxPolicy, SpawnError, Stdin, Violation};
use actum_sql::ResultKey;
use actum_task::report::{
    ActionDetails, CleanText, ConfinementDetails, PipelineDetails, StepDetails,
};
use actum_task::{ErrorCode, Pipeline};
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;
use serde::{Deserialize, Serialize};

use super::documents::clean;
use super::kept_pipeline::{self, KeptPipeline};
use super::problem::ActionProblem;
use super::rehearsal::ActionChange;
use super::staging::{FileBefore, Staged};
use crate::command::{CommandError, Runner, StagedView, Trial, Tried};
use crate::error::Error;
use crate::pipeline_host::{KeptUse, PipelineRunner};
use crate::real_path::real;

/// Maximum number of bytes of a step's output that an error message quotes.
const SHOWN_BYTES_MAX: usize = 2000;
/// Maximum number of paths that an error message lists.
const SHOWN_PATHS_MAX: usize = 5;
/// Files that programs may need to read to use the network, such as the resolver configuration.
const NETWORK_SETTINGS: [&str; 4] =
    ["/etc/gai.conf", "/etc/host.conf", "/etc/resolv.conf", "/etc/services"];
/// Maximum output of one pipeline step, in bytes. A step that writes more is killed.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

type Result<T> = std::result::Result<T, ActionProblem>;

/// Prepared pipeline, which can run without access to the transaction.
pub(super) struct PipelineCall {
    declared: DeclaredPipeline,
    steps: Vec<Vec<String>>,
    runner: Runner,
    view: StagedView,
    /// Key of the pipeline's result. `None` if the result is neither looked up nor stored.
    key: Option<ResultKey>,
    /// Stored result of an earlier execution that an approver reviewed. If set, the steps do not run again.
    kept: Option<KeptPipeline>,
}

/// Result of a pipeline before it is staged.
pub(super) struct PipelineEnd {
    operations: Vec<Operation>,
    ran: PipelineRan,
}

/// Record of a pipeline run, for reports and receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineRan {
    name: String,
    /// SHA-256 of the pipeline's declaration in the policy.
    declaration: Digest,
    /// Commands that ran, one per step.
    pub(super) commands: Vec<CommandRecord>,
    /// Sandbox in which the last step ran. `None` if no step ran.
    pub(super) sandbox: Option<SandboxRecord>,
    /// True if a stored result was reused, so no step ran.
    was_kept: bool,
}

impl PipelineRan {
    /// Creates the record of a pipeline before its first step runs.
    fn new(name: &str, declaration: Digest) -> Self {
        let (commands, sandbox, was_kept) = (Vec::new(), None, false);
        Self { name: name.to_owned(), declaration, commands, sandbox, was_kept }
    }

    /// Adds a step that has run.
    fn add(&mut self, tried: Tried) {
        self.sandbox = Some(tried.sandbox().clone());
        self.commands.push(tried.record);
    }

    /// Returns the details for the execution report. Returns `None` if no step ran.
    pub(super) fn details(&self) -> Option<ActionDetails> {
        let SandboxRecord { tier, landlock, is_root, .. } = self.sandbox.as_ref()?;
        let step = |command: &CommandRecord| StepDetails {
            program: command.argv.first().map_or_else(CleanText::default, |program| clean(program)),
            process_ms: command.wall_ms,
            stdout_sha256: command.stdout,
            stderr_sha256: command.stderr,
        };
        Some(ActionDetails::Pipeline(Box::new(PipelineDetails {
            name: clean(&self.name),
            declaration_sha256: self.declaration,
            steps: self.commands.iter().map(step).collect(),
            process_ms: self.commands.iter().map(|command| command.wall_ms).sum(),
            confinement: ConfinementDetails {
                tier: clean(tier),
                landlock: *landlock,
                is_root: *is_root,
            },
            was_kept: self.was_kept,
        })))
    }
}

impl PipelineRunner {
    /// Returns the declaration of the pipeline that an action names, and its steps with the plan's parameters filled in.
    ///
    /// # Errors
    /// `PipelineUnknown`, `PipelineParameter`.
    pub(super) fn resolve(
        &self,
        pipeline: &Pipeline,
    ) -> Result<(&DeclaredPipeline, Vec<Vec<String>>)> {
        let declared = self
            .declared(&pipeline.name)
            .map_err(|why| ActionProblem::new(ErrorCode::PipelineUnknown, why))?;
        let wrong = |why: &dyn std::fmt::Display| {
            ActionProblem::new(ErrorCode::PipelineParameter, why.to_string())
        };
        let parameters = pipeline.parameters.as_ref();
        let parameters = parameters.map(|text| Value::read(text.as_str().as_bytes()));
        let parameters = parameters.transpose().map_err(|error| wrong(&error))?;
        let steps = declared.steps_with(parameters.as_ref()).map_err(|error| wrong(&error))?;
        Ok((declared, steps))
    }

    /// Prepares a pipeline by creating the view on which its steps run, which is the workspace with the changes staged so
    /// far.
    pub(super) fn prepare<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        pipeline: &Pipeline,
    ) -> Result<PipelineCall> {
        let (declared, steps) = self.resolve(pipeline)?;
        let view = StagedView::new(&self.runner, transaction).map_err(of_error)?;
        let runner = self.runner_of(declared);
        // A pipeline without outputs is only a check, so it has no result to store for an approver.
        let is_kept = self.kept_use != KeptUse::None && !declared.outputs.is_empty();
        let key = is_kept.then(|| {
            kept_pipeline::key(transaction, (self.runner.root(), declared), &steps, runner.policy())
        });
        let key = key.flatten();
        let kept = match self.kept_use {
            KeptUse::Publish => key.and_then(|key| KeptPipeline::find(&self.results, &key)),
            KeptUse::Keep | KeptUse::None => None,
        };
        Ok(PipelineCall { declared: declared.clone(), steps, runner, view, key, kept })
    }

    /// Returns the command runner for a pipeline, with its confinement, working directory and environment variables.
    fn runner_of(&self, declared: &DeclaredPipeline) -> Runner {
        let mut sandbox = self.runner.policy().clone();
        if declared.external {
            sandbox.net = Net::Host;
            let settings = NETWORK_SETTINGS.iter().map(PathBuf::from).filter(|path| path.exists());
            // These files can be symbolic links, as with systemd-resolved, so their targets must be readable as well.
            sandbox.read.extend(settings.flat_map(|path| [real(&path), path]));
        }
        if let Some(cwd) = &declared.cwd {
            sandbox.cwd = self.runner.root().join(std::ffi::OsStr::from_bytes(cwd.as_bytes()));
        }
        for variable in &declared.env {
            let (name, value) = match variable.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (variable.as_str(), (self.variable)(variable)),
            };
            if let Some(value) = value {
                sandbox.env.insert(name.to_owned(), value);
            }
        }
        self.runner.clone().confined_by(sandbox).finding_programs_outside()
    }

    /// Runs the steps of an external pipeline in order, within a common time limit. The steps have read-only access to the
    /// workspace, without any staged changes.
    ///
    /// Returns a record of the steps that ran, and the problem that stopped the pipeline, if any.
    pub(super) fn execute_external(
        &self,
        pipeline: &ExternalPipeline,
        time: Duration,
    ) -> (PipelineRan, Option<ActionProblem>) {
        let ExternalPipeline { declaration, name, steps, action: _, env: _ } = pipeline;
        let mut ran = PipelineRan::new(name, *declaration);
        let declared = match self.declared(name) {
            Ok(declared) => declared,
            Err(why) => return (ran, Some(ActionProblem::new(ErrorCode::PipelineUnknown, why))),
        };
        let (runner, count, mut left) = (self.runner_of(declared), steps.len(), time);
        for (step, number) in steps.iter().zip(1usize..) {
            let place = format!("step {number} of {count} of the pipeline `{name}`");
            let runner = runner.clone().confined_by(within(runner.policy(), left));
            let unknown = |error: &Error| {
                let message = format!("{place}: {error}; the step may or may not have run");
                ActionProblem::new(ErrorCode::ExternalEndUnknown, message)
            };
            let trial = match Trial::start_outside(&runner, &self.policy, step) {
                Ok(trial) => trial,
                // The helper may have started the command and then died before it could report that.
                Err(error) if is_of_helper(&error) => return (ran, Some(unknown(&error))),
                Err(error) => return (ran, Some(of_error(error).at(&place))),
            };
            let tried = match trial.wait(|_, _| ControlFlow::Continue(())) {
                Ok(tried) => tried,
                Err(error) => return (ran, Some(unknown(&error))),
            };
            let checked = check(&tried, &place, time);
            left = left.saturating_sub(Duration::from_millis(tried.record.wall_ms));
            ran.add(tried);
            if let Err(problem) = checked {
                return (ran, Some(problem));
            }
        }
        (ran, None)
    }

    /// Runs the steps of a pipeline in order, within a common time limit. Each step sees the changes of the steps before
    /// it.
    pub(super) fn execute(&self, call: &PipelineCall, time: Duration) -> Result<PipelineEnd> {
        let PipelineCall { declared, steps, runner, view, key, kept } = call;
        if let Some(KeptPipeline { operations, ran }) = kept.clone() {
            return Ok(PipelineEnd { operations, ran: PipelineRan { was_kept: true, ..ran } });
        }
        let time = declared.timeout.map_or(time, |own| own.min(time));
        let mut left = time;
        let declaration = declared
            .digest()
            .map_err(|error| ActionProblem::new(ErrorCode::InternalError, error.to_string()))?;
        let mut operations = Vec::new();
        let mut ran = PipelineRan::new(&declared.name, declaration);
        let (name, count) = (&declared.name, steps.len());
        for (step, number) in steps.iter().zip(1usize..) {
            let place = format!("step {number} of {count} of the pipeline `{name}`");
            let runner = runner.clone().confined_by(within(runner.policy(), left));
            let tried = self.run_step(&runner, step, view).map_err(|problem| problem.at(&place))?;
            check(&tried, &place, time)?;
            let captured = tried.captured().map_err(of_error)?.of_content();
            if !captured.unkept.is_empty() {
                let why = CommandError::Unkept(captured.unkept);
                return Err(ActionProblem::new(
                    ErrorCode::PipelineOutput,
                    format!("{place}: {why}"),
                ));
            }
            if let (true, Some(layer)) = (number < count, &tried.outcome.captured) {
                view.add(layer).map_err(of_error)?;
            }
            operations.extend(among_outputs(captured.operations, declared, &place)?);
            left = left.saturating_sub(Duration::from_millis(tried.record.wall_ms));
            ran.add(tried);
        }
        if let (KeptUse::Keep, Some(key)) = (self.kept_use, key) {
            let result = KeptPipeline { operations: operations.clone(), ran: ran.clone() };
            result.keep(&self.results, key).map_err(|error| {
                let message = format!("cannot keep the pipeline's result for approval: {error}");
                ActionProblem::new(ErrorCode::InputOutput, message)
            })?;
        }
        Ok(PipelineEnd { operations, ran })
    }

    fn run_step(&self, runner: &Runner, step: &[String], view: &StagedView) -> Result<Tried> {
        let trial = Trial::start_over(runner, &self.policy, step, Stdin::Empty, view);
        trial.and_then(|trial| trial.wait(|_, _| ControlFlow::Continue(()))).map_err(of_error)
    }

    /// Stages the changes that the steps of a pipeline made.
    pub(super) fn take<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        pipeline: &Pipeline,
        (end, files_max): (PipelineEnd, u32),
    ) -> Result<Staged> {
        let (declared, _) = self.resolve(pipeline)?;
        let PipelineEnd { operations, ran } = end;
        let paths: BTreeSet<RelPath> = operations
            .iter()
            .filter(|it| is_of_file(it))
            .flat_map(Operation::paths)
            .cloned()
            .collect();
        if count(paths.len()) > u64::from(files_max) {
            let (name, changed) = (&declared.name, paths.len());
            let message = format!(
                "the pipeline `{name}` changed {changed} files, but a task may change at most {files_max} (`limits.max_files`)"
            );
            return Err(ActionProblem::new(ErrorCode::PipelineOutput, message));
        }
        let before = paths.iter().map(|path| FileBefore::read(transaction, path));
        let before = before.collect::<Result<Vec<_>>>()?;
        for operation in &operations {
            transaction.operate(operation)?;
        }
        let did = before.into_iter().zip(&paths);
        let did = did.map(|(before, path)| before.change(transaction, path));
        let mut did: Vec<_> = did.collect::<Result<_>>()?;
        // A file that one step created and a later step removed is not a change.
        did.retain(ActionChange::is_change);
        let plural = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let (steps, files) = (plural(ran.commands.len(), "step"), plural(did.len(), "file"));
        let output = format!("Pipeline '{}' ran {steps} and changed {files}", declared.name);
        Ok(Staged { pipeline: Some(Box::new(ran)), ..Staged::new(operations, output, did) })
    }
}

/// Adds limits on elapsed time and output to a sandbox policy. Elapsed time includes the time that a step waits.
fn within(policy: &SandboxPolicy, time: Duration) -> SandboxPolicy {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    let mut policy = policy.clone();
    let limits = std::mem::take(&mut policy.limits);
    policy.limits = limits.with(Resource::Wall, milliseconds, Enforcement::Polled).with(
        Resource::Output,
        OUTPUT_BYTES_MAX,
        Enforcement::Polled,
    );
    policy
}

/// Checks that a step succeeded. Otherwise, returns a problem that quotes the end of the step's output.
fn check(tried: &Tried, place: &str, time: Duration) -> Result<()> {
    let code = match (tried.outcome.violated.first(), &tried.record.ended) {
        (None, CommandEnd::Code(0)) => return Ok(()),
        (Some(Violation::Interrupted), _) => ErrorCode::Cancelled,
        (Some(Violation::Limit(Resource::Wall)), _) => {
            let message =
                format!("{place} exceeded the pipeline's time limit of {} s", time.as_secs());
            return Err(ActionProblem::new(ErrorCode::ActionTimeout, message));
        }
        (Some(Violation::Limit(_) | Violation::Unwatched | Violation::Made(_)) | None, _) => {
            ErrorCode::PipelineFailed
        }
    };
    let outcome = &tried.outcome;
    let written = if outcome.stderr.is_empty() { &outcome.stdout } else { &outcome.stderr };
    let from = written.len().saturating_sub(SHOWN_BYTES_MAX);
    let text = String::from_utf8_lossy(written.get(from..).unwrap_or_default());
    let wrote = match text.trim() {
        "" => String::new(),
        text => format!("; its output: {text}"),
    };
    Err(ActionProblem::new(code, format!("{place} failed: {}{wrote}", tried.record.ended)))
}

/// Checks that a step changed only declared outputs, and returns those changes. New parent directories of outputs are
/// omitted, because they are created together with the outputs.
///
/// # Errors
/// `PipelineOutput` if the step changed any other path.
fn among_outputs(
    operations: Vec<Operation>,
    declared: &DeclaredPipeline,
    place: &str,
) -> Result<Vec<Operation>> {
    let (inside, others): (Vec<_>, Vec<_>) = operations
        .into_iter()
        .partition(|operation| operation.paths().all(|path| declared.may_change(path)));
    let is_above = |directory: &RelPath| {
        let rule = PathRule::exactly(directory);
        rule.is_some_and(|rule| declared.outputs.iter().any(|output| output.may_meet(&rule)))
    };
    let others = others.iter().filter(
        |operation| !matches!(operation, Operation::MakeDirectory { path, .. } if is_above(path)),
    );
    let outside: BTreeSet<&RelPath> = others.flat_map(Operation::paths).collect();
    if outside.is_empty() {
        return Ok(inside);
    }
    let shown = outside.iter().take(SHOWN_PATHS_MAX).map(|path| format!("`{path}`"));
    let more = match outside.len().saturating_sub(SHOWN_PATHS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let rules: Vec<_> = declared.outputs.iter().map(|rule| format!("`{rule}`")).collect();
    let outputs = match rules.as_slice() {
        [] => "the pipeline declares no outputs".to_owned(),
        rules => format!("the pipeline's outputs are {}", rules.join(", ")),
    };
    let shown = shown.collect::<Vec<_>>().join(", ");
    let message = format!("{place} changed {shown}{more}, but {outputs}");
    Err(ActionProblem::new(ErrorCode::PipelineOutput, message))
}

fn is_of_file(operation: &Operation) -> bool {
    !matches!(operation, Operation::MakeDirectory { .. } | Operation::RemoveDirectory { .. })
}

/// Returns whether a step failed to start because the sandbox helper sent an invalid message.
fn is_of_helper(error: &Error) -> bool {
    matches!(error, Error::Command(CommandError::Spawn(SpawnError::Helper(_))))
}

/// Converts the error of a step that could not run, or whose changes could not be read, to a problem of the action.
fn of_error(error: Error) -> ActionProblem {
    if let Error::Workspace(error) = error {
        return error.into();
    }
    let is_not_started = matches!(
        &error,
        Error::Command(CommandError::NotFound { .. } | CommandError::Spawn(_))
            | Error::Denied { .. }
    );
    let code = if matches!(&error, Error::Command(CommandError::Interrupted)) {
        ErrorCode::Cancelled
    } else if is_not_started {
        ErrorCode::PipelineFailed
    } else if matches!(&error, Error::Command(CommandError::Unsatisfiable(_))) {
        ErrorCode::NotAvailable
    } else {
        ErrorCode::InternalError
    };
    ActionProblem::new(code, error.to_string())
}
