//! Verbs of the command line, one module each.

mod action;
mod adopt;
mod agent;
mod apply;
mod approve;
mod bind;
mod catalog;
pub(crate) mod command_line;
mod completions;
mod demo;
mod deny;
pub(crate) mod diff;
mod doctor;
mod exec;
mod explain;
mod explained;
mod feedback;
mod file;
mod gc;
mod hook;
mod init;
mod key;
mod lease;
pub(crate) mod ledger;
mod log;
mod man;
mod mcp;
pub(crate) mod pipeline_host;
mod plan;
pub(crate) mod plugin;
pub(crate) mod policy;
mod protect;
mod queue;
mod receipt;
mod recover;
mod redo;
mod replay;
pub(crate) mod resolve;
mod review;
mod rollback;
mod run;
pub(crate) mod sandbox;
mod show;
mod sql;
pub(crate) mod sql_host;
mod status;
mod trust;
mod undo;
mod verify;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::waiting;

pub(crate) use crate::session::Session;
pub(crate) use explained::explained;

macro_rules! verbs {
    ($($verb:ident($arguments:ty) = $run:path,)*) => {
        /// Verb to run. Only the verb that was typed is described to the parser, because describing all verbs takes
        /// longer than running most of them.
        #[derive(clap::Subcommand)]
        #[command(defer = true)]
        pub(crate) enum Verb {
            $($verb($arguments),)*
        }

        impl Verb {
            fn run(&self, session: &Session) -> Result<Exit, Failure> {
                match self {
                    $(Self::$verb(arguments) => $run(arguments, session),)*
                }
            }
        }

        /// All verbs with their descriptions, for help, errors, completions and manual pages.
        #[derive(clap::Subcommand)]
        pub(crate) enum DescribedVerb {
            $($verb($arguments),)*
        }
    };
}

verbs! {
    Init(init::Arguments) = init::run,
    Apply(apply::Arguments) = apply::run,
    Exec(Box<exec::Arguments>) = exec::run,
    Action(action::Arguments) = action::run,
    Agent(agent::Arguments) = agent::run,
    File(file::Arguments) = file::run,
    Plan(plan::Arguments) = plan::run,
    Run(run::Arguments) = run::run,
    Rollback(rollback::Arguments) = rollback::run,
    Adopt(adopt::Arguments) = adopt::run,
    Undo(undo::Arguments) = undo::run,
    Redo(redo::Arguments) = redo::run,
    Queue(queue::Arguments) = queue::run,
    Review(review::Arguments) = review::run,
    Approve(approve::Arguments) = approve::run,
    Deny(deny::Arguments) = deny::run,
    Revoke(deny::RevokeArguments) = deny::revoke,
    Feedback(feedback::Arguments) = feedback::run,
    Log(log::Arguments) = log::run,
    Show(show::Arguments) = show::run,
    Diff(diff::Arguments) = diff::run,
    Status(status::Arguments) = status::run,
    Recover(recover::Arguments) = recover::run,
    Resolve(resolve::Arguments) = resolve::run,
    Gc(gc::Arguments) = gc::run,
    Receipt(receipt::Arguments) = receipt::run,
    Verify(verify::Arguments) = verify::run,
    Ledger(ledger::Arguments) = ledger::run,
    Replay(replay::Arguments) = replay::run,
    Key(key::Arguments) = key::run,
    Lease(Box<lease::Arguments>) = lease::run,
    Catalog(catalog::Arguments) = catalog::run,
    Policy(policy::Arguments) = policy::run,
    Plugin(plugin::Arguments) = plugin::run,
    Trust(trust::Arguments) = trust::run,
    Bind(bind::Arguments) = bind::run,
    Sandbox(sandbox::Arguments) = sandbox::run,
    Sql(sql::Arguments) = sql::run,
    Protect(protect::Arguments) = protect::run,
    Hook(hook::Arguments) = hook::run,
    Mcp(mcp::Arguments) = mcp::run,
    Doctor(doctor::Arguments) = doctor::run,
    Explain(explain::Arguments) = explain::run,
    Completions(completions::Arguments) = completions::run,
    Man(man::Arguments) = man::run,
    Demo(demo::Arguments) = demo::run,
}

impl Verb {
    /// Runs the verb, and then prints the plans that are waiting for a decision, even if the verb failed.
    pub(crate) fn run_and_remind(&self, session: &Session) -> Result<Exit, Failure> {
        let ended = self.run(session);
        // Clients do not read the standard error of a server, or read it only after the server has exited.
        if !self.is_hook() && !matches!(self, Self::Mcp(_)) {
            waiting::print(session);
        }
        ended
    }

    /// Returns whether this is a hook, in which case a client waits for the answer and reads standard error.
    pub(crate) fn is_hook(&self) -> bool {
        matches!(self, Self::Hook(_))
    }
}
