//! Alerts: what waits until somebody has looked at it (EX-18). Nothing depends on that, so nobody has to sign it: the ledger
//! says who did, and keeps the alert.

use std::collections::BTreeSet;

use actum_core::Digest;
use actum_core::canonical::{self, plainly};
use actum_core::ledger::{Actor, AlertRaised, AlertSeen, EntryFacts, EntryKind, WorkspaceId};
use actum_core::merkle::leaf_hash;
use actum_core::receipt::EntryRef;
use actum_ledger::{Entry, LedgerError, Log, NewEntry, Store};

use crate::engine::ENGINE;
use crate::error::Result;
use crate::queue::QueueError;
use crate::records::Records;

/// Among how many of the newest alerts of a ledger those that wait are looked for.
pub const ALERTS_MAX: u64 = 1000;

/// Door of alerts about an installation or a workspace.
const DOOR: &str = "command line";

/// An alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Its place in the ledger, which is its name.
    pub index: u64,
    /// What it says.
    pub raised: AlertRaised,
}

impl Alert {
    /// Those of the newest [`ALERTS_MAX`] that nobody has seen, the oldest first.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` where an entry is not what it was.
    pub fn open(log: &dyn Log) -> std::result::Result<Vec<Self>, LedgerError> {
        let mut raised = log.newest_of_kind(EntryKind::AlertRaised, None, ALERTS_MAX)?;
        raised.reverse();
        let Some(&oldest) = raised.first() else { return Ok(Vec::new()) };
        let seen = seen_since(log, oldest)?;
        raised.retain(|index| !seen.contains(index));
        raised.into_iter().map(|index| Self::read(&log.sound_entry(index)?)).collect()
    }

    fn read(entry: &Entry) -> std::result::Result<Self, LedgerError> {
        let raised = serde_json::from_slice(&entry.body)
            .map_err(|error| LedgerError::entry(entry.index, &plainly(&error)))?;
        Ok(Self { index: entry.index, raised })
    }
}

/// The alerts that somebody has seen, as far as that stands behind the entry `oldest`.
fn seen_since(log: &dyn Log, oldest: u64) -> std::result::Result<BTreeSet<u64>, LedgerError> {
    let (mut seen, mut before) = (BTreeSet::new(), None);
    loop {
        let newest = log.newest_of_kind(EntryKind::AlertSeen, before, ALERTS_MAX)?;
        for &index in &newest {
            let facts = EntryFacts::of(EntryKind::AlertSeen, &log.sound_entry(index)?.body);
            let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
            seen.extend(facts.follows.map(|(alert, _)| alert));
        }
        before = newest.last().copied();
        if before.is_none_or(|before| before < oldest) {
            return Ok(seen);
        }
    }
}

/// Alert about an installation or a workspace rather than about a task plan.
#[derive(Debug, Clone)]
pub struct NewAlert {
    /// Permanent name of the reason.
    pub name: &'static str,
    /// Sentence for the operator: what happened, and what to do.
    pub message: String,
    /// Who asked for it; none where that is not known.
    pub actor: Option<Actor>,
    /// Workspace it is about, with its root.
    pub workspace: Option<(WorkspaceId, String)>,
}

impl Records {
    /// Raises an alert about something other than a task plan; returns its entry.
    ///
    /// # Errors
    /// `Ledger`, `Record`.
    pub fn alert(&self, alert: NewAlert) -> Result<EntryRef> {
        let NewAlert { name, message, actor, workspace } = alert;
        let (workspace, root) = workspace.unzip();
        self.raise(&AlertRaised {
            format: AlertRaised::FORMAT.to_owned(),
            time: self.clock.now(),
            tenant: self.tenant.clone(),
            workspace,
            root,
            actor,
            door: DOOR.to_owned(),
            label: name.to_owned(),
            code: None,
            name: name.to_owned(),
            message,
            more: 0,
            run: None,
            reports: None,
            engine: ENGINE.to_owned(),
        })
    }

    /// Appends an alert; returns its entry.
    ///
    /// # Errors
    /// `Ledger`, `Record`.
    pub(crate) fn raise(&self, alert: &AlertRaised) -> Result<EntryRef> {
        let body = canonical::to_vec(alert)?;
        let entry = NewEntry { kind: EntryKind::AlertRaised, body, blobs: Vec::new() };
        let appended = self.ledger.append(vec![entry]).wait()?;
        self.entry(&appended)
    }

    /// Records that somebody has seen the alerts in these entries: all of them, or none. Gives what they say.
    ///
    /// # Errors
    /// `Queue` where one of them is no alert that waits; `Ledger`, `Record`.
    pub fn see(&self, alerts: &BTreeSet<u64>, by: &Actor) -> Result<Vec<Alert>> {
        let meant = alerts.clone();
        let asked = self.ledger.ask(move |store: &mut dyn Store| {
            let open = Alert::open(store)?.into_iter();
            let open = open.filter(|alert| meant.contains(&alert.index));
            open.map(|alert| Ok((leaf_hash(&store.sound_entry(alert.index)?.body), alert)))
                .collect()
        });
        let found: Vec<(Digest, Alert)> = asked.wait()?;
        let waits = |index: &&u64| found.iter().any(|(_, alert)| alert.index == **index);
        if let Some(&index) = alerts.iter().find(|index| !waits(index)) {
            return Err(QueueError::NoAlert { index }.into());
        }
        let (time, origin) = (self.clock.now(), self.origin()?);
        let seen = found.iter().map(|(leaf, alert)| {
            let body = canonical::to_vec(&AlertSeen {
                format: AlertSeen::FORMAT.to_owned(),
                time,
                tenant: self.tenant.clone(),
                workspace: alert.raised.workspace,
                alert: EntryRef { origin: origin.to_owned(), index: alert.index, leaf: *leaf },
                by: by.clone(),
            })?;
            Ok(NewEntry { kind: EntryKind::AlertSeen, body, blobs: Vec::new() })
        });
        let seen = seen.collect::<Result<Vec<_>>>()?;
        if !seen.is_empty() {
            self.ledger.append(seen).wait()?;
        }
        Ok(found.into_iter().map(|(_, alert)| alert).collect())
    }
}
