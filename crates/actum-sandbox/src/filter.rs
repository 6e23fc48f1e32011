//! System calls that no command in a sandbox can make.
//!
//! The list is of refused calls, not of allowed ones: commands are compilers, interpreters and
//! tests, whose calls are unknown. Refused are calls that reach out of the sandbox, that make new
//! privileges, and that programs do not need. Calls newer than those that were reviewed do not
//! exist.

mod program;
pub(crate) mod worker;

use std::collections::BTreeMap;

use crate::policy::{Net, Tier};
pub(crate) use program::FilterError;
use program::{Answer, Case, Condition, Rule};

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
            libc::SYS_mq_open,
            libc::SYS_mq_unlink,
            libc::SYS_mq_timedsend,
            libc::SYS_mq_timedreceive,
            libc::SYS_mq_notify,
            libc::SYS_mq_getsetattr,
        ],
    ),
    (
        "uses objects of System V, which are those of the host, also by their numbers",
        &[
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_msgget,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_msgctl,
            libc::SYS_semget,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_semctl,
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

/// Refused calls that only x86-64 has.
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

/// Calls refused in tier L, where files of the host can be named, and Landlock does not look at
/// this.
///
/// It does not look at modes either (chmod(2)), nor at times. But linkers, archivers and package
/// managers set those of their own files by name, so that without them hardly anything could be
/// built in tier L.
const WATCHES_FILES_OF_THE_HOST: &[i64] = &[libc::SYS_inotify_add_watch, libc::SYS_fanotify_mark];

/// Calls that change owners, with the place of the user among their arguments; the group is next to it.
const CHANGES_OWNERS: &[(i64, u32)] = &[
    (libc::SYS_fchown, 1),
    (libc::SYS_fchownat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, 1),
];

/// Calls refused with another error, so that programs take another way, or go without.
const OTHERWISE: &[(i64, i32)] = &[
    // Its flags are in memory, where no filter sees them.
    (libc::SYS_clone3, libc::ENOSYS),
    // Its mode is in memory, too.
    (libc::SYS_openat2, libc::ENOSYS),
    // It takes storage that is not counted as written. Programs that reserve space write zeros
    // instead.
    (libc::SYS_fallocate, libc::EOPNOTSUPP),
    // No rule confines attributes. Programs that keep them know file systems without.
    (libc::SYS_setxattr, libc::EOPNOTSUPP),
    (libc::SYS_lsetxattr, libc::EOPNOTSUPP),
    (libc::SYS_fsetxattr, libc::EOPNOTSUPP),
    (libc::SYS_removexattr, libc::EOPNOTSUPP),
    (libc::SYS_lremovexattr, libc::EOPNOTSUPP),
    (libc::SYS_fremovexattr, libc::EOPNOTSUPP),
];
/// Calls with another answer in tier L alone: Landlock does not keep attributes of files outside
/// from being read.
const OTHERWISE_IN_L: &[(i64, i32)] = &[
    (libc::SYS_getxattr, libc::EOPNOTSUPP),
    (libc::SYS_lgetxattr, libc::EOPNOTSUPP),
    (libc::SYS_listxattr, libc::EOPNOTSUPP),
    (libc::SYS_llistxattr, libc::EOPNOTSUPP),
];

/// The flags of open(2) with which its mode counts; of O_TMPFILE the bit that it does not share with
/// O_DIRECTORY.
const MAKES: i32 = libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY);
/// Mode bits of files that run as their owner, whichever user starts them.
const SET_ID: i32 = (libc::S_ISUID | libc::S_ISGID).cast_signed();
/// New namespaces, one of which gives capabilities again.
const NEW_NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
/// ioctl_iflags(2) and its kin (linux/fs.h, linux/fsverity.h): FS_IOC_SETFLAGS, FS_IOC_SETVERSION,
/// FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY.
const CHANGES_ATTRIBUTES: &[u32] = &[0x4008_6602, 0x4008_7602, 0x401c_5820, 0x4080_6685];
/// fcntl(2).
const F_SETLEASE: u32 = 1024;
/// The bits of a socket's type that are no flags (linux/net.h).
const SOCKET_TYPE: i32 = 0xf;
/// ioprio_set(2).
const IOPRIO_WHO_PROCESS: i32 = 1;

/// Makes the filter of a command of this tier that may use the network so, and that runs as this
/// user and group. It is made in microseconds, so it is not kept.
///
/// # Errors
/// If there is no filter for this architecture.
pub(crate) fn filter(
    tier: Tier,
    net: Net,
    (user, group): (u32, u32),
) -> Result<seccompiler::BpfProgram, FilterError> {
    program::assemble(&rules(tier, net, (user, group)), NEWEST)
}

/// Returns the answer to each call.
fn rules(tier: Tier, net: Net, (user, group): (u32, u32)) -> BTreeMap<u32, Rule> {
    let refused = || Answer::Error(libc::EPERM);
    let mut rules = Rules::default();
    for call in REFUSED.iter().flat_map(|(_, calls)| *calls).chain(REFUSED_HERE) {
        rules.always(*call, refused());
    }
    for (call, error) in OTHERWISE {
        rules.always(*call, Answer::Error(*error));
    }
    if tier == Tier::L {
        for call in WATCHES_FILES_OF_THE_HOST {
            rules.always(*call, refused());
        }
        for (call, error) in OTHERWISE_IN_L {
            rules.always(*call, Answer::Error(*error));
        }
        // A change to the present owner has no effect, so success is reported without the call: it
        // would take the set-id bits of a file outside.
        let nobody = u32::MAX;
        for (call, place) in CHANGES_OWNERS {
            for (user, group) in [(user, group), (user, nobody), (nobody, group), (nobody, nobody)]
            {
                let same = [Condition::is(*place, user), Condition::is(place + 1, group)];
                rules.when(*call, &same, Answer::Pretend);
            }
            rules.always(*call, refused());
        }
        in_tier_l(&mut rules);
    }
    rules.when(libc::SYS_clone, &[Condition::has(0, NEW_NAMESPACES)], refused());
    // Characters put into the terminal of the user who started the command.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        rules.when(libc::SYS_ioctl, &[Condition::is(1, low(request))], refused());
    }
    // Attributes of files that need not be open for writing, and a lease that keeps others waiting.
    for request in CHANGES_ATTRIBUTES {
        rules.when(libc::SYS_ioctl, &[Condition::is(1, *request)], refused());
    }
    rules.when(libc::SYS_fcntl, &[Condition::is(1, F_SETLEASE)], refused());
    // Limits of others, and those of the supervising process.
    rules.when(libc::SYS_prlimit64, &[Condition::is_not(0, 0)], refused());
    // A process that hides from the supervising process.
    let hide = libc::PR_SET_DUMPABLE.unsigned_abs();
    rules.when(libc::SYS_prctl, &[Condition::is(0, hide)], refused());
    set_id(&mut rules);
    sockets(&mut rules, net);
    rules.0
}

/// Limits and priorities of other processes, which are those of the host. Zero is the caller; of a group
/// or a user it is all of the caller's.
fn in_tier_l(rules: &mut Rules) {
    let refused = || Answer::Error(libc::EPERM);
    for (call, process) in [
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_migrate_pages, 0),
        (libc::SYS_move_pages, 0),
    ] {
        rules.when(call, &[Condition::is_not(process, 0)], refused());
    }
    let one = libc::PRIO_PROCESS;
    rules.when(libc::SYS_setpriority, &[Condition::is_not(0, one)], refused());
    let one = IOPRIO_WHO_PROCESS.unsigned_abs();
    rules.when(libc::SYS_ioprio_set, &[Condition::is_not(0, one)], refused());
}

fn set_id(rules: &mut Rules) {
    let mut mode = |call: i64, place: u32| {
        rules.when(call, &[Condition::has(place, SET_ID)], Answer::Error(libc::EPERM));
    };
    mode(libc::SYS_fchmod, 1);
    mode(libc::SYS_fchmodat, 2);
    mode(libc::SYS_fchmodat2, 2);
    mode(libc::SYS_mknodat, 2);
    #[cfg(target_arch = "x86_64")]
    {
        mode(libc::SYS_chmod, 1);
        mode(libc::SYS_mknod, 1);
        mode(libc::SYS_creat, 1);
    }
    let mut made = |call: i64, flags: u32| {
        let made = [Condition::has(flags, MAKES), Condition::has(flags + 1, SET_ID)];
        rules.when(call, &made, Answer::Error(libc::EPERM));
    };
    made(libc::SYS_openat, 2);
    #[cfg(target_arch = "x86_64")]
    made(libc::SYS_open, 1);
}

/// Sockets of every kind reach out, some past every namespace.
fn sockets(rules: &mut Rules, net: Net) {
    let refused = || Answer::Error(libc::EPERM);
    match net {
        Net::None => {
            for call in [libc::SYS_socket, libc::SYS_bind, libc::SYS_connect, libc::SYS_listen] {
                rules.always(call, refused());
            }
        }
        Net::PrivateLoopback => {
            allow_families(rules, &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6]);
        }
        // Sockets of the host in its abstract namespace are in reach there, so none of that family
        // is allowed. A socket that is not a datagram or a stream makes packets of its own.
        Net::Host => {
            allow_families(rules, &[libc::AF_INET, libc::AF_INET6]);
            let known = [libc::SOCK_STREAM, libc::SOCK_DGRAM];
            let others = known.map(|kind| Condition::masked_is_not(1, SOCKET_TYPE, kind));
            rules.when(libc::SYS_socket, &others, refused());
            let known = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
            let others = known.map(|protocol| Condition::is_not(2, protocol.unsigned_abs()));
            rules.when(libc::SYS_socket, &others, refused());
        }
    }
    // A pair of datagram sockets can address any path (socketpair(2) with sendmsg(2)), and the
    // kernel takes several types for datagrams. Pairs that are connected permanently cannot.
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let others = connected.map(|kind| Condition::masked_is_not(1, SOCKET_TYPE, kind));
    rules.when(libc::SYS_socketpair, &others, refused());
}

/// Refuses sockets of other families.
fn allow_families(rules: &mut Rules, families: &[i32]) {
    let others = families.iter().map(|family| Condition::is_not(0, family.unsigned_abs()));
    rules.when(libc::SYS_socket, &others.collect::<Vec<_>>(), Answer::Error(libc::EPERM));
}

/// The part of an argument that is compared.
#[expect(clippy::cast_possible_truncation, reason = "requests have 32 bits")]
fn low(request: libc::Ioctl) -> u32 {
    request as u32
}

/// Rules that are being collected.
#[derive(Default)]
struct Rules(BTreeMap<u32, Rule>);

impl Rules {
    fn rule(&mut self, call: i64) -> Option<&mut Rule> {
        // A call that has no number here is never made.
        let call = u32::try_from(call).ok()?;
        Some(self.0.entry(call).or_insert_with(|| Rule { cases: Vec::new(), else_: Answer::Allow }))
    }

    /// Sets the answer if all conditions hold, and no earlier case of this call matches.
    fn when(&mut self, call: i64, conditions: &[Condition], answer: Answer) {
        if let Some(rule) = self.rule(call) {
            rule.cases.push(Case { conditions: conditions.to_vec(), answer });
        }
    }

    /// Sets the answer for a call without a matching case.
    fn always(&mut self, call: i64, answer: Answer) {
        if let Some(rule) = self.rule(call) {
            rule.else_ = answer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-16
    #[test]
    fn no_call_is_refused_for_two_reasons() {
        let mut calls: Vec<_> = REFUSED.iter().flat_map(|(_, calls)| calls.iter()).collect();
        let otherwise = OTHERWISE.iter().chain(OTHERWISE_IN_L).map(|(call, _)| call);
        calls.extend(WATCHES_FILES_OF_THE_HOST.iter().chain(REFUSED_HERE).chain(otherwise));
        let count = calls.len();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), count);
        assert!(calls.iter().all(|call| **call <= i64::from(NEWEST)));
    }

    /// FE-16
    #[test]
    fn the_program_answers_as_the_rules_say() {
        for tier in [Tier::N, Tier::L] {
            for net in [Net::None, Net::PrivateLoopback, Net::Host] {
                let rules = rules(tier, net, (1000, 100));
                let program = program::assemble(&rules, NEWEST).unwrap();
                program::tests::compare(&program, &rules, NEWEST);
            }
        }
    }
}
