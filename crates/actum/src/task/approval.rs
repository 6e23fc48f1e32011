//! Approval of a task plan: the envelope with which it is executed, signed when an approver agrees to its change (EX-1,
//! AA-5).

use std::sync::Arc;

use actum_core::plain_id::PlainId;
use actum_core::{Digest, RunId, Timestamp, canonical};
use actum_record::dsse::Envelope;
use actum_record::ledger::{Actor, Answer, WorkspaceId};
use actum_record::receipt::{ExternalPipeline, PathEffect};
use actum_task::limits::APPROVAL_BYTES_MAX;
use actum_task::{TaskApproval, TaskEnvelope, TaskId, verify_task_approval};
use serde_json::json;

use super::rehearsal::{Rehearsal, RehearsalObserver, Script};
use super::run::{APPROVAL_FILE, options, request};
use crate::engine::Engine;
use crate::error::Error;
use crate::queue::{APPROVED_MICROS, Approver, Reply};
use crate::records::Records;
use crate::request::TaskDocuments;

/// Approved task plan: its documents, for one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedPlan {
    /// Id of the task.
    pub task: TaskId,
    /// Workspace in which it is executed.
    pub workspace: WorkspaceId,
    /// SHA-256 of the plan.
    pub plan: Digest,
    /// SHA-256 of the system config.
    pub config: Digest,
}

/// Change of a plan as the approver saw it.
#[derive(Debug, Clone)]
pub struct ShownChange {
    /// Each path before and after.
    pub effects: Arc<[PathEffect]>,
    /// External pipelines, in the order in which they run.
    pub external: Vec<ExternalPipeline>,
    /// Umask that gave new files their modes.
    pub umask: u32,
    /// Digest by which the gates judged it; `None` for an empty change.
    pub digest: Option<Digest>,
}

/// Signed approval of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedApproval {
    /// DSSE envelope, the content of `task_approval.json`.
    pub bytes: Vec<u8>,
    /// Time at which it expires.
    pub expires: Timestamp,
}

/// Reason why a plan was not approved.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The signed document would exceed its limit.
    #[error(
        "the paths of its change are so many or so long that the approval would be longer than {} MiB",
        APPROVAL_BYTES_MAX >> 20
    )]
    TooLong,
    /// The change differs from the one that was shown.
    #[error(
        "the change differs from the one shown: a file changed, or a step does not give the same result twice \
         (pipelines need `inputs` to keep results); review it again"
    )]
    ChangedSinceShown,
    /// The created document does not verify or cannot be read.
    #[error("{0}")]
    Unsound(String),
    /// Error of the engine.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl ApprovedPlan {
    /// Signs the approval of exactly this change, for 24 hours.
    ///
    /// # Errors
    /// `TooLong`; `Unsound` if the key does not count for approvals; `Engine` with `Sign` or `Record`.
    pub fn sign(
        &self,
        records: &Records,
        shown: &ShownChange,
        reason: Option<String>,
        approver: &Approver<'_>,
    ) -> Result<SignedApproval, ApprovalError> {
        let now = records.clock.now();
        let expires = Timestamp::from_micros(now.micros().saturating_add(APPROVED_MICROS));
        let approval = TaskApproval {
            format: TaskApproval::FORMAT.to_owned(),
            time: now,
            expires,
            tenant: records.tenant.clone(),
            workspace: self.workspace,
            task: self.task.clone(),
            plan: self.plan,
            config: self.config,
            change: shown.effects.to_vec(),
            external: shown.external.clone(),
            umask: shown.umask,
            reason,
            by: approver.by.clone(),
            isolation: approver.isolation,
        };
        let payload = canonical::to_vec(&approval).map_err(Error::from)?;
        let envelope = Envelope::sign(TaskApproval::PAYLOAD_TYPE, payload, approver.signer);
        let bytes = envelope.map_err(Error::from)?.to_vec().map_err(Error::from)?;
        verify_task_approval(&bytes, records.keyring())
            .map_err(|error| ApprovalError::Unsound(error.to_string()))?;
        match bytes.len() > APPROVAL_BYTES_MAX {
            true => Err(ApprovalError::TooLong),
            false => Ok(SignedApproval { bytes, expires }),
        }
    }

    /// Writes the envelope of the plan, whose documents have these names. It names the signed approval, if any.
    ///
    /// # Errors
    /// `Unsound` if `actum run` would not read it.
    pub fn envelope(
        &self,
        (plan, config): (&str, &str),
        is_signed: bool,
    ) -> Result<Vec<u8>, ApprovalError> {
        let mut envelope = json!({
            "config": { "file": config, "sha256": self.config.to_string() },
            "format": TaskEnvelope::FORMAT,
            "plan": { "file": plan, "sha256": self.plan.to_string() },
            "protocol_validation": true,
            "status": "APPROVED",
            "task_id": self.task.as_str(),
            "workspace": self.workspace.to_string(),
        });
        if let Some(envelope) = envelope.as_object_mut().filter(|_| is_signed) {
            envelope.insert("approval".to_owned(), json!(APPROVAL_FILE));
        }
        let text = format!("{envelope:#}\n").into_bytes();
        match TaskEnvelope::read(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(ApprovalError::Unsound(error.to_string())),
        }
    }
}

/// Queues the change of a plan for which a gate requires approval, and approves it if it is the one that was shown.
/// Otherwise the change is denied. Does nothing if no gate requires approval.
///
/// # Errors
/// `ChangedSinceShown`; `Engine` with `Denied`, or with the errors of [`Records::answer`].
pub fn approve_change(
    engine: &mut Engine,
    task: (Script<'_>, TaskDocuments),
    asked: (&PlainId, Actor),
    (shown, watch): (&ShownChange, &mut dyn RehearsalObserver),
    (approver, reason): (&Approver<'_>, Option<String>),
) -> Result<(), ApprovalError> {
    let Some(plan) = queue(engine, task, asked, watch)? else { return Ok(()) };
    let queued = engine.records.plan(plan)?;
    let is_shown = Some(queued.queued.plan.bound.change) == shown.digest;
    let reply = match is_shown {
        true => Reply { answer: Answer::Approved, reason },
        false => {
            let reason = Some("a file changed after it was shown".to_owned());
            Reply { answer: Answer::Denied, reason }
        }
    };
    engine.records.answer(&queued, reply, approver)?;
    match is_shown {
        true => Ok(()),
        false => Err(ApprovalError::ChangedSinceShown),
    }
}

/// Queues the current change of a plan, if a gate requires approval. Nothing is executed.
fn queue(
    engine: &mut Engine,
    (script, documents): (Script<'_>, TaskDocuments),
    (task, actor): (&PlainId, Actor),
    watch: &mut dyn RehearsalObserver,
) -> Result<Option<RunId>, Error> {
    let mut begun = engine.begin(options(script, task))?;
    let rehearsal = Rehearsal::on(&mut begun.transaction, script, watch);
    let work = (rehearsal.operations, rehearsal.actions.as_slice());
    let request = request((script, task), documents, work, actor);
    match begun.done(request, 1)?.clear() {
        Ok(_) | Err(Error::NothingToChange) => Ok(None),
        Err(Error::Queued { plan, .. }) => Ok(Some(plan)),
        Err(error) => Err(error),
    }
}
