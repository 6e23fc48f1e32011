//! `actum agent intake`: goals that wait for a simulation.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::agent::{AgentIntake, AgentIntakeGoal};
use actum_core::path::Cut;
use actum_dispatch::{DispatchError, IntakeGoal};

use super::AgentFailure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::records;
use crate::session::Session;

/// List the goals that wait for a simulation (Dev Intake)
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let records = records::open(&session.tenant)?;
    let goals = records.ledger().read(IntakeGoal::open);
    let goals = goals.map_err(|error| AgentFailure::Dispatch(DispatchError::from(error)))?;
    let view = |goal: IntakeGoal| AgentIntakeGoal {
        correlation: goal.correlation.to_string(),
        entry: goal.index,
        time: goal.time,
        requested_capability: goal.requested_capability,
    };
    session.screen.show(&AgentIntake { goals: goals.into_iter().map(view).collect() })?;
    Ok(Exit::Success)
}

impl Document for AgentIntake {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.goals.is_empty() {
            return writeln!(out, "no goal waits for a simulation");
        }
        for AgentIntakeGoal { correlation, entry, time, requested_capability } in &self.goals {
            let wish = requested_capability.as_deref().unwrap_or_default();
            writeln!(out, "{entry:>6}  {time}  {correlation}  {}", Cut(wish.as_bytes(), 200))?;
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
