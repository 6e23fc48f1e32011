//! `actum replay`: makes the decision about a run again, from what it was made from.

use std::io::{self, Write};

use actum::RecordedRun;
use actum_core::path::Quoted;
use actum_core::receipt::{DecisionRecord, GateRecord};
use actum_core::{Digest, RunId};
use actum_gate::{ReplayProblem, replay};
use actum_ledger::Log;
use serde::Serialize;

use super::Session;
use super::ledger::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::run_prefix::RunPrefix;
use crate::trusted::Trusted;

/// Make the decision about a run again, from all that it was made from
///
/// The gates are a pure function of a document that the ledger keeps. They are asked again, and what they
/// say is compared, to the byte, with what was recorded before the run and with its receipt, of which the
/// signature is verified. No file is touched.
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
    let run = row.run;
    let failed = |source| LedgerFailure::Replay { run, source: Box::new(source) };
    let recorded = RecordedRun::read(&opened.log, &Trusted::own()?.keyring, row);
    let RecordedRun { intent, receipt, .. } = recorded.map_err(actum::Error::from)?;
    let decision = intent.decision;
    let digest = decision.bundle;
    let bundle = opened.log.blob(&digest).map_err(actum::Error::from)?;
    let bundle = bundle.ok_or_else(|| failed(ReplayProblem::RefMissing { digest }))?;
    replay(&bundle, &decision).map_err(failed)?;
    if receipt.as_ref().is_some_and(|(it, _)| it.statement.predicate.decision != decision) {
        let what = "what the receipt says".to_owned();
        return Err(failed(ReplayProblem::DecisionMismatch { what }).into());
    }
    let DecisionRecord { semantics, bundle, digest, gates } = decision;
    let receipt = receipt.map(|(receipt, _)| receipt.index);
    session.screen.show(&Replayed { run, semantics, bundle, digest, gates, receipt })?;
    Ok(Exit::Success)
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
