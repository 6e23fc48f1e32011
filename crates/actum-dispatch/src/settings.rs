//! Settings of a host, and who asks it.

use actum_action::PlanScope;
use actum_record::ledger::Actor;

/// Process that asks, and how it knows the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Account and agent.
    pub actor: Actor,
    /// Host key that asserts tenant and user; `None` where the user of a goal has to be the account.
    pub host_key: Option<String>,
}

/// Settings of a host.
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
