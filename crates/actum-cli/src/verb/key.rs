//! `actum key`: manages the keys that sign receipts, checkpoints, approvals, leases and host assertions.

mod deny;
mod export;
mod list;
mod make;
mod protect;
mod rotate;
mod waits;

use std::path::Path;

use actum_ledger::{KeyError, Keys, LedgerHome};
use actum_record::keyring::KeyEntry;
use actum_record::signer::KeyRole;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home;
use crate::ledger_failure::LedgerFailure;

/// List, create, rotate and export the keys that sign receipts, checkpoints, approvals, leases and host assertions
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Arguments),
    Make(make::Arguments),
    Rotate(rotate::Arguments),
    Deny(deny::Arguments),
    Export(export::Arguments),
}

/// Role of a key, which determines the kind of document that the key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Role {
    /// Key that signs receipts
    Result,
    /// Key that signs checkpoints of a ledger
    Checkpoint,
    /// Key that signs approvals of the operator
    Approval,
    /// Key that signs leases
    Lease,
    /// Key that signs assertions of a host about the goals of agents
    Host,
}

impl Role {
    /// Whether keys of this role belong to the operator, who unlocks them with a passphrase.
    fn is_operators(self) -> bool {
        match self {
            Self::Approval | Self::Lease | Self::Host => true,
            Self::Result | Self::Checkpoint => false,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, session),
        Command::Make(arguments) => make::run(arguments, session),
        Command::Rotate(arguments) => rotate::run(arguments, session),
        Command::Deny(arguments) => deny::run(arguments, session),
        Command::Export(arguments) => export::run(arguments, session),
    }
}

/// Opens the keys of this installation. If they do not exist, returns an error instead of creating them.
pub(super) fn existing() -> Result<(LedgerHome, Keys), Failure> {
    let path = home::path()?;
    let keys = at(&path)?;
    keys.ok_or_else(|| LedgerFailure::NoKeys { home: path }.into())
}

/// Returns the key that currently signs for a role.
fn current(keys: &Keys, role: KeyRole) -> Result<KeyEntry, Failure> {
    let path = keys.keyring_path();
    let current = keys.keyring().current(role, crate::clock::now()).cloned();
    Ok(current.ok_or(KeyError::NoKey { role, path }).map_err(actum::Error::from)?)
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
            Role::Approval => Self::Approval,
            Role::Lease => Self::Lease,
            Role::Host => Self::Host,
        }
    }
}
