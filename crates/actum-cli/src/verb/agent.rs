//! `actum agent`: the Agent Execution Core.

mod confirm;
mod dispatch;
mod find;
mod intake;
mod learn;
mod replay;
mod show;
mod slo;
mod waive;

use actum::reason::Reason;
use actum_agent::GoalError;
use actum_core::Digest;
use actum_core::plain_id::PlainIdError;
use actum_dispatch::{ConfirmError, DispatchError, WaiveError};
use actum_record::agent::CorrelationId;
use actum_record::ledger::ConfirmationOutcome;

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
    Waive(waive::Arguments),
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
        Command::Waive(arguments) => waive::run(arguments, session),
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
    #[error(
        "the newest prompt has the plan {newest}, and not the one that is named; nothing was recorded: read that prompt"
    )]
    OtherPlan { newest: Digest },
    #[error("the goal `{correlation}` does not wait for a simulation; nothing was recorded")]
    NotWaiting { correlation: CorrelationId },
    #[error(transparent)]
    Waiver(WaiveError),
    #[error("no event of the ledger is about the goal `{correlation}`")]
    UnknownGoal { correlation: CorrelationId },
}

impl FailureKind for AgentFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::Goal { .. } | Self::Name(_) | Self::Finder(_) => Reason::GoalInvalid,
            Self::OtherPlan { .. } => Reason::ConfirmationOfAnotherPlan,
            Self::UnknownGoal { .. } | Self::NotWaiting { .. } => Reason::GoalUnknown,
            Self::Waiver(error) => match error {
                WaiveError::Until => Reason::SloWaiverTooLong,
                WaiveError::Key(_) => Reason::KeyUnusable,
                WaiveError::Dispatch(error) => reason_of(error),
            },
            Self::Dispatch(error) => reason_of(error),
            Self::Confirm(error) => reason_of_answer(error),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Dispatch(DispatchError::Engine(error))
            | Self::Confirm(ConfirmError::Dispatch(DispatchError::Engine(error)))
            | Self::Waiver(WaiveError::Dispatch(DispatchError::Engine(error))) => Exit::of(error),
            Self::Goal { .. }
            | Self::Name(_)
            | Self::Finder(_)
            | Self::Dispatch(_)
            | Self::Confirm(_)
            | Self::NotWaiting { .. }
            | Self::OtherPlan { .. }
            | Self::Waiver(_)
            | Self::UnknownGoal { .. } => Exit::Refused,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Goal { .. } | Self::Name(_) | Self::Finder(_) => {
                "`schemas/agent-goal.schema.json` has the members of a goal"
            }
            Self::Dispatch(DispatchError::NoCheck { .. }) => {
                "`--check COMMAND` names a command that checks what was changed"
            }
            Self::Dispatch(DispatchError::NoHost) => {
                "`actum agent confirm` answers a prompt; `--host-key` dispatches as a host"
            }
            Self::Dispatch(DispatchError::NotActive { .. }) | Self::NotWaiting { .. } => {
                "`actum agent intake list` shows the goals that wait"
            }
            Self::Waiver(_) => "`actum agent slo` shows what is missed",
            Self::Dispatch(_) => {
                "dispatch the same goal again: that gives its outcome, and has no second effect"
            }
            Self::Confirm(_) | Self::OtherPlan { .. } | Self::UnknownGoal { .. } => {
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
            | Self::NotWaiting { .. }
            | Self::OtherPlan { .. }
            | Self::Waiver(_)
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
        DispatchError::NoCheck { .. } => Reason::VerificationNeeded,
        DispatchError::NoHost => Reason::AccessScopeViolation,
        DispatchError::NotActive { .. } => Reason::SimulationNotActive,
        DispatchError::Relay(error) => reason_of_answer(error),
        DispatchError::Damaged { .. } => Reason::LedgerDamaged,
    }
}

fn reason_of_answer(error: &ConfirmError) -> Reason {
    match error {
        ConfirmError::NoPrompt { .. } | ConfirmError::Prompt { .. } => Reason::GoalUnknown,
        ConfirmError::Expired { .. } => Reason::ConfirmationExpired,
        ConfirmError::Thread { .. } => Reason::ConfirmationOfAnotherThread,
        ConfirmError::Plan { .. } => Reason::ConfirmationOfAnotherPlan,
        ConfirmError::Final { outcome: ConfirmationOutcome::Ambiguous } => {
            Reason::ConfirmationAttemptsExhausted
        }
        ConfirmError::Final { .. } => Reason::ConfirmationRejected,
        ConfirmError::Language(_) => Reason::ConfirmationAmbiguous,
        ConfirmError::Dispatcher => Reason::ConfirmationByDispatcher,
        ConfirmError::Dispatch(error) => reason_of(error),
    }
}
