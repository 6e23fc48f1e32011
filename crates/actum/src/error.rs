//! Reasons for a request that was not carried out, and the resulting state.

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

use crate::request::WayBack;

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

/// Clause on the state of the workspace at the end of an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateClause {
    /// The message already states it.
    Said,
    /// No file was changed, but something may have been recorded.
    FilesUnchanged,
    /// State of the workspace.
    State(State),
}

/// Failure to carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace refused or failed.
    #[error("{}", .0.kind)]
    Workspace(#[from] actum_workspace::Error),
    /// The directory of ledgers and keys cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Ledger and keys overlap with the workspace.
    #[error(
        "cannot use the workspace `{}` with the ledgers and keys in `{}`: one lies in the other, so a change could \
         touch them",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(home.as_os_str().as_bytes())
    )]
    HomeInside {
        /// Home of ledger and keys.
        home: PathBuf,
        /// Root of the workspace.
        root: PathBuf,
    },
    /// The workspace would be in a directory of ledgers and keys or of an operator's policy.
    #[error(
        "cannot use the workspace `{}`: `{}` marks a directory of ledgers and keys or of an operator's policy, at it or \
         around it",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(mark.as_os_str().as_bytes())
    )]
    HomeAround {
        /// File that marks such a directory.
        mark: PathBuf,
        /// Root of the workspace.
        root: PathBuf,
    },
    /// A path of the change leads into another workspace.
    #[error(
        "`{root}` is a workspace of its own, with its own rules and history, so no change of this one leads there"
    )]
    WorkspaceWithin {
        /// Root of the other workspace.
        root: PathName,
    },
    /// A path of the change leads into a repository whose rules do not count from this root.
    #[error(
        "`{root}` is a repository with rules that count from its own root, so no change of this workspace leads there"
    )]
    RepositoryWithin {
        /// Root of the repository.
        root: PathName,
    },
    /// The workspace belongs to another ledger.
    #[error(
        "{workspace} belongs to the ledger `{}`, which is not the one in use here",
        Quoted(ledger.as_bytes())
    )]
    BoundElsewhere {
        /// Position of the workspace.
        workspace: BoundWorkspace,
        /// Name of the log that recorded it.
        ledger: String,
    },
    /// The environment names another directory for the operator's configuration.
    #[error(
        "the operator's configuration is in `{}`, and the environment names `{}`",
        Quoted(recorded.as_os_str().as_bytes()),
        Quoted(given.as_os_str().as_bytes())
    )]
    ConfigurationElsewhere {
        /// Directory that the installation remembers.
        recorded: PathBuf,
        /// Directory that the environment names.
        given: PathBuf,
        /// Home of ledgers and keys, which remembers it.
        home: PathBuf,
    },
    /// A required key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger refused or failed before any change.
    #[error("{source}")]
    Ledger {
        /// Cause.
        source: LedgerError,
    },
    /// The key belongs to another request.
    #[error("the request key `{key}` stands for another request, which run {run} carried out")]
    RequestKeyTaken {
        /// Request key.
        key: RequestKey,
        /// Run of the other request.
        run: RunId,
    },
    /// An earlier attempt at the request has an unknown outcome.
    #[error(
        "the request `{key}` was tried by run {run}, and it is not known whether that had an effect"
    )]
    OutcomeUnknown {
        /// Request key.
        key: RequestKey,
        /// Earlier run.
        run: RunId,
    },
    /// The ledger has the request as done, by a run unknown to this workspace.
    #[error(
        "run {run} carried out the request `{key}` in a workspace of this name, but this one does not know that run: \
         it is a copy or an older state, and its files are not what that run left"
    )]
    WorkspaceIsACopy {
        /// Request key.
        key: RequestKey,
        /// Unknown run.
        run: RunId,
    },
    /// An undo or redo without a run has no candidate: every change or undo in effect is another actor's.
    #[error(
        "there is no run of yours to {}: the newest {} in effect is the run {run}, by {}",
        way.as_str(),
        match way {
            WayBack::Undo => "change",
            WayBack::Redo => "undo",
        },
        whose(by)
    )]
    OnlyOthersRuns {
        /// Requested inversion.
        way: WayBack,
        /// Newest run in effect.
        run: RunId,
        /// Requester of that run.
        by: Actor,
    },
    /// Recovery rolled back an interrupted run, the most likely target of an undo or redo without a run.
    #[error(
        "run {run} had begun and not ended; it was rolled back just now, and nothing else was changed"
    )]
    RecoveredFirst {
        /// Requested inversion.
        way: WayBack,
        /// Interrupted run.
        run: RunId,
    },
    /// The operator's retention keeps runs that the user wants to remove from the history.
    #[error(
        "the retention of the operator keeps {runs} of the runs that would be forgotten (the newest {} and those of \
         the last {} days)",
        retention.runs,
        retention.days
    )]
    Retained {
        /// Number of those runs.
        runs: usize,
        /// Retention in force.
        retention: Retention,
    },
    /// The record of removed history would not count.
    #[error("cannot record the removed history: {0}")]
    Forgotten(#[from] Box<ForgottenProblem>),
    /// The request belongs to no action, and an action was expected.
    #[error("the request belongs to no action, so it is not carried out as one")]
    NoAction,
    /// The workspace is already as requested, so no run is made.
    #[error("there is nothing to change; no run was made")]
    NothingToChange,
    /// The lease cannot be used, so nothing may be done under it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The lease cannot be granted or revoked.
    #[error(transparent)]
    Grant(#[from] Box<GrantLeaseError>),
    /// The policy cannot be used, so nothing may be done under it.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Gates denied the change.
    #[error("{}", of_gates(.gates))]
    Denied {
        /// Decisions of the denying gates, in order.
        gates: Vec<GateDecision>,
    },
    /// The change needs an approval, and the entry point has no queue (D-3).
    #[error("approval required ({tier}), and a file task is not queued: {}", grounds(.gates))]
    ApprovalRequired {
        /// Risk tier of the change.
        tier: RiskTier,
        /// Gates that require approval.
        gates: Vec<GateDecision>,
    },
    /// The change is queued until it is approved.
    #[error(
        "approval required ({tier}): queued as plan {plan}: {}",
        grounds(.gates)
    )]
    Queued {
        /// Queued plan.
        plan: RunId,
        /// Risk tier of the change.
        tier: RiskTier,
        /// Gates that require approval.
        gates: Vec<GateDecision>,
        /// Time at which the plan expires.
        expires: Timestamp,
        /// True if the same plan was pending before, so nothing new was queued.
        waited: bool,
        /// Earlier version that the operator denied, with the reason.
        denied: Option<(RunId, Option<String>)>,
    },
    /// The queued plan cannot be answered or carried out.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The catalog of actions cannot be used or changed.
    #[error(transparent)]
    Catalog(Box<CatalogError>),
    /// The command did not run, or its changes could not be determined or kept.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A check rejected the staged change.
    #[error(
        "the check `{}` refused the staged change: {}{}",
        Harmless(.check.quoted().as_bytes()),
        .record.ended,
        said(.output)
    )]
    Unverified {
        /// Failed check.
        check: CommandLine,
        /// Record of how the check ended.
        record: Box<CommandRecord>,
        /// End of its output.
        output: String,
        /// All checks that ran, the failed one last.
        told: Vec<Check>,
    },
    /// The run has ended, but its receipt is not written yet. The workspace has the outcome.
    #[error(
        "run {run} {}, but its receipt could not be written: {}; the next run here writes it",
        after(*state, cause.as_deref()),
        source
    )]
    Unsettled {
        /// Ended run.
        run: RunId,
        /// State of the workspace.
        state: State,
        /// Reason for the missing receipt.
        source: Box<Error>,
        /// Failure of the run itself, if it failed.
        cause: Option<Box<actum_workspace::Error>>,
    },
    /// The action has ended, but its end could not be recorded.
    #[error("the action {}, but {source}", ended(*status, *run))]
    Untold {
        /// Status of the action.
        status: Status,
        /// Run that changed files for the action.
        run: Option<RunId>,
        /// State of the workspace.
        state: State,
        /// Cause.
        source: FeedbackError,
    },
    /// Outputs of a task cannot be read or written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// The task cannot be rolled back.
    #[error(transparent)]
    Rollback(#[from] RollbackRefused),
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// A record has no exact form.
    #[error("cannot record the change: {source}")]
    Record {
        /// Cause.
        #[from]
        source: CanonicalError,
    },
}

/// Formats the tail of a check's output.
fn said(output: &str) -> String {
    match output.is_empty() {
        true => String::new(),
        false => format!("; it said: {}", Harmless(output.as_bytes())),
    }
}

/// Describes the state after a run without a receipt.
fn after(state: State, cause: Option<&actum_workspace::Error>) -> String {
    match (state, cause) {
        (State::Published, _) => "is done and durable".to_owned(),
        (_, Some(cause)) => format!("changed nothing that lasts ({cause})"),
        (_, None) => "changed nothing that lasts".to_owned(),
    }
}

/// Describes the end of an action.
fn ended(status: Status, run: Option<RunId>) -> String {
    match run {
        Some(run) => format!("{} with the run {run}", status.as_str()),
        None => format!("ended as `{}` and changed nothing", status.as_str()),
    }
}

/// Lists the grounds of the denying gates.
fn of_gates(gates: &[GateDecision]) -> String {
    let told = gates.iter().map(|GateDecision { gate, ground, .. }| {
        format!("the gate `{gate}`: {}", Harmless(ground.to_string().as_bytes()))
    });
    format!("the change is refused by {}", told.collect::<Vec<_>>().join("; and by "))
}

/// Lists the grounds of the gates that require approval.
fn grounds(gates: &[GateDecision]) -> String {
    let told = gates.iter().map(|gate| Harmless(gate.ground.to_string().as_bytes()).to_string());
    told.collect::<Vec<_>>().join("; ")
}

/// Result whose error states the state of the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the message with the state of the workspace at its end, unless it already states it.
    pub fn with_state(&self) -> String {
        match self.state_clause() {
            StateClause::Said => self.to_string(),
            StateClause::FilesUnchanged => format!("{self}; no file was changed"),
            StateClause::State(state) => format!("{self}; {state}"),
        }
    }

    /// Returns the clause on the state of the workspace for the end of the message.
    pub fn state_clause(&self) -> StateClause {
        if let Self::Ledger { source } = self
            && !source.is_outcome_known()
        {
            return StateClause::FilesUnchanged;
        }
        let says_state = if let Self::Command(error) = self {
            error.says_state()
        } else if let Self::Rollback(RollbackRefused::PutBack { .. }) = self {
            // Files that recovery restored before that are a change.
            self.workspace() == State::Unchanged
        } else {
            matches!(
                self,
                Self::NothingToChange
                    | Self::RecoveredFirst { .. }
                    | Self::Unsettled { .. }
                    | Self::Untold { .. }
            )
        };
        if says_state { StateClause::Said } else { StateClause::State(self.workspace()) }
    }

    /// Returns the state of the workspace.
    pub fn workspace(&self) -> State {
        match self {
            Self::Workspace(error) => error.state,
            Self::Rollback(
                RollbackRefused::Open { source, .. } | RollbackRefused::PutBack { source, .. },
            ) => source.workspace(),
            Self::Unsettled { state, .. } | Self::Untold { state, .. } => *state,
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

/// Formats an actor as a part of a sentence.
fn whose(actor: &Actor) -> String {
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

    /// AEC-8: an append with an unknown outcome may have recorded something.
    #[test]
    fn an_append_with_an_unknown_outcome_only_says_that_no_file_was_changed() {
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
