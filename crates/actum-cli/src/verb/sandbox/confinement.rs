//! Command-line options for the confinement of a command. [`super::allowed`] decides whether they are allowed.

use std::path::PathBuf;

use super::limit::TypedLimit;

/// Additional access and resource limits that the caller requests for a command.
#[derive(Default, clap::Args)]
pub(crate) struct Confinement {
    /// Let the command read PATH and everything below it, if the operator's policy lists it
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Let the command read and execute PATH and everything below it, if the operator's policy lists it
    #[arg(long, value_name = "PATH")]
    pub(crate) exec: Vec<PathBuf>,
    /// Give the command a private loopback network, where it can connect only to itself
    #[arg(long)]
    pub(crate) loopback: bool,
    /// Set a variable, or pass one on from the environment if the operator's policy lists it
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Limit a resource, for example `memory=512M`, `wall=30s` or `processes=64`. With `:hard`, as in `open_files=64:hard`,
    /// the command only runs if the kernel can enforce the limit
    #[arg(long, value_name = "NAME=AMOUNT")]
    pub(crate) limit: Vec<TypedLimit>,
}
