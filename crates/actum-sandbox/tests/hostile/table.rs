//! The attacks: what each does, what of the host is looked at, and what each tier makes of it.

use actum_sandbox::{Enforcement, Net, Resource, SandboxPolicy, View};

use crate::act::{
    files, kept, kernel, lasting, machine, processes, resources, secrets, set_id, sockets,
};
use crate::attack::{Attack, Course, Expected, Users};
use crate::course;
use crate::effect::Effect;
use crate::scene::Facts;

use Expected::{Open, Refused};

/// An attack on confinement.
const fn confined(name: &'static str, effect: Effect, act: fn(&Facts)) -> Attack {
    Attack::new(name, "AA-10", effect, act)
}

/// An attack by a way that is never allowed.
const fn never(name: &'static str, effect: Effect, act: fn(&Facts)) -> Attack {
    Attack::new(name, "FE-16", effect, act)
}

/// An attack on a limit.
const fn limited(name: &'static str, effect: Effect, act: fn(&Facts)) -> Attack {
    Attack::new(name, "FE-12", effect, act)
}

/// An attack on protected paths. Tier L cannot hold that, and does not run.
const fn keeps(name: &'static str, act: fn(&Facts)) -> Attack {
    confined(name, Effect::Kept, act).policy(keep).l(Refused("NEEDS_TIER_N"))
}

/// An attack that is to have been given up when the outcome is there.
const fn lasting(name: &'static str, act: fn(&Facts)) -> Attack {
    confined(name, Effect::Beats, act)
}

const NO_LOOPBACK: Expected = Refused("NEEDS_TIER_N");
const STAT: &str = "Landlock does not refuse stat(2)";
const LINKS: &str = "Landlock does not refuse readlink(2)";
const LOADER: &str = "code that runs can load what it can read";
const DECLARED: &str = "a socket in a declared directory is reached by its path";
const HIDDEN: &str = "shared memory is counted only as far as it is mapped in at the moment";
const UNWAITED: &str = "what ends unwaited for is forgotten";
const KERNEL_MEMORY: &str = "memory of the kernel is counted by control groups alone";
const MODES: &str = "Landlock does not refuse chmod(2), which builds need for their own files";
const TIMES: &str = "Landlock does not refuse utimensat(2), which builds need for their own files";

const FILES: &[Attack] = &[
    confined("write a file outside", Effect::Outside, files::write),
    confined("write it through a link of its own", Effect::Outside, files::write_through_link),
    confined("write it through /proc/self/root", Effect::Outside, files::write_through_proc),
    confined("make files outside", Effect::Outside, files::create),
    confined("empty a file outside", Effect::Outside, files::truncate),
    confined("delete a file outside", Effect::Outside, files::unlink),
    never("change the owner of a file outside", Effect::Outside, files::chown).users(Users::Root),
    never("change the mode of a file outside", Effect::Outside, files::chmod).l(Open(MODES)),
    never("change that mode by a descriptor", Effect::Outside, files::chmod_by_descriptor)
        .l(Open(MODES)),
    confined("change the times of a file outside", Effect::Outside, files::utimes).l(Open(TIMES)),
    confined("set an attribute of a file outside", Effect::Outside, files::setxattr),
    never("link a file from outside into the workspace", Effect::Outside, files::hard_link),
    confined("rename a file out of the workspace", Effect::Outside, files::rename_out),
    confined("rename a file over one outside", Effect::Outside, files::rename_over),
    confined("rename a file from outside into the workspace", Effect::Outside, files::rename_in),
    confined("exchange a file with one outside", Effect::Outside, files::exchange),
    confined("change what it may read", Effect::Outside, files::write_what_may_be_read)
        .policy(|policy, facts| policy.read.push(facts.outside.clone())),
    confined("change the directory of its view", Effect::Outside, kept::view)
        .policy(|policy, facts| {
            let base = facts.outside.join("view");
            policy.view = Some(View {
                base,
                staged: None,
                caches: vec![],
                before: None,
                upper: None,
                max: 1 << 20,
            });
        })
        .l(Refused("NEEDS_TIER_N")),
    never("read the log of the kernel by a device", Effect::Got, machine::kernel_log)
        .users(Users::Root),
    never("make a device and open it", Effect::Got, machine::make_device).users(Users::Root),
];

const SECRETS: &[Attack] = &[
    confined("read a key by its path", Effect::Secret, secrets::by_path),
    never("read a key by a link that it was given", Effect::Secret, secrets::by_given_link),
    never("read a key by a link that it makes", Effect::Secret, secrets::by_made_link),
    never("read a key by a hard link", Effect::Secret, secrets::by_hard_link),
    confined("read a key by a path with dots", Effect::Secret, secrets::by_dots),
    confined("read a key by /proc/self/root", Effect::Secret, secrets::by_own_root),
    confined("read a key by the roots of other processes", Effect::Secret, secrets::by_other_roots),
    confined(
        "read a key by directories and descriptors of other processes",
        Effect::Secret,
        secrets::by_other_directories,
    ),
    confined("read a key by a file handle", Effect::Secret, secrets::by_handle).users(Users::Root),
    confined("read a key in a child", Effect::Secret, kernel::in_a_child),
    confined("list a directory outside", Effect::Secret, secrets::list),
    confined("see that a file outside is there, and its times", Effect::Got, secrets::look_at)
        .l(Open(STAT)),
    confined("read where a link outside leads", Effect::Secret, secrets::link).l(Open(LINKS)),
    confined("read an attribute of a file outside", Effect::Secret, secrets::attribute),
    confined("watch a file outside", Effect::Got, secrets::watch),
    confined("use descriptors that were left open", Effect::Secret, secrets::leaked_descriptors),
    confined("read secrets in its environment", Effect::Secret, secrets::own_environment),
    confined("read the environment of others", Effect::Secret, secrets::environment_of_others),
    confined("read the command lines of others", Effect::Secret, secrets::command_lines),
    confined("read /proc/PID/mem of another", Effect::Secret, secrets::memory_of_others),
    confined("read memory by process_vm_readv", Effect::Secret, secrets::read_memory),
    confined("take a descriptor by pidfd_getfd", Effect::Secret, secrets::take_descriptor),
    confined("attach shared memory of the host", Effect::Secret, secrets::shared_memory),
    confined("take a message of the host", Effect::Secret, secrets::message),
];

const KEPT: &[Attack] = &[
    keeps("write a hook in .git/hooks", kept::hook),
    keeps("write or delete .git/config", kept::configuration),
    keeps("write, replace or delete .env", kept::environment_file),
    keeps("rename .git away and make another", kept::swap),
    keeps("exchange .git with a directory of its own", kept::exchange),
    keeps("rename a directory that holds a kept one", kept::swap_parent),
    keeps("write a kept file by a hard link", kept::other_name),
    keeps("write a kept file by a symbolic link", kept::through_link),
    keeps("write a kept file by opening a descriptor again", kept::reopen),
    keeps("change times and mode of a kept file", kept::attributes),
    keeps("mount a kept directory writable again", kernel::remount),
    confined("make a kept path that was absent, untold", Effect::MadeUntold, kept::absent)
        .policy(keep)
        .l(Refused("NEEDS_TIER_N")),
];

const SOCKETS: &[Attack] = &[
    never("connect by TCP", Effect::Heard, sockets::tcp),
    never("connect by TCP from a private loopback", Effect::Heard, sockets::tcp)
        .policy(loopback)
        .l(NO_LOOPBACK),
    never("connect by MPTCP", Effect::Heard, sockets::mptcp),
    never("connect by TCP fast open", Effect::Heard, sockets::fast_open),
    never("listen by TCP", Effect::Reached, sockets::listen),
    never("listen by TCP on a private loopback", Effect::Reached, sockets::listen)
        .policy(loopback)
        .l(NO_LOOPBACK),
    never("listen by TCP without bind", Effect::Reached, sockets::listen_unbound),
    never("send by UDP", Effect::Heard, sockets::udp),
    never("send by UDP from a private loopback", Effect::Heard, sockets::udp)
        .policy(loopback)
        .l(NO_LOOPBACK),
    never("connect to an abstract socket", Effect::Heard, sockets::abstract_stream),
    never("send to an abstract socket", Effect::Heard, sockets::abstract_datagram),
    never("reach an abstract socket from a private loopback", Effect::Heard, |facts| {
        sockets::abstract_stream(facts);
        sockets::abstract_datagram(facts);
    })
    .policy(loopback)
    .l(NO_LOOPBACK),
    never("connect to a socket by its path", Effect::Heard, sockets::path_stream),
    never("send to a socket by its path", Effect::Heard, sockets::path_datagram),
    never("reach a socket outside from a private loopback", Effect::Heard, |facts| {
        sockets::path_stream(facts);
        sockets::path_datagram(facts);
    })
    .policy(loopback)
    .l(NO_LOOPBACK),
    never("reach a socket in the workspace", Effect::Heard, sockets::path_in_workspace),
    never(
        "send to a path by a pair of datagram sockets",
        Effect::Heard,
        sockets::pair_of_datagrams,
    ),
    never("reach a socket in the workspace from a private loopback", Effect::Heard, |facts| {
        sockets::path_in_workspace(facts);
    })
    .policy(loopback)
    .n(Open(DECLARED))
    .l(NO_LOOPBACK),
    never("send to a path by a pair of raw sockets", Effect::Heard, sockets::raw_pair),
    never("send by such a pair into the workspace", Effect::Heard, sockets::raw_pair_in_workspace),
    never(
        "make a socket of vsock, netlink or another family",
        Effect::Got,
        sockets::other_families,
    ),
    never("make a socket by a call of 32 bits", Effect::Heard, sockets::by_32_bit_call),
];

const PROCESSES: &[Attack] = &[
    confined("kill a process", Effect::Victim, processes::kill),
    confined("kill a process group", Effect::Victim, processes::kill_group),
    confined("kill a thread", Effect::Victim, processes::kill_thread),
    confined("stop a process", Effect::Victim, processes::stop),
    confined("queue a signal", Effect::Victim, processes::queue_signal),
    confined("send a signal by a pidfd", Effect::Victim, processes::signal_by_pidfd),
    confined("have a pipe send a signal", Effect::Victim, processes::signal_by_pipe),
    confined("trace a process and kill it", Effect::Victim, processes::trace),
    confined("write the memory of a process", Effect::Memory, processes::write_memory),
    confined("remove shared memory of the host", Effect::Shared, processes::remove_shared),
    confined("limit a process", Effect::Victim, processes::limit),
    confined("change the priority of a process", Effect::Victim, processes::priority),
    confined("change the priority of all of its user", Effect::Victim, processes::priority_of_user)
        .users(Users::Alone),
    confined("change its priority for storage", Effect::Victim, processes::storage_priority),
    confined("change where and how it runs", Effect::Victim, processes::scheduling),
    confined("have it ended first when memory is short", Effect::Victim, processes::memory_score),
];

const RIGHTS: &[Attack] = &[
    confined("run a set-id program", Effect::OtherUser, set_id::run).users(Users::Ordinary),
    confined("have a way to new privileges", Effect::Got, kernel::new_privileges),
    never("make a set-id file by chmod", Effect::SetId, set_id::chmod),
    never("make a set-id file by fchmodat2", Effect::SetId, set_id::fchmodat2),
    never("make a set-group-id file or directory", Effect::SetId, set_id::set_gid),
    never("make a set-id file by open", Effect::SetId, set_id::open),
    never("make a set-id file by openat2", Effect::SetId, set_id::openat2),
    never("make a set-id file by creat", Effect::SetId, set_id::creat),
    never("make a set-id file by mknod", Effect::SetId, set_id::mknod),
    never("make a set-id file by O_TMPFILE", Effect::SetId, set_id::nameless),
    confined("run a program that it wrote", Effect::Ran, machine::run_written),
    confined("run it by the dynamic loader", Effect::Ran, machine::load_written)
        .n(Open(LOADER))
        .l(Open(LOADER)),
    confined("make a user namespace by unshare", Effect::Got, kernel::unshare_user),
    confined("make a user namespace by clone", Effect::Got, kernel::clone_user),
    confined("make a user namespace by clone3", Effect::Got, kernel::clone3_user),
    confined("mount a file system", Effect::Got, kernel::mount),
    confined("take another root by chroot", Effect::Got, kernel::chroot).users(Users::Root),
    confined("take another root by pivot_root", Effect::Got, kernel::pivot_root),
    confined("make io_uring", Effect::Got, kernel::io_uring),
    confined("make userfaultfd", Effect::Got, kernel::userfaultfd),
    confined("keep a key in the kernel", Effect::Got, kernel::keys),
    confined("make a bpf map", Effect::Got, kernel::bpf).users(Users::Root),
    confined("measure by perf_event_open", Effect::Got, kernel::perf),
    confined("make files in memory by memfd_create", Effect::Got, kernel::memory_files),
    confined("make shared memory that stays", Effect::Got, kernel::lasting_memory),
    confined("set the pattern of core files", Effect::Got, processes::core_pattern)
        .users(Users::Root),
    confined("type into the terminal", Effect::Terminal, machine::type_into_terminal)
        .course(Course::Terminal)
        .policy(course::reads_terminal),
    confined("write to the terminal that it reads", Effect::Terminal, machine::write_to_terminal)
        .course(Course::Terminal)
        .policy(course::reads_terminal),
];

const LASTING: &[Attack] = &[
    lasting("outlive its command as a daemon", lasting::daemon),
    lasting("outlive its command as a sibling of it", lasting::sibling),
    lasting("outlive its command by taking in orphans itself", lasting::own_reaper),
    lasting("outlive its command by stopping itself", lasting::daemon_that_stops_itself),
    lasting("outlive its command by families that churn", lasting::churn),
    limited("outlive its time", Effect::Beats, lasting::stay).policy(short),
    limited("outlive its time, deaf to signals", Effect::Beats, lasting::stay_deaf).policy(short),
    limited("outlive its time by families that churn", Effect::Beats, |facts| {
        lasting::churn(facts);
        lasting::stay(facts);
    })
    .policy(short),
    lasting("outlive a supervisor that is killed", lasting::stay).course(Course::SupervisorKilled),
    lasting("outlive a killed supervisor, deaf to signals", lasting::stay_deaf)
        .course(Course::SupervisorKilled),
    lasting("outlive a supervisor that is killed before it heard of the start", lasting::stay_deaf)
        .course(Course::SupervisorKilledEarly),
    confined("end untold where SIGCHLD is ignored", Effect::WrongEnd, lasting::end_with_seven)
        .course(Course::ChildrenIgnored)
        .policy(short),
    confined("run where the sandbox cannot be set up", Effect::Ran, lasting::mark)
        .course(Course::SetUpFails)
        .policy(|policy, facts| policy.read.push(facts.outside.join("missing"))),
    confined("run where what it may write is missing", Effect::Ran, lasting::mark)
        .course(Course::SetUpFails)
        .policy(|policy, facts| policy.write.push(facts.outside.join("missing"))),
];

const LIMITS: &[Attack] = &[
    limited("use memory over its limit", Effect::Got, resources::memory).policy(memory),
    limited("use shared memory over its limit", Effect::Got, resources::shared_memory)
        .policy(memory),
    limited("use memory over its limit in four processes", Effect::Got, resources::memory_of_four)
        .policy(memory),
    limited("hide shared memory over its limit", Effect::Got, resources::hidden_memory)
        .policy(memory)
        .n(Open(HIDDEN))
        .l(Open(HIDDEN)),
    limited("use memory as files of a scratch directory", Effect::Got, resources::memory_as_files)
        .policy(|policy, facts| {
            memory(policy, facts);
            policy.scratch = Some(32 << 20);
        }),
    limited("hold memory in sockets over its limit", Effect::Got, resources::memory_in_sockets)
        .policy(memory)
        .n(Open(KERNEL_MEMORY))
        .l(Open(KERNEL_MEMORY)),
    limited("write one huge file", Effect::LargestFile, resources::huge_file).policy(
        |policy, _| {
            let limits = policy.limits.clone();
            policy.limits = limits.with(Resource::FileSize, 8 << 20, Enforcement::Hard);
        },
    ),
    limited("write too many files", Effect::Storage, resources::many_files).policy(storage),
    limited("write them in children that nobody waits for", Effect::Storage, |facts| {
        resources::many_files_unwaited(facts);
    })
    .policy(storage)
    .n(Open(UNWAITED))
    .l(Open(UNWAITED)),
    limited("write too much through memory", Effect::Storage, resources::mapped).policy(storage),
    limited("reserve storage without writing", Effect::Storage, resources::reserved)
        .policy(storage),
    limited("use processor time over its limit", Effect::Got, resources::processor)
        .policy(processor),
    limited("use it in children that nobody waits for", Effect::Got, resources::processor_unwaited)
        .policy(processor)
        .n(Open(UNWAITED))
        .l(Open(UNWAITED)),
    limited("start too many processes", Effect::Got, resources::processes).policy(few),
    limited("start too many threads", Effect::Got, resources::threads).policy(few),
    limited("write too much output", Effect::Output, resources::output).policy(|policy, _| {
        policy.limits = policy.limits.clone().with(Resource::Output, 64 << 10, Enforcement::Hard);
    }),
    limited("write too much output to two streams", Effect::Output, resources::two_outputs).policy(
        |policy, _| {
            policy.limits =
                policy.limits.clone().with(Resource::Output, 64 << 10, Enforcement::Hard);
        },
    ),
    limited("open too many files", Effect::Got, resources::descriptors).policy(|policy, _| {
        policy.limits = policy.limits.clone().with(Resource::OpenFiles, 64, Enforcement::Hard);
    }),
];

fn keep(policy: &mut SandboxPolicy, facts: &Facts) {
    let paths = [".git", ".env", "deep/er/.git", ".npmrc"];
    policy.deny_write = paths.map(|path| facts.workspace.join(path)).to_vec();
}

fn loopback(policy: &mut SandboxPolicy, _: &Facts) {
    policy.net = Net::PrivateLoopback;
    policy.floor = actum_sandbox::Tier::N;
}

fn with(policy: &mut SandboxPolicy, resource: Resource, max: u64) {
    policy.limits = policy.limits.clone().with(resource, max, Enforcement::Polled);
}

fn short(policy: &mut SandboxPolicy, _: &Facts) {
    with(policy, Resource::Wall, 500);
}

fn memory(policy: &mut SandboxPolicy, _: &Facts) {
    with(policy, Resource::Memory, 128 << 20);
}

fn storage(policy: &mut SandboxPolicy, _: &Facts) {
    with(policy, Resource::StorageWrite, 8 << 20);
}

fn processor(policy: &mut SandboxPolicy, _: &Facts) {
    with(policy, Resource::Cpu, 400);
}

fn few(policy: &mut SandboxPolicy, _: &Facts) {
    with(policy, Resource::Processes, 64);
}

/// The table, as it is read.
pub(crate) fn sections() -> Vec<(&'static str, Vec<Attack>)> {
    [
        ("Files", FILES),
        ("Secrets", SECRETS),
        ("Files that are to stay as they are (`deny_write`)", KEPT),
        ("Sockets", SOCKETS),
        ("Processes of the host", PROCESSES),
        ("New rights", RIGHTS),
        ("What outlives the command", LASTING),
        ("Limits", LIMITS),
    ]
    .map(|(title, attacks)| (title, attacks.to_vec()))
    .to_vec()
}

pub(crate) fn all() -> Vec<Attack> {
    sections().into_iter().flat_map(|(_, attacks)| attacks).collect()
}

pub(crate) fn find(name: &str) -> Attack {
    all().into_iter().find(|attack| attack.name == name).unwrap()
}
