//! `actum key`: the keys that sign receipts and checkpoints.

mod export;
mod list;
mod rotate;

use std::path::Path;

use actum_core::signer::KeyRole;
use actum_ledger::{Keys, LedgerHome};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home;
use crate::ledger_failure::LedgerFailure;

/// Show, change and export the keys that sign receipts and checkpoints
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Arguments),
    Rotate(rotate::Arguments),
    Export(export::Arguments),
}

/// What a key signs, as far as there are keys for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Role {
    /// Receipts
    Result,
    /// The state of a ledger
    Checkpoint,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, session),
        Command::Rotate(arguments) => rotate::run(arguments, session),
        Command::Export(arguments) => export::run(arguments, session),
    }
}

/// The keys that are there; none are made.
pub(super) fn existing() -> Result<(LedgerHome, Keys), Failure> {
    let path = home::path()?;
    let keys = at(&path)?;
    keys.ok_or_else(|| LedgerFailure::NoKeys { home: path }.into())
}

fn at(path: &Path) -> Result<Option<(LedgerHome, Keys)>, Failure> {
    let Some(home) = LedgerHome::open_existing(path).map_err(actum::Error::from)? else {
        return Ok(None);
    };
    let keys = Keys::open_existing(&home).map_err(actum::Error::from)?;
    Ok(keys.map(|keys| (home, keys)))
}

impl From<Role> for KeyRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Result => Self::Result,
            Role::Checkpoint => Self::Checkpoint,
        }
    }
}
