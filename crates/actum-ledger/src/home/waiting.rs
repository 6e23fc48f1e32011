//! State of an installation for its operator: whether a decision waits, and the path of the
//! configuration.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use actum_core::Timestamp;

use super::{HomeError, LedgerHome};

pub(super) const CONFIGURATION: &str = "configuration";
/// The longest path that is read.
const PATH_BYTES_MAX: usize = 4096;

impl LedgerHome {
    /// File that is there once a decision has waited; every command looks for it, and reads more only where it is.
    pub const WAITING: &str = "waiting";

    /// Notes that a decision waits until `until`.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn note_waiting(&self, until: Timestamp) -> Result<(), HomeError> {
        self.change(|home| home.replace(Self::WAITING, format!("{until}\n").as_bytes()))
    }

    /// Reads where the operator's configuration was when this installation was first used.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn configuration(&self) -> Result<Option<PathBuf>, HomeError> {
        let bytes = self.root().read(CONFIGURATION, PATH_BYTES_MAX)?;
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        Ok(bytes.map(|bytes| path(&bytes)))
    }

    /// Remembers where the operator's configuration is, durably.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn set_configuration(&self, directory: &Path) -> Result<(), HomeError> {
        self.change(|home| home.replace(CONFIGURATION, directory.as_os_str().as_bytes()))
    }
}
