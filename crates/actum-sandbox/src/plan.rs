//! What a policy becomes on this host: each demand met, or each that is not named.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host::{HostReport, LANDLOCK_LEAST, LANDLOCK_SCOPES, Missing};
use crate::limits::{Enforcement, Resource};
use crate::policy::{Net, PolicyError, SandboxPolicy, Tier};

/// How a command will run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What it may do.
    pub policy: SandboxPolicy,
    /// How it is confined.
    pub tier: Tier,
    /// How surely each limit is held.
    pub enforcement: BTreeMap<Resource, Enforcement>,
    /// The version of Landlock's interface that is used besides.
    pub landlock: Option<u32>,
    /// Whether signals and abstract sockets of the same user on the host are out of reach.
    pub ipc_confined: bool,
}

/// A policy that this host cannot hold. Nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsatisfiable {
    /// The policy cannot be meant on any host.
    #[error("the sandbox policy cannot be used: {0}; nothing was started")]
    Policy(#[from] PolicyError),
    /// The host cannot meet these demands.
    #[error("this host cannot hold the sandbox policy: {}; nothing was started", list(.0))]
    Host(Vec<Unmet>),
}

/// A demand that this host cannot meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum Unmet {
    /// No tier can be entered.
    #[error("no sandbox can be made: tier N: {n}; tier L: {l}")]
    AnyTier { n: Missing, l: Missing },
    /// The floor is higher than what can be entered.
    #[error("tier N is demanded: {missing}")]
    Floor { missing: Missing },
    /// Tier L cannot subtract.
    #[error("`deny_write` needs tier N: {missing}")]
    DenyWrite { missing: Missing },
    /// A private loopback could not be made.
    #[error("a private loopback is demanded: {missing}")]
    Loopback { missing: Missing },
    /// A limit can be held less surely at best.
    #[error("a {demanded} limit of {resource} is demanded, and here it is {offered}")]
    Limit { resource: Resource, demanded: Enforcement, offered: Enforcement },
}

fn list(unmet: &[Unmet]) -> String {
    unmet.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl SandboxPolicy {
    /// How a command of this policy runs on a host: in the highest tier that it offers.
    ///
    /// # Errors
    /// [`Unsatisfiable`], with all demands that are not met.
    pub fn plan(&self, host: &HostReport) -> Result<Plan, Unsatisfiable> {
        self.check()?;
        let (tier, missing) = match (host.missing_for_n(), host.missing_for_l()) {
            (None, _) => (Tier::N, None),
            (Some(missing), None) => (Tier::L, Some(missing)),
            (Some(n), Some(l)) => {
                return Err(Unsatisfiable::Host(vec![Unmet::AnyTier { n, l }]));
            }
        };
        let mut unmet = Vec::new();
        if let Some(missing) = missing {
            if self.floor > tier {
                unmet.push(Unmet::Floor { missing: missing.clone() });
            }
            if !self.deny_write.is_empty() {
                unmet.push(Unmet::DenyWrite { missing });
            }
        }
        if let (Net::PrivateLoopback, Err(missing)) = (self.net, &host.loopback) {
            unmet.push(Unmet::Loopback { missing: missing.clone() });
        }
        let mut enforcement = BTreeMap::new();
        for (resource, limit) in self.limits.iter() {
            let offered = offered(resource, tier);
            if limit.require > offered {
                unmet.push(Unmet::Limit { resource, demanded: limit.require, offered });
            }
            enforcement.insert(resource, offered);
        }
        if !unmet.is_empty() {
            return Err(Unsatisfiable::Host(unmet));
        }
        let scoped = host.landlock.is_some_and(|abi| abi >= LANDLOCK_SCOPES);
        let ipc_confined = tier == Tier::N || scoped;
        let landlock = host.landlock.filter(|&abi| abi >= LANDLOCK_LEAST);
        Ok(Plan { policy: self.clone(), tier, enforcement, landlock, ipc_confined })
    }
}

/// How surely a limit is held. What is not built yet is not claimed.
fn offered(resource: Resource, tier: Tier) -> Enforcement {
    match resource {
        // The kernel refuses more: RLIMIT_FSIZE, RLIMIT_NOFILE. Of the output we read no more.
        Resource::FileSize | Resource::OpenFiles | Resource::Output => Enforcement::Hard,
        // Who is to be killed at the end of the time cannot get away from a PID namespace; from a
        // sweep over a tree of processes, for a moment, it can.
        Resource::Wall if tier == Tier::N => Enforcement::Hard,
        Resource::Wall => Enforcement::Polled,
        // RLIMIT_CPU and RLIMIT_DATA bind each process, and not all of them together.
        Resource::Cpu
        | Resource::Memory
        | Resource::StorageRead
        | Resource::StorageWrite
        | Resource::Processes => Enforcement::Unheld,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Controllers;
    use crate::limits::Limits;

    fn missing(step: &str) -> Missing {
        Missing { step: step.to_owned(), why: "Operation not permitted".to_owned() }
    }

    /// A desktop: everything but a control group.
    fn desktop() -> HostReport {
        HostReport {
            landlock: Some(7),
            seccomp: Ok(()),
            namespaces: Ok(()),
            loopback: Ok(()),
            overlay: Ok(()),
            namespace_pid_max: true,
            is_root: false,
            cgroup: Controllers::default(),
        }
    }

    /// Namespaces are made, but nothing can be mounted in them.
    fn without_namespaces() -> HostReport {
        let step = missing("mount a root of its own");
        HostReport { namespaces: Err(step.clone()), loopback: Err(step), ..desktop() }
    }

    fn policy() -> SandboxPolicy {
        let limits = Limits::default().accepting(Enforcement::Unheld);
        SandboxPolicy { write: vec!["/work".into()], limits, ..SandboxPolicy::new("/work") }
    }

    fn unmet(policy: &SandboxPolicy, host: &HostReport) -> Vec<String> {
        match policy.plan(host) {
            Err(Unsatisfiable::Host(unmet)) => unmet.iter().map(ToString::to_string).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    /// AA-10
    #[test]
    fn a_command_runs_in_the_highest_tier_that_the_host_offers() {
        let tier = |host: &HostReport| policy().plan(host).map(|plan| plan.tier);
        assert_eq!(tier(&desktop()), Ok(Tier::N));
        assert_eq!(tier(&without_namespaces()), Ok(Tier::L));
        assert_eq!(tier(&HostReport { landlock: None, ..desktop() }), Ok(Tier::N));
        let none = HostReport { landlock: None, ..without_namespaces() };
        assert_eq!(
            unmet(&policy(), &none),
            ["no sandbox can be made: tier N: could not mount a root of its own: Operation not \
              permitted; tier L: could not use Landlock: the kernel has none, or it is switched off"]
        );
        let old = HostReport { landlock: Some(2), ..without_namespaces() };
        assert!(unmet(&policy(), &old)[0].contains("less than 3"));
    }

    /// AA-10
    #[test]
    fn each_demand_that_the_host_cannot_meet_is_named() {
        let demanding = SandboxPolicy {
            deny_write: vec!["/work/.git".into()],
            net: Net::PrivateLoopback,
            floor: Tier::N,
            limits: policy().limits.with(Resource::Memory, 1 << 30, Enforcement::Hard),
            ..policy()
        };
        let why = "could not mount a root of its own: Operation not permitted";
        assert_eq!(
            unmet(&demanding, &without_namespaces()),
            [
                format!("tier N is demanded: {why}"),
                format!("`deny_write` needs tier N: {why}"),
                format!("a private loopback is demanded: {why}"),
                "a hard limit of memory is demanded, and here it is unheld".to_owned(),
            ]
        );
        let limits = policy().limits;
        assert!(SandboxPolicy { limits, ..demanding }.plan(&desktop()).is_ok());
    }

    /// FE-12
    #[test]
    fn how_surely_a_limit_is_held_is_told_for_each_resource() {
        let of = |host: &HostReport, resource| policy().plan(host).unwrap().enforcement[&resource];
        let hard = [Resource::FileSize, Resource::OpenFiles, Resource::Output];
        for resource in Resource::ALL {
            let in_l = of(&without_namespaces(), resource);
            assert_eq!(in_l == Enforcement::Hard, hard.contains(&resource), "{resource}");
        }
        assert_eq!(of(&desktop(), Resource::Wall), Enforcement::Hard);
        assert_eq!(of(&without_namespaces(), Resource::Wall), Enforcement::Polled);
    }

    /// FE-12
    #[test]
    fn what_cannot_be_held_runs_only_where_the_policy_says_that_it_need_not_be() {
        let strict = SandboxPolicy { limits: Limits::default(), ..policy() };
        let refused = unmet(&strict, &desktop());
        assert_eq!(refused.len(), 5, "{refused:?}");
        assert_eq!(refused[0], "a polled limit of cpu is demanded, and here it is unheld");
    }

    /// AA-10
    #[test]
    fn signals_to_the_host_are_told_where_they_are_possible() {
        let old = HostReport { landlock: Some(4), ..without_namespaces() };
        assert!(!policy().plan(&old).unwrap().ipc_confined);
        assert!(policy().plan(&without_namespaces()).unwrap().ipc_confined);
        assert!(policy().plan(&HostReport { landlock: None, ..desktop() }).unwrap().ipc_confined);
    }
}
