//! `actum lease grant`: a new lease, signed by the lease key and recorded.

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
/// It needs at least one `--capability` and one `--base`. It starts now unless `--not-before` is given, and ends after
/// an hour unless `--expires` is. The lease key signs it (`actum key make lease`), and the ledger records its terms,
/// but not the lease itself: only the file has it. The terms are shown before the passphrase is read.
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
    session.screen.tell_lines(|out| {
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
            "the ledger records that the lease {} was granted, and nobody has it",
            granted.lease
        ));
    })?;
    Ok(Exit::Success)
}
