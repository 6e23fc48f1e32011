//! Key rotation, which every ledger records in an entry that is signed by the old key.

use std::sync::Arc;

use actum_core::{Timestamp, canonical};
use actum_record::dsse::Envelope;
use actum_record::keyring::KeyEntry;
use actum_record::ledger::{EntryKind, KeyRotated, TenantId};
use actum_record::signer::{KeyId, KeyRole, Signer};

use crate::error::LedgerError;
use crate::home::{HomeError, LedgerHome};
use crate::keys::{KeyError, Keys, Passphrases, Rotated, SigningKey};
use crate::ledger::Ledger;
use crate::new_entry::NewEntry;
use crate::view::LedgerView;

/// Result of a key rotation. The new key is used from now on, even if a ledger could not record the rotation.
#[derive(Debug)]
pub struct RotationReport {
    /// Id of the key that was replaced.
    pub old: KeyId,
    /// Key that is used from now on.
    pub new: KeyEntry,
    /// Tenants whose ledgers recorded the rotation.
    pub recorded: Vec<TenantId>,
    /// Error of the final sync, because of which the new key may be lost in a power cut.
    pub unsynced: Option<HomeError>,
    /// Tenants whose ledgers could not record the rotation, with the reasons.
    pub unrecorded: Vec<(TenantId, Unrecorded)>,
}

/// Reason why a ledger could not record a key rotation.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    /// The old key is missing, locked or no longer valid, so it cannot sign its own retirement.
    #[error("the old key cannot be used to sign the rotation")]
    OldKeyGone,
    /// The entry could not be encoded or signed.
    #[error("cannot create the entry: {message}")]
    Entry {
        /// Error message from encoding or signing.
        message: String,
    },
    /// The entry could not be appended to the ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Makes a new key for a role, and records in every existing ledger that it replaces the old one.
///
/// If the rotation cannot be recorded in one ledger, it is still recorded in the others, and the new key is used anyway.
///
/// # Errors
/// Returns [`KeyError`] if no new key was made.
pub fn rotate(
    home: &LedgerHome,
    role: KeyRole,
    passphrases: Passphrases<'_>,
    clock: &Arc<dyn Fn() -> Timestamp + Send + Sync>,
) -> Result<RotationReport, KeyError> {
    let mut keys = Keys::open(home, clock())?;
    let tenants = home.tenants()?;
    let now = clock();
    let Rotated { old, signer, new, unsynced } = keys.rotate(role, now, passphrases)?;
    let keys = Arc::new(keys);
    let (mut recorded, mut unrecorded) = (Vec::new(), Vec::new());
    for tenant in tenants {
        match LedgerView::open(home, &tenant) {
            // The ledger is still empty, so its first entry will list the new key.
            Ok(None) => continue,
            Ok(Some(_)) => {}
            Err(error) => {
                unrecorded.push((tenant, error.into()));
                continue;
            }
        }
        let appended = entry(signer.as_ref(), &new, now).and_then(|entry| {
            let ledger = Ledger::open(home, &tenant, Arc::clone(&keys), Arc::clone(clock));
            Ok(ledger.append(vec![entry]).wait()?)
        });
        match appended {
            Ok(_) => recorded.push(tenant),
            Err(error) => unrecorded.push((tenant, error)),
        }
    }
    Ok(RotationReport { old, new, recorded, unsynced, unrecorded })
}

/// Creates the entry that records a key rotation, signed by the old key.
fn entry(
    signer: Option<&SigningKey>,
    new: &KeyEntry,
    time: Timestamp,
) -> Result<NewEntry, Unrecorded> {
    let old = signer.ok_or(Unrecorded::OldKeyGone)?;
    let unmade = |error: &dyn std::fmt::Display| Unrecorded::Entry { message: error.to_string() };
    let rotated = KeyRotated {
        format: KeyRotated::FORMAT.to_owned(),
        time,
        role: new.role,
        old: old.key_id(),
        new: new.id.clone(),
        public: new.public,
    };
    let payload = canonical::to_vec(&rotated).map_err(|error| unmade(&error))?;
    let envelope = Envelope::sign(KeyRotated::PAYLOAD_TYPE, payload, old);
    let body = envelope.map_err(|error| unmade(&error))?.to_vec();
    let body = body.map_err(|error| unmade(&error))?;
    Ok(NewEntry { kind: EntryKind::KeyRotated, body, blobs: Vec::new() })
}
