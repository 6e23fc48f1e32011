//! `actum agent confirm`: answers the confirmation prompt of a goal.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum_api::agent::AgentConfirmed;
use actum_core::Digest;
use actum_dispatch::{Chain, ConfirmError, Dispatcher, Reply, Settings};
use actum_record::agent::{CorrelationId, ThreadId};
use actum_record::ledger::ConfirmationOutcome;

use super::{AgentFailure, correlation};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::session::Session;
use crate::{actor, records, root};

/// Minimum length of a plan prefix, in characters.
const PLAN_CHARS_MIN: usize = 8;

/// Answer the confirmation prompt of a goal
///
/// The answer must consist only of the word for yes or no in the given language; "okay" and "fine" are ambiguous. The
/// answer is signed with the approval key, because the process that dispatches a goal must not confirm it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the goal
    #[arg(value_parser = correlation)]
    correlation: CorrelationId,
    /// Answer in the user's words
    answer: String,
    /// Conversation in which the prompt was shown
    #[arg(long, value_name = "THREAD")]
    thread: ThreadId,
    /// Language of the answer, as a BCP 47 tag such as `de` or `pt-BR`
    #[arg(long, value_name = "TAG")]
    language: String,
    /// Plan that the prompt names, or a prefix of it; a prompt for any other plan is not answered
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::existing(&session.start);
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let prompt = records.ledger().read(|log| Chain::read(log, &arguments.correlation)?.prompt(log));
    let prompt = prompt.map_err(actum::Error::from)?;
    let Some((_, prompt)) = prompt else {
        let correlation = arguments.correlation.to_string();
        return Err(AgentFailure::Confirm(ConfirmError::NoPrompt { correlation }).into());
    };
    let newest = prompt.plan_fingerprint;
    if arguments.plan.as_ref().is_some_and(|plan| !is_prefix(plan, newest)) {
        return Err(AgentFailure::OtherPlan { newest }.into());
    }
    // Answer this plan only, because another dispatch may replace the prompt while the user types the passphrase.
    let reply = Reply {
        correlation: arguments.correlation.clone(),
        thread: arguments.thread.clone(),
        plan: prompt.plan_fingerprint,
        utterance: arguments.answer.clone(),
        language: arguments.language.clone(),
    };
    prompt.text.lines().for_each(|line| session.screen.note(line));
    let question = format!("Sign this answer to goal {}?", reply.correlation);
    let key = OperatorKey::approval(session, &question, arguments.passphrase_file.as_deref())?;
    let mut engine = checked.existing_engine(records)?;
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let approver = key.approver();
    let confirmed = dispatcher.confirm(&reply, &actor::from_agent(None), Some(approver.signer));
    let confirmed = confirmed.map_err(AgentFailure::Confirm)?;
    let is_confirmed = confirmed.outcome == ConfirmationOutcome::Confirmed;
    session.screen.show(&AgentConfirmed {
        correlation: reply.correlation.to_string(),
        outcome: confirmed.outcome.as_str().to_owned(),
        reason: confirmed.reason.map(str::to_owned),
        simulation: confirmed.prompt.simulation,
        proof: confirmed.proof,
    })?;
    Ok(if is_confirmed { Exit::Success } else { Exit::Refused })
}

/// Returns whether `text` is a prefix of the plan fingerprint, with at least the minimum length.
fn is_prefix(text: &str, plan: Digest) -> bool {
    text.len() >= PLAN_CHARS_MIN && plan.to_string().starts_with(text)
}

impl Document for AgentConfirmed {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { correlation, outcome, reason, simulation, .. } = self;
        writeln!(out, "{outcome}: `{simulation}` of the goal `{correlation}`")?;
        match reason {
            Some(reason) => {
                writeln!(out, "{reason}; a second ambiguous answer to the prompt is final")
            }
            None if outcome == "CONFIRMED" => {
                writeln!(out, "to continue, dispatch the same goal again")
            }
            None => writeln!(
                out,
                "this plan can no longer be dispatched; to try again, create a new goal"
            ),
        }
    }
}
