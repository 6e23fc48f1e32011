//! Definition of an attack: a row of the table.

use actum_sandbox::SandboxPolicy;

use crate::effect::Effect;
use crate::scene::Facts;

/// One attack.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    /// Name of the attack, as an infinitive: "create files outside the sandbox".
    pub(crate) name: &'static str,
    /// The requirement that says it must not.
    pub(crate) requirement: &'static str,
    /// Part of the host that is observed.
    pub(crate) effect: Effect,
    /// The attack itself.
    pub(crate) act: fn(&Facts),
    /// Additions to the common policy.
    pub(crate) policy: fn(&mut SandboxPolicy, &Facts),
    pub(crate) course: Course,
    pub(crate) tier_n: Expected,
    pub(crate) tier_l: Expected,
    pub(crate) users: Users,
}

/// Expected result in a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The attack has no effect.
    Stopped,
    /// The attack has its effect, which is documented; this says why.
    Open(&'static str),
    /// The policy is refused with this code, and nothing is started.
    Refused(&'static str),
}

/// Users as which an attack is made, and succeeds without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    All,
    /// The attack needs rights that only root has.
    Root,
    /// The attack is pointless for root, or harms more than the test if root succeeds.
    Ordinary,
    /// The attack would reach all other attacks of the same user.
    Alone,
}

/// Way in which the command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// Until it ends.
    Whole,
    /// By a supervisor that is killed with SIGKILL.
    SupervisorKilled,
    /// By a supervisor that is killed before the helper had time to report that the command runs.
    SupervisorKilledEarly,
    /// By a supervisor that ignores SIGCHLD.
    ChildrenIgnored,
    /// With a terminal as standard input.
    Terminal,
    /// With a policy for which the sandbox cannot be set up.
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
