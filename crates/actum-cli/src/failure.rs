//! Failures of a command, and hints for the user.

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

/// Problem of a plan envelope whose content is not quoted.
pub(crate) const UNSOUND_ENVELOPE: &str = "it is no sound plan envelope";

/// Failure of a command. [`Failure::message`] adds the state of the workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The workspace refused or failed.
    #[error("{}", .0.kind)]
    Workspace(#[from] Error),
    /// The engine refused or failed for another reason.
    #[error(transparent)]
    Engine { source: Box<actum::Error> },
    /// The command line is wrong. Only made where JSON was requested; else clap reports it.
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
    #[error("there is no run yet")]
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
    #[error("the ids of {} runs begin with `{prefix}`: {}", runs.len(), list(runs))]
    AmbiguousRun { prefix: String, runs: Vec<RunId> },
    #[error("the demo could not {action}: {source}")]
    Demo { action: &'static str, source: io::Error },
    /// One part of the program failed.
    #[error("{kind}")]
    Of { kind: Box<dyn FailureKind> },
    /// The workspace refused or failed; the hint is about the directory that the command was started in.
    #[error("{}", source.kind)]
    Placed { source: Box<Error>, hint: String },
    /// The named run was removed from the history.
    #[error("run `{run}` was forgotten by `actum gc` at {time}")]
    ForgottenRun { run: RunId, time: Timestamp },
    #[error("the command did its work, but its result could not be written: {source}")]
    Unwritten { source: io::Error },
    /// The change is not made, but the changes of the command to these caches last.
    #[error("{source}; {caches}")]
    BesideCaches { source: Box<Failure>, caches: KeptCaches },
}

/// Failure of one part of the program, with its own reason, exit code and hints.
pub(crate) trait FailureKind: std::error::Error {
    /// Returns the permanent name of the reason.
    fn reason(&self) -> Reason;

    /// Returns the exit code.
    fn exit(&self) -> Exit {
        Exit::Refused
    }

    /// Returns hints for the user.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the wrong line of the input.
    fn excerpt(&self) -> Option<&Snippet> {
        None
    }

    /// Returns the state to add to the message; `None` if the message contains it.
    fn state(&self) -> Option<String> {
        Some(State::Unchanged.to_string())
    }
}

impl<K: FailureKind + 'static> From<K> for Failure {
    fn from(kind: K) -> Self {
        Self::Of { kind: Box::new(kind) }
    }
}

/// Caches that keep the changes of a command, whatever happens to its other changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptCaches(pub(crate) Vec<String>);

impl std::fmt::Display for KeptCaches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` keeps what the command did there, as a cache", self.0.join("`, `"))
    }
}

/// Returns the kind of a problem with an input, without any of its content.
fn kind_of(error: &ParseError) -> &'static str {
    match reason::of_input(&error.problem) == Reason::InputUnrecognised {
        true => "the input is in no known format",
        false => "the input breaks the rules of its format",
    }
}

/// Limit of the candidates that are listed for an ambiguous run.
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
    /// Returns the failure without the caches beside it.
    pub(crate) fn bare(&self) -> &Self {
        if let Self::BesideCaches { source, .. } = self { source.bare() } else { self }
    }

    /// Returns the message with the state of the workspace at its end, for users.
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
            // A usage error never changes anything; the other messages contain the state.
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

    /// Returns the message of a failure that follows other work of the same command.
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

    /// Returns the exit code.
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

    /// Returns the code for a failure of actum where codes from 0 on are those of a command. It is that of `actum
    /// sandbox run` if the command could not be run, else 110 plus the usual code.
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

    /// Returns the reason, which has a permanent name.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Workspace(error) => reason::of(&error.kind),
            Self::Placed { source, .. } => reason::of(&source.kind),
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

    /// Returns true if the program that a command names could not be found.
    pub(crate) fn is_no_program(&self) -> bool {
        let Self::Engine { source } = self.bare() else { return false };
        matches!(
            **source,
            actum::Error::Command(CommandError::NotFound { why, .. }) if why != NoProgram::NotExecutable
        )
    }

    /// Returns the line of the input that the failure is about.
    pub(crate) fn excerpt(&self) -> Option<&Snippet> {
        if let Self::Of { kind } = self {
            return kind.excerpt();
        }
        if let Self::Input { quote, .. } = self { quote.snippet() } else { None }
    }

    /// Returns the page with more information.
    pub(crate) fn page(&self) -> Option<String> {
        let explains_itself = matches!(self, Self::Usage { .. } | Self::UnknownReason { .. });
        (!explains_itself).then(|| format!("`actum explain {}`", self.reason().name()))
    }

    /// Returns the other refusals of the change.
    pub(crate) fn also(&self) -> &[ErrorKind] {
        if let Self::Workspace(error) = self.bare() {
            &error.also
        } else if let Self::Placed { source, .. } = self.bare() {
            &source.also
        } else {
            &[]
        }
    }

    /// Returns hints for the user.
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
                vec!["split the change into several runs; each can be undone by itself".to_owned()]
            }
            Self::Envelope { .. } => {
                vec![hint::PLAN_SCHEMA.to_owned()]
            }
            Self::NoSuchRun { .. } | Self::ForgottenRun { .. } => {
                vec!["`actum log` lists the runs".to_owned()]
            }
            Self::NoRunYet => vec![hint::MAKES_A_RUN.to_owned()],
            Self::NoPolicy { .. } => {
                vec!["`actum policy check` shows what is in force without one".to_owned()]
            }
            Self::AmbiguousRun { .. } => vec!["give more characters of the id".to_owned()],
            Self::Unwritten { .. } => vec!["`actum log` lists what was done".to_owned()],
            Self::Demo { .. } => {
                vec!["set `TMPDIR` to a directory on a local file system".to_owned()]
            }
            Self::Usage { .. } => {
                vec!["`actum help COMMAND` describes the command line of a command".to_owned()]
            }
            Self::Of { kind } => kind.hints(),
            Self::BesideCaches { source, .. } => source.hints(),
            Self::UnknownReason { name } => {
                let upper = name.to_ascii_uppercase();
                let known: Vec<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
                let meant = suggest(&upper, &known).map(|known| format!("did you mean `{known}`?"));
                meant.into_iter().chain(["`actum explain` lists the reasons".to_owned()]).collect()
            }
            Self::Input { source, .. } => hint::input::after(&source.problem).into_iter().collect(),
            Self::RootNotAllowed { root, .. } => vec![format!(
                "start in a project, a git repository where it holds programs; else the operator lists the directory in {}{}",
                crate::operators_policy::widening(),
                crate::operators_policy::root_setting(root)
            )],
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                vec![
                    "check the path; it is relative to the current directory, or to `-C DIR`"
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

    /// Returns the document of the failure.
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

    /// Returns the plan that waits for an approval now.
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

    /// Returns true if the plan was queued now, and did not wait before.
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

/// Returns the requested and the allowed budget (FO-4).
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
        reason: reason::of(kind).name().to_owned(),
        message: kind.to_string(),
        hints: hint::after(kind),
    }
}
