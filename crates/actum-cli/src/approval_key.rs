//! State of the operator's approval key and lease key, for hints and for `actum doctor`.

use actum_ledger::keys::{KeyError, Protection};
use actum_ledger::{HomeError, Keys, LedgerHome};
use actum_record::signer::KeyRole;

use crate::clock::now;
use crate::home::{self, HomeUnknown};

/// Reason why a key of the operator could not be read.
#[derive(Debug)]
pub(crate) enum ApprovalKeyUnread {
    /// The home directory of the ledgers could not be determined.
    Home(HomeUnknown),
    /// The home directory or its keys could not be opened.
    Keys(actum::Error),
}

/// State of an approval key or lease key in this installation.
pub(crate) enum ApprovalState {
    Missing,
    Proven,
    Unproven,
    WithoutPassphrase,
    Waiting,
}

/// Returns the state of the approval key.
pub(crate) fn approval_key() -> Result<ApprovalState, ApprovalKeyUnread> {
    operators_key(KeyRole::Approval)
}

/// Returns the state of the lease key.
pub(crate) fn lease_key() -> Result<ApprovalState, ApprovalKeyUnread> {
    operators_key(KeyRole::Lease)
}

fn operators_key(role: KeyRole) -> Result<ApprovalState, ApprovalKeyUnread> {
    let Some(home) = LedgerHome::open_existing(&home::path()?)? else {
        return Ok(ApprovalState::Missing);
    };
    let Some(keys) = Keys::open_existing(&home)? else { return Ok(ApprovalState::Missing) };
    let now = now();
    if keys.keyring().waiting(role, now).is_some() {
        return Ok(ApprovalState::Waiting);
    }
    let Some(current) = keys.keyring().current(role, now) else {
        return Ok(ApprovalState::Missing);
    };
    Ok(match keys.protection_of(current)? {
        Protection::FilePermissions => ApprovalState::WithoutPassphrase,
        Protection::Passphrase if current.unproven => ApprovalState::Unproven,
        Protection::Passphrase => ApprovalState::Proven,
    })
}

impl From<HomeUnknown> for ApprovalKeyUnread {
    fn from(unknown: HomeUnknown) -> Self {
        Self::Home(unknown)
    }
}

impl From<HomeError> for ApprovalKeyUnread {
    fn from(error: HomeError) -> Self {
        Self::Keys(error.into())
    }
}

impl From<KeyError> for ApprovalKeyUnread {
    fn from(error: KeyError) -> Self {
        Self::Keys(error.into())
    }
}
