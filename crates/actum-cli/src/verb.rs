//! The verbs, one file each.

mod apply;
mod completions;
mod demo;
pub(crate) mod diff;
mod doctor;
mod explain;
mod gc;
mod init;
mod key;
mod ledger;
mod log;
mod man;
mod receipt;
mod recover;
mod redo;
mod replay;
mod resolve;
pub(crate) mod sandbox;
mod show;
mod status;
mod undo;
mod verify;

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
    Redo(redo::Arguments),
    Log(log::Arguments),
    Show(show::Arguments),
    Diff(diff::Arguments),
    Status(status::Arguments),
    Recover(recover::Arguments),
    Resolve(resolve::Arguments),
    Gc(gc::Arguments),
    Receipt(receipt::Arguments),
    Verify(verify::Arguments),
    Ledger(ledger::Arguments),
    Replay(replay::Arguments),
    Key(key::Arguments),
    Sandbox(sandbox::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Demo(demo::Arguments),
}

impl Verb {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        match self {
            Self::Init(arguments) => init::run(arguments, session),
            Self::Apply(arguments) => apply::run(arguments, session),
            Self::Undo(arguments) => undo::run(arguments, session),
            Self::Redo(arguments) => redo::run(arguments, session),
            Self::Diff(arguments) => diff::run(arguments, session),
            Self::Receipt(arguments) => receipt::run(arguments, session),
            Self::Verify(arguments) => verify::run(arguments, session),
            Self::Ledger(arguments) => ledger::run(arguments, session),
            Self::Replay(arguments) => replay::run(arguments, session),
            Self::Key(arguments) => key::run(arguments, session),
            Self::Sandbox(arguments) => sandbox::run(arguments, session),
            Self::Doctor(arguments) => doctor::run(arguments, session),
            Self::Explain(arguments) => explain::run(arguments, session),
            Self::Completions(arguments) => completions::run(arguments, session),
            Self::Man(arguments) => man::run(arguments, session),
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
