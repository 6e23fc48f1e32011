//! Stage: computes the change under the lock, without any visible effect.

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
use crate::request::{Request, RequestLease, WayBack, Which, Work};

/// Number of changes or undos in effect that are searched for the actor's own.
const OWN_SEARCHED_MAX: usize = 1000;

/// State of a request once the workspace is known.
pub(crate) enum Stage<'e, D: Disk> {
    /// The request will be carried out.
    Staged(Box<Staged<'e, D>>),
    /// The request was carried out before, under the same key.
    Answered(Box<Done>),
}

/// Request with its computed change. It holds the workspace's lock; dropping it leaves no trace.
#[must_use = "what is staged is not cleared"]
pub struct Staged<'e, D: Disk> {
    pub(crate) begun: Begun<'e, D>,
    pub(crate) request: Request,
    /// Digest of the request.
    pub(crate) plan: Digest,
    /// Number of this attempt at the request, counted from 1.
    pub(crate) attempt: u32,
    /// Run that the request undoes.
    pub(crate) undoes: Option<RunId>,
    /// Facts about that run, if it is recorded.
    pub(crate) undone: Option<Undone>,
    /// Action that the request is a part of.
    pub(crate) part_of: Option<PartOf>,
    /// Queued plan that the request carries out, once it has been read.
    pub(crate) queued: Option<Box<QueuedPlan>>,
    /// Entries that are appended together with the intent of the run.
    pub(crate) accompanying: Vec<NewEntry>,
}

/// Action that a change is a part of.
#[derive(Debug)]
pub(crate) struct PartOf {
    /// Id of the action.
    pub(crate) action: RunId,
    /// Entries of the action's start, if they are recorded together with the change.
    pub(crate) begins: Vec<NewEntry>,
}

/// Locked workspace in which each earlier run has its end. Nothing is changed yet.
#[must_use = "what is begun is not staged"]
pub(crate) struct Begun<'e, D: Disk> {
    /// Transaction in which the change is computed.
    pub(crate) transaction: Transaction<'e, D>,
    pub(crate) records: &'e Records,
    /// Root path as written in records.
    pub(crate) root: &'e str,
    /// Root path and enclosing workspaces, for the gates.
    pub(crate) place: &'e Place,
    pub(crate) policy: Policy,
    pub(crate) cedar: Cedar,
    /// Key that signs the receipt.
    pub(crate) signer: SigningKey,
    pub(crate) workspace: WorkspaceId,
    /// Runner of checks; without one a request with checks is rejected.
    pub(crate) runner: Option<Cow<'e, Runner>>,
    /// Lease of a request that has none of its own.
    lease: Option<&'e RequestLease>,
}

impl<D: Disk> Engine<D> {
    /// Locks the workspace, and records the end of runs that earlier processes left open, from the journal of the
    /// workspace. The key for the receipt must be usable now.
    ///
    /// # Errors
    /// `Key`, `Policy`, `Ledger`; `Workspace` if it cannot be locked or recovered.
    pub(crate) fn begin(&mut self, options: RunOptions) -> Result<Begun<'_, D>> {
        let signer = self.records.signer()?;
        self.begin_with(options, signer, None)
    }

    /// Locks the workspace, for an inversion of the newest run if there is a `way`. That inversion is rejected once if
    /// recovery rolled back an interrupted run, since its caller may not know about the roll back.
    pub(crate) fn begin_with(
        &mut self,
        options: RunOptions,
        signer: SigningKey,
        way: Option<WayBack>,
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
            && self.told_recovered.replace(run) != Some(run)
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

    /// Computes the change of an admitted request, in a workspace that is locked for it.
    ///
    /// # Errors
    /// `Workspace` about any step; `Policy`, `Ledger`, `RequestKeyTaken`, `OutcomeUnknown`, `RecoveredFirst`.
    pub(crate) fn stage(&mut self, admitted: Admitted) -> Result<Stage<'_, D>> {
        let Admitted { request, plan, signer } = admitted;
        let way = match request.work {
            Work::Undo(Which::Newest) => Some(WayBack::Undo),
            Work::Redo(Which::Newest) => Some(WayBack::Redo),
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
        // Read before the change is computed: a finished plan must not be reported as a change that does not fit.
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
    /// Counts the attempt at a request, or finds the receipt of the attempt in effect.
    ///
    /// # Errors
    /// `Ledger`, `RequestKeyTaken`, `OutcomeUnknown`, `WorkspaceIsACopy`.
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

    /// Sets the umask for the mode of new files, if it is not that of the process.
    pub(crate) fn under_umask(self, umask: Option<u32>) -> Self {
        let umask = umask.unwrap_or(self.transaction.umask());
        Self { transaction: self.transaction.with_umask(umask), ..self }
    }

    /// Stages a change that the caller made on the transaction: exactly the operations of this request, in their
    /// order. It is this attempt at the request, under the limits with which the transaction began.
    ///
    /// # Errors
    /// `Record` if it cannot be written.
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

/// Change of a request, computed without any record of it.
pub struct Preview<'w, D: Disk> {
    /// Transaction with the change.
    pub transaction: Transaction<'w, D>,
    /// Run that the request undoes.
    pub undoes: Option<RunId>,
    /// Facts about that run, if the caller found its record. Without them its undo is judged as a new change.
    pub undone: Option<Undone>,
}

/// Computes the change of a request without recording it or carrying it out. `facts` finds the record of a run.
///
/// # Errors
/// `Workspace` for any step.
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

/// Computed change.
struct Computed<'w, D: Disk> {
    transaction: Transaction<'w, D>,
    /// Run that the change undoes.
    undoes: Option<RunId>,
    /// Facts about that run, if it is recorded.
    undone: Option<Undone>,
}

/// Computes the change.
fn compute<'w, D: Disk>(
    transaction: Transaction<'w, D>,
    request: &Request,
    facts: &mut dyn FnMut(RunId) -> Result<Option<Undone>>,
) -> Result<Computed<'w, D>> {
    let umask = request.umask.unwrap_or(transaction.umask());
    let mut transaction = transaction.with_umask(umask).with_images(request.images.clone());
    transaction.carry_out_plan(request.plan);
    let (transaction, taken_back) = match &request.work {
        Work::Apply(operations) => {
            transaction.operate_all(operations)?;
            (transaction, None)
        }
        Work::Undo(Which::Run(run)) => (transaction.undo(*run)?, Some((*run, facts(*run)?))),
        Work::Undo(Which::Newest) => {
            let (run, undone) = newest_of(&transaction, WayBack::Undo, &request.actor, facts)?;
            (transaction.undo(run)?, Some((run, undone)))
        }
        Work::Redo(Which::Run(run)) => {
            let (undo, transaction) = transaction.redo(*run)?;
            (transaction, Some((undo, facts(undo)?)))
        }
        Work::Redo(Which::Newest) => {
            let (run, undone) = newest_of(&transaction, WayBack::Redo, &request.actor, facts)?;
            let (undo, transaction) = transaction.redo(run)?;
            (transaction, Some((undo, undone)))
        }
        Work::Adopt(snapshot) => {
            transaction.adopt(*snapshot)?;
            (transaction, None)
        }
        Work::Restore { snapshot, refused, found } => {
            transaction.restore(*snapshot, *refused, found)?;
            // The reverted change is the actor's own and not a run, so it needs no record.
            let own = Undone { actor: request.actor.clone(), approved: false };
            (transaction, refused.map(|refused| (refused, Some(own))))
        }
    };
    let (undoes, undone) = taken_back.unzip();
    Ok(Computed { transaction, undoes, undone: undone.flatten() })
}

/// Finds the newest change or undo in effect that is the actor's own. A run without a record counts as the actor's.
fn newest_of<D: Disk>(
    transaction: &Transaction<'_, D>,
    way: WayBack,
    actor: &Actor,
    facts: &mut dyn FnMut(RunId) -> Result<Option<Undone>>,
) -> Result<(RunId, Option<Undone>)> {
    let newest = match way {
        WayBack::Undo => transaction.newest_in_effect()?,
        WayBack::Redo => transaction.newest_undo_in_effect()?,
    };
    let by = match facts(newest)? {
        Some(undone) if !is_own(&undone, actor) => undone.actor,
        undone => return Ok((newest, undone)),
    };
    let in_effect = match way {
        WayBack::Undo => transaction.runs_in_effect(OWN_SEARCHED_MAX)?,
        WayBack::Redo => transaction.undos_in_effect(OWN_SEARCHED_MAX)?,
    };
    for run in in_effect.into_iter().skip(1) {
        let undone = facts(run)?;
        if undone.as_ref().is_none_or(|undone| is_own(undone, actor)) {
            return Ok((run, undone));
        }
    }
    Err(Error::OnlyOthersRuns { way, run: newest, by })
}

/// Returns true if a run is the actor's own, so that its undo is free of the gates. An approval makes no difference.
fn is_own(undone: &Undone, actor: &Actor) -> bool {
    Undone { approved: false, ..undone.clone() }.is_free_for(actor)
}

/// Earlier attempts at a request.
pub(crate) struct Earlier {
    /// Number of the next attempt.
    pub(crate) next: u32,
    /// Receipt of the attempt in effect.
    pub(crate) done: Option<Box<Receipt>>,
}

impl Records {
    /// Rejects a run that the ledger has for a workspace of this name and the workspace itself does not, unless its
    /// history was removed. Such a workspace is a copy or an older state, so the run had no effect on its files.
    ///
    /// # Errors
    /// `WorkspaceIsACopy`, `Ledger`.
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

    /// Finds earlier attempts at the request with this key (AEC-7, D-8). An attempt that was undone, as `is_undone`
    /// reports, does not bind the key, and neither does one without any effect.
    ///
    /// # Errors
    /// `Ledger`; `RequestKeyTaken`, `OutcomeUnknown`; those of `is_undone`.
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
        // The answer must survive a power cut, even if the process that recorded it ended before its sync. The sync
        // follows the read, to cover all that was read.
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
        // The workspace sets the label once it has found the run.
        (None, Work::Undo(_) | Work::Redo(_)) => String::new(),
        (None, Work::Adopt(_)) => "adopt what another program changed".to_owned(),
        (None, Work::Restore { refused: Some(refused), .. }) => {
            format!("take back the refused change {refused}")
        }
        (None, Work::Restore { refused: None, .. }) => "bring back what was there".to_owned(),
    }
}

impl<'e, D: Disk> Staged<'e, D> {
    /// Returns the run that the change undoes.
    pub fn undoes(&self) -> Option<RunId> {
        self.undoes
    }

    /// Returns the staged change for inspection.
    pub fn transaction(&mut self) -> &mut Transaction<'e, D> {
        &mut self.begun.transaction
    }
}
