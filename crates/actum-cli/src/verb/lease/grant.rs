//! `actum lease grant`: creates a lease, signs it with the lease key and records it in the ledger.

use std::path::PathBuf;

use actum_record::signer::KeyRole;

use super::new_lease::Destination;
use super::terms::TermArguments;
use super::view::write_terms;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::{self, OperatorKey};
use crate::verb::Session;
use crate::{clock, records, signals};

/// Grant a lease
///
/// A lease needs at least one `--capability` and one `--base`. By default, it starts immediately and expires after one
/// hour. It is signed with the lease key, which `actum key make lease` creates. The ledger records only the terms of
/// the lease, so its file is the only copy. The terms are shown before the passphrase is read.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    terms: TermArguments,
    #[command(flatten)]
    destination: Destination,
    /// Read the passphrase of the lease key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let terms = arguments.terms.first(session, clock::now())?;
    arguments.destination.check(session)?;
    operator_key::check_protected(KeyRole::Lease)?;
    session.screen.print_lines(|out| {
        writeln!(out, "a lease with these terms:")?;
        write_terms(&(&terms).into(), out)
    })?;
    let question = "Grant this lease?";
    let key = OperatorKey::lease(session, question, arguments.passphrase_file.as_deref())?;
    let destination = arguments.destination.open(session)?;
    let records = records::open(&session.tenant)?;
    let granted = {
        let _held = signals::hold();
        records.grant_lease(&terms, &key.grantor())
    };
    let granted = granted?;
    destination.write(&granted.token, session).inspect_err(|_| {
        session.screen.note(format_args!(
            "the lease {} could not be written, although the ledger records that it was granted",
            granted.lease
        ));
    })?;
    Ok(Exit::Success)
}
