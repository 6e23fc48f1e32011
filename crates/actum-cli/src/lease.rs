//! Reads and verifies the lease under which a command makes its changes.

use std::path::{Path, PathBuf};

use actum::{Records, RequestLease};
use actum_lease::{LeaseError, TOKEN_TEXT_BYTES_MAX, Token};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::lease_failure::LeaseFailure;
use crate::session::Session;
use crate::{clock, home, input, records};

/// Maximum number of bytes of whitespace around a token in a lease file.
const AROUND_BYTES_MAX: usize = 64;
/// Environment variable that names the lease file if `--lease` is not given.
const VARIABLE: &str = "ACTUM_LEASE";

/// Command-line option for the lease under which a command makes its runs.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LeaseArgument {
    /// Use the lease in FILE, which must allow the request; if omitted, `ACTUM_LEASE` can name the file
    #[arg(long, value_name = "FILE")]
    lease: Option<PathBuf>,
}

impl LeaseArgument {
    /// Reads and verifies the lease, if one was given, and looks it up in the ledger.
    pub(crate) fn present(
        &self,
        session: &Session,
        records: &Records,
    ) -> Result<Option<RequestLease>, Failure> {
        let token = self.token(session)?;
        Ok(token.map(|token| RequestLease::present_in(&token, records)).transpose()?)
    }

    /// Reads and verifies the lease, if one was given. The inner error reports an invalid lease, which the caller may still
    /// want to record.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn present_unjudged(
        &self,
        session: &Session,
        records: &Records,
    ) -> Result<actum::Result<Option<RequestLease>>, Failure> {
        let Some(file) = self.file() else { return Ok(Ok(None)) };
        let token = Token::read(&text(&file, session)?.1).map_err(actum::Error::from);
        Ok(token.and_then(|token| RequestLease::present_in(&token, records)).map(Some))
    }

    /// Reads and verifies the lease, if one was given, without recording anything. The ledger is only read, and only if it
    /// exists.
    pub(crate) fn look(&self, session: &Session) -> Result<Option<RequestLease>, Failure> {
        self.token(session)?.map(|token| look(&token, session)).transpose()
    }

    fn token(&self, session: &Session) -> Result<Option<Token>, Failure> {
        self.file().map(|file| read(&file, session)).transpose()
    }

    /// Returns the path of the lease file from `--lease`, or else from `ACTUM_LEASE`.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.lease.clone().or_else(|| home::inherited_file(VARIABLE))
    }
}

/// Reads a lease token from a file, or from standard input if `file` is `-`.
pub(crate) fn read(file: &Path, session: &Session) -> Result<Token, Failure> {
    let (input, text) = text(file, session)?;
    Ok(Token::read(&text).map_err(|source| LeaseFailure::Unreadable { input, source })?)
}

/// Returns the name of a lease file for messages, and its content.
fn text(file: &Path, session: &Session) -> Result<(String, Zeroizing<Vec<u8>>), Failure> {
    let max = TOKEN_TEXT_BYTES_MAX.saturating_add(AROUND_BYTES_MAX);
    let (input, text) = input::document(file, &session.start, max)?;
    if text.len() > max {
        let source = LeaseError::TextTooLong { given: text.len() };
        return Err(LeaseFailure::Unreadable { input, source }.into());
    }
    Ok((input, Zeroizing::new(text)))
}

/// Verifies a lease, and looks it up in the ledger if the ledger exists.
pub(crate) fn look(token: &Token, session: &Session) -> Result<RequestLease, Failure> {
    let (view, keyring) = records::ledger_and_keys(&session.tenant)?;
    let log = view.as_ref().map(|view| -> &dyn actum_ledger::Log { view });
    Ok(RequestLease::present(token, &keyring, clock::now(), log)?)
}
