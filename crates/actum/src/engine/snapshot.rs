//! Takes snapshots of files before another program changes them in a way that actum cannot compute.

use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath};
use actum_gate::decide;
use actum_gate::decision::{Bundle, Case, TriggerFound, Verdict};
use actum_record::receipt::{EffectKind, PathEffect};
use actum_workspace::SnapshotId;
use actum_workspace::disk::Disk;

use crate::engine::Engine;
use crate::engine::binding;
use crate::engine::clear::Judgement;
use crate::engine::stage::options;
use crate::engine::staged_run::approval_required;
use crate::error::Result;
use crate::request::Request;

impl<D: Disk> Engine<D> {
    /// Saves the content of the given paths under `id`, if the gates allow files at these paths to change. The gates
    /// evaluate the new content later, when the change is adopted.
    ///
    /// `request` names the actor, and a matching request adopts the change later ([`Request::adopt`]). A denial is
    /// recorded in the ledger.
    ///
    /// # Errors
    /// `Denied`, `ApprovalRequired`; errors of reading the paths and of [`Transaction::take_snapshot`]; `Key`,
    /// `Policy`, `Ledger`.
    ///
    /// [`Transaction::take_snapshot`]: actum_workspace::Transaction::take_snapshot
    pub fn take_snapshot(
        &mut self,
        id: SnapshotId,
        paths: &[RelPath],
        request: Request,
    ) -> Result<()> {
        let mut begun = self.begin(options(&request))?;
        let mut change = Vec::with_capacity(paths.len());
        for path in paths {
            begun.transaction.look_at(path)?;
            let effect = match begun.transaction.mode_of(path) {
                Some(_) => EffectKind::Modified,
                None => EffectKind::Created,
            };
            let path = PathName(path.clone());
            let (from, before, after, added, removed) = (None, None, None, 0, 0);
            change.push(PathEffect { added, after, before, effect, from, path, removed });
        }
        change.sort_by(|one, other| one.path.cmp(&other.path));
        change.dedup_by(|one, other| one.path == other.path);
        binding::check_within(&begun.transaction, &begun.records.own_ledger()?, &begun.policy)?;
        let policy = begun.policy.to_vec()?;
        let case = Case {
            plan: request.digest()?,
            triggers: TriggerFound::by_name(&change),
            time: begun.records.clock.now(),
            actor: request.actor.clone(),
            door: request.entry_point.as_str().to_owned(),
            tenant: begun.records.tenant.clone(),
            root: begun.place.root.clone(),
            enclosing: begun.place.enclosing.clone(),
            ..Case::new(change)
        };
        let bundle = Bundle::new(Digest::of(&policy), case);
        let decision = decide(&bundle, &begun.policy, &begun.cedar);
        let verdict = decision.verdict;
        if verdict == Verdict::Allow {
            return Ok(begun.transaction.take_snapshot(id)?);
        }
        let judged = Judgement { bundle, decision, policy };
        let required = approval_required(&judged);
        let denied = begun.done(request, 1)?.refuse(judged)?;
        Err(if verdict == Verdict::Deny { denied } else { required })
    }
}
