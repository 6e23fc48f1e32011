//! `actum review`: requests only a part of a pending plan's change.

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

/// Keep only a part of a pending plan
///
/// Requests the plan's change again, but only for the selected paths. The gates judge this part like any other change: if
/// they allow it, it is applied immediately, and if they require approval, it is queued as a new plan. The original plan
/// stays in the queue until `actum deny` removes it. Only plans of `actum exec` and `actum apply` can be reviewed, and
/// the command of `actum exec` does not run again.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("part").required(true).multiple(true).args(["only", "without"])))]
pub(crate) struct Arguments {
    /// Plan to review, or a prefix of its id with at least 4 characters
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
    // A process cannot write to a ledger while it has it open for reading.
    drop(queue);
    let usage = |message: String| Failure::Usage { message };
    let Some(Part { request, left_out }) = arguments.part(request) else {
        let message = format!(
            "plan {id} cannot be split: only plans of `actum exec` and `actum apply` can; nothing was changed"
        );
        return Err(usage(message));
    };
    if request.work == Work::Apply(Vec::new()) {
        let message = format!(
            "these rules keep no path of plan {id}, so nothing was changed; run `actum queue {id}` to list its paths"
        );
        return Err(usage(message));
    }
    let paths = count(number(left_out), "path");
    session.screen.note(format_args!(
        "{paths} of plan {id} left out; the plan is still pending, and `actum deny {id} --reason WHY` removes it"
    ));
    let (checked, records) = records::open_for(&root, &session.tenant)?;
    // The part is a request of the caller, who may present a separate lease.
    let lease = arguments.lease.present(session, &records)?;
    let actor = actor::under(arguments.agent.clone(), lease.as_ref());
    let request = Request { label: Some(label), actor, lease, part_of: Some(id), ..request };
    let files = policy::files()?;
    let made = approve::carry_out(request, &root, (checked, records, files), session);
    if made.as_ref().is_err_and(|failure| failure.reason() == Reason::HashMismatch) {
        session.screen.note(format_args!(
            "plan {id} was created before that change; pass `--without PATH` to leave the path out"
        ));
    }
    made?;
    Ok(Exit::Success)
}

/// Maximum length of the selection rules in the label of a part, in characters.
const RULES_CHARS_MAX: usize = 60;

/// Request for the selected part of a plan.
struct Part {
    request: Request,
    /// Number of paths that the selection leaves out.
    left_out: usize,
}

impl Arguments {
    /// Describes the selection rules for the label of the part, which appears in the log.
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

    /// Returns the selected part of a request, or `None` if the request is not a plain list of operations.
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
        // The request key identifies the entire change, so the part must not use it.
        let request = Request { work: Work::Apply(kept), plan: None, key: None, ..request };
        Some(Part { request, left_out })
    }
}
