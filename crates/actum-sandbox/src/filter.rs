//! The system calls that no command in a sandbox can make.
//!
//! A list of what is refused, not of what is allowed: commands are compilers, interpreters and tests,
//! whose calls nobody knows. What is refused is what reaches out of the sandbox, what makes new
//! privileges, and what programs do not need. Calls newer than those that were looked at do not
//! exist.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Compare,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};
use serde::{Deserialize, Serialize};

use crate::policy::{Net, Tier};

/// One instruction of a filter, as it goes over the line to the helper: code, jumps, operand.
type Instruction = (u16, u8, u8, u32);

/// The filters of a command, in the order in which they are set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filters(Vec<Vec<Instruction>>);

/// The newest call that was looked at: mseal(2), Linux 6.10. Calls of the x32 interface, which have
/// bit 30 set, are beyond it too.
const NEWEST: u32 = 462;

/// Refused with EPERM, whatever the arguments are.
const REFUSED: &[(&str, &[i64])] = &[
    (
        "changes what is mounted, or the root",
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_open_by_handle_at,
            libc::SYS_name_to_handle_at,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            libc::SYS_acct,
        ],
    ),
    ("enters other namespaces", &[libc::SYS_unshare, libc::SYS_setns]),
    (
        "looks into other processes",
        &[
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_kcmp,
            libc::SYS_pidfd_getfd,
            libc::SYS_perf_event_open,
        ],
    ),
    (
        "changes the kernel or the machine",
        &[
            libc::SYS_bpf,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
            libc::SYS_reboot,
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_adjtimex,
            libc::SYS_clock_adjtime,
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_syslog,
            libc::SYS_vhangup,
        ],
    ),
    (
        "holds what outlives the command, or belongs to the session of the user",
        &[
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_keyctl,
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_msgget,
            libc::SYS_semget,
            libc::SYS_mq_open,
        ],
    ),
    (
        "makes calls that no filter sees, or memory that no limit counts",
        &[
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
            libc::SYS_userfaultfd,
            libc::SYS_memfd_create,
            libc::SYS_memfd_secret,
        ],
    ),
];

/// The same, of calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Refused in tier L, where files of the host can be named. In tier N nobody but the user exists.
const CHANGES_OWNERS: &[i64] = &[
    libc::SYS_fchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Refused with another error, so that programs take another way, or go without.
const OTHERWISE: &[(i64, i32)] = &[
    // Its flags are where no filter sees them.
    (libc::SYS_clone3, libc::ENOSYS),
    // So is its mode.
    (libc::SYS_openat2, libc::ENOSYS),
    // It takes storage that nobody counts as written. Programs that reserve space write zeros instead.
    (libc::SYS_fallocate, libc::EOPNOTSUPP),
    // Nobody confines attributes. Programs that keep them know file systems without.
    (libc::SYS_setxattr, libc::EOPNOTSUPP),
    (libc::SYS_lsetxattr, libc::EOPNOTSUPP),
    (libc::SYS_fsetxattr, libc::EOPNOTSUPP),
    (libc::SYS_removexattr, libc::EOPNOTSUPP),
    (libc::SYS_lremovexattr, libc::EOPNOTSUPP),
    (libc::SYS_fremovexattr, libc::EOPNOTSUPP),
];

/// Why filters could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    #[error("there are no filters for this architecture")]
    Architecture,
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl Filters {
    /// The filters for a command of this tier that may use the network so.
    pub(crate) fn new(tier: Tier, net: Net) -> Result<Self, FilterError> {
        let arch =
            TargetArch::try_from(std::env::consts::ARCH).map_err(|_| FilterError::Architecture)?;
        let refused = SeccompFilter::new(
            refused(tier, net)?,
            SeccompAction::Allow,
            SeccompAction::Errno(errno(libc::EPERM)),
            arch,
        )?;
        let programs: [BpfProgram; 2] = [BpfProgram::try_from(refused)?, otherwise()?];
        let plain = |it: &sock_filter| (it.code, it.jt, it.jf, it.k);
        Ok(Self(programs.iter().map(|program| program.iter().map(plain).collect()).collect()))
    }

    /// The programs, as the kernel takes them.
    pub(crate) fn programs(&self) -> impl Iterator<Item = BpfProgram> {
        let instruction = |&(code, jt, jf, k): &Instruction| sock_filter { code, jt, jf, k };
        self.0.iter().map(move |program| program.iter().map(instruction).collect())
    }
}

fn errno(number: i32) -> u32 {
    number.unsigned_abs()
}

/// All calls that are refused, with the arguments for which they are; no condition is any argument.
fn refused(tier: Tier, net: Net) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let plain = REFUSED.iter().flat_map(|(_, calls)| calls.iter());
    let owners = CHANGES_OWNERS.iter().filter(|_| tier == Tier::L);
    for call in plain.chain(REFUSED_HERE).chain(owners) {
        rules.insert(*call, Vec::new());
    }
    let mut when = |call: i64, conditions: Vec<SeccompCondition>| {
        let rule = SeccompRule::new(conditions)?;
        rules.entry(call).or_default().push(rule);
        Ok::<_, BackendError>(())
    };
    // New namespaces, one of which gives capabilities again.
    for flag in [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ] {
        when(libc::SYS_clone, vec![has(0, u64::from(flag.unsigned_abs()))?])?;
    }
    // Characters put into the terminal of whoever started the command.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        when(libc::SYS_ioctl, vec![equals(1, request)?])?;
    }
    // Files that run as their owner, whoever starts them.
    for bit in [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)] {
        when(libc::SYS_fchmod, vec![has(1, bit)?])?;
        when(libc::SYS_fchmodat, vec![has(2, bit)?])?;
        when(libc::SYS_fchmodat2, vec![has(2, bit)?])?;
        when(libc::SYS_mknodat, vec![has(2, bit)?])?;
        when(libc::SYS_openat, vec![has(2, create())?, has(3, bit)?])?;
        #[cfg(target_arch = "x86_64")]
        {
            when(libc::SYS_chmod, vec![has(1, bit)?])?;
            when(libc::SYS_open, vec![has(1, create())?, has(2, bit)?])?;
            when(libc::SYS_mknod, vec![has(1, bit)?])?;
            when(libc::SYS_creat, vec![has(1, bit)?])?;
        }
    }
    // A process that hides from who watches over it.
    let hide = u64::from(libc::PR_SET_DUMPABLE.unsigned_abs());
    when(libc::SYS_prctl, vec![equals(0, hide)?])?;
    // Limits and priorities of other processes, which are those of the host. Zero is the caller.
    if tier == Tier::L {
        for (call, process) in [
            (libc::SYS_prlimit64, 0),
            (libc::SYS_setpriority, 1),
            (libc::SYS_ioprio_set, 1),
            (libc::SYS_sched_setscheduler, 0),
            (libc::SYS_sched_setparam, 0),
            (libc::SYS_sched_setattr, 0),
            (libc::SYS_sched_setaffinity, 0),
            (libc::SYS_migrate_pages, 0),
            (libc::SYS_move_pages, 0),
        ] {
            when(call, vec![differs(process, 0)?])?;
        }
    }
    // Sockets of every kind reach out, some past every namespace.
    match net {
        Net::None => when(libc::SYS_socket, vec![at_least(0, 0)?])?,
        Net::PrivateLoopback => {
            let (unix, inet, inet6) = (libc::AF_UNIX, libc::AF_INET, libc::AF_INET6);
            let others = [unix, inet, inet6].map(|family| differs(0, family.unsigned_abs().into()));
            when(libc::SYS_socket, others.into_iter().collect::<Result<_, _>>()?)?;
        }
    }
    // A pair of datagram sockets can address any path (socketpair(2) with sendmsg(2)).
    let kind = u64::from(libc::SOCK_DGRAM.unsigned_abs());
    let masked = SeccompCondition::new(1, Width::Dword, Compare::MaskedEq(0xf), kind)?;
    when(libc::SYS_socketpair, vec![masked])?;
    Ok(rules)
}

fn create() -> u64 {
    u64::from(libc::O_CREAT.unsigned_abs())
}

/// The argument has this bit.
fn has(argument: u8, bit: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, Width::Dword, Compare::MaskedEq(bit), bit)
}

fn equals(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, Width::Dword, Compare::Eq, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, Width::Dword, Compare::Ne, value)
}

fn at_least(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, Width::Dword, Compare::Ge, value)
}

/// Calls of [`OTHERWISE`], and those newer than all that were looked at, which do not exist. Written by
/// hand: a filter of the crate compares numbers for equality alone, and knows one error.
fn otherwise() -> Result<BpfProgram, FilterError> {
    const LOAD_NUMBER: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS, at offset 0 of struct seccomp_data
    const JUMP_IF_GREATER: u16 = 0x25; // BPF_JMP | BPF_JGT | BPF_K
    const JUMP_IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let plain = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let skip_unless = |code, k| sock_filter { code, jt: 0, jf: 1, k };
    let mut program = vec![plain(LOAD_NUMBER, 0)];
    for (call, error) in OTHERWISE {
        let number = u32::try_from(*call).map_err(|_| FilterError::Architecture)?;
        program.push(skip_unless(JUMP_IF_EQUAL, number));
        program.push(plain(RETURN, ERRNO | errno(*error)));
    }
    program.push(skip_unless(JUMP_IF_GREATER, NEWEST));
    program.push(plain(RETURN, ERRNO | errno(libc::ENOSYS)));
    program.push(plain(RETURN, ALLOW));
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-16
    #[test]
    fn no_call_is_refused_for_two_reasons() {
        let mut calls: Vec<_> = REFUSED.iter().flat_map(|(_, calls)| calls.iter()).collect();
        calls.extend(
            CHANGES_OWNERS.iter().chain(REFUSED_HERE).chain(OTHERWISE.iter().map(|(call, _)| call)),
        );
        let count = calls.len();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), count);
        assert!(calls.iter().all(|call| **call <= i64::from(NEWEST)));
    }
}
