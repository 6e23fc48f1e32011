//! Public keys with which receipts and ledgers are verified.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_api::key::{KeyringSource, TrustedKeyring};
use actum_core::path::Quoted;
use actum_ledger::{Keys, LedgerHome};
use actum_record::keyring::{KEYRING_BYTES_MAX, Keyring};

use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::snippet::Quote;
use crate::{home, input, own_format, shown_path};

/// Keyring that a verification trusts, and the file from which it was read.
pub(crate) struct Trusted {
    pub(crate) keyring: Keyring,
    /// Path and origin of the keyring, for JSON documents.
    pub(crate) document: TrustedKeyring,
    shown_file: String,
}

impl Trusted {
    /// Reads the keyring in `file`, relative to `start`. Without a file, reads the keyring of this user.
    pub(crate) fn read(file: Option<&Path>, start: &Path) -> Result<Self, Failure> {
        match file {
            Some(file) => {
                let (input, bytes) = match input::document(file, start, KEYRING_BYTES_MAX) {
                    Ok(read) => read,
                    Err(Failure::Unreadable { input, source }) => {
                        return Err(LedgerFailure::KeyringUnreadable { input, source }.into());
                    }
                    Err(failure) => return Err(failure),
                };
                let keyring = Keyring::read(&bytes);
                let keyring = keyring.map_err(|source| {
                    let quote = Quote::new(input::path(file, start).as_deref(), &bytes, None);
                    let quote = quote.of_kind(own_format::is_actum_document(&bytes));
                    LedgerFailure::Keyring { input, source, quote }
                })?;
                Ok(Self::new(keyring, file, KeyringSource::Argument))
            }
            None => Self::own(),
        }
    }

    /// Reads the keyring in this user's directory of ledgers and keys.
    pub(crate) fn own() -> Result<Self, Failure> {
        let path = home::path()?;
        match LedgerHome::open_existing(&path).map_err(actum::Error::from)? {
            Some(home) => Self::in_home(&home),
            None => Err(LedgerFailure::NoKeys { home: path }.into()),
        }
    }

    /// Reads the keyring in an open directory of ledgers and keys.
    pub(crate) fn in_home(home: &LedgerHome) -> Result<Self, Failure> {
        let keys = Keys::open_existing(home).map_err(actum::Error::from)?;
        let keys = keys.ok_or_else(|| LedgerFailure::NoKeys { home: home.path().to_owned() })?;
        Ok(Self::new(keys.keyring().clone(), &keys.keyring_path(), KeyringSource::Home))
    }

    fn new(keyring: Keyring, file: &Path, source: KeyringSource) -> Self {
        let bytes = file.as_os_str().as_bytes();
        let (file, shown_file) = (shown_path::text(bytes), Quoted(bytes).to_string());
        Self { keyring, document: TrustedKeyring { file, source }, shown_file }
    }

    /// Writes the line that names the trusted keyring in the text of a verification.
    pub(crate) fn write_text(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let owner = match self.document.source {
            KeyringSource::Argument => "",
            KeyringSource::Home => "your own keys, ",
        };
        writeln!(out, "trusting  {owner}{}", self.shown_file)
    }
}
