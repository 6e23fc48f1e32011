//! Dispatch settings and the caller.

use actum_action::PlanScope;
use actum_agent::AgentGoalRequest;
use actum_record::ledger::Actor;
use actum_record::signer::Signer;

/// Process that asks, and how it knows the user.
#[derive(Clone)]
pub struct Caller<'k> {
    /// Account and agent.
    pub actor: Actor,
    /// Host key, with which a host asserts the user of a goal and relays answers; `None` where the user has to be the account.
    pub host: Option<&'k dyn Signer>,
}

impl Caller<'_> {
    /// Actor that access policies and gates judge: the user of the goal, where a host asserts it.
    pub(crate) fn subject(&self, goal: &AgentGoalRequest) -> Actor {
        let mut subject = self.actor.clone();
        if self.host.is_some() {
            subject.user = goal.user_id.to_string();
        }
        subject
    }
}

/// Dispatch settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where simulations may write.
    pub scope: PlanScope,
    /// Commands that check each simulation that writes.
    pub checks: Vec<String>,
    /// Wait for another process that is at work in the workspace.
    pub wait: bool,
}

impl Default for Settings {
    /// All of the workspace, and no check.
    fn default() -> Self {
        let scope = PlanScope { allowed_dirs: vec![".".to_owned()], ..PlanScope::default() };
        Self { scope, checks: Vec::new(), wait: false }
    }
}
