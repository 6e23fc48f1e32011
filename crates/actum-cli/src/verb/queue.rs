//! `actum queue`: the plans that wait for a person.

mod asked;
mod listed;
mod shown;
mod watch;

use actum::{PlanState, QueuedPlan};
use actum_core::RunId;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plans::{self, Queue};
use crate::records;
use crate::run_prefix::RunPrefix;
use listed::{Line, Listed};
pub(super) use shown::Shown;

/// Show the plans that wait for a person, in all workspaces, or one of them
///
/// A change waits where its risk tier is R3 or R4, or where a policy says so. Nothing of it is done until a
/// person approves exactly this change; after a week it waits no longer.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The plan, or at least 4 characters of the beginning of its id: shows what it would change, and why it
    /// waits
    plan: Option<RunPrefix>,
    /// Show plans as they come and go, until it is interrupted
    #[arg(long, conflicts_with = "plan")]
    watch: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.plan {
        Some(prefix) => {
            let (queue, plan) = plans::find(prefix, session)?;
            let audience = session.screen.audience_of_decisions();
            session.screen.show(&Shown::of(&queue, &plan, session, audience)?)?;
        }
        None if arguments.watch => watch::run(session)?,
        None => session.screen.show(&Listed { plans: waiting()? })?,
    }
    Ok(Exit::Success)
}

/// The plans that can be answered or carried out now, the oldest first.
fn waiting() -> Result<Vec<Line>, Failure> {
    let now = records::now();
    Ok(plans_now()?.iter().map(|plan| Line::of(plan, plan.state(now))).collect())
}

/// Those among them that are meant.
pub(super) fn open(is_meant: impl Fn(&QueuedPlan) -> bool) -> Result<Vec<RunId>, Failure> {
    let plans = plans_now()?;
    Ok(plans.iter().filter(|plan| is_meant(plan)).map(QueuedPlan::id).collect())
}

fn plans_now() -> Result<Vec<QueuedPlan>, Failure> {
    let Some(queue) = Queue::open()? else { return Ok(Vec::new()) };
    let now = records::now();
    let mut plans = queue.plans()?;
    plans.retain(|plan| match plan.state(now) {
        PlanState::Waiting | PlanState::Approved | PlanState::Unproven => true,
        PlanState::Denied | PlanState::Revoked | PlanState::CarriedOut | PlanState::Expired => {
            false
        }
    });
    Ok(plans)
}
