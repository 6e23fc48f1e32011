//! Plans how to enforce a policy on this host, or reports every requirement that the host cannot meet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::{Controllers, HostReport, LANDLOCK_LEAST, LANDLOCK_SCOPES, Missing};
use crate::limits::{Enforcement, Limit, Resource};
use crate::policy::{Net, PolicyError, SandboxPolicy, Tier};

/// Plan for running a command under a policy on a specific host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Policy that defines the permissions of the command.
    pub policy: SandboxPolicy,
    /// Confinement that enforces the policy.
    pub in_force: InForce,
    /// Whether the command runs in its own control group.
    pub(crate) has_group: bool,
    /// Value of `kernel.pid_max` for the command's PID namespace, or `None` if it is not set.
    pub(crate) pid_max: Option<u64>,
}

/// Confinement in force for a command. The outcome includes it, so that callers cannot mistake weak
/// confinement for strong confinement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Tier that separates the command from the host.
    pub tier: Tier,
    /// Landlock ABI version in use, or `None` if Landlock is not used.
    pub landlock: Option<u32>,
    /// Whether the command is prevented from sending signals to processes of the host and from using
    /// their abstract sockets.
    pub ipc_confined: bool,
    /// Whether the command runs as root, although without capabilities. In this case, it owns the files of
    /// root.
    pub is_root: bool,
    /// Strictness with which each limit is enforced.
    pub limits: BTreeMap<Resource, Enforcement>,
}

/// Reason why a policy cannot be enforced on this host, so that nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsatisfiable {
    /// The policy is invalid on every host.
    #[error("the sandbox policy is invalid: {0}; nothing was started")]
    Policy(#[from] PolicyError),
    /// The host cannot meet these requirements.
    #[error("this host cannot enforce the sandbox policy: {}; nothing was started", list(.0))]
    Host(Vec<Unmet>),
}

/// Requirement of a policy that this host cannot meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum Unmet {
    /// Neither tier N nor tier L is available.
    #[error("no sandbox is available: tier N: {n}; tier L: {l}")]
    AnyTier { n: Missing, l: Missing },
    /// This process lacks the descriptors, processes or memory to find out whether tier N is available.
    #[error("cannot check whether the host supports tier N, because resources ran out: {missing}")]
    Resources { missing: Missing },
    /// The policy requires a higher tier than the host offers.
    #[error("tier N is required: {missing}")]
    Floor { missing: Missing },
    /// The policy has a view, but the host or its tier does not support overlays.
    #[error("a view with captured changes is required: {missing}")]
    View { missing: Missing, in_l: bool },
    /// Tier L cannot protect paths below a writable directory.
    #[error("`deny_write` requires tier N: {missing}")]
    DenyWrite { missing: Missing },
    /// Tier L cannot hide paths below a writable directory.
    #[error("`hide` below a path in `write` requires tier N: {missing}")]
    Hide { missing: Missing },
    /// The policy requires a private loopback, which the host or its tier does not support.
    #[error("a private loopback is required: {missing}")]
    Loopback { missing: Missing, in_l: bool },
    /// The policy allows the host network. In tier L, that would also expose sockets of the host by path.
    #[error("access to the host network requires tier N: {missing}")]
    Network { missing: Missing },
    /// The host can enforce a limit only less strictly than the policy requires.
    #[error("a {demanded} limit on {resource} is required, but only a {offered} one is available")]
    Limit { resource: Resource, demanded: Enforcement, offered: Enforcement },
}

impl Unsatisfiable {
    /// Returns the stable reason code: `POLICY_INVALID` for an invalid policy, `NEEDS_TIER_N` if only tier
    /// L is available but a requirement needs tier N, and `SANDBOX_UNAVAILABLE` otherwise.
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
    /// Plans how to run a command under this policy in the highest tier that the host offers.
    ///
    /// # Errors
    /// Returns [`Unsatisfiable`], with all requirements that the host cannot meet, or with the first error in
    /// an invalid policy.
    pub fn plan(&self, host: &HostReport) -> Result<Plan, Unsatisfiable> {
        self.check()?;
        // Do not trust a report that offers tier L without a usable version of Landlock.
        let tier_l = match host.landlock {
            Some(abi) if abi >= LANDLOCK_LEAST => host.tier_l.clone(),
            other => host.tier_l.clone().and(Err(HostReport::missing_landlock(other))),
        };
        let (tier, missing) = match (host.tier_n.clone(), tier_l) {
            (Ok(()), _) => (Tier::N, None),
            // Do not fall back to tier L if the caller's own limits made tier N fail.
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

/// Returns the strictness with which this host can enforce a limit. It may depend on `limit.require`,
/// because some limits are made hard only on request.
fn offered(resource: Resource, limit: Limit, tier: Tier, host: &HostReport) -> Enforcement {
    match resource {
        // The kernel enforces RLIMIT_FSIZE and RLIMIT_NOFILE, and output above the limit is not read.
        Resource::FileSize | Resource::OpenFiles | Resource::Output => Enforcement::Hard,
        Resource::Memory if host.cgroup.memory => Enforcement::Hard,
        Resource::Processes if host.cgroup.processes => Enforcement::Hard,
        // The kernel kills all processes of a control group in one step, so none can escape.
        Resource::Wall if host.cgroup.kill => Enforcement::Hard,
        // When time runs out, killing a PID namespace leaves no process behind. Killing a process tree
        // one by one can miss new processes for a moment.
        Resource::Wall if tier == Tier::N => Enforcement::Hard,
        // In a separate user namespace, RLIMIT_NPROC counts no other processes of the user.
        Resource::Processes if tier == Tier::N && !host.is_root => Enforcement::Hard,
        // RLIMIT_NPROC does not apply to root, but the limit on IDs in a PID namespace does.
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

/// Number of processes in the user namespace that do not belong to the command: the first process of the
/// PID namespace and the helper, which waits for it outside.
pub(crate) const OUR_PROCESSES: u64 = 2;
/// Maximum value of `kernel.pid_max` (linux/threads.h: PID_MAX_LIMIT).
const PID_MAX_MOST: u64 = 1 << 22;
/// Minimum value of `kernel.pid_max` (linux/threads.h: RESERVED_PIDS + 1).
const PID_MAX_LEAST: u64 = 301;

/// Returns the value of `kernel.pid_max` for a limit on processes.
///
/// After the kernel has assigned all IDs once, it reuses only those from 300 on. A command that has started
/// many processes could then no longer have as many at a time as its limit allows. Unless the limit must be
/// hard, add 300 IDs and let polling enforce the limit.
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

    /// Report of a typical desktop, which supports everything except control groups.
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

    /// Report of a host on which namespaces can be created, but nothing can be mounted in them.
    fn without_namespaces() -> HostReport {
        let step = missing("mount a private root");
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
    fn command_runs_in_the_highest_available_tier() {
        let tier = |host: &HostReport| policy().plan(host).map(|plan| plan.in_force.tier);
        assert_eq!(tier(&desktop()), Ok(Tier::N));
        assert_eq!(tier(&without_namespaces()), Ok(Tier::L));
        assert_eq!(tier(&HostReport { landlock: None, ..desktop() }), Ok(Tier::N));
        let l = HostReport::missing_landlock(None);
        let none = HostReport { landlock: None, tier_l: Err(l), ..without_namespaces() };
        assert_eq!(
            unmet(&policy(), &none),
            ["no sandbox is available: tier N: could not mount a private root: Operation not \
              permitted; tier L: could not use Landlock: the kernel does not support it, or it is \
              disabled"]
        );
    }

    /// AA-10
    #[test]
    fn every_unmet_requirement_is_named() {
        let demanding = SandboxPolicy {
            deny_write: vec!["/work/.git".into()],
            net: Net::PrivateLoopback,
            floor: Tier::N,
            limits: policy().limits.with(Resource::Memory, 1 << 30, Enforcement::Hard),
            ..policy()
        };
        let why = "could not mount a private root: Operation not permitted";
        assert_eq!(
            unmet(&demanding, &without_namespaces()),
            [
                format!("tier N is required: {why}"),
                format!("`deny_write` requires tier N: {why}"),
                format!("a private loopback is required: {why}"),
                "a hard limit on memory is required, but only a polled one is available".to_owned(),
            ]
        );
        let limits = policy().limits;
        assert!(SandboxPolicy { limits, ..demanding }.plan(&desktop()).is_ok());
    }

    /// FE-12
    #[test]
    fn plan_reports_the_enforcement_of_each_limit() {
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
    fn hard_process_limit_for_root_uses_pid_max() {
        let as_root = HostReport { is_root: true, ..desktop() };
        let plan = |max, host: &HostReport| {
            let limits = Limits::default().with(Resource::Processes, max, Enforcement::Hard);
            SandboxPolicy { limits, ..policy() }.plan(host)
        };
        assert_eq!(plan(500, &as_root).unwrap().pid_max, Some(502));
        assert!(plan(100, &as_root).is_err(), "`kernel.pid_max` cannot be less than 301");
        assert!(plan(500, &HostReport { namespace_pid_max: false, ..as_root }).is_err());
        assert!(plan(100, &desktop()).is_ok());
    }

    /// FE-12
    #[test]
    fn limit_with_unavailable_enforcement_is_rejected() {
        let limits = Limits::default().accepting(Enforcement::Hard);
        let refused = unmet(&SandboxPolicy { limits, ..policy() }, &desktop());
        assert_eq!(refused.len(), 4, "{refused:?}");
        assert_eq!(
            refused[0],
            "a hard limit on cpu is required, but only a polled one is available"
        );
    }

    /// FE-12
    #[test]
    fn cgroup_enforces_memory_process_and_wall_limits_in_tier_l() {
        let cgroup = Controllers { memory: true, processes: true, kill: true };
        let host = HostReport { cgroup, ..without_namespaces() };
        let limits = policy().plan(&host).unwrap().in_force.limits;
        for resource in [Resource::Memory, Resource::Processes, Resource::Wall] {
            assert_eq!(limits.get(&resource), Some(&Enforcement::Hard), "{resource}");
        }
    }

    /// AA-10
    #[test]
    fn view_is_rejected_without_overlay_support() {
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
    fn plan_reports_whether_ipc_is_confined() {
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
