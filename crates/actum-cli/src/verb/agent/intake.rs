//! `actum agent intake`: Dev Intake, the list of goals that wait for a simulation to be written (AEC-12).

mod list;
mod resolve;
mod show;

use std::io::{self, Write};

use actum_api::agent::AgentIntakeGoal;
use actum_core::path::Cut;
use actum_dispatch::IntakeGoal;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// Maximum length of a requested capability in the list, in bytes.
const WISH_BYTES_MAX: usize = 200;

/// List, show and resolve the goals that wait for a simulation
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Resolve(resolve::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, session),
        Command::Show(arguments) => show::run(arguments, session),
        Command::Resolve(arguments) => resolve::run(arguments, session),
    }
}

fn view(goal: IntakeGoal) -> AgentIntakeGoal {
    AgentIntakeGoal {
        correlation: goal.correlation.to_string(),
        entry: goal.index,
        time: goal.time,
        user: goal.user.to_string(),
        thread: goal.thread.to_string(),
        finder: goal.finder,
        requested_capability: goal.requested_capability,
    }
}

fn write_line(out: &mut dyn Write, goal: &AgentIntakeGoal) -> io::Result<()> {
    let AgentIntakeGoal { correlation, entry, time, requested_capability, .. } = goal;
    let wish = requested_capability.as_deref().unwrap_or_default();
    writeln!(out, "{entry:>6}  {time}  {correlation}  {}", Cut(wish.as_bytes(), WISH_BYTES_MAX))
}
