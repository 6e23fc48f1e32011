//! The verbs, one file each.

mod action;
mod apply;
mod approve;
mod bind;
mod catalog;
mod completions;
mod demo;
mod deny;
pub(crate) mod diff;
mod doctor;
mod exec;
mod explain;
mod feedback;
mod gc;
mod init;
mod key;
pub(crate) mod ledger;
mod log;
mod man;
mod plan;
pub(crate) mod plugin;
pub(crate) mod policy;
mod queue;
mod receipt;
mod recover;
mod redo;
mod replay;
pub(crate) mod resolve;
mod rollback;
mod run;
pub(crate) mod sandbox;
mod show;
mod status;
mod trust;
mod undo;
mod verify;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Screen;
use crate::{root, waiting};

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

    /// Notes that a workspace was made in `root`, and which one is above.
    fn note_made(&self, root: &Path) {
        let made = Quoted(root.as_os_str().as_bytes());
        self.screen.note(format_args!("made a workspace in {made}"));
        if let Some(above) = root::above(root) {
            self.screen.note(above);
        }
    }
}

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    Init(init::Arguments),
    Apply(apply::Arguments),
    Exec(Box<exec::Arguments>),
    Action(action::Arguments),
    Plan(plan::Arguments),
    Run(run::Arguments),
    Rollback(rollback::Arguments),
    Undo(undo::Arguments),
    Redo(redo::Arguments),
    Queue(queue::Arguments),
    Approve(approve::Arguments),
    Deny(deny::Arguments),
    Revoke(deny::RevokeArguments),
    Feedback(feedback::Arguments),
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
    Catalog(catalog::Arguments),
    Policy(policy::Arguments),
    Plugin(plugin::Arguments),
    Trust(trust::Arguments),
    Bind(bind::Arguments),
    Sandbox(sandbox::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Demo(demo::Arguments),
}

impl Verb {
    /// Runs the verb, then prints which decisions wait: whether it succeeded or not.
    pub(crate) fn run_and_remind(&self, session: &Session) -> Result<Exit, Failure> {
        let ended = self.run(session);
        waiting::print(session);
        ended
    }

    fn run(&self, session: &Session) -> Result<Exit, Failure> {
        match self {
            Self::Init(arguments) => init::run(arguments, session),
            Self::Apply(arguments) => apply::run(arguments, session),
            Self::Exec(arguments) => exec::run(arguments, session),
            Self::Action(arguments) => action::run(arguments, session),
            Self::Plan(arguments) => plan::run(arguments, session),
            Self::Run(arguments) => run::run(arguments, session),
            Self::Rollback(arguments) => rollback::run(arguments, session),
            Self::Undo(arguments) => undo::run(arguments, session),
            Self::Redo(arguments) => redo::run(arguments, session),
            Self::Queue(arguments) => queue::run(arguments, session),
            Self::Approve(arguments) => approve::run(arguments, session),
            Self::Deny(arguments) => deny::run(arguments, session),
            Self::Revoke(arguments) => deny::revoke(arguments, session),
            Self::Diff(arguments) => diff::run(arguments, session),
            Self::Receipt(arguments) => receipt::run(arguments, session),
            Self::Verify(arguments) => verify::run(arguments, session),
            Self::Ledger(arguments) => ledger::run(arguments, session),
            Self::Replay(arguments) => replay::run(arguments, session),
            Self::Key(arguments) => key::run(arguments, session),
            Self::Catalog(arguments) => catalog::run(arguments, session),
            Self::Feedback(arguments) => feedback::run(arguments, session),
            Self::Policy(arguments) => policy::run(arguments, session),
            Self::Plugin(arguments) => plugin::run(arguments, session),
            Self::Trust(arguments) => trust::run(arguments, session),
            Self::Bind(arguments) => bind::run(arguments, session),
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
