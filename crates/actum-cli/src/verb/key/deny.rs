//! `actum key deny`: rejects a pending approval key.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::key::{Key, KeyDenied};
use actum_ledger::{Keys, LedgerHome};

use super::{Role, waits};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::Session;
use crate::{clock, signals};

/// Reject a new key that waits to be admitted
///
/// The key is never admitted, and the earlier one stays in force. The ledger keeps an alert about it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of the key
    role: Role,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (home, _) = super::existing()?;
    let home = LedgerHome::open(home.path()).map_err(actum::Error::from)?;
    let mut keys = Keys::open(&home, clock::now()).map_err(actum::Error::from)?;
    let denied = {
        let _held = signals::hold();
        keys.deny(arguments.role.into(), clock::now())
    };
    let denied = denied.map_err(actum::Error::from)?;
    let alerted = waits::raise_denied(&denied, session)?;
    session.screen.show(&KeyDenied { denied: denied.into() })?;
    Ok(alerted)
}

impl Document for KeyDenied {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Key { id, role, .. } = &self.denied;
        writeln!(out, "the {role} key {id} is denied; it never counts")
    }
}
