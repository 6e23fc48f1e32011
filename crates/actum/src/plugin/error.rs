//! Errors of packages. None of them leaves a change in the workspace.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::path::{Harmless, Quoted};
use actum_sandbox::{NoProgram, Resource, Violation};

use super::node::NODE_MAJOR_LEAST;
use super::package::PackageProblem;
use super::steps::Step;
use crate::command::{CommandError, Unkept};
use crate::error::list_unkept;
use crate::schema::SchemaProblem;

/// Reason why a package did not run, or why its work does not count.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The directory has no usable package.
    #[error(
        "cannot use the package `{}`: {problem}",
        Quoted(directory.as_os_str().as_bytes())
    )]
    Package {
        /// Directory.
        directory: PathBuf,
        /// Problem with the package.
        problem: Box<PackageProblem>,
    },
    /// The input does not match the `inputSchema` of the action.
    #[error("the input of `{action}` does not match its `inputSchema`, {problem}")]
    Input {
        /// Action.
        action: String,
        /// Difference from the schema.
        problem: SchemaProblem,
    },
    /// The request of a step would be larger than the limit.
    #[error(
        "the input and the output of `execute` have {bytes} bytes, and a step accepts at most {max}"
    )]
    RequestTooLarge {
        /// Actual number of bytes.
        bytes: usize,
        /// Maximum.
        max: usize,
    },
    /// Node.js is missing.
    #[error(
        "cannot run plugin actions without Node.js: {why}; install Node.js {NODE_MAJOR_LEAST} or newer, or name its \
         directory under `exec` in `[sandbox]` of the operator's policy"
    )]
    NoNode {
        /// Reason why no program was found.
        why: NoProgram,
    },
    /// Node.js is too old, or the program is not Node.js.
    #[error(
        "cannot run plugin actions: `{}` reports the version `{}`, and Node.js {NODE_MAJOR_LEAST} or newer \
         is needed",
        Quoted(program.as_os_str().as_bytes()),
        Harmless(said.as_bytes())
    )]
    OldNode {
        /// Program.
        program: PathBuf,
        /// Output of the program for its version.
        said: String,
    },
    /// A file of the package is not JavaScript.
    #[error("`{file}` does not compile, as CommonJS or as an ES module")]
    Syntax {
        /// File.
        file: &'static str,
        /// Message of Node.
        said: String,
    },
    /// The private copy could not be made.
    #[error("cannot make a private copy of the package: {0}")]
    Copy(std::io::Error),
    /// A step could not run, or its changes could not be read.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A step reported a failure.
    #[error(
        "`{step}` failed ({kind}): {}{}",
        Harmless(message.as_bytes()),
        place(at.as_deref())
    )]
    Failed {
        /// Step.
        step: Step,
        /// One of the kinds of `docs/plugins.md`.
        kind: String,
        /// Message of the step.
        message: String,
        /// Position in the package.
        at: Option<String>,
        /// End of its standard error.
        said: String,
    },
    /// A step did something forbidden or exceeded a limit, and was ended.
    #[error("`{step}` was ended: {}", stopped(why))]
    Stopped {
        /// Step.
        step: Step,
        /// Violation.
        why: Violation,
        /// End of its standard error.
        said: String,
    },
    /// A step ended without exactly one answer.
    #[error("`{step}` gave no answer: {why}")]
    NoAnswer {
        /// Step.
        step: Step,
        /// Observed behavior.
        why: String,
        /// End of its standard error.
        said: String,
    },
    /// The output of `execute` does not match the `outputSchema` of the package.
    #[error("the output of `execute` does not match `outputSchema`, {0}")]
    Output(SchemaProblem),
    /// A package with read permission only changed something.
    #[error(
        "`execute` changed `{}`{}, and `permissions.filesystem` is not `workspace`",
        Quoted(path.as_os_str().as_bytes()),
        others(*more)
    )]
    Changed {
        /// First path.
        path: PathBuf,
        /// Number of further paths.
        more: usize,
    },
    /// The step made a change that no run can make.
    #[error("`execute` made a change that cannot be kept: {}", list_unkept(.0))]
    Unkept(Vec<Unkept>),
    /// A path differs from its previous state after `rollback` (AA-11).
    #[error(
        "`rollback` does not restore the workspace: `{}` {how}{}",
        Quoted(path.as_os_str().as_bytes()),
        others(*more)
    )]
    NotRestored {
        /// First path.
        path: PathBuf,
        /// Difference of this path.
        how: Difference,
        /// Number of further paths that differ.
        more: usize,
    },
}

/// Difference between a path and its previous state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Exists, and did not before.
    #[error("exists, but did not before")]
    Added,
    /// Missing, and existed before.
    #[error("is missing")]
    Missing,
    /// Has other content.
    #[error("has another content")]
    Content,
    /// Has other permission bits.
    #[error("has other permissions")]
    Mode,
    /// Is of another file type.
    #[error("is another file type than before")]
    Kind,
    /// Was not touched by `execute`.
    #[error("was changed by `rollback`, but not by `execute`")]
    Untouched,
}

impl PluginError {
    /// Returns the permanent name of the error, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Package { .. } => "package_unusable",
            Self::Input { .. } => "input_invalid",
            Self::RequestTooLarge { .. } => "input_too_large",
            Self::NoNode { .. } | Self::OldNode { .. } => "node_missing",
            Self::Syntax { .. } => "syntax_wrong",
            Self::Copy(_) => "copy_failed",
            Self::Command(_) => "command_failed",
            Self::Failed { .. } => "step_failed",
            Self::Stopped { why: Violation::Limit(Resource::Wall), .. } => "step_timed_out",
            Self::Stopped { why: Violation::Limit(Resource::Output), .. } => "step_flooded",
            Self::Stopped { .. } => "step_stopped",
            Self::NoAnswer { .. } => "step_unanswered",
            Self::Output(_) => "output_invalid",
            Self::Changed { .. } => "changed_read_only",
            Self::Unkept(_) => "left_unkept",
            Self::NotRestored { .. } => "rollback_not_restoring",
        }
    }

    /// Returns true if Node.js is missing or too old.
    pub(super) fn is_of_node(&self) -> bool {
        matches!(self, Self::NoNode { .. } | Self::OldNode { .. })
    }

    /// Returns the end of the failed step's standard error.
    pub fn said(&self) -> &str {
        match self {
            Self::Failed { said, .. }
            | Self::Stopped { said, .. }
            | Self::NoAnswer { said, .. }
            | Self::Syntax { said, .. } => said,
            Self::Package { .. }
            | Self::Input { .. }
            | Self::RequestTooLarge { .. }
            | Self::NoNode { .. }
            | Self::OldNode { .. }
            | Self::Copy(_)
            | Self::Command(_)
            | Self::Output(_)
            | Self::Changed { .. }
            | Self::Unkept(_)
            | Self::NotRestored { .. } => "",
        }
    }
}

fn place(at: Option<&str>) -> String {
    at.map_or_else(String::new, |at| format!(", at {}", Harmless(at.as_bytes())))
}

fn others(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

fn stopped(why: &Violation) -> String {
    match why {
        Violation::Limit(resource) => format!("it exceeded its limit of {resource}"),
        Violation::Unwatched => "one of its processes could not be watched".to_owned(),
        Violation::Interrupted => "it was interrupted".to_owned(),
        Violation::Made(path) => {
            format!("it made `{}`, which was to stay absent", Quoted(path.as_os_str().as_bytes()))
        }
    }
}
