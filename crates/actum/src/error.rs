//! Errors of the engine, each of which includes the resulting state of the workspace.

mod bound_workspace;
mod catalog;
mod command;
mod feedback;
mod lease;
mod moved;
mod output;
mod policy;
mod queue;
mod rollback;

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_action::Check;
use actum_core::canonical::CanonicalError;
use actum_core::path::{Harmless, InBackticks, Quoted};
use actum_core::path_name::PathName;
use actum_core::{RiskTier, RunId, Status, Timestamp};
use actum_gate::{CommandLine, ForgottenProblem, GateDecision};
use actum_lease::LeaseError;
use actum_ledger::{HomeError, KeyError, LedgerError};
use actum_record::command::CommandRecord;
use actum_record::ledger::{Actor, RequestKey, Retention};
use actum_record::signer::SignError;
use actum_workspace::State;

use crate::request::Inversion;

pub use bound_workspace::BoundWorkspace;
pub use catalog::CatalogError;
pub(crate) use command::{CAPTURED_BYTES_MAX, CAPTURED_ON_DISK_BYTES_MAX, list_unkept};
pub use command::{CommandError, Unkept, WhyUnkept};
pub use feedback::FeedbackError;
pub use lease::GrantLeaseError;
pub use moved::Moved;
pub(crate) use moved::listed as list_moved;
pub use output::OutputError;
pub(crate) use policy::{ACCESS_FILES_MAX, ACCESS_NAME_BYTES_MAX};
pub use policy::{PolicyError, PolicyProblem};
pub use queue::{PlanState, QUEUE_MAX, QUEUE_OF_ONE_MAX, QueueError};
pub use rollback::RollbackRefused;

/// Clause about the state of the workspace that is appended to an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateClause {
    /// No clause, because the message already states the state of the workspace.
    Included,
    /// No file was changed, but an entry may have been recorded in the ledger.
    FilesUnchanged,
    /// The workspace is in the given state.
    State(State),
}

/// Error from carrying out a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace rejected the change, or an operation on its files failed.
    #[error("{}", .0.kind)]
    Workspace(#[from] actum_workspace::Error),
    /// The directory of ledgers and keys cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The directory of ledgers and keys overlaps with the workspace.
    #[error(
        "cannot use the workspace `{}` with the ledgers and keys in `{}`: one directory contains the other, so a \
         change could modify them",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(home.as_os_str().as_bytes())
    )]
    HomeInside {
        /// Directory of ledgers and keys.
        home: PathBuf,
        /// Root of the workspace.
        root: PathBuf,
    },
    /// The workspace is inside a directory of ledgers and keys, or of an operator's policy.
    #[error(
        "cannot use the workspace `{}`: the file `{}` shows that it is in a directory of ledgers and keys or of an \
         operator's policy",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(mark.as_os_str().as_bytes())
    )]
    HomeAround {
        /// File that identifies such a directory.
        mark: PathBuf,
        /// Root of the workspace.
        root: PathBuf,
    },
    /// The change contains a path inside another workspace.
    #[error(
        "`{root}` is a separate workspace with its own rules and history, so this workspace cannot change files in it"
    )]
    WorkspaceWithin {
        /// Root of the other workspace.
        root: PathName,
    },
    /// The change contains a path inside a repository whose rules apply from its own root, not from this workspace's
    /// root.
    #[error(
        "`{root}` is a repository whose rules apply from its own root, so this workspace cannot change files in it"
    )]
    RepositoryWithin {
        /// Root of the repository.
        root: PathName,
    },
    /// The workspace belongs to a ledger other than the one in use.
    #[error(
        "{workspace} belongs to the ledger `{}`, which is not the one in use",
        Quoted(ledger.as_bytes())
    )]
    BoundElsewhere {
        /// Workspace that belongs to the other ledger.
        workspace: BoundWorkspace,
        /// Name of the log of the ledger that recorded it.
        ledger: String,
    },
    /// The environment names a configuration directory other than the recorded one, so another policy would apply.
    #[error(
        "the operator's configuration is in `{}`, but the environment names `{}`",
        Quoted(recorded.as_os_str().as_bytes()),
        Quoted(given.as_os_str().as_bytes())
    )]
    ConfigurationElsewhere {
        /// Directory that was recorded when actum was set up.
        recorded: PathBuf,
        /// Directory that the environment names now.
        given: PathBuf,
        /// Directory of ledgers and keys, in which the configuration directory is recorded.
        home: PathBuf,
    },
    /// A key that is needed for signing is missing or cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger rejected an entry or could not be used, before any file was changed.
    #[error("{source}")]
    Ledger {
        /// Error of the ledger.
        source: LedgerError,
    },
    /// The request key was already used for a different request.
    #[error("the request key `{key}` was already used for a different request, in run {run}")]
    RequestKeyTaken {
        /// Request key that both requests have.
        key: RequestKey,
        /// Run that carried out the other request.
        run: RunId,
    },
    /// An earlier attempt at the request has an unknown outcome.
    #[error(
        "run {run} attempted the request `{key}`, but it is unknown whether that had an effect"
    )]
    OutcomeUnknown {
        /// Key of the request.
        key: RequestKey,
        /// Run that made the earlier attempt.
        run: RunId,
    },
    /// The request was carried out by a run that is in the ledger, but unknown to this workspace.
    #[error(
        "run {run} carried out the request `{key}` in a workspace with the same id, but this workspace has no record \
         of that run: it is a copy or an older state, so its files lack the change"
    )]
    WorkspaceIsACopy {
        /// Key of the request.
        key: RequestKey,
        /// Run that the workspace does not know.
        run: RunId,
    },
    /// An undo or redo of the newest run found none, because all changes or undos in effect were made by other actors.
    #[error(
        "you have no run to {}: the newest {} in effect is run {run}, by {}",
        way.as_str(),
        match way {
            Inversion::Undo => "change",
            Inversion::Redo => "undo",
        },
        describe_actor(by)
    )]
    OnlyOthersRuns {
        /// Whether an undo or a redo was requested.
        way: Inversion,
        /// Newest run in effect.
        run: RunId,
        /// Actor who requested that run.
        by: Actor,
    },
    /// An undo or redo of the newest run was stopped, because recovery has just rolled back an interrupted run, which
    /// may be the one that the user wanted to undo.
    #[error("run {run} was interrupted and has just been rolled back; nothing else was changed")]
    RecoveredFirst {
        /// Whether an undo or a redo was requested.
        way: Inversion,
        /// Interrupted run that was rolled back.
        run: RunId,
    },
    /// The operator's retention keeps runs that the user wants to remove from the history.
    #[error(
        "the operator's retention keeps {runs} of the runs to forget (the newest {} and those of the last {} days)",
        retention.runs,
        retention.days
    )]
    Retained {
        /// Number of runs that the user wants to remove, but must be kept.
        runs: usize,
        /// Retention that is in force.
        retention: Retention,
    },
    /// The record of removed history would fail verification, so it was not written.
    #[error("cannot record the removed history: {0}")]
    Forgotten(#[from] Box<ForgottenProblem>),
    /// A request was to be executed as an action, but does not belong to one.
    #[error("the request does not belong to an action, so it cannot be executed as one")]
    NoAction,
    /// The workspace is already as requested, so there is no run.
    #[error("there is nothing to change; no run was made")]
    NothingToChange,
    /// The lease is invalid or cannot be read, so nothing may be done under it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The lease cannot be granted or revoked.
    #[error(transparent)]
    Grant(#[from] Box<GrantLeaseError>),
    /// The policy is invalid or cannot be read, so no change is allowed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// At least one gate denied the change.
    #[error("{}", of_gates(.gates))]
    Denied {
        /// Decisions of the denying gates, in the order of the gates.
        gates: Vec<GateDecision>,
    },
    /// The change needs an approval, but its entry point cannot queue it (D-3).
    #[error("approval required ({tier}), but a file task cannot be queued: {}", grounds(.gates))]
    ApprovalRequired {
        /// Risk tier of the change.
        tier: RiskTier,
        /// Decisions of the gates that require an approval.
        gates: Vec<GateDecision>,
    },
    /// The change needs an approval and was queued until it is approved.
    #[error(
        "approval required ({tier}): queued as plan {plan}: {}",
        grounds(.gates)
    )]
    Queued {
        /// Id of the queued plan.
        plan: RunId,
        /// Risk tier of the change.
        tier: RiskTier,
        /// Decisions of the gates that require an approval.
        gates: Vec<GateDecision>,
        /// Time at which the plan expires.
        expires: Timestamp,
        /// Whether the same change was already pending, so that nothing new was queued.
        waited: bool,
        /// Earlier version of the plan that the operator denied, with the stated reason.
        denied: Option<(RunId, Option<String>)>,
    },
    /// The queued plan cannot be approved, denied or carried out.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The catalog of actions cannot be read or changed.
    #[error(transparent)]
    Catalog(Box<CatalogError>),
    /// A command could not be run, or its changes could not be read or kept.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A check rejected the staged change.
    #[error(
        "the check `{}` rejected the staged change: {}{}",
        Harmless(.check.quoted().as_bytes()),
        .record.ended,
        format_output(.output)
    )]
    Unverified {
        /// Command line of the failed check.
        check: CommandLine,
        /// Record of how the failed check ended.
        record: Box<CommandRecord>,
        /// Last part of the failed check's output.
        output: String,
        /// Results of all checks that ran. The failed one is the last.
        results: Vec<Check>,
    },
    /// The run has ended and the workspace reflects its outcome, but its receipt could not be written yet.
    #[error(
        "run {run} {}, but its receipt could not be written: {}; the next run in this workspace will write it",
        after(*state, cause.as_deref()),
        source
    )]
    Unsettled {
        /// Run that has ended.
        run: RunId,
        /// State of the workspace after the run.
        state: State,
        /// Error that prevented the receipt from being written.
        source: Box<Error>,
        /// Error of the run itself, if it failed.
        cause: Option<Box<actum_workspace::Error>>,
    },
    /// The action has ended, but its outcome could not be recorded.
    #[error("the action {}, but {source}", ended(*status, *run))]
    OutcomeNotRecorded {
        /// Status with which the action ended.
        status: Status,
        /// Run that changed files for the action, if any.
        run: Option<RunId>,
        /// State of the workspace after the action.
        state: State,
        /// Error that prevented the outcome from being recorded.
        source: FeedbackError,
    },
    /// Output files of a task cannot be read or written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// The task cannot be rolled back.
    #[error(transparent)]
    Rollback(#[from] RollbackRefused),
    /// A record could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// A record cannot be written as canonical JSON.
    #[error("cannot record the change: {source}")]
    Record {
        /// Reason why canonical JSON cannot represent the record.
        #[from]
        source: CanonicalError,
    },
}

/// Formats the last part of a check's output, as an addition to its error message.
fn format_output(output: &str) -> String {
    match output.is_empty() {
        true => String::new(),
        false => format!("; output: {}", Harmless(output.as_bytes())),
    }
}

/// Describes the outcome of a run that has no receipt yet, as a part of an error message.
fn after(state: State, cause: Option<&actum_workspace::Error>) -> String {
    match (state, cause) {
        (State::Published, _) => "was committed".to_owned(),
        (_, Some(cause)) => format!("left no lasting change ({cause})"),
        (_, None) => "left no lasting change".to_owned(),
    }
}

/// Describes how an action ended, as a part of an error message.
fn ended(status: Status, run: Option<RunId>) -> String {
    match run {
        Some(run) => format!("ended as `{}` with run {run}", status.as_str()),
        None => format!("ended as `{}` and changed nothing", status.as_str()),
    }
}

/// Formats the denying gates and their grounds as an error message.
fn of_gates(gates: &[GateDecision]) -> String {
    let reasons = gates.iter().map(|GateDecision { gate, ground, .. }| {
        format!("the gate `{gate}`: {}", Harmless(ground.to_string().as_bytes()))
    });
    format!("the change is refused by {}", reasons.collect::<Vec<_>>().join("; and by "))
}

/// Formats the grounds of the gates that require an approval.
fn grounds(gates: &[GateDecision]) -> String {
    let reasons = gates.iter().map(|gate| Harmless(gate.ground.to_string().as_bytes()).to_string());
    reasons.collect::<Vec<_>>().join("; ")
}

/// Result whose error includes the state of the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the error message, followed by the state of the workspace unless the message already includes it.
    pub fn with_state(&self) -> String {
        match self.state_clause() {
            StateClause::Included => self.to_string(),
            StateClause::FilesUnchanged => format!("{self}; no file was changed"),
            StateClause::State(state) => format!("{self}; {state}"),
        }
    }

    /// Returns the clause about the state of the workspace that belongs at the end of the message.
    pub fn state_clause(&self) -> StateClause {
        if let Self::Ledger { source } = self
            && !source.is_outcome_known()
        {
            return StateClause::FilesUnchanged;
        }
        let includes_state = if let Self::Command(error) = self {
            error.includes_state()
        } else if let Self::Rollback(RollbackRefused::PutBack { .. }) = self {
            // The message states that nothing was changed, which is wrong if recovery restored files before.
            self.workspace() == State::Unchanged
        } else {
            matches!(
                self,
                Self::NothingToChange
                    | Self::RecoveredFirst { .. }
                    | Self::Unsettled { .. }
                    | Self::OutcomeNotRecorded { .. }
            )
        };
        if includes_state { StateClause::Included } else { StateClause::State(self.workspace()) }
    }

    /// Returns the state of the workspace.
    pub fn workspace(&self) -> State {
        match self {
            Self::Workspace(error) => error.state,
            Self::Rollback(
                RollbackRefused::Open { source, .. } | RollbackRefused::PutBack { source, .. },
            ) => source.workspace(),
            Self::Unsettled { state, .. } | Self::OutcomeNotRecorded { state, .. } => *state,
            Self::Home(_)
            | Self::HomeInside { .. }
            | Self::HomeAround { .. }
            | Self::WorkspaceWithin { .. }
            | Self::RepositoryWithin { .. }
            | Self::BoundElsewhere { .. }
            | Self::ConfigurationElsewhere { .. }
            | Self::Key(_)
            | Self::Ledger { .. }
            | Self::RequestKeyTaken { .. }
            | Self::OutcomeUnknown { .. }
            | Self::WorkspaceIsACopy { .. }
            | Self::OnlyOthersRuns { .. }
            | Self::RecoveredFirst { .. }
            | Self::Retained { .. }
            | Self::Forgotten(_)
            | Self::NoAction
            | Self::NothingToChange
            | Self::Lease(_)
            | Self::Grant(_)
            | Self::Policy(_)
            | Self::Denied { .. }
            | Self::ApprovalRequired { .. }
            | Self::Queued { .. }
            | Self::Queue(_)
            | Self::Catalog(_)
            | Self::Command(_)
            | Self::Unverified { .. }
            | Self::Output(_)
            | Self::Rollback(_)
            | Self::Sign(_)
            | Self::Record { .. } => State::Unchanged,
        }
    }
}

impl From<GrantLeaseError> for Error {
    fn from(error: GrantLeaseError) -> Self {
        Self::Grant(Box::new(error))
    }
}

impl From<LedgerError> for Error {
    fn from(source: LedgerError) -> Self {
        Self::Ledger { source }
    }
}

/// Formats an actor for use within an error message.
fn describe_actor(actor: &Actor) -> String {
    let user = Quoted(actor.user.as_bytes());
    match &actor.agent {
        Some(agent) => {
            format!("the agent `{}` of the user `{user}`", InBackticks(agent.as_bytes()))
        }
        None => format!("the user `{user}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-8: after an append with an unknown outcome, the message does not claim that nothing was recorded.
    #[test]
    fn append_with_an_unknown_outcome_reports_only_unchanged_files() {
        let unknown = Error::from(LedgerError::Stopped);
        assert!(
            unknown.with_state().ends_with("; no file was changed"),
            "{}",
            unknown.with_state()
        );
        let known = Error::Catalog(Box::new(CatalogError::Unknown {
            action: "file_copy".parse().unwrap(),
        }));
        assert!(known.with_state().ends_with("; nothing was changed"), "{}", known.with_state());
        assert_eq!(Error::NothingToChange.with_state(), Error::NothingToChange.to_string());
    }
}
