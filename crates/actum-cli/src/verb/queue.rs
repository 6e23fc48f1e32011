//! `actum queue`: lists the plans and alerts that are waiting for the operator.

mod alerts;
mod asked;
mod listed;
mod shown;
mod watch;

use std::path::PathBuf;

use actum::{PlanState, QueuedPlan};
use actum_api::queue;
use actum_core::RunId;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_queue::Queue;
use crate::run_prefix::RunPrefix;
use crate::{clock, plans};
use alerts::Looked;
pub(super) use alerts::of_workspace as alerts_in;
pub(super) use shown::{Listing, Shown};

/// List the pending plans and alerts of all workspaces, or show one plan
///
/// A change needs approval if its risk tier is R3 or R4, or if a policy requires it. No part of it is applied until
/// exactly this change is approved. A plan expires after a week. An alert reports an event, such as a plan that tried to
/// change a protected file, and is listed until it is marked as seen.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Plan to show with its change and the reason why it waits, or a prefix of its id with at least 4 characters
    plan: Option<RunPrefix>,
    /// Keep running, and print every new, changed or closed plan and alert until interrupted
    #[arg(long, conflicts_with = "plan")]
    watch: bool,
    /// Mark an alert by its number, the alerts of one item (`2..17`), or `all` as seen, so that they are no longer listed.
    /// Requires the passphrase of the approval key, if there is one. The ledger keeps the alerts and records who marked them
    #[arg(long, value_name = "ALERT", num_args(1..), conflicts_with_all = ["plan", "watch"])]
    seen: Vec<Looked>,
    /// Read the passphrase of the approval key from FILE, or from standard input if it is `-`
    #[arg(long, value_name = "FILE", requires = "seen")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.plan {
        Some(prefix) => {
            let (queue, plan) = plans::find(prefix, session)?;
            let audience = session.screen.audience_of_decisions();
            session.screen.show(&Shown::new(
                &queue,
                &plan,
                session,
                (audience, Listing::Whole),
            )?)?;
        }
        None if arguments.watch => watch::run(session)?,
        None if !arguments.seen.is_empty() => {
            alerts::see(&arguments.seen, arguments.passphrase_file.as_deref(), session)?;
        }
        None => {
            let queue = Queue::open(&session.tenant)?;
            let (plans, alerts) = (waiting(queue.as_ref())?, alerts::waiting(queue.as_ref())?);
            session.screen.show(&queue::Queue { plans, alerts })?;
        }
    }
    Ok(Exit::Success)
}

/// Returns the ID of the plan with this prefix, and the word for its state.
pub(super) fn state(
    prefix: &RunPrefix,
    session: &Session,
) -> Result<(RunId, &'static str), Failure> {
    let (_, plan) = plans::find(prefix, session)?;
    let state = listed::document_state(plan.state(clock::now()));
    Ok((plan.id(), listed::words(state)))
}

/// Returns the list entries of the [open plans](open_plans), the oldest first.
fn waiting(queue: Option<&Queue>) -> Result<Vec<queue::QueuedPlan>, Failure> {
    let now = clock::now();
    Ok(open_plans(queue)?.iter().map(|plan| listed::document(plan, plan.state(now))).collect())
}

/// Returns the plans that still need an answer or can be carried out, the oldest first.
pub(super) fn open_plans(queue: Option<&Queue>) -> Result<Vec<QueuedPlan>, Failure> {
    let Some(queue) = queue else { return Ok(Vec::new()) };
    let now = clock::now();
    let mut plans = queue.plans()?;
    plans.retain(|plan| match plan.state(now) {
        PlanState::Waiting | PlanState::Approved | PlanState::Unproven => true,
        PlanState::Denied | PlanState::Revoked | PlanState::CarriedOut | PlanState::Expired => {
            false
        }
    });
    Ok(plans)
}
