//! Private keys of the operator, unlocked by their passphrase: those of approvals, leases and hosts.

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

/// Unlocked key of the operator, with the guard that keeps others from using it.
pub(crate) struct OperatorKey {
    signer: SigningKey,
    isolation: Isolation,
}

impl OperatorKey {
    /// Unlocks the approval key.
    pub(crate) fn approval(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        Self::unlock(KeyRole::Approval, session, question, file)
    }

    /// Unlocks the lease key.
    pub(crate) fn lease(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        Self::unlock(KeyRole::Lease, session, question, file)
    }

    /// Unlocks the host key.
    pub(crate) fn host(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        Self::unlock(KeyRole::Host, session, question, file)
    }

    /// Returns the signer with the key.
    pub(crate) fn signer(&self) -> &SigningKey {
        &self.signer
    }

    /// Unlocks a key with its passphrase, which proves that the operator is present. A terminal proves nothing: any
    /// program can open one.
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
        // Typing takes time, and the key may have been replaced meanwhile.
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

    /// Returns the name of the key.
    pub(crate) fn id(&self) -> KeyId {
        self.signer.key_id()
    }

    /// Returns the user of this process, with the lease key.
    pub(crate) fn grantor(&self) -> Grantor<'_> {
        Grantor { by: actor::of(None), signer: &self.signer, isolation: self.isolation }
    }

    /// Returns the user of this process, with the key.
    pub(crate) fn approver(&self) -> Approver<'_> {
        Approver { by: actor::of(None), signer: &self.signer, isolation: self.isolation }
    }
}

/// Checks that a key of a role exists, and that a passphrase protects it.
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

/// Checks that an alert about a wrong passphrase could be raised. Otherwise no passphrase is tried.
pub(crate) fn check_alert_can_be_raised(tenant: &Tenant) -> Result<(), Failure> {
    records::open(tenant).map(drop)
}

/// Raises an alert about a wrong passphrase from a file or standard input, unless one is pending. Otherwise each guess
/// of a program would add an entry to the ledger.
pub(crate) fn raise_passphrase_alert(
    role: KeyRole,
    question: &str,
    session: &Session,
) -> Result<(), Failure> {
    let message = format!(
        "a wrong passphrase of the {role} key was given in a file or on standard input (`{question}`); if that was not \
         you, find out which program ran actum"
    );
    let name = Reason::PassphraseWrong.name();
    let actor = Some(actor::of(None));
    let alert = NewAlert { name, message, actor, workspace: None };
    records::alert_once(&alert, session).map(drop)
}
