//! Engine: the one pipeline of every effect.

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

/// Returns a guard that is held while a change is published and recorded.
pub(crate) type Hold = Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>;

/// Source of the policy.
#[derive(Clone)]
pub(crate) enum Rules {
    Fixed(Policy, Cedar),
    /// Files, and the root of the workspace.
    Files(PolicyFiles, PathBuf),
}

impl Rules {
    /// Returns the policy in force now and the evaluator of access policies. Limits the ledger as the policy requires.
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

    /// Returns the policy in force in the workspace at `root`. Limits the ledger as [`read`](Self::read) does.
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

    /// Returns the permission to run plugin code, if the operator granted it. A fixed policy grants none.
    pub(crate) fn plugin_code(&self) -> Result<Option<PluginCode>> {
        match self {
            Self::Fixed(..) => Ok(None),
            Self::Files(files, root) => Ok(files.read(root)?.plugin_code()),
        }
    }
}

/// Workspace, with the records of its changes.
pub struct Engine<D: Disk = LinuxDisk> {
    pub(crate) workspace: Workspace<D>,
    pub(crate) records: Records,
    pub(crate) rules: Rules,
    /// Runner of checks.
    pub(crate) runner: Option<Runner>,
    /// Runner of the SQL steps of tasks.
    pub(crate) sql: Option<SqlHost>,
    /// Host of the pipelines of tasks.
    pub(crate) pipelines: Option<PipelineHost>,
    /// Lease of requests that have none of their own.
    pub(crate) lease: Option<RequestLease>,
    /// Guard that is held while a change becomes visible and is recorded.
    pub(crate) hold: Option<Hold>,
    /// Path of the workspace, for the reader of a record.
    pub(crate) root: String,
    /// Path of the workspace, for the gates.
    place: Place,
    resumed: Vec<Resumed>,
    /// Recovered run that has been reported to a request.
    told_recovered: Option<RunId>,
    /// Interrupted actions of earlier processes whose end was recorded.
    cut_off: Vec<RunId>,
}

// INVARIANT: an engine can be moved to the thread that serves its workspace.
const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Engine>();
};

impl<D: Disk> Engine<D> {
    /// Returns the root that absolute paths in a change may be below, or none if the path of the root is known only
    /// escaped.
    pub(crate) fn root_prefix(&self) -> RootPrefix {
        match self.root.contains('\\') {
            true => RootPrefix::NONE.clone(),
            false => RootPrefix::new(self.root.as_bytes()),
        }
    }
}

impl Engine<LinuxDisk> {
    /// Opens the workspace at `root`, creating its state directory if it is missing.
    ///
    /// # Errors
    /// As [`Workspace::open`]; `BoundElsewhere`; `HomeInside` if ledger and keys are in it.
    pub fn open(root: impl AsRef<Path>, records: Records) -> Result<Self> {
        let root = root.as_ref();
        records.check_outside(root)?;
        // In an existing workspace, the first run checks the ledger under the lock.
        if root.join(STATE_DIRECTORY).symlink_metadata().is_err() {
            let ledger = records.own_ledger()?; // before anything is made
            check_ledger::<Error>(root, BoundWorkspace::This, || Ok(Some(ledger)))?;
        }
        Ok(Self::new(Workspace::open(root)?, root, records))
    }

    /// Opens an existing workspace at `root`.
    ///
    /// # Errors
    /// As [`Workspace::open_existing`]; `HomeInside`.
    pub fn open_existing(root: impl AsRef<Path>, records: Records) -> Result<Self> {
        let root = root.as_ref();
        records.check_outside(root)?;
        Ok(Self::new(Workspace::open_existing(root)?, root, records))
    }
}

impl<D: Disk> Staged<'_, D> {
    /// Judges and checks a staged change, publishes it and records how the run ended.
    ///
    /// # Errors
    /// As [`Engine::run_with`].
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
    /// Creates the engine of an open workspace.
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
            told_recovered: None,
            cut_off: Vec::new(),
        }
    }

    /// Returns the root of the workspace, escaped as in records.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Sets a fixed policy. Without one the built-in policy is in force.
    #[must_use]
    pub fn under(mut self, policy: Policy) -> Self {
        self.rules = Rules::Fixed(policy, Cedar::default());
        self
    }

    /// Sets the policy files for the workspace at `root`. Each request reads them, once the workspace is locked.
    #[must_use]
    pub fn under_files(mut self, files: PolicyFiles, root: &Path) -> Self {
        self.rules = Rules::Files(files, root.to_owned());
        self
    }

    /// Sets the runner of checks. Without it a request with checks is rejected.
    #[must_use]
    pub fn running(mut self, runner: Runner) -> Self {
        let quotas = self.lease.as_ref().map(RequestLease::quotas);
        self.runner = Some(runner.limited_by(quotas.unwrap_or_default()));
        self
    }

    /// Sets the runner of SQL steps. Without it a task plan with SQL steps is rejected.
    #[must_use]
    pub fn running_sql(mut self, sql: SqlHost) -> Self {
        self.sql = Some(sql);
        self
    }

    /// Sets the host of pipelines. Without it a task plan with pipelines is rejected.
    #[must_use]
    pub fn running_pipelines(mut self, pipelines: PipelineHost) -> Self {
        self.pipelines = Some(pipelines);
        self
    }

    /// Sets the lease of all requests. Commands stay within its quotas.
    #[must_use]
    pub fn under_lease(mut self, lease: RequestLease) -> Self {
        self.runner = self.runner.map(|runner| runner.limited_by(lease.quotas()));
        self.lease = Some(lease);
        self
    }

    /// Sets a function that is called before the change of an action becomes visible, to prevent an interruption.
    /// Its guard is held until the result is returned.
    #[must_use]
    pub fn holding(mut self, hold: impl Fn() -> Box<dyn Any> + Send + Sync + 'static) -> Self {
        self.hold = Some(Arc::new(hold));
        self
    }

    /// Carries out a request completely or not at all, and records how it ended.
    ///
    /// A request whose key was carried out before is answered with that receipt, without a second effect.
    ///
    /// # Errors
    /// [`Error`], which states the state of the workspace.
    pub fn run(&mut self, request: Request) -> Result<Done> {
        self.run_with(request, &mut NoObserver)
    }

    /// Carries out a request like [`run`](Self::run), and calls `observer` after each step. The observer is not called
    /// for a request that was carried out before.
    ///
    /// # Errors
    /// As [`run`](Self::run), and those of the observer.
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

    /// Recovers the workspace, and records the end of runs that earlier processes left open. Every run begins with
    /// this; here it is done alone.
    ///
    /// # Errors
    /// `Workspace`, `Ledger`, `Key`.
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

    /// Removes captures of killed processes, and captures whose plans have left the queue. Returns the number of
    /// removed captures.
    ///
    /// # Errors
    /// `Workspace`, `Ledger`.
    pub fn sweep_captures(&self) -> Result<usize> {
        self.workspace.sweep_captures(|| {
            let plans = self.records.ledger.read(|log| log.open_plans())?;
            Ok(plans.into_iter().map(|row| row.plan).collect())
        })
    }

    /// Waits for the background work of the ledger. Returns the error if a due checkpoint could not be signed; the runs
    /// are recorded nevertheless.
    pub fn finish(&self) -> Option<LedgerError> {
        self.records.ledger.finish()
    }

    /// Returns what was recovered in the workspace since it was opened, if anything.
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

    /// Returns ledger, keys and clock.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> &Workspace<D> {
        &self.workspace
    }

    /// Returns the workspace for operations that change none of its files.
    pub fn workspace_mut(&mut self) -> &mut Workspace<D> {
        &mut self.workspace
    }
}
