//! What the ledger knows of a run: who asked for it, why, what the gates said, and where its receipt is.

use std::fmt;

use actum::Receipt;
use actum_core::RunId;
use actum_core::dsse::Envelope;
use actum_core::ledger::{Actor, EffectStarted, RequestKey};
use actum_core::receipt::GateRecord;
use actum_ledger::{LedgerError, Log};
use serde::Serialize;

/// What the ledger knows of a run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    /// Who asked for it.
    pub(crate) actor: Actor,
    /// By which door.
    pub(crate) door: String,
    /// The key of the request, and which attempt at it this was.
    pub(crate) request: Option<RequestKey>,
    pub(crate) attempt: u32,
    /// What the gates said.
    pub(crate) gates: Vec<GateRecord>,
    /// Where the intent is in the ledger, counted from 0.
    pub(crate) intent: u64,
    /// The receipt; none while how it ended is not recorded.
    pub(crate) receipt: Option<SignedBy>,
}

/// Where a receipt is, and who signed it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SignedBy {
    /// Its place in the ledger, counted from 0.
    pub(crate) index: u64,
    /// The key.
    pub(crate) key: String,
}

impl Record {
    /// What `log` knows of `run`, if anything.
    pub(crate) fn of(log: &dyn Log, run: RunId) -> Result<Option<Self>, LedgerError> {
        let Some(row) = log.run(run)? else { return Ok(None) };
        let index = row.started;
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(index, error);
        let entry = log.entry(index)?.ok_or_else(|| damaged(&"it is missing"))?;
        let started = serde_json::from_slice(&entry.body);
        let started: EffectStarted = started.map_err(|error| damaged(&error))?;
        let receipt = match row.done {
            None => None,
            Some(done) => {
                let receipt = Receipt::read(log, done)?;
                let envelope = Envelope::read_own(&receipt.envelope);
                let envelope = envelope.map_err(|error| LedgerError::entry(done, &error))?;
                let key = envelope.signatures.first().map(|signature| signature.key_id.clone());
                Some(SignedBy { index: done, key: key.unwrap_or_default() })
            }
        };
        let EffectStarted { actor, door, request, attempt, decision, .. } = started;
        let (gates, intent) = (decision.gates, index);
        Ok(Some(Self { actor, door, request, attempt, gates, intent, receipt }))
    }

    /// Who asked, in a word.
    pub(crate) fn who(&self) -> String {
        let who = self.actor.agent.as_ref().unwrap_or(&self.actor.user);
        actum_core::path::Quoted(who.as_bytes()).to_string()
    }

    /// Where its receipt is, in a word.
    pub(crate) fn place(&self) -> String {
        match &self.receipt {
            Some(receipt) => format!("#{}", receipt.index),
            None => "open".to_owned(),
        }
    }
}
