//! The lease that a request is made under (FE-17, D-7).

use actum_core::{Digest, Timestamp};
use actum_gate::decision::{LeaseBlock, LeaseCase};
use actum_gate::{Bundle, Case, Verdict, judge_lease};
use actum_lease::{ChainBlock, LeaseChain, LeaseError, Token, read_chain, verify, verify_chain};
use actum_ledger::{LeaseRow, LedgerError, Log};
use actum_record::keyring::Keyring;
use actum_record::lease::{AgentName, Capability, Quotas, TaskName};
use actum_record::ledger::TenantId;
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};

use super::{EntryPoint, Request};
use crate::error::{Error, Result};
use crate::policies::PolicyInForce;
use crate::records::Records;

/// Lease that a request is made under: its signed blocks, with which nobody can use it, and what the ledger knew of them
/// when it was presented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct RequestLease {
    /// Signed blocks (`actum.lease-chain/1`).
    document: Vec<u8>,
    key: KeyId,
    blocks: Vec<LeaseBlock>,
    granted: bool,
}

/// Part of the lease that the document of a request has. All else follows from it and the ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    document: String,
}

impl RequestLease {
    /// Verifies a token. Without a `log` no block of it is known, so the gate denies what is asked under it.
    ///
    /// # Errors
    /// `Lease`, `Ledger`.
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

    /// Verifies a token with the keys of an installation, and asks its ledger for the blocks.
    ///
    /// # Errors
    /// `Lease`, `Ledger`.
    pub fn present_in(token: &Token, records: &Records) -> Result<Self> {
        let mut lease = Self::present(token, records.keyring(), records.clock.now(), None)?;
        records.ledger.read(|log| lease.look_up(log))?;
        Ok(lease)
    }

    /// Verifies the signatures once more, with the keys that count at `now`, and asks a ledger for the blocks. A request that
    /// was read from its document has a lease of which neither is known.
    ///
    /// # Errors
    /// `Lease`, `Ledger`.
    pub fn renew(&self, keyring: &Keyring, now: Timestamp, log: &dyn Log) -> Result<Self> {
        let mut lease = self.verify_signatures(keyring, now)?;
        lease.look_up(log)?;
        Ok(lease)
    }

    /// Verifies the signatures once more, with the keys that count now, and asks the ledger for the blocks.
    pub(crate) fn verify(&self, records: &Records) -> Result<Self> {
        let mut lease = self.verify_signatures(records.keyring(), records.clock.now())?;
        records.ledger.read(|log| lease.look_up(log))?;
        Ok(lease)
    }

    fn verify_signatures(&self, keyring: &Keyring, now: Timestamp) -> Result<Self> {
        let chain = verify_chain(&self.document, keyring, now)?;
        Ok(Self::unknown(self.document.clone(), chain))
    }

    /// Lease of which the ledger was not asked yet.
    fn unknown(document: Vec<u8>, LeaseChain { blocks, key }: LeaseChain) -> Self {
        let block = |ChainBlock { id, terms }| LeaseBlock { id, revoked: false, terms, used: 0 };
        Self { document, key, blocks: blocks.into_iter().map(block).collect(), granted: false }
    }

    fn look_up(&mut self, log: &dyn Log) -> Result<(), LedgerError> {
        for (block, is_first) in
            self.blocks.iter_mut().zip(std::iter::once(true).chain(std::iter::repeat(false)))
        {
            let Some(LeaseRow { granted, revoked, used, .. }) = log.lease(block.id)? else {
                continue;
            };
            block.revoked = revoked.is_some();
            block.used = used;
            self.granted |= is_first && granted.is_some();
        }
        Ok(())
    }

    /// The smallest quota of each resource.
    pub fn quotas(&self) -> Quotas {
        self.blocks.iter().fold(Quotas::default(), |least, block| least.min(block.terms.quotas))
    }

    /// Blocks, with what the ledger knew of them.
    pub fn blocks(&self) -> &[LeaseBlock] {
        &self.blocks
    }

    /// Lease key that signed the first block.
    pub fn key(&self) -> &KeyId {
        &self.key
    }

    /// Whether the ledger records that it was granted.
    pub fn is_granted(&self) -> bool {
        self.granted
    }

    /// Agent that it was handed to last.
    pub fn agent(&self) -> Option<&AgentName> {
        self.blocks.iter().rev().find_map(|block| block.terms.agent.as_ref())
    }

    /// Signed blocks, a document of the ledger.
    pub(crate) fn document(&self) -> Vec<u8> {
        self.document.clone()
    }

    /// Facts for the gate: what `request` needs the lease for, and the limits of what is run for it.
    pub(crate) fn case(&self, request: &Request, limits: Quotas) -> LeaseCase {
        LeaseCase {
            blocks: self.blocks.clone(),
            capability: request.capability(),
            document: Digest::of(&self.document),
            granted: self.granted,
            key: self.key.clone(),
            limits,
            task: request.task_name(),
        }
    }
}

impl From<RequestLease> for Written {
    fn from(RequestLease { document, .. }: RequestLease) -> Self {
        // Canonical JSON is UTF-8.
        Self { document: String::from_utf8_lossy(&document).into_owned() }
    }
}

impl TryFrom<Written> for RequestLease {
    type Error = LeaseError;

    /// Reads the blocks; their signatures are verified before anything is done under them.
    fn try_from(Written { document }: Written) -> std::result::Result<Self, LeaseError> {
        let chain = read_chain(document.as_bytes())?;
        Ok(Self::unknown(document.into_bytes(), chain))
    }
}

impl Request {
    /// Lets the gate of leases judge the request without a change.
    ///
    /// # Errors
    /// `Denied`.
    pub(crate) fn check_lease(
        &self,
        in_force: &PolicyInForce,
        tenant: &TenantId,
        time: Timestamp,
    ) -> Result<()> {
        let case = Case {
            actor: self.actor.clone(),
            door: self.door.as_str().to_owned(),
            lease: self.lease.as_ref().map(|lease| lease.case(self, Quotas::default())),
            root: in_force.place().root,
            tenant: tenant.clone(),
            time,
            ..Case::of(Vec::new())
        };
        let bundle = Bundle::new(Digest::of(b""), case);
        let decision = judge_lease(&bundle, &in_force.policy);
        match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::NeedsApproval | Verdict::Deny => Err(Error::Denied { gates: vec![decision] }),
        }
    }

    /// Capability that a lease must have.
    fn capability(&self) -> Capability {
        match (self.door, &self.action) {
            (EntryPoint::Action, Some(action)) => {
                Capability::Action(action.plan.action_type.clone())
            }
            (EntryPoint::Exec, _) => Capability::Exec,
            (EntryPoint::TaskPlan, _) => Capability::Task,
            (EntryPoint::Library | EntryPoint::CommandLine | EntryPoint::Action, _) => {
                Capability::Apply
            }
        }
    }

    /// Task that the request belongs to: the id of its task plan, otherwise its key. None where no lease can name it.
    fn task_name(&self) -> Option<TaskName> {
        let key = self.key.as_ref()?;
        key.task().unwrap_or(key.as_str()).parse().ok()
    }
}
