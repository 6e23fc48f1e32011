//! Errors from plugin packages. After any of them, the workspace is unchanged.

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

/// Error from running a plugin package, or reason why its result was rejected.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The directory does not contain a valid package.
    #[error(
        "cannot use the package `{}`: {problem}",
        Quoted(directory.as_os_str().as_bytes())
    )]
    Package {
        /// Directory of the package.
        directory: PathBuf,
        /// First problem that was found in the package.
        problem: Box<PackageProblem>,
    },
    /// The input does not conform to the `inputSchema` of the action.
    #[error("the input of `{action}` does not match its `inputSchema`, {problem}")]
    Input {
        /// Name of the action.
        action: String,
        /// First violation of the schema.
        problem: SchemaProblem,
    },
    /// The request to a step would exceed the size limit.
    #[error(
        "the input and the output of `execute` are {bytes} bytes in total, but a step accepts at most {max}"
    )]
    RequestTooLarge {
        /// Size of the request in bytes.
        bytes: usize,
        /// Maximum size of a request in bytes.
        max: usize,
    },
    /// Node.js is not installed, or commands in the sandbox cannot find it.
    #[error(
        "cannot run plugin actions without Node.js: {why}; install Node.js {NODE_MAJOR_LEAST} or newer, or name its \
         directory under `exec` in `[sandbox]` of the operator's policy"
    )]
    NoNode {
        /// Reason why the search for `node` failed.
        why: NoProgram,
    },
    /// The program `node` is too old or is not Node.js.
    #[error(
        "cannot run plugin actions: `{}` reports the version `{}`, but Node.js {NODE_MAJOR_LEAST} or newer \
         is required",
        Quoted(program.as_os_str().as_bytes()),
        Harmless(output_excerpt.as_bytes())
    )]
    OldNode {
        /// Path of the program.
        program: PathBuf,
        /// Output of the program when it was asked for its version.
        output_excerpt: String,
    },
    /// A file of the package is not valid JavaScript.
    #[error("`{file}` does not compile as CommonJS or as an ES module")]
    Syntax {
        /// Name of the file in the package.
        file: &'static str,
        /// Error message from Node.js.
        output_excerpt: String,
    },
    /// The private copy of the package could not be created.
    #[error("cannot create a private copy of the package: {0}")]
    Copy(std::io::Error),
    /// The process of a step could not run, or its changes could not be read.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A step reported a failure, for example because its code threw an exception.
    #[error(
        "`{step}` failed ({kind}): {}{}",
        Harmless(message.as_bytes()),
        place(at.as_deref())
    )]
    Failed {
        /// Step of the package.
        step: Step,
        /// Error kind, one of those listed in `docs/plugins.md`.
        kind: String,
        /// Message that the step reported.
        message: String,
        /// Source position in the package, such as `execute.js:3:7`.
        at: Option<String>,
        /// Last part of the step's standard error.
        output_excerpt: String,
    },
    /// A step was terminated, because it exceeded a limit or violated the sandbox policy.
    #[error("`{step}` was terminated: {}", stopped(why))]
    Stopped {
        /// Step of the package.
        step: Step,
        /// Violation for which the step was terminated.
        why: Violation,
        /// Last part of the step's standard error.
        output_excerpt: String,
    },
    /// A step exited without returning exactly one valid answer.
    #[error("`{step}` did not return a valid answer: {why}")]
    NoAnswer {
        /// Step of the package.
        step: Step,
        /// Description of the observed behavior.
        why: String,
        /// Last part of the step's standard error.
        output_excerpt: String,
    },
    /// The output of `execute` does not conform to the `outputSchema` of the package.
    #[error("the output of `execute` does not match `outputSchema`, {0}")]
    Output(SchemaProblem),
    /// A package without write permission changed the workspace.
    #[error(
        "`execute` changed `{}`{}, but `permissions.filesystem` is not `workspace`",
        Quoted(path.as_os_str().as_bytes()),
        others(*more)
    )]
    Changed {
        /// First changed path.
        path: PathBuf,
        /// Number of other changed paths.
        more: usize,
    },
    /// The step made changes that cannot be part of a run, such as creating a socket.
    #[error("`execute` made changes that cannot be kept: {}", list_unkept(.0))]
    Unkept(Vec<Unkept>),
    /// After `rollback`, a path differs from its state before the change (AA-11).
    #[error(
        "`rollback` did not restore the workspace: `{}` {how}{}",
        Quoted(path.as_os_str().as_bytes()),
        others(*more)
    )]
    NotRestored {
        /// First path that differs.
        path: PathBuf,
        /// Kind of the difference.
        how: Difference,
        /// Number of other paths that differ.
        more: usize,
    },
}

/// Difference between the state of a path after a rollback and its state before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// The path exists, but it did not before.
    #[error("exists, but did not exist before")]
    Added,
    /// The path is missing, but it existed before.
    #[error("is missing")]
    Missing,
    /// The content of the file is different.
    #[error("has different content")]
    Content,
    /// The permission bits are different.
    #[error("has different permissions")]
    Mode,
    /// The path has a different file type.
    #[error("has a different file type")]
    Kind,
    /// `rollback` changed a path that `execute` had not touched.
    #[error("was changed by `rollback`, but not by `execute`")]
    Untouched,
}

impl PluginError {
    /// Returns the permanent machine-readable name of the error.
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

    /// Returns true if the error is that Node.js is missing or too old.
    pub(super) fn is_of_node(&self) -> bool {
        matches!(self, Self::NoNode { .. } | Self::OldNode { .. })
    }

    /// Returns the last part of the failed step's standard error, or an empty string for an error that has none.
    pub fn output_excerpt(&self) -> &str {
        match self {
            Self::Failed { output_excerpt, .. }
            | Self::Stopped { output_excerpt, .. }
            | Self::NoAnswer { output_excerpt, .. }
            | Self::Syntax { output_excerpt, .. } => output_excerpt,
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
            format!("it created `{}`, which must not exist", Quoted(path.as_os_str().as_bytes()))
        }
    }
}
