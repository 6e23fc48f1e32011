//! Collects facts about an action while it runs, for its result envelope and its ledger entry.

use std::any::Any;

use actum_action::limits::{CHECKS_MAX, RESULT_BYTES_MAX};
use actum_action::{
    Check, MalformedPlan, PlanEnvelope, PlanScope, ResultEnvelope, VerificationPlan,
    VerificationResult,
};
use actum_core::{Digest, RiskTier, RunId, Status, Timestamp};
use actum_gate::credential::spans;
use actum_ledger::{Activity, ActivityMark, NewEntry};
use actum_record::ledger::{
    ActionCheck, ActionEnded, ActionStarted, Actor, Agreed, Attempt, TenantId, WorkspaceId,
};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::{EffectKind, PathEffect};
use actum_task::report::CleanText;
use actum_workspace::disk::Disk;
use serde_json::{Map, Value, json};

use super::action_error::{ActionError, Waiting};
use crate::companion::{ActionCompanion, ActionRefusal, ActionStart, InForce};
use crate::engine::Rules;
use crate::engine::outcome::settled_status;
use crate::engine::settle::Done;
use crate::engine::stage::{Begun, PartOf, Staged};
use crate::error::Error;
use crate::feedback;
use crate::reason::Reason;
use crate::request::EntryPoint;

/// Maximum number of changed paths listed in a result.
const PATHS_MAX: usize = 1000;

/// Facts about an action, collected while it runs.
pub(super) struct ActionReport {
    pub(super) id: RunId,
    pub(super) plan: PlanEnvelope,
    /// Digest of the plan envelope.
    digest: Digest,
    workspace: WorkspaceId,
    pub(super) began: Timestamp,
    /// Effective risk tier. It can rise as more of the action becomes known.
    pub(super) tier: RiskTier,
    pub(super) output: Map<String, Value>,
    /// Output returned by a package. In the result it takes the place of `output`, which moves to the feedback.
    pub(super) returned: Option<Value>,
    pub(super) checks: Vec<Check>,
    pub(super) repair: Attempt,
    /// Wall time of the command, the package steps and the repair in milliseconds, excluding checks.
    pub(super) command_ms: u64,
    /// Run that changed the workspace, with the ledger index of its receipt.
    pub(super) run: Option<(RunId, u64)>,
    /// Whether an earlier run already made the change under the same request key.
    pub(super) is_done_before: bool,
    /// Queued plan whose approval allows this action.
    pub(super) agreed: Option<RunId>,
    /// Whether any part of the action has run in a staged view, whose changes can still be dropped.
    pub(super) is_begun: bool,
    /// Earlier version of the plan that the operator denied, with the stated reason.
    denied: Option<(RunId, Option<String>)>,
    /// Engine error that ended the action, if any.
    pub(super) error: Option<Box<Error>>,
    /// Guard created by the function that was passed to [`Engine::holding`](crate::Engine::holding).
    pub(super) held: Option<Box<dyn Any>>,
    /// On-disk mark that the action is in progress.
    pub(super) acting: Option<ActivityMark>,
    /// Companion log, whose entries are appended together with those of the action.
    pub(super) companion: Option<Box<dyn ActionCompanion>>,
}

/// Result envelope of an action, with its error, its in-progress mark and its companion log.
pub(super) type Ended =
    (ResultEnvelope, Option<Box<Error>>, Option<ActivityMark>, Option<Box<dyn ActionCompanion>>);

/// Status with which an action ended, and its explanation.
pub(super) struct Ending {
    pub(super) status: Status,
    pub(super) reason: Option<&'static str>,
    pub(super) message: Option<String>,
    pub(super) queued: Option<(RunId, Timestamp)>,
}

impl ActionReport {
    pub(super) fn from_action(
        plan: &PlanEnvelope,
        id: RunId,
        workspace: WorkspaceId,
        began: Timestamp,
    ) -> Result<Self, Error> {
        Ok(Self::new(plan.clone(), digest(plan)?, id, workspace, began))
    }

    /// Creates the report for a malformed envelope. Fields that could not be parsed stay empty.
    pub(super) fn of_malformed(
        malformed: &MalformedPlan,
        id: RunId,
        workspace: WorkspaceId,
        began: Timestamp,
    ) -> Self {
        let MalformedPlan { action_id, action_type, declared_tier, digest, error: _ } = malformed;
        let plan = PlanEnvelope {
            action_id: action_id.clone(),
            action_type: action_type.clone(),
            declared_tier: *declared_tier,
            confidence: None,
            reason: None,
            input: Map::new(),
            rollback_plan: None,
            verification: VerificationPlan { required: false, commands: Vec::new() },
            scope: PlanScope::default(),
        };
        Self::new(plan, *digest, id, workspace, began)
    }

    fn new(
        plan: PlanEnvelope,
        digest: Digest,
        id: RunId,
        workspace: WorkspaceId,
        began: Timestamp,
    ) -> Self {
        Self {
            id,
            digest,
            workspace,
            began,
            tier: plan.tier(),
            plan,
            output: Map::new(),
            returned: None,
            checks: Vec::new(),
            repair: Attempt::default(),
            command_ms: 0,
            run: None,
            is_done_before: false,
            agreed: None,
            is_begun: false,
            denied: None,
            error: None,
            held: None,
            acting: None,
            companion: None,
        }
    }

    /// Records the start of the action in the ledger before any part of it runs.
    pub(super) fn begin<D: Disk>(
        &mut self,
        staged: &Staged<'_, D>,
        agreed: Option<Agreed>,
    ) -> Result<(), ActionError> {
        let plan = agreed.as_ref().map(|agreed| agreed.approval.plan);
        let entries = self.starting(staged, agreed)?;
        staged.begun.records.append_start(entries)?;
        if let Some(plan) = plan {
            staged.begun.records.forget_input(plan);
        }
        self.agreed = self.agreed.or(plan);
        Ok(())
    }

    /// Makes the staged change part of the action.
    ///
    /// If no part of the action has run yet, the start of the action is recorded together with the change. Otherwise
    /// the policy is read again and the companion checks that the action is still allowed.
    pub(super) fn join<D: Disk>(
        &mut self,
        staged: &mut Staged<'_, D>,
        rules: &Rules,
    ) -> Result<(), ActionError> {
        let begins = match &self.acting {
            Some(_) => {
                if let Some(companion) = &mut self.companion {
                    let records = staged.begun.records;
                    let (policy, _) = rules.read(&records.ledger)?;
                    match companion.check_in_force(&InForce { records, policy: &policy }) {
                        Ok(()) => {}
                        Err(ActionRefusal::Refused { reason, message }) => {
                            return Err(ActionError::reverted(reason, message));
                        }
                        Err(ActionRefusal::Engine(error)) => return Err(error.into()),
                    }
                }
                Vec::new()
            }
            None => self.starting(staged, None)?,
        };
        staged.part_of = Some(PartOf { action: self.id, begins });
        Ok(())
    }

    /// Marks the action as in progress and returns the ledger entries for its start, with those of the companion first.
    fn starting<D: Disk>(
        &mut self,
        staged: &Staged<'_, D>,
        agreed: Option<Agreed>,
    ) -> Result<Vec<NewEntry>, ActionError> {
        let started = self.started(staged, agreed)?;
        let entry = feedback::begins(&started).map_err(Error::from)?;
        let mut entries = Vec::new();
        if let Some(companion) = &mut self.companion {
            let (leaf, started) = (leaf_hash(&entry.body), &started);
            let Begun { records, policy, .. } = &staged.begun;
            let in_force = InForce { records, policy };
            entries = companion.start(&ActionStart { in_force, started, leaf })?;
        }
        entries.push(entry);
        Ok(entries)
    }

    /// Marks the action as in progress and returns the record of its start.
    fn started<D: Disk>(
        &mut self,
        staged: &Staged<'_, D>,
        agreed: Option<Agreed>,
    ) -> Result<ActionStarted, Error> {
        let records = staged.begun.records;
        self.acting = Some(records.marks().begin(Activity::Action, self.id, self.workspace)?);
        Ok(ActionStarted {
            format: ActionStarted::FORMAT.to_owned(),
            time: records.clock.now(),
            tenant: records.tenant.clone(),
            workspace: self.workspace,
            root: staged.begun.root.to_owned(),
            id: self.id,
            action_id: self.plan.action_id.clone(),
            action_type: self.plan.action_type.clone(),
            tier: self.tier,
            confidence: self.plan.confidence,
            reason: self.plan.reason.clone(),
            plan: self.digest,
            actor: staged.request.actor.clone(),
            door: EntryPoint::Action.as_str().to_owned(),
            agreed,
            engine: crate::records::ENGINE.to_owned(),
        })
    }

    /// Adds the outcome of the run that carried out the action.
    pub(super) fn made(&mut self, done: &Done) {
        let result = &done.receipt.statement.predicate;
        self.run = Some((result.run, done.receipt.index));
        self.is_done_before = done.committed.is_none();
        self.tier = self.tier.max(result.decision.tier);
        self.agreed = self.agreed.or(result.approval.as_ref().map(|approval| approval.plan));
        self.changed(&result.paths);
        self.output.insert("run".to_owned(), json!(result.run));
        if let Some(undone) = result.undoes {
            self.output.insert("undone".to_owned(), json!(undone));
        }
    }

    /// Returns the total wall time of commands, package steps and checks in milliseconds.
    pub(super) fn command_ms(&self) -> u64 {
        let of_checks = self.checks.iter().filter_map(|check| check.duration_ms);
        of_checks.fold(self.command_ms, u64::saturating_add)
    }

    /// Adds the results of the checks that ran, including a failed one.
    pub(super) fn checked(&mut self, checked: Result<&[Check], &Error>) {
        match checked {
            Ok(results) => self.checks.extend_from_slice(results),
            Err(Error::Unverified { results, .. }) => self.checks.extend_from_slice(results),
            // A check that could not be started has no result.
            Err(_) => {}
        }
    }

    /// Lists the changed paths in the output, up to [`PATHS_MAX`] of them.
    pub(super) fn changed(&mut self, paths: &[PathEffect]) {
        let changes = paths.iter().take(PATHS_MAX).map(|effect| {
            let mut change = Map::new();
            change.insert("path".to_owned(), json!(effect.path.0.to_string()));
            change.insert("effect".to_owned(), json!(effect.effect.as_str()));
            if let (EffectKind::Renamed, Some(from)) = (effect.effect, &effect.from) {
                change.insert("from".to_owned(), json!(from.0.to_string()));
            }
            Value::Object(change)
        });
        self.output.insert("changes".to_owned(), Value::Array(changes.collect()));
        self.output.insert("changed".to_owned(), json!(paths.len()));
    }

    /// Returns the status and the message of the ended action.
    ///
    /// If a stop was requested and the change was dropped, the action is reported as interrupted, because the stop may
    /// have caused the failure.
    ///
    /// # Errors
    /// Returns the engine error if the action has no result.
    pub(super) fn ending(
        &mut self,
        end: Result<(), ActionError>,
        is_stopped: bool,
    ) -> Result<Ending, Error> {
        let (status, reason, message, queued) = match end {
            Err(
                ActionError::Ended { status: Status::Reverted, .. }
                | ActionError::Unverified(_)
                | ActionError::PackageUnverified { .. },
            ) if is_stopped => {
                let message = "the action was interrupted before it finished; nothing was changed";
                (Status::Reverted, Some(Reason::Interrupted.name()), Some(message.to_owned()), None)
            }
            Ok(()) => (Status::Succeeded, None, None, None),
            Err(ActionError::Ended { status, reason, message, error }) => {
                self.error = error;
                (status, Some(reason.name()), Some(message), None)
            }
            Err(ActionError::Queued(Waiting { plan, tier, expires, error })) => {
                let message = self.why_queued(error.with_state());
                self.denied = denied(&error);
                self.error = Some(error);
                self.tier = self.tier.max(tier);
                let reason = Reason::NeedsApproval.name();
                (Status::Queued, Some(reason), Some(message), Some((plan, expires)))
            }
            Err(ActionError::Unverified(error)) => {
                let reason = crate::reason::of_engine(&error).name();
                let message = without_output(&error);
                self.error = Some(error);
                (Status::Reverted, Some(reason), Some(message), None)
            }
            Err(ActionError::PackageUnverified { check }) => {
                let message = format!("the package's check `{check}` failed; nothing was changed");
                let reason = Reason::VerificationFailed.name();
                (Status::Reverted, Some(reason), Some(message), None)
            }
            Err(ActionError::Broken(error)) => return Err(*error),
        };
        Ok(Ending { status, reason, message, queued })
    }

    /// Extends the message of a queued action if its plan declares no tier. Such a plan is treated as R4, so the
    /// message suggests a tier to declare.
    fn why_queued(&self, message: String) -> String {
        match self.plan.declared_tier {
            Some(_) => message,
            None => format!(
                "the plan declares no `riskTier`, so it is treated as R4 (declare `R2` for ordinary changes that can be undone): {message}"
            ),
        }
    }

    /// Creates the ledger entry for the end of the action.
    pub(super) fn entry(
        &self,
        ending: &Ending,
        (tenant, root): (&TenantId, &str),
        actor: &Actor,
        now: Timestamp,
    ) -> ActionEnded {
        let checks = self.checks.iter().map(|check| ActionCheck {
            name: check.name.clone(),
            ok: check.ok,
            exit_code: check.exit_code,
            duration_ms: check.duration_ms,
        });
        ActionEnded {
            format: ActionEnded::FORMAT.to_owned(),
            time: now,
            tenant: tenant.clone(),
            workspace: self.workspace,
            root: root.to_owned(),
            id: self.id,
            action_id: self.plan.action_id.clone(),
            action_type: self.plan.action_type.clone(),
            tier: self.tier,
            confidence: self.plan.confidence,
            reason: self.plan.reason.clone(),
            plan: self.digest,
            actor: actor.clone(),
            door: EntryPoint::Action.as_str().to_owned(),
            status: ending.status,
            ground: ending.reason.map(str::to_owned),
            message: self.recorded_message(ending),
            checks: checks.collect(),
            repair: self.repair,
            rollback: feedback::rollback(ending.status, self.is_begun),
            run: self.run.map(|(run, _)| run).or(self.unsettled()),
            queued: ending.queued.map(|(plan, _)| plan),
            approved: self.agreed,
            duration_ms: duration_ms(self.began, now),
            engine: crate::records::ENGINE.to_owned(),
        }
    }

    /// Returns the message to record in the ledger, without file contents and credentials (EX-20), because nothing can
    /// be removed from the ledger later.
    fn recorded_message(&self, ending: &Ending) -> Option<String> {
        let message = ending.message.as_deref()?;
        let recorded = match self.error.as_deref() {
            Some(Error::Workspace(error)) => CleanText::new(&error.without_content(), &spans),
            Some(_) | None => CleanText::new(message, &spans),
        };
        Some(recorded.to_string())
    }

    /// Returns the run that changed files, or may have changed them, if it has no receipt yet.
    fn unsettled(&self) -> Option<RunId> {
        match self.error.as_deref() {
            Some(Error::Unsettled { run, state, .. }) => {
                settled_status(*state).is_none().then_some(*run)
            }
            Some(_) | None => None,
        }
    }

    /// Converts the report into the result envelope, which lacks the index of its ledger entry, and the remaining
    /// parts.
    pub(super) fn into_result(mut self, ending: &Ending, now: Timestamp) -> Ended {
        let left = (self.error.take(), self.acting.take(), self.companion.take());
        (self.envelope(ending, now), left.0, left.1, left.2)
    }

    fn envelope(self, ending: &Ending, now: Timestamp) -> ResultEnvelope {
        let rollback = feedback::rollback(ending.status, self.is_begun);
        let is_done = ending.status == Status::Succeeded;
        let ok = is_done && self.checks.iter().all(|check| check.ok);
        let mut feedback = Map::new();
        let mut insert = |name: &str, value: Value| {
            feedback.insert(name.to_owned(), value);
        };
        insert("id", json!(self.id));
        // The index of the ledger entry is not known yet. The placeholder reserves enough space for any index.
        insert("entry", json!(u64::MAX >> 11));
        insert("durationMs", json!(duration_ms(self.began, now)));
        if let Some(reason) = ending.reason {
            insert("reason", json!(reason));
        }
        if let Some(message) = &ending.message {
            insert("message", json!(message));
        }
        if let Some((run, receipt)) = self.run {
            insert("run", json!(run));
            insert("receipt", json!(receipt));
        }
        if self.is_done_before {
            insert("doneBefore", json!(true));
        }
        if let Some(plan) = self.agreed {
            insert("approvedAs", json!(plan));
        }
        if let Some(reason) = ending.reason {
            insert("help", json!(format!("actum explain {reason}")));
        }
        if let Some((plan, reason)) = &self.denied {
            insert("denied", json!({ "plan": plan, "reason": reason }));
        }
        if let Some((plan, expires)) = ending.queued {
            insert("plan", json!(plan));
            insert("expires", json!(expires));
        }
        let output = match self.returned {
            Some(returned) => {
                feedback.extend(self.output);
                returned
            }
            None => Value::Object(self.output),
        };
        shortened(ResultEnvelope {
            output,
            verification: VerificationResult { ok, checks: self.checks },
            repair: self.repair,
            rollback,
            feedback,
            ..ResultEnvelope::new(ending.status, self.plan.action_type, self.tier)
        })
    }
}

/// Formats the error of a failed check without the output of the check.
///
/// The message is recorded in the ledger, and the output may contain file contents. The result reports the output with
/// the check instead.
fn without_output(error: &Error) -> String {
    let Error::Unverified { check, record, .. } = error else { return error.with_state() };
    let (check, record) = (check.clone(), record.clone());
    Error::Unverified { check, record, output: String::new(), results: Vec::new() }.with_state()
}

/// Returns the earlier version of a queued plan that the operator denied, with the stated reason.
fn denied(error: &Error) -> Option<(RunId, Option<String>)> {
    let Error::Queued { denied, .. } = error else { return None };
    denied.clone()
}

/// Shortens a result that exceeds the size limit, and marks it as shortened.
///
/// Drops the output of passed checks first, then the output of all checks, and finally the output of the action.
fn shortened(mut envelope: ResultEnvelope) -> ResultEnvelope {
    let checks = &mut envelope.verification.checks;
    if checks.len() > CHECKS_MAX {
        // List failed checks first, so that they are not the ones to be summarized.
        checks.sort_by_key(|check| check.ok);
        let more = checks.split_off(CHECKS_MAX - 1);
        let all_hold = more.iter().all(|check| check.ok);
        checks.push(Check::new(format!("{} more checks", more.len()), all_hold));
    }
    let is_small = |envelope: &ResultEnvelope| {
        serde_json::to_vec(envelope).is_ok_and(|bytes| bytes.len() <= RESULT_BYTES_MAX)
    };
    for of_all in [false, true] {
        if is_small(&envelope) {
            break;
        }
        for check in envelope.verification.checks.iter_mut().filter(|check| of_all || check.ok) {
            (check.stdout, check.stderr) = (None, None);
        }
        envelope.feedback.insert("shortened".to_owned(), json!(true));
    }
    if !is_small(&envelope) {
        envelope.output = Value::Object(Map::new());
    }
    envelope
}

/// Returns the time between two timestamps in milliseconds, or 0 if the clock ran backwards.
fn duration_ms(began: Timestamp, now: Timestamp) -> u64 {
    let micros = now.micros().saturating_sub(began.micros());
    u64::try_from(micros / 1000).unwrap_or(0)
}

/// Computes the digest of a plan envelope from its canonical JSON.
fn digest(plan: &PlanEnvelope) -> Result<Digest, Error> {
    let bytes = actum_core::canonical::to_vec(plan)?;
    Ok(Digest::tagged("actum/plan-envelope/v1", &[&bytes]))
}
