//! `actum agent`: the Agent Execution Core.

mod confirm;
mod dispatch;
mod find;
mod intake;
mod learn;
mod replay;
mod schema;
mod show;
mod slo;
mod waive;

use actum::reason::Reason;
use actum_agent::GoalError;
use actum_agent::limits::UTTERANCE_CHARS_MAX;
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
    Schema(schema::Arguments),
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
        Command::Schema(arguments) => schema::run(arguments, session),
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
    #[error("the utterance has more than {UTTERANCE_CHARS_MAX} characters; nothing was recorded")]
    Utterance,
    #[error("the Finder made no packet: {0}; nothing was recorded")]
    Finder(String),
    #[error("the newest prompt is for plan {newest}; nothing was recorded")]
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
            Self::Goal { .. } | Self::Name(_) | Self::Utterance | Self::Finder(_) => {
                Reason::GoalInvalid
            }
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
        self.engine_error().map_or(Exit::Refused, Exit::from_error)
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Goal { .. } | Self::Name(_) | Self::Utterance | Self::Finder(_) => {
                "`actum agent find` makes a goal; `actum agent schema goal` prints its JSON Schema"
            }
            Self::Dispatch(DispatchError::Relay(_)) => {
                "`actum agent show CORRELATION` shows the events of a goal"
            }
            Self::Dispatch(DispatchError::NoCheck { .. }) => {
                "`--check COMMAND` names a command that checks what was changed"
            }
            Self::Dispatch(DispatchError::NoHost) => {
                "`actum agent confirm` answers a prompt; `--host-key` dispatches as a host"
            }
            Self::Dispatch(DispatchError::NotActive { .. }) => {
                "`actum catalog list` shows the active simulations"
            }
            Self::NotWaiting { .. } => "`actum agent intake list` shows the goals that wait",
            Self::Waiver(_) => "`actum agent slo` shows what is missed",
            Self::Dispatch(_) => {
                "dispatch the same goal again: that gives its outcome, and has no second effect"
            }
            Self::Confirm(ConfirmError::Expired { .. }) => {
                "dispatch the goal again for a new prompt"
            }
            Self::Confirm(ConfirmError::Final { .. }) => "dispatch another goal",
            Self::Confirm(ConfirmError::Ended { .. }) => {
                "`actum agent show CORRELATION` shows its run, which `actum undo` takes back"
            }
            Self::Confirm(ConfirmError::Plan { .. } | ConfirmError::Prompt { .. })
            | Self::OtherPlan { .. } => "dispatch the goal again to read its newest prompt",
            Self::UnknownGoal { .. } | Self::Confirm(ConfirmError::NoPrompt { .. }) => {
                "check the name of the goal, and `--tenant`"
            }
            Self::Confirm(_) => "`actum agent show CORRELATION` shows the events of a goal",
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        if let Some(error) = self.engine_error() {
            return Some(error.workspace().to_string());
        }
        // All other messages state it.
        let is_unchanged = matches!(self, Self::UnknownGoal { .. });
        is_unchanged.then(|| actum_workspace::State::Unchanged.to_string())
    }
}

impl AgentFailure {
    /// Returns the engine error that caused the failure.
    fn engine_error(&self) -> Option<&actum::Error> {
        let (Self::Dispatch(error)
        | Self::Confirm(ConfirmError::Dispatch(error))
        | Self::Waiver(WaiveError::Dispatch(error))) = self
        else {
            return None;
        };
        if let DispatchError::Engine(error) = error {
            return Some(error);
        }
        if let DispatchError::Relay(relayed) = error
            && let ConfirmError::Dispatch(DispatchError::Engine(error)) = &**relayed
        {
            return Some(error);
        }
        None
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
        DispatchError::Damaged { .. } | DispatchError::Incomplete { .. } => Reason::LedgerDamaged,
    }
}

fn reason_of_answer(error: &ConfirmError) -> Reason {
    match error {
        ConfirmError::NoPrompt { .. } => Reason::GoalUnknown,
        ConfirmError::Ended { .. } => Reason::ConfirmationTooLate,
        ConfirmError::Expired { .. } => Reason::ConfirmationExpired,
        ConfirmError::Thread { .. } => Reason::ConfirmationOfAnotherThread,
        ConfirmError::Plan { .. } | ConfirmError::Prompt { .. } => {
            Reason::ConfirmationOfAnotherPlan
        }
        ConfirmError::Final { outcome: ConfirmationOutcome::Ambiguous } => {
            Reason::ConfirmationAttemptsExhausted
        }
        ConfirmError::Final { .. } => Reason::ConfirmationRejected,
        ConfirmError::Language(_) => Reason::ConfirmationAmbiguous,
        ConfirmError::Dispatcher => Reason::ConfirmationByDispatcher,
        ConfirmError::Dispatch(error) => reason_of(error),
    }
}
