//! `actum key make`: the first key of a role.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum_api::key::{Key, KeyMade};
use actum_ledger::{Admission, KeyError, Keys, LedgerHome};
use actum_record::keyring::KeyEntry;
use actum_record::signer::KeyRole;

use super::protect::{Protect, shown, words};
use super::{Role, waits};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::verb::Session;
use crate::{clock, new_home, passphrase, signals, timestamp};

/// Make the first key of a role, such as the one for approvals
///
/// The first run makes the keys of receipts and checkpoints. The keys of approvals, leases and hosts are yours: each is
/// protected by a passphrase, which cannot be recovered. Verifiers need the new keyring: `actum key export`.
///
/// Make them before an agent works here: they are valid at once while nothing is recorded yet. Later a lease key is
/// valid at once with the passphrase of the approval key, and so is a host key if there is an approval key. Any other
/// key waits for a day. Meanwhile every command shows it, and `actum key deny ROLE` rejects it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of the key
    role: Role,
    #[command(flatten)]
    protect: Protect,
    /// For a lease key or a host key: read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    approval_passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let role = arguments.role.into();
    let home = new_home::open()?;
    let mut keys = Keys::open(&home, clock::now()).map_err(actum::Error::from)?;
    if let Some(KeyEntry { id, .. }) = keys.keyring().current(role, clock::now()) {
        // Do not ask for a passphrase that is not needed.
        return Err(actum::Error::from(KeyError::Exists { role, id: id.clone() }).into());
    }
    let passphrase = arguments.protect.passphrase(arguments.role, session)?;
    let admission = arguments.admission(&home, &keys, session)?;
    if admission == Admission::AfterWait {
        waits::announce()?;
    }
    let made = {
        let _held = signals::hold();
        keys.make(role, clock::now(), passphrase.as_ref(), admission)
    };
    let new = made.map_err(actum::Error::from)?;
    let alerted = match new.unproven {
        true => waits::raise(&new, session)?,
        false => Exit::Success,
    };
    let protection = keys.protection_of(&new).map_err(actum::Error::from)?;
    session.screen.show(&KeyMade { new: new.into(), protection: shown(protection) })?;
    Ok(alerted)
}

impl Arguments {
    /// Decides whether the key is valid at once. The approval key, once unlocked, vouches for a lease key or a host
    /// key.
    fn admission(
        &self,
        home: &LedgerHome,
        keys: &Keys,
        session: &Session,
    ) -> Result<Admission, Failure> {
        let file = self.approval_passphrase_file.as_deref();
        let has_approval_key = keys.keyring().current(KeyRole::Approval, clock::now()).is_some();
        match (self.role, waits::admission(home)?) {
            (Role::Lease, Admission::AfterWait) | (Role::Host, _)
                if has_approval_key && (file.is_some() || passphrase::can_ask()) =>
            {
                let role = KeyRole::from(self.role);
                OperatorKey::approval(session, &format!("Make a {role} key?"), file)?;
                Ok(Admission::AtOnce)
            }
            // A holder of the host key confirms in the name of any user.
            (Role::Host, _) if has_approval_key => Ok(Admission::AfterWait),
            (Role::Lease | Role::Host, admission) => Ok(admission),
            (_, _) if file.is_some() => Err(Failure::Usage {
                message: "`--approval-passphrase-file` is for a lease key or a host key alone"
                    .to_owned(),
            }),
            (Role::Approval | Role::Result | Role::Checkpoint, admission) => Ok(admission),
        }
    }
}

impl Document for KeyMade {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Key { id, role, not_before, unproven, .. } = &self.new;
        let by = words(self.protection);
        if *unproven {
            let from = timestamp::second(*not_before);
            writeln!(out, "the {role} key {id} waits, protected by {by}: it signs from {from} on")?;
            writeln!(
                out,
                "something was recorded here before it was made, and nothing vouches for it"
            )?;
            return writeln!(out, "`actum key deny {role}` rejects it until then");
        }
        writeln!(out, "the {role} key {id} signs from now on, protected by {by}")?;
        writeln!(out, "give the new keyring to whoever verifies: `actum key export`")
    }
}
