//! Table of all attacks, with the observed effect and the expected result in each tier.

use actum_sandbox::{Enforcement, Net, Resource, SandboxPolicy, View};

use crate::act::{
    files, kept, kernel, lasting, machine, processes, resources, secrets, set_id, sockets,
};
use crate::attack::{Attack, Course, Expected, Users};
use crate::course;
use crate::effect::Effect;
use crate::scene::Facts;

use Expected::{Open, Refused};

/// Creates an attack that tries to break out of the confinement.
const fn confined(name: &'static str, effect: Effect, act: fn(&Facts)) -> Attack {
    Attack::new(name, "AA-10", effect, act)
}

/// Creates an attack that uses an operation that is never allowed.
const fn never(name: &'static str, effect: Effect, act: fn(&Facts)) -> Attack {
    Attack::new(name, "FE-16", effect, act)
}

/// Creates an attack that tries to exceed a resource limit.
const fn limited(name: &'static str, effect: Effect, act: fn(&Facts)) -> Attack {
    Attack::new(name, "FE-12", effect, act)
}

/// Creates an attack on protected paths. Tier L cannot protect them, so it refuses the policy.
const fn keeps(name: &'static str, act: fn(&Facts)) -> Attack {
    confined(name, Effect::Kept, act).policy(keep).l(Refused("NEEDS_TIER_N"))
}

/// Creates an attack that tries to keep a process running after the outcome is reported.
const fn lasting(name: &'static str, act: fn(&Facts)) -> Attack {
    confined(name, Effect::Beats, act)
}

const NO_LOOPBACK: Expected = Refused("NEEDS_TIER_N");
const STAT: &str = "Landlock does not restrict `stat`";
const LINKS: &str = "Landlock does not restrict `readlink`";
const LOADER: &str = "running code can load any file that it can read";
const DECLARED: &str = "a socket in a declared directory can be reached by its path";
const HIDDEN: &str = "shared memory counts only while its pages are mapped";
const UNWAITED: &str = "the usage of ended processes that nothing waits for is lost";
const KERNEL_MEMORY: &str = "only control groups count kernel memory";
const MODES: &str = "Landlock does not restrict `chmod`, which builds need for their own files";
const TIMES: &str = "Landlock does not restrict `utimensat`, which builds need for their own files";

const FILES: &[Attack] = &[
    confined("write to a file outside the sandbox", Effect::Outside, files::write),
    confined(
        "write to a file outside through a symbolic link that it created",
        Effect::Outside,
        files::write_through_link,
    ),
    confined(
        "write to a file outside through `/proc/self/root`",
        Effect::Outside,
        files::write_through_proc,
    ),
    confined("create files outside the sandbox", Effect::Outside, files::create),
    confined("truncate a file outside the sandbox", Effect::Outside, files::truncate),
    confined("delete a file outside the sandbox", Effect::Outside, files::unlink),
    never("change the owner of a file outside the sandbox", Effect::Outside, files::chown)
        .users(Users::Root),
    never("change the mode of a file outside the sandbox", Effect::Outside, files::chmod)
        .l(Open(MODES)),
    never(
        "change the mode of a file outside through a descriptor",
        Effect::Outside,
        files::chmod_by_descriptor,
    )
    .l(Open(MODES)),
    confined("change the times of a file outside the sandbox", Effect::Outside, files::utimes)
        .l(Open(TIMES)),
    confined("set an extended attribute of a file outside", Effect::Outside, files::setxattr),
    never("create a hard link to a file outside the sandbox", Effect::Outside, files::hard_link),
    confined("move a file out of the workspace", Effect::Outside, files::rename_out),
    confined(
        "replace a file outside by renaming a workspace file to its path",
        Effect::Outside,
        files::rename_over,
    ),
    confined("move a file from outside into the workspace", Effect::Outside, files::rename_in),
    confined("exchange a workspace file with a file outside", Effect::Outside, files::exchange),
    confined("modify a file that it may only read", Effect::Outside, files::write_what_may_be_read)
        .policy(|policy, facts| policy.read.push(facts.outside.clone())),
    confined("modify the base directory of its captured view", Effect::Outside, kept::view)
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
    never("read the kernel log from its device", Effect::Got, machine::kernel_log)
        .users(Users::Root),
    never("create a device node and open it", Effect::Got, machine::make_device).users(Users::Root),
];

const SECRETS: &[Attack] = &[
    confined("read a secret file by its path", Effect::Secret, secrets::by_path),
    never(
        "read a secret file through an existing symbolic link in the workspace",
        Effect::Secret,
        secrets::by_given_link,
    ),
    never(
        "read a secret file through a symbolic link that it created",
        Effect::Secret,
        secrets::by_made_link,
    ),
    never(
        "read a secret file through a hard link that it created",
        Effect::Secret,
        secrets::by_hard_link,
    ),
    confined("read a secret file by a path that contains `..`", Effect::Secret, secrets::by_dots),
    confined("read a secret file through `/proc/self/root`", Effect::Secret, secrets::by_own_root),
    confined(
        "read a secret file through the root directories of other processes",
        Effect::Secret,
        secrets::by_other_roots,
    ),
    confined(
        "read a secret file through working directories and descriptors of other processes",
        Effect::Secret,
        secrets::by_other_directories,
    ),
    confined("read a secret file with `open_by_handle_at`", Effect::Secret, secrets::by_handle)
        .users(Users::Root),
    confined("read a secret file from a child process", Effect::Secret, kernel::in_a_child),
    confined("list a directory outside the sandbox", Effect::Secret, secrets::list),
    confined(
        "read the size and times of a file outside the sandbox",
        Effect::Got,
        secrets::look_at,
    )
    .l(Open(STAT)),
    confined("read the target of a symbolic link outside", Effect::Secret, secrets::link)
        .l(Open(LINKS)),
    confined("read an extended attribute of a file outside", Effect::Secret, secrets::attribute),
    confined("watch a file outside the sandbox with `inotify`", Effect::Got, secrets::watch),
    confined(
        "use descriptors that the parent process left open",
        Effect::Secret,
        secrets::leaked_descriptors,
    ),
    confined("find secrets in its own environment", Effect::Secret, secrets::own_environment),
    confined(
        "read the environment of other processes",
        Effect::Secret,
        secrets::environment_of_others,
    ),
    confined("read the command lines of other processes", Effect::Secret, secrets::command_lines),
    confined(
        "read the memory of another process through `/proc/PID/mem`",
        Effect::Secret,
        secrets::memory_of_others,
    ),
    confined(
        "read the memory of another process with `process_vm_readv`",
        Effect::Secret,
        secrets::read_memory,
    ),
    confined(
        "copy a descriptor of another process with `pidfd_getfd`",
        Effect::Secret,
        secrets::take_descriptor,
    ),
    confined("attach a shared memory segment of the host", Effect::Secret, secrets::shared_memory),
    confined("receive a message from a queue of the host", Effect::Secret, secrets::message),
];

const KEPT: &[Attack] = &[
    keeps("create a hook in `.git/hooks`", kept::hook),
    keeps("overwrite or delete `.git/config`", kept::configuration),
    keeps("overwrite, replace or delete `.env`", kept::environment_file),
    keeps("rename `.git` and create another one in its place", kept::swap),
    keeps("exchange `.git` with a directory that it created", kept::exchange),
    keeps("rename a directory that contains a protected path", kept::swap_parent),
    keeps("write to a protected file through a hard link", kept::other_name),
    keeps("write to a protected file through a symbolic link", kept::through_link),
    keeps("write to a protected file by reopening a read-only descriptor", kept::reopen),
    keeps("change the times and the mode of protected paths", kept::attributes),
    keeps("remount a protected directory as writable", kernel::remount),
    confined("create a missing protected path unnoticed", Effect::UnreportedCreation, kept::absent)
        .policy(keep)
        .l(Refused("NEEDS_TIER_N")),
];

const SOCKETS: &[Attack] = &[
    never("connect to the host over TCP", Effect::Heard, sockets::tcp),
    never("connect to the host over TCP from a private loopback", Effect::Heard, sockets::tcp)
        .policy(loopback)
        .l(NO_LOOPBACK),
    never("connect to the host over MPTCP", Effect::Heard, sockets::mptcp),
    never("connect to the host with TCP Fast Open", Effect::Heard, sockets::fast_open),
    never("accept a TCP connection from the host", Effect::Reached, sockets::listen),
    never(
        "accept a TCP connection from the host on a private loopback",
        Effect::Reached,
        sockets::listen,
    )
    .policy(loopback)
    .l(NO_LOOPBACK),
    never(
        "accept a TCP connection from the host without calling `bind`",
        Effect::Reached,
        sockets::listen_unbound,
    ),
    never("send a UDP packet to the host", Effect::Heard, sockets::udp),
    never("send a UDP packet to the host from a private loopback", Effect::Heard, sockets::udp)
        .policy(loopback)
        .l(NO_LOOPBACK),
    never("connect to an abstract socket of the host", Effect::Heard, sockets::abstract_stream),
    never("send to an abstract socket of the host", Effect::Heard, sockets::abstract_datagram),
    never("reach an abstract socket of the host from a private loopback", Effect::Heard, |facts| {
        sockets::abstract_stream(facts);
        sockets::abstract_datagram(facts);
    })
    .policy(loopback)
    .l(NO_LOOPBACK),
    never("connect to a socket outside by its path", Effect::Heard, sockets::path_stream),
    never("send to a socket outside by its path", Effect::Heard, sockets::path_datagram),
    never("reach a socket outside by its path from a private loopback", Effect::Heard, |facts| {
        sockets::path_stream(facts);
        sockets::path_datagram(facts);
    })
    .policy(loopback)
    .l(NO_LOOPBACK),
    never("reach a socket of the host in the workspace", Effect::Heard, sockets::path_in_workspace),
    never(
        "send to a socket of the host from a pair of datagram sockets",
        Effect::Heard,
        sockets::pair_of_datagrams,
    ),
    never(
        "reach a socket of the host in the workspace from a private loopback",
        Effect::Heard,
        |facts| {
            sockets::path_in_workspace(facts);
        },
    )
    .policy(loopback)
    .n(Open(DECLARED))
    .l(NO_LOOPBACK),
    never("send to a socket outside from a pair of raw sockets", Effect::Heard, sockets::raw_pair),
    never(
        "send to a socket in the workspace from a pair of raw sockets",
        Effect::Heard,
        sockets::raw_pair_in_workspace,
    ),
    never(
        "create a socket of another family, such as vsock or netlink",
        Effect::Got,
        sockets::other_families,
    ),
    never("create a socket with a 32-bit system call", Effect::Heard, sockets::by_32_bit_call),
];

const PROCESSES: &[Attack] = &[
    confined("kill a process of the host", Effect::Victim, processes::kill),
    confined("kill a process group of the host", Effect::Victim, processes::kill_group),
    confined("kill a thread of a host process", Effect::Victim, processes::kill_thread),
    confined("stop a process of the host with `SIGSTOP`", Effect::Victim, processes::stop),
    confined(
        "queue a signal for a host process with `sigqueue`",
        Effect::Victim,
        processes::queue_signal,
    ),
    confined(
        "send a signal to a host process through a pidfd",
        Effect::Victim,
        processes::signal_by_pidfd,
    ),
    confined("send a host process a signal from a pipe", Effect::Victim, processes::signal_by_pipe),
    confined("trace a process of the host and kill it", Effect::Victim, processes::trace),
    confined("write to the memory of a host process", Effect::Memory, processes::write_memory),
    confined(
        "delete a shared memory segment of the host",
        Effect::Shared,
        processes::remove_shared,
    ),
    confined("set a resource limit of a host process", Effect::Victim, processes::limit),
    confined("change the priority of a host process", Effect::Victim, processes::priority),
    confined(
        "change the priority of all processes of its user",
        Effect::Victim,
        processes::priority_of_user,
    )
    .users(Users::Alone),
    confined(
        "change the I/O priority of a host process",
        Effect::Victim,
        processes::storage_priority,
    ),
    confined(
        "change the scheduling policy and CPU affinity of a host process",
        Effect::Victim,
        processes::scheduling,
    ),
    confined(
        "make a host process the first choice of the OOM killer",
        Effect::Victim,
        processes::memory_score,
    ),
];

const RIGHTS: &[Attack] = &[
    confined("become root by running a set-user-ID program", Effect::OtherUser, set_id::run)
        .users(Users::Ordinary),
    confined("keep capabilities or ways to gain privileges", Effect::Got, kernel::new_privileges),
    never("create a set-user-ID file with `chmod`", Effect::SetId, set_id::chmod),
    never("create a set-user-ID file with `fchmodat2`", Effect::SetId, set_id::fchmodat2),
    never("create a set-group-ID file or directory", Effect::SetId, set_id::set_gid),
    never("create a set-user-ID file with `open`", Effect::SetId, set_id::open),
    never("create a set-user-ID file with `openat2`", Effect::SetId, set_id::openat2),
    never("create a set-user-ID file with `creat`", Effect::SetId, set_id::creat),
    never("create a set-user-ID file with `mknod`", Effect::SetId, set_id::mknod),
    never("create a set-user-ID file with `O_TMPFILE`", Effect::SetId, set_id::nameless),
    confined("execute a program that it wrote", Effect::Ran, machine::run_written),
    confined(
        "start a program that it wrote through the dynamic loader",
        Effect::Ran,
        machine::load_written,
    )
    .n(Open(LOADER))
    .l(Open(LOADER)),
    confined("create a user namespace with `unshare`", Effect::Got, kernel::unshare_user),
    confined("create a user namespace with `clone`", Effect::Got, kernel::clone_user),
    confined("create a user namespace with `clone3`", Effect::Got, kernel::clone3_user),
    confined("mount a file system", Effect::Got, kernel::mount),
    confined("change its root directory with `chroot`", Effect::Got, kernel::chroot)
        .users(Users::Root),
    confined("change its root directory with `pivot_root`", Effect::Got, kernel::pivot_root),
    confined("set up an `io_uring` queue", Effect::Got, kernel::io_uring),
    confined("create a `userfaultfd` descriptor", Effect::Got, kernel::userfaultfd),
    confined("store a key in a kernel keyring", Effect::Got, kernel::keys),
    confined("create a BPF map", Effect::Got, kernel::bpf).users(Users::Root),
    confined("measure events with `perf_event_open`", Effect::Got, kernel::perf),
    confined("create a file in memory with `memfd_create`", Effect::Got, kernel::memory_files),
    confined(
        "create shared memory that persists after the command ends",
        Effect::Got,
        kernel::lasting_memory,
    ),
    confined("set the kernel's pattern for core files", Effect::Got, processes::core_pattern)
        .users(Users::Root),
    confined(
        "simulate typed input on the host's terminal",
        Effect::Terminal,
        machine::type_into_terminal,
    )
    .course(Course::Terminal)
    .policy(course::reads_terminal),
    confined(
        "write to the terminal on standard input",
        Effect::Terminal,
        machine::write_to_terminal,
    )
    .course(Course::Terminal)
    .policy(course::reads_terminal),
];

const LASTING: &[Attack] = &[
    lasting("leave a daemon running after the command ends", lasting::daemon),
    lasting("leave a sibling process running after the command ends", lasting::sibling),
    lasting("leave a daemon running by adopting orphaned processes itself", lasting::own_reaper),
    lasting("leave a process running that stops itself", lasting::daemon_that_stops_itself),
    lasting("leave processes running that fork and exit constantly", lasting::churn),
    limited("keep running after its time limit", Effect::Beats, lasting::stay).policy(short),
    limited("ignore signals to run past its time limit", Effect::Beats, lasting::stay_deaf)
        .policy(short),
    limited("keep running after its time limit by forking constantly", Effect::Beats, |facts| {
        lasting::churn(facts);
        lasting::stay(facts);
    })
    .policy(short),
    lasting("keep running after its supervisor is killed", lasting::stay)
        .course(Course::SupervisorKilled),
    lasting("keep running after its supervisor is killed, by ignoring signals", lasting::stay_deaf)
        .course(Course::SupervisorKilled),
    lasting(
        "keep running if its supervisor is killed before the start is reported",
        lasting::stay_deaf,
    )
    .course(Course::SupervisorKilledEarly),
    confined(
        "hide its exit code from a supervisor that ignores `SIGCHLD`",
        Effect::WrongEnd,
        lasting::end_with_seven,
    )
    .course(Course::ChildrenIgnored)
    .policy(short),
    confined("run although a path that it may read is missing", Effect::Ran, lasting::mark)
        .course(Course::SetUpFails)
        .policy(|policy, facts| policy.read.push(facts.outside.join("missing"))),
    confined("run although a path that it may write is missing", Effect::Ran, lasting::mark)
        .course(Course::SetUpFails)
        .policy(|policy, facts| policy.write.push(facts.outside.join("missing"))),
];

const LIMITS: &[Attack] = &[
    limited("use more memory than its limit allows", Effect::Got, resources::memory).policy(memory),
    limited("use more shared memory than its limit allows", Effect::Got, resources::shared_memory)
        .policy(memory),
    limited(
        "use more memory than its limit allows, in four processes",
        Effect::Got,
        resources::memory_of_four,
    )
    .policy(memory),
    limited(
        "hide shared memory above its limit by unmapping the pages",
        Effect::Got,
        resources::hidden_memory,
    )
    .policy(memory)
    .n(Open(HIDDEN))
    .l(Open(HIDDEN)),
    limited(
        "use more memory than its limit allows, as scratch files",
        Effect::Got,
        resources::memory_as_files,
    )
    .policy(|policy, facts| {
        memory(policy, facts);
        policy.scratch = Some(32 << 20);
    }),
    limited(
        "hold more memory than its limit allows in socket buffers",
        Effect::Got,
        resources::memory_in_sockets,
    )
    .policy(memory)
    .n(Open(KERNEL_MEMORY))
    .l(Open(KERNEL_MEMORY)),
    limited("write a file larger than its limit", Effect::LargestFile, resources::huge_file)
        .policy(|policy, _| {
            let limits = policy.limits.clone();
            policy.limits = limits.with(Resource::FileSize, 8 << 20, Enforcement::Hard);
        }),
    limited("write more to storage than its limit allows", Effect::Storage, resources::many_files)
        .policy(storage),
    limited(
        "write more to storage in children that are never waited for",
        Effect::Storage,
        |facts| {
            resources::many_files_unwaited(facts);
        },
    )
    .policy(storage)
    .n(Open(UNWAITED))
    .l(Open(UNWAITED)),
    limited("write more to storage through mapped memory", Effect::Storage, resources::mapped)
        .policy(storage),
    limited("reserve storage without writing to it", Effect::Storage, resources::reserved)
        .policy(storage),
    limited("use more CPU time than its limit allows", Effect::Got, resources::processor)
        .policy(processor),
    limited(
        "use more CPU time in children that are never waited for",
        Effect::Got,
        resources::processor_unwaited,
    )
    .policy(processor)
    .n(Open(UNWAITED))
    .l(Open(UNWAITED)),
    limited("start more processes than its limit allows", Effect::Got, resources::processes)
        .policy(few),
    limited("start more threads than its limit allows", Effect::Got, resources::threads)
        .policy(few),
    limited("write more output than its limit allows", Effect::Output, resources::output).policy(
        |policy, _| {
            policy.limits =
                policy.limits.clone().with(Resource::Output, 64 << 10, Enforcement::Hard);
        },
    ),
    limited(
        "write more output than its limit allows, to two streams",
        Effect::Output,
        resources::two_outputs,
    )
    .policy(|policy, _| {
        policy.limits = policy.limits.clone().with(Resource::Output, 64 << 10, Enforcement::Hard);
    }),
    limited("open more files than its limit allows", Effect::Got, resources::descriptors).policy(
        |policy, _| {
            policy.limits = policy.limits.clone().with(Resource::OpenFiles, 64, Enforcement::Hard);
        },
    ),
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

/// Returns the attacks by section, in the order of the page.
pub(crate) fn sections() -> Vec<(&'static str, Vec<Attack>)> {
    [
        ("Files", FILES),
        ("Secrets", SECRETS),
        ("Protected paths (`deny_write`)", KEPT),
        ("Sockets", SOCKETS),
        ("Processes of the host", PROCESSES),
        ("Additional privileges", RIGHTS),
        ("Lifetime of the command", LASTING),
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
