//! Gates that judge a change, one per file. Each depends only on a bundle and a policy.

pub(crate) mod access;
pub(crate) mod approval;
pub(crate) mod budget;
pub(crate) mod commands;
mod credentials;
pub(crate) mod lease;
mod output;
mod protected;
pub(crate) mod scope;
pub(crate) mod tier;

use crate::decision::{Bundle, Verdict};
use crate::gate_name::GateName;
use crate::ground::{Ground, Grounds};
use crate::policy::Policy;

pub use tier::paths_that_need_approval;

pub use output::{OutputContent, refuses_output, refuses_result, refuses_root};

/// Verdict of a gate and its grounds.
pub(crate) struct GateVerdict {
    pub(crate) verdict: Verdict,
    pub(crate) ground: Grounds,
}

impl GateVerdict {
    fn allow(ground: Ground) -> Self {
        Self { verdict: Verdict::Allow, ground: ground.into() }
    }

    fn deny(ground: Ground) -> Self {
        Self { verdict: Verdict::Deny, ground: ground.into() }
    }

    /// Sets the number of further grounds of the same kind.
    fn with_more(mut self, more: usize) -> Self {
        self.ground.more = more;
        self
    }
}

/// Judges a change by one gate. Returns `None` for gates that also need other inputs, which
/// [`decide`](crate::decide()) evaluates itself.
pub(crate) fn judge(gate: GateName, bundle: &Bundle, policy: &Policy) -> Option<GateVerdict> {
    match gate {
        GateName::Protected => Some(protected::judge(bundle, policy)),
        GateName::Scope => Some(scope::judge(bundle, policy)),
        GateName::Budget => Some(budget::judge(bundle, policy)),
        GateName::Commands => Some(commands::judge(bundle, policy)),
        GateName::Credentials => Some(credentials::judge(bundle, policy)),
        GateName::Lease => Some(lease::judge(bundle, policy)),
        GateName::Tier | GateName::Access | GateName::Approval => None,
    }
}
