//! `actum key export`: the public keys, for whoever verifies.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_ledger::keys::public_pem;
use actum_ledger::{LedgerView, Log};
use actum_record::keyring::KeyEntry;
use actum_record::note::NoteKey;
use actum_record::signer::{KeyId, KeyRole};
use serde::Serialize;

use super::{Role, current};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::output_file;
use crate::output_file::Target;
use crate::verb::Session;

/// Write the public keys, for whoever verifies receipts
///
/// The keyring (`actum.keyring/1`) has all keys, past ones too, with their roles and times; `actum verify
/// --keyring FILE` takes it. No private key is ever exported.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Write the current key of ROLE alone, in PEM, for other programs
    #[arg(long, value_name = "ROLE")]
    pem: Option<Role>,
    /// Write the current checkpoint key as a verifier key of signed notes (C2SP), for other programs
    #[arg(long, conflicts_with = "pem")]
    vkey: bool,
}

/// One key in a form for other programs.
#[derive(Serialize)]
struct Exported {
    id: KeyId,
    role: KeyRole,
    #[serde(flatten)]
    form: KeyForm,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum KeyForm {
    Pem(String),
    Vkey(String),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (ledger_home, keys) = super::existing()?;
    let exported = match (arguments.pem, arguments.vkey) {
        (Some(role), _) => {
            let KeyEntry { id, role, public, .. } = current(&keys, role.into())?;
            Exported { id, role, form: KeyForm::Pem(public_pem(&public)) }
        }
        (None, true) => {
            let tenant = session.tenant.id()?;
            let log = LedgerView::open(&ledger_home, &tenant).map_err(actum::Error::from)?;
            let home = || ledger_home.path().to_owned();
            let log = log.ok_or_else(|| LedgerFailure::NoLedger { tenant, home: home() })?;
            let KeyEntry { id, role, public, .. } = current(&keys, KeyRole::Checkpoint)?;
            let name = log.origin().map_err(actum::Error::from)?;
            let key = NoteKey { name, key: public };
            Exported { id, role, form: KeyForm::Vkey(key.to_text() + "\n") }
        }
        (None, false) => {
            let keyring = keys.keyring().to_vec();
            let mut bytes = keyring
                .map_err(|source| Failure::Unwritten { source: io::Error::other(source) })?;
            bytes.push(b'\n');
            match arguments.target.file() {
                Some(file) => output_file::write(session, file, "keyring", &bytes)?,
                None => session.screen.hand_over(&bytes)?,
            }
            return Ok(Exit::Success);
        }
    };
    match arguments.target.file() {
        Some(file) => output_file::write(session, file, "public key", exported.text().as_bytes())?,
        None => session.screen.show(&exported)?,
    }
    Ok(Exit::Success)
}

impl Exported {
    fn text(&self) -> &str {
        let (KeyForm::Pem(text) | KeyForm::Vkey(text)) = &self.form;
        text
    }
}

impl actum_api::Document for Exported {
    const FORMAT: &'static str = "actum.key/1";
}

impl Document for Exported {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.text().as_bytes())
    }
}
