//! `actum feedback`: lists the outcomes of past actions from the ledger.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::Wanted;
use actum_api::feedback::{ActionCheck, Attempt, EndedAction, Feedback};
use actum_core::path::{Harmless, Quoted};
use actum_core::{ActionName, Status};
use actum_record::ledger::ActionEnded;

use super::Session;
use super::ledger::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};
use crate::timestamp;

/// List the outcomes of actions, newest first
///
/// The ledger records every action that an agent requested, including refused ones. The list shows the outcome and its
/// reason, the checks, whether a repair or a rollback was attempted, and the run, which `actum undo` can undo.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Show only this action, such as `file_modify`
    #[arg(long, value_name = "NAME")]
    action: Option<ActionName>,
    /// Show only actions with this outcome
    #[arg(long, value_enum, value_name = "STATUS")]
    status: Option<Ended>,
    /// List at most N actions
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Value of the option `--status`, which selects actions by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Ended {
    Succeeded,
    Reverted,
    Queued,
    Rejected,
    Failed,
}

impl From<Ended> for Status {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Succeeded => Self::Succeeded,
            Ended::Reverted => Self::Reverted,
            Ended::Queued => Self::Queued,
            Ended::Rejected => Self::Rejected,
            Ended::Failed => Self::Failed,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Arguments { action, status, limit } = arguments;
    let wanted = Wanted { action: action.clone(), status: status.map(Status::from) };
    let found = match Opened::if_there(&session.tenant)? {
        Some(Opened { log, .. }) => actum::Feedback::newest(&log, &wanted, *limit),
        None => Ok(Vec::new()),
    };
    let found = found.map_err(actum::Error::from)?;
    let actions = found.into_iter().map(document).collect();
    session.screen.show(&Feedback { actions })?;
    Ok(Exit::Success)
}

fn document(actum::Feedback { index, ended }: actum::Feedback) -> EndedAction {
    let ActionEnded { time, workspace, root, id, action_id, action_type, tier, .. } = ended;
    let ActionEnded { confidence, reason, plan, actor, door, status, ground, .. } = ended;
    let ActionEnded { message, checks, repair, rollback, run, queued, .. } = ended;
    let ActionEnded { approved, duration_ms, .. } = ended;
    EndedAction {
        entry: index,
        time,
        id,
        action_id,
        action: action_type,
        tier,
        status,
        ground,
        message,
        confidence,
        reason,
        checks: checks.into_iter().map(Into::into).collect(),
        repair: repair.into(),
        rollback: rollback.into(),
        run,
        queued,
        approved,
        duration_ms,
        actor: actor.into(),
        door,
        plan,
        workspace,
        root,
    }
}

fn write(ended: &EndedAction, out: &mut dyn Write) -> io::Result<()> {
    let EndedAction { entry, time, id, action, tier, status, duration_ms, .. } = ended;
    let painted = match status {
        Status::Succeeded => style::ADDED,
        Status::Queued => style::CHANGED,
        Status::Reverted | Status::Rejected | Status::Failed => style::REMOVED,
    };
    let word = format!("{:9}", status.as_str());
    let (word, id) = (Painted(painted, word), Painted(style::RUN, id));
    let (second, name) = (timestamp::second(*time), action.as_str());
    writeln!(out, "{id}  {second}  {word}  {tier}  {name}  {duration_ms} ms  #{entry}")?;
    let mut more = |text: &dyn std::fmt::Display| writeln!(out, "              {text}");
    if let Some(reason) = &ended.reason {
        more(&format_args!("reason: {}", Harmless(reason.as_bytes())))?;
    }
    match (&ended.ground, &ended.message) {
        (Some(ground), Some(message)) => {
            let [ground, message] = [ground, message].map(|text| Quoted(text.as_bytes()));
            more(&format_args!("{ground}: {message}"))?;
        }
        (Some(text), None) | (None, Some(text)) => more(&Quoted(text.as_bytes()))?,
        (None, None) => {}
    }
    for ActionCheck { name, ok, .. } in &ended.checks {
        let held = if *ok { "passed" } else { "failed" };
        more(&format_args!("the check `{}` {held}", Harmless(name.as_bytes())))?;
    }
    for (what, Attempt { attempted, ok }) in
        [("repaired", ended.repair), ("rolled back", ended.rollback)]
    {
        match (attempted, ok) {
            (true, true) => more(&format_args!("the action was {what}"))?,
            (true, false) => more(&format_args!("the action could not be {what}"))?,
            (false, _) => {}
        }
    }
    if let Some(run) = ended.run {
        more(&format_args!("run {run}"))?;
    }
    if let Some(plan) = ended.queued {
        more(&format_args!("queued for approval as plan {plan}"))?;
    }
    if let Some(plan) = ended.approved {
        more(&format_args!("plan {plan} was approved"))?;
    }
    Ok(())
}

impl Document for Feedback {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.actions.is_empty() {
            return writeln!(out, "no matching actions");
        }
        self.actions.iter().try_for_each(|action| write(action, out))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
