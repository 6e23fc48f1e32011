//! Bundle of all inputs of a decision, as a document that is kept.

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

/// User id of an unknown user (`overflowuid`, proc_sys_kernel(5)).
const NOBODY: u32 = 65_534;

/// Case to be judged: a change, and its request. The fields are in alphabetical order, as in canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Requester.
    pub actor: Actor,
    /// Approval, if there is one.
    pub approved: Option<Approved>,
    /// Budget of the request.
    pub budget: Budget,
    /// Effects on paths, ordered by path.
    pub change: Vec<PathEffect>,
    /// Commands to run for the request, in order. They follow from the request, so an approval of its plan
    /// includes them.
    pub commands: Vec<CommandLine>,
    /// Commands in a sandbox that captures all their changes; the part to keep is the change itself. Rules
    /// can restrict them, but they need no rule that allows them.
    pub confined: Vec<CommandLine>,
    /// Declared tier, which can only raise the computed one.
    pub declared: Option<RiskTier>,
    /// Entry point that received the request.
    pub door: String,
    /// Roots of the enclosing workspaces and repositories, outermost first. The operator's rules also apply
    /// relative to each of them.
    pub enclosing: Vec<String>,
    /// External pipelines to run after the change is published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalPipeline>,
    /// Suspected credentials in the new content, ordered by path.
    pub found: Vec<Found>,
    /// Lease of the request, and the capability it is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseCase>,
    /// Digest of the limits of the request, including those that no gate judges.
    pub limits: Digest,
    /// Changed files that have other hard links, ordered by path.
    pub linked: Vec<PathName>,
    /// Symbolic links that are created, moved or retargeted, ordered by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkFound>,
    /// Paths that become writable for every user, ordered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<PathName>,
    /// Digest of the request.
    pub plan: Digest,
    /// True if the change only restores the state before the undone run; false for a redo.
    pub restores: bool,
    /// Root of the workspace, without links.
    pub root: String,
    /// Scope of the request.
    pub scope: Scope,
    /// Number of rows that SQL steps change; absent without such steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_rows: Option<u64>,
    /// Tenant whose ledger records the case.
    pub tenant: TenantId,
    /// Time of the judgement.
    pub time: Timestamp,
    /// Changed files that other programs act on automatically, ordered by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerFound>,
    /// Run that is undone.
    pub undoes: Option<RunId>,
    /// Facts about that run, if it is recorded.
    pub undone: Option<Undone>,
    /// Files whose new content could not be scanned, ordered by path.
    pub unscanned: Vec<PathName>,
    /// Kind of request.
    pub work: WorkKind,
}

/// Kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Change of files.
    Apply,
    /// Undo of a change.
    Undo,
    /// Redo of an undone change.
    Redo,
}

/// Approval from the ledger, signed by a key with the right role, and the content it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// Approver, and position of the approval in the ledger.
    pub approval: Approval,
    /// Approved content.
    pub bound: Bound,
    /// Expiry time.
    pub expires: Timestamp,
}

/// Recorded run that is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// Actor of the run.
    pub actor: Actor,
    /// True if the run was approved.
    pub approved: bool,
}

impl Undone {
    /// Returns true if an actor may undo the run without the gates for new changes. The run must be the
    /// actor's own and not approved. A user who acts without an agent owns the runs of their agents.
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
    /// File.
    pub path: PathName,
    /// Finding of the scan.
    pub finding: Finding,
}

/// Symbolic link and its destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFound {
    /// Path of the link.
    pub path: PathName,
    /// Destination of the link.
    pub leads_to: LeadsTo,
}

/// Destination of a symbolic link, by the names of its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadsTo {
    /// Path in the workspace.
    Path(PathName),
    /// Root of the workspace.
    Root,
    /// State of git or actum, which no run changes.
    State,
    /// Outside the workspace, absolute, or undecidable by the names alone.
    Outside,
}

impl LinkFound {
    /// Resolves a link with this target by its names alone, without following other links in it. So `..`
    /// after a name may lead anywhere, since that name may be a link.
    pub fn new(path: &RelPath, target: &[u8]) -> Self {
        Self { path: PathName(path.clone()), leads_to: leads_to(path, target) }
    }

    /// Returns a link with an unknown target.
    pub fn unknown(path: &RelPath) -> Self {
        Self { path: PathName(path.clone()), leads_to: LeadsTo::Outside }
    }

    /// Returns the path in the workspace that it points to.
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

/// File that other programs act on automatically.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerFound {
    /// File.
    pub path: PathName,
    /// Trigger of the file.
    pub trigger: Trigger,
}

impl TriggerFound {
    /// Finds changed files that other programs act on whatever their content is, such as git hooks.
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
    /// Makes a case of a change alone: by an unknown requester, without limits or special facts.
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

/// All inputs of a decision besides the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    case: Case,
    format: String,
    policy: Digest,
    semantics: u32,
}

impl Bundle {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.bundle/6";

    /// Makes the bundle of a case under the policy with that digest. A limit beyond 2^53 − 1 is reduced to that.
    pub fn new(policy: Digest, mut case: Case) -> Self {
        let held = |limit: Option<u64>| limit.map(|limit| limit.min(COUNT_MAX));
        let Budget { max_files, max_loc } = case.budget;
        case.budget = Budget { max_files: held(max_files), max_loc: held(max_loc) };
        case.sql_rows = held(case.sql_rows);
        Self { format: Self::FORMAT.to_owned(), semantics: DECISION_SEMANTICS, policy, case }
    }

    /// Adds an approval.
    #[must_use]
    pub fn with_approval(mut self, approved: Approved) -> Self {
        self.case.approved = Some(approved);
        self
    }

    /// Returns the digest of the policy.
    pub fn policy(&self) -> Digest {
        self.policy
    }

    /// Returns the scope of the request.
    pub fn scope(&self) -> &Scope {
        &self.case.scope
    }

    /// Returns the budget of the request.
    pub fn budget(&self) -> Budget {
        self.case.budget
    }

    /// Returns the effects on paths.
    pub fn change(&self) -> &[PathEffect] {
        &self.case.change
    }

    /// Returns each touched path; for a renamed file both.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.change().iter().flat_map(PathEffect::paths)
    }

    /// Returns the directories around the workspace that affect protection: the choice of a root does not
    /// change which paths are protected.
    pub(crate) fn above(&self) -> Above<'_> {
        let enclosing = self.case.enclosing.iter().filter_map(|root| self.depth_of(root)).collect();
        Above::new(names(&self.case.root), enclosing)
    }

    /// Returns the number of names that lead to a root, if it is the workspace's or encloses it.
    pub(crate) fn depth_of(&self, root: &str) -> Option<usize> {
        let (root, own) = (names(root), names(&self.case.root));
        own.starts_with(&root).then_some(root.len())
    }

    /// Returns a path of the change relative to this root and to each enclosing one.
    pub(crate) fn seen_from_each_root(&self, path: &RelPath) -> impl Iterator<Item = RelPath> {
        let around = self.case.enclosing.iter().filter_map(|root| self.depth_of(root));
        let seen = around.filter_map(move |depth| self.seen_from(depth, path).ok());
        std::iter::once(path.clone()).chain(seen)
    }

    /// Returns a path of the change relative to the root that this number of names leads to.
    ///
    /// # Errors
    /// `PathError` if the longer path is invalid.
    pub(crate) fn seen_from(&self, depth: usize, path: &RelPath) -> Result<RelPath, PathError> {
        let own = names(&self.case.root);
        let between = own.get(depth..).unwrap_or_default().iter().copied();
        let names: Vec<&[u8]> = between.chain(path.components()).collect();
        RelPath::new(names.join(&b'/'))
    }

    /// Returns a path of the change relative to a base directory of a lease, if it is below that. The base
    /// directory can be above the workspace root or in the workspace.
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

    /// Returns each touched path relative to the workspace root and to each enclosing root. So the choice of
    /// a root does not affect a rule that names a path.
    ///
    /// # Errors
    /// `PathError` if one of them is too long for a path.
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

    /// Returns the root of the workspace, if a rule matches a path only together with the names above the workspace.
    pub(crate) fn root_shown(&self, path: &RelPath, guard: &Guard) -> Option<String> {
        let is_within = guard.covers_within(names(&self.case.root).len(), path);
        (!is_within).then(|| self.case.root.clone())
    }

    /// Returns the effects on files, without created and removed directories.
    pub fn files(&self) -> impl Iterator<Item = &PathEffect> {
        self.change().iter().filter(|effect| effect.effect.is_of_file())
    }

    /// Returns the requester.
    pub fn actor(&self) -> &Actor {
        &self.case.actor
    }

    /// Returns the entry point that received the request.
    pub fn door(&self) -> &str {
        &self.case.door
    }

    /// Returns the tenant whose ledger records the case.
    pub fn tenant(&self) -> &TenantId {
        &self.case.tenant
    }

    /// Returns the root of the workspace.
    pub fn root(&self) -> &str {
        &self.case.root
    }

    /// Returns the version of the rules that the bundle was made for.
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

    /// Returns the symbolic links that are created, moved or retargeted. Empty for an undo or a redo: those
    /// links were judged before.
    pub fn links(&self) -> &[LinkFound] {
        if self.case.work == WorkKind::Apply { &self.case.links } else { &[] }
    }

    /// Returns the paths that become writable for every user.
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

    /// Returns the commands whose effects were all captured.
    pub fn confined(&self) -> &[CommandLine] {
        &self.case.confined
    }

    /// Returns the suspected credentials in the new content.
    pub fn found(&self) -> &[Found] {
        &self.case.found
    }

    /// Returns the files whose new content could not be scanned.
    pub fn unscanned(&self) -> &[PathName] {
        &self.case.unscanned
    }

    /// Returns the number of rows that SQL steps change; `None` without such steps.
    pub fn sql_rows(&self) -> Option<u64> {
        self.case.sql_rows
    }

    /// Returns the external pipelines to run after the change is published.
    pub fn external(&self) -> &[ExternalPipeline] {
        &self.case.external
    }

    /// Returns the lease of the request, and the capability it is needed for.
    pub fn lease(&self) -> Option<&LeaseCase> {
        self.case.lease.as_ref()
    }

    /// Returns the declared tier.
    pub fn declared(&self) -> Option<RiskTier> {
        self.case.declared
    }

    /// Returns the time of the judgement.
    pub fn time(&self) -> Timestamp {
        self.case.time
    }

    /// Returns the approval, if there is one.
    pub fn approved(&self) -> Option<&Approved> {
        self.case.approved.as_ref()
    }

    /// Returns the content that an approval of the case is bound to.
    ///
    /// # Errors
    /// Same errors as [`change_digest`].
    pub fn bound(&self) -> Result<Bound, CanonicalError> {
        let Case { plan, limits, ref change, .. } = self.case;
        Ok(Bound { plan, limits, change: change_digest(change)?, policy: self.policy })
    }

    /// Returns true if it is an undo that is not judged as a new change. It only restores the state before a
    /// run, and the run is the actor's own and was not approved.
    pub fn restores(&self) -> bool {
        let Case { undoes, undone, restores, actor, .. } = &self.case;
        let is_free = undone.as_ref().is_some_and(|undone| undone.is_free_for(actor));
        undoes.is_some() && *restores && is_free
    }

    /// Serialises the bundle as canonical JSON.
    ///
    /// # Errors
    /// `Number` for a file size or a number of lines beyond 2^53 − 1.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::ordered_to_vec(self)
    }

    /// Reads the canonical bytes of a bundle from any version of the rules, so that its description of the
    /// change stays readable.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let version = |value: &Value| document::format_of(value).to_owned();
        document::read("the bundle of a decision", bytes, version, Self::FORMAT.to_owned())
    }
}

/// Splits an absolute path into its names.
fn names(path: &str) -> Vec<&[u8]> {
    path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect()
}
