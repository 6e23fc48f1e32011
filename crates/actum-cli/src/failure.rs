//! Why a command did not do what was asked, and what the reader can do.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::format::{INPUT_BYTES_MAX, ParseError};
use actum_core::path::Quoted;
use actum_core::{BudgetStatus, RunId, Status};
use actum_workspace::{Error, ErrorKind, State};
use serde::{Serialize, Serializer};

use crate::exit::Exit;
use crate::output::Document;
use crate::reason;
use crate::shown_path::ShownPath;

/// Why a command failed. Each message says the state of the workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The engine refused or failed.
    #[error(transparent)]
    Workspace(#[from] Error),
    /// The command line is wrong; only made where JSON was asked for, else clap says it.
    #[error("{message}")]
    Usage { message: String },
    #[error(
        "cannot start in `{}`: {source}; nothing was changed",
        Quoted(directory.as_os_str().as_bytes())
    )]
    Start { directory: PathBuf, source: io::Error },
    #[error("cannot read {input}: {source}; nothing was changed")]
    Unreadable { input: String, source: io::Error },
    #[error("cannot apply {input}: it has more than {INPUT_BYTES_MAX} bytes; nothing was changed")]
    TooLarge { input: String },
    #[error("cannot apply {input}: {source}; nothing was changed")]
    Input { input: String, source: ParseError },
    #[error("there is no run whose id begins with `{prefix}`; nothing was changed")]
    NoSuchRun { prefix: String },
    #[error("the ids of {} runs begin with `{prefix}`: {}; nothing was changed", runs.len(), list(runs))]
    AmbiguousRun { prefix: String, runs: Vec<RunId> },
    #[error("the demo could not {action}: {source}; nothing outside its own directory was changed")]
    Demo { action: &'static str, source: io::Error },
    #[error("the command did its work, but its result could not be written: {source}")]
    Unwritten { source: io::Error },
}

/// How many candidates for an ambiguous run are named.
const NAMED_MAX: usize = 5;

fn list(runs: &[RunId]) -> String {
    let named = runs.iter().take(NAMED_MAX).map(|run| format!("`{run}`"));
    let more = (runs.len() > NAMED_MAX).then(|| "…".to_owned());
    named.chain(more).collect::<Vec<_>>().join(", ")
}

impl Failure {
    /// The code to end with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Workspace(error) => Exit::after(error),
            Self::Usage { .. } => Exit::Usage,
            Self::Unwritten { .. } => Exit::NeedsAttention,
            Self::Start { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Input { .. }
            | Self::NoSuchRun { .. }
            | Self::AmbiguousRun { .. }
            | Self::Demo { .. } => Exit::Refused,
        }
    }

    /// The permanent name of the reason.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Workspace(error) => reason::of(&error.kind),
            Self::Usage { .. } => "USAGE",
            Self::Start { .. } => "START_DIRECTORY_UNUSABLE",
            Self::Unreadable { .. } => "INPUT_UNREADABLE",
            Self::TooLarge { .. } => "INPUT_TOO_LARGE",
            Self::Input { source, .. } => reason::of_input(&source.problem),
            Self::NoSuchRun { .. } => "UNKNOWN_RUN",
            Self::AmbiguousRun { .. } => "AMBIGUOUS_RUN",
            Self::Demo { .. } => "DEMO_FAILED",
            Self::Unwritten { .. } => "RESULT_UNWRITTEN",
        }
    }

    /// What the reader can do.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::Workspace(error) => reason::hints(error),
            Self::TooLarge { .. } => {
                vec!["split the change into several runs; each can be undone by itself".to_owned()]
            }
            Self::NoSuchRun { .. } => vec!["`actum log` lists the runs".to_owned()],
            Self::AmbiguousRun { .. } => vec!["give more characters of the id".to_owned()],
            Self::Unwritten { .. } => vec!["`actum log` lists what was done".to_owned()],
            Self::Demo { .. } => {
                vec!["set `TMPDIR` to a directory on a local file system".to_owned()]
            }
            Self::Usage { .. } => vec!["`actum help` lists what there is".to_owned()],
            Self::Start { .. } | Self::Unreadable { .. } | Self::Input { .. } => Vec::new(),
        }
    }

    fn workspace(&self) -> State {
        match self {
            Self::Workspace(error) => error.state,
            Self::Usage { .. }
            | Self::Start { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Input { .. }
            | Self::NoSuchRun { .. }
            | Self::AmbiguousRun { .. }
            | Self::Demo { .. } => State::Unchanged,
            Self::Unwritten { .. } => State::Published,
        }
    }

    fn budget(&self) -> Option<BudgetFacts> {
        if let Self::Workspace(Error { kind: ErrorKind::Budget { status }, .. }) = self {
            return Some(BudgetFacts::of(status));
        }
        None
    }
}

/// FO-4: what was asked for beside what is allowed.
#[derive(Serialize)]
struct BudgetFacts {
    max_files: Option<u64>,
    max_loc: Option<u64>,
    files: u64,
    loc: u64,
    per_file: Vec<FileCost>,
}

#[derive(Serialize)]
struct FileCost {
    #[serde(flatten)]
    path: ShownPath,
    added: u64,
    removed: u64,
}

impl BudgetFacts {
    fn of(status: &BudgetStatus) -> Self {
        let cost = |cost: &actum_core::PathCost| FileCost {
            path: ShownPath(cost.path.clone()),
            added: cost.added,
            removed: cost.removed,
        };
        Self {
            max_files: status.budget.max_files,
            max_loc: status.budget.max_loc,
            files: status.files,
            loc: status.loc,
            per_file: status.per_file.iter().map(cost).collect(),
        }
    }
}

#[derive(Serialize)]
struct Facts {
    status: Status,
    reason: &'static str,
    message: String,
    workspace: &'static str,
    hints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetFacts>,
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = Facts {
            status: self.exit().status(),
            reason: self.reason(),
            message: self.to_string(),
            workspace: match self.workspace() {
                State::Unchanged => "unchanged",
                State::Restored => "restored",
                State::Published => "published",
                State::NeedsAttention => "needs_attention",
            },
            hints: self.hints(),
            budget: self.budget(),
        };
        facts.serialize(serializer)
    }
}

impl Document for Failure {
    fn format(&self) -> &'static str {
        "actum.error/1"
    }

    /// As text a failure is told on standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
