//! `actum ledger checkpoint`: writes a signed checkpoint of the ledger.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::ledger;
use actum_api::written::WrittenKind;
use actum_ledger::{LedgerError, Log};
use actum_record::checkpoint::Checkpoint;
use actum_record::note::Note;

use super::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::output_file::{self, Target};
use crate::verb::Session;

/// Sign the current state of the ledger and write it as a checkpoint
///
/// A checkpoint is a signed note (C2SP) of three lines: the name of the log, the number of its entries and the root of
/// its Merkle tree. If you store a copy in a different location, you can check later whether any of these entries has
/// been changed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let size = opened.log.size().map_err(actum::Error::from)?;
    let (_, signed) = opened.checkpoint(size)?;
    match arguments.target.file() {
        Some(file) => {
            output_file::write(session, file, WrittenKind::Checkpoint, signed.note.as_bytes())?;
        }
        None => session.screen.show(&document(signed.note).map_err(actum::Error::from)?)?,
    }
    Ok(Exit::Success)
}

fn document(checkpoint: String) -> Result<ledger::Checkpoint, LedgerError> {
    let damaged = |error: &dyn std::fmt::Display| LedgerError::Damaged {
        message: format!("its newest checkpoint is invalid: {error}"),
    };
    let note = Note::read(checkpoint.as_bytes()).map_err(|error| damaged(&error))?;
    let read = Checkpoint::read(&note.text).map_err(|error| damaged(&error))?;
    let Checkpoint { origin, size, root } = read;
    Ok(ledger::Checkpoint { origin, size, root, checkpoint })
}

impl Document for ledger::Checkpoint {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.checkpoint.as_bytes())
    }
}
