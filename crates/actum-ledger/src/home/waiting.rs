//! Installation state for the operator: whether a decision is pending, and where the operator's configuration is.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use actum_core::Timestamp;

use super::{HomeError, LedgerHome};

pub(super) const CONFIGURATION: &str = "configuration";
/// Maximum length in bytes of the recorded path.
const PATH_BYTES_MAX: usize = 4096;

impl LedgerHome {
    /// Name of a file that exists once a decision has been pending. Every command checks whether it exists, and only then
    /// looks for pending decisions.
    pub const WAITING: &str = "waiting";

    /// Records that a decision is pending until the given time.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the file cannot be written.
    pub fn note_waiting(&self, until: Timestamp) -> Result<(), HomeError> {
        self.change(|home| home.replace(Self::WAITING, format!("{until}\n").as_bytes()))
    }

    /// Returns the path of the operator's configuration that was recorded when this installation was first used.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the recorded path cannot be read.
    pub fn configuration(&self) -> Result<Option<PathBuf>, HomeError> {
        let bytes = self.root().read(CONFIGURATION, PATH_BYTES_MAX)?;
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        Ok(bytes.map(|bytes| path(&bytes)))
    }

    /// Durably records the path of the operator's configuration.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the path cannot be written.
    pub fn set_configuration(&self, directory: &Path) -> Result<(), HomeError> {
        self.change(|home| home.replace(CONFIGURATION, directory.as_os_str().as_bytes()))
    }
}
