//! Alerts of `actum queue`, which are listed after the plans until the user marks them as seen.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use actum::{Alert, AlertMessage};
use actum_api::queue::{self, AlertsSeen};
use actum_api::record::Actor;
use actum_core::path::{Harmless, Quoted};
use actum_record::ledger::{AlertRaised, WorkspaceId};

use super::listed::requester;
use crate::failure::Failure;
use crate::ledger_queue::Queue;
use crate::operator_key::OperatorKey;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};
use crate::verb::Session;
use crate::{actor, records, timestamp};

/// Selection of alerts for `--seen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    All,
    /// Alerts with ledger entries from `first` to `last`, which belong to one item of the list.
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
                "expected the number of an alert, a range such as `2..17` from `actum queue`, or `all`",
            ),
        }
    }
}

impl Looked {
    /// Returns the ledger entries of the selected alerts. Includes unknown numbers, so that they are rejected later.
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

/// Maximum number of further messages that the text shows for one item. If there are more, the middle ones are left out.
const MESSAGES_SHOWN: usize = 20;

/// Converts an alert to its form in the list.
pub(super) fn document(alert: Alert) -> queue::Alert {
    let indexes = alert.indexes();
    let Alert { index, raised, messages, last } = alert;
    let messages = if messages.len() > 1 { messages } else { Vec::new() };
    let messages = messages
        .into_iter()
        .map(|AlertMessage { message, indexes }| queue::AlertMessage { message, alerts: indexes });
    let AlertRaised { time, root, actor, label, code, name, message, more, run, reports, .. } =
        raised;
    queue::Alert {
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
        actor: actor.map(Actor::from),
        root,
        run,
        reports,
    }
}

/// Returns the argument of `--seen` that marks all alerts of an item: one number, or a range such as `2..17`.
pub(super) fn number(line: &queue::Alert) -> String {
    match (line.alert, line.last_alert) {
        (alert, last) if alert == last => alert.to_string(),
        (alert, last) => format!("{alert}..{last}"),
    }
}

/// Writes one item of the alert list as text.
pub(super) fn write(line: &queue::Alert, out: &mut dyn Write) -> io::Result<()> {
    let queue::Alert { time, code, name, message, more, label, actor, root, reports, .. } = line;
    let requester = actor.as_ref().map_or("unknown user".to_owned(), requester);
    let (name, label) = (Harmless(name.as_bytes()), Quoted(label.as_bytes()));
    let message = Harmless(message.as_bytes());
    let alert = Painted(style::RUN, format!("{:<12}", format!("alert {}", number(line))));
    writeln!(out, "{alert}  {}  {requester}: {label}", timestamp::second(*time))?;
    match code {
        Some(code) => write!(out, "              {message} ({code} {name})")?,
        None => write!(out, "              {message} ({name})")?,
    }
    match more {
        0 => writeln!(out)?,
        more => writeln!(out, ", and {more} more")?,
    }
    if line.count > 1 {
        let (count, last) = (line.count, timestamp::second(line.last));
        writeln!(out, "              {count} times, most recently at {last}")?;
    }
    write_messages(line, out)?;
    let Some(root) = root else { return Ok(()) };
    let root = Harmless(root.as_bytes());
    match reports {
        Some(reports) => {
            writeln!(out, "              in {root}: {}", Harmless(reports.as_bytes()))
        }
        None => writeln!(out, "              in {root}"),
    }
}

/// Writes the messages that differ from the first one. Their number is limited, because an agent can choose the names in
/// them and so cause any number of different messages.
fn write_messages(line: &queue::Alert, out: &mut dyn Write) -> io::Result<()> {
    let others = line.messages.iter().skip(1);
    let left_out = others.len().saturating_sub(MESSAGES_SHOWN);
    for (index, queue::AlertMessage { message, alerts }) in others.enumerate() {
        if left_out > 0 && index == MESSAGES_SHOWN / 2 {
            writeln!(
                out,
                "              {left_out} more messages; `actum queue --json` lists all"
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

/// Returns the list items of the pending alerts, the oldest first.
pub(super) fn waiting(queue: Option<&Queue>) -> Result<Vec<queue::Alert>, Failure> {
    Ok(open(queue)?.into_iter().map(document).collect())
}

/// Returns the numbers of the pending alerts about one workspace or about the entire installation.
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

/// Marks alerts as seen after showing them. If there is an approval key, its passphrase is required.
pub(super) fn see(
    looked: &[Looked],
    passphrase_file: Option<&Path>,
    session: &Session,
) -> Result<(), Failure> {
    let queue = Queue::open(&session.tenant)?;
    let open = open(queue.as_ref())?;
    let numbers: BTreeSet<u64> = looked.iter().flat_map(|looked| looked.entries(&open)).collect();
    // New alerts may be raised in the meantime, so only those that are shown are marked.
    let shown = queue.as_ref().map(|queue| Alert::open_among(&queue.view, &numbers)).transpose();
    let shown = shown.map_err(actum::Error::from)?.unwrap_or_default();
    // A process cannot write to a ledger while it has it open for reading.
    drop(queue);
    if numbers.is_empty() {
        return session.screen.show(&AlertsSeen { alerts: Vec::new() });
    }
    session.screen.print_text(&AboutToBeSeen(seen(shown)))?;
    if records::has_passphrase()? {
        OperatorKey::approval(session, "Mark as seen?", passphrase_file)?;
    } else {
        session.screen.note(
            "there is no approval key that requires a passphrase, so any program of yours can mark alerts as seen; the \
             ledger records who did it and when",
        );
    }
    let (records, by) = (records::open(&session.tenant)?, actor::from_agent(None));
    let seen = records.see(&numbers, &by)?;
    session.screen.show(&self::seen(seen))
}

fn seen(alerts: Vec<Alert>) -> AlertsSeen {
    AlertsSeen { alerts: alerts.into_iter().map(document).collect() }
}

/// Alerts that are shown to the user before they are marked as seen.
struct AboutToBeSeen(AlertsSeen);

impl Document for AboutToBeSeen {
    type Api = AlertsSeen;

    fn document(&self) -> impl Borrow<AlertsSeen> {
        &self.0
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.alerts.iter().try_for_each(|alert| write(alert, out))
    }
}

impl Document for AlertsSeen {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.alerts.is_empty() {
            return writeln!(out, "no pending alerts");
        }
        for line @ queue::Alert { label, name, .. } in &self.alerts {
            let about = if label == name {
                String::new()
            } else {
                format!("{}, ", Quoted(label.as_bytes()))
            };
            let name = Harmless(name.as_bytes());
            writeln!(
                out,
                "alert {} ({about}{name}) is marked as seen; it stays in the ledger",
                number(line)
            )?;
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
