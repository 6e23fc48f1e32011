//! A change of keys that every ledger records, signed by the key that goes.

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

/// Result of a change of keys. The new key signs from now on, whether it is recorded or not.
#[derive(Debug)]
pub struct RotationReport {
    /// The key that signed until now.
    pub old: KeyId,
    /// The key that signs from now on.
    pub new: KeyEntry,
    /// The tenants whose ledgers record it.
    pub recorded: Vec<TenantId>,
    /// Reason why the new key may not survive a power cut.
    pub unsynced: Option<HomeError>,
    /// Tenants whose ledgers do not, with the reason.
    pub unrecorded: Vec<(TenantId, Unrecorded)>,
}

/// Reason why a ledger does not record a change of keys.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    /// The old key is missing or locked, so it cannot sign its retirement.
    #[error("the old key cannot say that another takes its place")]
    OldKeyGone,
    /// The entry has no bytes.
    #[error("the entry cannot be made: {message}")]
    Entry {
        /// Error message of the signature.
        message: String,
    },
    /// The entry could not be appended.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Makes a new key for a role, and records in every existing ledger that it replaces the old one.
/// If a ledger cannot be written the others are, and the new key signs all the same.
///
/// # Errors
/// [`KeyError`], if no key was made.
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
            // It will begin with the new key.
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

/// The entry of a change of keys.
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
