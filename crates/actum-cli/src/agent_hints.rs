//! Hints for an agent after a failure. They name the agent's own next steps and the steps that only the user can take.

use actum::reason::Reason;
use actum_core::RunId;

use crate::failure::Failure;

/// Returns hints for an agent after `failure`. An agent cannot approve a change and must not look for a way around the gate, so
/// some hints for users are left out.
pub(crate) fn after(failure: &Failure) -> Vec<String> {
    if let Some(queued) = failure.queued() {
        // Without an approval key the plan cannot be approved, and a key that is created later is not valid for it.
        let about_key = |hint: &String| hint.contains("approval key");
        let about_key = failure.hints().into_iter().filter(about_key);
        return queued_plan(queued.plan).into_iter().chain(about_key).collect();
    }
    if failure.reason() != Reason::ChangeDenied {
        return failure.hints();
    }
    // For protected paths, users are advised to edit the files without actum. An agent must not see this advice.
    let is_for_agents = |hint: &String| !hint.contains("without actum");
    let mut hints: Vec<_> = failure.hints().into_iter().filter(is_for_agents).collect();
    hints.push(
        "leave the rejected paths unchanged, or ask the user to change them; do not try to work around the gate"
            .to_owned(),
    );
    hints
}

/// Returns hints for an agent whose plan is waiting for approval.
pub(crate) fn queued_plan(plan: RunId) -> Vec<String> {
    vec![format!(
        "ask the user to review it: `actum queue {plan}` shows the change and `actum approve {plan}` applies it; continue without \
         it and do not make the change in any other way; once it is approved, read the files again, because they have changed"
    )]
}
