//! Unlocks the operator's private keys for approvals, leases and hosts with their passphrase.

use std::path::Path;

use actum::reason::Reason;
use actum::{Approver, Grantor, NewAlert};
use actum_ledger::keys::{KeyError, Protection};
use actum_ledger::{Keys, SigningKey};
use actum_record::ledger::Isolation;
use actum_record::signer::{KeyId, KeyRole, Signer};

use crate::failure::Failure;
use crate::home::Tenant;
use crate::passphrase::{self, PassphraseFailure};
use crate::session::Session;
use crate::{actor, clock, new_home, records};

/// Unlocked key of the operator, with a record of what protects it from use by other processes.
pub(crate) struct OperatorKey {
    signer: SigningKey,
    isolation: Isolation,
}

impl OperatorKey {
    /// Unlocks the approval key. The passphrase is read from `file`, or typed at a prompt that starts with `question`.
    pub(crate) fn approval(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        Self::unlock(KeyRole::Approval, session, question, file)
    }

    /// Unlocks the lease key, with the same arguments as [`OperatorKey::approval`].
    pub(crate) fn lease(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        Self::unlock(KeyRole::Lease, session, question, file)
    }

    /// Unlocks the host key, with the same arguments as [`OperatorKey::approval`].
    pub(crate) fn host(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        Self::unlock(KeyRole::Host, session, question, file)
    }

    /// Returns the unlocked key for signing.
    pub(crate) fn signer(&self) -> &SigningKey {
        &self.signer
    }

    /// Unlocks a key with its passphrase, which proves that the operator is present. A terminal alone would prove nothing,
    /// because any program can open one.
    fn unlock(
        role: KeyRole,
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        check_alert_can_be_raised(&session.tenant)?;
        check_protected(role)?;
        let prompt = format!("{question} Passphrase of the {role} key: ");
        let passphrase = passphrase::read(session, &prompt, file)?;
        // Reopen the keys, because the key may have been replaced while the user typed the passphrase.
        let (keys, now) = (keys()?, clock::now());
        let signer = match keys.unlock(role, now, &passphrase) {
            Err(error @ KeyError::WrongPassphrase { .. }) if file.is_some() => {
                raise_passphrase_alert(role, question, session)?;
                return Err(actum::Error::from(error).into());
            }
            unlocked => unlocked.map_err(actum::Error::from)?,
        };
        let is_unproven = keys.keyring().current(role, now).is_some_and(|key| key.unproven);
        let isolation = if is_unproven { Isolation::Unproven } else { Isolation::Passphrase };
        Ok(Self { signer, isolation })
    }

    /// Returns the id of the key.
    pub(crate) fn id(&self) -> KeyId {
        self.signer.key_id()
    }

    /// Returns the user of this process as a grantor who signs leases with this key.
    pub(crate) fn grantor(&self) -> Grantor<'_> {
        Grantor { by: actor::from_agent(None), signer: &self.signer, isolation: self.isolation }
    }

    /// Returns the user of this process as an approver who signs decisions with this key.
    pub(crate) fn approver(&self) -> Approver<'_> {
        Approver { by: actor::from_agent(None), signer: &self.signer, isolation: self.isolation }
    }
}

/// Checks that the key for a role exists and is protected by a passphrase.
pub(crate) fn check_protected(role: KeyRole) -> Result<(), Failure> {
    let protection = keys()?.protection(role, clock::now()).map_err(actum::Error::from)?;
    match protection {
        Protection::Passphrase => Ok(()),
        Protection::FilePermissions => Err(PassphraseFailure::KeyWithoutPassphrase { role }.into()),
    }
}

fn keys() -> Result<Keys, Failure> {
    let home = new_home::open()?;
    Ok(Keys::open(&home, clock::now()).map_err(actum::Error::from)?)
}

/// Checks that an alert about a wrong passphrase could be recorded. If it could not, no passphrase may be tried.
pub(crate) fn check_alert_can_be_raised(tenant: &Tenant) -> Result<(), Failure> {
    records::open(tenant).map(drop)
}

/// Raises an alert about a wrong passphrase that was read from a file or standard input, unless such an alert is already
/// pending. Without that condition, a program that guesses passphrases could fill the ledger.
pub(crate) fn raise_passphrase_alert(
    role: KeyRole,
    question: &str,
    session: &Session,
) -> Result<(), Failure> {
    let message = format!(
        "a wrong passphrase for the {role} key was read from a file or standard input (`{question}`); if you did not enter \
         it, find out which program ran actum"
    );
    let name = Reason::PassphraseWrong.name();
    let actor = Some(actor::from_agent(None));
    let alert = NewAlert { name, message, actor, workspace: None };
    records::alert_once(&alert, session).map(drop)
}
