//! Why a request was not carried out, and in which state that leaves things.

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

/// Clause on the state of the workspace that the message of an error ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateClause {
    /// The message has it.
    Said,
    /// No file was changed; whether something was recorded is not known.
    FilesUnchanged,
    /// State of the workspace.
    State(State),
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace refused or failed.
    #[error("{}", .0.kind)]
    Workspace(#[from] actum_workspace::Error),
    /// The directory of ledgers and keys cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Ledger and keys lie where changes are made.
    #[error(
        "cannot use the workspace `{}` with the ledgers and keys in `{}`: one lies in the other, so a change could \
         touch them",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(home.as_os_str().as_bytes())
    )]
    HomeInside {
        /// The home.
        home: PathBuf,
        /// The root of the workspace.
        root: PathBuf,
    },
    /// The workspace would lie in a directory of ledgers and keys or of an operator's policy.
    #[error(
        "cannot use the workspace `{}`: `{}` marks a directory of ledgers and keys or of an operator's policy, at it or \
         around it",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(mark.as_os_str().as_bytes())
    )]
    HomeAround {
        /// The file by which the directory is recognised.
        mark: PathBuf,
        /// The root of the workspace.
        root: PathBuf,
    },
    /// A path of the change leads into another workspace.
    #[error(
        "`{root}` is a workspace of its own, with its own rules and history, so no change of this one leads there"
    )]
    WorkspaceWithin {
        /// Its root.
        root: PathName,
    },
    /// A path of the change leads into a repository whose rules do not count from this root.
    #[error(
        "`{root}` is a repository with rules that count from its own root, so no change of this workspace leads there"
    )]
    RepositoryWithin {
        /// Its root.
        root: PathName,
    },
    /// The workspace belongs to another ledger.
    #[error(
        "{workspace} belongs to the ledger `{}`, which is not the one in use here",
        Quoted(ledger.as_bytes())
    )]
    BoundElsewhere {
        /// Which workspace.
        workspace: BoundWorkspace,
        /// Name of the log that recorded it.
        ledger: String,
    },
    /// The environment names another place for the operator's configuration.
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
    /// A key that must sign cannot.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger refused or failed before anything was changed.
    #[error("{source}")]
    Ledger {
        /// Why.
        source: LedgerError,
    },
    /// The same key was used for something else.
    #[error("the request key `{key}` stands for another request, which run {run} carried out")]
    RequestKeyTaken {
        /// The key.
        key: RequestKey,
        /// The run of the other request.
        run: RunId,
    },
    /// An earlier attempt at the same request has an unknown outcome.
    #[error(
        "the request `{key}` was tried by run {run}, and it is not known whether that had an effect"
    )]
    OutcomeUnknown {
        /// The key.
        key: RequestKey,
        /// The earlier run.
        run: RunId,
    },
    /// The ledger has the request as done, by a run that this workspace never made.
    #[error(
        "run {run} carried out the request `{key}` in a workspace of this name, but this one does not know that run: \
         it is a copy or an older state, and its files are not what that run left"
    )]
    WorkspaceIsACopy {
        /// The key.
        key: RequestKey,
        /// The run.
        run: RunId,
    },
    /// An undo or redo without a run, where every change or undo in effect is another actor's.
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
        /// Inversion that was asked for.
        way: WayBack,
        /// That run.
        run: RunId,
        /// Who asked for it.
        by: Actor,
    },
    /// Recovery rolled back a run that was cut off, which is most likely what an undo or redo without a run was meant for.
    #[error(
        "run {run} had begun and not ended; it was rolled back just now, and nothing else was changed"
    )]
    RecoveredFirst {
        /// Inversion that was asked for.
        way: WayBack,
        /// That run.
        run: RunId,
    },
    /// The operator's retention keeps runs that were to be removed from the history.
    #[error(
        "the retention of the operator keeps {runs} of the runs that would be forgotten (the newest {} and those of \
         the last {} days)",
        retention.runs,
        retention.days
    )]
    Retained {
        /// How many.
        runs: usize,
        /// The retention.
        retention: Retention,
    },
    /// A record of removed history would not count.
    #[error("cannot record what is forgotten: {0}")]
    Forgotten(#[from] Box<ForgottenProblem>),
    /// It was asked to carry out an action, and the request belongs to none.
    #[error("the request belongs to no action, and is carried out as what it is")]
    NoAction,
    /// Everything is as asked already; no run is made.
    #[error("there is nothing to change; no run was made")]
    NothingToChange,
    /// A lease cannot be used, so nothing may be done under it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// A lease cannot be granted or revoked.
    #[error(transparent)]
    Grant(#[from] Box<GrantLeaseError>),
    /// A policy cannot be used, so nothing may be done under it.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Denied by gates.
    #[error("{}", of_gates(.gates))]
    Denied {
        /// Decision of each of them, in order.
        gates: Vec<GateDecision>,
    },
    /// A change needs an approval, at an entry point that has no queue (D-3).
    #[error("approval required ({tier}), and a file task is not queued: {}", grounds(.gates))]
    ApprovalRequired {
        /// Its risk tier.
        tier: RiskTier,
        /// Gates that require approval.
        gates: Vec<GateDecision>,
    },
    /// Queued until it is approved.
    #[error(
        "approval required ({tier}): queued as plan {plan}: {}",
        grounds(.gates)
    )]
    Queued {
        /// The plan in the queue.
        plan: RunId,
        /// Its risk tier.
        tier: RiskTier,
        /// Gates that require approval.
        gates: Vec<GateDecision>,
        /// Until when it waits.
        expires: Timestamp,
        /// Whether exactly this waited before, so that nothing new was queued.
        waited: bool,
        /// The version before, where a person denied it, and why.
        denied: Option<(RunId, Option<String>)>,
    },
    /// A plan in the queue cannot be answered or carried out.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The catalog of actions cannot be used or changed.
    #[error(transparent)]
    Catalog(Box<CatalogError>),
    /// A command did not run, or what it did could not be told or kept.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A check did not find the staged change good.
    #[error(
        "the check `{}` refused the staged change: {}{}",
        Harmless(.check.quoted().as_bytes()),
        .record.ended,
        said(.output)
    )]
    Unverified {
        /// The check.
        check: CommandLine,
        /// How it ended.
        record: Box<CommandRecord>,
        /// The end of what it wrote.
        output: String,
        /// All checks that were run, this one last.
        told: Vec<Check>,
    },
    /// The run ended, and the workspace says how; its receipt is still to be written.
    #[error(
        "run {run} {}, but its receipt could not be written: {}; the next run here writes it",
        after(*state, cause.as_deref()),
        source
    )]
    Unsettled {
        /// The run.
        run: RunId,
        /// The state of the workspace.
        state: State,
        /// Why.
        source: Box<Error>,
        /// Why the run itself failed, where it did.
        cause: Option<Box<actum_workspace::Error>>,
    },
    /// An action has ended, and that could not be recorded.
    #[error("the action {}, but {source}", ended(*status, *run))]
    Untold {
        /// How it ended.
        status: Status,
        /// The run that changed files for it.
        run: Option<RunId>,
        /// In which state the workspace is.
        state: State,
        /// Why.
        source: FeedbackError,
    },
    /// What a task leaves behind cannot be read or written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// A task cannot be taken back.
    #[error(transparent)]
    Rollback(#[from] RollbackRefused),
    /// Something could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// What is to be recorded has no exact form.
    #[error("cannot record the change: {source}")]
    Record {
        /// Why.
        #[from]
        source: CanonicalError,
    },
}

/// Tail of the output of a check.
fn said(output: &str) -> String {
    match output.is_empty() {
        true => String::new(),
        false => format!("; it said: {}", Harmless(output.as_bytes())),
    }
}

/// State after a run without a receipt.
fn after(state: State, cause: Option<&actum_workspace::Error>) -> String {
    match (state, cause) {
        (State::Published, _) => "is done and durable".to_owned(),
        (_, Some(cause)) => format!("changed nothing that lasts ({cause})"),
        (_, None) => "changed nothing that lasts".to_owned(),
    }
}

/// How an action ended.
fn ended(status: Status, run: Option<RunId>) -> String {
    match run {
        Some(run) => format!("{} with the run {run}", status.as_str()),
        None => format!("ended as `{}` and changed nothing", status.as_str()),
    }
}

/// Grounds of the denying gates.
fn of_gates(gates: &[GateDecision]) -> String {
    let told = gates.iter().map(|GateDecision { gate, ground, .. }| {
        format!("the gate `{gate}`: {}", Harmless(ground.to_string().as_bytes()))
    });
    format!("the change is refused by {}", told.collect::<Vec<_>>().join("; and by "))
}

/// Grounds of the gates that require approval.
fn grounds(gates: &[GateDecision]) -> String {
    let told = gates.iter().map(|gate| Harmless(gate.ground.to_string().as_bytes()).to_string());
    told.collect::<Vec<_>>().join("; ")
}

/// A result whose error says the state of the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Message with the state of the workspace at its end, where it does not say it already.
    pub fn with_state(&self) -> String {
        match self.state_clause() {
            StateClause::Said => self.to_string(),
            StateClause::FilesUnchanged => format!("{self}; no file was changed"),
            StateClause::State(state) => format!("{self}; {state}"),
        }
    }

    /// Clause on the state of the workspace that a message is to end with.
    pub fn state_clause(&self) -> StateClause {
        if let Self::Ledger { source } = self
            && !source.is_outcome_known()
        {
            return StateClause::FilesUnchanged;
        }
        let says_state = if let Self::Command(error) = self {
            error.says_state()
        } else if let Self::Rollback(RollbackRefused::PutBack { .. }) = self {
            // Files that came back before that are a change.
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

    /// State of the workspace.
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

/// An actor as a part of a sentence.
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

    /// AEC-8: an append of which the outcome is not known may have recorded something.
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
