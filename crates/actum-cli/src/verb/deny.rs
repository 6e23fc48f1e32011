//! `actum deny` and `actum revoke`: a plan is not carried out, or not any more.

use std::path::PathBuf;

use actum::Reply;
use actum_core::ledger::Answer;

use super::Session;
use super::queue::Shown;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plans::{self, ApprovalKey};
use crate::records;
use crate::run_arguments::label;
use crate::run_prefix::RunPrefix;

/// Refuse a plan that waits
///
/// It is carried out never more. Whoever asks for the same again gets a new plan, which says that this one
/// was denied, and why.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The plan, or at least 4 characters of the beginning of its id
    plan: RunPrefix,
    /// Why, for who asked and for the record
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: String,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Take back the approval of a plan that was not carried out yet
#[derive(clap::Args)]
pub(crate) struct RevokeArguments {
    /// The plan, or at least 4 characters of the beginning of its id
    plan: RunPrefix,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Arguments { plan, reason, passphrase_file } = arguments;
    let reply = Reply { answer: Answer::Denied, reason: Some(reason.clone()) };
    answer(plan, reply, "Deny", passphrase_file.as_deref(), session)
}

pub(crate) fn revoke(arguments: &RevokeArguments, session: &Session) -> Result<Exit, Failure> {
    let RevokeArguments { plan, reason, passphrase_file } = arguments;
    let reply = Reply { answer: Answer::Revoked, reason: reason.clone() };
    answer(plan, reply, "Revoke the approval of", passphrase_file.as_deref(), session)
}

fn answer(
    prefix: &RunPrefix,
    reply: Reply,
    verb: &str,
    file: Option<&std::path::Path>,
    session: &Session,
) -> Result<Exit, Failure> {
    let (queue, plan) = plans::find(prefix, session)?;
    let id = plan.id();
    plan.must_take(reply.answer, records::now()).map_err(actum::Error::from)?;
    drop(queue);
    let key = ApprovalKey::ask(session, &format!("{verb} plan {id}?"), file)?;
    let records = records::open()?;
    records.answer(id, reply, &key.approver())?;
    drop(records);
    let (queue, plan) = plans::answered(id)?;
    let audience = session.screen.audience_of_decisions();
    session.screen.show(&Shown::of(&queue, &plan, session, audience)?)?;
    Ok(Exit::Success)
}
