//! What protects the private half of a new key.

use std::path::{Path, PathBuf};

use actum_ledger::{KeyError, Passphrase, Protection};

use super::Role;
use crate::failure::Failure;
use crate::passphrase;
use crate::verb::Session;

/// How a new key of approvals is protected; without an option a passphrase is asked for.
#[derive(clap::Args)]
pub(super) struct Protect {
    /// Take the passphrase of the new approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "no_passphrase")]
    passphrase_file: Option<PathBuf>,
    /// Protect the new key by its file's permissions alone: whatever runs as you can sign with it
    #[arg(long)]
    no_passphrase: bool,
}

impl Protect {
    /// The passphrase of a new key, where it gets one.
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
            (Role::Approval, None) if self.no_passphrase => Ok(None),
            (Role::Approval, file) => passphrase::read_new(session, file.as_deref()).map(Some),
        }
    }

    /// Whether it reads standard input.
    pub(super) fn takes_standard_input(&self) -> bool {
        self.passphrase_file.as_deref() == Some(Path::new("-"))
    }
}

/// What a reader is told.
pub(super) fn words(protection: Protection) -> &'static str {
    match protection {
        Protection::Passphrase => "a passphrase",
        Protection::FilePermissions => "file permissions",
    }
}
