//! `actum plan preview`: what a task plan would do, and what the gates say of it.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use actum::task::{
    self, ActionEnd, ActionProblem, Rehearsal, Rehearsed, Script, ShownChange, Verdict, Watch,
};
use actum::{Error, Judgement, PolicyInForce, Preview};
use actum_api::Gate;
use actum_core::path::Harmless;
use actum_core::plain_id::PlainIdError;
use actum_core::{RiskTier, Timestamp};
use actum_gate::Verdict as Answer;
use actum_gate::credential::spans;
use actum_record::ledger::Actor;
use actum_task::report::CleanText;
use actum_task::{Action, ErrorCode, TaskPlan};
use actum_workspace::{RunOptions, Workspace};
use serde::Serialize;

use super::{Documents, Problems, Session, Task, lint};
use crate::diff_text::Audience;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::gate_view::views;
use crate::home::Tenant;
use crate::output::{Document, Kind};
use crate::task_settings::ShownSettings;
use crate::{actor, clock, policy, records, recovery_note, root};

/// Show what a task plan would do, and what every gate says of it; nothing is changed
///
/// Each action is done where nobody sees it, with what it needs and what must hold after it. The diff is that of all
/// actions that can be done. The exit code is 1 where an action would fail or a gate says no.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
}

/// Nobody looks on.
pub(super) struct Nobody;

impl Watch for Nobody {
    fn now(&self) -> Timestamp {
        clock::now()
    }
}

#[derive(Serialize)]
pub(super) struct Previewed {
    plan: String,
    /// Whether all of it would be done.
    pub(super) sound: bool,
    /// Whether some of it would be done all the same.
    #[serde(skip)]
    is_partial: bool,
    /// Change of which the diff is shown.
    #[serde(skip)]
    pub(super) change: ShownChange,
    /// Whether a gate asks for a person.
    #[serde(skip)]
    pub(super) asks: bool,
    actions: Vec<Acted>,
    /// Rules of the plan that would not hold.
    broken_rules: Vec<Failed>,
    tier: RiskTier,
    gates: Vec<Gate>,
    #[serde(flatten)]
    settings: ShownSettings,
    diff: FileDiffs,
}

#[derive(Serialize)]
struct Acted {
    action_id: String,
    #[serde(flatten)]
    end: End,
}

#[derive(Serialize)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
enum End {
    Success { output: String },
    Failed(Failed),
    Skipped { reason: String },
}

#[derive(Serialize)]
struct Failed {
    error_code: ErrorCode,
    error_message: String,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let task = match arguments.documents.read(&session.start)? {
        Ok(task) => task,
        Err(problems) => {
            session.screen.show(&lint::Linted::unread(problems))?;
            return Ok(Exit::Refused);
        }
    };
    let mut problems = Problems::default();
    problems.find_violations(&task, session)?;
    if !problems.is_empty() {
        session.screen.show(&lint::Linted::unread(problems))?;
        return Ok(Exit::Refused);
    }
    let root = root::existing_or_new(&session.start);
    let in_force = policy::in_force(root)?;
    let is_new = !root::is_made(root);
    let mut workspace = records::own_root(root, &session.tenant)?.open()?;
    if is_new {
        session.note_made(root);
    }
    let asked = (actor::of(None), session.screen.audience_of_decisions());
    let previewed = Previewed::of((&mut workspace, root), &task, &in_force, asked, &session.tenant);
    recovery_note::tell(&session.screen, workspace.recovery());
    let previewed = previewed?;
    session.screen.show(&previewed)?;
    Ok(if previewed.sound { Exit::Success } else { Exit::Refused })
}

impl Previewed {
    pub(super) fn of(
        (workspace, root): (&mut Workspace, &Path),
        task: &Task,
        in_force: &PolicyInForce,
        (actor, audience): (Actor, Audience),
        tenant: &Tenant,
    ) -> Result<Self, Failure> {
        let Task { plan, config, graph, .. } = task;
        let constraints = plan.constraints(config.constraints);
        let limits = task::limits(plan);
        let label = format!("task {}", plan.id);
        let options = RunOptions { limits, label, wait: false };
        let script = Script { plan, graph, config };
        let mut transaction = workspace.begin(options)?;
        let rehearsal = Rehearsal::on(&mut transaction, script, &mut Nobody);
        let verdict = rehearsal.verdict(constraints);
        let Rehearsal { actions, operations, broken_rules, broken_off } = rehearsal;
        let written: BTreeSet<_> = plan.actions.iter().flat_map(Action::written).collect();
        let linked = transaction.broken_links().iter().filter(|path| written.contains(path));
        let linked: Vec<_> = linked.map(task::linked).collect();
        let diff = FileDiffs::of(transaction.diff()?, audience);
        let (effects, umask) = (transaction.effects(), transaction.umask());
        let id = plan
            .id
            .as_str()
            .parse()
            .map_err(|error: PlainIdError| Failure::Usage { message: error.to_string() })?;
        let settings =
            ShownSettings::new(config, plan.description.as_deref(), (root, &actor), clock::now());
        let request = task::request((plan, &id), task.documents.clone(), operations, actor);
        let mut preview = Preview { transaction, undoes: None, undone: None };
        let judged = preview.judged(&request, in_force, &tenant.id()?, clock::now());
        let (tier, gates, answer, digest) = match judged {
            Ok(Judgement { bundle, decision, .. }) => {
                let bound = bundle.bound().map_err(Error::from)?;
                (decision.tier, decision.gates, Some(decision.verdict), Some(bound.change))
            }
            Err(Error::NothingToChange) => (RiskTier::R0, Vec::new(), None, None),
            Err(error) => return Err(error.into()),
        };
        let is_refused = answer == Some(Answer::Deny) || !linked.is_empty();
        let is_kept = verdict == Verdict::Keep && !is_refused;
        let actions: Vec<_> = actions.into_iter().map(|done| Acted::of(plan, done)).collect();
        let is_done = |acted: &Acted| matches!(acted.end, End::Success { .. });
        let broken_off =
            broken_off.map(|code| ActionProblem { code, message: code.about().into() });
        let broken_rules = broken_off.into_iter().chain(broken_rules).chain(linked);
        Ok(Self {
            plan: plan.id.to_string(),
            sound: is_kept && actions.iter().all(is_done),
            is_partial: is_kept && actions.iter().any(is_done),
            change: ShownChange { effects, umask, digest },
            asks: answer == Some(Answer::NeedsApproval),
            actions,
            broken_rules: broken_rules.map(Failed::from).collect(),
            tier,
            gates: views(&gates),
            settings,
            diff,
        })
    }
}

impl Previewed {
    /// Checks whether settings of the task differ from the defaults.
    pub(super) fn has_settings(&self) -> bool {
        !self.settings.is_empty()
    }

    /// What would go wrong.
    fn codes(&self) -> impl Iterator<Item = ErrorCode> {
        let failed = self.actions.iter().filter_map(|acted| match &acted.end {
            End::Failed(failed) => Some(failed),
            End::Success { .. } | End::Skipped { .. } => None,
        });
        failed.chain(&self.broken_rules).map(|failed| failed.error_code)
    }
}

impl Acted {
    fn of(plan: &TaskPlan, rehearsed: Rehearsed) -> Self {
        let action = plan.actions.get(rehearsed.action);
        Self {
            action_id: action.map(|action| action.id.to_string()).unwrap_or_default(),
            end: match rehearsed.end {
                ActionEnd::Completed { output, .. } => End::Success { output },
                ActionEnd::Failed(problem) => End::Failed(problem.into()),
                ActionEnd::Skipped { reason } => End::Skipped { reason },
            },
        }
    }
}

impl From<ActionProblem> for Failed {
    fn from(ActionProblem { code, message }: ActionProblem) -> Self {
        Self { error_code: code, error_message: CleanText::new(&message, &spans).to_string() }
    }
}

impl actum_api::Document for Previewed {
    const FORMAT: &'static str = "actum.plan-preview/1";
}

impl Document for Previewed {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.diff.write(out)?;
        for Acted { action_id, end } in &self.actions {
            let (word, told) = match end {
                End::Success { output } => ("ok", output.clone()),
                End::Failed(Failed { error_code, error_message }) => {
                    ("failed", format!("{error_message} ({error_code})"))
                }
                End::Skipped { reason } => ("skipped", reason.clone()),
            };
            let (id, told) = (Harmless(action_id.as_bytes()), Harmless(told.as_bytes()));
            writeln!(out, "{word:7}  {id}  {told}")?;
        }
        for Failed { error_code, error_message } in &self.broken_rules {
            let told = Harmless(error_message.as_bytes());
            writeln!(out, "rule     {told} ({error_code})")?;
        }
        self.settings.write(out)?;
        self.gates.iter().try_for_each(|gate| writeln!(out, "gate     {}", gate))?;
        let end = match (self.sound, self.is_partial) {
            (true, _) => "all of it would be done",
            (false, true) => "not all of it would be done",
            (false, false) => "nothing of it would be done",
        };
        writeln!(out, "preview of `{}`: {end} ({}); nothing was changed", self.plan, self.tier)?;
        match self.codes().next() {
            Some(code) => writeln!(out, "`actum explain {}` says what to do", code.number()),
            None => Ok(()),
        }
    }
}
