//! `actum key make`: the first key of a role.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::key::{Key, KeyMade};
use actum_ledger::{Admission, KeyError, Keys};
use actum_record::keyring::KeyEntry;

use super::protect::{Protect, shown, words};
use super::{Role, waits};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::Session;
use crate::{clock, new_home, signals, timestamp};

/// Make the first key of a role, such as the one that approves
///
/// The first run makes the keys of receipts and checkpoints. The approval key is yours: it is
/// protected by a passphrase, which cannot be recovered. Verifiers need the new keyring: `actum key export`.
///
/// Make it before an agent works here: it counts at once while nothing is recorded yet. Later it waits for a day, in
/// which every command shows it and `actum key deny approval` rejects it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What the key signs
    role: Role,
    #[command(flatten)]
    protect: Protect,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let role = arguments.role.into();
    let home = new_home::open()?;
    let mut keys = Keys::open(&home, clock::now()).map_err(actum::Error::from)?;
    if let Some(KeyEntry { id, .. }) = keys.keyring().current(role, clock::now()) {
        // Do not ask for a passphrase in vain.
        return Err(actum::Error::from(KeyError::Exists { role, id: id.clone() }).into());
    }
    let passphrase = arguments.protect.passphrase(arguments.role, session)?;
    let admission = waits::admission(&home)?;
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
