//! Alerts: what is listed beside the plans until somebody has looked at it.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use actum::Alert;
use actum_core::ledger::{Actor, AlertRaised, WorkspaceId};
use actum_core::path::{Harmless, Quoted};
use actum_core::{RunId, Timestamp};
use serde::Serialize;

use super::listed::who;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::plans::{ApprovalKey, Queue};
use crate::style::{self, Painted};
use crate::verb::Session;
use crate::{actor, records, timestamp};

/// Which alerts somebody has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    All,
    At(u64),
}

impl FromStr for Looked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => number.parse().map(Self::At).map_err(|_| {
                "an alert has a number, as `actum queue` lists it; `all` is all of them".to_owned()
            }),
        }
    }
}

/// One alert, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AlertLine {
    /// Its number: the place of its entry in the ledger.
    pub(super) alert: u64,
    time: Timestamp,
    /// How many there are of its kind, this one included, and the time of the last.
    count: u64,
    last: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    name: String,
    message: String,
    /// Message of the last one, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_message: Option<String>,
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

impl AlertLine {
    pub(super) fn of(Alert { index, raised, equal, last, last_message }: Alert) -> Self {
        let count = u64::try_from(equal.len()).unwrap_or(u64::MAX).saturating_add(1);
        let AlertRaised {
            time, root, actor, label, code, name, message, more, run, reports, ..
        } = raised;
        Self {
            alert: index,
            time,
            count,
            last,
            code,
            name,
            last_message: (last_message != message).then_some(last_message),
            message,
            more,
            label,
            actor,
            root,
            run,
            reports,
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { alert, time, code, name, message, more, label, actor, root, reports, .. } = self;
        let who = actor.as_ref().map_or("unknown user".to_owned(), who);
        let (name, label) = (Harmless(name.as_bytes()), Quoted(label.as_bytes()));
        let message = Harmless(message.as_bytes());
        let alert = Painted(style::RUN, format!("{:<12}", format!("alert {alert}")));
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
            write!(out, "              {count} times, the last at {last}")?;
            match &self.last_message {
                Some(message) => writeln!(out, ": {}", Harmless(message.as_bytes()))?,
                None => writeln!(out)?,
            }
        }
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
    let mut numbers = BTreeSet::new();
    let queue = Queue::open()?;
    for looked in looked {
        match looked {
            Looked::All => numbers.extend(open(queue.as_ref())?.iter().map(|alert| alert.index)),
            Looked::At(number) => drop(numbers.insert(*number)),
        }
    }
    // A process that reads a ledger cannot write it.
    drop(queue);
    if numbers.is_empty() {
        return session.screen.show(&Seen { alerts: Vec::new() });
    }
    if records::has_passphrase()? {
        ApprovalKey::ask(session, "Mark as seen?", passphrase_file)?;
    } else {
        session.screen.note(
            "no approval key asks for a passphrase, so any program of yours could have marked these as seen; the ledger \
             keeps who did and when",
        );
    }
    let (records, by) = (records::open()?, actor::of(None));
    let seen = records.see(&numbers, &by)?;
    session.screen.show(&Seen { alerts: seen.into_iter().map(AlertLine::of).collect() })
}

/// Those that wait no longer.
#[derive(Serialize)]
struct Seen {
    alerts: Vec<AlertLine>,
}

impl Document for Seen {
    fn format(&self) -> &'static str {
        "actum.alerts-seen/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.alerts.is_empty() {
            return writeln!(out, "no pending alerts");
        }
        for AlertLine { alert, label, name, .. } in &self.alerts {
            let about = if label == name {
                String::new()
            } else {
                format!("{}, ", Quoted(label.as_bytes()))
            };
            let name = Harmless(name.as_bytes());
            writeln!(
                out,
                "alert {alert} ({about}{name}) is marked as seen; it stays in the ledger"
            )?;
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
