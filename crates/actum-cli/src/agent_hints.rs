//! Hints for an agent after a failure: what it can do itself, and what only the user can.

use actum::reason::Reason;
use actum_core::RunId;

use crate::failure::Failure;

/// What an agent can do after `failure`. It cannot approve, and must not look for another way.
pub(crate) fn after(failure: &Failure) -> Vec<String> {
    match (failure.queued(), failure.reason()) {
        (Some(queued), _) => queued_plan(queued.plan),
        (None, Reason::ChangeDenied) => vec![
            "leave these files as they are, or ask the person to change them; do not try another way"
                .to_owned(),
        ],
        (None, _) => failure.hints(),
    }
}

/// What an agent can do while a plan waits.
pub(crate) fn queued_plan(plan: RunId) -> Vec<String> {
    vec![format!(
        "ask the person to look at it: `actum queue {plan}` shows the change, and `actum approve {plan}` makes it; go on without it, \
         and do not make it in another way"
    )]
}
