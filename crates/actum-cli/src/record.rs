//! Ledger record of a run: requester, gate decisions, commands and receipt, as the CLI shows them.

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

/// Data that the ledger records about a run.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// User who requested the run, and the agent that acted for the user, if there was one.
    pub(crate) actor: Actor,
    /// Name of the entry point that received the request.
    pub(crate) door: String,
    /// Whether actum or the agent's client wrote the change into the workspace.
    pub(crate) published_by: Publisher,
    /// Request key, which prevents a repeated request from being carried out twice.
    pub(crate) request: Option<RequestKey>,
    /// Number of this attempt at the request, counted from 1.
    pub(crate) attempt: u32,
    /// Approval of the run, if the gates required one.
    pub(crate) approval: Option<Approval>,
    /// Decisions of the gates on the change.
    pub(crate) gates: Vec<GateRecord>,
    /// Commands that produced or verified the change.
    pub(crate) commands: CommandsRun,
    /// SQL steps whose effects are part of the run.
    pub(crate) queries: Vec<QueryRecord>,
    /// External pipelines and their outcomes. The list is empty until there is a receipt, which states them.
    pub(crate) external: Vec<ExternalRun>,
    /// Zero-based index of the run's intent entry in the ledger.
    pub(crate) intent: u64,
    /// Signed receipt of the run, or `None` until the outcome is recorded.
    pub(crate) receipt: Option<SignedReceipt>,
}

/// Writes a line for each command of a run and one for the sandbox. Labels are padded to `width` characters.
pub(crate) fn write_commands(
    out: &mut dyn Write,
    width: usize,
    commands: &CommandsRun,
) -> io::Result<()> {
    let CommandsRun { made, verified, sandbox } = commands;
    let rows = made.iter().map(|it| ("ran", it)).chain(verified.iter().map(|it| ("checked", it)));
    for (word, CommandRecord { argv, ended, wall_ms, .. }) in rows {
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
                writeln!(out, "; changes in `{caches}` are not part of the run")?;
            }
        }
    }
    Ok(())
}

/// Writes the SQL steps of a run with the digests of their queries. Labels are padded to `width` characters.
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

/// Writes the external pipelines of a run with their commands and outcomes. Labels are padded to `width` characters.
pub(crate) fn write_external(
    out: &mut dyn Write,
    width: usize,
    external: &[ExternalRun],
) -> io::Result<()> {
    for ExternalRun { commands, ended, pipeline, sandbox: _ } in external {
        let ended = match ended {
            ExternalEnd::NotStarted => "it was not started",
            ExternalEnd::Succeeded => "it succeeded; undoing the run does not undo its effects",
            ExternalEnd::Failed => "it failed; its effects until then remain",
            ExternalEnd::Unknown => "it is unknown whether it ran",
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

/// Record of a run, or the reason why the record in the ledger cannot be trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedFacts {
    /// Verified record of the run, if the ledger has one.
    pub(crate) record: Option<Record>,
    /// Description of the damage, if the ledger has a record that cannot be trusted.
    pub(crate) problem: Option<String>,
}

impl Record {
    /// Reads and verifies the record of `run` in `log`. Returns `None` if the ledger does not know the run.
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
    /// Converts the record to its form in JSON documents.
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

    /// Reads the record of `run` in `log`. A damaged record is returned as a problem and not as an error, so that other
    /// runs can still be shown.
    pub(crate) fn new(log: &dyn Log, keyring: &Keyring, run: RunId) -> Result<Self, LedgerError> {
        match Record::new(log, keyring, run) {
            Ok(record) => Ok(Self { record, problem: None }),
            Err(LedgerError::Damaged { message }) => {
                Ok(Self { record: None, problem: Some(message) })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the name of the agent or user who requested the run, as one word. Without a record, this is `-`.
    pub(crate) fn requester(&self) -> String {
        let Some(Record { actor, .. }) = &self.record else { return "-".to_owned() };
        let requester = actor.agent.as_ref().unwrap_or(&actor.user);
        actum_core::path::Quoted(requester.as_bytes()).to_string()
    }

    /// Returns the client session to which the run belongs, if a client's hook requested it.
    pub(crate) fn session(&self) -> Option<&str> {
        let record = self.record.as_ref()?;
        let is_of_hook = record.door == EntryPoint::ClientHook.as_str();
        record.request.as_ref().filter(|_| is_of_hook)?.session()
    }

    /// Returns the position of the receipt in the ledger as one word, such as `#12`. The word is `open` if there is no
    /// receipt yet, and `wrong` if the record is damaged.
    pub(crate) fn place(&self) -> String {
        match (&self.record, &self.problem) {
            (_, Some(_)) => "wrong".to_owned(),
            (None, None) => "-".to_owned(),
            (Some(Record { receipt: None, .. }), None) => "open".to_owned(),
            (Some(Record { receipt: Some(receipt), .. }), None) => format!("#{}", receipt.index),
        }
    }
}
