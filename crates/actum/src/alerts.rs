//! Alerts, which are pending until a user acknowledges them (EX-18).
//!
//! An acknowledgement allows nothing, so it is not signed. It is a ledger entry that names the user; the entry of the
//! alert itself stays in the ledger.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::Timestamp;
use actum_core::canonical::{self, describe};
use actum_ledger::{Entry, LedgerError, Log, NewEntry, REQUEST_ENTRIES_MAX};
use actum_record::ledger::{Actor, AlertRaised, AlertSeen, EntryFacts, EntryKind, WorkspaceId};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::EntryRef;

use crate::error::Result;
use crate::queue::QueueError;
use crate::records::{ENGINE, Records};
use crate::request::EntryPoint;

/// Number of ledger entries that are looked up at a time.
const PAGE: u64 = 1000;

/// Group of pending alerts with the same kind, user and workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Ledger index of the oldest alert, which identifies the group.
    pub index: u64,
    /// Content of the oldest alert of the group.
    pub raised: AlertRaised,
    /// Distinct messages of the alerts, ordered by their first occurrence.
    pub messages: Vec<AlertMessage>,
    /// Time of the newest alert of the group.
    pub last: Timestamp,
}

/// Message of a group of alerts, with the alerts that carry this message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertMessage {
    /// Text of the message.
    pub message: String,
    /// Ledger indexes of the alerts with this message, in ascending order.
    pub indexes: Vec<u64>,
}

impl Alert {
    /// Returns the pending alerts, the oldest first. Alerts of the same kind, user and workspace form one group even if
    /// their messages differ, because an agent can vary a message through the names that it contains.
    ///
    /// # Errors
    /// [`LedgerError`] if the ledger cannot be read; `Damaged` if an entry was modified.
    pub fn open(log: &dyn Log) -> std::result::Result<Vec<Self>, LedgerError> {
        Ok(Self::grouped(Self::unseen(log)?))
    }

    /// Returns the pending alerts among the given ledger entries, grouped as by [`Self::open`].
    ///
    /// # Errors
    /// Same as [`Self::open`].
    pub fn open_among(
        log: &dyn Log,
        entries: &BTreeSet<u64>,
    ) -> std::result::Result<Vec<Self>, LedgerError> {
        let mut unseen = Self::unseen(log)?;
        unseen.retain(|(index, _)| entries.contains(index));
        Ok(Self::grouped(unseen))
    }

    fn grouped(unseen: Vec<(u64, AlertRaised)>) -> Vec<Self> {
        let mut alerts: Vec<Self> = Vec::new();
        let (mut places, mut positions) = (BTreeMap::new(), BTreeMap::new());
        for (index, raised) in unseen {
            let uid = raised.actor.as_ref().map(|actor| actor.uid);
            let name = raised.name.clone();
            let equal = (raised.workspace, raised.code, name, uid);
            let place = *places.entry(equal).or_insert(alerts.len());
            if alerts.len() <= place {
                let (last, raised) = (raised.time, raised.clone());
                alerts.push(Self { index, last, raised, messages: Vec::new() });
            }
            let Some(alert) = alerts.get_mut(place) else { continue };
            alert.last = raised.time;
            let at =
                *positions.entry((place, raised.message.clone())).or_insert(alert.messages.len());
            match alert.messages.get_mut(at) {
                Some(message) => message.indexes.push(index),
                None => {
                    let (message, indexes) = (raised.message, vec![index]);
                    alert.messages.push(AlertMessage { message, indexes });
                }
            }
        }
        alerts
    }

    /// Returns every pending alert with its ledger index, the oldest first, without grouping them.
    pub(crate) fn unseen(
        log: &dyn Log,
    ) -> std::result::Result<Vec<(u64, AlertRaised)>, LedgerError> {
        let (mut raised, mut before) = (Vec::new(), None);
        loop {
            let page = log.newest_of_kind(EntryKind::AlertRaised, before, PAGE)?;
            before = page.last().copied();
            raised.extend(page);
            if before.is_none() {
                break;
            }
        }
        raised.reverse();
        let Some(&oldest) = raised.first() else { return Ok(Vec::new()) };
        let seen = seen_since(log, oldest)?;
        raised.retain(|index| !seen.contains(index));
        raised.into_iter().map(|index| Ok((index, read(&log.sound_entry(index)?)?))).collect()
    }

    /// Returns the ledger indexes of all alerts of the group.
    pub fn indexes(&self) -> BTreeSet<u64> {
        self.messages.iter().flat_map(|message| &message.indexes).copied().collect()
    }
}

fn read(entry: &Entry) -> std::result::Result<AlertRaised, LedgerError> {
    serde_json::from_slice(&entry.body)
        .map_err(|error| LedgerError::entry(entry.index, &describe(&error)))
}

/// Returns the ledger indexes of all alerts that were acknowledged since entry `oldest`.
fn seen_since(log: &dyn Log, oldest: u64) -> std::result::Result<BTreeSet<u64>, LedgerError> {
    let (mut seen, mut before) = (BTreeSet::new(), None);
    loop {
        let newest = log.newest_of_kind(EntryKind::AlertSeen, before, PAGE)?;
        for &index in &newest {
            let facts = EntryFacts::parse(EntryKind::AlertSeen, &log.sound_entry(index)?.body);
            let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
            seen.extend(facts.follows.map(|(alert, _)| alert));
        }
        before = newest.last().copied();
        if before.is_none_or(|before| before < oldest) {
            return Ok(seen);
        }
    }
}

/// Alert to raise about an installation or a workspace, rather than about a task plan.
#[derive(Debug, Clone)]
pub struct NewAlert {
    /// Permanent name of the reason for the alert.
    pub name: &'static str,
    /// Message to the operator, which states the cause of the alert and how to resolve it.
    pub message: String,
    /// Actor whose request caused the alert, if known.
    pub actor: Option<Actor>,
    /// Workspace that the alert is about, with its root path.
    pub workspace: Option<(WorkspaceId, String)>,
}

impl Records {
    /// Raises an alert that is not about a task plan, and returns its ledger entry.
    ///
    /// # Errors
    /// `Ledger` or `Record` if the alert cannot be recorded.
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
            door: EntryPoint::CommandLine.as_str().to_owned(),
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

    /// Raises an alert like [`Self::alert`], unless an alert of the same name is already pending.
    ///
    /// # Errors
    /// `Ledger` or `Record` if the alert cannot be recorded.
    pub fn alert_once(&self, alert: NewAlert) -> Result<()> {
        let waiting = self.ledger.read(|log| Alert::unseen(log))?;
        if !waiting.iter().any(|(_, waits)| waits.name == alert.name) {
            self.alert(alert)?;
        }
        Ok(())
    }

    /// Appends an alert to the ledger, and returns its entry.
    ///
    /// # Errors
    /// `Ledger` or `Record` if the alert cannot be recorded.
    pub(crate) fn raise(&self, alert: &AlertRaised) -> Result<EntryRef> {
        let body = canonical::to_vec(alert)?;
        let entry = NewEntry { kind: EntryKind::AlertRaised, body, blobs: Vec::new() };
        let appended = self.ledger.append(vec![entry]).wait()?;
        self.entry(&appended)
    }

    /// Acknowledges the alerts at the given ledger indexes, and returns them.
    ///
    /// # Errors
    /// `Queue` if any of the entries is not a pending alert, in which case nothing is recorded; `Ledger`, `Record`.
    pub fn see(&self, alerts: &BTreeSet<u64>, by: &Actor) -> Result<Vec<Alert>> {
        let (found, leaves) = self.ledger.read(|log| {
            let open = Alert::open_among(log, alerts)?;
            let mut leaves = Vec::new();
            for (alert, index) in
                open.iter().flat_map(|it| it.indexes().into_iter().map(move |at| (it, at)))
            {
                let leaf = leaf_hash(&log.sound_entry(index)?.body);
                leaves.push((alert.raised.workspace, index, leaf));
            }
            Ok((open, leaves))
        })?;
        let waits: BTreeSet<u64> = leaves.iter().map(|(_, index, _)| *index).collect();
        if let Some(&index) = alerts.difference(&waits).next() {
            return Err(QueueError::NoAlert { index }.into());
        }
        let (time, origin) = (self.clock.now(), self.origin()?);
        for leaves in leaves.chunks(REQUEST_ENTRIES_MAX) {
            let seen = leaves.iter().map(|(workspace, index, leaf)| {
                let body = canonical::to_vec(&AlertSeen {
                    format: AlertSeen::FORMAT.to_owned(),
                    time,
                    tenant: self.tenant.clone(),
                    workspace: *workspace,
                    alert: EntryRef { origin: origin.to_owned(), index: *index, leaf: *leaf },
                    by: by.clone(),
                })?;
                Ok(NewEntry { kind: EntryKind::AlertSeen, body, blobs: Vec::new() })
            });
            self.ledger.append(seen.collect::<Result<Vec<_>>>()?).wait()?;
        }
        Ok(found)
    }
}
