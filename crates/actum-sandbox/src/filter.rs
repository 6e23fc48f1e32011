//! System calls that sandboxed commands cannot make.
//!
//! The filter lists denied calls instead of allowed ones because commands are compilers, interpreters
//! and tests, whose calls cannot be known in advance. Calls are denied if they reach outside of the
//! sandbox, if they gain privileges, or if ordinary programs do not need them. Calls that are newer
//! than the last reviewed one fail with ENOSYS, as if the kernel did not have them.

mod program;
pub(crate) mod worker;

use std::collections::BTreeMap;

use crate::policy::{Net, Tier};
pub(crate) use program::FilterError;
use program::{Answer, Case, Condition, Rule};

/// Number of the newest system call that was reviewed: mseal(2), from Linux 6.10. Calls of the x32 ABI
/// have bit 30 set, so their numbers are greater and they are denied as well.
const NEWEST: u32 = 462;

/// System calls that fail with EPERM regardless of their arguments, grouped by the reason.
const REFUSED: &[(&str, &[i64])] = &[
    (
        "changes the mounts or the root directory",
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
    ("creates or enters namespaces", &[libc::SYS_unshare, libc::SYS_setns]),
    (
        "reads or writes the memory and state of other processes",
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
        "uses objects that outlive the command or belong to the user's session",
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
        "uses System V IPC objects, which belong to the host and can be addressed by number",
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
        "makes calls that bypass the filter, or allocates memory that no limit covers",
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

/// Denied system calls that exist only on x86-64.
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

/// Calls that watch files for events. They are denied in tier L because files of the host are
/// visible there and Landlock does not restrict watching them.
///
/// Landlock does not restrict changes of modes (chmod(2)) or times either. Those calls stay allowed
/// because linkers, archivers and package managers need them, so hardly any build would work without them.
const WATCHES_FILES_OF_THE_HOST: &[i64] = &[libc::SYS_inotify_add_watch, libc::SYS_fanotify_mark];

/// Calls that change the owner of a file, each with the index of its user argument. The group is the
/// argument after it.
const CHANGES_OWNERS: &[(i64, u32)] = &[
    (libc::SYS_fchown, 1),
    (libc::SYS_fchownat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, 1),
];

/// Calls that fail with an error other than EPERM, so that programs use a fallback or do without.
const OTHERWISE: &[(i64, i32)] = &[
    // The flags of clone3(2) are in memory, which a seccomp filter cannot read.
    (libc::SYS_clone3, libc::ENOSYS),
    // The mode of openat2(2) is in memory as well.
    (libc::SYS_openat2, libc::ENOSYS),
    // fallocate(2) uses storage that is not counted as written. Programs that want to reserve space
    // fall back to writing zeros.
    (libc::SYS_fallocate, libc::EOPNOTSUPP),
    // Landlock does not restrict extended attributes. Programs that preserve them cope with file
    // systems that have none.
    (libc::SYS_setxattr, libc::EOPNOTSUPP),
    (libc::SYS_lsetxattr, libc::EOPNOTSUPP),
    (libc::SYS_fsetxattr, libc::EOPNOTSUPP),
    (libc::SYS_removexattr, libc::EOPNOTSUPP),
    (libc::SYS_lremovexattr, libc::EOPNOTSUPP),
    (libc::SYS_fremovexattr, libc::EOPNOTSUPP),
];
/// Calls that read extended attributes. They fail only in tier L, because Landlock does not prevent
/// commands from reading the attributes of files outside of the sandbox.
const OTHERWISE_IN_L: &[(i64, i32)] = &[
    (libc::SYS_getxattr, libc::EOPNOTSUPP),
    (libc::SYS_lgetxattr, libc::EOPNOTSUPP),
    (libc::SYS_listxattr, libc::EOPNOTSUPP),
    (libc::SYS_llistxattr, libc::EOPNOTSUPP),
];

/// Flags for which open(2) uses its mode argument. O_TMPFILE contains the bits of O_DIRECTORY, so those
/// are left out.
const MAKES: i32 = libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY);
/// Mode bits that make a program run as the owner or group of its file (set-user-ID and set-group-ID).
const SET_ID: i32 = (libc::S_ISUID | libc::S_ISGID).cast_signed();
/// clone(2) flags that create namespaces. A new user namespace would grant capabilities again.
const NEW_NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
/// ioctl(2) requests that change file attributes (linux/fs.h, linux/fsverity.h): FS_IOC_SETFLAGS,
/// FS_IOC_SETVERSION, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY.
const CHANGES_ATTRIBUTES: &[u32] = &[0x4008_6602, 0x4008_7602, 0x401c_5820, 0x4080_6685];
/// fcntl(2) command that takes a lease on a file.
const F_SETLEASE: u32 = 1024;
/// Mask of the bits in a socket type that are not flags (linux/net.h).
const SOCKET_TYPE: i32 = 0xf;
/// `which` argument of ioprio_set(2) that selects a single process or thread.
const IOPRIO_WHO_PROCESS: i32 = 1;

/// Builds the filter for a command with the given tier and network access that runs as `user` and
/// `group`. Building it takes microseconds, so it is not cached.
///
/// # Errors
/// Returns an error if this architecture is not supported.
pub(crate) fn filter(
    tier: Tier,
    net: Net,
    (user, group): (u32, u32),
) -> Result<seccompiler::BpfProgram, FilterError> {
    program::assemble(&rules(tier, net, (user, group)), NEWEST)
}

/// Returns the rules of the filter, by system call number.
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
        // Setting the current owner again changes nothing, so the filter reports success without
        // making the call. The call itself would clear the set-ID bits of files outside of the sandbox.
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
    // Prevent the command from injecting input into the user's terminal.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        rules.when(libc::SYS_ioctl, &[Condition::is(1, low(request))], refused());
    }
    // These requests work on files that are only open for reading. A lease can also block other
    // processes that open the file.
    for request in CHANGES_ATTRIBUTES {
        rules.when(libc::SYS_ioctl, &[Condition::is(1, *request)], refused());
    }
    rules.when(libc::SYS_fcntl, &[Condition::is(1, F_SETLEASE)], refused());
    // Deny access to the limits of other processes, including the supervising process.
    rules.when(libc::SYS_prlimit64, &[Condition::is_not(0, 0)], refused());
    // A process that is not dumpable could not be inspected by the supervising process.
    let hide = libc::PR_SET_DUMPABLE.unsigned_abs();
    rules.when(libc::SYS_prctl, &[Condition::is(0, hide)], refused());
    set_id(&mut rules);
    sockets(&mut rules, net);
    rules.0
}

/// Denies changes to the scheduling and memory placement of other processes, which in tier L are
/// processes of the host. A process ID of zero stands for the caller itself. For process groups and
/// users, however, zero would affect all processes in the caller's group or of its user.
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

/// Denies calls that create files with set-ID bits or add these bits to existing files.
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

/// Restricts sockets to the network access of the policy, because some socket families reach outside of
/// every namespace.
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
        // Deny Unix sockets, because they would reach abstract sockets of the host. Only stream and
        // datagram sockets are allowed, because other types can send arbitrary packets.
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
    // One end of a datagram pair can send to any socket path (socketpair(2), sendmsg(2)), and the
    // kernel treats several types as datagrams. Only allow types whose connection is permanent.
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let others = connected.map(|kind| Condition::masked_is_not(1, SOCKET_TYPE, kind));
    rules.when(libc::SYS_socketpair, &others, refused());
}

/// Denies sockets of all families except the given ones.
fn allow_families(rules: &mut Rules, families: &[i32]) {
    let others = families.iter().map(|family| Condition::is_not(0, family.unsigned_abs()));
    rules.when(libc::SYS_socket, &others.collect::<Vec<_>>(), Answer::Error(libc::EPERM));
}

/// Returns the lower 32 bits of an ioctl(2) request, which are the bits that conditions compare.
#[expect(clippy::cast_possible_truncation, reason = "requests have 32 bits")]
fn low(request: libc::Ioctl) -> u32 {
    request as u32
}

/// Rules collected so far, by system call number.
#[derive(Default)]
struct Rules(BTreeMap<u32, Rule>);

impl Rules {
    fn rule(&mut self, call: i64) -> Option<&mut Rule> {
        // A negative number cannot belong to a system call, so it needs no rule.
        let call = u32::try_from(call).ok()?;
        Some(self.0.entry(call).or_insert_with(|| Rule { cases: Vec::new(), else_: Answer::Allow }))
    }

    /// Adds a case for a call. The first case whose conditions are all true determines the answer.
    fn when(&mut self, call: i64, conditions: &[Condition], answer: Answer) {
        if let Some(rule) = self.rule(call) {
            rule.cases.push(Case { conditions: conditions.to_vec(), answer });
        }
    }

    /// Sets the answer for a call if none of its cases matches.
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
    fn no_system_call_is_listed_twice() {
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
    fn seccomp_program_matches_its_rules() {
        for tier in [Tier::N, Tier::L] {
            for net in [Net::None, Net::PrivateLoopback, Net::Host] {
                let rules = rules(tier, net, (1000, 100));
                let program = program::assemble(&rules, NEWEST).unwrap();
                program::tests::compare(&program, &rules, NEWEST);
            }
        }
    }
}
