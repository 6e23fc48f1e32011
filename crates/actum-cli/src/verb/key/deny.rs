//! `actum key deny`: rejects a new key before it becomes valid.

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

/// Reject a pending key, so that it never becomes valid
///
/// The previous key of the role, if there is one, stays in force. An alert about the rejected key is recorded in the
/// ledger.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of the pending key
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
        writeln!(out, "denied the {role} key {id}; it never becomes valid")
    }
}
