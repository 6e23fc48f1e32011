//! Looks up plans in the approval queue by a typed id, and locates their workspaces.

use std::path::{Path, PathBuf};

use actum::{EntryPoint, QueuedPlan};
use actum_core::RunId;
use actum_record::ledger::{JudgedPlan, RequestKey, WorkspaceId};
use actum_workspace::View;

use crate::failure::Failure;
use crate::home::Tenant;
use crate::ledger_queue::Queue;
use crate::plan_failure::PlanFailure;
use crate::root;
use crate::run_prefix::RunPrefix;
use crate::session::Session;

/// Finds the plan that `prefix` selects. A missing ledger is reported as a missing plan.
pub(crate) fn find(prefix: &RunPrefix, session: &Session) -> Result<(Queue, QueuedPlan), Failure> {
    let none = || PlanFailure::None { prefix: prefix.to_string() };
    let queue = Queue::open(&session.tenant)?.ok_or_else(none)?;
    let plan = queue.find(prefix, &session.start)?;
    Ok((queue, plan))
}

/// Reads the current state of a plan whose full id is known.
pub(crate) fn answered(id: RunId, tenant: &Tenant) -> Result<(Queue, QueuedPlan), Failure> {
    let none = || PlanFailure::None { prefix: id.to_string() };
    let queue = Queue::open(tenant)?.ok_or_else(none)?;
    let plan = queue.plan(id)?.ok_or_else(none)?;
    Ok((queue, plan))
}

/// Returns the root of a plan's workspace: the current workspace if the plan belongs to it, or else the recorded path.
pub(crate) fn root_of(plan: &QueuedPlan, session: &Session) -> Result<PathBuf, Failure> {
    let recorded_root = &plan.queued.plan.root;
    let here = root::existing(&session.start).to_owned();
    [here, PathBuf::from(recorded_root)]
        .into_iter()
        .find(|root| is_at(root, plan.row.workspace))
        .ok_or_else(|| {
            PlanFailure::Elsewhere { plan: plan.id(), root: recorded_root.clone() }.into()
        })
}

/// Returns whether the workspace at `root` has the given id. One that cannot be read counts as a different workspace.
fn is_at(root: &Path, workspace: WorkspaceId) -> bool {
    let id = root::is_made(root).then(|| View::open(root)?.workspace_id());
    id.is_some_and(|id| id.is_ok_and(|id| id == Some(workspace)))
}

/// Returns the only command that can carry out this plan, or `None` if its approval carries it out. Task plans and the steps
/// of an agent need their own command, because it also writes the task's reports or the chain of the goal.
pub(crate) fn own_command(plan: &JudgedPlan) -> Option<&'static str> {
    if plan.request.as_ref().is_some_and(RequestKey::is_of_step) {
        return Some("actum agent dispatch");
    }
    let entry_point = EntryPoint::from_name(&plan.door)?;
    (!entry_point.is_carried_out_by_approval()).then_some(match plan.undoes {
        Some(_) => "actum rollback",
        None => "actum run",
    })
}
