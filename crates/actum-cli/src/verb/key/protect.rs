//! Protection of the private half of a new key.

use std::path::{Path, PathBuf};

use actum_api::key::Protection;
use actum_ledger::{KeyError, Passphrase};

use super::Role;
use crate::failure::Failure;
use crate::passphrase;
use crate::verb::Session;

/// Passphrase of a new approval, lease or host key; without an option the terminal asks for it.
#[derive(clap::Args)]
pub(super) struct Protect {
    /// Read the passphrase of the new approval, lease or host key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Protect {
    /// Reads the passphrase of a new key, for a role that needs one.
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

    /// Returns true if it reads standard input.
    pub(super) fn takes_standard_input(&self) -> bool {
        self.passphrase_file.as_deref() == Some(Path::new("-"))
    }
}

/// Converts a protection for documents.
pub(super) fn shown(protection: actum_ledger::Protection) -> Protection {
    match protection {
        actum_ledger::Protection::Passphrase => Protection::Passphrase,
        actum_ledger::Protection::FilePermissions => Protection::FilePermissions,
    }
}

/// Names a protection in text.
pub(super) fn words(protection: Protection) -> &'static str {
    match protection {
        Protection::Passphrase => "a passphrase",
        Protection::FilePermissions => "file permissions",
    }
}
