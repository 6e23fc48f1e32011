//! Stages a request: computes its change while the workspace is locked, without any visible effect.

use std::borrow::Cow;
use std::ops::ControlFlow;

use actum_access::Cedar;
use actum_core::{Digest, RunId, Status};
use actum_edit::Operation;
use actum_gate::Policy;
use actum_gate::decision::Undone;
use actum_ledger::{NewEntry, SigningKey};
use actum_record::ledger::{Actor, EffectStarted, RequestKey, WorkspaceId};
use actum_workspace::disk::Disk;
use actum_workspace::{RunOptions, Transaction, Workspace};

use crate::command::Runner;
use crate::engine::Engine;
use crate::engine::admit::Admitted;
use crate::engine::hold::approved_plan;
use crate::engine::resume::settle_open_runs;
use crate::engine::settle::Done;
use crate::error::{Error, Result};
use crate::forget;
use crate::place::Place;
use crate::queue::QueuedPlan;
use crate::recorded::{Receipt, RecordedRun};
use crate::records::Records;
use crate::request::{Inversion, Request, RequestLease, Which, Work};

/// Maximum number of runs that are searched for the newest one of the actor.
const OWN_SEARCHED_MAX: usize = 1000;

/// Outcome of staging a request.
pub(crate) enum Stage<'e, D: Disk> {
    /// The change of the request was computed and can be carried out.
    Staged(Box<Staged<'e, D>>),
    /// The request was already carried out under the same key.
    Answered(Box<Done>),
}

/// Request with its computed change. It holds the workspace lock, and dropping it discards the change without a trace.
#[must_use = "a staged change has no effect until it is cleared and published"]
pub struct Staged<'e, D: Disk> {
    pub(crate) begun: Begun<'e, D>,
    pub(crate) request: Request,
    /// Digest of the request.
    pub(crate) plan: Digest,
    /// Number of this attempt at the request, starting from 1.
    pub(crate) attempt: u32,
    /// Run that the request undoes, if any.
    pub(crate) undoes: Option<RunId>,
    /// Facts about the undone run, if it has a record.
    pub(crate) undone: Option<Undone>,
    /// Action that the change is a part of, if any.
    pub(crate) part_of: Option<PartOf>,
    /// Queued plan that the request carries out, once it has been read.
    pub(crate) queued: Option<Box<QueuedPlan>>,
    /// Additional ledger entries to append together with the intent of the run.
    pub(crate) accompanying: Vec<NewEntry>,
}

/// Action that a change is a part of.
#[derive(Debug)]
pub(crate) struct PartOf {
    /// Id of the action.
    pub(crate) action: RunId,
    /// Ledger entries for the start of the action. Empty if they have already been recorded.
    pub(crate) begins: Vec<NewEntry>,
}

/// Locked workspace in which the end of every earlier run is recorded, ready for a new change.
#[must_use = "no change is staged yet"]
pub(crate) struct Begun<'e, D: Disk> {
    /// Transaction in which the change is computed.
    pub(crate) transaction: Transaction<'e, D>,
    pub(crate) records: &'e Records,
    /// Root path of the workspace, escaped for use in records.
    pub(crate) root: &'e str,
    /// Root path and enclosing workspaces in the form that the gates use.
    pub(crate) place: &'e Place,
    pub(crate) policy: Policy,
    pub(crate) cedar: Cedar,
    /// Key that will sign the receipt of the run.
    pub(crate) signer: SigningKey,
    pub(crate) workspace: WorkspaceId,
    /// Runner for check commands. Without a runner, requests with checks are rejected.
    pub(crate) runner: Option<Cow<'e, Runner>>,
    /// Lease that applies if the request has no lease of its own.
    lease: Option<&'e RequestLease>,
}

impl<D: Disk> Engine<D> {
    /// Locks and recovers the workspace, and records the end of runs that earlier processes left open. Fails if the key
    /// that signs receipts cannot be used.
    ///
    /// # Errors
    /// `Key`, `Policy`, `Ledger`; `Workspace` if the workspace cannot be locked or recovered.
    pub(crate) fn begin(&mut self, options: RunOptions) -> Result<Begun<'_, D>> {
        let signer = self.records.signer()?;
        self.begin_with(options, signer, None)
    }

    /// Locks the workspace like [`begin`](Self::begin). `way` is given if the request undoes or redoes the newest run.
    ///
    /// Such a request is rejected once if recovery has rolled back an interrupted run. The caller may not know about
    /// the rollback, and may have wanted to undo that run instead of the one before it.
    pub(crate) fn begin_with(
        &mut self,
        options: RunOptions,
        signer: SigningKey,
        way: Option<Inversion>,
    ) -> Result<Begun<'_, D>> {
        let Self {
            workspace, records, rules, runner, lease, root, place, resumed, cut_off, ..
        } = self;
        let transaction = workspace.begin(options)?;
        let (policy, cedar) = rules.read(&records.ledger)?;
        let id = transaction.workspace_id()?;
        resumed.extend(settle_open_runs(&transaction, records, &signer, (id, root, place))?);
        cut_off.extend(records.settle_left_actions(id)?);
        let recovered = transaction.recovery().and_then(|recovery| recovery.unfinished);
        if let (Some(way), Some(run)) = (way, recovered)
            && self.reported_recovery.replace(run) != Some(run)
        {
            return Err(Error::RecoveredFirst { way, run });
        }
        let (runner, lease, workspace) = (runner.as_ref().map(Cow::Borrowed), lease.as_ref(), id);
        Ok(Begun {
            transaction,
            records,
            root,
            place,
            policy,
            cedar,
            signer,
            workspace,
            runner,
            lease,
        })
    }

    /// Locks the workspace, and computes the change of an admitted request in it.
    ///
    /// # Errors
    /// `Workspace` if the change cannot be computed; `Policy`, `Ledger`, `RequestKeyTaken`, `OutcomeUnknown`,
    /// `RecoveredFirst`.
    pub(crate) fn stage(&mut self, admitted: Admitted) -> Result<Stage<'_, D>> {
        let Admitted { request, plan, signer } = admitted;
        let way = match request.work {
            Work::Undo(Which::Newest) => Some(Inversion::Undo),
            Work::Redo(Which::Newest) => Some(Inversion::Redo),
            Work::Apply(_)
            | Work::Undo(Which::Run(_))
            | Work::Redo(Which::Run(_))
            | Work::Adopt(_)
            | Work::Restore { .. } => None,
        };
        let begun = self.begin_with(options(&request), signer, way)?;
        let attempt = match begun.attempt(request.key.as_ref(), plan)? {
            ControlFlow::Continue(attempt) => attempt,
            ControlFlow::Break(receipt) => {
                return Ok(Stage::Answered(Box::new(Done::before(*receipt))));
            }
        };
        // Read the plan before the change is computed. Otherwise, a plan that was already carried out would be reported
        // as a change that does not apply.
        let queued = request.plan.map(|plan| approved_plan(begun.records, plan, begun.workspace));
        let queued = queued.transpose()?.map(Box::new);
        let Begun { transaction, .. } = begun;
        let records = begun.records;
        let computed = compute(transaction, &request, &mut |run| records.undone(run))?;
        let Computed { transaction, undoes, undone } = computed;
        let begun = Begun { transaction, ..begun };
        let staged = begun.staged((request, plan), attempt);
        Ok(Stage::Staged(Box::new(Staged { undoes, undone, queued, ..staged })))
    }
}

impl<'e, D: Disk> Begun<'e, D> {
    /// Returns the number of the next attempt at a request, or the receipt of an earlier attempt that is still in
    /// effect.
    ///
    /// # Errors
    /// `RequestKeyTaken`, `OutcomeUnknown` or `WorkspaceIsACopy` if the key cannot be used; `Ledger` if earlier
    /// attempts cannot be read.
    pub(crate) fn attempt(
        &self,
        key: Option<&RequestKey>,
        plan: Digest,
    ) -> Result<ControlFlow<Box<Receipt>, u32>> {
        let Some(key) = key else { return Ok(ControlFlow::Continue(1)) };
        let undone = |receipt: &Receipt| {
            let run = receipt.statement.predicate.run;
            if !self.transaction.knows(run)? {
                self.records.check_forgotten(self.workspace, key, run)?;
            }
            Ok(self.transaction.undone_by(run)?.is_some())
        };
        Ok(match self.records.earlier((self.workspace, key, plan), undone)? {
            Earlier { done: None, next } => ControlFlow::Continue(next),
            Earlier { done: Some(receipt), .. } => ControlFlow::Break(receipt),
        })
    }

    /// Sets the umask that determines the mode of new files. If it is `None`, the umask of the process is used.
    pub(crate) fn under_umask(self, umask: Option<u32>) -> Self {
        let umask = umask.unwrap_or(self.transaction.umask());
        Self { transaction: self.transaction.with_umask(umask), ..self }
    }

    /// Stages a change that the caller has already made on the transaction. It must consist of exactly the operations
    /// of `request`, in their order, and the transaction must have been started with the limits of the request.
    ///
    /// # Errors
    /// `Record` if the request has no exact form in canonical JSON.
    pub(crate) fn done(self, request: Request, attempt: u32) -> Result<Staged<'e, D>> {
        let plan = request.digest()?;
        Ok(self.staged((request, plan), attempt))
    }

    fn staged(self, (mut request, plan): (Request, Digest), attempt: u32) -> Staged<'e, D> {
        request.lease = request.lease.or_else(|| self.lease.cloned());
        let quotas = request.lease.as_ref().map(RequestLease::quotas);
        let runner = match quotas {
            Some(quotas) => {
                self.runner.map(|runner| Cow::Owned(runner.into_owned().limited_by(quotas)))
            }
            None => self.runner,
        };
        let policy = match request.profile() {
            Some(profile) => self.policy.guarding(profile),
            None => self.policy,
        };
        let begun = Self { policy, runner, ..self };
        let (undoes, undone, part_of, queued) = (None, None, None, None);
        let accompanying = Vec::new();
        Staged { begun, request, plan, attempt, undoes, undone, part_of, queued, accompanying }
    }
}

/// Change of a request that was computed for display, without recording anything.
pub struct Preview<'w, D: Disk> {
    /// Transaction that contains the change.
    pub transaction: Transaction<'w, D>,
    /// Run that the request undoes, if any.
    pub undoes: Option<RunId>,
    /// Facts about the undone run, if the caller found its record. Without them, the gates evaluate the undo as a new
    /// change.
    pub undone: Option<Undone>,
}

/// Computes the change of a request without carrying it out or recording anything. `facts` looks up the record of a
/// run.
///
/// # Errors
/// `Workspace` if the workspace cannot be locked or the change cannot be computed.
pub fn preview<'w, D: Disk>(
    workspace: &'w mut Workspace<D>,
    request: &Request,
    facts: impl Fn(RunId) -> Option<Undone>,
) -> Result<Preview<'w, D>> {
    let transaction = workspace.begin(options(request))?;
    let computed = compute(transaction, request, &mut |run| Ok(facts(run)))?;
    let Computed { transaction, undoes, undone } = computed;
    Ok(Preview { transaction, undoes, undone })
}

pub(crate) fn options(request: &Request) -> RunOptions {
    RunOptions { limits: request.limits.clone(), label: label(request), wait: request.wait }
}

/// Change that was computed from a request.
struct Computed<'w, D: Disk> {
    transaction: Transaction<'w, D>,
    /// Run that the change undoes, if any.
    undoes: Option<RunId>,
    /// Facts about the undone run, if it has a record.
    undone: Option<Undone>,
}

/// Computes the change of a request in a transaction.
fn compute<'w, D: Disk>(
    transaction: Transaction<'w, D>,
    request: &Request,
    facts: &mut dyn FnMut(RunId) -> Result<Option<Undone>>,
) -> Result<Computed<'w, D>> {
    let umask = request.umask.unwrap_or(transaction.umask());
    let mut transaction = transaction.with_umask(umask).with_images(request.images.clone());
    transaction.carry_out_plan(request.plan);
    let (transaction, inverted) = match &request.work {
        Work::Apply(operations) => {
            transaction.operate_all(operations)?;
            (transaction, None)
        }
        Work::Undo(Which::Run(run)) => (transaction.undo(*run)?, Some((*run, facts(*run)?))),
        Work::Undo(Which::Newest) => {
            let (run, undone) = newest_of(&transaction, Inversion::Undo, &request.actor, facts)?;
            (transaction.undo(run)?, Some((run, undone)))
        }
        Work::Redo(Which::Run(run)) => {
            let (undo, transaction) = transaction.redo(*run)?;
            (transaction, Some((undo, facts(undo)?)))
        }
        Work::Redo(Which::Newest) => {
            let (run, undone) = newest_of(&transaction, Inversion::Redo, &request.actor, facts)?;
            let (undo, transaction) = transaction.redo(run)?;
            (transaction, Some((undo, undone)))
        }
        Work::Adopt(snapshot) => {
            transaction.adopt(*snapshot)?;
            (transaction, None)
        }
        Work::Restore { snapshot, refused, found } => {
            transaction.restore(*snapshot, *refused, found)?;
            // The rejected change was made by the same actor and is not a run, so it has no record to look up.
            let own = Undone { actor: request.actor.clone(), approved: false };
            (transaction, refused.map(|refused| (refused, Some(own))))
        }
    };
    let (undoes, undone) = inverted.unzip();
    Ok(Computed { transaction, undoes, undone: undone.flatten() })
}

/// Finds the newest change or undo in effect that the actor made. Runs without a record are treated as the actor's own.
fn newest_of<D: Disk>(
    transaction: &Transaction<'_, D>,
    way: Inversion,
    actor: &Actor,
    facts: &mut dyn FnMut(RunId) -> Result<Option<Undone>>,
) -> Result<(RunId, Option<Undone>)> {
    let newest = match way {
        Inversion::Undo => transaction.newest_in_effect()?,
        Inversion::Redo => transaction.newest_undo_in_effect()?,
    };
    let by = match facts(newest)? {
        Some(undone) if !is_own(&undone, actor) => undone.actor,
        undone => return Ok((newest, undone)),
    };
    let in_effect = match way {
        Inversion::Undo => transaction.runs_in_effect(OWN_SEARCHED_MAX)?,
        Inversion::Redo => transaction.undos_in_effect(OWN_SEARCHED_MAX)?,
    };
    for run in in_effect.into_iter().skip(1) {
        let undone = facts(run)?;
        if undone.as_ref().is_none_or(|undone| is_own(undone, actor)) {
            return Ok((run, undone));
        }
    }
    Err(Error::OnlyOthersRuns { way, run: newest, by })
}

/// Returns whether a run belongs to the actor, ignoring whether it had an approval.
fn is_own(undone: &Undone, actor: &Actor) -> bool {
    Undone { approved: false, ..undone.clone() }.is_free_for(actor)
}

/// Result of a search for earlier attempts at a request.
pub(crate) struct Earlier {
    /// Number of the next attempt.
    pub(crate) next: u32,
    /// Receipt of the attempt whose change is still in effect, if there is one.
    pub(crate) done: Option<Box<Receipt>>,
}

impl Records {
    /// Checks why the workspace does not know a run that the ledger has recorded for its id.
    ///
    /// This is fine if the history of the run was removed. Otherwise, the workspace is a copy or an older state of the
    /// recorded one, so its files lack the change of the run.
    ///
    /// # Errors
    /// `WorkspaceIsACopy` if the history of the run was not removed; `Ledger` if the ledger cannot be read.
    pub(crate) fn check_forgotten(
        &self,
        workspace: WorkspaceId,
        key: &RequestKey,
        run: RunId,
    ) -> Result<()> {
        let is_run = |of, forgotten| (of, forgotten) == (workspace, run);
        let forgotten =
            self.ledger.read(|log| forget::forgotten_run(log, self.keyring(), is_run))?;
        match forgotten {
            Some(_) => Ok(()),
            None => Err(Error::WorkspaceIsACopy { key: key.clone(), run }),
        }
    }

    /// Finds earlier attempts at the request with this key (AEC-7, D-8). The key can be reused if an attempt had no
    /// effect or was undone, which `is_undone` reports.
    ///
    /// # Errors
    /// `Ledger`; `RequestKeyTaken`, `OutcomeUnknown`; errors of `is_undone`.
    pub(crate) fn earlier(
        &self,
        (workspace, key, plan): (WorkspaceId, &RequestKey, Digest),
        mut is_undone: impl FnMut(&Receipt) -> Result<bool>,
    ) -> Result<Earlier> {
        let attempts: Vec<(EffectStarted, Receipt)> = self.ledger.read(|log| {
            let rows = log.request(workspace, key)?;
            let recorded = rows.into_iter().map(|row| RecordedRun::read(log, self.keyring(), row));
            let ended = |recorded: RecordedRun| Some((recorded.intent, recorded.receipt?.0));
            recorded.filter_map(|recorded| recorded.map(ended).transpose()).collect()
        })?;
        // The answer must survive a power failure, even if the process that recorded these entries was killed before it
        // synced them. Sync after the read, so that everything that was read is covered.
        if !attempts.is_empty() {
            self.ledger.make_durable().wait()?;
        }
        let mut earlier = Earlier { next: 1, done: None };
        for (intent, receipt) in attempts {
            let (key, run) = (key.clone(), intent.run);
            earlier.next = earlier.next.max(intent.attempt.saturating_add(1));
            match receipt.status() {
                Status::Reverted | Status::Rejected | Status::Queued => {}
                Status::Succeeded if is_undone(&receipt)? => {}
                _ if receipt.statement.predicate.plan != plan => {
                    return Err(Error::RequestKeyTaken { key, run });
                }
                Status::Succeeded => earlier.done = Some(Box::new(receipt)),
                Status::Failed => return Err(Error::OutcomeUnknown { key, run }),
            }
        }
        Ok(earlier)
    }
}

fn label(request: &Request) -> String {
    match (&request.label, &request.work) {
        (Some(label), _) => label.clone(),
        (None, Work::Apply(operations)) => Operation::summary(operations),
        // The workspace sets the label once it knows the run to undo or redo.
        (None, Work::Undo(_) | Work::Redo(_)) => String::new(),
        (None, Work::Adopt(_)) => "adopt changes of another program".to_owned(),
        (None, Work::Restore { refused: Some(refused), .. }) => {
            format!("roll back the rejected change {refused}")
        }
        (None, Work::Restore { refused: None, .. }) => "restore the files of a snapshot".to_owned(),
    }
}

impl<'e, D: Disk> Staged<'e, D> {
    /// Returns the run that the change undoes, if any.
    pub fn undoes(&self) -> Option<RunId> {
        self.undoes
    }

    /// Returns the transaction that contains the staged change.
    pub fn transaction(&mut self) -> &mut Transaction<'e, D> {
        &mut self.begun.transaction
    }
}
