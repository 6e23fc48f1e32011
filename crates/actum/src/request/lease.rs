//! Lease that authorizes a request (FE-17, D-7).

use actum_core::Digest;
use actum_gate::decision::{LeaseBlock, LeaseCase, lease_record};
use actum_lease::{ChainBlock, LeaseChain, LeaseError, read_chain};
use actum_ledger::{LeaseRow, LedgerError, Log};
use actum_record::lease::{AgentName, Capability, LeaseRecord, Quotas, TaskName};
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};

use super::{EntryPoint, Request};

/// Lease presented with a request: its signed blocks, and what the ledger recorded about each block at that time. The
/// blocks alone are not sufficient to use the lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct RequestLease {
    /// Chain of signed blocks in the `actum.lease-chain/1` format.
    document: Vec<u8>,
    key: KeyId,
    blocks: Vec<LeaseBlock>,
    granted: bool,
}

/// Serialized form of a lease in a request document. All other fields are derived from the blocks and the ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    document: String,
}

impl RequestLease {
    /// Creates a lease whose blocks have not been looked up in the ledger yet.
    pub(crate) fn unknown(document: Vec<u8>, LeaseChain { blocks, key }: LeaseChain) -> Self {
        let block = |ChainBlock { id, terms }| LeaseBlock { id, revoked: false, terms, used: 0 };
        Self { document, key, blocks: blocks.into_iter().map(block).collect(), granted: false }
    }

    /// Reads from the ledger whether the lease was granted, which blocks are revoked, and how often each was used.
    pub(crate) fn look_up(&mut self, log: &dyn Log) -> Result<(), LedgerError> {
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

    /// Returns the lease with the use count of every block reduced by one, as it was before its last use.
    #[must_use]
    pub fn before_use(mut self) -> Self {
        for block in &mut self.blocks {
            block.used = block.used.saturating_sub(1);
        }
        self
    }

    /// Returns the effective quotas, which are the minimum over all blocks for each resource.
    pub fn quotas(&self) -> Quotas {
        self.blocks.iter().fold(Quotas::default(), |least, block| least.min(block.terms.quotas))
    }

    /// Returns the description of the lease that is stored in records.
    pub fn record(&self) -> LeaseRecord {
        lease_record(&self.blocks, Digest::of(&self.document), &self.key)
    }

    /// Returns the blocks with their revocation and use count according to the ledger.
    pub fn blocks(&self) -> &[LeaseBlock] {
        &self.blocks
    }

    /// Returns the id of the lease key that signed the first block.
    pub fn key(&self) -> &KeyId {
        &self.key
    }

    /// Returns whether the ledger records that the lease was granted.
    pub fn is_granted(&self) -> bool {
        self.granted
    }

    /// Returns the agent to which the lease was most recently delegated.
    pub fn agent(&self) -> Option<&AgentName> {
        self.blocks.iter().rev().find_map(|block| block.terms.agent.as_ref())
    }

    /// Returns the signed blocks as the document that is stored in the ledger.
    pub fn document(&self) -> &[u8] {
        &self.document
    }

    /// Returns the input for the lease gate: the lease, the capability that `request` needs, and the limits of its commands.
    pub fn case(&self, request: &Request, limits: Quotas) -> LeaseCase {
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
        // The conversion loses nothing, because the document is canonical JSON and therefore valid UTF-8.
        Self { document: String::from_utf8_lossy(&document).into_owned() }
    }
}

impl TryFrom<Written> for RequestLease {
    type Error = LeaseError;

    /// Parses the signed blocks without verifying their signatures, which are verified before the lease is used.
    fn try_from(Written { document }: Written) -> Result<Self, LeaseError> {
        let chain = read_chain(document.as_bytes())?;
        Ok(Self::unknown(document.into_bytes(), chain))
    }
}

impl Request {
    /// Returns the capability that a lease must grant to allow this request.
    fn capability(&self) -> Capability {
        match (self.entry_point, &self.action, &self.file_task) {
            (EntryPoint::FileTask, _, Some(task)) => task.capability.clone(),
            (EntryPoint::Action, Some(action), _) => {
                Capability::Action(action.plan.action_type.clone())
            }
            (EntryPoint::Exec, _, _) => Capability::Exec,
            (EntryPoint::TaskPlan, _, _) => Capability::Task,
            (
                EntryPoint::Library
                | EntryPoint::CommandLine
                | EntryPoint::Action
                | EntryPoint::FileTask
                | EntryPoint::ClientHook
                | EntryPoint::Mcp,
                _,
                _,
            ) => Capability::Apply,
        }
    }

    /// Returns the task name that a lease can be restricted to: the id of the file task or task plan, otherwise the request
    /// key. Returns `None` if there is no key or it is not a valid task name.
    fn task_name(&self) -> Option<TaskName> {
        if let Some(file_task) = &self.file_task {
            return Some(file_task.task.clone());
        }
        let key = self.key.as_ref()?;
        key.task().unwrap_or(key.as_str()).parse().ok()
    }
}
