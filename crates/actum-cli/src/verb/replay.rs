//! `actum replay`: repeats the decision about a run from its recorded input, and checks that the outcome is identical.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{Cedar, RecordedRun, has_lease_facts};
use actum_api::replay::Replay;
use actum_core::{Digest, RunId};
use actum_gate::decision::LeaseCase;
use actum_gate::{Bundle, ReplayProblem, replay};
use actum_ledger::{Log, RunRow};
use actum_record::keyring::Keyring;
use actum_record::receipt::DecisionRecord;

use super::Session;
use super::ledger::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::views;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::run_prefix::RunPrefix;
use crate::trusted::Trusted;

/// Repeat the decision about a run from its recorded input
///
/// The gates are a pure function of a document that is stored in the ledger. They decide again, and the result is compared
/// byte for byte with the record from before the run and with the receipt. The signature of the receipt is also verified.
/// No file of the workspace is read or changed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run to replay, or a prefix of its id with at least 4 characters; by default, the newest run
    run: Option<RunPrefix>,
}

/// Recorded run with the documents that its decision was based on.
pub(super) struct Kept {
    pub(super) recorded: RecordedRun,
    pub(super) bundle: Vec<u8>,
    pub(super) policy: Vec<u8>,
    /// Signed blocks of the lease under which the run was made, if there was one.
    lease: Option<Vec<u8>>,
}

impl Kept {
    /// Reads the record of a run. If there is a receipt, verifies it and checks that it states the same decision.
    pub(super) fn new(opened: &Opened, row: RunRow) -> Result<Self, Failure> {
        let run = row.run;
        let recorded = RecordedRun::read(&opened.log, &Trusted::own()?.keyring, row);
        let recorded = recorded.map_err(actum::Error::from)?;
        let intent = &recorded.intent;
        let document = |digest: Digest| -> Result<Vec<u8>, Failure> {
            let bytes = opened.log.blob(&digest).map_err(actum::Error::from)?;
            bytes.ok_or_else(|| failed(run, ReplayProblem::RefMissing { digest }))
        };
        let (bundle, policy) = (document(intent.decision.bundle)?, document(intent.policy)?);
        let lease = intent.lease.as_ref().map(|lease| document(lease.document)).transpose()?;
        let receipt = recorded.receipt.as_ref().map(|(receipt, _)| receipt);
        if receipt.is_some_and(|it| it.statement.predicate.decision != intent.decision) {
            let what = "the receipt states a different decision".to_owned();
            return Err(failed(run, ReplayProblem::DecisionMismatch { what }));
        }
        Ok(Self { recorded, bundle, policy, lease })
    }

    /// Repeats the decision, and compares it with the recorded one.
    pub(super) fn replay(&self) -> Result<(), ReplayProblem> {
        replay(&self.bundle, &self.policy, &self.recorded.intent.decision, &Cedar::default())
    }

    /// Checks that the lease facts in the decision's input match the signed blocks of the lease.
    pub(super) fn check_lease(&self, keyring: &Keyring) -> Result<(), ReplayProblem> {
        let RecordedRun { intent, .. } = &self.recorded;
        let mismatch = |what: String| ReplayProblem::DecisionMismatch { what };
        let bundle = Bundle::read(&self.bundle);
        let bundle = bundle.map_err(|error| mismatch(error.to_string()))?;
        if bundle.lease().map(LeaseCase::record) != intent.lease {
            return Err(mismatch("the lease differs".to_owned()));
        }
        let Some((lease, document)) = bundle.lease().zip(self.lease.as_ref()) else {
            return Ok(());
        };
        match has_lease_facts(lease, document, keyring, intent.time) {
            Ok(true) => Ok(()),
            Ok(false) => Err(mismatch("the lease differs".to_owned())),
            Err(error) => Err(mismatch(format!("the lease is not valid: {error}"))),
        }
    }
}

pub(super) fn failed(run: RunId, source: ReplayProblem) -> Failure {
    LedgerFailure::Replay { run, source: Box::new(source) }.into()
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let row = opened.run(arguments.run.as_ref(), session)?;
    let run = row.run;
    let kept = Kept::new(&opened, row)?;
    kept.replay().map_err(|problem| failed(run, problem))?;
    kept.check_lease(&Trusted::own()?.keyring).map_err(|problem| failed(run, problem))?;
    let RecordedRun { intent, receipt, .. } = kept.recorded;
    let policy = intent.policy;
    let DecisionRecord { semantics, bundle, digest, tier, gates } = intent.decision;
    let receipt = receipt.map(|(receipt, _)| receipt.index);
    session.screen.show(&Replay {
        run,
        semantics,
        bundle,
        digest,
        policy,
        tier,
        gates: views(&gates),
        receipt,
    })?;
    Ok(Exit::Success)
}

impl Document for Replay {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { run, semantics, bundle, digest, policy, tier, gates, receipt } = self;
        writeln!(out, "identical decision for run {run}, by version {semantics} of the rules")?;
        for gate in gates {
            writeln!(out, "gate      {}", gate)?;
        }
        writeln!(
            out,
            "tier      {tier}\ninput     {bundle}\npolicy    {policy}\ndecision  {digest}"
        )?;
        match receipt {
            Some(index) => writeln!(out, "receipt   entry {index} has the same decision"),
            None => writeln!(out, "receipt   none yet"),
        }
    }
}
