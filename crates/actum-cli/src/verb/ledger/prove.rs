//! `actum ledger prove`: proves that an entry is part of the ledger.

use std::borrow::Borrow;
use std::fmt;
use std::io::{self, Write};

use actum_api::ledger::Proof;
use actum_core::Digest;
use actum_core::path::Quoted;
use actum_gate::{check_inclusion, verify_checkpoint};
use actum_ledger::{LedgerError, Log, SignedCheckpoint, inclusion};
use actum_record::merkle::leaf_hash;

use super::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::run_prefix::RunPrefix;
use crate::trusted::Trusted;
use crate::verb::Session;

/// Prove that a run is in the ledger
///
/// Shows the hashes that lead from the entry to the root of the Merkle tree (RFC 6962), and a signed checkpoint with
/// that root. `actum receipt RUN` includes this proof in the receipt, where `actum verify` checks it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Id of the run, or at least its first 4 characters; by default, the newest run
    run: Option<RunPrefix>,
    /// Prove entry number N instead, counting from 0
    #[arg(long, value_name = "N", conflicts_with = "run")]
    entry: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let index = match arguments.entry {
        Some(index) => index,
        None => {
            let row = opened.run(arguments.run.as_ref(), session)?;
            row.done.unwrap_or(row.started)
        }
    };
    session.screen.show(&prove(opened, index)?)?;
    Ok(Exit::Success)
}

fn prove(opened: Opened, index: u64) -> Result<Proof, Failure> {
    let log = &opened.log;
    let size = log.size().map_err(actum::Error::from)?;
    if index >= size {
        return Err(LedgerFailure::NoEntry { index, size }.into());
    }
    let leaf = leaf_hash(&log.sound_entry(index).map_err(actum::Error::from)?.body);
    let origin = log.origin().map_err(actum::Error::from)?;
    let (SignedCheckpoint { size, note: checkpoint }, hashes) = path(opened, index)?;
    // Check the proof before writing it, because a verifier that received an invalid proof could not correct it.
    let wrong = |error: &dyn fmt::Display| {
        let message = format!("its checkpoint of size {size}: {error}");
        actum::Error::from(LedgerError::Damaged { message })
    };
    let signed = verify_checkpoint(checkpoint.as_bytes(), &Trusted::own()?.keyring);
    let root = signed.map_err(|problem| wrong(&problem))?.checkpoint.root;
    let included = check_inclusion(&leaf, index, size, &hashes, &root);
    included.map_err(|problem| wrong(&problem))?;
    Ok(Proof { origin, index, leaf, size, hashes, checkpoint })
}

/// Returns a signed checkpoint, and the hashes that lead from an existing entry to the root of that checkpoint.
pub(in crate::verb) fn path(
    opened: Opened,
    index: u64,
) -> Result<(SignedCheckpoint, Vec<Digest>), Failure> {
    let (opened, checkpoint) = opened.checkpoint(index.saturating_add(1))?;
    let hashes = inclusion(&opened.log, checkpoint.size, index).map_err(actum::Error::from)?;
    let size = checkpoint.size;
    let hashes = hashes.ok_or(LedgerFailure::NoEntry { index, size })?;
    Ok((checkpoint, hashes))
}

impl Document for Proof {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { origin, index, leaf, size, hashes, checkpoint } = self;
        writeln!(out, "log     {}", Quoted(origin.as_bytes()))?;
        writeln!(out, "entry   {index} of {size}\nleaf    {leaf}")?;
        for hash in hashes {
            writeln!(out, "hash    {hash}")?;
        }
        write!(out, "\n{checkpoint}")
    }
}
