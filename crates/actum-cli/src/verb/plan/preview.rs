//! `actum plan preview`: shows the changes that a task plan would make and the decisions of the gates.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use actum::task::{
    self, ActionEnd, ActionProblem, KeptUse, PipelineHost, Rehearsal, RehearsalObserver, Rehearsed,
    Script, ShownChange, SqlHost, Verdict,
};
use actum::{Error, Judgement, PolicyInForce, Preview};
use actum_api::change::Diffs;
use actum_api::task::{ActionError, ActionResult, PlanPreview, PreviewedAction};
use actum_core::path::Harmless;
use actum_core::plain_id::PlainIdError;
use actum_core::{RiskTier, ShellWord, Timestamp};
use actum_gate::Verdict as Answer;
use actum_gate::credential::spans;
use actum_record::ledger::Actor;
use actum_record::receipt::ExternalPipeline;
use actum_task::report::CleanText;
use actum_task::{Action, ErrorCode, Finding, TaskPlan};
use actum_workspace::{RunOptions, Workspace};

use super::{Documents, Problems, Session, Task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::gate_view::views;
use crate::output::{self, Document, Kind};
use crate::verb::{pipeline_host, sql_host};
use crate::{actor, clock, policy, records, recovery_note, root, sql_view, task_settings};

/// Show the changes that a task plan would make and the decision of every gate, without changing anything
///
/// Each action is rehearsed in a staging area that no other process sees, including its preconditions and
/// postconditions. The diff shows the changes of all successful actions. The exit code is 1 if an action would fail or
/// a gate refuses the changes.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
}

/// Rehearsal observer that ignores all events.
pub(super) struct Nobody;

impl RehearsalObserver for Nobody {
    fn now(&self) -> Timestamp {
        clock::now()
    }
}

/// Document of a preview, with additional data for the text output and for an approval.
pub(super) struct Previewed {
    /// Document of the preview, without the diff.
    pub(super) document: PlanPreview,
    /// Whether some changes of the plan would be kept even though other actions fail.
    is_partial: bool,
    /// Change that the plan would make and whose diff is shown.
    pub(super) change: ShownChange,
    /// Whether a gate requires an approval for the change.
    pub(super) asks: bool,
    /// Code of the first error that would occur when the plan is carried out.
    first_error: Option<ErrorCode>,
    diff: FileDiffs,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let task = match arguments.documents.read(&session.start)? {
        Ok(task) => task,
        Err(problems) => {
            session.screen.show(&problems.document(None, None))?;
            return Ok(Exit::Refused);
        }
    };
    let mut problems = Problems::default();
    problems.find_violations(&task, session)?;
    if !problems.is_empty() {
        session.screen.show(&problems.document(None, None))?;
        return Ok(Exit::Refused);
    }
    let root = root::existing_or_new(&session.start);
    let in_force = policy::in_force(root)?;
    let is_new = !root::is_made(root);
    let mut workspace = records::own_root(root, &session.tenant)?.open()?;
    if is_new {
        session.note_made(root);
    }
    let asked = (actor::from_agent(None), KeptUse::None, session);
    let previewed = Previewed::new((&mut workspace, root), &task, &in_force, asked);
    recovery_note::print(&session.screen, workspace.recovery());
    let previewed = previewed?;
    session.screen.show(&previewed)?;
    Ok(if previewed.document.sound { Exit::Success } else { Exit::Refused })
}

impl Previewed {
    pub(super) fn new(
        (workspace, root): (&mut Workspace, &Path),
        task: &Task,
        in_force: &PolicyInForce,
        (actor, kept_use, session): (Actor, KeptUse, &Session),
    ) -> Result<Self, Failure> {
        let (audience, tenant) = (session.screen.audience_of_decisions(), &session.tenant);
        let Task { plan, config, graph, .. } = task;
        let constraints = plan.constraints(config.constraints);
        let sql = SqlHost::open_for(sql_host::for_showing()?, plan, in_force);
        let host = pipeline_host::new(root, session.screen, kept_use, None)?;
        let pipelines = PipelineHost::open_for(Some(host), plan, in_force);
        let script = Script { plan, graph, config, sql: &sql, pipelines: &pipelines };
        let label = format!("task {}", plan.id);
        let options = RunOptions { limits: task::limits(script), label, wait: false };
        let mut transaction = workspace.begin(options)?;
        let rehearsal = Rehearsal::on(&mut transaction, script, &mut Nobody);
        let verdict = rehearsal.verdict(constraints);
        let Rehearsal { actions, operations, broken_rules, broken_off } = rehearsal;
        let written: BTreeSet<_> = plan.actions.iter().flat_map(Action::written).collect();
        let linked = transaction.broken_links().iter().filter(|path| written.contains(path));
        let linked: Vec<_> = linked.map(task::linked).collect();
        let diff = FileDiffs::new(transaction.diff()?, audience);
        let (effects, umask) = (transaction.effects(), transaction.umask());
        let id = plan
            .id
            .as_str()
            .parse()
            .map_err(|error: PlainIdError| Failure::Usage { message: error.to_string() })?;
        let settings =
            task_settings::new(config, plan.description.as_deref(), (root, &actor), clock::now());
        let external = task::external_pipelines(script).map_err(Error::from)?;
        let documents = task.documents.clone().with_external(external.clone());
        let request = task::request((script, &id), documents, (operations, &actions), actor);
        let mut preview = Preview { transaction, undoes: None, undone: None };
        let judged = preview.judged(&request, in_force, &tenant.id()?, clock::now());
        let (tier, decisions, answer, digest) = match judged {
            Ok(Judgement { bundle, decision, .. }) => {
                let bound = bundle.bound().map_err(Error::from)?;
                (decision.tier, decision.gates, Some(decision.verdict), Some(bound.change))
            }
            Err(Error::NothingToChange) => (RiskTier::R0, Vec::new(), None, None),
            Err(error) => return Err(error.into()),
        };
        let is_refused = answer == Some(Answer::Deny) || !linked.is_empty();
        let is_kept = verdict == Verdict::Keep && !is_refused;
        let failed = actions.iter().filter_map(|done| match &done.end {
            ActionEnd::Failed(problem) => Some(problem.code),
            ActionEnd::Completed { .. } | ActionEnd::Skipped { .. } | ActionEnd::Deferred(_) => {
                None
            }
        });
        let failed: Vec<_> = failed.collect();
        let is_left = actions.iter().any(|done| !done.left.is_empty());
        let actions: Vec<_> = actions.into_iter().map(|done| action(plan, done)).collect();
        let is_done = |it: &PreviewedAction| {
            matches!(it.end, ActionResult::Success { .. } | ActionResult::Deferred { .. })
        };
        let abort_error = broken_off.map(|code| error_of(code, code.about()));
        let misplaced = task::external_findings(script);
        let broken_rules: Vec<_> = broken_rules.into_iter().chain(linked).collect();
        let codes = broken_rules.iter().map(|problem| problem.code);
        let codes = codes.chain(misplaced.iter().map(Finding::code));
        let first_error = failed.into_iter().chain(broken_off).chain(codes).next();
        let misplaced_errors = misplaced.iter().map(|it| error_of(it.code(), &it.to_string()));
        let broken_rules = broken_rules.into_iter().map(error).chain(misplaced_errors);
        let is_partial = is_kept && (is_left || actions.iter().any(is_done));
        let document = PlanPreview {
            plan: plan.id.to_string(),
            sound: is_kept && misplaced.is_empty() && actions.iter().all(is_done),
            actions,
            broken_rules: abort_error.into_iter().chain(broken_rules).collect(),
            tier,
            gates: views(&decisions),
            settings,
            diff: Diffs::default(),
        };
        Ok(Self {
            document,
            is_partial,
            change: ShownChange { effects, external, umask, digest },
            asks: answer == Some(Answer::NeedsApproval),
            first_error,
            diff,
        })
    }
}

impl Previewed {
    /// Whether any setting of the task differs from its default.
    pub(super) fn has_settings(&self) -> bool {
        !self.document.settings.settings.is_empty()
    }
}

fn action(plan: &TaskPlan, rehearsed: Rehearsed) -> PreviewedAction {
    let action = plan.actions.get(rehearsed.action);
    PreviewedAction {
        action_id: action.map(|action| action.id.to_string()).unwrap_or_default(),
        end: match rehearsed.end {
            ActionEnd::Completed { output, .. } => ActionResult::Success { output },
            ActionEnd::Failed(problem) => ActionResult::Failed(error(problem)),
            ActionEnd::Skipped { reason } => ActionResult::Skipped { reason },
            ActionEnd::Deferred(ExternalPipeline { name, env, steps, .. }) => {
                ActionResult::Deferred { pipeline: name, env, steps }
            }
        },
        sql: rehearsed.sql.map(|ran| sql_view::document(&ran.done)),
    }
}

fn error(problem: ActionProblem) -> ActionError {
    error_of(problem.code, &problem.message)
}

fn error_of(code: ErrorCode, message: &str) -> ActionError {
    let error_message = CleanText::new(message, &spans).to_string();
    ActionError { error_code: code.number(), error_message }
}

impl Document for Previewed {
    type Api = PlanPreview;

    fn document(&self) -> impl Borrow<PlanPreview> {
        PlanPreview { diff: self.diff.document(), ..self.document.clone() }
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.diff.write(out)?;
        let preview = &self.document;
        for PreviewedAction { action_id, end, sql } in &preview.actions {
            let (word, message) = match end {
                ActionResult::Success { output } => ("ok", output.clone()),
                ActionResult::Failed(ActionError { error_code, error_message }) => {
                    ("failed", format!("{error_message} ({})", words(*error_code)))
                }
                ActionResult::Skipped { reason } => ("skipped", reason.clone()),
                ActionResult::Deferred { pipeline, .. } => (
                    "later",
                    format!(
                        "Pipeline '{pipeline}' runs after the change is published; its effects outside of the \
                         workspace cannot be rolled back"
                    ),
                ),
            };
            let (id, message) = (Harmless(action_id.as_bytes()), Harmless(message.as_bytes()));
            writeln!(out, "{word:7}  {id}  {message}")?;
            if let ActionResult::Deferred { env, steps, .. } = end {
                write_commands(env, steps, out)?;
            }
            if let Some(sql) = sql {
                sql_view::write(sql, output::columns(), out)?;
            }
        }
        for ActionError { error_code, error_message } in &preview.broken_rules {
            let message = Harmless(error_message.as_bytes());
            writeln!(out, "rule     {message} ({})", words(*error_code))?;
        }
        task_settings::write(&preview.settings, out)?;
        preview.gates.iter().try_for_each(|gate| writeln!(out, "gate     {}", gate))?;
        let end = match (preview.sound, self.is_partial) {
            (true, _) => "all changes would be applied",
            (false, true) => "only some changes would be applied",
            (false, false) => "no changes would be applied",
        };
        writeln!(
            out,
            "preview of `{}`: {end} ({}); nothing was changed",
            preview.plan, preview.tier
        )?;
        match self.first_error {
            Some(code) => {
                writeln!(out, "run `actum explain {}` to find out what to do", code.number())
            }
            None => Ok(()),
        }
    }
}

/// Writes the commands and the environment of an external pipeline, which are covered by the approval of the plan.
fn write_commands(env: &[String], steps: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    for step in steps {
        let words = step.iter().map(|word| ShellWord::new(word.as_bytes()).to_string());
        let line = words.collect::<Vec<_>>().join(" ");
        writeln!(out, "{:7}    {}", "", Harmless(line.as_bytes()))?;
    }
    for variable in env {
        let outside = if variable.contains('=') { "" } else { " (value at the time of the run)" };
        writeln!(out, "{:7}    with {}{outside}", "", Harmless(variable.as_bytes()))?;
    }
    writeln!(out, "{:7}    the approval does not cover the files that these commands read", "")
}

/// Formats an error code with its name, or only its number if it is unknown.
fn words(code: u16) -> String {
    ErrorCode::of_number(code).map_or_else(|| code.to_string(), |code| code.to_string())
}
