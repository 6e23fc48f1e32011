//! What is asked for, by whom, and under which limits.

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

/// The number of a user who is not known (`overflowuid`, proc_sys_kernel(5)).
const NOBODY: u32 = 65_534;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is to be done.
    pub work: Work,
    /// What it may touch, and how.
    pub limits: Limits,
    /// What it is for, in the words of who asks; without one it is what is done.
    pub label: Option<String>,
    /// Who asks; where nobody is named, a user `unknown` with the number 65534.
    pub actor: Actor,
    /// Entry point that received it.
    pub door: EntryPoint,
    /// The key under which it is asked for, so that asking again does not do it again. Without one
    /// every request is a new one.
    pub key: Option<RequestKey>,
    /// The risk tier that it was declared as; it can only raise the one that is computed.
    pub declared: Option<RiskTier>,
    /// The plan in the queue that it is: it is carried out as that was approved, or not at all. Who
    /// asks for the same again may leave it out; what was approved of it counts all the same.
    pub plan: Option<RunId>,
    /// Queued plan of which it is a part: it is made only as long as that plan waits. It is no part of what is asked for.
    pub part_of: Option<RunId>,
    /// What was run, or is to be, for it.
    pub commands: Commands,
    /// The action that it is a part of.
    pub action: Option<Box<RequestedAction>>,
    /// The documents of the task that it carries out. What is asked for is these documents then; the operations follow
    /// from them and from the files.
    pub task: Option<TaskDocuments>,
    /// Lease that it is made under. It is no part of what is asked for.
    pub lease: Option<RequestLease>,
    /// File task that it carries out. Its manifest is what is asked for then.
    pub file_task: Option<FileTask>,
    /// Umask that gave new files their mode when it was queued, and gives it when it is carried out. It is no part of what
    /// is asked for.
    pub umask: Option<u32>,
    /// Contents, by their digests, that an undo uses where the workspace has lost them. They are no part of what is asked
    /// for: only a content with the recorded digest is used.
    pub images: BTreeMap<Digest, Vec<u8>>,
    /// Rows that its SQL steps change; `None` where it has none. It is no part of what is asked for.
    pub sql_rows: Option<u64>,
    /// Its SQL steps, by digests. They are no part of what is asked for.
    pub queries: Vec<QueryRecord>,
    /// Whether to wait for another process that is at work in the workspace.
    pub wait: bool,
}

/// Commands that belong to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Those whose effects the operations are, which have ended.
    pub made: Vec<CommandRecord>,
    /// What confined them.
    pub sandbox: Option<SandboxRecord>,
    /// Those that are to find the change good where it is staged, before anything of it is visible (AA-3).
    pub checks: Vec<CommandLine>,
    /// What is run on what is staged where a check fails, once; then the checks run again (AA-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<CommandLine>,
    /// How the checks are confined, and where they start. Without it they are as whoever carries the request out says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<SandboxPolicy>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Operations, in this order.
    Apply(Vec<Operation>),
    /// A change is taken back.
    Undo(Which),
    /// An undo is taken back.
    Redo(Which),
    /// What another program changed since this snapshot becomes a run.
    Adopt(SnapshotId),
    /// What this snapshot holds is brought back.
    Restore {
        /// The snapshot.
        snapshot: SnapshotId,
        /// Plan that the gates refused, and that is taken back so; without one it is a change like any other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<RunId>,
        /// What the plan found at its paths: a file by its digest. A path that is another by now is a conflict.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        found: BTreeMap<RelPath, Option<Digest>>,
    },
}

/// Which past run is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Which {
    /// This one.
    Run(RunId),
    /// The newest that can be meant, chosen under the lock.
    Newest,
}

/// Inversion of a run of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayBack {
    /// A change is taken back.
    Undo,
    /// An undo is taken back.
    Redo,
}

impl WayBack {
    /// The word for it, which is also the name of its verb.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

impl Request {
    /// To do these operations.
    pub fn apply(operations: Vec<Operation>) -> Self {
        Self::of(Work::Apply(operations))
    }

    /// To take a change back.
    pub fn undo(which: Which) -> Self {
        Self::of(Work::Undo(which))
    }

    /// To take an undo back.
    pub fn redo(which: Which) -> Self {
        Self::of(Work::Redo(which))
    }

    /// To adopt what another program changed since a snapshot was taken.
    pub fn adopt(snapshot: SnapshotId) -> Self {
        Self::of(Work::Adopt(snapshot))
    }

    /// To bring back what a snapshot holds, after the gates refused to adopt the change `refused`, which found these files.
    pub fn restore(
        snapshot: SnapshotId,
        refused: RunId,
        found: BTreeMap<RelPath, Option<Digest>>,
    ) -> Self {
        Self::of(Work::Restore { snapshot, refused: Some(refused), found })
    }

    fn of(work: Work) -> Self {
        Self {
            work,
            limits: Limits::default(),
            label: None,
            actor: Actor { user: "unknown".to_owned(), uid: NOBODY, agent: None },
            door: EntryPoint::Library,
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

    /// The same with a line that says what it is for.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The same under a key: asking for it again does not do it again.
    #[must_use]
    pub fn keyed(mut self, key: RequestKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The same in somebody's name.
    #[must_use]
    pub fn asked_by(mut self, actor: Actor) -> Self {
        self.actor = actor;
        self
    }

    /// The digest of what is asked for: of the work, or of the action or the task that it belongs to, and of the checks
    /// that it has to pass.
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

    /// Whether a change that needs an approval waits in the queue. What a client did already is taken back, and does not wait.
    pub(crate) fn queues(&self) -> bool {
        match self.work {
            Work::Apply(_) | Work::Undo(_) | Work::Redo(_) => self.door.queues(),
            Work::Adopt(_) | Work::Restore { .. } => {
                self.door.queues() && self.door != EntryPoint::ClientHook
            }
        }
    }

    /// External pipelines that are to run after its change is published.
    pub(crate) fn external(&self) -> &[ExternalPipeline] {
        self.task.as_ref().map_or(&[], |task| &task.external)
    }

    /// Profile that its entry point adds to the policy (D-5).
    pub(crate) fn profile(&self) -> Option<Profile> {
        self.door.profile()
    }

    /// Whether it asks only whether its action may begin: of that nothing was done yet.
    pub(crate) fn begins_action(&self) -> bool {
        self.action.as_ref().is_some_and(|action| action.phase == Phase::ToRun)
    }

    /// The commands of it that a rule has to allow, and those of which a rule may hold back what ran already and
    /// is confined; each in the order in which they run. What an action asks to be run has to be allowed (AA-7), once:
    /// where a person agreed to it before, that counts. The code of a package is no command of the action.
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

    /// The same under limits.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Work {
    /// Returns the captures with contents of its files.
    pub(crate) fn captures(&self) -> BTreeSet<RunId> {
        let Self::Apply(operations) = self else { return BTreeSet::new() };
        operations.iter().filter_map(Operation::capture).collect()
    }

    /// The digest of what is asked for, whoever asks and whatever the limits are.
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

    /// Who makes its change visible.
    pub(crate) fn publisher(&self) -> Publisher {
        match self {
            Self::Apply(_) | Self::Undo(_) | Self::Redo(_) | Self::Restore { .. } => {
                Publisher::Actum
            }
            Self::Adopt(_) => Publisher::Client,
        }
    }
}

/// The digest of the limits.
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
