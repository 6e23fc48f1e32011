//! Approval of a task plan: creates the envelope that `actum run` requires, and signs the change that an approver
//! reviewed (EX-1, AA-5).

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

/// Task plan and system config that are approved for one workspace, identified by their digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedPlan {
    /// Id of the approved task.
    pub task: TaskId,
    /// Workspace in which the task may be executed.
    pub workspace: WorkspaceId,
    /// SHA-256 of the task plan.
    pub plan: Digest,
    /// SHA-256 of the system config.
    pub config: Digest,
}

/// Change that a plan would make, as it was shown to the approver.
#[derive(Debug, Clone)]
pub struct ShownChange {
    /// State of each changed path before and after the change.
    pub effects: Arc<[PathEffect]>,
    /// External pipelines of the plan, in the order in which they run.
    pub external: Vec<ExternalPipeline>,
    /// Umask from which the modes of new files were computed.
    pub umask: u32,
    /// Digest of the change that the gates judged. `None` for an empty change.
    pub digest: Option<Digest>,
}

/// Signed approval of a task plan, ready to be written to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedApproval {
    /// DSSE envelope that becomes the content of `task_approval.json`.
    pub bytes: Vec<u8>,
    /// Time at which the approval expires.
    pub expires: Timestamp,
}

/// Reason why a task plan could not be approved.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The signed approval would exceed its size limit.
    #[error(
        "the approval would exceed {} MiB because the plan changes too many or too long paths",
        APPROVAL_BYTES_MAX >> 20
    )]
    TooLong,
    /// The change differs from the one that was shown to the approver.
    #[error(
        "the change differs from the one shown because a file changed or a step's result is not reproducible \
         (pipelines need `inputs` to keep results); review it again"
    )]
    ChangedSinceShown,
    /// A document created for the approval failed verification or could not be read back.
    #[error("{0}")]
    Unsound(String),
    /// The engine reported an error.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl ApprovedPlan {
    /// Signs an approval of exactly the change in `shown`. The approval is valid for 24 hours.
    ///
    /// # Errors
    /// `TooLong`, `Unsound` if the key is not valid for approvals, or `Engine` with `Sign` or `Record`.
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

    /// Creates the envelope of the plan for documents with the given file names. If `is_signed` is set, the envelope refers
    /// to the signed approval.
    ///
    /// # Errors
    /// `Unsound` if `actum run` would reject the envelope.
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

/// Queues the change of a plan if a gate requires approval, and approves it if it equals the change that was shown.
/// A different change is denied. Does nothing if no gate requires approval.
///
/// # Errors
/// `ChangedSinceShown`, or `Engine` with `Denied` or the errors of [`Records::answer`].
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

/// Queues the current change of a plan without executing it. Returns `None` if no gate requires approval.
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
