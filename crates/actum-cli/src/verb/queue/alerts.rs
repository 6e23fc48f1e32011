//! Alerts: what is listed beside the plans until somebody has looked at it.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use actum::{Alert, AlertMessage};
use actum_core::path::{Harmless, Quoted};
use actum_core::{RunId, Timestamp};
use actum_record::ledger::{Actor, AlertRaised, WorkspaceId};
use serde::Serialize;

use super::listed::who;
use crate::failure::Failure;
use crate::ledger_queue::Queue;
use crate::output::{Document, Kind};
use crate::plans::ApprovalKey;
use crate::style::{self, Painted};
use crate::verb::Session;
use crate::{actor, records, timestamp};

/// Which alerts somebody has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    All,
    /// From the entry `first` to the entry `last`, both of one line of the list.
    Line {
        first: u64,
        last: u64,
    },
}

impl FromStr for Looked {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = || {
            let (first, last) = text.split_once("..").unwrap_or((text, text));
            Some(Self::Line { first: first.parse().ok()?, last: last.parse().ok()? })
        };
        match text {
            "all" => Ok(Self::All),
            _ => numbers().ok_or(
                "an alert has a number or several (`2..17`), as `actum queue` lists it; `all` is all of them",
            ),
        }
    }
}

impl Looked {
    /// Entries of the alerts that it names. A number of none is given on, to be rejected.
    fn entries(self, open: &[Alert]) -> BTreeSet<u64> {
        let Self::Line { first, last } = self else {
            return open.iter().flat_map(Alert::indexes).collect();
        };
        let line = open.iter().map(Alert::indexes).find(|line| line.contains(&first));
        let mut entries: BTreeSet<u64> =
            line.unwrap_or_default().into_iter().filter(|it| (first..=last).contains(it)).collect();
        entries.extend([first, last]);
        entries
    }
}

/// The most messages of one line that are shown as text, the first and the last.
const MESSAGES_SHOWN: usize = 20;

/// One alert, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AlertLine {
    /// Its number: the place of its entry in the ledger.
    pub(super) alert: u64,
    time: Timestamp,
    /// Number of the last of its kind.
    last_alert: u64,
    /// How many there are of its kind, this one included, and the time of the last.
    count: u64,
    last: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    name: String,
    message: String,
    /// Every message, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<MessageLine>,
    /// How many more errors there are of which a person is told.
    more: u64,
    label: String,
    actor: Option<Actor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reports: Option<String>,
}

/// Message of alerts of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct MessageLine {
    message: String,
    /// Numbers of the alerts that have it.
    alerts: Vec<u64>,
}

impl AlertLine {
    pub(super) fn of(alert: Alert) -> Self {
        let indexes = alert.indexes();
        let Alert { index, raised, messages, last } = alert;
        let messages = if messages.len() > 1 { messages } else { Vec::new() };
        let messages = messages
            .into_iter()
            .map(|AlertMessage { message, indexes }| MessageLine { message, alerts: indexes });
        let AlertRaised {
            time, root, actor, label, code, name, message, more, run, reports, ..
        } = raised;
        Self {
            alert: index,
            time,
            last_alert: indexes.last().copied().unwrap_or(index),
            count: u64::try_from(indexes.len()).unwrap_or(u64::MAX),
            last,
            code,
            name,
            messages: messages.collect(),
            message,
            more,
            label,
            actor,
            root,
            run,
            reports,
        }
    }

    /// Number by which `--seen` takes all of them.
    pub(super) fn number(&self) -> String {
        match (self.alert, self.last_alert) {
            (alert, last) if alert == last => alert.to_string(),
            (alert, last) => format!("{alert}..{last}"),
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { time, code, name, message, more, label, actor, root, reports, .. } = self;
        let who = actor.as_ref().map_or("unknown user".to_owned(), who);
        let (name, label) = (Harmless(name.as_bytes()), Quoted(label.as_bytes()));
        let message = Harmless(message.as_bytes());
        let alert = Painted(style::RUN, format!("{:<12}", format!("alert {}", self.number())));
        writeln!(out, "{alert}  {}  {who}: {label}", timestamp::second(*time))?;
        match code {
            Some(code) => write!(out, "              {message} ({code} {name})")?,
            None => write!(out, "              {message} ({name})")?,
        }
        match more {
            0 => writeln!(out)?,
            more => writeln!(out, ", and {more} more")?,
        }
        if self.count > 1 {
            let (count, last) = (self.count, timestamp::second(self.last));
            writeln!(out, "              {count} times, the last at {last}")?;
        }
        self.write_messages(out)?;
        let Some(root) = root else { return Ok(()) };
        let root = Harmless(root.as_bytes());
        match reports {
            Some(reports) => {
                writeln!(out, "              in {root}: {}", Harmless(reports.as_bytes()))
            }
            None => writeln!(out, "              in {root}"),
        }
    }
}

impl AlertLine {
    /// Writes the messages that differ from the first: an agent chooses the names in them, and how many there are.
    fn write_messages(&self, out: &mut dyn Write) -> io::Result<()> {
        let others = self.messages.iter().skip(1);
        let left_out = others.len().saturating_sub(MESSAGES_SHOWN);
        for (index, MessageLine { message, alerts }) in others.enumerate() {
            if left_out > 0 && index == MESSAGES_SHOWN / 2 {
                writeln!(
                    out,
                    "              {left_out} other messages; `actum queue --json` has all"
                )?;
            }
            let is_left_out = index >= MESSAGES_SHOWN / 2 && index < MESSAGES_SHOWN / 2 + left_out;
            if is_left_out {
                continue;
            }
            let message = Harmless(message.as_bytes());
            match alerts.len() {
                1 => writeln!(out, "              also: {message}")?,
                count => writeln!(out, "              also, {count} times: {message}")?,
            }
        }
        Ok(())
    }
}

/// The alerts that wait, the oldest first.
pub(super) fn waiting(queue: Option<&Queue>) -> Result<Vec<AlertLine>, Failure> {
    Ok(open(queue)?.into_iter().map(AlertLine::of).collect())
}

/// Alerts about one workspace or about the whole installation, by number.
pub(in crate::verb) fn of_workspace(
    queue: Option<&Queue>,
    workspace: WorkspaceId,
) -> Result<Vec<u64>, Failure> {
    let mut alerts = open(queue)?;
    alerts.retain(|alert| alert.raised.workspace.is_none_or(|about| about == workspace));
    Ok(alerts.iter().map(|alert| alert.index).collect())
}

fn open(queue: Option<&Queue>) -> Result<Vec<Alert>, Failure> {
    let Some(queue) = queue else { return Ok(Vec::new()) };
    Ok(Alert::open(&queue.view).map_err(actum::Error::from)?)
}

/// Marks alerts as seen. In an installation with an approval key this takes its passphrase.
pub(super) fn see(
    looked: &[Looked],
    passphrase_file: Option<&Path>,
    session: &Session,
) -> Result<(), Failure> {
    let queue = Queue::open(&session.tenant)?;
    let open = open(queue.as_ref())?;
    let numbers: BTreeSet<u64> = looked.iter().flat_map(|looked| looked.entries(&open)).collect();
    // More may be raised meanwhile, and only what is shown is marked.
    let shown = queue.as_ref().map(|queue| Alert::open_among(&queue.view, &numbers)).transpose();
    let shown = shown.map_err(actum::Error::from)?.unwrap_or_default();
    // A process that reads a ledger cannot write it.
    drop(queue);
    if numbers.is_empty() {
        return session.screen.show(&Seen { alerts: Vec::new() });
    }
    session.screen.tell_text(&AboutToBeSeen(shown.into_iter().map(AlertLine::of).collect()))?;
    if records::has_passphrase()? {
        ApprovalKey::ask(session, "Mark as seen?", passphrase_file)?;
    } else {
        session.screen.note(
            "no approval key asks for a passphrase, so any program of yours could have marked these as seen; the ledger \
             keeps who did and when",
        );
    }
    let (records, by) = (records::open(&session.tenant)?, actor::of(None));
    let seen = records.see(&numbers, &by)?;
    session.screen.show(&Seen { alerts: seen.into_iter().map(AlertLine::of).collect() })
}

/// Those that are shown before they are marked.
#[derive(Serialize)]
struct AboutToBeSeen(Vec<AlertLine>);

impl actum_api::Document for AboutToBeSeen {
    const FORMAT: &'static str = "actum.alerts-seen/1";
}

impl Document for AboutToBeSeen {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.iter().try_for_each(|alert| alert.write(out))
    }
}

/// Those that wait no longer.
#[derive(Serialize)]
struct Seen {
    alerts: Vec<AlertLine>,
}

impl actum_api::Document for Seen {
    const FORMAT: &'static str = "actum.alerts-seen/1";
}

impl Document for Seen {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.alerts.is_empty() {
            return writeln!(out, "no pending alerts");
        }
        for line @ AlertLine { label, name, .. } in &self.alerts {
            let about = if label == name {
                String::new()
            } else {
                format!("{}, ", Quoted(label.as_bytes()))
            };
            let name = Harmless(name.as_bytes());
            writeln!(
                out,
                "alert {} ({about}{name}) is marked as seen; it stays in the ledger",
                line.number()
            )?;
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
