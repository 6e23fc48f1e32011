//! Evaluates the access policies before a change is known (AEC-6).

use actum_core::{Digest, RiskTier};
use actum_gate::decision::{Bundle, Case, GateDecision};
use actum_gate::judge_access;
use actum_record::ledger::Actor;
use actum_workspace::disk::Disk;

use crate::engine::Engine;
use crate::error::Result;
use crate::request::EntryPoint;

/// Decision of the access policies, with the inputs that it is based on.
#[derive(Debug, Clone)]
pub struct AccessJudgement {
    /// Decision of the access gate.
    pub decision: GateDecision,
    /// Bundle of facts that the gate evaluated, in canonical JSON.
    pub bundle: Vec<u8>,
    /// Policy that was in force, in canonical JSON.
    pub policy: Vec<u8>,
}

impl<D: Disk> Engine<D> {
    /// Asks the access policies whether an actor may perform an action of the given tier, before its change is known.
    /// The gates evaluate the change itself later.
    ///
    /// # Errors
    /// `Policy` if the policy cannot be read; `Record` if the facts have no exact form in canonical JSON.
    pub fn judge_access(&self, actor: &Actor, tier: RiskTier) -> Result<AccessJudgement> {
        let (policy, cedar) = self.rules.read(&self.records.ledger)?;
        let bytes = policy.to_vec()?;
        let place = &self.place;
        let case = Case {
            actor: actor.clone(),
            declared: Some(tier),
            door: EntryPoint::Action.as_str().to_owned(),
            enclosing: place.enclosing.clone(),
            root: place.root.clone(),
            tenant: self.records.tenant.clone(),
            time: self.records.clock.now(),
            ..Case::new(Vec::new())
        };
        let bundle = Bundle::new(Digest::of(&bytes), case);
        let decision = judge_access(&bundle, &policy, &cedar);
        Ok(AccessJudgement { decision, bundle: bundle.to_vec()?, policy: bytes })
    }
}
