//! Implements the access gate's interface with the Cedar policy engine.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use actum_core::RiskTier;
use actum_core::path::PathError;
use actum_gate::ground::AccessUnknownKind;
use actum_gate::{
    AccessDecision, AccessJudge, AccessText, AccessUnknown, Bundle, Verdict, WorkKind,
};
use actum_record::receipt::{EffectKind, PathEffect};

use crate::answer::{Access, AccessAnswer};
use crate::names::AccessAction;
use crate::policies::AccessPolicies;
use crate::problem::AccessFileError;
use crate::request::{AccessRequest, ChangeKind};

/// Maximum number of policies that a single ground names.
const NAMED_MAX: usize = 3;

/// Maximum number of approvals that a change can collect, because the first approval already releases it.
const PEOPLE_MAX: u32 = 1;

/// Reads and evaluates access policies. Parsing a thousand policies takes tens of milliseconds, so the most recently
/// read set is cached. Clones share the cache.
#[derive(Clone, Default)]
pub struct Cedar(Arc<Mutex<Option<Last>>>);

struct Last {
    texts: Vec<AccessText>,
    policies: Arc<AccessPolicies>,
}

impl Cedar {
    /// Parses the policies of these files, or returns them from the cache if the texts have not changed.
    ///
    /// # Errors
    /// Same as [`AccessPolicies::read_files`].
    pub fn read(&self, texts: &[AccessText]) -> Result<Arc<AccessPolicies>, AccessFileError> {
        // It is safe to continue after a panic in another thread, because the cache holds either the old or a complete
        // new value.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.texts == texts) {
            return Ok(Arc::clone(&last.policies));
        }
        let policies = Arc::new(AccessPolicies::read_files(texts)?);
        *last = Some(Last { texts: texts.to_owned(), policies: Arc::clone(&policies) });
        Ok(policies)
    }
}

impl fmt::Debug for Cedar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cedar").finish_non_exhaustive()
    }
}

impl AccessJudge for Cedar {
    fn judge(
        &self,
        policies: &[AccessText],
        bundle: &Bundle,
        tier: RiskTier,
    ) -> Result<AccessDecision, AccessUnknown> {
        let policies = self.read(policies);
        let policies = policies.map_err(|error| AccessUnknown {
            kind: AccessUnknownKind::Unreadable,
            message: error.to_string(),
        })?;
        let request = AccessRequest::new(bundle, tier).map_err(|error| AccessUnknown {
            kind: AccessUnknownKind::PathTooLong,
            message: format!("cannot express a path relative to an enclosing root: {error}"),
        })?;
        let AccessAnswer { access, mut grounds, more } = policies.answer(&request);
        let more = more + grounds.len().saturating_sub(NAMED_MAX);
        grounds.truncate(NAMED_MAX);
        let (verdict, approvals) = match access {
            Access::Allowed => (Verdict::Allow, None),
            Access::NeedsApproval { approvals: ..=PEOPLE_MAX } => (Verdict::NeedsApproval, None),
            Access::NeedsApproval { approvals } => (Verdict::Deny, Some(approvals)),
            Access::Denied => (Verdict::Deny, None),
        };
        Ok(AccessDecision { verdict, approvals, grounds, more })
    }
}

impl AccessRequest {
    /// Builds the access request for the change in a bundle, without any approvals.
    ///
    /// # Errors
    /// Returns `PathError` if a path is too long when expressed relative to the root of an enclosing workspace or
    /// repository.
    pub fn new(bundle: &Bundle, tier: RiskTier) -> Result<Self, PathError> {
        let actor = bundle.actor();
        let is_deleted = |effect: &&PathEffect| effect.effect == EffectKind::Deleted;
        let count = |files: usize| u64::try_from(files).unwrap_or(u64::MAX);
        let lines = bundle.files().map(|effect| effect.added.saturating_add(effect.removed));
        // Commands and actions are not judged separately yet, because all existing kinds of work change files.
        let (action, kind) = match bundle.work() {
            WorkKind::Apply | WorkKind::Redo => (AccessAction::ChangeFiles, ChangeKind::New),
            WorkKind::Undo => (AccessAction::ChangeFiles, ChangeKind::Undo),
        };
        Ok(Self {
            user: actor.user.clone(),
            uid: actor.uid,
            agent: actor.agent.clone(),
            action,
            workspace: bundle.root().to_owned(),
            enclosing: bundle.enclosing().to_owned(),
            tenant: bundle.tenant().as_str().to_owned(),
            tier: number(tier),
            approvals: 0,
            entry_point: bundle.entry_point().to_owned(),
            files: count(bundle.files().count()),
            lines: lines.fold(0, u64::saturating_add),
            deletes: count(bundle.files().filter(is_deleted).count()),
            paths: bundle.paths_from_every_root()?,
            kind,
        })
    }
}

fn number(tier: RiskTier) -> u8 {
    match tier {
        RiskTier::R0 => 0,
        RiskTier::R1 => 1,
        RiskTier::R2 => 2,
        RiskTier::R3 => 3,
        RiskTier::R4 => 4,
    }
}
