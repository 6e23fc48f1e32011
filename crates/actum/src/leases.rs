//! Leases of an installation: granted and revoked by the operator, listed from the ledger (FE-17, D-7).

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

/// User who grants and revokes leases, with the lease key.
pub struct Grantor<'k> {
    /// User.
    pub by: Actor,
    /// Lease key.
    pub signer: &'k SigningKey,
    /// Protection of the key.
    pub isolation: Isolation,
}

/// Granted and recorded lease. Only the caller has its token.
#[derive(Debug)]
pub struct NewLease {
    /// Token, a secret.
    pub token: Token,
    /// Id of its block.
    pub lease: LeaseId,
}

/// Lease that the ledger records as granted.
#[derive(Debug, Clone)]
pub struct GrantedLease {
    /// Current facts of the ledger.
    pub row: LeaseRow,
    /// Verified grant.
    pub granted: LeaseGranted,
}

/// State of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease can be used.
    InForce,
    /// The lease is not valid yet.
    Waiting,
    /// The lease is no longer valid.
    Expired,
    /// The lease was revoked.
    Revoked,
    /// The lease has started as many runs as it may.
    UsedUp,
}

impl Records {
    /// Grants a lease, and records it before the token is returned.
    ///
    /// # Errors
    /// `Grant`; `Ledger`, `Sign`, `Record`.
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
        // An accepted entry stays in the ledger, so it is verified first.
        verify_lease_granted(&body, self.keyring()).map_err(GrantLeaseError::from)?;
        let blobs = vec![verified.document];
        self.append_lease(NewEntry { kind: EntryKind::LeaseGranted, body, blobs })?;
        Ok(NewLease { token, lease })
    }

    /// Revokes a lease, or a block that a holder appended, and with it every lease that has the block.
    ///
    /// # Errors
    /// `Grant`; `Ledger`, for example if it was revoked before; `Sign`, `Record`.
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
    /// Returns the leases that a ledger granted before the entry `before`, at most `count`, the newest first.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` if no lease key signed a grant.
    pub fn newest(
        log: &dyn Log,
        keyring: &Keyring,
        before: Option<u64>,
        count: u64,
    ) -> std::result::Result<Vec<Self>, LedgerError> {
        let rows = log.newest_leases(before, count)?.into_iter();
        rows.map(|row| Self::read(log, keyring, row)).collect()
    }

    /// Reads the grant of a lease.
    fn read(
        log: &dyn Log,
        keyring: &Keyring,
        row: LeaseRow,
    ) -> std::result::Result<Self, LedgerError> {
        let missing =
            || LedgerError::Damaged { message: "a lease that was listed has no grant".to_owned() };
        let index = row.granted.ok_or_else(missing)?;
        let entry = log.sound_entry(index)?;
        let verified = verify_lease_granted(&entry.body, keyring);
        let verified = verified.map_err(|problem| LedgerError::entry(index, &problem))?;
        Ok(Self { row, granted: verified.granted })
    }

    /// Returns the state at `now`.
    pub fn state(&self, now: Timestamp) -> LeaseState {
        LeaseState::new(&self.granted.terms, &self.row, now)
    }
}

impl LeaseState {
    /// Returns the state of a block with these terms and the ledger's `row`.
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
