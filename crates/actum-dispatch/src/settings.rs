//! Settings of a dispatch, and its caller.

use actum_action::PlanScope;
use actum_agent::AgentGoalRequest;
use actum_record::ledger::Actor;
use actum_record::signer::Signer;

/// Process that requests a dispatch, and its means of identifying the user.
#[derive(Clone)]
pub struct Caller<'k> {
    /// User account and agent of the process.
    pub actor: Actor,
    /// Host key, with which a host asserts the user of a goal and relays the user's answers. Without it, the user of
    /// the goal must be the account of the caller.
    pub host: Option<&'k dyn Signer>,
}

impl Caller<'_> {
    /// Returns the actor to which access policies and gates apply. If the caller is a host, this is the user of the
    /// goal.
    pub(crate) fn subject(&self, goal: &AgentGoalRequest) -> Actor {
        let mut subject = self.actor.clone();
        if self.host.is_some() {
            subject.user = goal.user_id.to_string();
        }
        subject
    }
}

/// Settings of a dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Paths that simulations may change.
    pub scope: PlanScope,
    /// Commands that check the change of each simulation.
    pub checks: Vec<String>,
    /// Whether to wait for the workspace lock if another process holds it, instead of failing.
    pub wait: bool,
}

impl Default for Settings {
    /// Returns settings with the whole workspace as scope, and without checks.
    fn default() -> Self {
        let scope = PlanScope { allowed_dirs: vec![".".to_owned()], ..PlanScope::default() };
        Self { scope, checks: Vec::new(), wait: false }
    }
}
