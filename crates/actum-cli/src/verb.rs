//! The verbs, one file each.

mod apply;
mod demo;
mod gc;
mod init;
mod log;
mod recover;
mod resolve;
mod show;
mod status;
mod undo;

use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Screen;
use crate::root;

/// Where a command was started, and where its words go.
pub(crate) struct Session {
    pub(crate) start: PathBuf,
    pub(crate) screen: Screen,
}

impl Session {
    /// The root of the workspace we are in.
    fn root(&self) -> &Path {
        root::existing(&self.start)
    }
}

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    Init(init::Arguments),
    Apply(apply::Arguments),
    Undo(undo::Arguments),
    Log(log::Arguments),
    Show(show::Arguments),
    Status(status::Arguments),
    Recover(recover::Arguments),
    Resolve(resolve::Arguments),
    Gc(gc::Arguments),
    Demo(demo::Arguments),
}

impl Verb {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        match self {
            Self::Init(arguments) => init::run(arguments, session),
            Self::Apply(arguments) => apply::run(arguments, session),
            Self::Undo(arguments) => undo::run(arguments, session),
            Self::Log(arguments) => log::run(arguments, session),
            Self::Show(arguments) => show::run(arguments, session),
            Self::Status(arguments) => status::run(arguments, session),
            Self::Recover(arguments) => recover::run(arguments, session),
            Self::Resolve(arguments) => resolve::run(arguments, session),
            Self::Gc(arguments) => gc::run(arguments, session),
            Self::Demo(arguments) => demo::run(arguments, session),
        }
    }
}
