//! Runs packages, which are third-party actions. Only the exact version that the operator activated may run (AA-8,
//! AA-9, AA-11).

use actum_action::{Check, EXECUTE_FILE};
use actum_core::{ActionName, Digest};
use actum_gate::CommandLine;
use actum_record::receipt::PathEffect;
use actum_workspace::disk::Disk;
use serde_json::Value;

use super::action_error::ActionError;
use super::action_report::ActionReport;
use crate::command::{CommandError, Runner, StagedView};
use crate::engine::Engine;
use crate::error::Error;
use crate::plugin::{Call, Package, PluginError, Steps};
use crate::reason::{self, Reason};

/// Directory of a workspace that contains its packages.
const PACKAGES: &str = "actions";

/// Name of the check that the rollback of a package restores all changed files.
const RESTORES: &str = "actum: rollback.js restores every changed file";

impl<D: Disk> Engine<D> {
    /// Reads the package of an action from the workspace, and checks that its digest is the registered one.
    pub(super) fn package(
        &self,
        name: &ActionName,
        digest: Digest,
    ) -> Result<Package, ActionError> {
        if self.rules.plugin_code()?.is_none() {
            let message = format!(
                "the action `{name}` is a package, but the operator's policy does not set \
                 `allowPluginCodeExecution = true` under `[plugins]`"
            );
            return Err(ActionError::rejected(Reason::PluginCodeNotAllowed, message));
        }
        let root = self.runner.as_ref().map(Runner::root).ok_or(CommandError::NoRunner);
        let directory = root.map_err(Error::from)?.join(PACKAGES).join(name.as_str());
        let package = Package::read(&directory).map_err(Box::new).map_err(|problem| {
            ActionError::of_plugin(&PluginError::Package { directory, problem })
        })?;
        if package.digest != digest {
            let message = format!(
                "the package `{PACKAGES}/{name}` differs from the activated one: its digest is {}, expected {digest}; \
                 review it, then run `actum catalog activate {name} --package {PACKAGES}/{name}`",
                package.digest
            );
            return Err(ActionError::rejected(Reason::PluginChanged, message));
        }
        Ok(package)
    }

    /// Prepares the steps of a package for execution, if the operator's policy allows package code.
    pub(super) fn steps<'p>(
        &self,
        package: &'p Package,
        runner: &Runner,
    ) -> Result<Steps<'p>, ActionError> {
        let Some(allowed) = self.rules.plugin_code()? else {
            let message = "the operator's policy does not allow package code to run";
            return Err(ActionError::rejected(Reason::PluginCodeNotAllowed, message));
        };
        Steps::prepare(package, runner, allowed).map_err(|error| ActionError::of_plugin(&error))
    }
}

/// Returns the command line of a package as it is matched against rules and recorded. The actual process runs a private
/// copy of the file, whose path would mean nothing to a reader.
pub(super) fn line(package: &Package) -> Result<CommandLine, ActionError> {
    let file = format!("{PACKAGES}/{}/{EXECUTE_FILE}", package.manifest.name);
    let line = CommandLine::new(vec!["node".to_owned(), file]);
    line.map_err(|error| ActionError::unusable_command("package code", &error))
}

/// Runs the package's `verify.js` and `rollback.js` on the staged files, to check the change and to prove that it can
/// be rolled back.
pub(super) fn verify(
    steps: &Steps<'_>,
    staged: &StagedView,
    change: &[PathEffect],
    report: &mut ActionReport,
) -> Result<(), ActionError> {
    let call = Call { input: &report.plan.input, scope: &report.plan.scope };
    let output = report.returned.as_ref().unwrap_or(&Value::Null);
    // Both steps run concurrently. Each has its own view and does not see the changes of the other.
    let (verified, restored) = std::thread::scope(|scope| {
        let rollback = scope.spawn(|| steps.rollback(call, Some(output), staged, change));
        let verified = steps.verify(call, output, staged);
        (verified, rollback.join())
    });
    let checks = verified.map_err(|error| ActionError::of_plugin(&error))?;
    let failed = checks.iter().find(|check| !check.ok).map(|check| check.name.clone());
    report.checks.extend(checks);
    if let Some(check) = failed {
        return Err(ActionError::PackageUnverified { check });
    }
    let Ok(restored) = restored else {
        let message = "the rollback of the package could not be checked";
        return Err(ActionError::rejected(Reason::RollbackUnproven, message));
    };
    if steps.is_stopped() {
        return Err(ActionError::interrupted());
    }
    let evidence = restored.map_err(|error| ActionError::rollback_unproven(&error))?;
    let paths = match evidence.files {
        1 => "1 path".to_owned(),
        paths => format!("{paths} paths"),
    };
    let message = Some(format!("{paths} restored to digest {}", evidence.digest_before));
    report.checks.push(Check { message, ..Check::new(RESTORES, true) });
    Ok(())
}

impl ActionError {
    /// Maps a package error to the error of its action.
    ///
    /// The message omits the output of the step, because the message is recorded in the ledger and the output may
    /// contain file contents. `actum plugin test` prints that output.
    pub(super) fn of_plugin(error: &PluginError) -> Self {
        let (reason, message) = (reason::of_plugin(error), error.to_string());
        match error {
            PluginError::Package { .. }
            | PluginError::Syntax { .. }
            | PluginError::Input { .. }
            | PluginError::RequestTooLarge { .. }
            | PluginError::NoNode { .. }
            | PluginError::OldNode { .. }
            | PluginError::Command(CommandError::Unsatisfiable(_) | CommandError::NoRunner) => {
                Self::rejected(reason, message)
            }
            PluginError::NotRestored { .. } => Self::rollback_unproven(error),
            PluginError::Copy(_)
            | PluginError::Command(_)
            | PluginError::Failed { .. }
            | PluginError::Stopped { .. }
            | PluginError::NoAnswer { .. }
            | PluginError::Output(_)
            | PluginError::Changed { .. }
            | PluginError::Unkept(_) => Self::reverted(reason, message),
        }
    }

    /// Creates the error for a package that did not prove that its change can be rolled back.
    fn rollback_unproven(error: &PluginError) -> Self {
        let message = error.to_string();
        match matches!(error, PluginError::Command(_) | PluginError::Copy(_)) {
            true => Self::reverted(reason::of_plugin(error), message),
            false => Self::rejected(Reason::RollbackUnproven, message),
        }
    }
}
