//! What is asked for, by whom, and under which limits.

use actum_core::ledger::{Actor, RequestKey};
use actum_core::{Digest, Operation, RunId};
use actum_workspace::{ExistingFiles, HardLinks, HunkPlaces, LaterEdits, Limits};

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
    /// By which door it came in.
    pub door: String,
    /// The key under which it is asked for, so that asking again does not do it again. Without one
    /// every request is a new one.
    pub key: Option<RequestKey>,
    /// Whether to wait for another process that is at work in the workspace.
    pub wait: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Operations, in this order.
    Apply(Vec<Operation>),
    /// A change is taken back.
    Undo(Which),
    /// An undo is taken back.
    Redo(Which),
}

/// Which past run is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// This one.
    Run(RunId),
    /// The newest that can be meant, chosen under the lock.
    Newest,
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

    fn of(work: Work) -> Self {
        Self {
            work,
            limits: Limits::default(),
            label: None,
            actor: Actor { user: "unknown".to_owned(), uid: NOBODY, agent: None },
            door: "library".to_owned(),
            key: None,
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

    /// The same under limits.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Work {
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
        };
        Digest::tagged("actum/plan/v1", &[name.as_bytes(), what.as_bytes()])
    }
}

/// The digest of the limits as a policy.
pub(crate) fn policy_digest(limits: &Limits) -> Digest {
    let Limits { scope, budget, hard_links, existing_files, hunk_places, later_edits } = limits;
    let list = |rules: &[actum_core::ScopeRule]| {
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
