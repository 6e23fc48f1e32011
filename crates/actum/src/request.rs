//! Requests to change a workspace, consisting of the work, the requester and the limits.

mod action;
mod document;
mod entry_point;
mod file_task;
mod lease;
mod task;

use std::collections::{BTreeMap, BTreeSet};

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RelPath, RiskTier, RunId};
use actum_edit::Operation;
use actum_gate::{CommandLine, CommandLineError, Profile};
use actum_record::command::{CommandRecord, SandboxRecord};
use actum_record::ledger::{Actor, Publisher, RequestKey};
use actum_record::receipt::{ExternalPipeline, QueryRecord};
use actum_sandbox::SandboxPolicy;
use actum_workspace::{ExistingFiles, HardLinks, HunkPlaces, LaterEdits, Limits, SnapshotId};
use serde::{Deserialize, Serialize};

pub use action::{Phase, RequestedAction};
pub use entry_point::EntryPoint;
pub use file_task::FileTask;
pub use lease::RequestLease;
pub use task::TaskDocuments;

/// User ID that stands for an unknown user (`overflowuid`, proc_sys_kernel(5)).
const NOBODY: u32 = 65_534;

/// Request to change the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Work to perform, such as applying operations or undoing a run.
    pub work: Work,
    /// Limits of the change, such as its scope and budget.
    pub limits: Limits,
    /// Purpose of the request in the requester's own words. Without a label, records describe the work instead.
    pub label: Option<String>,
    /// Requester of the change. The default is the user `unknown` with the user ID 65534.
    pub actor: Actor,
    /// Entry point that received the request.
    pub entry_point: EntryPoint,
    /// Idempotency key. A request that is repeated with the same key is carried out only once. Without a key, every
    /// request is new.
    pub key: Option<RequestKey>,
    /// Risk tier declared by the requester, which can only raise the computed tier.
    pub declared: Option<RiskTier>,
    /// Queued plan that the request carries out exactly as it was approved. A repeated request may omit the plan, because
    /// the approval applies anyway.
    pub plan: Option<RunId>,
    /// Queued plan that this request is a part of. The change is made only while that plan is pending. This field is not
    /// part of the digest.
    pub part_of: Option<RunId>,
    /// Commands that were run for the request or will be.
    pub commands: Commands,
    /// Action that this request is a part of.
    pub action: Option<Box<RequestedAction>>,
    /// Documents of the task that the request carries out. The digest then covers these documents instead of the
    /// operations, which are computed from the documents and the current files.
    pub task: Option<TaskDocuments>,
    /// Lease under which the request is made. This field is not part of the digest.
    pub lease: Option<RequestLease>,
    /// File task that the request carries out. The digest then covers the manifest of the task.
    pub file_task: Option<FileTask>,
    /// Umask at the time the request was queued, which determines the mode of new files when the request is carried out.
    /// This field is not part of the digest.
    pub umask: Option<u32>,
    /// File contents by digest, for undoing a run whose saved contents the workspace has lost. They need not be part of the
    /// request's digest, because a content is used only if it matches the recorded digest.
    pub images: BTreeMap<Digest, Vec<u8>>,
    /// Number of rows that the SQL steps change, or `None` if there are no SQL steps. This field is not part of the digest.
    pub sql_rows: Option<u64>,
    /// Records of the SQL steps, which identify each step by digests. This field is not part of the request's digest.
    pub queries: Vec<QueryRecord>,
    /// If true, the request waits while another process is working in the workspace.
    pub wait: bool,
}

/// Commands that belong to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Finished commands, whose captured effects are the operations of the request.
    pub made: Vec<CommandRecord>,
    /// Sandbox that confined the finished commands.
    pub sandbox: Option<SandboxRecord>,
    /// Check commands, all of which must accept the staged change before any part of it becomes visible (AA-3).
    pub checks: Vec<CommandLine>,
    /// Repair command, which runs once on the staged change if a check fails. The checks then run again (AA-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<CommandLine>,
    /// Sandbox policy and working directory for the checks. If it is missing, the caller that carries out the request
    /// decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<SandboxPolicy>,
}

/// Work that a request performs on the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Apply operations in the given order.
    Apply(Vec<Operation>),
    /// Undo the change of a past run.
    Undo(Which),
    /// Redo a change that was undone.
    Redo(Which),
    /// Record the changes that another program made since this snapshot as a run.
    Adopt(SnapshotId),
    /// Restore the files from a snapshot.
    Restore {
        /// Snapshot to restore.
        snapshot: SnapshotId,
        /// Plan that the gates refused and that this restore reverts. Without it, the restore is judged like any other
        /// change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<RunId>,
        /// State of each path when the refused plan was judged, given as the digest of the file. A path that has changed
        /// since then is a conflict.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        found: BTreeMap<RelPath, Option<Digest>>,
    },
}

/// Selects a past run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Which {
    /// Selects the run with this id.
    Run(RunId),
    /// Selects the newest eligible run, which is determined while the workspace lock is held.
    Newest,
}

/// Kind of inversion of a past run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inversion {
    /// Undo, which inverts a change.
    Undo,
    /// Redo, which inverts an undo.
    Redo,
}

impl Inversion {
    /// Returns the name of the inversion, which is also the name of the CLI command.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

impl Request {
    /// Creates a request to apply operations.
    pub fn apply(operations: Vec<Operation>) -> Self {
        Self::new(Work::Apply(operations))
    }

    /// Creates a request to undo the selected run.
    pub fn undo(which: Which) -> Self {
        Self::new(Work::Undo(which))
    }

    /// Creates a request to redo the selected run, which was undone.
    pub fn redo(which: Which) -> Self {
        Self::new(Work::Redo(which))
    }

    /// Creates a request to record the changes that another program made since a snapshot.
    pub fn adopt(snapshot: SnapshotId) -> Self {
        Self::new(Work::Adopt(snapshot))
    }

    /// Creates a request to restore a snapshot after the gates refused the plan `refused` of a client's change. `found`
    /// holds the files as they were when that plan was judged.
    pub fn restore(
        snapshot: SnapshotId,
        refused: RunId,
        found: BTreeMap<RelPath, Option<Digest>>,
    ) -> Self {
        Self::new(Work::Restore { snapshot, refused: Some(refused), found })
    }

    fn new(work: Work) -> Self {
        Self {
            work,
            limits: Limits::default(),
            label: None,
            actor: Actor { user: "unknown".to_owned(), uid: NOBODY, agent: None },
            entry_point: EntryPoint::Library,
            key: None,
            declared: None,
            plan: None,
            part_of: None,
            commands: Commands::default(),
            action: None,
            task: None,
            lease: None,
            file_task: None,
            umask: None,
            images: BTreeMap::new(),
            sql_rows: None,
            queries: Vec::new(),
            wait: false,
        }
    }

    /// Sets the label of the request.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the request key, so that a repeated request is carried out only once.
    #[must_use]
    pub fn keyed(mut self, key: RequestKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the requester.
    #[must_use]
    pub fn asked_by(mut self, actor: Actor) -> Self {
        self.actor = actor;
        self
    }

    /// Computes the digest of the request. It covers the checks and either the work or the action or task that the work
    /// belongs to.
    pub(crate) fn digest(&self) -> Result<Digest, CanonicalError> {
        let Commands { checks, confinement, .. } = &self.commands;
        let work = match (&self.action, &self.task, &self.file_task) {
            (Some(action), _, _) => action.digest()?,
            (None, Some(task), _) => task.digest()?,
            (None, None, Some(file_task)) => file_task.manifest,
            (None, None, None) => self.work.digest(),
        };
        if checks.is_empty() {
            return Ok(work);
        }
        let checks = canonical::to_vec(&(checks, confinement))?;
        Ok(Digest::tagged("actum/checked-plan/v1", &[work.as_bytes(), &checks]))
    }

    /// Returns true if the request is queued when its change requires approval. A change that a client already made is not
    /// queued but reverted.
    pub(crate) fn queues(&self) -> bool {
        match self.work {
            Work::Apply(_) | Work::Undo(_) | Work::Redo(_) => self.entry_point.queues(),
            Work::Adopt(_) | Work::Restore { .. } => {
                self.entry_point.queues() && self.entry_point != EntryPoint::ClientHook
            }
        }
    }

    /// Returns the external pipelines that run after the change is published.
    pub(crate) fn external(&self) -> &[ExternalPipeline] {
        self.task.as_ref().map_or(&[], |task| &task.external)
    }

    /// Returns the policy profile that the entry point adds (D-5).
    pub(crate) fn profile(&self) -> Option<Profile> {
        self.entry_point.profile()
    }

    /// Returns true if the request only asks for permission to start its action, no part of which has run yet.
    pub(crate) fn begins_action(&self) -> bool {
        self.action.as_ref().is_some_and(|action| action.phase == Phase::ToRun)
    }

    /// Returns two lists of commands, each in execution order. A policy rule must allow each command of the first list. The
    /// commands of the second list need no such rule, but a rule can hold them back.
    ///
    /// The commands of an action must be allowed only once (AA-7), so an action that was already approved has none to
    /// judge. The code of a package is not a command of the action.
    pub(crate) fn judged_commands(
        &self,
    ) -> Result<(Vec<CommandLine>, Vec<CommandLine>), CommandLineError> {
        let Commands { made, checks, repair, .. } = &self.commands;
        let made = made.iter().map(|made| CommandLine::new(made.argv.clone()));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let external = self.external().iter().flat_map(|pipeline| &pipeline.steps);
        let external = external.map(|step| CommandLine::new(step.clone()));
        let external = external.collect::<Result<Vec<_>, _>>()?;
        let later = checks.iter().chain(repair).cloned();
        Ok(match self.action.as_deref() {
            None => (Vec::new(), made.into_iter().chain(later).chain(external).collect()),
            Some(RequestedAction { agreed: Some(_), .. }) => (Vec::new(), Vec::new()),
            Some(RequestedAction { package: Some(_), commands, .. }) => {
                (later.collect(), commands.clone())
            }
            Some(RequestedAction { commands, .. }) => {
                (commands.iter().cloned().chain(made).chain(later).collect(), Vec::new())
            }
        })
    }

    /// Sets the limits of the change.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Work {
    /// Returns the ids of all captures that hold file contents for the operations.
    pub(crate) fn captures(&self) -> BTreeSet<RunId> {
        let Self::Apply(operations) = self else { return BTreeSet::new() };
        operations.iter().filter_map(Operation::capture).collect()
    }

    /// Computes the digest of the work, which does not cover the requester or the limits.
    pub(crate) fn digest(&self) -> Digest {
        let which = |which: &Which| match which {
            Which::Run(run) => run.to_string(),
            Which::Newest => "newest".to_owned(),
        };
        let (name, what) = match self {
            Self::Apply(operations) => ("apply", Operation::digest(operations).to_string()),
            Self::Undo(run) => ("undo", which(run)),
            Self::Redo(run) => ("redo", which(run)),
            Self::Adopt(snapshot) => ("adopt", snapshot.digest().to_string()),
            Self::Restore { snapshot, refused, .. } => {
                let refused = refused.map(|run| run.to_string()).unwrap_or_default();
                ("restore", format!("{} {refused}", snapshot.digest()))
            }
        };
        Digest::tagged("actum/plan/v1", &[name.as_bytes(), what.as_bytes()])
    }

    /// Returns the program that makes the change visible.
    pub(crate) fn publisher(&self) -> Publisher {
        match self {
            Self::Apply(_) | Self::Undo(_) | Self::Redo(_) | Self::Restore { .. } => {
                Publisher::Actum
            }
            Self::Adopt(_) => Publisher::Client,
        }
    }
}

/// Computes the digest of the limits of a request.
pub(crate) fn limits_digest(limits: &Limits) -> Digest {
    let Limits { scope, budget, hard_links, existing_files, hunk_places, later_edits } = limits;
    let list = |rules: &[actum_core::PathRule]| {
        let mut text = String::new();
        for rule in rules {
            text.push_str(&rule.to_string());
            text.push('\0');
        }
        text
    };
    let limit = |max: Option<u64>| max.map_or("none".to_owned(), |max| max.to_string());
    let parts = [
        scope
            .allow
            .as_deref()
            .map_or("everything".to_owned(), |rules| format!("only {}", list(rules))),
        list(&scope.deny),
        limit(budget.max_files),
        limit(budget.max_loc),
        match hard_links {
            HardLinks::Break => "break hard links",
            HardLinks::Refuse => "refuse hard links",
        }
        .to_owned(),
        match existing_files {
            ExistingFiles::Keep => "keep existing files",
            ExistingFiles::Replace => "replace existing files",
        }
        .to_owned(),
        match hunk_places {
            HunkPlaces::Stated => "hunks where they say",
            HunkPlaces::Searched => "hunks are searched for",
        }
        .to_owned(),
        match later_edits {
            LaterEdits::Refuse => "refuse later edits",
            LaterEdits::Keep => "keep later edits",
        }
        .to_owned(),
    ];
    Digest::tagged("actum/limits/v1", &parts.each_ref().map(|part| part.as_bytes()))
}
