//! Verification of the lease that a request presents. The signatures are verified, the blocks are looked up in the
//! ledger, and the lease gate judges the request before there is a change (FE-17, D-7).

use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath, Timestamp};
use actum_gate::decision::{LeaseBlock, LeaseCase};
use actum_gate::{Bundle, Case, Policy, Verdict, judge_lease};
use actum_lease::{ChainBlock, LeaseChain, LeaseError, Token, verify, verify_chain};
use actum_ledger::Log;
use actum_record::keyring::Keyring;
use actum_record::ledger::TenantId;
use actum_record::receipt::{EffectKind, PathEffect};

use crate::error::{Error, Result};
use crate::place::Place;
use crate::records::Records;
use crate::request::{Request, RequestLease};

impl RequestLease {
    /// Verifies a token and looks up its blocks in `log`. Without a `log` the blocks are unknown, so the lease gate denies
    /// requests under this lease.
    ///
    /// # Errors
    /// Returns `Lease` if verification fails, or `Ledger` if the lookup fails.
    pub fn present(
        token: &Token,
        keyring: &Keyring,
        now: Timestamp,
        log: Option<&dyn Log>,
    ) -> Result<Self> {
        let verified = verify(token, keyring, now)?;
        let chain = LeaseChain { blocks: verified.blocks, key: verified.key };
        let mut lease = Self::unknown(verified.document, chain);
        log.map_or(Ok(()), |log| lease.look_up(log))?;
        Ok(lease)
    }

    /// Verifies a token with the keys of an installation and looks up its blocks in the ledger of that installation.
    ///
    /// # Errors
    /// Returns `Lease` if verification fails, or `Ledger` if the lookup fails.
    pub fn present_in(token: &Token, records: &Records) -> Result<Self> {
        let mut lease = Self::present(token, records.keyring(), records.clock.now(), None)?;
        records.ledger.read(|log| lease.look_up(log))?;
        Ok(lease)
    }

    /// Verifies the signatures again with the keys that are valid at `now`, and looks up the blocks in `log`. This is
    /// required for a lease from a request document, which reading the document does not verify.
    ///
    /// # Errors
    /// Returns `Lease` if verification fails, or `Ledger` if the lookup fails.
    pub fn renew(&self, keyring: &Keyring, now: Timestamp, log: &dyn Log) -> Result<Self> {
        let mut lease = self.verify_signatures(keyring, now)?;
        lease.look_up(log)?;
        Ok(lease)
    }

    /// Verifies the signatures again with the keys that are valid now, and looks up the blocks in the ledger of `records`.
    ///
    /// # Errors
    /// Returns `Lease` if verification fails, or `Ledger` if the lookup fails.
    pub fn verify(&self, records: &Records) -> Result<Self> {
        let mut lease = self.verify_signatures(records.keyring(), records.clock.now())?;
        records.ledger.read(|log| lease.look_up(log))?;
        Ok(lease)
    }

    fn verify_signatures(&self, keyring: &Keyring, now: Timestamp) -> Result<Self> {
        let chain = verify_chain(self.document(), keyring, now)?;
        Ok(Self::unknown(self.document().to_vec(), chain))
    }
}

impl Request {
    /// Evaluates the lease gate for the request before the change is computed.
    ///
    /// # Errors
    /// Returns `Denied` with the decision of the lease gate unless it allows the request.
    pub(crate) fn check_lease(
        &self,
        (policy, place): (&Policy, Place),
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<()> {
        self.judge_lease(policy, &place.root, Vec::new(), tenant, time)
    }

    /// Evaluates the lease gate for a file task before its base directories are opened.
    ///
    /// The paths are relative to `/`, and the created path comes first. Without paths, the gate judges only the other terms
    /// of the lease.
    ///
    /// # Errors
    /// Returns `Denied` with the decision of the lease gate unless it allows the request.
    pub fn check_lease_of_file(
        &self,
        paths: Option<(RelPath, Option<RelPath>)>,
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<()> {
        let effect = |(path, from): (RelPath, Option<RelPath>)| PathEffect {
            path: PathName(path),
            effect: EffectKind::Renamed,
            from: from.map(PathName),
            before: None,
            after: None,
            added: 0,
            removed: 0,
        };
        let change = paths.map(effect).into_iter().collect();
        self.judge_lease(&Policy::default(), "/", change, tenant, time)
    }

    fn judge_lease(
        &self,
        policy: &Policy,
        root: &str,
        change: Vec<PathEffect>,
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<()> {
        let limits = self.file_task.as_ref().map(|task| task.limits).unwrap_or_default();
        let case = Case {
            actor: self.actor.clone(),
            door: self.entry_point.as_str().to_owned(),
            lease: self.lease.as_ref().map(|lease| lease.case(self, limits)),
            root: root.to_owned(),
            tenant: tenant.clone(),
            time,
            ..Case::new(change)
        };
        let decision = judge_lease(&Bundle::new(Digest::of(b""), case), policy);
        match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::NeedsApproval | Verdict::Deny => Err(Error::Denied { gates: vec![decision] }),
        }
    }
}

/// Returns true if the lease facts in a bundle match the signed blocks in `document`. The blocks must be signed by a
/// lease key that was valid at the time `at`.
///
/// Facts that only the ledger knows (granted, revoked, used) are not compared.
///
/// # Errors
/// Returns [`LeaseError`] if the document is not a valid chain of signed blocks.
pub fn has_lease_facts(
    lease: &LeaseCase,
    document: &[u8],
    keyring: &Keyring,
    at: Timestamp,
) -> std::result::Result<bool, LeaseError> {
    let LeaseChain { blocks, key } = verify_chain(document, keyring, at)?;
    let is_same = |(block, fact): (&ChainBlock, &LeaseBlock)| {
        (block.id, &block.terms) == (fact.id, &fact.terms)
    };
    let are_same =
        blocks.len() == lease.blocks.len() && blocks.iter().zip(&lease.blocks).all(is_same);
    Ok(are_same && key == lease.key && Digest::of(document) == lease.document)
}
