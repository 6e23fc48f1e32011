//! Failure of a command, with its message, exit code, reason code and hints.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::{CommandError, StateClause};
use actum_action::PlanError;
use actum_api::error::{
    BudgetUse, Conflict, DeniedPlan, FileCost, Queued, Refusal, WorkspaceState,
};
use actum_api::gate::Gate;
use actum_core::path::Quoted;
use actum_core::place::Place;
use actum_core::suggestion::suggest;
use actum_core::{BudgetStatus, RunId, Timestamp};
use actum_edit::format::{INPUT_BYTES_MAX, ParseError};
use actum_sandbox::NoProgram;
use actum_workspace::{Error, ErrorKind, PathConflict, State};

use crate::approval_key::ApprovalKeyUnread;
use crate::exit::Exit;
use crate::gate_view::views;
use crate::hint;
use crate::snippet::{Quote, Snippet};
use actum::reason::{self, Reason};

/// Description of an invalid plan envelope, for messages that must not quote its content.
pub(crate) const UNSOUND_ENVELOPE: &str = "it is not a valid plan envelope";

/// Failure of a command. Its `Display` text omits whether files were changed; [`Failure::message`] adds that.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The workspace rejected the request, or an operation on it failed.
    #[error("{}", .0.kind)]
    Workspace(#[from] Error),
    /// The engine rejected the request or failed, for a reason other than a workspace error.
    #[error(transparent)]
    Engine { source: Box<actum::Error> },
    /// The command line is invalid. Errors that clap detects are converted to this variant only if JSON was requested.
    #[error("{message}")]
    Usage { message: String },
    #[error(
        "cannot start in `{}`: {source}",
        Quoted(directory.as_os_str().as_bytes())
    )]
    Start { directory: PathBuf, source: io::Error },
    #[error(
        "`{}` cannot be a workspace: {why}",
        Quoted(root.as_os_str().as_bytes())
    )]
    RootNotAllowed { root: PathBuf, why: &'static str },
    #[error("cannot read {input}: {source}")]
    Unreadable { input: String, source: io::Error },
    #[error("cannot apply {input}: it has more than {INPUT_BYTES_MAX} bytes")]
    TooLarge { input: String },
    #[error("cannot apply {input}: {}", quote.message(source, kind_of(source)))]
    Input { input: String, source: Box<ParseError>, quote: Quote },
    #[error(
        "cannot carry out {input}: {}",
        quote.message(source, UNSOUND_ENVELOPE)
    )]
    Envelope { input: String, source: Box<PlanError>, quote: Quote },
    #[error("there is no run whose id begins with `{prefix}`")]
    NoSuchRun { prefix: String },
    #[error("there are no runs yet")]
    NoRunYet,
    #[error(
        "there is no policy `{}` to trust",
        Quoted(path.as_os_str().as_bytes())
    )]
    NoPolicy { path: PathBuf },
    #[error("unknown reason, code or word `{}`", Quoted(name.as_bytes()))]
    UnknownReason { name: String },
    #[error("cannot write `{}`: {source}", Quoted(path.as_os_str().as_bytes()))]
    PageUnwritten { path: PathBuf, source: io::Error },
    #[error("the run id `{prefix}` is ambiguous: it matches {} runs: {}", runs.len(), list(runs))]
    AmbiguousRun { prefix: String, runs: Vec<RunId> },
    #[error("the demo could not {action}: {source}")]
    Demo { action: &'static str, source: io::Error },
    /// Failure that is defined by one module of the program.
    #[error("{kind}")]
    Of { kind: Box<dyn FailureKind> },
    /// Workspace error, with an additional hint about the directory in which the command was started.
    #[error("{}", source.kind)]
    Placed { source: Box<Error>, hint: String },
    /// The requested run was removed from the history by `actum gc`.
    #[error("run `{run}` was forgotten by `actum gc` at {time}")]
    ForgottenRun { run: RunId, time: Timestamp },
    #[error("the command completed, but its result could not be written: {source}")]
    Unwritten { source: io::Error },
    /// The command failed and its change was not applied, but its writes to these caches remain.
    #[error("{source}; {caches}")]
    BesideCaches { source: Box<Failure>, caches: KeptCaches },
}

/// Failure that is defined by one module, with its own reason code, exit code and hints.
pub(crate) trait FailureKind: std::error::Error {
    /// Returns the reason code, which has a permanent name.
    fn reason(&self) -> Reason;

    /// Returns the exit code, which is [`Exit::Refused`] by default.
    fn exit(&self) -> Exit {
        Exit::Refused
    }

    /// Returns hints on how to resolve the failure.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns an excerpt of the input at the position of the error, if there is one.
    fn excerpt(&self) -> Option<&Snippet> {
        None
    }

    /// Returns the clause about the state of the workspace that is appended to the message, or `None` if the message
    /// already contains one.
    fn state(&self) -> Option<String> {
        Some(State::Unchanged.to_string())
    }
}

impl<K: FailureKind + 'static> From<K> for Failure {
    fn from(kind: K) -> Self {
        Self::Of { kind: Box::new(kind) }
    }
}

/// Cache directories that keep the changes of a command even if its other changes are discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptCaches(pub(crate) Vec<String>);

impl std::fmt::Display for KeptCaches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the command's changes to the cache `{}` were kept", self.0.join("`, `"))
    }
}

/// Describes a problem with an input in general terms, without quoting any of its content.
fn kind_of(error: &ParseError) -> &'static str {
    match reason::of_input(&error.problem) == Reason::InputUnrecognised {
        true => "the input is not in a known format",
        false => "the input violates the rules of its format",
    }
}

/// Maximum number of candidates that are listed for an ambiguous run id.
const NAMED_MAX: usize = 5;

fn list(runs: &[RunId]) -> String {
    let named = runs.iter().take(NAMED_MAX).map(|run| format!("`{run}`"));
    let more = (runs.len() > NAMED_MAX).then(|| "…".to_owned());
    named.chain(more).collect::<Vec<_>>().join(", ")
}

impl From<actum::Error> for Failure {
    fn from(error: actum::Error) -> Self {
        if let actum::Error::Workspace(error) = error {
            return Self::Workspace(error);
        }
        Self::Engine { source: Box::new(error) }
    }
}

impl From<ApprovalKeyUnread> for Failure {
    fn from(unread: ApprovalKeyUnread) -> Self {
        match unread {
            ApprovalKeyUnread::Home(unknown) => unknown.into(),
            ApprovalKeyUnread::Keys(error) => error.into(),
        }
    }
}

impl Failure {
    /// Returns the underlying failure, without the note about kept caches.
    pub(crate) fn bare(&self) -> &Self {
        if let Self::BesideCaches { source, .. } = self { source.bare() } else { self }
    }

    /// Returns the user-visible message, which ends with a clause about the state of the workspace.
    pub(crate) fn message(&self) -> String {
        let state = match self {
            Self::Workspace(error) => error.state.to_string(),
            Self::Placed { source, .. } => source.state.to_string(),
            Self::Engine { source } => return source.with_state(),
            Self::BesideCaches { source, caches } => {
                return format!("{}; {caches}", source.message());
            }
            Self::PageUnwritten { .. } => "nothing else was changed".to_owned(),
            Self::Of { kind } => match kind.state() {
                Some(state) => state,
                None => return self.to_string(),
            },
            Self::Demo { .. } => "nothing outside its own directory was changed".to_owned(),
            // Usage errors never change anything, and the message of `Unwritten` already contains the state.
            Self::Usage { .. } | Self::Unwritten { .. } => return self.to_string(),
            Self::Start { .. }
            | Self::RootNotAllowed { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Input { .. }
            | Self::Envelope { .. }
            | Self::NoSuchRun { .. }
            | Self::ForgottenRun { .. }
            | Self::NoRunYet
            | Self::NoPolicy { .. }
            | Self::AmbiguousRun { .. }
            | Self::UnknownReason { .. } => State::Unchanged.to_string(),
        };
        format!("{self}; {state}")
    }

    /// Returns the message for a failure that occurred after the same command had already completed other work.
    pub(crate) fn message_after_work(&self) -> String {
        if let Self::Engine { source } = self
            && source.state_clause() != StateClause::State(State::Unchanged)
        {
            return self.message();
        }
        match self.workspace() {
            State::Unchanged => format!("{self}; nothing else was changed"),
            State::Forgotten { .. }
            | State::Restored
            | State::Published
            | State::NeedsAttention => self.message(),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Workspace(error) => Exit::after(error),
            Self::Placed { source, .. } => Exit::after(source),
            Self::Engine { source } => Exit::after_engine(source),
            Self::Usage { .. } => Exit::Usage,
            Self::Unwritten { .. } => Exit::NeedsAttention,
            Self::Of { kind } => kind.exit(),
            Self::BesideCaches { source, .. } => source.exit(),
            Self::Start { .. }
            | Self::RootNotAllowed { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Input { .. }
            | Self::Envelope { .. }
            | Self::NoSuchRun { .. }
            | Self::ForgottenRun { .. }
            | Self::NoRunYet
            | Self::NoPolicy { .. }
            | Self::AmbiguousRun { .. }
            | Self::UnknownReason { .. }
            | Self::PageUnwritten { .. }
            | Self::Demo { .. } => Exit::Refused,
        }
    }

    /// Returns the exit code for a failure of actum in verbs that pass through the exit code of a command. If the command
    /// could not be run, the code is the one that `actum sandbox run` uses; otherwise, it is 110 plus the usual code.
    pub(crate) fn exit_beside_a_command(&self) -> Exit {
        const OURS: u8 = 110;
        const UNAVAILABLE: u8 = 125;
        const NOT_RUN: u8 = 126;
        const NOT_FOUND: u8 = 127;
        Exit::Passed(match (self.exit(), self.reason()) {
            (Exit::Passed(code), _) => code,
            (_, Reason::CommandNotRun) => match self.is_no_program() {
                true => NOT_FOUND,
                false => NOT_RUN,
            },
            (
                _,
                Reason::NeedsTierN
                | Reason::SandboxFailed
                | Reason::SandboxUnavailable
                | Reason::PolicyInvalid,
            ) => UNAVAILABLE,
            (ours, _) => OURS + ours.code(),
        })
    }

    /// Returns the reason code, which has a permanent name.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Workspace(error) => reason::from_error_kind(&error.kind),
            Self::Placed { source, .. } => reason::from_error_kind(&source.kind),
            Self::Engine { source } => reason::of_engine(source),
            Self::Usage { .. } => Reason::Usage,
            Self::Start { .. } => Reason::StartDirectoryUnusable,
            Self::RootNotAllowed { .. } => Reason::RootNotAllowed,
            Self::Unreadable { .. } => Reason::InputUnreadable,
            Self::TooLarge { .. } => Reason::InputTooLarge,
            Self::Input { source, .. } => reason::of_input(&source.problem),
            Self::Envelope { .. } => Reason::PlanEnvelopeInvalid,
            Self::NoSuchRun { .. } | Self::ForgottenRun { .. } | Self::NoRunYet => {
                Reason::UnknownRun
            }
            Self::NoPolicy { .. } => Reason::PolicyMissing,
            Self::AmbiguousRun { .. } => Reason::AmbiguousRun,
            Self::UnknownReason { .. } => Reason::UnknownReason,
            Self::PageUnwritten { .. } => Reason::ResultUnwritten,
            Self::Demo { .. } => Reason::DemoFailed,
            Self::Unwritten { .. } => Reason::ResultUnwritten,
            Self::Of { kind } => kind.reason(),
            Self::BesideCaches { source, .. } => source.reason(),
        }
    }

    /// Returns whether the failure is that the program named by a command could not be found.
    pub(crate) fn is_no_program(&self) -> bool {
        let Self::Engine { source } = self.bare() else { return false };
        matches!(
            **source,
            actum::Error::Command(CommandError::NotFound { why, .. }) if why != NoProgram::NotExecutable
        )
    }

    /// Returns an excerpt of the input at the position of the error, if there is one.
    pub(crate) fn excerpt(&self) -> Option<&Snippet> {
        if let Self::Of { kind } = self {
            return kind.excerpt();
        }
        if let Self::Input { quote, .. } = self { quote.snippet() } else { None }
    }

    /// Returns the command that explains the reason, unless the failure is self-explanatory.
    pub(crate) fn page(&self) -> Option<String> {
        let explains_itself = matches!(self, Self::Usage { .. } | Self::UnknownReason { .. });
        (!explains_itself).then(|| format!("`actum explain {}`", self.reason().name()))
    }

    /// Returns the further problems for which the workspace rejected the same change.
    pub(crate) fn also(&self) -> &[ErrorKind] {
        if let Self::Workspace(error) = self.bare() {
            &error.also
        } else if let Self::Placed { source, .. } = self.bare() {
            &source.also
        } else {
            &[]
        }
    }

    /// Returns hints on how to resolve the failure.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::Workspace(error) => hint::after(&error.kind),
            Self::Placed { source, hint } => {
                let mut hints = vec![hint.clone()];
                hints.append(&mut hint::after(&source.kind));
                hints
            }
            Self::Engine { source } => hint::after_engine(source),
            Self::TooLarge { .. } => {
                vec!["split the change into several runs; each can be undone separately".to_owned()]
            }
            Self::Envelope { .. } => {
                vec![hint::PLAN_SCHEMA.to_owned()]
            }
            Self::NoSuchRun { .. } | Self::ForgottenRun { .. } => {
                vec!["`actum log` lists the runs".to_owned()]
            }
            Self::NoRunYet => vec![hint::MAKES_A_RUN.to_owned()],
            Self::NoPolicy { .. } => {
                vec![
                    "run `actum policy check` to see the rules that apply without this policy"
                        .to_owned(),
                ]
            }
            Self::AmbiguousRun { .. } => vec!["use a longer prefix of the id".to_owned()],
            Self::Unwritten { .. } => vec!["run `actum log` to see what was done".to_owned()],
            Self::Demo { .. } => {
                vec!["set `TMPDIR` to a directory on a local file system".to_owned()]
            }
            Self::Usage { .. } => {
                vec!["run `actum help COMMAND` to see the usage of a command".to_owned()]
            }
            Self::Of { kind } => kind.hints(),
            Self::BesideCaches { source, .. } => source.hints(),
            Self::UnknownReason { name } => {
                let upper = name.to_ascii_uppercase();
                let known: Vec<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
                let suggestion =
                    suggest(&upper, &known).map(|known| format!("did you mean `{known}`?"));
                suggestion
                    .into_iter()
                    .chain(["run `actum explain` to list all reasons".to_owned()])
                    .collect()
            }
            Self::Input { source, .. } => hint::input::after(&source.problem).into_iter().collect(),
            Self::RootNotAllowed { root, .. } => vec![format!(
                "start in a project directory (a git repository if it contains programs), or have the operator list the \
                 directory in {}{}",
                crate::operators_policy::widening(),
                crate::operators_policy::root_setting(root)
            )],
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                vec![
                    "check the path, which is relative to the current directory or to `-C DIR`"
                        .to_owned(),
                ]
            }
            Self::Start { .. } | Self::Unreadable { .. } | Self::PageUnwritten { .. } => Vec::new(),
        }
    }

    fn workspace(&self) -> State {
        match self {
            Self::Workspace(error) => error.state,
            Self::Placed { source, .. } => source.state,
            Self::Engine { source } => source.workspace(),
            Self::BesideCaches { source, .. } => source.workspace(),
            Self::Of { .. }
            | Self::Usage { .. }
            | Self::Start { .. }
            | Self::RootNotAllowed { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Input { .. }
            | Self::Envelope { .. }
            | Self::NoSuchRun { .. }
            | Self::ForgottenRun { .. }
            | Self::NoRunYet
            | Self::NoPolicy { .. }
            | Self::AmbiguousRun { .. }
            | Self::UnknownReason { .. }
            | Self::PageUnwritten { .. }
            | Self::Demo { .. } => State::Unchanged,
            Self::Unwritten { .. } => State::Published,
        }
    }

    fn place(&self) -> Option<Place> {
        if let Self::Input { source, .. } = self { source.place } else { None }
    }

    /// Returns the failure as a JSON document.
    pub(crate) fn document(&self) -> actum_api::error::Error {
        actum_api::error::Error {
            status: self.exit().status(),
            reason: self.reason().name().to_owned(),
            message: self.message(),
            workspace: match self.workspace() {
                State::Unchanged | State::Forgotten { .. } => WorkspaceState::Unchanged,
                State::Restored => WorkspaceState::Restored,
                State::Published => WorkspaceState::Published,
                State::NeedsAttention => WorkspaceState::NeedsAttention,
            },
            hints: self.hints(),
            line: self.place().map(|place| place.line),
            column: self.place().map(|place| place.column),
            conflicts: self.conflicts(),
            budget: self.budget(),
            queued: self.queued(),
            gates: self.gates(),
            also: self.also().iter().map(refusal).collect(),
        }
    }

    fn conflicts(&self) -> Option<Vec<Conflict>> {
        let Self::Workspace(Error { kind: ErrorKind::ChangedSince { conflicts, .. }, .. }) =
            self.bare()
        else {
            return None;
        };
        let one = |conflict: &PathConflict| Conflict {
            path: (&conflict.path).into(),
            difference: conflict.difference.to_string(),
            by: conflict.by,
        };
        Some(conflicts.iter().map(one).collect())
    }

    fn gates(&self) -> Vec<Gate> {
        let Self::Engine { source } = self.bare() else { return Vec::new() };
        if let actum::Error::Denied { gates }
        | actum::Error::ApprovalRequired { gates, .. }
        | actum::Error::Queued { gates, .. } = &**source
        {
            views(gates)
        } else {
            Vec::new()
        }
    }

    /// Returns the pending plan, if the change needs approval.
    pub(crate) fn queued(&self) -> Option<Queued> {
        let Self::Engine { source } = self.bare() else { return None };
        let actum::Error::Queued { plan, tier, expires, denied, .. } = &**source else {
            return None;
        };
        let denied_before = denied
            .as_ref()
            .map(|(plan, reason)| DeniedPlan { plan: *plan, reason: reason.clone() });
        Some(Queued { plan: *plan, tier: *tier, expires: expires.to_string(), denied_before })
    }

    /// Returns whether this request queued a new plan, as opposed to matching one that was already pending.
    pub(crate) fn is_newly_queued(&self) -> bool {
        let Self::Engine { source } = self.bare() else { return false };
        matches!(&**source, actum::Error::Queued { waited: false, .. })
    }

    fn budget(&self) -> Option<BudgetUse> {
        if let Self::Workspace(Error { kind: ErrorKind::Budget { status }, .. }) = self.bare() {
            return Some(budget_use(status));
        }
        None
    }
}

/// Returns the JSON form of a budget status, with the requested and the allowed amounts (FO-4).
fn budget_use(status: &BudgetStatus) -> BudgetUse {
    let cost = |cost: &actum_core::PathCost| FileCost {
        path: (&cost.path).into(),
        added: cost.added,
        removed: cost.removed,
    };
    BudgetUse {
        max_files: status.budget.max_files,
        max_loc: status.budget.max_loc,
        files: status.files,
        loc: status.loc,
        per_file: status.per_file.iter().map(cost).collect(),
    }
}

fn refusal(kind: &ErrorKind) -> Refusal {
    Refusal {
        reason: reason::from_error_kind(kind).name().to_owned(),
        message: kind.to_string(),
        hints: hint::after(kind),
    }
}
