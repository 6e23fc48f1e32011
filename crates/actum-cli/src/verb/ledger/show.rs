//! `actum ledger show`: lists the newest entries of a ledger, or shows a single entry.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::ledger::{self, EntryLine, Ledger};
use actum_core::path::{Harmless, Quoted};
use actum_ledger::{Entry, LedgerError, Log};
use actum_record::dsse::Envelope;
use actum_record::ledger::{EntryFacts, EntryKind};
use actum_record::merkle::{Node, leaf_hash};

use super::{Opened, entries_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};
use crate::timestamp;
use crate::verb::Session;

/// List the newest entries of the ledger, or show a single entry completely
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of the entry to show, counting from 0
    #[arg(conflicts_with = "count", value_parser = number)]
    entry: Option<u64>,
    /// List at most N entries
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 20)]
    count: u64,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Opened { tenant, log } = Opened::existing(&session.tenant)?;
    let size = log.size().map_err(actum::Error::from)?;
    match arguments.entry {
        None => {
            let origin = log.origin().map_err(actum::Error::from)?;
            let count = arguments.count.min(size);
            let found = log.entries(size.saturating_sub(count), count);
            let found = found.map_err(actum::Error::from)?;
            let lines = found.iter().rev().map(|entry| Ok(line_of(&log, entry)?.0));
            let entries = lines.collect::<Result<Vec<_>, LedgerError>>();
            let entries = entries.map_err(actum::Error::from)?;
            let is_sound = entries.iter().all(|line| line.recorded_leaf.is_none());
            session.screen.show(&Ledger { tenant, origin, size, entries })?;
            if !is_sound {
                session.screen.note("run `actum ledger verify` to find everything that is wrong");
                return Ok(Exit::NeedsAttention);
            }
        }
        Some(index) => {
            let entry = log.entry(index).map_err(actum::Error::from)?;
            let entry = entry.ok_or(LedgerFailure::NoEntry { index, size })?;
            let shown = shown(&log, &entry).map_err(actum::Error::from)?;
            session.screen.show(&shown)?;
            if shown.line.recorded_leaf.is_some() {
                session.screen.note("run `actum ledger verify` to find everything that is wrong");
                return Ok(Exit::NeedsAttention);
            }
        }
    }
    Ok(Exit::Success)
}

/// Parses the number of an entry. A leading `#` is allowed, because `actum log` and `actum show` print one.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    digits.parse().map_err(|_| "expected the number of an entry, such as `7` or `#7`".to_owned())
}

/// Returns the line that describes an entry in the list, and the facts that are parsed from the entry's content.
fn line_of(log: &dyn Log, entry: &Entry) -> Result<(EntryLine, EntryFacts), LedgerError> {
    let (leaf, recorded) =
        (leaf_hash(&entry.body), log.node(Node { level: 0, index: entry.index })?);
    let facts = EntryFacts::parse(entry.kind, &entry.body);
    let facts = facts.map_err(|error| LedgerError::entry(entry.index, &error))?;
    let line = EntryLine {
        index: entry.index,
        kind: entry.kind.as_str().to_owned(),
        time: facts.time,
        run: facts.run.or(facts.plan),
        status: facts.status,
        leaf,
        recorded_leaf: (recorded != leaf).then_some(recorded),
    };
    Ok((line, facts))
}

/// Converts an entry and its content for the document.
fn shown(log: &dyn Log, entry: &Entry) -> Result<ledger::Entry, LedgerError> {
    let (line, facts) = line_of(log, entry)?;
    let json = |bytes: &[u8]| {
        serde_json::from_slice(bytes).map_err(|error| LedgerError::entry(entry.index, &error))
    };
    let payload = match entry.kind {
        EntryKind::EffectDone
        | EntryKind::KeyRotated
        | EntryKind::PlanAnswered
        | EntryKind::CatalogChanged
        | EntryKind::HistoryForgotten
        | EntryKind::LeaseGranted
        | EntryKind::LeaseRevoked
        | EntryKind::FileTaskEnded
        | EntryKind::SloWaived => {
            let envelope = Envelope::read_own(&entry.body);
            Some(json(&envelope.map_err(|error| LedgerError::entry(entry.index, &error))?.payload)?)
        }
        EntryKind::LogStarted
        | EntryKind::EffectStarted
        | EntryKind::PlanRefused
        | EntryKind::PlanQueued
        | EntryKind::ActionStarted
        | EntryKind::ActionEnded
        | EntryKind::AlertRaised
        | EntryKind::AlertSeen
        | EntryKind::FileTaskStarted
        | EntryKind::AgentExecution
        | EntryKind::AgentAccessDecided
        | EntryKind::AgentConfirmation
        | EntryKind::IntakeResolved => None,
    };
    Ok(ledger::Entry { line, documents: facts.blobs, body: json(&entry.body)?, payload })
}

impl Document for Ledger {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { tenant, origin, size, entries } = self;
        for EntryLine { index, kind, time, run, status, recorded_leaf, .. } in entries {
            write!(out, "{index:>8}  {}  ", timestamp::second(*time))?;
            match run {
                Some(run) => write!(out, "{kind:14}  {}", Painted(style::RUN, run))?,
                None => write!(out, "{kind}")?,
            }
            if let Some(status) = status {
                write!(out, "  {}", status.as_str())?;
            }
            match recorded_leaf {
                Some(_) => writeln!(out, "  {}", Painted(style::REMOVED, "wrong"))?,
                None => writeln!(out)?,
            }
        }
        let origin = Quoted(origin.as_bytes());
        writeln!(out, "{} in the ledger {origin} of the tenant {tenant}", entries_of(*size))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}

impl Document for ledger::Entry {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let EntryLine { index, kind, time, leaf, .. } = &self.line;
        writeln!(out, "entry     {index}\nkind      {kind}\ntime      {time}\nleaf      {leaf}")?;
        if let Some(recorded) = &self.line.recorded_leaf {
            let wrong = Painted(style::REMOVED, "wrong");
            writeln!(out, "{wrong}     the entry was changed: its recorded leaf is {recorded}")?;
        }
        for document in &self.documents {
            writeln!(out, "document  {document}")?;
        }
        let (what, value) = match &self.payload {
            Some(payload) => ("signed", payload),
            None => ("body", &self.body),
        };
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        writeln!(out, "\n{what}")?;
        for line in text.lines() {
            writeln!(out, "{}", Harmless(line.as_bytes()))?;
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
