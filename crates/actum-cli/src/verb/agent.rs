//! `actum agent`: commands of the Agent Execution Core, which dispatches goals of agents.

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

/// Dispatch goals of agents: each goal has one packet of a Finder and leads to at most one governed action
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

/// Parses the name (correlation id) of a goal.
fn correlation(text: &str) -> Result<CorrelationId, PlainIdError> {
    text.parse()
}

/// Failure of an `actum agent` command that has no outcome to print.
#[derive(Debug, thiserror::Error)]
enum AgentFailure {
    #[error("cannot use the goal in {input}: {source}")]
    Goal { input: String, source: Box<GoalError> },
    #[error(transparent)]
    Dispatch(DispatchError),
    #[error(transparent)]
    Confirm(ConfirmError),
    #[error("cannot create a goal: {0}; nothing was recorded")]
    Name(PlainIdError),
    #[error("the utterance has more than {UTTERANCE_CHARS_MAX} characters; nothing was recorded")]
    Utterance,
    #[error("the Finder failed to make a packet: {0}; nothing was recorded")]
    Finder(String),
    #[error("the newest prompt is for a different plan, {newest}; nothing was recorded")]
    OtherPlan { newest: Digest },
    #[error("the goal `{correlation}` is not waiting for a simulation; nothing was recorded")]
    NotWaiting { correlation: CorrelationId },
    #[error(transparent)]
    Waiver(WaiveError),
    #[error("the ledger has no events for the goal `{correlation}`")]
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
                "run `actum agent find` to create a goal, or `actum agent schema goal` to print its JSON Schema"
            }
            Self::Dispatch(DispatchError::Relay(_)) => {
                "run `actum agent show CORRELATION` to see the events of a goal"
            }
            Self::Dispatch(DispatchError::NoCheck { .. }) => {
                "pass `--check COMMAND` with a command that verifies the change"
            }
            Self::Dispatch(DispatchError::NoHost) => {
                "run `actum agent confirm` to answer a prompt, or pass `--host-key` to dispatch as a host"
            }
            Self::Dispatch(DispatchError::NotActive { .. }) => {
                "run `actum catalog list` to see the active simulations"
            }
            Self::NotWaiting { .. } => "run `actum agent intake list` to see the waiting goals",
            Self::Waiver(_) => "run `actum agent slo` to see the missed targets",
            Self::Dispatch(_) => {
                "dispatch the same goal again to get its outcome; this has no second effect"
            }
            Self::Confirm(ConfirmError::Expired { .. }) => {
                "dispatch the goal again to get a new prompt"
            }
            Self::Confirm(ConfirmError::Final { .. }) => "dispatch a new goal",
            Self::Confirm(ConfirmError::Ended { .. }) => {
                "run `actum agent show CORRELATION` to find its run, and `actum undo` to undo it"
            }
            Self::Confirm(ConfirmError::Plan { .. } | ConfirmError::Prompt { .. })
            | Self::OtherPlan { .. } => "dispatch the goal again to see its newest prompt",
            Self::UnknownGoal { .. } | Self::Confirm(ConfirmError::NoPrompt { .. }) => {
                "check the name of the goal and the value of `--tenant`"
            }
            Self::Confirm(_) => "run `actum agent show CORRELATION` to see the events of a goal",
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        if let Some(error) = self.engine_error() {
            return Some(error.workspace().to_string());
        }
        // All other messages already state that nothing was recorded or changed.
        let is_unchanged = matches!(self, Self::UnknownGoal { .. });
        is_unchanged.then(|| actum_workspace::State::Unchanged.to_string())
    }
}

impl AgentFailure {
    /// Returns the engine error that caused the failure, if there is one.
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
