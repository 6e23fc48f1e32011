//! `actum agent show`: shows the events of a goal.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::agent::{AgentChain, AgentChainEvent};
use actum_dispatch::{Chain, ChainEvent};
use actum_record::agent::CorrelationId;
use actum_record::ledger::{AgentEvent, EntryKind};

use super::{AgentFailure, correlation};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::records;
use crate::session::Session;

/// Show the events of a goal from the ledger
///
/// Each event names the entries on which it is based: access decision, answer, action and rollback plan.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the goal
    #[arg(value_parser = correlation)]
    correlation: CorrelationId,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let records = records::open(&session.tenant)?;
    let chain = records.ledger().read(|log| Chain::read(log, &arguments.correlation));
    let chain = chain.map_err(actum::Error::from)?;
    if chain.events.is_empty() {
        let correlation = arguments.correlation.clone();
        return Err(AgentFailure::UnknownGoal { correlation }.into());
    }
    session.screen.show(&AgentChain {
        correlation: chain.correlation.to_string(),
        events: chain.events.into_iter().map(view).collect(),
    })?;
    Ok(Exit::Success)
}

fn view(ChainEvent { index, leaf, event }: ChainEvent) -> AgentChainEvent {
    let (kind, time, word) = match &event {
        AgentEvent::Execution(it) => (EntryKind::AgentExecution, it.time, it.event.as_str()),
        AgentEvent::Access(it) => (EntryKind::AgentAccessDecided, it.time, it.outcome.as_str()),
        AgentEvent::Confirmation(it) => {
            (EntryKind::AgentConfirmation, it.time, it.outcome.as_str())
        }
        AgentEvent::IntakeResolved(it) => (EntryKind::IntakeResolved, it.time, "RESOLVED"),
    };
    let mut view = AgentChainEvent {
        entry: index,
        hash: leaf,
        kind: kind.as_str().to_owned(),
        time,
        event: word.to_owned(),
        state: None,
        reason: None,
        plan_id: None,
        simulation: None,
        simulation_entry: None,
        access: None,
        confirmation: None,
        rollback_plan: None,
        prompt: None,
        dispatch_us: None,
    };
    match event {
        AgentEvent::Execution(it) => {
            view.state = Some(it.state.as_str().to_owned());
            view.reason = it.reason;
            view.plan_id = Some(it.plan.to_string());
            view.simulation = it.simulation;
            view.simulation_entry = it.simulation_entry;
            view.access = it.access;
            view.confirmation = it.confirmation;
            view.rollback_plan = it.rollback_plan;
            view.prompt = it.refs.prompt;
            view.dispatch_us = it.duration.map(|duration| duration.dispatch_us);
        }
        AgentEvent::Access(it) => view.reason = it.reason,
        AgentEvent::Confirmation(it) => view.reason = it.token,
        AgentEvent::IntakeResolved(it) => {
            view.reason = Some(it.reason);
            view.simulation = it.simulation;
        }
    }
    view
}

impl Document for AgentChain {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "goal {}", self.correlation)?;
        for event in &self.events {
            let AgentChainEvent { entry, time, kind, event: word, state, reason, .. } = event;
            write!(out, "  {entry:>6}  {time}  {kind} {word}")?;
            if let Some(state) = state {
                write!(out, " -> {state}")?;
            }
            if let Some(reason) = reason {
                write!(out, ": {}", actum_core::path::Cut(reason.as_bytes(), 200))?;
            }
            writeln!(out)?;
            let refs = [
                ("access", event.access),
                ("confirmation", event.confirmation),
                ("action", event.simulation_entry),
                ("rollback plan", event.rollback_plan),
            ];
            for (name, digest) in refs.into_iter().filter_map(|(name, it)| Some((name, it?))) {
                let digest = digest.to_string();
                writeln!(out, "          {name} {}", digest.get(..16).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
