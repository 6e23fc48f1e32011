//! `actum agent intake resolve`: resolves a goal that waits for a simulation.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::agent::AgentIntakeResolved;
use actum_core::ActionName;
use actum_dispatch::IntakeGoal;
use actum_record::agent::CorrelationId;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::run_arguments::one_line;
use crate::session::Session;
use crate::verb::agent::{AgentFailure, correlation};
use crate::{actor, records};

/// Resolve a goal that waits for a simulation
///
/// The goal is removed from the list, and nothing is dispatched. `--simulation` records the simulation that now exists
/// for the goal, which must be active. Without this option, the goal is resolved without a simulation.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the goal
    #[arg(value_parser = correlation)]
    correlation: CorrelationId,
    /// Name of the simulation that now exists
    #[arg(long, value_name = "NAME")]
    simulation: Option<ActionName>,
    /// Reason for the resolution, in one line
    #[arg(long, value_name = "TEXT", value_parser = one_line)]
    reason: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Arguments { correlation, simulation, reason } = arguments;
    let records = records::open(&session.tenant)?;
    let resolved = IntakeGoal::resolve(
        &records,
        correlation,
        (simulation.clone(), reason),
        &actor::from_agent(None),
    );
    let entry = resolved.map_err(AgentFailure::Dispatch)?;
    let entry =
        entry.ok_or_else(|| AgentFailure::NotWaiting { correlation: correlation.clone() })?;
    session.screen.show(&AgentIntakeResolved {
        correlation: correlation.to_string(),
        simulation: simulation.clone(),
        reason: reason.clone(),
        entry,
    })?;
    Ok(Exit::Success)
}

impl Document for AgentIntakeResolved {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { correlation, simulation, entry, .. } = self;
        match simulation {
            Some(simulation) => {
                writeln!(out, "`{correlation}` is resolved by `{simulation}` (entry {entry})")
            }
            None => {
                writeln!(out, "`{correlation}` is resolved without a simulation (entry {entry})")
            }
        }
    }
}
