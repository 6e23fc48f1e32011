//! Propose: checks an action as far as possible before it has any effect (AA-1, AA-3, AA-4, AA-7).

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

/// Proposed action after its first checks.
pub(super) struct Proposed {
    /// Request for the pipeline.
    pub(super) request: Request,
    /// Task that the request was made from.
    pub(super) task: Task,
}

impl<D: Disk> Engine<D> {
    /// Returns the request and task of a proposal, if nothing known beforehand forbids it.
    pub(super) fn propose(
        &mut self,
        proposal: &Proposal,
        story: &mut ActionReport,
    ) -> Result<Proposed, ActionError> {
        let plan = &proposal.plan;
        // An unreadable policy allows nothing.
        self.rules.read(&self.records.ledger)?;
        let catalog = self.records.catalog()?.in_force().map_err(Error::from)?;
        let registered = catalog.find(&plan.action_type).ok_or_else(|| {
            let known: Vec<_> = catalog.actions().map(|action| action.name.as_str()).collect();
            let asked = &plan.action_type;
            let meant = match suggestion::suggest(asked.as_str(), &known) {
                Some(meant) => format!(", perhaps `{meant}` is meant"),
                None => String::new(),
            };
            let message = format!("there is no action `{asked}` in the catalog{meant}");
            ActionError::rejected(Reason::UnknownAction, message)
        })?;
        check_active(registered)?;
        registered.input_schema.check(&plan.input).map_err(ActionError::input)?;
        story.tier = plan.tier().max(registered.tier);
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
                let message = format!("this program cannot do the action `{}`", plan.action_type);
                return Err(ActionError::rejected(Reason::UnknownAction, message));
            }
        };
        check_provided(plan, registered, &task, story.tier)?;
        let places = Places::new(&plan.scope)?;
        // Changes of a command are checked only after it ran.
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
            door: EntryPoint::Action,
            key: proposal.key.clone(),
            declared: Some(story.tier),
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
    let told = match registered.state {
        ActionState::Active => return Ok(()),
        ActionState::Draft => format!("the action `{name}` is a draft that nobody has activated"),
        ActionState::Retired => format!("the action `{name}` was retired"),
    };
    Err(ActionError::rejected(Reason::ActionNotActive, told))
}

/// Checks that each verification command is permitted by the package's manifest (AA-7).
fn check_permitted(plan: &PlanEnvelope, package: &Package) -> Result<(), ActionError> {
    let permitted = &package.manifest.permissions.commands;
    match plan.verification.commands.iter().find(|command| !permitted.contains(command)) {
        Some(command) => {
            let command = Harmless(command.as_bytes());
            let message = format!(
                "`verification.commands` has `{command}`, which is not in `permissions.commands` of the package"
            );
            Err(ActionError::rejected(Reason::CommandUnusable, message))
        }
        None => Ok(()),
    }
}

/// Checks that a writing action of R2 states how it is verified and how it is rolled back (AA-3).
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
        let message = "the action is of R2 and writes, so `verification.required` has to be true";
        return Err(ActionError::rejected(Reason::VerificationNeeded, message));
    }
    if plan.verification.commands.is_empty() && !task.has_built_in_check() {
        let message = format!(
            "the action is of R2 and writes, and `{}` has no check of its own, so `verification.commands` has to \
             name one",
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
                "the action is of R2 and writes, so `rollbackPlan` has to say how it is taken back";
            Err(ActionError::rejected(Reason::RollbackPlanNeeded, message))
        }
    }
}
