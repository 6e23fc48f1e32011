//! All that a decision is made from, as a document that is kept.

use std::collections::BTreeSet;

use actum_core::canonical::{self, COUNT_MAX, CanonicalError};
use actum_core::path::{PathError, PathProblem};
use actum_core::path_name::PathName;
use actum_core::{Budget, Digest, RelPath, RiskTier, RunId, Scope, Timestamp};
use actum_record::lease::BaseDirectory;
use actum_record::ledger::{Actor, Approval, Bound, TenantId};
use actum_record::receipt::{EffectKind, ExternalPipeline, PathEffect, change_digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DECISION_SEMANTICS, LeaseCase};
use crate::command_line::CommandLine;
use crate::credential::Finding;
use crate::document::{self, DocumentError};
use crate::spelling::{Above, Guard};
use crate::trigger::Trigger;

/// The number of a user who is not known (`overflowuid`, proc_sys_kernel(5)).
const NOBODY: u32 = 65_534;

/// What is judged: a change, and what was asked for with it. The fields stand in the order of their names, as
/// canonical JSON has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Who asks.
    pub actor: Actor,
    /// What a person approved, where there is such an approval.
    pub approved: Option<Approved>,
    /// How much.
    pub budget: Budget,
    /// What it would do to each path, ordered by path.
    pub change: Vec<PathEffect>,
    /// The commands that would be run for it, in their order. What was asked for leads to them, so that
    /// an approval of that plan is one of them.
    pub commands: Vec<CommandLine>,
    /// The commands that ran, or are to run, in a sandbox where all that they change is captured; what of
    /// that is to last is the change itself. Rules hold them back, and none has to allow them.
    pub confined: Vec<CommandLine>,
    /// The tier that it was declared as, which can only raise it.
    pub declared: Option<RiskTier>,
    /// Entry point that received the request.
    pub door: String,
    /// The roots of the workspaces and repositories around this one, outermost first. Rules that the operator wrote
    /// count from each of them as well.
    pub enclosing: Vec<String>,
    /// External pipelines that are to run after it is published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// What in its new content looks like a credential, ordered by path.
    pub found: Vec<Found>,
    /// Lease that came with it, and what it is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseCase>,
    /// The digest of the limits that were set with it, also of those that no gate judges.
    pub limits: Digest,
    /// Files of it that have other names as well, ordered by path.
    pub linked: Vec<PathName>,
    /// Symbolic links that it makes, moves or retargets, ordered by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkFound>,
    /// Paths that every user may write afterwards and could not before, ordered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<PathName>,
    /// The digest of what was asked for.
    pub plan: Digest,
    /// Whether it brings back what was there before that run, and nothing else; a redo does not.
    pub restores: bool,
    /// The root of the workspace, without links.
    pub root: String,
    /// Where who asks lets it change something.
    pub scope: Scope,
    /// Rows that its SQL steps change; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_rows: Option<u64>,
    /// Whose ledger records it.
    pub tenant: TenantId,
    /// When it is judged.
    pub time: Timestamp,
    /// Files of it that other programs act on by themselves, ordered by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerFound>,
    /// The run that it takes back.
    pub undoes: Option<RunId>,
    /// Facts about that run, where it is recorded.
    pub undone: Option<Undone>,
    /// Files whose new content could not be looked through, ordered by path.
    pub unscanned: Vec<PathName>,
    /// What is asked for.
    pub work: WorkKind,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// To change files.
    Apply,
    /// To take a change back.
    Undo,
    /// To take an undo back.
    Redo,
}

/// An approval that was found in the ledger, signed by a key that may, and what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// Whose it is, and where it stands.
    pub approval: Approval,
    /// What was approved.
    pub bound: Bound,
    /// Until when it counts.
    pub expires: Timestamp,
}

/// A recorded run that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// The actor that it was made for.
    pub actor: Actor,
    /// Whether a person approved it.
    pub approved: bool,
}

impl Undone {
    /// Whether an actor may take the run back without the gates that judge new changes: it is the actor's own, and no
    /// person agreed to it. A user that acts without an agent owns the runs of this user's agents.
    pub fn is_free_for(&self, actor: &Actor) -> bool {
        let owns = |agent: &String| self.actor.agent.as_ref() == Some(agent);
        !self.approved
            && (self.actor.uid, &self.actor.user) == (actor.uid, &actor.user)
            && actor.agent.as_ref().is_none_or(owns)
    }
}

/// Something in the new content of a file that looks like a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The file.
    pub path: PathName,
    /// What was found.
    pub finding: Finding,
}

/// A symbolic link and its destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFound {
    /// The link.
    pub path: PathName,
    /// Its destination.
    pub leads_to: LeadsTo,
}

/// Destination of a symbolic link, by the names of its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadsTo {
    /// A path in the workspace.
    Path(PathName),
    /// The root of the workspace.
    Root,
    /// The state of git or actum, which no run changes.
    State,
    /// Outside of the workspace, an absolute path, or unknown by the names alone.
    Outside,
}

impl LinkFound {
    /// A link with this target, resolved by its names alone: other links on the way are not followed. So `..` after a name may lead
    /// anywhere, since that name may be a link.
    pub fn of(path: &RelPath, target: &[u8]) -> Self {
        Self { path: PathName(path.clone()), leads_to: leads_to(path, target) }
    }

    /// A link with an unknown target.
    pub fn unknown(path: &RelPath) -> Self {
        Self { path: PathName(path.clone()), leads_to: LeadsTo::Outside }
    }

    /// The path in the workspace that it leads to.
    pub(crate) fn target(&self) -> Option<&RelPath> {
        match &self.leads_to {
            LeadsTo::Path(path) => Some(&path.0),
            LeadsTo::Root | LeadsTo::State | LeadsTo::Outside => None,
        }
    }
}

fn leads_to(path: &RelPath, target: &[u8]) -> LeadsTo {
    if target.starts_with(b"/") {
        return LeadsTo::Outside;
    }
    let parent = path.parent();
    let mut way: Vec<&[u8]> = parent.iter().flat_map(RelPath::components).collect();
    let mut has_name = false;
    for name in target.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if has_name || way.pop().is_none() => return LeadsTo::Outside,
            b".." => {}
            name => {
                has_name = true;
                way.push(name);
            }
        }
    }
    if way.is_empty() {
        return LeadsTo::Root;
    }
    match RelPath::new(way.join(&b'/')) {
        Ok(path) => LeadsTo::Path(PathName(path)),
        Err(PathError { problem: PathProblem::Reserved, .. }) => LeadsTo::State,
        Err(_) => LeadsTo::Outside,
    }
}

/// A file that other programs act on by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerFound {
    /// The file.
    pub path: PathName,
    /// What acts on it.
    pub trigger: Trigger,
}

impl TriggerFound {
    /// Files of a change that other programs act on whatever their content is, such as hooks of git.
    pub fn by_name(change: &[PathEffect]) -> Vec<Self> {
        let written = |of: &EffectKind| {
            matches!(of, EffectKind::Created | EffectKind::Modified | EffectKind::Renamed)
        };
        let found = change.iter().filter(|it| written(&it.effect)).filter_map(|it| {
            let trigger = Trigger::of(it.path.0.name(), None, b"")?;
            Some(Self { path: it.path.clone(), trigger })
        });
        found.collect()
    }
}

impl Case {
    /// A change alone: asked for by nobody who is known, without limits, and with nothing out of the ordinary.
    pub fn of(change: Vec<PathEffect>) -> Self {
        let nothing = Digest::of(b"");
        Self {
            plan: nothing,
            limits: nothing,
            time: Timestamp::from_micros(0),
            actor: Actor { user: "unknown".to_owned(), uid: NOBODY, agent: None },
            door: "library".to_owned(),
            tenant: TenantId::default(),
            root: "/".to_owned(),
            enclosing: Vec::new(),
            work: WorkKind::Apply,
            declared: None,
            triggers: Vec::new(),
            undone: None,
            undoes: None,
            restores: false,
            scope: Scope::everything(),
            budget: Budget::unlimited(),
            change,
            linked: Vec::new(),
            links: Vec::new(),
            opened: Vec::new(),
            commands: Vec::new(),
            confined: Vec::new(),
            found: Vec::new(),
            unscanned: Vec::new(),
            approved: None,
            lease: None,
            sql_rows: None,
            external: Vec::new(),
        }
    }
}

/// All that a decision is made from beside the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    case: Case,
    format: String,
    policy: Digest,
    semantics: u32,
}

impl Bundle {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.bundle/6";

    /// The bundle of what is judged by the policy of that digest. A limit beyond 2^53 − 1 is held at
    /// that.
    pub fn new(policy: Digest, mut case: Case) -> Self {
        let held = |limit: Option<u64>| limit.map(|limit| limit.min(COUNT_MAX));
        let Budget { max_files, max_loc } = case.budget;
        case.budget = Budget { max_files: held(max_files), max_loc: held(max_loc) };
        case.sql_rows = held(case.sql_rows);
        Self { format: Self::FORMAT.to_owned(), semantics: DECISION_SEMANTICS, policy, case }
    }

    /// The same with what a person approved.
    #[must_use]
    pub fn with_approval(mut self, approved: Approved) -> Self {
        self.case.approved = Some(approved);
        self
    }

    /// The digest of the policy.
    pub fn policy(&self) -> Digest {
        self.policy
    }

    /// Where who asks lets the change be made.
    pub fn scope(&self) -> &Scope {
        &self.case.scope
    }

    /// How large it may be.
    pub fn budget(&self) -> Budget {
        self.case.budget
    }

    /// What it does to each path.
    pub fn change(&self) -> &[PathEffect] {
        &self.case.change
    }

    /// Each path that it touches; of a renamed file both.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.change().iter().flat_map(PathEffect::paths)
    }

    /// The directories around the workspace, as far as protection looks at their names: the choice of a root does not
    /// change what is protected.
    pub(crate) fn above(&self) -> Above<'_> {
        let enclosing = self.case.enclosing.iter().filter_map(|root| self.depth_of(root)).collect();
        Above::new(names(&self.case.root), enclosing)
    }

    /// How many names lead to a root that is this workspace's or lies around it.
    pub(crate) fn depth_of(&self, root: &str) -> Option<usize> {
        let (root, own) = (names(root), names(&self.case.root));
        own.starts_with(&root).then_some(root.len())
    }

    /// A path of the change as it is seen from this root and from each around it.
    pub(crate) fn seen_from_each_root(&self, path: &RelPath) -> impl Iterator<Item = RelPath> {
        let around = self.case.enclosing.iter().filter_map(|root| self.depth_of(root));
        let seen = around.filter_map(move |depth| self.seen_from(depth, path).ok());
        std::iter::once(path.clone()).chain(seen)
    }

    /// A path of the change as it is seen from the root that so many names lead to.
    ///
    /// # Errors
    /// `PathError` where the longer path can be none.
    pub(crate) fn seen_from(&self, depth: usize, path: &RelPath) -> Result<RelPath, PathError> {
        let own = names(&self.case.root);
        let between = own.get(depth..).unwrap_or_default().iter().copied();
        let names: Vec<&[u8]> = between.chain(path.components()).collect();
        RelPath::new(names.join(&b'/'))
    }

    /// A path of the change as seen from a base directory of a lease, if it lies below that. The base directory can be
    /// above the workspace's root or in it.
    pub(crate) fn seen_from_directory(
        &self,
        directory: &BaseDirectory,
        path: &RelPath,
    ) -> Option<RelPath> {
        let all = names(&self.case.root).into_iter().chain(path.components());
        let mut below = all.peekable();
        for name in directory.names() {
            if below.next()? != name.as_bytes() {
                return None;
            }
        }
        RelPath::new(below.collect::<Vec<_>>().join(&b'/')).ok()
    }

    /// Each path that it touches as seen from the workspace's root and from each root around it: where the root is
    /// chosen changes nothing for a rule that names a path.
    ///
    /// # Errors
    /// `PathError` where one of them is too long to be a path.
    pub fn paths_from_every_root(&self) -> Result<BTreeSet<RelPath>, PathError> {
        let mut paths: BTreeSet<RelPath> = self.paths().cloned().collect();
        for depth in self.above().enclosing {
            for path in self.paths() {
                paths.insert(self.seen_from(depth, path)?);
            }
        }
        Ok(paths)
    }

    /// The roots of the workspaces and repositories around the workspace, outermost first.
    pub fn enclosing(&self) -> &[String] {
        &self.case.enclosing
    }

    /// Root of the workspace, where a rule matches a path only with the names above the workspace.
    pub(crate) fn root_shown(&self, path: &RelPath, guard: &Guard) -> Option<String> {
        let is_within = guard.covers_within(names(&self.case.root).len(), path);
        (!is_within).then(|| self.case.root.clone())
    }

    /// What it does to files: all of it but directories that come and go.
    pub fn files(&self) -> impl Iterator<Item = &PathEffect> {
        self.change().iter().filter(|effect| effect.effect.is_of_file())
    }

    /// Who asks.
    pub fn actor(&self) -> &Actor {
        &self.case.actor
    }

    /// Entry point that received the request.
    pub fn door(&self) -> &str {
        &self.case.door
    }

    /// Whose ledger records it.
    pub fn tenant(&self) -> &TenantId {
        &self.case.tenant
    }

    /// The root of the workspace.
    pub fn root(&self) -> &str {
        &self.case.root
    }

    /// The version of the rules that it was made for.
    pub(crate) fn semantics(&self) -> u32 {
        self.semantics
    }

    /// What is asked for.
    pub fn work(&self) -> WorkKind {
        self.case.work
    }

    /// Files of it that have other names as well.
    pub fn linked(&self) -> &[PathName] {
        &self.case.linked
    }

    /// Symbolic links that it makes, moves or retargets. None of an undo or a redo: those were judged before.
    pub fn links(&self) -> &[LinkFound] {
        if self.case.work == WorkKind::Apply { &self.case.links } else { &[] }
    }

    /// Paths that every user may write afterwards and could not before.
    pub fn opened(&self) -> &[PathName] {
        &self.case.opened
    }

    /// Files of it that other programs act on by themselves.
    pub fn triggers(&self) -> &[TriggerFound] {
        &self.case.triggers
    }

    /// The commands that would be run for it.
    pub fn commands(&self) -> &[CommandLine] {
        &self.case.commands
    }

    /// The commands of which all effects were captured.
    pub fn confined(&self) -> &[CommandLine] {
        &self.case.confined
    }

    /// What in its new content looks like a credential.
    pub fn found(&self) -> &[Found] {
        &self.case.found
    }

    /// Files whose new content could not be looked through.
    pub fn unscanned(&self) -> &[PathName] {
        &self.case.unscanned
    }

    /// Rows that its SQL steps change; `None` where it has none.
    pub fn sql_rows(&self) -> Option<u64> {
        self.case.sql_rows
    }

    /// External pipelines that are to run after it is published.
    pub fn external(&self) -> &[ExternalPipeline] {
        &self.case.external
    }

    /// Lease that came with it, and what it is needed for.
    pub fn lease(&self) -> Option<&LeaseCase> {
        self.case.lease.as_ref()
    }

    /// The tier that it was declared as.
    pub fn declared(&self) -> Option<RiskTier> {
        self.case.declared
    }

    /// When it is judged.
    pub fn time(&self) -> Timestamp {
        self.case.time
    }

    /// What a person approved.
    pub fn approved(&self) -> Option<&Approved> {
        self.case.approved.as_ref()
    }

    /// What an approval of it is bound to.
    ///
    /// # Errors
    /// As [`change_digest`].
    pub fn bound(&self) -> Result<Bound, CanonicalError> {
        let Case { plan, limits, ref change, .. } = self.case;
        Ok(Bound { plan, limits, change: change_digest(change)?, policy: self.policy })
    }

    /// Whether it is an undo that is not judged as a new change: it brings back what was there before a run and
    /// nothing else, and the run is the actor's own and was not approved.
    pub fn restores(&self) -> bool {
        let Case { undoes, undone, restores, actor, .. } = &self.case;
        let is_free = undone.as_ref().is_some_and(|undone| undone.is_free_for(actor));
        undoes.is_some() && *restores && is_free
    }

    /// The canonical JSON of the bundle.
    ///
    /// # Errors
    /// `Number` for a file or a count of lines beyond 2^53 − 1.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::ordered_to_vec(self)
    }

    /// Reads the canonical bytes of a bundle, by whichever version of the rules it was judged: what it tells of
    /// the change stays readable.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let version = |value: &Value| document::format_of(value).to_owned();
        document::read("the bundle of a decision", bytes, version, Self::FORMAT.to_owned())
    }
}

/// The names in an absolute path.
fn names(path: &str) -> Vec<&[u8]> {
    path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect()
}
