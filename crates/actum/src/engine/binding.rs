//! Binds a workspace to the ledger that recorded it, until an operator adopts it for another ledger.
//!
//! The environment of a process selects the ledger, and thereby the operator whose policy applies. To keep a process
//! from bypassing its operator this way, a ledger is rejected if only another ledger has recorded the workspace. The same
//! applies to a workspace around it, and to a workspace inside it that a change touches.
//!
//! Adoption requires either the passphrase of the approval key that the workspace knows, or a waiting period of one day
//! ([`WAIT_MICROS`]). During that day, every command in the workspace reports the request, and any user can cancel it.

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

/// Pending request to bind a workspace to another ledger, stored in the state directory of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    /// Name of the log of the ledger that is to adopt the workspace.
    pub log: String,
    /// Time at which the adoption was requested.
    pub since: Timestamp,
    /// User who requested the adoption.
    pub user: String,
}

/// Outcome of [`Engine::adopt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// The workspace already belonged to this ledger, or to none and is bound to this one now.
    Own,
    /// The workspace was adopted from another ledger and belongs to this one now.
    Adopted,
    /// The request to adopt the workspace is pending.
    Waiting(Adoption),
}

impl Adoption {
    /// Reads the pending request of a workspace, if there is one, without taking the workspace lock.
    ///
    /// # Errors
    /// `Workspace` if the request cannot be read.
    pub fn from_view<D: Disk>(workspace: &View<D>) -> Result<Option<Self>> {
        Self::read(workspace.adoption()?)
    }

    fn read(line: Option<String>) -> Result<Option<Self>> {
        let read = |line: String| serde_json::from_str(&line);
        let unusable = |error| actum_workspace::unusable_witness(&describe(&error)).into();
        line.map(read).transpose().map_err(unusable)
    }

    /// Returns the time at which the waiting period ends, so that the adoption can be carried out.
    pub fn due(&self) -> Timestamp {
        Timestamp::from_micros(self.since.micros().saturating_add(WAIT_MICROS))
    }
}

/// Rejects the ledger in use if another ledger has recorded this workspace, or the workspace around it, and this ledger
/// has not.
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

/// Rejects the ledger in use if another ledger has recorded the nearest recorded workspace around this one.
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

/// Rejects a change of paths inside another recorded workspace, or inside a repository whose rules are not part of
/// `policy`. Restoring such paths is allowed, unless another ledger has recorded the inner workspace.
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
            // The inner workspace has its own history, and rules that apply from its own root.
            Standing::Own if lock.restores() => {}
            Standing::Own => return Err(Error::WorkspaceWithin { root: PathName(root) }),
            Standing::Unrecorded => {}
        }
    }
    Ok(())
}

/// Binds a workspace that no ledger has recorded yet, with the first entry of the log as its witness. Runs that were
/// made earlier through the library are not expected to be in the ledger.
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

/// Returns the rule that keeps the content of possible credential files out of messages (EX-20), for the workspace at
/// `root`.
pub(crate) fn withholds(root: &Path) -> Withholds {
    let root = root.as_os_str().as_bytes().to_owned();
    Arc::new(move |path, content| is_withheld(&root, path, content))
}

/// Checks that the workspace at `root`, or the one around it, does not belong to a ledger other than the one in use.
///
/// `ledger` returns the ledger in use, as for [`Root::own`](crate::Root::own). `named` determines how an error message
/// names the workspace.
///
/// # Errors
/// `BoundElsewhere` if it belongs to another ledger; `Workspace` if the notes about ledgers cannot be read; errors of
/// `ledger`.
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
    /// Binds the workspace to the ledger of this engine. `proof` is an approval key whose passphrase the operator has
    /// just entered.
    ///
    /// If it is the approval key that the workspace knows, the adoption takes effect immediately. Otherwise, the
    /// request stays pending until another call after [`Adoption::due`] carries it out. The request and the adoption
    /// each raise an alert in the ledger.
    ///
    /// # Errors
    /// `Workspace`, `Ledger`, `Record`. In all cases, the binding is unchanged.
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
            let how = if is_proven { "with its approval key" } else { "after waiting one day" };
            let message = format!(
                "the workspace was adopted from the ledger `{log}` {how}; earlier runs are recorded there"
            );
            let entry = records.alert(alert(message))?;
            Witness::of_adoption(entry, records.keys_in_force(), lock.newest_ended()?)
                .write(|log, line| lock.keep_witness(log, line));
            if other.origin() != origin {
                // Remove the witness of the other ledger. Otherwise, both ledgers would own the workspace.
                lock.keep_witness(other.origin(), "");
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
            "this ledger requested to adopt the workspace from the ledger `{log}`; the adoption is possible from {} on, \
             unless it is cancelled with `actum bind --cancel`",
            asked.due()
        );
        records.alert(alert(message))?;
        lock.set_adoption(&line)?;
        Ok(Binding::Waiting(asked))
    }

    /// Cancels the pending request to adopt the workspace, and returns it. Returns `None` if there is none.
    ///
    /// # Errors
    /// `Workspace` if the request cannot be read or removed; `Ledger` or `Record` if the cancellation cannot be
    /// recorded.
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
