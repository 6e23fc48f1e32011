//! Leases of an installation, which the operator grants and revokes and the ledger records (FE-17, D-7).

use actum_core::{Digest, Timestamp, canonical};
use actum_gate::{verify_lease_granted, verify_lease_revoked};
use actum_lease::{LeaseError, Token, grant, verify};
use actum_ledger::{LeaseRow, LedgerError, Log, NewEntry, SigningKey};
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::lease::{LeaseId, LeaseTerms};
use actum_record::ledger::{Actor, EntryKind, Isolation, LeaseGranted, LeaseRevoked};

use crate::error::{GrantLeaseError, Result};
use crate::records::Records;

/// User who grants or revokes leases, together with the lease key.
pub struct Grantor<'k> {
    /// User on whose behalf the lease is granted or revoked.
    pub by: Actor,
    /// Lease key that signs the grant or revocation.
    pub signer: &'k SigningKey,
    /// Level of isolation that protects the key.
    pub isolation: Isolation,
}

/// Newly granted lease. The ledger records the grant but not the token, so the caller holds the only copy.
#[derive(Debug)]
pub struct NewLease {
    /// Secret token of the lease.
    pub token: Token,
    /// Id of the lease, which is the id of its first block.
    pub lease: LeaseId,
}

/// Lease with a verified grant in the ledger.
#[derive(Debug, Clone)]
pub struct GrantedLease {
    /// Current ledger facts about the lease, such as its number of uses and its revocation.
    pub row: LeaseRow,
    /// Content of the verified grant.
    pub granted: LeaseGranted,
}

/// State of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease is valid and can be used.
    InForce,
    /// The validity period of the lease has not started yet.
    Waiting,
    /// The validity period of the lease is over.
    Expired,
    /// The lease was revoked.
    Revoked,
    /// The lease has reached its maximum number of uses.
    UsedUp,
}

impl Records {
    /// Grants a lease and records it in the ledger before returning the token.
    ///
    /// # Errors
    /// Returns `Grant` if the terms or the key are not valid, otherwise `Ledger`, `Sign` or `Record`.
    pub fn grant_lease(&self, terms: &LeaseTerms, grantor: &Grantor<'_>) -> Result<NewLease> {
        let granted = grantor.signer.with_secret(|secret| grant(secret, terms));
        let token = granted.ok_or(GrantLeaseError::OtherRole)?.map_err(GrantLeaseError::from)?;
        let time = self.clock.now();
        let verified = verify(&token, self.keyring(), time).map_err(GrantLeaseError::from)?;
        let block = verified.blocks.first();
        let lease = block.ok_or(GrantLeaseError::Lease(LeaseError::NotBiscuit))?.id;
        let payload = canonical::to_vec(&LeaseGranted {
            format: LeaseGranted::FORMAT.to_owned(),
            time,
            tenant: self.tenant.clone(),
            lease,
            terms: terms.clone(),
            document: Digest::of(&verified.document),
            by: grantor.by.clone(),
            isolation: grantor.isolation,
            engine: crate::records::ENGINE.to_owned(),
        })?;
        let body = Envelope::sign(LeaseGranted::PAYLOAD_TYPE, payload, grantor.signer)?.to_vec()?;
        // Verify the entry before appending it, because the ledger is append-only.
        verify_lease_granted(&body, self.keyring()).map_err(GrantLeaseError::from)?;
        let blobs = vec![verified.document];
        self.append_lease(NewEntry { kind: EntryKind::LeaseGranted, body, blobs })?;
        Ok(NewLease { token, lease })
    }

    /// Revokes a lease or a block that a lease holder appended. Every lease that contains the block is revoked with it.
    ///
    /// # Errors
    /// Returns `Grant` if the key is not valid, or `Ledger`, for example if the lease is already revoked. Otherwise
    /// returns `Sign` or `Record`.
    pub fn revoke_lease(
        &self,
        lease: LeaseId,
        reason: Option<String>,
        grantor: &Grantor<'_>,
    ) -> Result<()> {
        let payload = canonical::to_vec(&LeaseRevoked {
            format: LeaseRevoked::FORMAT.to_owned(),
            time: self.clock.now(),
            tenant: self.tenant.clone(),
            lease,
            reason,
            by: grantor.by.clone(),
            isolation: grantor.isolation,
            engine: crate::records::ENGINE.to_owned(),
        })?;
        let body = Envelope::sign(LeaseRevoked::PAYLOAD_TYPE, payload, grantor.signer)?.to_vec()?;
        verify_lease_revoked(&body, self.keyring()).map_err(GrantLeaseError::from)?;
        self.append_lease(NewEntry { kind: EntryKind::LeaseRevoked, body, blobs: Vec::new() })
    }

    fn append_lease(&self, entry: NewEntry) -> Result<()> {
        self.ledger.append(vec![entry]).wait()?;
        Ok(())
    }
}

impl GrantedLease {
    /// Returns up to `count` leases that were granted before the ledger entry `before`, newest first.
    ///
    /// # Errors
    /// Returns [`LedgerError::Damaged`] if a grant is not signed by a lease key, or another [`LedgerError`] if reading fails.
    pub fn newest(
        log: &dyn Log,
        keyring: &Keyring,
        before: Option<u64>,
        count: u64,
    ) -> std::result::Result<Vec<Self>, LedgerError> {
        let rows = log.newest_leases(before, count)?.into_iter();
        rows.map(|row| Self::read(log, keyring, row)).collect()
    }

    /// Reads and verifies the grant of the lease in this row.
    fn read(
        log: &dyn Log,
        keyring: &Keyring,
        row: LeaseRow,
    ) -> std::result::Result<Self, LedgerError> {
        let missing =
            || LedgerError::Damaged { message: "a lease in the index has no grant".to_owned() };
        let index = row.granted.ok_or_else(missing)?;
        let entry = log.sound_entry(index)?;
        let verified = verify_lease_granted(&entry.body, keyring);
        let verified = verified.map_err(|problem| LedgerError::entry(index, &problem))?;
        Ok(Self { row, granted: verified.granted })
    }

    /// Returns the state of the lease at the time `now`.
    pub fn state(&self, now: Timestamp) -> LeaseState {
        LeaseState::new(&self.granted.terms, &self.row, now)
    }
}

impl LeaseState {
    /// Computes the state of a lease block from its terms and its row in the ledger.
    pub fn new(terms: &LeaseTerms, row: &LeaseRow, now: Timestamp) -> Self {
        if row.revoked.is_some() {
            Self::Revoked
        } else if terms.expires.is_some_and(|at| now >= at) {
            Self::Expired
        } else if terms.uses.is_some_and(|uses| row.used >= uses) {
            Self::UsedUp
        } else if terms.not_before.is_some_and(|from| now < from) {
            Self::Waiting
        } else {
            Self::InForce
        }
    }
}
