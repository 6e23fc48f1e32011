//! `actum review`: keeps a part of a queued plan.

use std::collections::BTreeSet;

use actum::reason::Reason;
use actum::{PathSelection, PlanState, QueueError, Request, Selected, Work};
use actum_core::PathRule;
use actum_edit::Operation;

use super::apply::rule;
use super::{Session, approve};
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::plans;
use crate::run_arguments::label;
use crate::run_prefix::RunPrefix;
use crate::{actor, clock, policy, records};

/// Keep a part of a pending plan
///
/// Requests the change of the plan again, but only for the selected paths. The gates judge that part like any change:
/// it is made at once if they allow it, and queued as a plan of its own if they need an approval. The first plan stays
/// in the queue until `actum deny` removes it. For plans of `actum exec` and `actum apply`. The command of `actum exec`
/// does not run again.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("part").required(true).multiple(true).args(["only", "without"])))]
pub(crate) struct Arguments {
    /// Plan to review, or at least 4 characters of the beginning of its id
    plan: RunPrefix,
    /// Keep only the paths that RULE matches
    #[arg(long, value_name = "RULE", value_parser = rule())]
    only: Vec<PathRule>,
    /// Leave out the paths that RULE matches
    #[arg(long, value_name = "RULE", value_parser = rule())]
    without: Vec<PathRule>,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (queue, plan) = plans::find(&arguments.plan, session)?;
    let (id, state) = (plan.id(), plan.state(clock::now()));
    if state != PlanState::Waiting {
        return Err(actum::Error::from(QueueError::NoParts { plan: id, state }).into());
    }
    let root = plans::root_of(&plan, session)?;
    let request = plan.request(&queue.inputs)?;
    let label = format!("part of plan {id} ({}): {}", arguments.rules(), plan.queued.plan.label);
    // An open reader of a ledger keeps the same process from writing it.
    drop(queue);
    let usage = |message: String| Failure::Usage { message };
    let Some(Part { request, left_out }) = arguments.part(request) else {
        let message = format!(
            "plan {id} has no parts: only plans of `actum exec` and `actum apply` have; nothing was changed"
        );
        return Err(usage(message));
    };
    if request.work == Work::Apply(Vec::new()) {
        let message = format!(
            "no path of plan {id} is kept by these rules, so nothing was changed; `actum queue {id}` lists its paths"
        );
        return Err(usage(message));
    }
    let paths = count(number(left_out), "path");
    session.screen.note(format_args!(
        "{paths} of plan {id} left out; the plan still waits, and `actum deny {id} --reason WHY` takes it out of the \
         queue"
    ));
    let (checked, records) = records::open_for(&root, &session.tenant)?;
    // The caller is the actor of the part, under a lease of its own.
    let lease = arguments.lease.present(session, &records)?;
    let actor = actor::under(arguments.agent.clone(), lease.as_ref());
    let request = Request { label: Some(label), actor, lease, part_of: Some(id), ..request };
    let files = policy::files()?;
    let made = approve::carry_out(request, &root, (checked, records, files), session);
    if made.as_ref().is_err_and(|failure| failure.reason() == Reason::HashMismatch) {
        session.screen.note(format_args!(
            "plan {id} was made before that change; `--without PATH` leaves the path out"
        ));
    }
    made?;
    Ok(Exit::Success)
}

/// Limit of the rules in the label of a part, in characters.
const RULES_CHARS_MAX: usize = 60;

/// Request for a part of a plan.
struct Part {
    request: Request,
    /// Number of paths that are left out.
    left_out: usize,
}

impl Arguments {
    /// Describes the chosen part, for the log.
    fn rules(&self) -> String {
        let only = self.only.iter().map(ToString::to_string);
        let without = self.without.iter().map(|rule| format!("without {rule}"));
        let mut rules = only.chain(without).collect::<Vec<_>>().join(", ");
        if let Some((end, _)) = rules.char_indices().nth(RULES_CHARS_MAX) {
            rules.truncate(end);
            rules.push('…');
        }
        rules
    }

    /// Returns the kept part of a request; `None` if the request is not a plain list of operations.
    fn part(&self, request: Request) -> Option<Part> {
        let has_own_documents =
            request.action.is_some() || request.task.is_some() || request.file_task.is_some();
        let Work::Apply(operations) = request.work else { return None };
        if has_own_documents {
            return None;
        }
        let paths = PathSelection { only: &self.only, without: &self.without };
        let Selected { kept, left_out } = paths.operations(operations);
        let left_out = left_out.iter().flat_map(Operation::paths).collect::<BTreeSet<_>>().len();
        // The key belongs to the whole change.
        let request = Request { work: Work::Apply(kept), plan: None, key: None, ..request };
        Some(Part { request, left_out })
    }
}
