//! Records a plan with protected targets in the ledger, like any other change that a gate denies (EX-18).

use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath, RunId, canonical};
use actum_gate::policy::Profile;
use actum_gate::{Bundle, Case, Verdict, decide};
use actum_ledger::NewEntry;
use actum_record::ledger::{Actor, EntryKind, JudgedPlan, PlanRefused, WorkspaceId};
use actum_record::receipt::{EffectKind, PathEffect};

use actum_workspace::Limits;

use super::input::Task;
use super::run::label;
use crate::error::Result;
use crate::policies::PolicyInForce;
use crate::records::Records;
use crate::request::{EntryPoint, limits_digest};

/// Returns a placeholder effect with which the gates judge a target before its actual change is known.
pub(super) fn effect(path: &RelPath) -> PathEffect {
    PathEffect {
        path: PathName(path.clone()),
        effect: EffectKind::Modified,
        from: None,
        before: None,
        after: None,
        added: 0,
        removed: 0,
    }
}

/// Records in the ledger that a plan was refused because of protected targets. Nothing is recorded if no policy protects
/// them, for example for task reports, whose protection is built in.
///
/// # Errors
/// `Ledger`, `Record`.
pub(super) fn record(
    records: &Records,
    in_force: &PolicyInForce,
    (task, limits, actor): (&Task, &Limits, &Actor),
    (id, workspace): (RunId, WorkspaceId),
    targets: &[RelPath],
) -> Result<()> {
    let in_force = in_force.clone().guarded(Profile::AgentExecutor);
    let (policy, place) = (in_force.policy.to_vec()?, in_force.place());
    let mut targets: Vec<_> = targets.iter().map(effect).collect();
    targets.sort_by(|a, b| a.path.0.cmp(&b.path.0));
    targets.dedup();
    let case = Case {
        plan: Digest::tagged("actum/task-plan/v1", &[&task.input.plan]),
        limits: limits_digest(limits),
        time: records.clock.now(),
        actor: actor.clone(),
        door: EntryPoint::TaskPlan.as_str().to_owned(),
        tenant: records.tenant.clone(),
        root: place.root.clone(),
        enclosing: place.enclosing.clone(),
        ..Case::new(targets)
    };
    let bundle = Bundle::new(Digest::of(&policy), case);
    let decision = decide(&bundle, &in_force.policy, &in_force.cedar);
    if decision.verdict != Verdict::Deny {
        return Ok(());
    }
    let bytes = bundle.to_vec()?;
    let refused = PlanRefused {
        format: PlanRefused::FORMAT.to_owned(),
        time: bundle.time(),
        plan: JudgedPlan {
            id,
            tenant: records.tenant.clone(),
            workspace,
            root: place.root,
            undoes: None,
            request: None,
            actor: actor.clone(),
            door: EntryPoint::TaskPlan.as_str().to_owned(),
            label: label(&task.id),
            bound: bundle.bound()?,
            decision: decision.record(&bytes)?,
            lease: None,
            engine: crate::records::ENGINE.to_owned(),
        },
    };
    let body = canonical::to_vec(&refused)?;
    let entry = NewEntry { kind: EntryKind::PlanRefused, body, blobs: vec![bytes, policy] };
    records.ledger.append(vec![entry]).wait()?;
    Ok(())
}
