//! Binding: a workspace belongs to the ledger that recorded it, until an operator adopts it for another one.
//!
//! The environment chooses the ledger of a process, and with it the operator. So a ledger is rejected if it never
//! recorded a workspace that another one did, or a workspace inside or around such a workspace.
//!
//! Adoption takes the passphrase of the approval key that the workspace knows, or a day ([`WAIT_MICROS`]). During that
//! day every command in the workspace shows the request, and any user can cancel it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use actum_core::Timestamp;
use actum_core::canonical::describe;
use actum_core::path::Quoted;
use actum_core::path_name::PathName;
use actum_gate::credential::is_withheld;
use actum_gate::policy::Policy;
use actum_ledger::WAIT_MICROS;
use actum_record::ledger::Actor;
use actum_record::merkle::Node;
use actum_record::receipt::EntryRef;
use actum_record::signer::KeyId;
use actum_workspace::disk::Disk;
use actum_workspace::{RootWithin, RunOptions, Transaction, View, Withholds};
use serde::{Deserialize, Serialize};

use crate::alerts::NewAlert;
use crate::engine::Engine;
use crate::error::{BoundWorkspace, Error, Result};
use crate::place::Place;
use crate::policies::PolicyFiles;
use crate::reason::Reason;

use crate::records::{OwnLedger, Records, Standing, Witness};

/// Request to bind a workspace to another ledger, kept in the workspace while it is pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    /// Log that requests the workspace.
    pub log: String,
    /// Time of the request.
    pub since: Timestamp,
    /// Requester.
    pub user: String,
}

/// State of a workspace after [`Engine::adopt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// The workspace belonged to this ledger already, or to none.
    Own,
    /// The workspace belongs to this ledger now.
    Adopted,
    /// The request is pending.
    Waiting(Adoption),
}

impl Adoption {
    /// Reads the pending request of a workspace, without taking the lock.
    ///
    /// # Errors
    /// `Workspace` if it cannot be read.
    pub fn of<D: Disk>(workspace: &View<D>) -> Result<Option<Self>> {
        Self::read(workspace.adoption()?)
    }

    fn read(line: Option<String>) -> Result<Option<Self>> {
        let read = |line: String| serde_json::from_str(&line);
        let unusable = |error| actum_workspace::unusable_witness(&describe(&error)).into();
        line.map(read).transpose().map_err(unusable)
    }

    /// Returns the earliest time to carry it out.
    pub fn due(&self) -> Timestamp {
        Timestamp::from_micros(self.since.micros().saturating_add(WAIT_MICROS))
    }
}

/// Rejects a ledger that never recorded this workspace or the one around it, if another ledger did.
pub(crate) fn check<D: Disk>(
    lock: &Transaction<'_, D>,
    ledger: &OwnLedger,
    own: Option<&Witness>,
    place: &Place,
) -> Result<()> {
    if let Some(own) = own {
        return match ledger.wrote(own)? {
            true => Ok(()),
            false => Err(elsewhere(BoundWorkspace::This, own.origin())),
        };
    }
    match Witness::elsewhere(lock, &ledger.origin)? {
        None => check_around(place, Some(ledger)),
        Some(other) => Err(elsewhere(BoundWorkspace::This, other.origin())),
    }
}

/// Rejects a ledger that recorded neither the nearest recorded workspace around this one nor this one.
pub(crate) fn check_around(place: &Place, ledger: Option<&OwnLedger>) -> Result<()> {
    for root in &place.around {
        match Standing::read(actum_workspace::notes_at(root)?, ledger)? {
            Standing::Unrecorded => {}
            Standing::Own => return Ok(()),
            Standing::Elsewhere(ledger) => {
                return Err(elsewhere(BoundWorkspace::Around(root.clone()), &ledger));
            }
        }
    }
    Ok(())
}

/// Rejects a change of paths inside another recorded workspace, or inside a repository whose rules are not in
/// `policy`. An earlier change there can be undone if this ledger recorded it.
pub(crate) fn check_within<D: Disk>(
    lock: &Transaction<'_, D>,
    ledger: &OwnLedger,
    policy: &Policy,
) -> Result<()> {
    let from_roots = policy.counts_from_roots();
    for within in lock.roots_within(PolicyFiles::IN_WORKSPACE)? {
        let RootWithin { path: root, notes, is_repository, has_rules } = within;
        match Standing::read(notes, Some(ledger))? {
            Standing::Elsewhere(ledger) => {
                return Err(elsewhere(BoundWorkspace::Within(root), &ledger));
            }
            Standing::Unrecorded if lock.restores() => {}
            Standing::Unrecorded if has_rules || is_repository && from_roots => {
                return Err(Error::RepositoryWithin { root: PathName(root) });
            }
            // The inner workspace has rules of its own, from its root, and a history of its own.
            Standing::Own if lock.restores() => {}
            Standing::Own => return Err(Error::WorkspaceWithin { root: PathName(root) }),
            Standing::Unrecorded => {}
        }
    }
    Ok(())
}

/// Binds a workspace without a witness to a ledger: the witness is the first entry of the log. Earlier runs of a
/// library user keep their state.
pub(crate) fn bind_first<D: Disk>(lock: &Transaction<'_, D>, records: &Records) -> Result<()> {
    let origin = records.origin()?.to_owned();
    let first = Node { level: 0, index: 0 };
    let leaf = records.ledger.read(|log| log.node(first))?;
    let entry = EntryRef { origin, index: first.index, leaf };
    Witness::of_adoption(entry, records.keys_in_force(), lock.newest_ended()?)
        .write(|log, line| lock.keep_witness(log, line));
    Ok(())
}

pub(crate) fn elsewhere(workspace: BoundWorkspace, ledger: &str) -> Error {
    Error::BoundElsewhere { workspace, ledger: ledger.to_owned() }
}

/// Returns the rule that keeps the content of possible credential files out of messages, for the workspace at
/// `root` (EX-20).
pub(crate) fn withholds(root: &Path) -> Withholds {
    let root = root.as_os_str().as_bytes().to_owned();
    Arc::new(move |path, content| is_withheld(&root, path, content))
}

/// Checks that the ledger in use recorded the workspace at `root` or the one around it, or that no ledger did.
/// `ledger` returns the ledger in use, as for [`Root::own`](crate::Root::own). `named` is the workspace's name in
/// errors.
///
/// # Errors
/// `BoundElsewhere`; `Workspace` if the notes about ledgers cannot be read; those of `ledger`.
pub fn check_ledger<E: From<Error>>(
    root: &Path,
    named: BoundWorkspace,
    ledger: impl FnOnce() -> std::result::Result<Option<OwnLedger>, E>,
) -> std::result::Result<(), E> {
    let place = Place::new(root);
    let notes = |root: &Path| actum_workspace::notes_at(root).map_err(Error::from);
    let own = notes(root)?;
    let mut is_recorded = !own.is_empty();
    for around in &place.around {
        is_recorded = is_recorded || !notes(around)?.is_empty();
    }
    if is_recorded {
        let ledger = ledger()?;
        match Standing::read(own, ledger.as_ref())? {
            Standing::Own => {}
            Standing::Unrecorded => check_around(&place, ledger.as_ref())?,
            Standing::Elsewhere(ledger) => {
                return Err(elsewhere(named, &ledger).into());
            }
        }
    }
    Ok(())
}

impl<D: Disk> Engine<D> {
    /// Binds the workspace to the ledger of this engine. `proof` is the approval key whose passphrase was just given.
    ///
    /// If it is the key that the workspace knows, the binding takes effect at once. Otherwise the request is pending,
    /// and a second call after [`Adoption::due`] carries it out. Both are alerts in the ledger.
    ///
    /// # Errors
    /// `Workspace`, `Ledger`, `Record`; nothing is bound then.
    pub fn adopt(&mut self, by: &Actor, proof: Option<&KeyId>) -> Result<Binding> {
        let options = RunOptions { label: "bind".to_owned(), ..RunOptions::default() };
        let Self { workspace, records, root, place, .. } = self;
        let lock = workspace.begin(options)?;
        let (ledger, origin) = (records.own_ledger()?, records.origin()?.to_owned());
        let other = match Witness::under(&lock, &origin)? {
            Some(witness) if ledger.wrote(&witness)? => return Ok(Binding::Own),
            Some(namesake) => namesake,
            None => match Witness::elsewhere(&lock, &origin)? {
                Some(other) => other,
                None => {
                    check_around(place, Some(&ledger))?;
                    bind_first(&lock, records)?;
                    return Ok(Binding::Own);
                }
            },
        };
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
            Witness::of_adoption(entry, records.keys_in_force(), lock.newest_ended()?)
                .write(|log, line| lock.keep_witness(log, line));
            if other.origin() != origin {
                lock.keep_witness(other.origin(), ""); // two owners would not notice each other
            }
            lock.set_adoption("")?;
            return Ok(Binding::Adopted);
        }
        if let Some(waiting) = waiting {
            return Ok(Binding::Waiting(waiting));
        }
        let asked = Adoption { log: origin, since: now, user: by.user.clone() };
        let line = serde_json::to_string(&asked)
            .map_err(|error| actum_workspace::unusable_witness(&describe(&error)))?;
        let message = format!(
            "the workspace belongs to the ledger `{log}` and is to be adopted by this one; it counts from {} on, \
             unless `actum bind --cancel` rejects it",
            asked.due()
        );
        records.alert(alert(message))?;
        lock.set_adoption(&line)?;
        Ok(Binding::Waiting(asked))
    }

    /// Cancels the pending request of the workspace, and returns it.
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
