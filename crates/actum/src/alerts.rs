//! Alerts that are pending until a user acknowledges them (EX-18). Nothing depends on the acknowledgement, so it is
//! not signed. The ledger records the user, and keeps the alert.

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

/// Number of alert entries that one lookup reads.
const PAGE: u64 = 1000;

/// Alerts of one kind, user and workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Index of the first in the ledger, which identifies the group.
    pub index: u64,
    /// Content of the first.
    pub raised: AlertRaised,
    /// Distinct messages, the oldest first.
    pub messages: Vec<AlertMessage>,
    /// Time of the last.
    pub last: Timestamp,
}

/// Message of an alert, with all alerts of one kind, user and workspace that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertMessage {
    /// Text of the message.
    pub message: String,
    /// Indexes in the ledger, in ascending order.
    pub indexes: Vec<u64>,
}

impl Alert {
    /// Returns the alerts that are not acknowledged, the oldest first. Alerts of one kind, user and workspace form a
    /// group with all their messages, since messages contain names that an agent chooses.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` if an entry has changed.
    pub fn open(log: &dyn Log) -> std::result::Result<Vec<Self>, LedgerError> {
        Ok(Self::grouped(Self::unseen(log)?))
    }

    /// Returns the alerts of these entries that are not acknowledged, as [`Self::open`].
    ///
    /// # Errors
    /// As [`Self::open`].
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
        let (mut places, mut told) = (BTreeMap::new(), BTreeMap::new());
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
            let at = *told.entry((place, raised.message.clone())).or_insert(alert.messages.len());
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

    /// Returns each alert that is not acknowledged, the oldest first.
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

    /// Returns the indexes of all alerts of the group, in the order of the ledger.
    pub fn indexes(&self) -> BTreeSet<u64> {
        self.messages.iter().flat_map(|message| &message.indexes).copied().collect()
    }
}

fn read(entry: &Entry) -> std::result::Result<AlertRaised, LedgerError> {
    serde_json::from_slice(&entry.body)
        .map_err(|error| LedgerError::entry(entry.index, &describe(&error)))
}

/// Returns the alerts that were acknowledged in entries after `oldest`.
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

/// Alert about an installation or a workspace rather than about a task plan.
#[derive(Debug, Clone)]
pub struct NewAlert {
    /// Permanent name of the reason.
    pub name: &'static str,
    /// Sentence for the operator: cause and remedy.
    pub message: String,
    /// Requester, if known.
    pub actor: Option<Actor>,
    /// Workspace of the alert, with its root.
    pub workspace: Option<(WorkspaceId, String)>,
}

impl Records {
    /// Raises an alert about something other than a task plan. Returns its entry.
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

    /// Raises an alert as [`Self::alert`], unless one of that name is pending.
    ///
    /// # Errors
    /// `Ledger`, `Record`.
    pub fn alert_once(&self, alert: NewAlert) -> Result<()> {
        let waiting = self.ledger.read(|log| Alert::unseen(log))?;
        if !waiting.iter().any(|(_, waits)| waits.name == alert.name) {
            self.alert(alert)?;
        }
        Ok(())
    }

    /// Appends an alert. Returns its entry.
    ///
    /// # Errors
    /// `Ledger`, `Record`.
    pub(crate) fn raise(&self, alert: &AlertRaised) -> Result<EntryRef> {
        let body = canonical::to_vec(alert)?;
        let entry = NewEntry { kind: EntryKind::AlertRaised, body, blobs: Vec::new() };
        let appended = self.ledger.append(vec![entry]).wait()?;
        self.entry(&appended)
    }

    /// Acknowledges exactly the alerts of these entries, all or none. Returns them.
    ///
    /// # Errors
    /// `Queue` if one of them is not a pending alert, after which nothing is recorded; `Ledger`, `Record`.
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
