//! Sample entries about actions and their catalog.

use actum_core::canonical::{self, CanonicalError};
use actum_core::{ActionName, ActionNameError, Digest, RiskTier, RunId, Status, Timestamp};
use actum_record::ledger::{
    ActionCheck, ActionEnded, ActionStarted, ActionState, Agreed, CatalogChanged, EntryKind,
    Isolation, TenantId,
};
use actum_record::ledger::{Attempt, Confidence};
use actum_record::receipt::EntryRef;

use super::{ORIGIN, POLICY, SampleRun, actor, enveloped};
use crate::new_entry::NewEntry;

impl SampleRun {
    /// Returns an `ACTION_STARTED` entry for an approved plan with the same change. `answered` is the index and hash of the
    /// entry with the approval.
    ///
    /// # Errors
    /// Returns the errors of [`SampleRun::started`].
    pub fn action_started(
        &self,
        (answered, leaf): (u64, Digest),
    ) -> Result<NewEntry, CanonicalError> {
        let body = canonical::to_vec(&ActionStarted {
            format: ActionStarted::FORMAT.to_owned(),
            time: self.time,
            tenant: TenantId::default(),
            workspace: self.workspace,
            root: "/home/ada/project".to_owned(),
            id: RunId::from_random(self.run.bits().wrapping_add(1)),
            action_id: None,
            action_type: name("run_command")?,
            tier: RiskTier::R3,
            confidence: None,
            reason: Some("x".repeat(self.label_bytes)),
            plan: Digest::of(b"plan"),
            actor: actor(),
            door: "action".to_owned(),
            agreed: Some(Agreed {
                bound: self.judged().bound,
                approval: self.approval((answered, leaf)),
            }),
            engine: "actum 0.1.0".to_owned(),
        })?;
        Ok(NewEntry { kind: EntryKind::ActionStarted, body, blobs: vec![POLICY.to_vec()] })
    }

    /// Returns an `ACTION_ENDED` entry for an action whose files this run changed.
    ///
    /// # Errors
    /// Returns the errors of [`SampleRun::started`].
    pub fn action_ended(&self, status: Status) -> Result<NewEntry, CanonicalError> {
        let check = ActionCheck {
            name: "node --check src/file.js".to_owned(),
            ok: status == Status::Succeeded,
            exit_code: Some(0),
            duration_ms: Some(12),
        };
        let body = canonical::to_vec(&ActionEnded {
            format: ActionEnded::FORMAT.to_owned(),
            time: self.time,
            tenant: TenantId::default(),
            workspace: self.workspace,
            root: "/home/ada/project".to_owned(),
            id: RunId::from_random(self.run.bits().wrapping_add(1)),
            action_id: Some("action:example".to_owned()),
            action_type: name("file_modify")?,
            tier: RiskTier::R2,
            confidence: Confidence::new(0.9),
            reason: Some("the build is broken".to_owned()),
            plan: Digest::of(b"plan"),
            actor: actor(),
            door: "action".to_owned(),
            status,
            ground: None,
            message: None,
            checks: vec![check],
            repair: Attempt::default(),
            rollback: Attempt::default(),
            run: Some(self.run),
            queued: None,
            approved: None,
            duration_ms: 40,
            engine: "actum 0.1.0".to_owned(),
        })?;
        Ok(NewEntry { kind: EntryKind::ActionEnded, body, blobs: Vec::new() })
    }
}

/// Returns a `CATALOG_CHANGED` entry with the new catalog `snapshot`. `last` is the index and hash of the previous change.
///
/// # Errors
/// Returns the errors of [`SampleRun::started`].
pub fn catalog_changed(
    (last, leaf): (u64, Digest),
    snapshot: &[u8],
) -> Result<NewEntry, CanonicalError> {
    let payload = canonical::to_vec(&CatalogChanged {
        format: CatalogChanged::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        tenant: TenantId::default(),
        follows: EntryRef { origin: ORIGIN.to_owned(), index: last, leaf },
        action: name("run_command")?,
        from: Some(ActionState::Active),
        to: ActionState::Retired,
        reason: None,
        snapshot: Digest::of(snapshot),
        by: actor(),
        isolation: Isolation::SameUser,
    })?;
    let entry = enveloped(EntryKind::CatalogChanged, CatalogChanged::PAYLOAD_TYPE, payload)?;
    Ok(NewEntry { blobs: vec![snapshot.to_vec()], ..entry })
}

fn name(text: &str) -> Result<ActionName, CanonicalError> {
    let unwritable =
        |error: ActionNameError| CanonicalError::Unwritable { message: error.to_string() };
    text.parse().map_err(unwritable)
}
