//! Definition of an attack, which is one row of the table.

use actum_sandbox::SandboxPolicy;

use crate::effect::Effect;
use crate::scene::Facts;

/// An attack on the sandbox.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    /// Name of the attack, as an infinitive: "create files outside the sandbox".
    pub(crate) name: &'static str,
    /// Requirement that forbids the attack.
    pub(crate) requirement: &'static str,
    /// Part of the host that is observed.
    pub(crate) effect: Effect,
    /// Function that carries out the attack.
    pub(crate) act: fn(&Facts),
    /// Function that extends the common policy for this attack.
    pub(crate) policy: fn(&mut SandboxPolicy, &Facts),
    pub(crate) course: Course,
    pub(crate) tier_n: Expected,
    pub(crate) tier_l: Expected,
    pub(crate) users: Users,
}

/// Expected result of an attack in one tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The attack has no effect.
    Stopped,
    /// The attack succeeds, as documented. The text gives the reason.
    Open(&'static str),
    /// The policy is rejected with this code, and nothing is started.
    Refused(&'static str),
}

/// Users for whom an attack is run, and for whom it succeeds without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    All,
    /// The attack needs rights that only root has.
    Root,
    /// The attack is pointless for root, or would harm more than the test if root succeeded.
    Ordinary,
    /// The attack would affect all other attacks of the same user, so it needs a separate user.
    Alone,
}

/// How the command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// The command runs until it exits.
    Whole,
    /// The supervisor is killed with SIGKILL.
    SupervisorKilled,
    /// The supervisor is killed before the helper can report that the command is running.
    SupervisorKilledEarly,
    /// The supervisor ignores SIGCHLD.
    ChildrenIgnored,
    /// The standard input of the command is a terminal.
    Terminal,
    /// The policy causes the setup of the sandbox to fail.
    SetUpFails,
}

impl Attack {
    pub(crate) const fn new(
        name: &'static str,
        requirement: &'static str,
        effect: Effect,
        act: fn(&Facts),
    ) -> Self {
        Self {
            name,
            requirement,
            effect,
            act,
            policy: |_, _| (),
            course: Course::Whole,
            tier_n: Expected::Stopped,
            tier_l: Expected::Stopped,
            users: Users::All,
        }
    }

    pub(crate) const fn policy(self, policy: fn(&mut SandboxPolicy, &Facts)) -> Self {
        Self { policy, ..self }
    }

    pub(crate) const fn course(self, course: Course) -> Self {
        Self { course, ..self }
    }

    pub(crate) const fn n(self, tier_n: Expected) -> Self {
        Self { tier_n, ..self }
    }

    pub(crate) const fn l(self, tier_l: Expected) -> Self {
        Self { tier_l, ..self }
    }

    pub(crate) const fn users(self, users: Users) -> Self {
        Self { users, ..self }
    }
}
