//! Demands of the caller for a confined command; [`super::allowed`] decides.

use std::path::PathBuf;

use super::limit::TypedLimit;

/// Access of a command beyond that of every command, and its limits.
#[derive(Default, clap::Args)]
pub(crate) struct Confinement {
    /// Let the command read PATH and all below it, if the operator lists that
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Let the command read and execute PATH and all below it, if the operator lists that
    #[arg(long, value_name = "PATH")]
    pub(crate) exec: Vec<PathBuf>,
    /// Give the command a loopback network of its own, in which it can connect to itself
    #[arg(long)]
    pub(crate) loopback: bool,
    /// Set a variable, or pass on one of the environment, if the operator lists that; the command sees no others
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Limit a resource, for example `memory=512M`, `wall=30s`, `processes=64`; `open_files=64:hard` requires the
    /// kernel to enforce it
    #[arg(long, value_name = "NAME=AMOUNT")]
    pub(crate) limit: Vec<TypedLimit>,
}
