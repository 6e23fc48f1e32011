//! `actum replay`: makes the decision about a run again, from what it was made from.

use std::io::{self, Write};

use actum::Receipt;
use actum_core::ledger::EffectStarted;
use actum_core::path::Quoted;
use actum_core::receipt::{DecisionRecord, GateRecord};
use actum_core::{Digest, RunId};
use actum_gate::{ReplayProblem, replay};
use actum_ledger::{LedgerError, Log, RunRow};
use serde::Serialize;

use super::Session;
use super::ledger::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::run_prefix::RunPrefix;

/// Make the decision about a run again, from all that it was made from
///
/// The gates are a pure function of a document that the ledger keeps. They are asked again, and what they
/// say is compared, to the byte, with what was recorded before the run and with its receipt. No file is
/// touched.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run, or at least 4 characters of the beginning of its id; without it the newest
    run: Option<RunPrefix>,
}

#[derive(Serialize)]
struct Replayed {
    run: RunId,
    /// The version of the rules.
    semantics: u32,
    /// The document that the decision was made from.
    bundle: Digest,
    /// The digest of bundle and decision together.
    digest: Digest,
    gates: Vec<GateRecord>,
    /// Whether the receipt, where there is one, says the same.
    receipt: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing()?;
    let row = opened.run(arguments.run.as_ref(), session)?;
    let decision = recorded(&opened, &row)?;
    let failed = |source| {
        let (run, source) = (row.run, Box::new(source));
        LedgerFailure::Replay { run, source }
    };
    let digest = decision.bundle;
    let bundle = opened.log.blob(&digest).map_err(actum::Error::from)?;
    let bundle = bundle.ok_or_else(|| failed(ReplayProblem::RefMissing { digest }))?;
    replay(&bundle, &decision).map_err(failed)?;
    if let Some(index) = row.done {
        let receipt = Receipt::read(&opened.log, index).map_err(actum::Error::from)?;
        if receipt.statement.predicate.decision != decision {
            let what = "what the receipt says".to_owned();
            return Err(failed(ReplayProblem::DecisionMismatch { what }).into());
        }
    }
    let DecisionRecord { semantics, bundle, digest, gates } = decision;
    let (run, receipt) = (row.run, row.done);
    session.screen.show(&Replayed { run, semantics, bundle, digest, gates, receipt })?;
    Ok(Exit::Success)
}

/// The decision as the intent has it, which must be the one of the run.
fn recorded(opened: &Opened, row: &RunRow) -> Result<DecisionRecord, Failure> {
    let index = row.started;
    let damaged = |message: String| actum::Error::from(LedgerError::entry(index, &message));
    let entry = opened.log.entry(index).map_err(actum::Error::from)?;
    let entry = entry.ok_or_else(|| damaged("it is missing".to_owned()))?;
    let started: EffectStarted =
        serde_json::from_slice(&entry.body).map_err(|error| damaged(error.to_string()))?;
    if started.run != row.run || started.workspace != row.workspace {
        let message = format!("entry {index} is not the intent of the run");
        let source = Box::new(ReplayProblem::ProjectionDrift { message });
        return Err(LedgerFailure::Replay { run: row.run, source }.into());
    }
    Ok(started.decision)
}

impl Document for Replayed {
    fn format(&self) -> &'static str {
        "actum.replay/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { run, semantics, bundle, digest, gates, receipt } = self;
        writeln!(out, "the same  decision of run {run}, by version {semantics} of the rules")?;
        for GateRecord { gate, verdict, ground } in gates {
            let [gate, verdict, ground] =
                [gate, verdict, ground].map(|text| Quoted(text.as_bytes()).to_string());
            writeln!(out, "{verdict:8}  {gate}: {ground}")?;
        }
        writeln!(out, "made from {bundle}\ndecision  {digest}")?;
        match receipt {
            Some(index) => writeln!(out, "receipt   entry {index} says the same"),
            None => writeln!(out, "receipt   there is none yet"),
        }
    }
}
