//! `actum agent intake show`: shows one goal that waits for a simulation.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::agent::{AgentIntakeGoal, AgentIntakeShown};
use actum_core::path::Quoted;
use actum_dispatch::IntakeGoal;
use actum_record::agent::CorrelationId;

use super::view;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::records;
use crate::session::Session;
use crate::verb::agent::{AgentFailure, correlation};

/// Show a goal that waits for a simulation
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the goal
    #[arg(value_parser = correlation)]
    correlation: CorrelationId,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let correlation = &arguments.correlation;
    let records = records::open(&session.tenant)?;
    let goal = records.ledger().read(|log| IntakeGoal::new(log, correlation));
    let goal = goal.map_err(actum::Error::from)?;
    let goal = goal.ok_or_else(|| AgentFailure::NotWaiting { correlation: correlation.clone() })?;
    session.screen.show(&AgentIntakeShown { goal: view(goal) })?;
    Ok(Exit::Success)
}

impl Document for AgentIntakeShown {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let AgentIntakeGoal { correlation, entry, time, user, thread, finder, .. } = &self.goal;
        writeln!(out, "`{correlation}` has been waiting since {time} (entry {entry})")?;
        writeln!(out, "  user: {}", Quoted(user.as_bytes()))?;
        writeln!(out, "  thread: {}", Quoted(thread.as_bytes()))?;
        if let Some(finder) = finder {
            writeln!(out, "  Finder: {}", Quoted(finder.as_bytes()))?;
        }
        match &self.goal.requested_capability {
            Some(wish) => writeln!(out, "  wish: {}", Quoted(wish.as_bytes())),
            None => Ok(()),
        }
    }
}
