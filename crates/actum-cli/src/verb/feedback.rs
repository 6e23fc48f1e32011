//! `actum feedback`: how actions ended.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{Feedback, Wanted};
use actum_core::path::{Harmless, Quoted};
use actum_core::{ActionName, Digest, RiskTier, RunId, Status, Timestamp};
use actum_record::ledger::{ActionCheck, ActionEnded, Actor, Attempt, Confidence, WorkspaceId};
use serde::Serialize;

use super::Session;
use super::ledger::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};
use crate::timestamp;

/// Tell how actions ended, the newest first
///
/// All that agents asked for through actions is in the ledger, also what was refused: how it ended and why, what
/// was checked, whether it was repaired or rolled back, and the run that `actum undo` takes back.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only this action, such as `file_modify`
    #[arg(long, value_name = "NAME")]
    action: Option<ActionName>,
    /// Only those that ended so
    #[arg(long, value_enum, value_name = "STATUS")]
    status: Option<Ended>,
    /// How many at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// How an action can end.
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

#[derive(Serialize)]
struct Told {
    actions: Vec<Line>,
}

/// How one action ended.
#[derive(Serialize)]
struct Line {
    /// Where it stands in the ledger.
    entry: u64,
    time: Timestamp,
    /// The name of this action.
    id: RunId,
    /// How its planner calls it.
    action_id: Option<String>,
    action: ActionName,
    tier: RiskTier,
    status: Status,
    /// The permanent name of why.
    ground: Option<String>,
    message: Option<String>,
    confidence: Option<Confidence>,
    /// Why the planner proposed it.
    reason: Option<String>,
    checks: Vec<ActionCheck>,
    repair: Attempt,
    rollback: Attempt,
    /// The run that changed files.
    run: Option<RunId>,
    /// The plan in the queue.
    queued: Option<RunId>,
    /// The plan whose approval let it go.
    approved: Option<RunId>,
    duration_ms: u64,
    actor: Actor,
    door: String,
    /// The digest of the plan envelope.
    plan: Digest,
    workspace: WorkspaceId,
    root: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Arguments { action, status, limit } = arguments;
    let wanted = Wanted { action: action.clone(), status: status.map(Status::from) };
    let found = match Opened::if_there(&session.tenant)? {
        Some(Opened { log, .. }) => Feedback::newest(&log, &wanted, *limit),
        None => Ok(Vec::new()),
    };
    let found = found.map_err(actum::Error::from)?;
    let actions = found.into_iter().map(Line::from).collect();
    session.screen.show(&Told { actions })?;
    Ok(Exit::Success)
}

impl From<Feedback> for Line {
    fn from(Feedback { index, ended }: Feedback) -> Self {
        let ActionEnded { time, workspace, root, id, action_id, action_type, tier, .. } = ended;
        let ActionEnded { confidence, reason, plan, actor, door, status, ground, .. } = ended;
        let ActionEnded { message, checks, repair, rollback, run, queued, .. } = ended;
        let ActionEnded { approved, duration_ms, .. } = ended;
        Self {
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
            checks,
            repair,
            rollback,
            run,
            queued,
            approved,
            duration_ms,
            actor,
            door,
            plan,
            workspace,
            root,
        }
    }
}

impl Line {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { entry, time, id, action, tier, status, duration_ms, .. } = self;
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
        if let Some(reason) = &self.reason {
            more(&format_args!("for {}", Harmless(reason.as_bytes())))?;
        }
        match (&self.ground, &self.message) {
            (Some(ground), Some(message)) => {
                let [ground, message] = [ground, message].map(|text| Quoted(text.as_bytes()));
                more(&format_args!("{ground}: {message}"))?;
            }
            (Some(text), None) | (None, Some(text)) => more(&Quoted(text.as_bytes()))?,
            (None, None) => {}
        }
        for ActionCheck { name, ok, .. } in &self.checks {
            let held = if *ok { "held" } else { "failed" };
            more(&format_args!("the check `{}` {held}", Harmless(name.as_bytes())))?;
        }
        for (what, Attempt { attempted, ok }) in
            [("repaired", self.repair), ("rolled back", self.rollback)]
        {
            match (attempted, ok) {
                (true, true) => more(&format_args!("it was {what}"))?,
                (true, false) => more(&format_args!("it could not be {what}"))?,
                (false, _) => {}
            }
        }
        if let Some(run) = self.run {
            more(&format_args!("run {run}"))?;
        }
        if let Some(plan) = self.queued {
            more(&format_args!("plan {plan} is or was pending"))?;
        }
        if let Some(plan) = self.approved {
            more(&format_args!("plan {plan} was approved"))?;
        }
        Ok(())
    }
}

impl actum_api::Document for Told {
    const FORMAT: &'static str = "actum.feedback/1";
}

impl Document for Told {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.actions.is_empty() {
            return writeln!(out, "no such action has ended yet");
        }
        self.actions.iter().try_for_each(|line| line.write(out))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
