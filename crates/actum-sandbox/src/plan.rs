//! Plan of a policy on this host, or every demand that is not met, by name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::{Controllers, HostReport, LANDLOCK_LEAST, LANDLOCK_SCOPES, Missing};
use crate::limits::{Enforcement, Limit, Resource};
use crate::policy::{Net, PolicyError, SandboxPolicy, Tier};

/// Plan of a run of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Permissions of the command.
    pub policy: SandboxPolicy,
    /// Enforcement of these permissions.
    pub in_force: InForce,
    /// True if it gets a control group.
    pub(crate) has_group: bool,
    /// Limit of the process numbers of its PID namespace, if the kernel can limit that.
    pub(crate) pid_max: Option<u64>,
}

/// Confinement of a command. It is reported with the outcome, so that a weak one is not taken for a
/// strong one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Confinement between the command and the host.
    pub tier: Tier,
    /// The version of Landlock's interface that is used.
    pub landlock: Option<u32>,
    /// True if signals and abstract sockets of the same user on the host are out of reach.
    pub ipc_confined: bool,
    /// True if it runs as root, without capabilities. Files of root are its own then.
    pub is_root: bool,
    /// Enforcement of each limit.
    pub limits: BTreeMap<Resource, Enforcement>,
}

/// A policy that this host cannot hold. Nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsatisfiable {
    /// The policy is contradictory on any host.
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
    /// This process lacks descriptors, processes or memory for tier N.
    #[error("cannot know whether the host offers tier N: this process lacks resources: {missing}")]
    Resources { missing: Missing },
    /// The required tier is higher than those that can be entered.
    #[error("tier N is demanded: {missing}")]
    Floor { missing: Missing },
    /// Tier L cannot lay one directory over another.
    #[error("a view with captured changes is demanded: {missing}")]
    View { missing: Missing, in_l: bool },
    /// Tier L cannot subtract.
    #[error("`deny_write` needs tier N: {missing}")]
    DenyWrite { missing: Missing },
    /// Tier L cannot take away rights below a directory that may be written.
    #[error("`hide` in what may be written needs tier N: {missing}")]
    Hide { missing: Missing },
    /// A private loopback could not be made.
    #[error("a private loopback is demanded: {missing}")]
    Loopback { missing: Missing, in_l: bool },
    /// In tier L sockets of the host would be in reach by their paths.
    #[error("the network of the host is demanded, which needs tier N: {missing}")]
    Network { missing: Missing },
    /// A limit can be held less surely at best.
    #[error("a {demanded} limit of {resource} is demanded, and here it is {offered}")]
    Limit { resource: Resource, demanded: Enforcement, offered: Enforcement },
}

impl Unsatisfiable {
    /// Returns the permanent name of the reason: `POLICY_INVALID`; `NEEDS_TIER_N`, if tier L could
    /// be entered; `SANDBOX_UNAVAILABLE`.
    pub fn code(&self) -> &'static str {
        let needs_n = |unmet: &Unmet| match unmet {
            Unmet::Floor { .. }
            | Unmet::DenyWrite { .. }
            | Unmet::Hide { .. }
            | Unmet::Network { .. } => true,
            Unmet::View { in_l, .. } | Unmet::Loopback { in_l, .. } => *in_l,
            Unmet::AnyTier { .. } | Unmet::Resources { .. } | Unmet::Limit { .. } => false,
        };
        match self {
            Self::Policy(_) => "POLICY_INVALID",
            Self::Host(unmet) if unmet.iter().any(needs_n) => "NEEDS_TIER_N",
            Self::Host(_) => "SANDBOX_UNAVAILABLE",
        }
    }
}

fn list(unmet: &[Unmet]) -> String {
    unmet.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl SandboxPolicy {
    /// Plans a command of this policy for a host: in the highest tier that it offers.
    ///
    /// # Errors
    /// [`Unsatisfiable`], with all demands that are not met.
    pub fn plan(&self, host: &HostReport) -> Result<Plan, Unsatisfiable> {
        self.check()?;
        // Tier L needs Landlock, whatever a report says.
        let tier_l = match host.landlock {
            Some(abi) if abi >= LANDLOCK_LEAST => host.tier_l.clone(),
            other => host.tier_l.clone().and(Err(HostReport::missing_landlock(other))),
        };
        let (tier, missing) = match (host.tier_n.clone(), tier_l) {
            (Ok(()), _) => (Tier::N, None),
            // A caller chooses its limits, and so no lower tier.
            (Err(missing), Ok(())) if missing.is_scarce => {
                return Err(Unsatisfiable::Host(vec![Unmet::Resources { missing }]));
            }
            (Err(missing), Ok(())) => (Tier::L, Some(missing)),
            (Err(n), Err(l)) => {
                return Err(Unsatisfiable::Host(vec![Unmet::AnyTier { n, l }]));
            }
        };
        let mut unmet = Vec::new();
        if let Some(missing) = missing {
            if self.floor > tier {
                unmet.push(Unmet::Floor { missing: missing.clone() });
            }
            if !self.deny_write.is_empty() {
                unmet.push(Unmet::DenyWrite { missing: missing.clone() });
            }
            let is_written = |path: &PathBuf| self.write.iter().any(|tree| path.starts_with(tree));
            if self.hide.iter().any(is_written) {
                unmet.push(Unmet::Hide { missing: missing.clone() });
            }
            if self.view.is_some() {
                unmet.push(Unmet::View { missing: missing.clone(), in_l: true });
            }
            match self.net {
                Net::None => {}
                Net::PrivateLoopback => unmet.push(Unmet::Loopback { missing, in_l: true }),
                Net::Host => unmet.push(Unmet::Network { missing }),
            }
        } else {
            if let (Some(_), Err(missing)) = (&self.view, &host.overlay) {
                unmet.push(Unmet::View { missing: missing.clone(), in_l: false });
            }
            if let (Net::PrivateLoopback, Err(missing)) = (self.net, &host.loopback) {
                unmet.push(Unmet::Loopback { missing: missing.clone(), in_l: false });
            }
        }
        let mut limits = BTreeMap::new();
        for (resource, limit) in self.limits.iter() {
            let offered = offered(resource, limit, tier, host);
            if limit.require > offered {
                unmet.push(Unmet::Limit { resource, demanded: limit.require, offered });
            }
            limits.insert(resource, offered);
        }
        if !unmet.is_empty() {
            return Err(Unsatisfiable::Host(unmet));
        }
        let scoped = host.landlock.is_some_and(|abi| abi >= LANDLOCK_SCOPES);
        let in_force = InForce {
            tier,
            landlock: host.landlock.filter(|&abi| abi >= LANDLOCK_LEAST),
            ipc_confined: tier == Tier::N || scoped,
            is_root: host.is_root,
            limits,
        };
        let has_group = host.cgroup != Controllers::default();
        let numbered = tier == Tier::N && host.namespace_pid_max && host.is_root;
        let pid_max = numbered.then(|| pid_max(self.limits.of(Resource::Processes)));
        Ok(Plan { policy: self.clone(), in_force, has_group, pid_max })
    }
}

/// Enforcement of a limit on this host, if no less than `limit.require` will do.
fn offered(resource: Resource, limit: Limit, tier: Tier, host: &HostReport) -> Enforcement {
    match resource {
        // The kernel refuses more: RLIMIT_FSIZE, RLIMIT_NOFILE. Of the output we read no more.
        Resource::FileSize | Resource::OpenFiles | Resource::Output => Enforcement::Hard,
        Resource::Memory if host.cgroup.memory => Enforcement::Hard,
        Resource::Processes if host.cgroup.processes => Enforcement::Hard,
        // A control group is ended at once, whatever it does.
        Resource::Wall if host.cgroup.kill => Enforcement::Hard,
        // At the end of the time, no process can get away from a PID namespace. From a sweep over a
        // tree of processes it can, for a moment.
        Resource::Wall if tier == Tier::N => Enforcement::Hard,
        // In a user namespace of its own RLIMIT_NPROC counts the processes of the command alone.
        Resource::Processes if tier == Tier::N && !host.is_root => Enforcement::Hard,
        // It does not count those of root. The numbers of a PID namespace do.
        Resource::Processes if tier == Tier::N && host.namespace_pid_max => {
            let fits = limit.max + OUR_PROCESSES >= PID_MAX_LEAST;
            if limit.require == Enforcement::Hard && fits {
                Enforcement::Hard
            } else {
                Enforcement::Polled
            }
        }
        Resource::Wall
        | Resource::Cpu
        | Resource::Memory
        | Resource::StorageRead
        | Resource::StorageWrite
        | Resource::Processes => Enforcement::Polled,
    }
}

/// The processes in the namespaces that are not the command's: the first, and the one that waits for
/// it outside, which belongs to the same user namespace.
pub(crate) const OUR_PROCESSES: u64 = 2;
/// The most (linux/threads.h: PID_MAX_LIMIT).
const PID_MAX_MOST: u64 = 1 << 22;
/// The least `kernel.pid_max` (linux/threads.h: RESERVED_PIDS + 1).
const PID_MAX_LEAST: u64 = 301;

/// Returns the process numbers for a limit. Once all were given out, the kernel begins again at
/// 300. So a command that starts many processes one after the other could not have all that it is
/// allowed at one time. Where the limit need not be hard, 300 more are given, and polling ends what
/// is above the limit.
fn pid_max(limit: Limit) -> u64 {
    let strict = (limit.max + OUR_PROCESSES).min(PID_MAX_MOST - PID_MAX_LEAST);
    match limit.require {
        Enforcement::Hard => strict.max(PID_MAX_LEAST),
        Enforcement::Polled => strict + PID_MAX_LEAST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn missing(step: &str) -> Missing {
        Missing::of_host(step.to_owned(), "Operation not permitted".to_owned())
    }

    /// A desktop: everything but a control group.
    fn desktop() -> HostReport {
        HostReport {
            kept_in: None,
            landlock: Some(7),
            tier_n: Ok(()),
            tier_l: Ok(()),
            loopback: Ok(()),
            overlay: Ok(()),
            remedy: None,
            namespace_pid_max: true,
            is_root: false,
            cgroup: Controllers::default(),
        }
    }

    /// Namespaces are made, but nothing can be mounted in them.
    fn without_namespaces() -> HostReport {
        let step = missing("mount a root of its own");
        HostReport { tier_n: Err(step.clone()), loopback: Err(step), ..desktop() }
    }

    fn policy() -> SandboxPolicy {
        SandboxPolicy { write: vec!["/work".into()], ..SandboxPolicy::new("/work") }
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
        let tier = |host: &HostReport| policy().plan(host).map(|plan| plan.in_force.tier);
        assert_eq!(tier(&desktop()), Ok(Tier::N));
        assert_eq!(tier(&without_namespaces()), Ok(Tier::L));
        assert_eq!(tier(&HostReport { landlock: None, ..desktop() }), Ok(Tier::N));
        let l = HostReport::missing_landlock(None);
        let none = HostReport { landlock: None, tier_l: Err(l), ..without_namespaces() };
        assert_eq!(
            unmet(&policy(), &none),
            ["no sandbox can be made: tier N: could not mount a root of its own: Operation not \
              permitted; tier L: could not use Landlock: the kernel has none, or it is switched off"]
        );
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
                "a hard limit of memory is demanded, and here it is polled".to_owned(),
            ]
        );
        let limits = policy().limits;
        assert!(SandboxPolicy { limits, ..demanding }.plan(&desktop()).is_ok());
    }

    /// FE-12
    #[test]
    fn how_surely_a_limit_is_held_is_told_for_each_resource() {
        let hard = |host: &HostReport| {
            let limits = policy().plan(host).unwrap().in_force.limits;
            let hard = limits.into_iter().filter(|(_, how)| *how == Enforcement::Hard);
            hard.map(|(resource, _)| resource.name()).collect::<Vec<_>>()
        };
        let as_root = HostReport { is_root: true, ..desktop() };
        assert_eq!(hard(&without_namespaces()), ["file_size", "open_files", "output"]);
        assert_eq!(hard(&desktop()), ["wall", "file_size", "processes", "open_files", "output"]);
        assert_eq!(hard(&as_root), ["wall", "file_size", "open_files", "output"]);
    }

    /// FE-12
    #[test]
    fn processes_of_root_are_limited_by_their_numbers_where_that_is_demanded() {
        let as_root = HostReport { is_root: true, ..desktop() };
        let plan = |max, host: &HostReport| {
            let limits = Limits::default().with(Resource::Processes, max, Enforcement::Hard);
            SandboxPolicy { limits, ..policy() }.plan(host)
        };
        assert_eq!(plan(500, &as_root).unwrap().pid_max, Some(502));
        assert!(plan(100, &as_root).is_err(), "the kernel gives out no fewer than 300");
        assert!(plan(500, &HostReport { namespace_pid_max: false, ..as_root }).is_err());
        assert!(plan(100, &desktop()).is_ok());
    }

    /// FE-12
    #[test]
    fn what_cannot_be_held_as_surely_as_was_demanded_is_refused() {
        let limits = Limits::default().accepting(Enforcement::Hard);
        let refused = unmet(&SandboxPolicy { limits, ..policy() }, &desktop());
        assert_eq!(refused.len(), 4, "{refused:?}");
        assert_eq!(refused[0], "a hard limit of cpu is demanded, and here it is polled");
    }

    /// FE-12
    #[test]
    fn a_control_group_holds_memory_processes_and_time_in_either_tier() {
        let cgroup = Controllers { memory: true, processes: true, kill: true };
        let host = HostReport { cgroup, ..without_namespaces() };
        let limits = policy().plan(&host).unwrap().in_force.limits;
        for resource in [Resource::Memory, Resource::Processes, Resource::Wall] {
            assert_eq!(limits.get(&resource), Some(&Enforcement::Hard), "{resource}");
        }
    }

    /// AA-10
    #[test]
    fn a_view_is_refused_where_nothing_can_be_laid_over_a_directory() {
        let view = crate::View {
            base: "/project".into(),
            staged: None,
            caches: Vec::new(),
            before: None,
            upper: None,
            max: 1 << 20,
        };
        let policy = SandboxPolicy { view: Some(view), ..policy() };
        assert!(policy.plan(&desktop()).is_ok());
        let refused = policy.plan(&without_namespaces()).unwrap_err();
        assert_eq!(refused.code(), "NEEDS_TIER_N");
        let host = HostReport { overlay: Err(missing("mount an overlay")), ..desktop() };
        assert_eq!(policy.plan(&host).unwrap_err().code(), "SANDBOX_UNAVAILABLE");
    }

    /// AA-10
    #[test]
    fn signals_to_the_host_are_told_where_they_are_possible() {
        let old = HostReport { landlock: Some(4), ..without_namespaces() };
        assert!(!policy().plan(&old).unwrap().in_force.ipc_confined);
        assert!(policy().plan(&without_namespaces()).unwrap().in_force.ipc_confined);
        assert!(
            policy()
                .plan(&HostReport { landlock: None, ..desktop() })
                .unwrap()
                .in_force
                .ipc_confined
        );
    }
}
