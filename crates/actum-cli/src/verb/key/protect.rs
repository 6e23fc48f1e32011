//! Passphrase option for new keys, and the description of a key's protection.

use std::path::{Path, PathBuf};

use actum_api::key::Protection;
use actum_ledger::{KeyError, Passphrase};

use super::Role;
use crate::failure::Failure;
use crate::passphrase;
use crate::verb::Session;

/// Option for the passphrase of a new approval, lease or host key. Without it, the user is prompted on the terminal.
#[derive(clap::Args)]
pub(super) struct Protect {
    /// Read the passphrase of the new approval, lease or host key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Protect {
    /// Reads the passphrase for a new key of the given role. Returns `None` for result and checkpoint keys, which have none, and
    /// an error if a passphrase file was passed for one of them.
    pub(super) fn passphrase(
        &self,
        role: Role,
        session: &Session,
    ) -> Result<Option<Passphrase>, Failure> {
        match (role, &self.passphrase_file) {
            (Role::Result | Role::Checkpoint, Some(_)) => {
                Err(actum::Error::from(KeyError::Unattended { role: role.into() }).into())
            }
            (Role::Result | Role::Checkpoint, None) => Ok(None),
            (Role::Approval | Role::Lease | Role::Host, file) => {
                passphrase::read_new(session, file.as_deref()).map(Some)
            }
        }
    }

    /// Whether the passphrase is read from standard input.
    pub(super) fn takes_standard_input(&self) -> bool {
        self.passphrase_file.as_deref() == Some(Path::new("-"))
    }
}

/// Converts the protection of a key to its type in documents.
pub(super) fn shown(protection: actum_ledger::Protection) -> Protection {
    match protection {
        actum_ledger::Protection::Passphrase => Protection::Passphrase,
        actum_ledger::Protection::FilePermissions => Protection::FilePermissions,
    }
}

/// Returns the protection of a key as a phrase that follows "protected by".
pub(super) fn words(protection: Protection) -> &'static str {
    match protection {
        Protection::Passphrase => "a passphrase",
        Protection::FilePermissions => "file permissions",
    }
}
