//! `actum deny` and `actum revoke`: reject a pending plan, and withdraw an approval.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum::{PlanState, QueuedPlan, Reply};
use actum_api::queue::Denied;
use actum_record::ledger::Answer;
use actum_workspace::View;

use super::Session;
use super::queue::{self, Listing, Shown};
use crate::count::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_queue::Queue;
use crate::operator_key::OperatorKey;
use crate::output::{Document, Kind};
use crate::plans;
use crate::run_arguments::label;
use crate::run_prefix::RunPrefix;
use crate::{clock, records, root};

/// Reject a pending plan
///
/// A rejected plan is never carried out. Repeating the request makes a new plan, which shows that this one was denied
/// and why.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Plan to reject, or a prefix of its id with at least 4 characters
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    plan: Option<RunPrefix>,
    /// Reject all pending plans of this workspace or, with `--agent`, all pending plans of that agent in every
    /// workspace
    #[arg(long)]
    all: bool,
    /// Reject the plans of the agent with this name
    #[arg(long, value_name = "NAME", requires = "all")]
    agent: Option<String>,
    /// Record TEXT as the reason, which is also shown to the agent
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: String,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Revoke the approval of a plan that was not carried out yet
#[derive(clap::Args)]
pub(crate) struct RevokeArguments {
    /// Plan whose approval to revoke, or a prefix of its id with at least 4 characters
    plan: RunPrefix,
    /// Record TEXT as the reason
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let reply = Reply { answer: Answer::Denied, reason: Some(arguments.reason.clone()) };
    match &arguments.plan {
        Some(plan) => answer(plan, reply, "Deny", arguments.passphrase_file.as_deref(), session),
        None => deny_all(arguments, &reply, session),
    }
}

/// Rejects all selected pending plans. The approval key is unlocked only once.
fn deny_all(arguments: &Arguments, reply: &Reply, session: &Session) -> Result<Exit, Failure> {
    let here = match root::is_made(session.root()) {
        true => View::open(session.root())?.workspace_id()?,
        false => None,
    };
    let now = clock::now();
    let mut plans = queue::open_plans(Queue::open(&session.tenant)?.as_ref())?;
    plans.retain(|plan| {
        let is_selected = match &arguments.agent {
            Some(agent) => plan.queued.plan.actor.agent.as_ref() == Some(agent),
            None => Some(plan.row.workspace) == here,
        };
        is_selected && plan.state(now) == PlanState::Waiting
    });
    if !plans.is_empty() {
        let question =
            format!("Deny {}?", count(u64::try_from(plans.len()).unwrap_or(u64::MAX), "plan"));
        let key = OperatorKey::approval(session, &question, arguments.passphrase_file.as_deref())?;
        records::open(&session.tenant)?.answer_all(&plans, reply, &key.approver())?;
    }
    session.screen.show(&Denied { plans: plans.iter().map(QueuedPlan::id).collect() })?;
    Ok(Exit::Success)
}

impl Document for Denied {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.plans.is_empty() {
            return writeln!(out, "no such plan is pending");
        }
        self.plans.iter().try_for_each(|plan| writeln!(out, "denied plan {plan}"))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}

pub(crate) fn revoke(arguments: &RevokeArguments, session: &Session) -> Result<Exit, Failure> {
    let RevokeArguments { plan, reason, passphrase_file } = arguments;
    let reply = Reply { answer: Answer::Revoked, reason: reason.clone() };
    answer(plan, reply, "Revoke the approval of", passphrase_file.as_deref(), session)
}

fn answer(
    prefix: &RunPrefix,
    reply: Reply,
    verb: &str,
    file: Option<&std::path::Path>,
    session: &Session,
) -> Result<Exit, Failure> {
    let (queue, plan) = plans::find(prefix, session)?;
    let id = plan.id();
    plan.check_answerable(reply.answer, clock::now()).map_err(actum::Error::from)?;
    drop(queue);
    let key = OperatorKey::approval(session, &format!("{verb} plan {id}?"), file)?;
    let records = records::open(&session.tenant)?;
    records.answer(&plan, reply, &key.approver())?;
    drop(records);
    let (queue, plan) = plans::answered(id, &session.tenant)?;
    let audience = session.screen.audience_of_decisions();
    session.screen.show(&Shown::new(&queue, &plan, session, (audience, Listing::Folded))?)?;
    Ok(Exit::Success)
}
