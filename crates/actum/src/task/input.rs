//! Reads the documents of a task and checks whether the task may start (EX-1, EX-2, EX-4).

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, PathRule, RelPath, Timestamp};
use actum_gate::policy::TaskEnvelopes;
use actum_record::keyring::Keyring;
use actum_record::ledger::{TenantId, WorkspaceId};
use actum_task::verify_task_approval;
use actum_task::{
    ActionPlaces, ApprovalSubject, ErrorCode, Files, Finding, Graph, NamedTarget, Pipeline,
    SystemConfig, TaskApproval, TaskEnvelope, TaskEnvelopeError, TaskId, TaskPlan, links, lint,
};
use actum_workspace::disk::{Kind, Stat};
use actum_workspace::{RunOptions, Workspace};

use super::consent::Consent;
use super::isolated;
use super::outputs::Outputs;
use super::problem::TaskProblem;
use super::protected::{self, Violation, violations};
use super::rehearsal::Script;
use crate::error::Result;
use crate::pipeline_host::{self, PipelineSteps};
use crate::policies::PolicyInForce;
use crate::sql_host::SqlSteps;

/// Documents of a task as received, before they are parsed and checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskInput {
    /// Task envelope from the protocol layer. Without an envelope, a signed approval is required.
    pub envelope: Option<TaskEnvelope>,
    /// Content of the task plan.
    pub plan: Vec<u8>,
    /// Content of the system config. Empty content means a config without settings.
    pub config: Vec<u8>,
    /// Content of the signed approval, if any.
    pub approval: Option<Vec<u8>>,
}

/// Task whose documents were parsed successfully.
#[derive(Debug)]
pub struct Task {
    /// Id of the task, from the envelope or else from the plan.
    pub id: PlainId,
    /// Parsed task plan.
    pub plan: TaskPlan,
    /// Id of the task plan.
    pub plan_id: PlainId,
    /// Positions of the actions in the text of the plan, for error messages.
    pub places: ActionPlaces,
    /// Parsed system config, with the project's settings for tasks.
    pub config: SystemConfig,
    /// Dependency graph of the actions, which determines their order.
    pub graph: Graph,
    /// Original documents from which the task was parsed.
    pub input: TaskInput,
}

/// Task that cannot start because its documents are missing or invalid.
#[derive(Debug)]
pub struct Unread {
    /// Id of the task, if its documents contain one.
    pub(super) id: Option<PlainId>,
    /// Id of the plan, if the plan could be parsed.
    pub(super) plan_id: Option<PlainId>,
    /// Problems found in the documents. The first one determines the error code of the task.
    pub(super) problems: Vec<TaskProblem>,
    /// Targets that could be extracted from the plan even though the plan as a whole is invalid.
    pub(super) named: Vec<NamedTarget>,
    /// Paths that the system config protects.
    pub(super) protected: Vec<PathRule>,
}

/// Context against which the approval of a task is checked.
pub(super) struct Here<'h> {
    pub(super) tenant: &'h TenantId,
    pub(super) workspace: WorkspaceId,
    /// Kind of task envelopes that the policies accept.
    pub(super) envelopes: TaskEnvelopes,
    pub(super) keyring: &'h Keyring,
    pub(super) now: Timestamp,
}

/// Error message for an unsigned envelope when the policy requires signed envelopes.
const UNSIGNED: &str = "the policy accepts only signed task envelopes (`[tasks] signed = true`), but this one names no \
                        signed approval; sign it with `actum plan approve`";

/// Id under which a task is reported if its documents contain no id.
const UNKNOWN: &str = "unknown";

impl Task {
    /// Parses the documents of a task. If an envelope is present, the digests of the plan and config are verified first.
    pub(super) fn read(input: TaskInput) -> std::result::Result<Self, Unread> {
        let mut problems = Vec::new();
        let envelope_task = input.envelope.as_ref().map(|envelope| plain(envelope.task.as_str()));
        if let Some(envelope) = &input.envelope
            && let Err(changed) = envelope.check_inputs(&input.plan, &input.config)
        {
            // Documents that differ from the approved ones are not parsed, and none of their content is reported.
            let problems = vec![TaskProblem::new(changed.code(), changed.to_string())];
            return Err(Unread { problems, ..Unread::new(envelope_task) });
        }
        let plan = match TaskPlan::read_with_places(&input.plan) {
            Ok(plan) => Some(plan),
            Err(error) => {
                problems.extend(TaskProblem::of_mistakes("the task plan", &error.0));
                None
            }
        };
        let config = match input.config.is_empty() {
            true => Some(SystemConfig::default()),
            false => match SystemConfig::read(&input.config) {
                Ok(config) => Some(config),
                Err(error) => {
                    problems.extend(TaskProblem::of_mistakes("the system config", &error.0));
                    None
                }
            },
        };
        let plan_id = plan.as_ref().map(|(plan, _)| plain(plan.id.as_str()));
        let id = envelope_task.or_else(|| plan_id.clone());
        let protected = config.as_ref().map(|config| config.protected.clone());
        let unread = |problems| Unread {
            plan_id: plan_id.clone(),
            problems,
            named: TaskPlan::named_targets(&input.plan),
            protected: protected.clone().unwrap_or_default(),
            ..Unread::new(id.clone())
        };
        let (Some((plan, places)), Some(config), Some(of_plan), Some(name), true) =
            (plan, config, plan_id.clone(), id.clone(), problems.is_empty())
        else {
            return Err(unread(problems));
        };
        match plan.graph() {
            Ok(graph) => {
                Ok(Self { id: name, plan, plan_id: of_plan, places, config, graph, input })
            }
            Err(error) => {
                let problem = |problem: &actum_task::GraphProblem| TaskProblem {
                    action: Some(problem.action()),
                    json_path: Some(problem.path().to_string()),
                    place: places.0.get(problem.action()).copied(),
                    ..TaskProblem::new(problem.code(), problem.to_string())
                };
                Err(unread(error.problems.iter().map(problem).collect()))
            }
        }
    }

    /// Checks that the envelope was issued for the workspace in which the task was started.
    pub(super) fn check_workspace(
        &self,
        here: WorkspaceId,
    ) -> std::result::Result<(), TaskProblem> {
        let envelope = self.input.envelope.as_ref();
        let checked = envelope.map_or(Ok(()), |envelope| envelope.check_workspace(here));
        checked.map_err(|other| TaskProblem::new(ErrorCode::EnvelopeInvalid, other.to_string()))
    }

    /// Checks that the task has the approval that the policies require.
    pub(super) fn check_approved(
        &self,
        here: &Here<'_>,
    ) -> std::result::Result<Consent, TaskProblem> {
        let Some(approval) = &self.input.approval else {
            return match &self.input.envelope {
                Some(TaskEnvelope { approval: None, .. }) => match here.envelopes {
                    TaskEnvelopes::Any => Ok(Consent::Documents),
                    TaskEnvelopes::Signed => {
                        Err(TaskProblem::new(ErrorCode::ApprovalMissing, UNSIGNED))
                    }
                },
                Some(TaskEnvelope { approval: Some(file), .. }) => Err(TaskProblem::new(
                    ErrorCode::InputMissing,
                    format!("the approval `{file}` named by the envelope does not exist"),
                )),
                None => Err(TaskProblem::new(
                    ErrorCode::NotApproved,
                    "the task is not approved: it has neither an envelope nor an approval",
                )),
            };
        };
        let verified = verify_task_approval(approval, here.keyring)
            .map_err(|problem| TaskProblem::new(ErrorCode::ApprovalInvalid, problem.to_string()))?;
        let parsed: Option<TaskId>;
        let task = match &self.input.envelope {
            Some(envelope) => &envelope.task,
            None => {
                parsed = self.id.as_str().parse().ok();
                parsed.as_ref().unwrap_or(&verified.approval.task)
            }
        };
        let subject = ApprovalSubject {
            tenant: here.tenant,
            workspace: here.workspace,
            task,
            plan: Digest::of(&self.input.plan),
            config: Digest::of(&self.input.config),
        };
        let checked: std::result::Result<(), _> =
            TaskApproval::check(&verified.approval, &subject, here.now);
        checked.map_err(|problem| TaskProblem::new(problem.code(), problem.to_string()))?;
        Ok(Consent::signed(verified))
    }

    /// Returns all problems for which the entire plan is rejected before it starts: protected targets (EX-4), exceeded
    /// limits, and features that are not available.
    ///
    /// # Errors
    /// `Workspace`, or the errors of [`violations`].
    pub(super) fn refused(
        &self,
        workspace: &mut Workspace,
        outputs: &Outputs,
        (in_force, script): (&PolicyInForce, Script<'_>),
    ) -> Result<Vec<TaskProblem>> {
        let found = violations(self.plan.targets(), &self.config.protected, in_force)?;
        let mut problems: Vec<_> = found.into_iter().map(|it| self.violation(it)).collect();
        // The file status of each target is read only once. Other paths are read when they are needed.
        let mut stats = BTreeMap::new();
        for (_, path) in self.plan.targets() {
            stats.entry(path).or_insert_with(|| outputs.stat(path));
        }
        let written = self.plan.targets();
        let has_names =
            |path: &RelPath| matches!(stats.get(path), Some(Ok(Some(stat))) if stat.links > 1);
        let linked: Vec<_> = written.filter(|(_, path)| has_names(path)).collect();
        let others = named_by_others(workspace, linked.iter().map(|(_, path)| *path))?;
        for (action, path) in linked.into_iter().filter(|(_, path)| others.contains(path)) {
            if problems.iter().all(|it| it.action != Some(action)) {
                let (path, problem) = (path.clone(), protected::linked(path));
                problems.push(self.violation(Violation { action, path, problem }));
            }
        }
        let linked = links(&self.plan, |path| match stats.get(path) {
            Some(Ok(None)) => None,
            Some(Ok(Some(stat))) if stat.kind != Kind::Symlink => None,
            Some(_) | None => outputs.link_to(path),
        });
        problems.extend(linked.iter().map(|finding| self.finding(finding)));
        if problems.is_empty() {
            let is_file = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.kind == Kind::File);
            let exists = |path: &RelPath| match stats.get(path) {
                Some(stat) => stat.as_ref().is_ok_and(is_file),
                None => outputs.stat(path).is_ok_and(|stat| is_file(&stat)),
            };
            let may_change = |pipeline: &Pipeline, path: &RelPath| {
                pipeline_host::may_change(script.pipelines, pipeline, path)
            };
            let files = Files { exists: &exists, may_change: &may_change };
            let mut findings = lint(&self.plan, &self.graph, &self.config, files);
            findings.extend(isolated::findings(script));
            let refused =
                findings.into_iter().filter(|it| actum_task::is_rejected(std::slice::from_ref(it)));
            problems.extend(refused.map(|finding| self.finding(&finding)));
        }
        Ok(problems)
    }

    /// Bundles the task with its SQL and pipeline runners for a rehearsal.
    pub(super) fn script<'s>(
        &'s self,
        sql: &'s SqlSteps,
        pipelines: &'s PipelineSteps,
    ) -> Script<'s> {
        Script { plan: &self.plan, graph: &self.graph, config: &self.config, sql, pipelines }
    }

    fn violation(&self, violation: Violation) -> TaskProblem {
        let place = self.places.0.get(violation.action).copied();
        TaskProblem { place, ..TaskProblem::of_violation(violation) }
    }

    fn finding(&self, finding: &Finding) -> TaskProblem {
        TaskProblem {
            action: finding.action(),
            json_path: Some(finding.path().to_string()),
            place: finding.action().and_then(|action| self.places.0.get(action).copied()),
            ..TaskProblem::new(finding.code(), finding.to_string())
        }
    }
}

impl Unread {
    /// Creates an unreadable task without problems, of which at most the id is known.
    pub(super) fn new(id: Option<PlainId>) -> Self {
        let (problems, named, protected) = (Vec::new(), Vec::new(), Vec::new());
        Self { id, plan_id: None, problems, named, protected }
    }

    /// Returns the id of the task, or `unknown` if its documents contain none.
    pub(super) fn task(&self) -> PlainId {
        self.id.clone().unwrap_or_else(|| plain(UNKNOWN))
    }

    /// Adds problems for the protected targets that the plan names, so that they are reported even though the plan is
    /// invalid for another reason (EX-4).
    ///
    /// # Errors
    /// Returns the errors of [`violations`].
    pub(super) fn with_violations(mut self, in_force: &PolicyInForce) -> Result<Self> {
        let targets = self.named.iter();
        let targets = targets.filter_map(|it| Some((it.action, it.path.as_ref()?)));
        let found = violations(targets, &self.protected, in_force)?;
        self.problems.extend(found.into_iter().map(TaskProblem::of_violation));
        Ok(self)
    }

    /// Creates the unreadable task for an envelope that is invalid or does not approve the task.
    pub fn of_envelope(error: &TaskEnvelopeError, envelope: &[u8]) -> Self {
        let mistakes = TaskProblem::of_mistakes("the task envelope", error.mistakes());
        let code = |problem| TaskProblem { code: error.code(), ..problem };
        let mut problems: Vec<_> = mistakes.into_iter().map(code).collect();
        // The report uses the task id from the envelope, if there is one, so that the requester can identify the task.
        let envelope: Option<serde_json::Value> = serde_json::from_slice(envelope).ok();
        let task = envelope.as_ref().and_then(|it| it.get("task_id")?.as_str()?.parse().ok());
        let id = task.map(|task: TaskId| plain(task.as_str()));
        if envelope.is_some_and(|it| it.get("action_plan").is_some()) {
            let what = "this is a task plan, not an envelope; create its envelope with `actum plan approve`";
            problems = vec![TaskProblem::new(error.code(), what)];
        }
        Self { problems, ..Self::new(id) }
    }

    /// Creates the unreadable task for a document that cannot be read, for the reason `why`.
    pub fn of_file(task: Option<&TaskId>, why: &dyn std::fmt::Display) -> Self {
        let problems = vec![TaskProblem::new(ErrorCode::InputMissing, why.to_string())];
        let id = task.map(|task| plain(task.as_str()));
        Self { problems, ..Self::new(id) }
    }
}

/// Returns the files that have hard links other than those that actum itself creates for file images.
fn named_by_others<'p>(
    workspace: &mut Workspace,
    paths: impl Iterator<Item = &'p RelPath>,
) -> Result<BTreeSet<RelPath>> {
    let mut paths = paths.peekable();
    if paths.peek().is_none() {
        return Ok(BTreeSet::new());
    }
    let options =
        RunOptions { label: "inspect hard links".to_owned(), wait: true, ..RunOptions::default() };
    let mut transaction = workspace.begin(options)?;
    for path in paths {
        // Errors are ignored here, because the action itself checks that its target is a readable file.
        drop(transaction.file_state(path));
    }
    Ok(transaction.broken_links().iter().cloned().collect())
}

/// Converts the name of a plan or task to an id. Such names always meet the character and length rules of ids.
fn plain(name: &str) -> PlainId {
    let unknown = || PlainId::random([0; 16]);
    name.parse().unwrap_or_else(|_| unknown())
}
