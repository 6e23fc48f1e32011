//! What the caller asks for a command that is run confined; [`super::allowed`] decides.

use std::path::PathBuf;

use super::limit::TypedLimit;

/// What a command may see besides what every command does, and how much it may use.
#[derive(Default, clap::Args)]
pub(crate) struct Confinement {
    /// Let it read PATH, and what is in it, if the operator lists that
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Let it read and execute PATH, and what is in it, if the operator lists that
    #[arg(long, value_name = "PATH")]
    pub(crate) exec: Vec<PathBuf>,
    /// Give it a loopback of its own, in which it can talk to itself
    #[arg(long)]
    pub(crate) loopback: bool,
    /// Set a variable, or take over one of ours, if the operator lists that; others it does not see
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// How much it may use, for example `memory=512M`, `wall=30s`, `processes=64`; `open_files=64:hard`
    /// demands that the kernel holds it
    #[arg(long, value_name = "NAME=AMOUNT")]
    pub(crate) limit: Vec<TypedLimit>,
}
