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
    /// File that exists once a decision has waited; every command looks for it, and reads more only
    /// if it exists.
    pub const WAITING: &str = "waiting";

    /// Notes that a decision waits until `until`.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn note_waiting(&self, until: Timestamp) -> Result<(), HomeError> {
        self.change(|home| home.replace(Self::WAITING, format!("{until}\n").as_bytes()))
    }

    /// Reads the path of the operator's configuration at the first use of this installation.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn configuration(&self) -> Result<Option<PathBuf>, HomeError> {
        let bytes = self.root().read(CONFIGURATION, PATH_BYTES_MAX)?;
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        Ok(bytes.map(|bytes| path(&bytes)))
    }

    /// Records the path of the operator's configuration, durably.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn set_configuration(&self, directory: &Path) -> Result<(), HomeError> {
        self.change(|home| home.replace(CONFIGURATION, directory.as_os_str().as_bytes()))
    }
}
