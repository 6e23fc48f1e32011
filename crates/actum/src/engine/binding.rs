//! Binding: a workspace belongs to the ledger that recorded it, until an operator adopts it for another one.
//!
//! The environment chooses which ledger, and with it which operator, a process uses. So a ledger that never recorded
//! a workspace is rejected where another one did. Adoption takes the passphrase of the approval key that the
//! workspace knows, or a day ([`WAIT_MICROS`]) in which every command in the workspace shows the request and anybody
//! can cancel it.

use actum_core::Timestamp;
use actum_core::canonical::plainly;
use actum_core::ledger::Actor;
use actum_core::path::Quoted;
use actum_core::signer::KeyId;
use actum_ledger::WAIT_MICROS;
use actum_workspace::disk::Disk;
use actum_workspace::{RunOptions, Transaction, View};
use serde::{Deserialize, Serialize};

use crate::alerts::NewAlert;
use crate::engine::Engine;
use crate::engine::witness::Witness;
use crate::error::{Error, Result};
use crate::reason::Reason;

/// Request to bind a workspace to another ledger, kept in the workspace while it waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    /// Log that asks for the workspace.
    pub log: String,
    /// When it was asked for.
    pub since: Timestamp,
    /// User who asked.
    pub user: String,
}

/// State of a workspace after [`Engine::adopt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// It belonged to this ledger already, or to none.
    Own,
    /// It belongs to this ledger now.
    Adopted,
    /// The request waits.
    Waiting(Adoption),
}

impl Adoption {
    /// Reads the request that waits in a workspace, without taking the lock.
    ///
    /// # Errors
    /// `Workspace` where it cannot be read.
    pub fn of<D: Disk>(workspace: &View<D>) -> Result<Option<Self>> {
        Self::read(workspace.adoption()?)
    }

    fn read(line: Option<String>) -> Result<Option<Self>> {
        let read = |line: String| serde_json::from_str(&line);
        let unusable = |error| actum_workspace::unusable_witness(&plainly(&error)).into();
        line.map(read).transpose().map_err(unusable)
    }

    /// When it can be carried out.
    pub fn due(&self) -> Timestamp {
        Timestamp::from_micros(self.since.micros().saturating_add(WAIT_MICROS))
    }
}

/// Rejects a ledger that never recorded this workspace while another one did.
pub(crate) fn check<D: Disk>(
    lock: &Transaction<'_, D>,
    origin: &str,
    own: Option<&Witness>,
) -> Result<()> {
    if own.is_some() {
        return Ok(());
    }
    match Witness::elsewhere(lock, origin)? {
        None => Ok(()),
        Some(other) => Err(Error::BoundElsewhere { ledger: other.origin().to_owned() }),
    }
}

impl<D: Disk> Engine<D> {
    /// Binds the workspace to the ledger of this engine. `proof` is the approval key whose passphrase was just given;
    /// where it is the key that the workspace knows, this takes effect at once. Otherwise the request waits, and a
    /// second call after [`Adoption::due`] carries it out. Both are alerts in the ledger.
    ///
    /// # Errors
    /// `Workspace`, `Ledger`, `Record`; nothing is bound then.
    pub fn adopt(&mut self, by: &Actor, proof: Option<&KeyId>) -> Result<Binding> {
        let options = RunOptions { label: "bind".to_owned(), ..RunOptions::default() };
        let Self { workspace, records, root, .. } = self;
        let lock = workspace.begin(options)?;
        let origin = records.origin()?.to_owned();
        if Witness::under(&lock, &origin)?.is_some() {
            return Ok(Binding::Own);
        }
        let Some(other) = Witness::elsewhere(&lock, &origin)? else { return Ok(Binding::Own) };
        let now = records.clock.now();
        let waiting = Adoption::read(lock.adoption()?)?.filter(|waiting| waiting.log == origin);
        let is_proven = proof.is_some() && proof == other.approval();
        let id = lock.workspace_id()?;
        let alert = |message| NewAlert {
            name: Reason::BoundElsewhere.name(),
            message,
            actor: Some(by.clone()),
            workspace: Some((id, root.clone())),
        };
        let log = Quoted(other.origin().as_bytes()).to_string();
        if is_proven || waiting.as_ref().is_some_and(|waiting| waiting.due() <= now) {
            let how = if is_proven { "by the approval key that it knew" } else { "after a day" };
            let message = format!(
                "the workspace was adopted from the ledger `{log}` {how}; runs before this are recorded there"
            );
            let entry = records.alert(alert(message))?;
            let approval = records.approval_key();
            Witness::of_adoption(entry, approval, lock.newest_ended())
                .write(|log, line| lock.keep_witness(log, line));
            lock.set_adoption("")?;
            return Ok(Binding::Adopted);
        }
        if let Some(waiting) = waiting {
            return Ok(Binding::Waiting(waiting));
        }
        let asked = Adoption { log: origin, since: now, user: by.user.clone() };
        let line = serde_json::to_string(&asked)
            .map_err(|error| actum_workspace::unusable_witness(&plainly(&error)))?;
        let message = format!(
            "the workspace belongs to the ledger `{log}` and is to be adopted by this one; it counts from {} on, \
             unless `actum bind --cancel` rejects it",
            asked.due()
        );
        records.alert(alert(message))?;
        lock.set_adoption(&line)?;
        Ok(Binding::Waiting(asked))
    }

    /// Cancels the request that waits in the workspace; returns it.
    ///
    /// # Errors
    /// `Workspace`, `Ledger`, `Record`.
    pub fn cancel_adoption(&mut self, by: &Actor) -> Result<Option<Adoption>> {
        let options = RunOptions { label: "bind".to_owned(), ..RunOptions::default() };
        let Self { workspace, records, root, .. } = self;
        let lock = workspace.begin(options)?;
        let Some(waiting) = Adoption::read(lock.adoption()?)? else { return Ok(None) };
        lock.set_adoption("")?;
        let id = lock.workspace_id()?;
        let log = Quoted(waiting.log.as_bytes()).to_string();
        let message = format!("the adoption of the workspace by the ledger `{log}` was cancelled");
        let workspace = Some((id, root.clone()));
        let name = Reason::BoundElsewhere.name();
        records.alert(NewAlert { name, message, actor: Some(by.clone()), workspace })?;
        Ok(Some(waiting))
    }
}
