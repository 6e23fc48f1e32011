//! `actum agent intake list`: lists the goals that wait for a simulation.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::agent::AgentIntake;
use actum_dispatch::IntakeGoal;

use super::{view, write_line};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::records;
use crate::session::Session;

/// List the goals that wait for a simulation
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let records = records::open(&session.tenant)?;
    let goals = records.ledger().read(IntakeGoal::open);
    let goals = goals.map_err(actum::Error::from)?;
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
            return writeln!(out, "no goals are waiting for a simulation");
        }
        self.goals.iter().try_for_each(|goal| write_line(out, goal))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
