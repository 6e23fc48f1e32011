//! Bundle of all inputs of a decision. It is stored as a document so that the decision can be replayed.

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

/// User id for an unknown user (`overflowuid`, proc_sys_kernel(5)).
const NOBODY: u32 = 65_534;

/// Change to be judged and the request that it belongs to. Fields are in alphabetical order because canonical
/// JSON requires it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// User and agent that made the request.
    pub actor: Actor,
    /// Approval of the change, if there is one.
    pub approved: Option<Approved>,
    /// Budget that the request sets.
    pub budget: Budget,
    /// Effects of the change on paths, ordered by path.
    pub change: Vec<PathEffect>,
    /// Commands to run for the request, in order. They are part of the request, so an approval of its plan
    /// includes them.
    pub commands: Vec<CommandLine>,
    /// Commands that run in a sandbox that captures all their effects. The captured changes are judged as part
    /// of `change`, so rules can restrict these commands, but no rule has to allow them.
    pub confined: Vec<CommandLine>,
    /// Risk tier that the request declares. It can only raise the computed tier.
    pub declared: Option<RiskTier>,
    /// Entry point that received the request.
    pub door: String,
    /// Roots of the enclosing workspaces and repositories, outermost first. The operator's rules also apply to
    /// paths relative to each of these roots.
    pub enclosing: Vec<String>,
    /// External pipelines to run after the change is published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Suspected credentials in new content, ordered by path.
    pub found: Vec<Found>,
    /// Lease of the request, and the capability that the request needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseCase>,
    /// Digest of the limits that the request sets, including limits that no gate checks.
    pub limits: Digest,
    /// Changed files that have other hard links, ordered by path.
    pub linked: Vec<PathName>,
    /// Symbolic links that are created, moved or retargeted, ordered by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkFound>,
    /// Paths that become world-writable, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<PathName>,
    /// Digest of the request.
    pub plan: Digest,
    /// Whether the change only restores the state before the undone run. It is false for a redo.
    pub restores: bool,
    /// Root of the workspace, with symbolic links resolved.
    pub root: String,
    /// Scope that the request sets.
    pub scope: Scope,
    /// Number of rows that the SQL steps change, or `None` if there are no SQL steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_rows: Option<u64>,
    /// Tenant whose ledger records the request.
    pub tenant: TenantId,
    /// Time at which the change is judged.
    pub time: Timestamp,
    /// Changed files that other programs act on automatically, ordered by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerFound>,
    /// Run that the request undoes.
    pub undoes: Option<RunId>,
    /// Facts about the undone run, if the ledger has a record of it.
    pub undone: Option<Undone>,
    /// Files whose new content could not be scanned for credentials, ordered by path.
    pub unscanned: Vec<PathName>,
    /// Kind of request.
    pub work: WorkKind,
}

/// Kind of request that a change results from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// The request changes files.
    Apply,
    /// The request undoes an earlier change.
    Undo,
    /// The request redoes a change that was undone.
    Redo,
}

/// Approval from the ledger, signed by a key with the right role, and the content that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// Approver of the change, and the entry of the approval in the ledger.
    pub approval: Approval,
    /// Content that the approval is bound to.
    pub bound: Bound,
    /// Time at which the approval expires.
    pub expires: Timestamp,
}

/// Recorded run that a request undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// User and agent that requested the run.
    pub actor: Actor,
    /// Whether the run was approved.
    pub approved: bool,
}

impl Undone {
    /// Returns true if `actor` may undo the run without passing the gates for new changes. This requires that
    /// the run was the actor's own and needed no approval. A user who acts without an agent also owns the runs
    /// of their agents.
    pub fn is_free_for(&self, actor: &Actor) -> bool {
        let owns = |agent: &String| self.actor.agent.as_ref() == Some(agent);
        !self.approved
            && (self.actor.uid, &self.actor.user) == (actor.uid, &actor.user)
            && actor.agent.as_ref().is_none_or(owns)
    }
}

/// Suspected credential in the new content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Path of the file.
    pub path: PathName,
    /// Finding of the credential scan.
    pub finding: Finding,
}

/// Symbolic link of a change and its destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFound {
    /// Path of the link.
    pub path: PathName,
    /// Destination of the link.
    pub leads_to: LeadsTo,
}

/// Destination of a symbolic link, determined only from the names in its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadsTo {
    /// The link points to a path in the workspace.
    Path(PathName),
    /// The link points to the root of the workspace.
    Root,
    /// The link points to state of git or actum, which no run may change.
    State,
    /// The link is absolute, points outside the workspace, or cannot be resolved by names only.
    Outside,
}

impl LinkFound {
    /// Resolves `target` by its names only, without following other links. A `..` after a name is therefore
    /// treated as leading outside, since that name may be a link.
    pub fn new(path: &RelPath, target: &[u8]) -> Self {
        Self { path: PathName(path.clone()), leads_to: leads_to(path, target) }
    }

    /// Returns a link whose target is unknown, which is treated as leading outside.
    pub fn unknown(path: &RelPath) -> Self {
        Self { path: PathName(path.clone()), leads_to: LeadsTo::Outside }
    }

    /// Returns the workspace path that the link points to, if there is one.
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

/// Changed file that other programs act on automatically, such as a git hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerFound {
    /// Path of the file.
    pub path: PathName,
    /// Program that acts on the file, and its effect.
    pub trigger: Trigger,
}

impl TriggerFound {
    /// Finds changed files that other programs act on regardless of their content, such as git hooks.
    pub fn by_name(change: &[PathEffect]) -> Vec<Self> {
        let written = |of: &EffectKind| {
            matches!(of, EffectKind::Created | EffectKind::Modified | EffectKind::Renamed)
        };
        let found = change.iter().filter(|it| written(&it.effect)).filter_map(|it| {
            let trigger = Trigger::detect(it.path.0.name(), None, b"")?;
            Some(Self { path: it.path.clone(), trigger })
        });
        found.collect()
    }
}

impl Case {
    /// Creates a case with only a change. The requester is unknown, and there are no limits or other facts.
    pub fn new(change: Vec<PathEffect>) -> Self {
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

/// All inputs of a decision except the policy, which is included as a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    case: Case,
    format: String,
    policy: Digest,
    semantics: u32,
}

impl Bundle {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.bundle/6";

    /// Creates the bundle of a case under the policy with the digest `policy`. Limits above 2^53 − 1 are
    /// reduced to that value.
    pub fn new(policy: Digest, mut case: Case) -> Self {
        let held = |limit: Option<u64>| limit.map(|limit| limit.min(COUNT_MAX));
        let Budget { max_files, max_loc } = case.budget;
        case.budget = Budget { max_files: held(max_files), max_loc: held(max_loc) };
        case.sql_rows = held(case.sql_rows);
        Self { format: Self::FORMAT.to_owned(), semantics: DECISION_SEMANTICS, policy, case }
    }

    /// Adds an approval to the bundle.
    #[must_use]
    pub fn with_approval(mut self, approved: Approved) -> Self {
        self.case.approved = Some(approved);
        self
    }

    /// Returns the digest of the policy.
    pub fn policy(&self) -> Digest {
        self.policy
    }

    /// Returns the scope that the request sets.
    pub fn scope(&self) -> &Scope {
        &self.case.scope
    }

    /// Returns the budget that the request sets.
    pub fn budget(&self) -> Budget {
        self.case.budget
    }

    /// Returns the effects of the change on paths.
    pub fn change(&self) -> &[PathEffect] {
        &self.case.change
    }

    /// Returns every path that the change touches, including both paths of a renamed file.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.change().iter().flat_map(PathEffect::paths)
    }

    /// Returns the directories above the workspace. They are needed to match protected paths, so that the
    /// choice of the workspace root does not change which paths are protected.
    pub(crate) fn above(&self) -> Above<'_> {
        let enclosing = self.case.enclosing.iter().filter_map(|root| self.depth_of(root)).collect();
        Above::new(names(&self.case.root), enclosing)
    }

    /// Returns the number of names in the path `root` if it is the workspace root or one of its parent
    /// directories.
    pub(crate) fn depth_of(&self, root: &str) -> Option<usize> {
        let (root, own) = (names(root), names(&self.case.root));
        own.starts_with(&root).then_some(root.len())
    }

    /// Returns a path of the change relative to the workspace root and to each enclosing root.
    pub(crate) fn seen_from_each_root(&self, path: &RelPath) -> impl Iterator<Item = RelPath> {
        let around = self.case.enclosing.iter().filter_map(|root| self.depth_of(root));
        let seen = around.filter_map(move |depth| self.seen_from(depth, path).ok());
        std::iter::once(path.clone()).chain(seen)
    }

    /// Returns a path of the change relative to the directory that the first `depth` names of the workspace
    /// root lead to.
    ///
    /// # Errors
    /// Returns `PathError` if the resulting path is invalid.
    pub(crate) fn seen_from(&self, depth: usize, path: &RelPath) -> Result<RelPath, PathError> {
        let own = names(&self.case.root);
        let between = own.get(depth..).unwrap_or_default().iter().copied();
        let names: Vec<&[u8]> = between.chain(path.components()).collect();
        RelPath::new(names.join(&b'/'))
    }

    /// Returns a path of the change relative to a base directory of a lease, or `None` if it is not below that
    /// directory. A base directory may be above or inside the workspace.
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

    /// Returns every touched path relative to the workspace root and to each enclosing root, so that the choice
    /// of the workspace root does not affect rules about paths.
    ///
    /// # Errors
    /// Returns `PathError` if a resulting path is too long.
    pub fn paths_from_every_root(&self) -> Result<BTreeSet<RelPath>, PathError> {
        let mut paths: BTreeSet<RelPath> = self.paths().cloned().collect();
        for depth in self.above().enclosing {
            for path in self.paths() {
                paths.insert(self.seen_from(depth, path)?);
            }
        }
        Ok(paths)
    }

    /// Returns the roots of the enclosing workspaces and repositories, outermost first.
    pub fn enclosing(&self) -> &[String] {
        &self.case.enclosing
    }

    /// Returns the workspace root if the rule matches `path` only together with names above the workspace.
    pub(crate) fn root_shown(&self, path: &RelPath, guard: &Guard) -> Option<String> {
        let is_within = guard.covers_within(names(&self.case.root).len(), path);
        (!is_within).then(|| self.case.root.clone())
    }

    /// Returns the effects on files, without the directories that are created or removed.
    pub fn files(&self) -> impl Iterator<Item = &PathEffect> {
        self.change().iter().filter(|effect| effect.effect.is_of_file())
    }

    /// Returns the user and agent that made the request.
    pub fn actor(&self) -> &Actor {
        &self.case.actor
    }

    /// Returns the entry point that received the request.
    pub fn entry_point(&self) -> &str {
        &self.case.door
    }

    /// Returns the tenant whose ledger records the request.
    pub fn tenant(&self) -> &TenantId {
        &self.case.tenant
    }

    /// Returns the root of the workspace.
    pub fn root(&self) -> &str {
        &self.case.root
    }

    /// Returns the version of the decision rules that the bundle was created for.
    pub(crate) fn semantics(&self) -> u32 {
        self.semantics
    }

    /// Returns the kind of request.
    pub fn work(&self) -> WorkKind {
        self.case.work
    }

    /// Returns the changed files that have other hard links.
    pub fn linked(&self) -> &[PathName] {
        &self.case.linked
    }

    /// Returns the symbolic links that are created, moved or retargeted. The result is empty for an undo or
    /// redo, because those links were already judged.
    pub fn links(&self) -> &[LinkFound] {
        if self.case.work == WorkKind::Apply { &self.case.links } else { &[] }
    }

    /// Returns the paths that become world-writable.
    pub fn opened(&self) -> &[PathName] {
        &self.case.opened
    }

    /// Returns the changed files that other programs act on automatically.
    pub fn triggers(&self) -> &[TriggerFound] {
        &self.case.triggers
    }

    /// Returns the commands to run for the request.
    pub fn commands(&self) -> &[CommandLine] {
        &self.case.commands
    }

    /// Returns the commands that run in a sandbox that captures all their effects.
    pub fn confined(&self) -> &[CommandLine] {
        &self.case.confined
    }

    /// Returns the suspected credentials in new content.
    pub fn found(&self) -> &[Found] {
        &self.case.found
    }

    /// Returns the files whose new content could not be scanned for credentials.
    pub fn unscanned(&self) -> &[PathName] {
        &self.case.unscanned
    }

    /// Returns the number of rows that the SQL steps change, or `None` if there are no SQL steps.
    pub fn sql_rows(&self) -> Option<u64> {
        self.case.sql_rows
    }

    /// Returns the external pipelines to run after the change is published.
    pub fn external(&self) -> &[ExternalPipeline] {
        &self.case.external
    }

    /// Returns the lease of the request, and the capability that the request needs.
    pub fn lease(&self) -> Option<&LeaseCase> {
        self.case.lease.as_ref()
    }

    /// Returns the risk tier that the request declares.
    pub fn declared(&self) -> Option<RiskTier> {
        self.case.declared
    }

    /// Returns the time at which the change is judged.
    pub fn time(&self) -> Timestamp {
        self.case.time
    }

    /// Returns the approval of the change, if there is one.
    pub fn approved(&self) -> Option<&Approved> {
        self.case.approved.as_ref()
    }

    /// Returns the content that an approval of this change must be bound to.
    ///
    /// # Errors
    /// Returns the errors of [`change_digest`].
    pub fn bound(&self) -> Result<Bound, CanonicalError> {
        let Case { plan, limits, ref change, .. } = self.case;
        Ok(Bound { plan, limits, change: change_digest(change)?, policy: self.policy })
    }

    /// Returns true for an undo that is not judged like a new change. It must only restore the state before a
    /// run that was the actor's own and was not approved.
    pub fn restores(&self) -> bool {
        let Case { undoes, undone, restores, actor, .. } = &self.case;
        let is_free = undone.as_ref().is_some_and(|undone| undone.is_free_for(actor));
        undoes.is_some() && *restores && is_free
    }

    /// Serialises the bundle as canonical JSON.
    ///
    /// # Errors
    /// Returns `Number` if a file size or a number of lines exceeds 2^53 − 1.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::ordered_to_vec(self)
    }

    /// Reads a bundle from its canonical bytes. Bundles of every version of the decision rules are accepted, so
    /// that their description of the change stays readable.
    ///
    /// # Errors
    /// Returns [`DocumentError`] if the bytes are not a valid bundle.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let version = |value: &Value| document::format_of(value).to_owned();
        document::read("the bundle of a decision", bytes, version, Self::FORMAT.to_owned())
    }
}

/// Splits an absolute path into its names.
fn names(path: &str) -> Vec<&[u8]> {
    path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect()
}
