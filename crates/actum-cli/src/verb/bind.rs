//! `actum bind`: moves a workspace to the ledger in use.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum::{Adoption, Binding as Adopted};
use actum_api::bind::{Bind, Binding};
use actum_core::path::Quoted;
use actum_record::signer::KeyRole;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::{actor, clock, records, timestamp};

/// Move this workspace to the ledger in use
///
/// A workspace belongs to the ledger that was in use when it was created, and commands that use a different ledger are
/// rejected. With the passphrase of the approval key that the workspace knows, the workspace is moved immediately.
///
/// Otherwise the request waits for a day, during which every command in the workspace shows it and `actum bind
/// --cancel` rejects it. After that day, run `actum bind` again to complete the move. The exit code is 6 while the
/// request waits.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Reject the pending request of this workspace
    #[arg(long, conflicts_with = "passphrase_file")]
    cancel: bool,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let by = actor::from_agent(None);
    let proof = match arguments.cancel {
        true => None,
        false => prove(arguments, session, &records)?,
    };
    let mut engine = checked.existing_engine(records)?;
    let (binding, waiting) = if arguments.cancel {
        match engine.cancel_adoption(&by)? {
            Some(cancelled) => (Binding::Cancelled, Some(cancelled)),
            None => (Binding::NothingWaits, None),
        }
    } else {
        match engine.adopt(&by, proof.as_ref().map(OperatorKey::id).as_ref())? {
            Adopted::Own => (Binding::Own, None),
            Adopted::Adopted => (Binding::Adopted, None),
            Adopted::Waiting(waiting) => (Binding::Waiting, Some(waiting)),
        }
    };
    let from = waiting.as_ref().map(|waiting| Adoption::due(waiting).to_string());
    let exit = if binding == Binding::Waiting { Exit::Queued } else { Exit::Success };
    session.screen.show(&Bind { binding, ledger: waiting.map(|it| it.log), from })?;
    Ok(exit)
}

/// Unlocks the approval key. Returns `None` if there is no key, or if its passphrase cannot be read.
fn prove(
    arguments: &Arguments,
    session: &Session,
    records: &actum::Records,
) -> Result<Option<OperatorKey>, Failure> {
    let file = arguments.passphrase_file.as_deref();
    let is_there = records.keyring().current(KeyRole::Approval, clock::now()).is_some();
    if !is_there || (file.is_none() && !crate::passphrase::can_ask()) {
        return Ok(None);
    }
    OperatorKey::approval(session, "Move this workspace?", file).map(Some)
}

impl Document for Bind {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let ledger = self.ledger.as_deref().unwrap_or_default();
        let ledger = Quoted(ledger.as_bytes());
        match (&self.binding, &self.from) {
            (Binding::Own, _) => {
                writeln!(out, "this workspace already belongs to the ledger in use")
            }
            (Binding::Adopted, _) => {
                writeln!(out, "this workspace now belongs to the ledger in use")
            }
            (Binding::Waiting, from) => {
                let from = from.as_ref().map(timestamp::second).unwrap_or_default();
                writeln!(
                    out,
                    "the ledger `{ledger}` requested this workspace; run `actum bind` after {from} to complete the move"
                )?;
                writeln!(out, "run `actum bind --cancel` to reject the request")
            }
            (Binding::Cancelled, _) => {
                writeln!(out, "the request of the ledger `{ledger}` is rejected")
            }
            (Binding::NothingWaits | Binding::Other(_), _) => {
                writeln!(out, "this workspace has no pending request")
            }
        }
    }
}
