//! Why a package did not do its work. In no case is anything in the workspace changed.

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

/// Why a package was not run, or what it did does not count.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Its directory holds no package that can be used.
    #[error(
        "cannot use the package `{}`: {problem}",
        Quoted(directory.as_os_str().as_bytes())
    )]
    Package {
        /// The directory.
        directory: PathBuf,
        /// What is wrong.
        problem: Box<PackageProblem>,
    },
    /// It is given what it does not ask for.
    #[error("the input of `{action}` is not as its `inputSchema` says, {problem}")]
    Input {
        /// The action.
        action: String,
        /// What is wrong.
        problem: SchemaProblem,
    },
    /// It would be given more than it can take.
    #[error(
        "a step takes at most {max} bytes of input and output of `execute`, and these are {bytes}"
    )]
    RequestTooLarge {
        /// How many.
        bytes: usize,
        /// The most.
        max: usize,
    },
    /// There is no Node.js.
    #[error(
        "cannot run plugin actions without Node.js: {why}; install Node.js {NODE_MAJOR_LEAST} or newer, or name its \
         directory under `exec` in `[sandbox]` of the operator's policy"
    )]
    NoNode {
        /// Why not.
        why: NoProgram,
    },
    /// It is too old, or something else.
    #[error(
        "cannot run plugin actions: `{}` says that its version is `{}`, and Node.js {NODE_MAJOR_LEAST} or newer \
         is needed",
        Quoted(program.as_os_str().as_bytes()),
        Harmless(said.as_bytes())
    )]
    OldNode {
        /// The program.
        program: PathBuf,
        /// What it says.
        said: String,
    },
    /// A file of the package is no JavaScript.
    #[error("`{file}` does not compile, as CommonJS or as an ES module")]
    Syntax {
        /// Which.
        file: &'static str,
        /// What Node says.
        said: String,
    },
    /// The private copy could not be made.
    #[error("cannot make a private copy of the package: {0}")]
    Copy(std::io::Error),
    /// A step could not be run, or what it changed could not be read.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A step says that it failed.
    #[error(
        "`{step}` failed ({kind}): {}{}",
        Harmless(message.as_bytes()),
        place(at.as_deref())
    )]
    Failed {
        /// Which.
        step: Step,
        /// One of the kinds of `docs/plugins.md`.
        kind: String,
        /// In its own words.
        message: String,
        /// Where in the package.
        at: Option<String>,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// A step did what it may not, or took more than it may, and was ended.
    #[error("`{step}` was ended: {}", stopped(why))]
    Stopped {
        /// Which.
        step: Step,
        /// What it did.
        why: Violation,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// A step ended without one answer.
    #[error("`{step}` gave no answer: {why}")]
    NoAnswer {
        /// Which.
        step: Step,
        /// What it did instead.
        why: String,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// What `execute` returned is not what the package says.
    #[error("the output of `execute` is not as `outputSchema` says, {0}")]
    Output(SchemaProblem),
    /// A package that asks to read alone changed something.
    #[error(
        "`execute` changed `{}`{}, and `permissions.filesystem` is not `workspace`",
        Quoted(path.as_os_str().as_bytes()),
        others(*more)
    )]
    Changed {
        /// The first path.
        path: PathBuf,
        /// How many more.
        more: usize,
    },
    /// It made or changed what no run can.
    #[error("`execute` did what cannot be kept: {}", list_unkept(.0))]
    Unkept(Vec<Unkept>),
    /// After `rollback` something is not as it was (AA-11).
    #[error(
        "`rollback` does not restore the workspace: `{}` {how}{}",
        Quoted(path.as_os_str().as_bytes()),
        others(*more)
    )]
    NotRestored {
        /// The first path.
        path: PathBuf,
        /// In what it differs.
        how: Difference,
        /// How many more differ.
        more: usize,
    },
}

/// In what a path differs from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// It was not there.
    #[error("is there, and was not")]
    Added,
    /// It was there.
    #[error("is gone")]
    Missing,
    /// It holds something else.
    #[error("has another content")]
    Content,
    /// Its permission bits are other ones.
    #[error("has other permissions")]
    Mode,
    /// It is something else.
    #[error("is something else than it was")]
    Kind,
    /// `execute` did not touch it.
    #[error("was changed by it, and not by `execute`")]
    Untouched,
}

impl PluginError {
    /// The permanent name of what went wrong, for programs.
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

    /// Whether it is Node.js that is missing or too old.
    pub(super) fn is_of_node(&self) -> bool {
        matches!(self, Self::NoNode { .. } | Self::OldNode { .. })
    }

    /// What the step wrote to standard error at its end, where it failed.
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
