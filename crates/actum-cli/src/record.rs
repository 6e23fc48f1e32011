//! Record of a run in the ledger: requester, reason, decisions of the gates, and receipt.

use std::io::{self, Write};

use actum::{EntryPoint, RecordedRun};
use actum_api::record::{RunRecord, SignedReceipt};
use actum_core::path::{Harmless, Quoted};
use actum_core::{RunId, ShellWord};
use actum_ledger::{LedgerError, Log};
use actum_record::command::{CommandRecord, CommandsRun, SandboxRecord};
use actum_record::keyring::Keyring;
use actum_record::ledger::{Actor, Approval, Publisher, RequestKey};
use actum_record::receipt::{ExternalEnd, ExternalRun, GateRecord, QueryRecord};

use crate::gate_view::views;

/// Record of a run in the ledger.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Actor of the request.
    pub(crate) actor: Actor,
    /// Entry point that received the request.
    pub(crate) door: String,
    /// Publisher of the change.
    pub(crate) published_by: Publisher,
    /// Key of the request, and number of this attempt at it.
    pub(crate) request: Option<RequestKey>,
    pub(crate) attempt: u32,
    /// Approval, if one was needed.
    pub(crate) approval: Option<Approval>,
    /// Decisions of the gates.
    pub(crate) gates: Vec<GateRecord>,
    /// Commands that were run for it.
    pub(crate) commands: CommandsRun,
    /// SQL steps whose effects the run includes.
    pub(crate) queries: Vec<QueryRecord>,
    /// External pipelines, as far as the receipt states their outcome.
    pub(crate) external: Vec<ExternalRun>,
    /// Index of the intent in the ledger, counted from 0.
    pub(crate) intent: u64,
    /// Receipt; `None` until the outcome is recorded.
    pub(crate) receipt: Option<SignedReceipt>,
}

/// Writes the commands of a run, after words padded to `width` characters.
pub(crate) fn write_commands(
    out: &mut dyn Write,
    width: usize,
    commands: &CommandsRun,
) -> io::Result<()> {
    let CommandsRun { made, verified, sandbox } = commands;
    let told = made.iter().map(|it| ("ran", it)).chain(verified.iter().map(|it| ("checked", it)));
    for (word, CommandRecord { argv, ended, wall_ms, .. }) in told {
        let words = argv.iter().map(|word| Quoted(word.as_bytes()).to_string());
        let line = words.collect::<Vec<_>>().join(" ");
        let ended = Harmless(ended.to_string().as_bytes()).to_string();
        writeln!(out, "{word:width$}{line}: {ended} ({wall_ms} ms)")?;
    }
    if let Some(SandboxRecord { tier, caches, .. }) = sandbox {
        let tier = Harmless(tier.as_bytes());
        write!(out, "{:width$}in tier {tier}, without network", "confined")?;
        match caches.is_empty() {
            true => writeln!(out)?,
            false => {
                let caches = Harmless(caches.join("`, `").as_bytes()).to_string();
                writeln!(out, "; `{caches}` passed through, and not part of the run")?;
            }
        }
    }
    Ok(())
}

/// Writes the SQL steps of a run by their digests, after words padded to `width` characters.
pub(crate) fn write_queries(
    out: &mut dyn Write,
    width: usize,
    queries: &[QueryRecord],
) -> io::Result<()> {
    for QueryRecord { action, database, parameters, query, .. } in queries {
        let action = Harmless(action.as_bytes());
        writeln!(out, "{:width$}{action} on {database}: query {query}", "sql")?;
        if let Some(parameters) = parameters {
            writeln!(out, "{:width$}parameters {parameters}", "")?;
        }
    }
    Ok(())
}

/// Writes the external pipelines of a run, after words padded to `width` characters.
pub(crate) fn write_external(
    out: &mut dyn Write,
    width: usize,
    external: &[ExternalRun],
) -> io::Result<()> {
    for ExternalRun { commands, ended, pipeline, sandbox: _ } in external {
        let ended = match ended {
            ExternalEnd::NotStarted => "it was not started",
            ExternalEnd::Succeeded => "it succeeded; an undo does not take it back",
            ExternalEnd::Failed => "it failed; what it did before that stays",
            ExternalEnd::Unknown => "whether it ran is not known",
        };
        let name = Harmless(pipeline.name.as_bytes());
        writeln!(out, "{:width$}pipeline {name}: {ended}", "outside")?;
        for CommandRecord { argv, ended, wall_ms, .. } in commands {
            let words = argv.iter().map(|word| ShellWord::new(word.as_bytes()).to_string());
            let line = words.collect::<Vec<_>>().join(" ");
            let line = Harmless(line.as_bytes());
            let ended = Harmless(ended.to_string().as_bytes()).to_string();
            writeln!(out, "{:width$}{line}: {ended} ({wall_ms} ms)", "")?;
        }
    }
    Ok(())
}

/// Facts of a ledger about a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedFacts {
    /// Record, if there is one.
    pub(crate) record: Option<Record>,
    /// Reason for which the record cannot be trusted, if there is one.
    pub(crate) problem: Option<String>,
}

impl Record {
    /// Returns the record that `log` proves for `run`, if there is one.
    pub(crate) fn new(
        log: &dyn Log,
        keyring: &Keyring,
        run: RunId,
    ) -> Result<Option<Self>, LedgerError> {
        let Some(row) = log.run(run)? else { return Ok(None) };
        let RecordedRun { started, intent, receipt } = RecordedRun::read(log, keyring, row)?;
        Ok(Some(Self {
            actor: intent.actor,
            door: intent.door,
            published_by: intent.published_by,
            request: intent.request,
            attempt: intent.attempt,
            approval: intent.approval,
            gates: intent.decision.gates,
            commands: intent.commands,
            queries: intent.queries,
            external: receipt
                .as_ref()
                .map_or_else(Vec::new, |(receipt, _)| receipt.statement.predicate.external.clone()),
            intent: started,
            receipt: receipt.map(|(receipt, key)| SignedReceipt { index: receipt.index, key }),
        }))
    }
}

impl RecordedFacts {
    /// Makes the form of the record in documents.
    pub(crate) fn document(&self) -> Option<RunRecord> {
        let record = self.record.clone()?;
        Some(RunRecord {
            actor: record.actor.into(),
            door: record.door,
            published_by: match record.published_by {
                Publisher::Actum => None,
                Publisher::Client => Some("client".to_owned()),
            },
            request: record.request.map(|key| key.to_string()),
            attempt: record.attempt,
            approval: record.approval.map(Into::into),
            gates: views(&record.gates),
            commands: record.commands.into(),
            external: record.external.into_iter().map(Into::into).collect(),
            queries: record.queries.into_iter().map(Into::into).collect(),
            intent: record.intent,
            receipt: record.receipt,
        })
    }

    /// Returns the facts that `log` proves about `run`. A damaged record does not hide the others.
    pub(crate) fn new(log: &dyn Log, keyring: &Keyring, run: RunId) -> Result<Self, LedgerError> {
        match Record::new(log, keyring, run) {
            Ok(record) => Ok(Self { record, problem: None }),
            Err(LedgerError::Damaged { message }) => {
                Ok(Self { record: None, problem: Some(message) })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the name of the requester, in one word.
    pub(crate) fn who(&self) -> String {
        let Some(Record { actor, .. }) = &self.record else { return "-".to_owned() };
        let who = actor.agent.as_ref().unwrap_or(&actor.user);
        actum_core::path::Quoted(who.as_bytes()).to_string()
    }

    /// Returns the session of an agent's client that the run belongs to.
    pub(crate) fn session(&self) -> Option<&str> {
        let record = self.record.as_ref()?;
        let is_of_hook = record.door == EntryPoint::ClientHook.as_str();
        record.request.as_ref().filter(|_| is_of_hook)?.session()
    }

    /// Returns the position of the receipt, in one word.
    pub(crate) fn place(&self) -> String {
        match (&self.record, &self.problem) {
            (_, Some(_)) => "wrong".to_owned(),
            (None, None) => "-".to_owned(),
            (Some(Record { receipt: None, .. }), None) => "open".to_owned(),
            (Some(Record { receipt: Some(receipt), .. }), None) => format!("#{}", receipt.index),
        }
    }
}
