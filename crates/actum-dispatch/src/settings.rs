//! Dispatch settings and the caller.

use actum_action::PlanScope;
use actum_agent::AgentGoalRequest;
use actum_record::ledger::Actor;
use actum_record::signer::Signer;

/// Requesting process, with its identification of the user.
#[derive(Clone)]
pub struct Caller<'k> {
    /// Account and agent.
    pub actor: Actor,
    /// Host key, with which a host asserts the user of a goal and relays answers. `None` if the user must be the
    /// account.
    pub host: Option<&'k dyn Signer>,
}

impl Caller<'_> {
    /// Returns the actor for access policies and gates: the user of the goal, if a host asserts it.
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
    /// Paths that simulations may write.
    pub scope: PlanScope,
    /// Commands that check each simulation with a change.
    pub checks: Vec<String>,
    /// Wait for another process that is working in the workspace.
    pub wait: bool,
}

impl Default for Settings {
    /// Returns a scope of the whole workspace, without checks.
    fn default() -> Self {
        let scope = PlanScope { allowed_dirs: vec![".".to_owned()], ..PlanScope::default() };
        Self { scope, checks: Vec::new(), wait: false }
    }
}
