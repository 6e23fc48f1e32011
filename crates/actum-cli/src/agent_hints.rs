//! Hints for an agent after a failure: its own next steps, and those that only the user can take.

use actum::reason::Reason;
use actum_core::RunId;

use crate::failure::Failure;

/// Returns the next steps of an agent after `failure`. It cannot approve, and must not look for a bypass.
pub(crate) fn after(failure: &Failure) -> Vec<String> {
    if let Some(queued) = failure.queued() {
        // Without a key no user can approve, and a plan does not wait for a key that is made later.
        let about_key = |hint: &String| hint.contains("approval key");
        let about_key = failure.hints().into_iter().filter(about_key);
        return queued_plan(queued.plan).into_iter().chain(about_key).collect();
    }
    if failure.reason() != Reason::ChangeDenied {
        return failure.hints();
    }
    // Hints to users about protected paths would lead an agent past the gate.
    let is_for_agents = |hint: &String| !hint.contains("without actum");
    let mut hints: Vec<_> = failure.hints().into_iter().filter(is_for_agents).collect();
    hints.push(
        "leave what is refused as it is, or ask the person to change it; do not try another way"
            .to_owned(),
    );
    hints
}

/// Returns the next steps of an agent while a plan waits.
pub(crate) fn queued_plan(plan: RunId) -> Vec<String> {
    vec![format!(
        "ask the person to look at it: `actum queue {plan}` shows the change, and `actum approve {plan}` makes it; go on without it, \
         and do not make it in another way; once it is approved the files have the change, so read them again"
    )]
}
