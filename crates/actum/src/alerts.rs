//! Alerts: what waits until somebody has looked at it (EX-18). Nothing depends on that, so nobody has to sign it: the ledger
//! says who did, and keeps the alert.

use std::collections::BTreeSet;

use actum_core::Digest;
use actum_core::canonical::{self, plainly};
use actum_core::ledger::{Actor, AlertRaised, AlertSeen, EntryFacts, EntryKind};
use actum_core::merkle::leaf_hash;
use actum_core::receipt::EntryRef;
use actum_ledger::{Entry, LedgerError, Log, NewEntry, Store};

use crate::error::Result;
use crate::queue::QueueError;
use crate::records::Records;

/// Among how many of the newest alerts of a ledger those that wait are looked for.
pub const ALERTS_MAX: u64 = 1000;

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

impl Records {
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
