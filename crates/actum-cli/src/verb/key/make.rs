//! `actum key make`: creates the first key of a role.

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

/// Create the first key of a role, such as the approval key
///
/// The keys for receipts and checkpoints are created by the first run. The approval, lease and host keys are yours.
/// Each of them is protected by a passphrase, which cannot be recovered if you lose it. Give verifiers the new keyring,
/// which `actum key export` writes.
///
/// Create your keys before an agent works on this machine. As long as nothing is recorded, they are valid immediately.
/// Later, a lease key or a host key is valid immediately only if you enter the passphrase of the approval key. Any
/// other new key becomes valid after 24 hours. Until then, every command reports it, and `actum key deny ROLE` rejects
/// it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of the key
    role: Role,
    #[command(flatten)]
    protect: Protect,
    /// Read the passphrase of the approval key, which admits a lease or host key, from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    approval_passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let role = arguments.role.into();
    let home = new_home::open()?;
    let mut keys = Keys::open(&home, clock::now()).map_err(actum::Error::from)?;
    if let Some(KeyEntry { id, .. }) = keys.keyring().current(role, clock::now()) {
        // Fail before asking for a passphrase that would not be used.
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
    /// Decides whether the new key is valid immediately. For a lease key or a host key, this may ask for the passphrase of the
    /// approval key, which vouches for the new key.
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
                OperatorKey::approval(session, &format!("Create a {role} key?"), file)?;
                Ok(Admission::AtOnce)
            }
            // With a host key, a program can confirm goals on behalf of any user. Therefore the key must wait unless the approval
            // key vouches for it.
            (Role::Host, _) if has_approval_key => Ok(Admission::AfterWait),
            (Role::Lease | Role::Host, admission) => Ok(admission),
            (_, _) if file.is_some() => Err(Failure::Usage {
                message: "`--approval-passphrase-file` is only valid for a lease key or a host key"
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
            writeln!(out, "created the {role} key {id}, protected by {by}")?;
            writeln!(
                out,
                "it becomes valid at {from}, because no passphrase of an earlier key vouched for it"
            )?;
            return writeln!(out, "until then, `actum key deny {role}` rejects it");
        }
        writeln!(out, "created the {role} key {id}, valid from now on and protected by {by}")?;
        writeln!(out, "run `actum key export` and give the new keyring to all verifiers")
    }
}
