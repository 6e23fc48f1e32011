//! Checks a proposed action as far as possible before it has any effect (AA-1, AA-3, AA-4, AA-7).

use std::collections::BTreeMap;

use actum_action::{PlanEnvelope, RollbackPlan};
use actum_core::path::Harmless;
use actum_core::{Budget, RiskTier, suggestion};
use actum_gate::CommandLine;
use actum_record::ledger::ActionState;
use actum_workspace::disk::Disk;
use actum_workspace::{ExistingFiles, HardLinks, HunkPlaces, LaterEdits, Limits};

use super::action_error::ActionError;
use super::action_report::ActionReport;
use super::core_action::{Intake, Task, command_line, intake};
use super::scope::Places;
use super::{Proposal, label};
use crate::catalog::Registered;
use crate::engine::Engine;
use crate::error::Error;
use crate::plugin::Package;
use crate::reason::Reason;
use crate::request::{Commands, EntryPoint, Phase, Request, RequestedAction, Work};

/// Proposed action that passed the checks that are possible before it runs.
pub(super) struct Proposed {
    /// Request that the pipeline will carry out.
    pub(super) request: Request,
    /// Task from which the request was created.
    pub(super) task: Task,
}

impl<D: Disk> Engine<D> {
    /// Converts a proposal into a request and its task, unless one of the checks that are possible now rejects it.
    pub(super) fn propose(
        &mut self,
        proposal: &Proposal,
        report: &mut ActionReport,
    ) -> Result<Proposed, ActionError> {
        let plan = &proposal.plan;
        // Fail first if the policy cannot be read, because then nothing is allowed.
        self.rules.read(&self.records.ledger)?;
        let catalog = self.records.catalog()?.in_force().map_err(Error::from)?;
        let registered = catalog.find(&plan.action_type).ok_or_else(|| {
            let known: Vec<_> = catalog.actions().map(|action| action.name.as_str()).collect();
            let asked = &plan.action_type;
            let hint = match suggestion::suggest(asked.as_str(), &known) {
                Some(hint) => format!("; a similar name is `{hint}`"),
                None => String::new(),
            };
            let message = format!("the catalog has no action `{asked}`{hint}");
            ActionError::rejected(Reason::UnknownAction, message)
        })?;
        check_active(registered)?;
        registered.input_schema.check(&plan.input).map_err(ActionError::input)?;
        report.tier = plan.tier().max(registered.tier);
        let digest = registered.origin.digest();
        let Intake { task, repair } = match (intake(plan, &self.root_prefix())?, digest) {
            (_, Some(digest)) => {
                let package = self.package(&plan.action_type, digest)?;
                check_permitted(plan, &package)?;
                let repair = package.repair.clone();
                Intake { task: Task::Package(Box::new(package)), repair }
            }
            (Some(intake), None) => intake,
            (None, None) => {
                let message = format!(
                    "this actum has no implementation of the action `{}`",
                    plan.action_type
                );
                return Err(ActionError::rejected(Reason::UnknownAction, message));
            }
        };
        check_provided(plan, registered, &task, report.tier)?;
        let places = Places::new(&plan.scope)?;
        // The changes of a command or package are unknown until it has run, and are checked then.
        if let Task::Work(Work::Apply(operations)) = &task {
            places.check_asked(operations)?;
        }
        let checks = plan.verification.commands.iter().enumerate();
        let checks: Vec<CommandLine> = task
            .checks()
            .iter()
            .cloned()
            .map(Ok)
            .chain(checks.map(|(index, text)| {
                command_line(&format!("verification.commands[{index}]"), text)
            }))
            .collect::<Result<_, _>>()?;
        let runs_something = !checks.is_empty() || repair.is_some() || task.runs_something();
        let confinement = match (&self.runner, runs_something) {
            (_, false) => None,
            (Some(runner), true) => {
                Some(runner.clone().finding_programs_outside().policy().clone())
            }
            (None, true) => return Err(crate::Error::from(crate::CommandError::NoRunner).into()),
        };
        let commands = task.commands()?;
        let action = RequestedAction {
            plan: plan.clone(),
            phase: if task.runs_something() { Phase::ToRun } else { Phase::Computed },
            commands,
            package: digest,
            output: None,
            agreed: None,
        };
        let work = match &task {
            Task::Work(work) => work.clone(),
            Task::Command { .. } | Task::Diagnosis(_) | Task::Package(_) => Work::Apply(Vec::new()),
        };
        let request = Request {
            work,
            limits: Limits {
                scope: places.scope()?,
                budget: Budget::unlimited(),
                hard_links: HardLinks::Refuse,
                existing_files: ExistingFiles::Keep,
                hunk_places: HunkPlaces::Stated,
                later_edits: LaterEdits::Refuse,
            },
            label: Some(label(plan)),
            actor: proposal.actor.clone(),
            entry_point: EntryPoint::Action,
            key: proposal.key.clone(),
            declared: Some(report.tier),
            plan: None,
            part_of: None,
            task: None,
            lease: None,
            file_task: None,
            umask: None,
            images: BTreeMap::new(),
            sql_rows: None,
            queries: Vec::new(),
            commands: Commands { checks, repair, confinement, ..Commands::default() },
            action: Some(Box::new(action)),
            wait: proposal.wait,
        };
        Ok(Proposed { request, task })
    }
}

fn check_active(registered: &Registered) -> Result<(), ActionError> {
    let name = &registered.name;
    let message = match registered.state {
        ActionState::Active => return Ok(()),
        ActionState::Draft => format!("the action `{name}` is a draft and was never activated"),
        ActionState::Retired => format!("the action `{name}` was retired"),
    };
    Err(ActionError::rejected(Reason::ActionNotActive, message))
}

/// Checks that the manifest of the package permits every verification command of the plan (AA-7).
fn check_permitted(plan: &PlanEnvelope, package: &Package) -> Result<(), ActionError> {
    let permitted = &package.manifest.permissions.commands;
    match plan.verification.commands.iter().find(|command| !permitted.contains(command)) {
        Some(command) => {
            let command = Harmless(command.as_bytes());
            let message = format!(
                "`verification.commands` contains `{command}`, which is not in `permissions.commands` of the package"
            );
            Err(ActionError::rejected(Reason::CommandUnusable, message))
        }
        None => Ok(()),
    }
}

/// Checks that the plan of an R2 action that writes files provides a verification and a rollback plan (AA-3).
fn check_provided(
    plan: &PlanEnvelope,
    registered: &Registered,
    task: &Task,
    tier: RiskTier,
) -> Result<(), ActionError> {
    if tier != RiskTier::R2 || !registered.flags.writes {
        return Ok(());
    }
    if !plan.verification.required {
        let message = "an R2 action that writes files must set `verification.required` to true";
        return Err(ActionError::rejected(Reason::VerificationNeeded, message));
    }
    if plan.verification.commands.is_empty() && !task.has_built_in_check() {
        let message = format!(
            "an R2 action that writes files must be checked, but `{}` has no built-in check: add a command to \
             `verification.commands`",
            plan.action_type
        );
        return Err(ActionError::rejected(Reason::VerificationNeeded, message));
    }
    let has_plan = match &plan.rollback_plan {
        None => false,
        Some(RollbackPlan::Text(text)) => !text.trim().is_empty(),
        Some(RollbackPlan::Object(object)) => !object.is_empty(),
    };
    match has_plan {
        true => Ok(()),
        false => {
            let message =
                "an R2 action that writes files needs a `rollbackPlan` that says how to undo it";
            Err(ActionError::rejected(Reason::RollbackPlanNeeded, message))
        }
    }
}
