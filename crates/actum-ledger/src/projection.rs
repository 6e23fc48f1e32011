//! Projection of the entries, which consists of the state of runs, plans, leases, file tasks, the catalog, alerts and the
//! Agent Execution Core.
//!
//! The projection is computed entry by entry. Appending and verifying use the same function for this (AEC-8). A store uses
//! [`ProjectionUpdate`] to decide whether it accepts the entries of a request, and saves the resulting state in the same
//! transaction as the entries.

pub mod agent;
mod alert;
mod catalog;
mod file_task;
mod lease;
mod plan;

use std::collections::BTreeMap;

use actum_core::{Digest, RunId, Status};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryFacts, EntryKind, RequestKey, WorkspaceId};
use actum_record::lifecycle::{self, Event, OutOfOrder, State};

use crate::error::Refusal;
use crate::log::{LeaseRow, RunRow};
use crate::new_entry::Prepared;
use agent::{AgentProjection, AgentReader, Overlay};

pub(crate) use alert::follows as alert_follows;
pub(crate) use catalog::follows as catalog_follows;
pub use file_task::KnownFileTask;
pub(crate) use file_task::after as file_task_after;
pub(crate) use lease::after as lease_after;
pub use plan::KnownPlan;
pub(crate) use plan::after as plan_after;

/// State of a run, and the hash of the entry that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// State of the run, computed from its entries.
    pub row: RunRow,
    /// Hash of the `EFFECT_STARTED` entry of the run.
    pub leaf: Digest,
}

/// Computes the state of a run after the entry `index` with the hash `leaf`, from its state before the entry. Returns
/// `None` if the entry is not about a run.
///
/// # Errors
/// Returns [`Refusal`] if the entry is not allowed after the previous ones.
pub(crate) fn after(
    before: Option<&Known>,
    facts: &EntryFacts,
    (index, leaf): (u64, Digest),
) -> Result<Option<Known>, Refusal> {
    let is_first = facts.kind == EntryKind::LogStarted;
    if is_first != (index == 0) {
        return Err(Refusal::Beginning { index });
    }
    let event = match facts.kind {
        EntryKind::EffectStarted => Event::StartRun,
        EntryKind::EffectDone => Event::End(facts.status.unwrap_or(Status::Failed)),
        EntryKind::LogStarted
        | EntryKind::KeyRotated
        | EntryKind::PlanRefused
        | EntryKind::PlanQueued
        | EntryKind::PlanAnswered
        | EntryKind::ActionStarted
        | EntryKind::ActionEnded
        | EntryKind::CatalogChanged
        | EntryKind::AlertRaised
        | EntryKind::AlertSeen
        | EntryKind::HistoryForgotten
        | EntryKind::LeaseGranted
        | EntryKind::LeaseRevoked
        | EntryKind::FileTaskStarted
        | EntryKind::FileTaskEnded
        | EntryKind::AgentExecution
        | EntryKind::AgentAccessDecided
        | EntryKind::AgentConfirmation
        | EntryKind::IntakeResolved
        | EntryKind::SloWaived => return Ok(None),
    };
    let (Some(run), Some(workspace)) = (facts.run, facts.workspace) else { return Ok(None) };
    let state = before.map_or(State::New, |known| known.row.state());
    match (lifecycle::next(state, event), before) {
        (Ok(_), None) => {
            let (request, attempt) = facts.request.clone().map_or((None, 1), |(r, a)| (Some(r), a));
            let (done, status) = (None, None);
            let row = RunRow { run, workspace, request, attempt, started: index, done, status };
            Ok(Some(Known { row, leaf }))
        }
        (Ok(_), Some(known)) => {
            can_end(known, facts, workspace)?;
            let row = RunRow { done: Some(index), status: facts.status, ..known.row.clone() };
            Ok(Some(Known { row, ..*known }))
        }
        (Err(_), None) => Err(Refusal::NotStarted { run }),
        (Err(OutOfOrder { event, .. }), Some(Known { row, .. })) => {
            Err(match row.done.filter(|_| event != Event::StartRun) {
                Some(done) => Refusal::RunDone { run, done },
                None => Refusal::RunStarted { run, started: row.started },
            })
        }
    }
}

/// Checks that an open run can end with this entry.
fn can_end(
    Known { row, leaf: started_leaf }: &Known,
    facts: &EntryFacts,
    workspace: WorkspaceId,
) -> Result<(), Refusal> {
    let RunRow { run, started, .. } = *row;
    if row.workspace != workspace {
        return Err(Refusal::OtherWorkspace { run, started_in: row.workspace, workspace });
    }
    match facts.follows.filter(|intent| *intent != (started, *started_leaf)) {
        None => Ok(()),
        Some((index, leaf)) => {
            let started_leaf = *started_leaf;
            Err(Refusal::OtherIntent { run, index, leaf, started, started_leaf })
        }
    }
}

/// State of the runs, plans, lease blocks, file tasks and agent steps that the entries of a request change. It is
/// computed before anything is stored.
#[derive(Debug, Default)]
pub struct ProjectionUpdate {
    runs: BTreeMap<RunId, Known>,
    plans: BTreeMap<RunId, KnownPlan>,
    leases: BTreeMap<LeaseId, LeaseRow>,
    file_tasks: BTreeMap<TaskName, KnownFileTask>,
    agent: AgentProjection,
    /// Last catalog change among the entries of the request.
    catalog: Option<(u64, Digest)>,
    /// Documents that the request supplies.
    documents: Vec<Digest>,
}

/// Read access to the projection that a store has saved, for checking the entries to append next.
///
/// A store must read it in the transaction that appends the entries, so that no other entry can be appended in between.
pub trait ProjectionReader {
    /// Error returned when the projection cannot be read.
    type Error;

    /// Returns the state of a run, with the hash of its `EFFECT_STARTED` entry.
    ///
    /// # Errors
    /// Like all methods of this trait, returns an error if the store cannot be read.
    fn known(&self, run: RunId) -> Result<Option<Known>, Self::Error>;

    /// Returns the state of a plan, with the hashes of the entries that queued and answered it.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn known_plan(&self, plan: RunId) -> Result<Option<KnownPlan>, Self::Error>;

    /// Returns the state of a lease block.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn known_lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, Self::Error>;

    /// Returns the state of a file task, with the hash of the entry that started it.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn known_file_task(&self, task: &TaskName) -> Result<Option<KnownFileTask>, Self::Error>;

    /// Returns the reader for the projection of the Agent Execution Core.
    fn agent(&self) -> &dyn AgentReader<Error = Self::Error>;

    /// Returns the index and the hash of the last `CATALOG_CHANGED` entry, or those of the first entry of the log if the
    /// catalog was never changed.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn newest_catalog(&self) -> Result<Option<(u64, Digest)>, Self::Error>;

    /// Returns the hash of the entry with this index if it is an `ALERT_RAISED`.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn alert(&self, index: u64) -> Result<Option<Digest>, Self::Error>;

    /// Returns the run that made this attempt at a request.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn attempt(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
        attempt: u32,
    ) -> Result<Option<RunRow>, Self::Error>;

    /// Returns whether the store contains a document.
    ///
    /// # Errors
    /// See [`ProjectionReader::known`].
    fn has_document(&self, digest: &Digest) -> Result<bool, Self::Error>;
}

impl ProjectionUpdate {
    /// Checks whether the entries of a request can be appended to a log that has `size` entries, and computes the state after
    /// them.
    ///
    /// # Errors
    /// The outer result contains an error of the reader. The inner result contains a [`Refusal`] if an entry is not allowed.
    pub fn of_request<R: ProjectionReader>(
        stored: &R,
        entries: &[Prepared],
        size: u64,
    ) -> Result<Result<Self, Refusal>, R::Error> {
        let mut update = Self::default();
        for (entry, index) in entries.iter().zip(size..) {
            if let Err(refusal) = update.admit(stored, entry, index)? {
                return Ok(Err(refusal));
            }
        }
        Ok(Ok(update))
    }

    /// Checks and applies the next entry of the request, with its documents.
    fn admit<R: ProjectionReader>(
        &mut self,
        stored: &R,
        entry: &Prepared,
        index: u64,
    ) -> Result<Result<(), Refusal>, R::Error> {
        if let Err(refusal) = self.admit_facts(stored, entry.facts(), (index, entry.leaf()))? {
            return Ok(Err(refusal));
        }
        if let Err(refusal) = self.admit_agent(stored, entry.facts(), (index, entry.leaf()))? {
            return Ok(Err(refusal));
        }
        self.documents.extend(entry.documents().map(|(digest, _)| digest));
        for digest in &entry.facts().blobs {
            if !self.documents.contains(digest) && !stored.has_document(digest)? {
                return Ok(Err(Refusal::BlobMissing { digest: *digest }));
            }
        }
        Ok(Ok(()))
    }

    /// Checks and applies the next entry if it belongs to the Agent Execution Core.
    fn admit_agent<R: ProjectionReader>(
        &mut self,
        stored: &R,
        facts: &EntryFacts,
        (index, leaf): (u64, Digest),
    ) -> Result<Result<(), Refusal>, R::Error> {
        self.agent.observe(facts, index);
        let Some(event) = &facts.agent else { return Ok(Ok(())) };
        let overlay = Overlay { stored: stored.agent(), update: &self.agent };
        match agent::after(&overlay, event, index)? {
            Ok(change) => {
                self.agent.record(facts.kind, event.correlation(), index);
                self.agent.apply(change, (index, leaf));
                Ok(Ok(()))
            }
            Err(refusal) => Ok(Err(refusal.into())),
        }
    }

    fn admit_facts<R: ProjectionReader>(
        &mut self,
        stored: &R,
        facts: &EntryFacts,
        (index, leaf): (u64, Digest),
    ) -> Result<Result<(), Refusal>, R::Error> {
        let leases = match &facts.lease {
            Some(event) => lease_after(event, index, |lease| match self.leases.get(&lease) {
                Some(row) => Ok(Some(row.clone())),
                None => stored.known_lease(lease),
            })?,
            None => Ok(Vec::new()),
        };
        let leases = match leases {
            Ok(leases) => leases,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let file_task = match &facts.file_task {
            Some(event) => {
                let now = self.file_tasks.get(event.task()).cloned();
                let before = now.map_or_else(
                    || stored.known_file_task(event.task()),
                    |known| Ok(Some(known)),
                )?;
                match file_task_after(before.as_ref(), event, facts, (index, leaf)) {
                    Ok(known) => Some(known),
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
            None => None,
        };
        let before = match facts.run {
            Some(run) => {
                self.runs.get(&run).cloned().map_or_else(|| stored.known(run), |r| Ok(Some(r)))?
            }
            None => None,
        };
        let plan = match facts.plan {
            Some(plan) => {
                let now = self.plans.get(&plan).cloned();
                now.map_or_else(|| stored.known_plan(plan), |known| Ok(Some(known)))?
            }
            None => None,
        };
        let plan = match plan_after(plan.as_ref(), facts, (index, leaf)) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let known = match after(before.as_ref(), facts, (index, leaf)) {
            Ok(None) => {
                if facts.kind == EntryKind::CatalogChanged {
                    let newest = match self.catalog {
                        Some(newest) => Some(newest),
                        None => stored.newest_catalog()?,
                    };
                    if let Err(refusal) = catalog_follows(newest, facts) {
                        return Ok(Err(refusal));
                    }
                    self.catalog = Some((index, leaf));
                }
                if facts.kind == EntryKind::AlertSeen {
                    let alert = facts.follows.map(|(alert, _)| stored.alert(alert)).transpose()?;
                    if let Err(refusal) = alert_follows(alert.flatten(), facts) {
                        return Ok(Err(refusal));
                    }
                }
                self.plans.extend(plan.map(|known| (known.row.plan, known)));
                self.leases.extend(leases.into_iter().map(|row| (row.lease, row)));
                self.file_tasks.extend(file_task.map(|known| (known.row.task.clone(), known)));
                return Ok(Ok(()));
            }
            Ok(Some(known)) => known,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let row = &known.row;
        if let (EntryKind::EffectStarted, Some(request)) = (facts.kind, &row.request) {
            let same = |other: &&RunRow| {
                other.workspace == row.workspace
                    && other.request.as_ref() == Some(request)
                    && other.attempt == row.attempt
            };
            let other = match self.runs.values().map(|known| &known.row).find(same) {
                Some(other) => Some(other.clone()),
                None => stored.attempt(row.workspace, request, row.attempt)?,
            };
            if let Some(RunRow { run, workspace, attempt, started, .. }) = other {
                let request = request.clone();
                let refusal = Refusal::RequestStarted { workspace, request, attempt, run, started };
                return Ok(Err(refusal));
            }
        }
        self.plans.extend(plan.map(|known| (known.row.plan, known)));
        self.leases.extend(leases.into_iter().map(|row| (row.lease, row)));
        self.runs.insert(row.run, known);
        Ok(Ok(()))
    }

    /// Returns the new state of the runs that the entries change, for the store to save.
    pub fn runs(&self) -> impl Iterator<Item = &Known> {
        self.runs.values()
    }

    /// Returns the new state of the plans that the entries change, for the store to save.
    pub fn plans(&self) -> impl Iterator<Item = &KnownPlan> {
        self.plans.values()
    }

    /// Returns the new state of the lease blocks that the entries change, for the store to save.
    pub fn leases(&self) -> impl Iterator<Item = &LeaseRow> {
        self.leases.values()
    }

    /// Returns the changes that the entries make to the Agent Execution Core, for the store to save.
    pub fn agent(&self) -> &AgentProjection {
        &self.agent
    }

    /// Returns the new state of the file tasks that the entries change, for the store to save.
    pub fn file_tasks(&self) -> impl Iterator<Item = &KnownFileTask> {
        self.file_tasks.values()
    }
}
