//! `actum receipt`: writes the signed receipt of a run, with a proof that the ledger contains it.

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

/// Write the receipt of a run, with a proof that the ledger contains it
///
/// With your public keys (`actum key export`), other users can verify the receipt with `actum verify`. It is a JSON
/// document (`actum.receipt/1`) that contains the signed statement, its position in the ledger and a signed checkpoint.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run of the receipt, or a prefix of its id with at least 4 characters; by default, the newest run
    run: Option<RunPrefix>,
    #[command(flatten)]
    target: Target,
    /// Write only the signed statement, as a DSSE envelope that other programs can read
    #[arg(long)]
    no_proof: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let row = opened.run(arguments.run.as_ref(), session)?;
    let index = row.done.ok_or(LedgerFailure::NoReceipt { run: row.run })?;
    let damaged = |error: &dyn fmt::Display| actum::Error::from(LedgerError::entry(index, error));
    let receipt = opened.log.sound_entry(index).map_err(actum::Error::from)?.body;
    // Verify the receipt before it is handed out, because a recipient could not repair it.
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
