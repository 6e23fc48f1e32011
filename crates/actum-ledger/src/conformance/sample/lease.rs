//! Sample leases and the entries about them.

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Timestamp};
use actum_record::lease::{LeaseBlockRecord, LeaseId, LeaseRecord, LeaseTerms};
use actum_record::ledger::{EntryKind, Isolation, LeaseGranted, LeaseRevoked, TenantId};
use actum_record::signer::{KeyId, KeyRole, PublicKey};

use super::{actor, enveloped};
use crate::new_entry::NewEntry;

/// Sample lease, consisting of a granted block and any appended blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleLease {
    /// Blocks of the lease, each with its maximum number of uses. The granted block is the first one.
    pub blocks: Vec<(LeaseId, Option<u64>)>,
}

impl SampleLease {
    /// Returns a lease that consists of the granted block with this number.
    pub fn numbered(number: u64, uses: Option<u64>) -> Self {
        Self { blocks: vec![(id(number), uses)] }
    }

    /// Returns the lease with another block appended, which has this number.
    #[must_use]
    pub fn narrowed(mut self, number: u64, uses: Option<u64>) -> Self {
        self.blocks.push((id(number), uses));
        self
    }

    /// Returns the id of the lease, which is that of its last block.
    pub fn id(&self) -> LeaseId {
        self.blocks.last().map_or_else(|| id(0), |(id, _)| *id)
    }

    /// Returns the chain document of the lease, which the ledger stores.
    pub fn document(&self) -> Vec<u8> {
        let ids: Vec<String> = self.blocks.iter().map(|(id, _)| format!("\"{id}\"")).collect();
        format!("{{\"blocks\":[{}]}}", ids.join(",")).into_bytes()
    }

    /// Returns the record of the lease in entries about runs under it.
    pub fn record(&self) -> LeaseRecord {
        let block = |(id, uses): &(LeaseId, Option<u64>)| LeaseBlockRecord {
            agent: None,
            id: *id,
            uses: *uses,
        };
        LeaseRecord {
            blocks: self.blocks.iter().map(block).collect(),
            document: Digest::of(&self.document()),
            key: KeyId::new(KeyRole::Lease, &PublicKey([4; 32])),
        }
    }

    /// Returns a `LEASE_GRANTED` entry for the last block.
    ///
    /// # Errors
    /// Returns the errors of canonical JSON, which cannot occur here.
    pub fn granted(&self) -> Result<NewEntry, CanonicalError> {
        let payload = canonical::to_vec(&LeaseGranted {
            format: LeaseGranted::FORMAT.to_owned(),
            time: Timestamp::from_micros(1_795_000_000_000_000),
            tenant: TenantId::default(),
            lease: self.id(),
            terms: LeaseTerms::default(),
            document: Digest::of(&self.document()),
            by: actor(),
            isolation: Isolation::SameUser,
            engine: "actum 0.1.0".to_owned(),
        })?;
        let entry = enveloped(EntryKind::LeaseGranted, LeaseGranted::PAYLOAD_TYPE, payload)?;
        Ok(NewEntry { blobs: vec![self.document()], ..entry })
    }

    /// Returns a `LEASE_REVOKED` entry for the last block.
    ///
    /// # Errors
    /// Returns the errors of [`SampleLease::granted`].
    pub fn revoked(&self) -> Result<NewEntry, CanonicalError> {
        let payload = canonical::to_vec(&LeaseRevoked {
            format: LeaseRevoked::FORMAT.to_owned(),
            time: Timestamp::from_micros(1_795_000_000_000_000),
            tenant: TenantId::default(),
            lease: self.id(),
            reason: Some("the agent is done".to_owned()),
            by: actor(),
            isolation: Isolation::SameUser,
            engine: "actum 0.1.0".to_owned(),
        })?;
        enveloped(EntryKind::LeaseRevoked, LeaseRevoked::PAYLOAD_TYPE, payload)
    }
}

/// Returns the id of the block with this number.
fn id(number: u64) -> LeaseId {
    LeaseId(Digest::of(&number.to_be_bytes()))
}
