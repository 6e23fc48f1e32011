//! Stage: what would change, computed under the lock, and nothing of it visible.

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

/// Among how many changes or undos in effect an actor's own is looked for.
const OWN_SEARCHED_MAX: usize = 1000;

/// Where a request stands once the workspace is known.
pub(crate) enum Stage<'e, D: Disk> {
    /// It is to be carried out.
    Staged(Box<Staged<'e, D>>),
    /// It was carried out before, under the same key.
    Answered(Box<Done>),
}

/// A request whose change is computed. It holds the workspace's lock; dropping it leaves no trace.
#[must_use = "what is staged is not cleared"]
pub struct Staged<'e, D: Disk> {
    pub(crate) begun: Begun<'e, D>,
    pub(crate) request: Request,
    /// The digest of what is asked for.
    pub(crate) plan: Digest,
    /// Which attempt at the request it is, counted from 1.
    pub(crate) attempt: u32,
    /// The run that it takes back.
    pub(crate) undoes: Option<RunId>,
    /// Facts about that run, where it is recorded.
    pub(crate) undone: Option<Undone>,
    /// The action that it is a part of.
    pub(crate) part_of: Option<PartOf>,
    /// Plan in the queue that the request carries out, once it was read.
    pub(crate) queued: Option<Box<QueuedPlan>>,
    /// Entries that are appended together with the intent of the run.
    pub(crate) accompanying: Vec<NewEntry>,
}

/// The action that a change is a part of.
#[derive(Debug)]
pub(crate) struct PartOf {
    /// Its name.
    pub(crate) action: RunId,
    /// Entries that it begins, where that is to be recorded with the change.
    pub(crate) begins: Vec<NewEntry>,
}

/// A workspace that is locked, in which each earlier run has its end; nothing is changed yet.
#[must_use = "what is begun is not staged"]
pub(crate) struct Begun<'e, D: Disk> {
    /// Where the change is computed.
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
    /// Locks the workspace. First the end of what earlier processes left open is recorded, from what the
    /// journal of the workspace says. The key that will sign must be fit to sign now.
    ///
    /// # Errors
    /// `Key`, `Policy`, `Ledger`; `Workspace` where it cannot be locked or recovered.
    pub(crate) fn begin(&mut self, options: RunOptions) -> Result<Begun<'_, D>> {
        let signer = self.records.signer()?;
        self.begin_with(options, signer, None)
    }

    /// Locks the workspace, for an inversion of the newest run if there is a `way`. That is refused once where recovery
    /// rolled back a run that was cut off: its caller may not know that this was done already.
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

    /// Computes what an admitted request would change, in a workspace that is locked for it.
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
        // Before the change is computed: else what is done already would be told as a change that does not fit.
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
    /// Counts the attempt at a request, or finds the receipt of the one that is in effect.
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

    /// The same with the umask that gives new files their mode, where it is not that of the process.
    pub(crate) fn under_umask(self, umask: Option<u32>) -> Self {
        let umask = umask.unwrap_or(self.transaction.umask());
        Self { transaction: self.transaction.with_umask(umask), ..self }
    }

    /// What was done on the transaction is what this request asks for: its operations, in their order and no others.
    /// It is this attempt at the request, and its limits are those that the transaction was begun with.
    ///
    /// # Errors
    /// `Record` where it cannot be written down.
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

/// What a request would change, computed without any record of it.
pub struct Preview<'w, D: Disk> {
    /// The change.
    pub transaction: Transaction<'w, D>,
    /// The run that it takes back.
    pub undoes: Option<RunId>,
    /// Facts about that run, where the caller found its record; without them its undo is judged as a new change.
    pub undone: Option<Undone>,
}

/// Computes what a request would change; nothing is recorded, and nothing can come of it. `facts` finds the record of a run.
///
/// # Errors
/// `Workspace` about any step.
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

/// A change that is computed.
struct Computed<'w, D: Disk> {
    transaction: Transaction<'w, D>,
    /// The run that it takes back.
    undoes: Option<RunId>,
    /// Facts about that run, where it is recorded.
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
            // The change that is taken back is the actor's own, and no run: it needs no record.
            let own = Undone { actor: request.actor.clone(), approved: false };
            (transaction, refused.map(|refused| (refused, Some(own))))
        }
    };
    let (undoes, undone) = taken_back.unzip();
    Ok(Computed { transaction, undoes, undone: undone.flatten() })
}

/// Finds the newest change in effect, or undo in effect, that is the actor's own. A run without a record is nobody else's.
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

/// Whether a run is the actor's own, as where its undo is free of the gates; an approval makes no difference.
fn is_own(undone: &Undone, actor: &Actor) -> bool {
    Undone { approved: false, ..undone.clone() }.is_free_for(actor)
}

/// Earlier attempts at a request.
pub(crate) struct Earlier {
    /// The number of the next attempt.
    pub(crate) next: u32,
    /// The receipt of the attempt that is in effect.
    pub(crate) done: Option<Box<Receipt>>,
}

impl Records {
    /// Rejects a run that the ledger knows of a workspace of this name and the workspace itself does not, unless it was
    /// forgotten: its files are those of a copy or of an older state, so the run had no effect on them.
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

    /// Looks for earlier attempts at the request of this key (AEC-7, D-8). An attempt that was undone, which `is_undone`
    /// answers, binds the key no more than one that never had an effect.
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
        // What is answered must outlive the machine, also where the process that recorded it did not live to see to that.
        // After the read, so that all of what was read is synced.
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
        // The workspace labels what it finds.
        (None, Work::Undo(_) | Work::Redo(_)) => String::new(),
        (None, Work::Adopt(_)) => "adopt what another program changed".to_owned(),
        (None, Work::Restore { refused: Some(refused), .. }) => {
            format!("take back the refused change {refused}")
        }
        (None, Work::Restore { refused: None, .. }) => "bring back what was there".to_owned(),
    }
}

impl<'e, D: Disk> Staged<'e, D> {
    /// The run that it takes back.
    pub fn undoes(&self) -> Option<RunId> {
        self.undoes
    }

    /// What is staged, to be looked at.
    pub fn transaction(&mut self) -> &mut Transaction<'e, D> {
        &mut self.begun.transaction
    }
}
