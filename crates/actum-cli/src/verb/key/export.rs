//! `actum key export`: writes the public keys for verifiers.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::key::ExportedKey;
use actum_api::written::WrittenKind;
use actum_ledger::keys::public_pem;
use actum_ledger::{LedgerView, Log};
use actum_record::keyring::KeyEntry;
use actum_record::note::NoteKey;
use actum_record::signer::KeyRole;

use super::{Role, current};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::output_file;
use crate::output_file::Target;
use crate::verb::Session;

/// Export the public keys, so that others can verify receipts
///
/// Writes a keyring (`actum.keyring/1`) for `actum verify --keyring FILE`. It lists all current and past keys with
/// their roles and periods of validity. Private keys are never exported.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Write only the current key of ROLE in PEM format, for other programs
    #[arg(long, value_name = "ROLE")]
    pem: Option<Role>,
    /// Write only the current checkpoint key as a verifier key for signed notes (C2SP), for other programs
    #[arg(long, conflicts_with = "pem")]
    vkey: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (ledger_home, keys) = super::existing()?;
    let exported = match (arguments.pem, arguments.vkey) {
        (Some(role), _) => {
            let KeyEntry { id, role, public, .. } = current(&keys, role.into())?;
            ExportedKey { id, role, pem: Some(public_pem(&public)), vkey: None }
        }
        (None, true) => {
            let tenant = session.tenant.id()?;
            let log = LedgerView::open(&ledger_home, &tenant).map_err(actum::Error::from)?;
            let home = || ledger_home.path().to_owned();
            let log = log.ok_or_else(|| LedgerFailure::NoLedger { tenant, home: home() })?;
            let KeyEntry { id, role, public, .. } = current(&keys, KeyRole::Checkpoint)?;
            let name = log.origin().map_err(actum::Error::from)?;
            let key = NoteKey { name, key: public };
            ExportedKey { id, role, pem: None, vkey: Some(key.to_text() + "\n") }
        }
        (None, false) => {
            let keyring = keys.keyring().to_vec();
            let mut bytes = keyring
                .map_err(|source| Failure::Unwritten { source: io::Error::other(source) })?;
            bytes.push(b'\n');
            match arguments.target.file() {
                Some(file) => output_file::write(session, file, WrittenKind::Keyring, &bytes)?,
                None => session.screen.hand_over(&bytes)?,
            }
            return Ok(Exit::Success);
        }
    };
    match arguments.target.file() {
        Some(file) => {
            let text = text(&exported).as_bytes();
            output_file::write(session, file, WrittenKind::PublicKey, text)?;
        }
        None => session.screen.show(&exported)?,
    }
    Ok(Exit::Success)
}

fn text(key: &ExportedKey) -> &str {
    key.pem.as_deref().or(key.vkey.as_deref()).unwrap_or_default()
}

impl Document for ExportedKey {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(text(self).as_bytes())
    }
}
