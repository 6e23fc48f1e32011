//! `actum agent`: the Agent Execution Core.

mod confirm;
mod dispatch;
mod find;
mod intake;
mod learn;
mod replay;
mod show;
mod slo;

use actum::reason::Reason;
use actum_agent::GoalError;
use actum_core::plain_id::PlainIdError;
use actum_dispatch::{ConfirmError, DispatchError};
use actum_record::agent::CorrelationId;

use super::Session;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};

/// Dispatch goals of agents: one packet of a Finder, one governed action, each decision recorded
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Find(find::Arguments),
    Dispatch(dispatch::Arguments),
    Confirm(confirm::Arguments),
    Show(show::Arguments),
    Replay(replay::Arguments),
    Intake(intake::Arguments),
    Learn(learn::Arguments),
    Slo(slo::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Find(arguments) => find::run(arguments, session),
        Command::Dispatch(arguments) => dispatch::run(arguments, session),
        Command::Confirm(arguments) => confirm::run(arguments, session),
        Command::Show(arguments) => show::run(arguments, session),
        Command::Replay(arguments) => replay::run(arguments, session),
        Command::Intake(arguments) => intake::run(arguments, session),
        Command::Learn(arguments) => learn::run(arguments, session),
        Command::Slo(arguments) => slo::run(arguments, session),
    }
}

/// Reads the name of a goal.
fn correlation(text: &str) -> Result<CorrelationId, PlainIdError> {
    text.parse()
}

/// Failure of `actum agent` without an outcome.
#[derive(Debug, thiserror::Error)]
enum AgentFailure {
    #[error("cannot use {input}: {source}")]
    Goal { input: String, source: Box<GoalError> },
    #[error(transparent)]
    Dispatch(DispatchError),
    #[error(transparent)]
    Confirm(ConfirmError),
    #[error("cannot make a goal: {0}; nothing was recorded")]
    Name(PlainIdError),
    #[error("the Finder made no packet: {0}; nothing was recorded")]
    Finder(String),
    #[error("no event of the ledger is about the goal `{correlation}`")]
    UnknownGoal { correlation: CorrelationId },
}

impl FailureKind for AgentFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::Goal { .. } | Self::Name(_) | Self::Finder(_) => Reason::GoalInvalid,
            Self::UnknownGoal { .. } => Reason::GoalUnknown,
            Self::Dispatch(error) => reason_of(error),
            Self::Confirm(error) => match error {
                ConfirmError::NoPrompt { .. } => Reason::GoalUnknown,
                ConfirmError::Expired { .. } => Reason::ConfirmationExpired,
                ConfirmError::Thread { .. } => Reason::ConfirmationOfAnotherThread,
                ConfirmError::Plan { .. } => Reason::ConfirmationOfAnotherPlan,
                ConfirmError::Language(_) => Reason::ConfirmationAmbiguous,
                ConfirmError::Dispatcher => Reason::ConfirmationByDispatcher,
                ConfirmError::Dispatch(error) => reason_of(error),
            },
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Dispatch(DispatchError::Engine(error))
            | Self::Confirm(ConfirmError::Dispatch(DispatchError::Engine(error))) => {
                Exit::of(error)
            }
            Self::Goal { .. }
            | Self::Name(_)
            | Self::Finder(_)
            | Self::Dispatch(_)
            | Self::Confirm(_)
            | Self::UnknownGoal { .. } => Exit::Refused,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Goal { .. } | Self::Name(_) | Self::Finder(_) => {
                "`schemas/agent-goal.schema.json` has the members of a goal"
            }
            Self::Dispatch(_) => {
                "dispatch the same goal again: that gives its outcome, and has no second effect"
            }
            Self::Confirm(_) | Self::UnknownGoal { .. } => {
                "`actum agent show CORRELATION` shows the events of a goal"
            }
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        match self {
            Self::Dispatch(DispatchError::Engine(error)) => Some(error.workspace().to_string()),
            Self::UnknownGoal { .. } => Some(actum_workspace::State::Unchanged.to_string()),
            // Their messages say it.
            Self::Goal { .. }
            | Self::Name(_)
            | Self::Finder(_)
            | Self::Dispatch(_)
            | Self::Confirm(_) => None,
        }
    }
}

fn reason_of(error: &DispatchError) -> Reason {
    match error {
        DispatchError::Engine(error) => actum::reason::of_engine(error),
        DispatchError::Document(_) => Reason::GoalInvalid,
        DispatchError::Lexicon(_) => Reason::ConfirmationLexiconChanged,
        DispatchError::Busy => Reason::StepUnderWay,
        DispatchError::Damaged { .. } => Reason::LedgerDamaged,
    }
}
