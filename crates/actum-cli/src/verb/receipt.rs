//! `actum receipt`: the signed receipt of a run, with the proof that it is in the ledger.

use std::fmt;

use actum_api::written::WrittenKind;
use actum_gate::{ReceiptBundle, verify_bundle, verify_receipt};
use actum_ledger::{LedgerError, Log};
use actum_record::dsse::Envelope;

use super::Session;
use super::ledger::{Opened, path};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output_file::{self, Target};
use crate::run_prefix::RunPrefix;
use crate::trusted::Trusted;

/// Write the receipt of a run, with the proof that it is in the ledger
///
/// Any holder of your public keys (`actum key export`) can verify it: `actum verify`. It is one JSON document
/// (`actum.receipt/1`): the signed statement, its place in the ledger, and a signed checkpoint.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run of the receipt, or at least 4 characters of the beginning of its id; without it the newest
    run: Option<RunPrefix>,
    #[command(flatten)]
    target: Target,
    /// Write only the signed statement (DSSE), as other programs read it
    #[arg(long)]
    no_proof: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let row = opened.run(arguments.run.as_ref(), session)?;
    let index = row.done.ok_or(LedgerFailure::NoReceipt { run: row.run })?;
    let damaged = |error: &dyn fmt::Display| actum::Error::from(LedgerError::entry(index, error));
    let receipt = opened.log.sound_entry(index).map_err(actum::Error::from)?.body;
    // Verified before it is written, since a reader elsewhere could not correct it.
    let keyring = Trusted::own()?.keyring;
    let (statement, mut bytes) = match arguments.no_proof {
        true => {
            let verified =
                verify_receipt(&receipt, &keyring).map_err(|problem| damaged(&problem))?;
            (verified.statement, receipt)
        }
        false => {
            let bundle = proven(opened, index, &receipt)?;
            let verified = verify_bundle(&bundle, &keyring).map_err(|problem| damaged(&problem))?;
            (verified.receipt.statement, bundle)
        }
    };
    if statement.predicate.run != row.run {
        return Err(damaged(&format_args!("it is not the receipt of the run {}", row.run)).into());
    }
    bytes.push(b'\n');
    match arguments.target.file() {
        Some(file) => output_file::write(session, file, WrittenKind::Receipt, &bytes)?,
        None => session.screen.hand_over(&bytes)?,
    }
    Ok(Exit::Success)
}

fn proven(opened: Opened, index: u64, envelope: &[u8]) -> Result<Vec<u8>, Failure> {
    let damaged = |error: &dyn fmt::Display| actum::Error::from(LedgerError::entry(index, error));
    let (checkpoint, hashes) = path(opened, index)?;
    let receipt = Envelope::read_own(envelope).map_err(|error| damaged(&error))?;
    let (size, checkpoint) = (checkpoint.size, checkpoint.note);
    let bundle = ReceiptBundle { receipt, index, size, hashes, checkpoint };
    Ok(bundle.to_vec().map_err(|error| damaged(&error))?)
}
