//! Engine of a workspace, through whose pipeline every effect passes.

pub(crate) mod access;
pub(crate) mod admit;
pub(crate) mod binding;
pub(crate) mod clear;
pub(crate) mod hold;
pub(crate) mod observer;
pub(crate) mod outcome;
pub(crate) mod publish;
pub(crate) mod resume;
pub(crate) mod scan;
pub(crate) mod settle;
mod snapshot;
pub(crate) mod stage;
pub(crate) mod staged_run;
pub(crate) mod verify;

use std::any::Any;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actum_access::Cedar;
use actum_core::RunId;
use actum_core::path::Quoted;
use actum_edit::format::RootPrefix;
use actum_gate::Policy;
use actum_ledger::{Ledger, LedgerError};
use actum_record::ledger::WorkspaceId;
use actum_workspace::disk::Disk;
use actum_workspace::{LinuxDisk, Recovery, RunOptions, STATE_DIRECTORY, Workspace};

use crate::command::Runner;
use crate::engine::binding::{check_ledger, withholds};
use crate::engine::observer::{NoObserver, Observer};
use crate::engine::resume::{Resumed, settle_open_runs};
use crate::engine::settle::Done;
use crate::engine::stage::{Stage, Staged};
use crate::error::{BoundWorkspace, Error, Result};
use crate::pipeline_host::PipelineHost;
use crate::place::Place;
use crate::plugin::PluginCode;
use crate::policies::{PolicyFiles, PolicyInForce};
use crate::records::Records;
use crate::request::{Request, RequestLease};
use crate::sql_host::SqlHost;

/// Function that creates a guard, which is held while a change is published and recorded.
pub(crate) type Hold = Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>;

/// Source from which the policy is read.
#[derive(Clone)]
pub(crate) enum Rules {
    /// Fixed policy, which does not change while the engine exists.
    Fixed(Policy, Cedar),
    /// Policy files, which are read again for each request, and the root of the workspace.
    Files(PolicyFiles, PathBuf),
}

impl Rules {
    /// Returns the policy that is in force now, with the evaluator for its access policies. Also applies the policy's
    /// size limit to the ledger.
    pub(crate) fn read(&self, ledger: &Ledger) -> Result<(Policy, Cedar)> {
        match self {
            Self::Fixed(policy, cedar) => Ok((policy.clone(), cedar.clone())),
            Self::Files(files, root) => {
                let PolicyInForce { policy, cedar, ledger_bytes, .. } = files.read(root)?;
                ledger.limit(ledger_bytes);
                Ok((policy, cedar))
            }
        }
    }

    /// Returns the policy that is in force in the workspace at `root`. Also applies the policy's size limit to the
    /// ledger.
    pub(crate) fn in_force(&self, root: &Path, ledger: &Ledger) -> Result<PolicyInForce> {
        match self {
            Self::Fixed(policy, cedar) => {
                Ok(PolicyInForce::fixed(policy.clone(), cedar.clone(), root))
            }
            Self::Files(files, root) => {
                let in_force = files.read(root)?;
                ledger.limit(in_force.ledger_bytes);
                Ok(in_force)
            }
        }
    }

    /// Returns the operator's permission to run plugin code, if there is one. A fixed policy never permits it.
    pub(crate) fn plugin_code(&self) -> Result<Option<PluginCode>> {
        match self {
            Self::Fixed(..) => Ok(None),
            Self::Files(files, root) => Ok(files.read(root)?.plugin_code()),
        }
    }
}

/// Carries out requests in a workspace, and records every change in the ledger.
pub struct Engine<D: Disk = LinuxDisk> {
    pub(crate) workspace: Workspace<D>,
    pub(crate) records: Records,
    pub(crate) rules: Rules,
    /// Runner for check commands.
    pub(crate) runner: Option<Runner>,
    /// Host for the SQL steps of tasks.
    pub(crate) sql: Option<SqlHost>,
    /// Host for the pipelines of tasks.
    pub(crate) pipelines: Option<PipelineHost>,
    /// Lease that applies to requests without a lease of their own.
    pub(crate) lease: Option<RequestLease>,
    /// Creates the guard that is held while the change of an action is published and recorded.
    pub(crate) hold: Option<Hold>,
    /// Root path of the workspace, escaped for use in records.
    pub(crate) root: String,
    /// Root path of the workspace in the form that the gates use.
    place: Place,
    resumed: Vec<Resumed>,
    /// Run whose recovery was already reported to a request, so that it is reported only once.
    reported_recovery: Option<RunId>,
    /// Interrupted actions of earlier processes whose end this engine recorded.
    cut_off: Vec<RunId>,
}

// INVARIANT: `Engine` is `Send`, so that it can be moved to the thread that serves its workspace.
const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Engine>();
};

impl<D: Disk> Engine<D> {
    /// Returns the prefix for absolute paths in a change, which is the workspace root. If the root path contains a
    /// backslash, returns no prefix, because the path may then be known only in escaped form.
    pub(crate) fn root_prefix(&self) -> RootPrefix {
        match self.root.contains('\\') {
            true => RootPrefix::NONE.clone(),
            false => RootPrefix::new(self.root.as_bytes()),
        }
    }
}

impl Engine<LinuxDisk> {
    /// Opens the workspace at `root`, and creates its state directory if it does not exist.
    ///
    /// # Errors
    /// Same as [`Workspace::open`]; `BoundElsewhere` if it belongs to another ledger; `HomeInside` if it overlaps with
    /// the directory of ledgers and keys.
    pub fn open(root: impl AsRef<Path>, records: Records) -> Result<Self> {
        let root = root.as_ref();
        records.check_outside(root)?;
        // For an existing workspace, the first run checks the ledger while it holds the lock.
        if root.join(STATE_DIRECTORY).symlink_metadata().is_err() {
            let ledger = records.own_ledger()?; // Fails before anything is created.
            check_ledger::<Error>(root, BoundWorkspace::This, || Ok(Some(ledger)))?;
        }
        Ok(Self::new(Workspace::open(root)?, root, records))
    }

    /// Opens the workspace at `root`, which must already exist.
    ///
    /// # Errors
    /// Same as [`Workspace::open_existing`]; `HomeInside` if it overlaps with the directory of ledgers and keys.
    pub fn open_existing(root: impl AsRef<Path>, records: Records) -> Result<Self> {
        let root = root.as_ref();
        records.check_outside(root)?;
        Ok(Self::new(Workspace::open_existing(root)?, root, records))
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Takes a staged change through the gates and checks, publishes it, and records how the run ended.
    ///
    /// # Errors
    /// Same as [`Engine::run_with`].
    pub(crate) fn carry_out<O: Observer<D>>(mut self, observer: &mut O) -> Result<Done, O::Stop> {
        observer.staged(&mut self)?;
        let mut cleared = self.clear()?;
        observer.cleared(&mut cleared)?;
        let mut verified = cleared.verify()?;
        observer.verified(&mut verified)?;
        let mut published = verified.publish(|| observer.checkpoint())?;
        if published.is_committed() {
            published.external = observer.published(&published.intent.started.external);
        }
        Ok(published.settle()?)
    }
}

impl<D: Disk> Engine<D> {
    /// Creates an engine for an open workspace at `root`.
    pub fn new(mut workspace: Workspace<D>, root: &Path, records: Records) -> Self {
        workspace.set_withholds(withholds(root));
        let (place, root) = (Place::new(root), Quoted(root.as_os_str().as_bytes()).to_string());
        let rules = Rules::Fixed(Policy::default(), Cedar::default());
        Self {
            workspace,
            records,
            rules,
            runner: None,
            sql: None,
            pipelines: None,
            lease: None,
            hold: None,
            root,
            place,
            resumed: Vec::new(),
            reported_recovery: None,
            cut_off: Vec::new(),
        }
    }

    /// Returns the root path of the workspace, escaped as in records.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Sets a fixed policy. By default, the built-in policy is in force.
    #[must_use]
    pub fn under(mut self, policy: Policy) -> Self {
        self.rules = Rules::Fixed(policy, Cedar::default());
        self
    }

    /// Sets the policy files for the workspace at `root`. They are read again for each request, while the workspace is
    /// locked.
    #[must_use]
    pub fn under_files(mut self, files: PolicyFiles, root: &Path) -> Self {
        self.rules = Rules::Files(files, root.to_owned());
        self
    }

    /// Sets the runner for check commands. Without a runner, requests with checks are rejected.
    #[must_use]
    pub fn running(mut self, runner: Runner) -> Self {
        let quotas = self.lease.as_ref().map(RequestLease::quotas);
        self.runner = Some(runner.limited_by(quotas.unwrap_or_default()));
        self
    }

    /// Sets the host for SQL steps. Without a host, task plans with SQL steps are rejected.
    #[must_use]
    pub fn running_sql(mut self, sql: SqlHost) -> Self {
        self.sql = Some(sql);
        self
    }

    /// Sets the host for pipelines. Without a host, task plans with pipelines are rejected.
    #[must_use]
    pub fn running_pipelines(mut self, pipelines: PipelineHost) -> Self {
        self.pipelines = Some(pipelines);
        self
    }

    /// Sets the lease that applies to requests without a lease of their own. Its quotas limit the commands.
    #[must_use]
    pub fn under_lease(mut self, lease: RequestLease) -> Self {
        self.runner = self.runner.map(|runner| runner.limited_by(lease.quotas()));
        self.lease = Some(lease);
        self
    }

    /// Sets a function that creates a guard against interruption. It is called before the change of an action is
    /// published, and the guard is held until the caller drops the result of the action.
    #[must_use]
    pub fn holding(mut self, hold: impl Fn() -> Box<dyn Any> + Send + Sync + 'static) -> Self {
        self.hold = Some(Arc::new(hold));
        self
    }

    /// Carries out a request completely or not at all, and records how it ended.
    ///
    /// If a request with the same key was already carried out, returns its receipt without any further effect.
    ///
    /// # Errors
    /// [`Error`], which includes the state of the workspace.
    pub fn run(&mut self, request: Request) -> Result<Done> {
        self.run_with(request, &mut NoObserver)
    }

    /// Carries out a request like [`run`](Self::run), and calls `observer` after each step. The observer is not called
    /// for a request that was already carried out.
    ///
    /// # Errors
    /// Same as [`run`](Self::run), plus errors of the observer.
    pub fn run_with<O: Observer<D>>(
        &mut self,
        request: Request,
        observer: &mut O,
    ) -> Result<Done, O::Stop> {
        let admitted = self.admit(request)?;
        match self.stage(admitted)? {
            Stage::Answered(done) => Ok(*done),
            Stage::Staged(staged) => staged.carry_out(observer),
        }
    }

    /// Recovers the workspace, and records the end of runs that earlier processes left open. Every run starts with this
    /// step; call this method to perform it without a run.
    ///
    /// # Errors
    /// `Workspace` if the workspace cannot be locked or recovered; `Ledger` or `Key` if the end of a run cannot be
    /// recorded.
    pub fn resume(&mut self) -> Result<WorkspaceId> {
        let signer = self.records.signer()?;
        let options = RunOptions { label: "recover".to_owned(), ..RunOptions::default() };
        let transaction = self.workspace.begin(options)?;
        let workspace = transaction.workspace_id()?;
        self.resumed.extend(settle_open_runs(
            &transaction,
            &self.records,
            &signer,
            (workspace, &self.root, &self.place),
        )?);
        self.cut_off.extend(self.records.settle_left_actions(workspace)?);
        Ok(workspace)
    }

    /// Removes the on-disk captures that were left by killed processes or whose plans have left the queue. Returns the
    /// number of removed captures.
    ///
    /// # Errors
    /// `Workspace` if the captures cannot be listed or removed; `Ledger` if the queue cannot be read.
    pub fn sweep_captures(&self) -> Result<usize> {
        self.workspace.sweep_captures(|| {
            let plans = self.records.ledger.read(|log| log.open_plans())?;
            Ok(plans.into_iter().map(|row| row.plan).collect())
        })
    }

    /// Waits for the background work of the ledger to finish. Returns an error if a checkpoint could not be signed, in
    /// which case all runs are recorded nevertheless.
    pub fn finish(&self) -> Option<LedgerError> {
        self.records.ledger.finish()
    }

    /// Returns a report of what was recovered since the workspace was opened, if anything was.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.workspace.recovery()
    }

    /// Returns the runs of earlier processes whose end this engine recorded.
    pub fn resumed(&self) -> &[Resumed] {
        &self.resumed
    }

    /// Returns the interrupted actions of earlier processes whose end this engine recorded.
    pub fn cut_off(&self) -> &[RunId] {
        &self.cut_off
    }

    /// Returns the records of the engine, which hold the ledger, the keys and the clock.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Returns the workspace of the engine.
    pub fn workspace(&self) -> &Workspace<D> {
        &self.workspace
    }

    /// Returns a mutable reference to the workspace, for operations that do not change its files.
    pub fn workspace_mut(&mut self) -> &mut Workspace<D> {
        &mut self.workspace
    }
}
