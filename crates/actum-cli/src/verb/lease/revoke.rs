//! `actum lease revoke`: revokes a lease and all leases derived from it.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use actum_api::lease::LeaseRevocation;
use actum_core::path::Quoted;
use actum_ledger::Log;
use actum_record::lease::LeaseId;
use actum_record::signer::KeyRole;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease_failure::LeaseFailure;
use crate::operator_key::{self, OperatorKey};
use crate::output::Document;
use crate::run_arguments::label;
use crate::verb::Session;
use crate::{lease, records, signals};

/// Minimum length of a lease id prefix, in characters.
const LENGTH_MIN: usize = 4;
/// Length of a complete lease id, in characters.
const LENGTH: usize = 64;
/// Maximum number of leases that the error about an ambiguous id lists.
const NAMED_MAX: usize = 3;

/// Revoke a lease, so that no more runs can be started under it
///
/// All leases that were derived from it are revoked as well. Runs that have already started are not affected. The
/// revocation is signed with the lease key and recorded in the ledger.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Lease to revoke, given as a lease file or as the id from `actum lease list`, of which the first 4 characters are
    /// enough. For a file, its last block is revoked. If the file name looks like an id, write it as `./cafe`
    #[arg(value_name = "LEASE|FILE")]
    lease: PathBuf,
    /// Revoke block N of the file instead of the last one; block 1 is the one that the lease key signed
    #[arg(long, value_name = "N")]
    block: Option<NonZeroUsize>,
    /// Record REASON with the revocation
    #[arg(long, value_name = "REASON", value_parser = label)]
    message: Option<String>,
    /// Read the passphrase of the lease key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let id = arguments.find(session)?;
    operator_key::check_protected(KeyRole::Lease)?;
    session.screen.print_lines(|out| writeln!(out, "lease {id} and all leases derived from it"))?;
    let question = "Revoke this lease?";
    let key = OperatorKey::lease(session, question, arguments.passphrase_file.as_deref())?;
    let records = records::open(&session.tenant)?;
    {
        let _held = signals::hold();
        records.revoke_lease(id, arguments.message.clone(), &key.grantor())?;
    }
    let reason = arguments.message.clone();
    session.screen.show(&LeaseRevocation { revoked: id, reason })?;
    Ok(Exit::Success)
}

impl Arguments {
    fn find(&self, session: &Session) -> Result<LeaseId, Failure> {
        match self.lease.to_str().filter(|text| is_prefix(text)) {
            Some(_) if self.block.is_some() => Err(Failure::Usage {
                message: "`--block` can only be used with a lease file".to_owned(),
            }),
            Some(prefix) => resolve(prefix, session),
            None => self.block_of(&self.lease, session),
        }
    }

    /// Returns the id of the block to revoke in a lease file. The lease must be signed by a lease key of this installation.
    fn block_of(&self, file: &Path, session: &Session) -> Result<LeaseId, Failure> {
        let token = lease::read(file, session)?;
        let lease = lease::look(&token, session)?;
        let blocks = lease.blocks();
        let number = self.block.map_or(blocks.len(), NonZeroUsize::get);
        let block = number.checked_sub(1).and_then(|index| blocks.get(index));
        let unknown = || LeaseFailure::NoSuchBlock { block: number, blocks: blocks.len() };
        Ok(block.ok_or_else(unknown)?.id)
    }
}

/// Whether a text could be a lease id or a prefix of one.
fn is_prefix(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (LENGTH_MIN..=LENGTH).contains(&text.len()) && text.bytes().all(is_digit)
}

/// Finds the lease whose id begins with `prefix`. A complete id is accepted even if the ledger does not contain it, because the
/// ledger does not know a narrowed lease before it is used.
fn resolve(prefix: &str, session: &Session) -> Result<LeaseId, Failure> {
    let (view, _) = records::ledger_and_keys(&session.tenant)?;
    let known = match &view {
        Some(view) => view.newest_leases(None, u64::MAX).map_err(actum::Error::from)?,
        None => Vec::new(),
    };
    let ids = known.into_iter().map(|row| row.lease);
    let found: Vec<LeaseId> = ids.filter(|id| id.to_string().starts_with(prefix)).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let id = prefix.parse().map(LeaseId);
            let id = id.map_err(|_| LeaseFailure::NoSuchLease { prefix: prefix.to_owned() })?;
            let row = view.map_or(Ok(None), |view| view.lease(id)).map_err(actum::Error::from)?;
            if row.is_none() {
                session.screen.note("the ledger does not know this lease block yet");
            }
            Ok(id)
        }
        [..] => {
            let leases = found.into_iter().take(NAMED_MAX).collect();
            Err(LeaseFailure::Ambiguous { prefix: prefix.to_owned(), leases }.into())
        }
    }
}

impl Document for LeaseRevocation {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "revoked lease {}", self.revoked)?;
        match &self.reason {
            Some(reason) => writeln!(out, ": {}", Quoted(reason.as_bytes())),
            None => writeln!(out),
        }
    }
}
