//! Runs the program and kills it from outside before one of its system calls (ptrace(2)).
//!
//! Only calls that may change something are counted. A kill before a read-only call has the same result as a kill
//! before the next counted call.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc::{self, PTRACE_SYSCALL_INFO_ENTRY};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Outcome of a traced run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The program was killed before the system call of this number, which did not execute.
    Killed { system_call: String },
    /// The program exited before it reached the system call of this number.
    Exited { code: i32 },
}

/// Script that stops itself so that the tracer can attach before it executes the program.
const SCRIPT: &str = "umask 022; kill -STOP $$; exec \"$0\" \"$@\"";

/// Runs the program in `directory` and kills it before the system call of this number, counted from 0 after its start.
/// Its standard output is written to the file `said`.
pub(crate) fn kill_before_call(
    directory: &Path,
    arguments: &[&str],
    call: usize,
    stdout: &Path,
) -> End {
    match stop_before_call(directory, arguments, call, stdout) {
        Stop::Exited { code } => End::Exited { code },
        Stop::Before { process, system_call, .. } => {
            end(process);
            End::Killed { system_call }
        }
    }
}

/// Kills the program before the first system call for which a condition is true.
#[allow(dead_code, reason = "one of the two tests that share this waits for nothing")]
pub(crate) fn kill_when(
    directory: &Path,
    arguments: &[&str],
    stdout: &Path,
    mut is_so: impl FnMut() -> bool,
) -> End {
    kill_at(directory, arguments, stdout, |_| is_so())
}

/// Runs the program in `directory` and kills it before the first system call that matches.
#[allow(dead_code, reason = "not every test that shares this looks at the calls")]
pub(crate) fn kill_at(
    directory: &Path,
    arguments: &[&str],
    stdout: &Path,
    is_it: impl FnMut(Entered) -> bool,
) -> End {
    match stop_when(directory, arguments, is_it, stdout) {
        Stop::Exited { code } => End::Exited { code },
        Stop::Before { process, system_call, .. } => {
            end(process);
            End::Killed { system_call }
        }
    }
}

/// Sends a signal that asks the program to exit before a system call. The program may react to it at any time.
pub(crate) fn ask_before_call(
    directory: &Path,
    arguments: &[&str],
    call: usize,
    stdout: &Path,
    signal: Signal,
) -> End {
    match stop_before_call(directory, arguments, call, stdout) {
        Stop::Exited { code } => End::Exited { code },
        Stop::Before { process, thread, system_call } => {
            kill(process, signal).expect("our own child gets a signal");
            let mut stopped = Some((thread, None));
            loop {
                if let Some((thread, signal)) = stopped.take() {
                    go_on(ptrace::cont(thread, signal));
                }
                match wait_for_any() {
                    WaitStatus::Signaled(ended, by, _) if ended == process => {
                        assert_eq!(by, signal);
                        break;
                    }
                    WaitStatus::Exited(ended, code) if ended == process => {
                        // The run completed, or was rolled back because of the signal.
                        assert!(code == 0 || code == 3, "{code}");
                        break;
                    }
                    WaitStatus::Signaled(..) | WaitStatus::Exited(..) => {}
                    WaitStatus::Stopped(thread, Signal::SIGSTOP | Signal::SIGTRAP) => {
                        stopped = Some((thread, None));
                    }
                    WaitStatus::Stopped(thread, signal) => stopped = Some((thread, Some(signal))),
                    other => stopped = other.pid().map(|thread| (thread, None)),
                }
            }
            End::Killed { system_call }
        }
    }
}

/// Position at which a traced run stopped.
enum Stop {
    /// The program is about to make the system call of this number.
    Before { process: Pid, thread: Pid, system_call: String },
    /// The program exited before it reached the system call of this number.
    Exited { code: i32 },
}

fn stop_before_call(directory: &Path, arguments: &[&str], call: usize, stdout: &Path) -> Stop {
    stop_when(directory, arguments, |entered| entered.made == call, stdout)
}

/// System call that the program is about to make.
#[allow(dead_code, reason = "not every test that shares this looks at the calls")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entered {
    pub(crate) process: Pid,
    /// Number of counted calls before this one.
    pub(crate) made: usize,
    /// Whether the call waits for another process or for time to pass, and may therefore be repeated any number of
    /// times.
    pub(crate) is_wait: bool,
}

/// Stops the program before the first system call that matches.
fn stop_when(
    directory: &Path,
    arguments: &[&str],
    mut is_it: impl FnMut(Entered) -> bool,
    stdout: &Path,
) -> Stop {
    let process = start(directory, arguments, stdout, Options::empty());
    let (mut thread, mut made) = (process, 0);
    loop {
        match next_call(process, thread) {
            Next::Call { by } => thread = by,
            Next::Exit { code } => return Stop::Exited { code },
        }
        // A process that dies on entry to a call does not execute the call.
        let entered = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall"));
        let call = Call::parse(&entered.unwrap_or_default());
        if call.only_looks(process) {
            continue;
        }
        let is_wait = WAITS.contains(&call.number);
        if is_it(Entered { process, made, is_wait }) {
            let system_call = call.number.to_string();
            return Stop::Before { process, thread, system_call };
        }
        made += 1;
    }
}

/// Starts the program under the tracer and continues it up to its first system call.
#[expect(clippy::zombie_processes, reason = "it is waited for by number, which tells more")]
fn start(directory: &Path, arguments: &[&str], stdout: &Path, more: Options) -> Pid {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, env!("CARGO_BIN_EXE_actum")]).args(arguments);
    command
        .env_clear()
        .env("XDG_CONFIG_HOME", crate::program::operator_of(directory))
        .env("ACTUM_HOME", crate::program::home_of(directory));
    command.current_dir(directory);
    let mut command = crate::program::where_policies_count(directory, command);
    command.stdin(Stdio::null());
    let stdout = File::create(stdout).expect("a file of the test");
    let child = command.stdout(stdout).stderr(Stdio::null()).spawn().expect("a shell starts");
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
    // The shell has stopped itself.
    assert_eq!(
        waitpid(process, Some(WaitPidFlag::WUNTRACED)),
        Ok(WaitStatus::Stopped(process, Signal::SIGSTOP))
    );
    seize(process, more);
    kill(process, Signal::SIGCONT).expect("our own child can be continued");
    wait_for_exec(process);
    process
}

/// Runs the program, and stops its child of this name before each system call. Calls `act` with the child and the
/// number of earlier calls, until `act` returns true. Returns the exit code of the program, and whether `act` returned
/// true.
#[allow(dead_code, reason = "one test has a program with such a child")]
pub(crate) fn act_on_child(
    directory: &Path,
    arguments: &[&str],
    child: &str,
    stdout: &Path,
    mut act: impl FnMut(Pid, usize) -> bool,
) -> (i32, bool) {
    let follow = Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK;
    let process = start(directory, arguments, stdout, follow);
    let is_child = |process: Pid| {
        let name = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        name.split(|byte| *byte == 0).next() == Some(child.as_bytes())
    };
    let (mut made, mut is_done) = (0, false);
    let mut stopped = Some((process, None));
    loop {
        if let Some((thread, signal)) = stopped.take() {
            match is_child(thread) {
                true => go_on(ptrace::syscall(thread, signal)),
                false => go_on(ptrace::cont(thread, signal)),
            }
        }
        stopped = match wait_for_any() {
            WaitStatus::PtraceSyscall(thread) => {
                if is_entry(thread) {
                    is_done = is_done || act(thread, made);
                    made += 1;
                }
                Some((thread, None))
            }
            WaitStatus::PtraceEvent(thread, _, _)
            | WaitStatus::Stopped(thread, Signal::SIGSTOP | Signal::SIGTRAP) => {
                Some((thread, None))
            }
            WaitStatus::Stopped(thread, signal) => Some((thread, Some(signal))),
            WaitStatus::Exited(ended, code) if ended == process => return (code, is_done),
            WaitStatus::Signaled(ended, by, _) => {
                assert!(ended != process && is_done, "{ended} was ended by {by}");
                None
            }
            WaitStatus::Exited(..) => None,
            other => panic!("the program ended in another way: {other:?}"),
        };
    }
}

/// System call that is about to be made (proc_pid_syscall(5)).
struct Call {
    number: i64,
    arguments: Vec<u64>,
}

impl Call {
    fn parse(entered: &str) -> Self {
        let mut words = entered.split_whitespace();
        let number = words.next().and_then(|word| word.parse().ok()).unwrap_or(-1);
        let argument = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        Self { number, arguments: words.filter_map(argument).collect() }
    }

    /// Returns true if killing the process before this call has the same result as killing it afterwards. Locks end
    /// with the process, and unsynced writes survive a kill.
    fn only_looks(&self, process: Pid) -> bool {
        let argument = |index: usize| self.arguments.get(index).copied().unwrap_or_default();
        match self.number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => !makes_or_empties(argument(1)),
            libc::SYS_openat => !makes_or_empties(argument(2)),
            libc::SYS_openat2 => {
                let mut flags = [0; 8]; // the first member of `open_how`
                let memory = File::open(format!("/proc/{process}/mem"));
                let read = memory.and_then(|memory| memory.read_exact_at(&mut flags, argument(2)));
                read.is_ok() && !makes_or_empties(u64::from_ne_bytes(flags))
            }
            number => LOOKS.contains(&number),
        }
    }
}

/// Returns true if opening a file with these flags may create or truncate it.
fn makes_or_empties(flags: u64) -> bool {
    let changes = libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);
    flags & u64::from(changes.unsigned_abs()) != 0
}

/// Calls that only read, or that change only the process itself. Any other call counts as one that changes something,
/// including a call that waits for another process.
const LOOKS: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_getxattr,
    libc::SYS_fgetxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_flistxattr,
    libc::SYS_llistxattr,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_syncfs,
    libc::SYS_fadvise64,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_pipe2,
    libc::SYS_umask,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_capget,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
];

/// Calls that wait.
const WAITS: &[libc::c_long] = &[
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_wait4,
    libc::SYS_waitid,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// Next event of a traced process.
enum Next {
    /// One of its threads is about to make a system call.
    Call { by: Pid },
    /// The process exits.
    Exit { code: i32 },
}

fn seize(process: Pid, more: Options) {
    let options = more
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_EXITKILL;
    if let Err(error) = ptrace::seize(process, options) {
        kill(process, Signal::SIGKILL).expect("our own child can be killed");
        let hint = if error == Errno::EPERM {
            "; a container needs `--cap-add SYS_PTRACE` for it"
        } else {
            ""
        };
        panic!("this test kills its own children by ptrace, which is not permitted: {error}{hint}");
    }
}

/// Continues the shell until it has executed the program.
fn wait_for_exec(process: Pid) {
    loop {
        let next = match waitpid(process, None).expect("our own child can be waited for") {
            WaitStatus::PtraceEvent(_, _, event)
                if event == ptrace::Event::PTRACE_EVENT_EXEC as i32 =>
            {
                return;
            }
            WaitStatus::PtraceEvent(..) => None,
            WaitStatus::Stopped(_, signal) => Some(signal),
            other => panic!("the shell did not become the program: {other:?}"),
        };
        ptrace::cont(process, next).expect("a stopped process goes on");
    }
}

/// Continues `thread` of the program until any of its threads enters a system call.
fn next_call(process: Pid, thread: Pid) -> Next {
    let mut stopped = Some((thread, None));
    loop {
        if let Some((thread, signal)) = stopped.take() {
            go_on(ptrace::syscall(thread, signal));
        }
        match wait_for_any() {
            WaitStatus::PtraceSyscall(by) => {
                if is_entry(by) {
                    return Next::Call { by };
                }
                stopped = Some((by, None));
            }
            // A new thread first reports a stop of its own.
            WaitStatus::PtraceEvent(thread, _, _)
            | WaitStatus::Stopped(thread, Signal::SIGSTOP | Signal::SIGTRAP) => {
                stopped = Some((thread, None));
            }
            WaitStatus::Stopped(thread, signal) => stopped = Some((thread, Some(signal))),
            WaitStatus::Exited(ended, code) if ended == process => return Next::Exit { code },
            WaitStatus::Exited(..) => {}
            other => panic!("the program ended in another way: {other:?}"),
        }
    }
}

/// Returns true if the thread is stopped at the entry of a system call, not at its exit.
fn is_entry(thread: Pid) -> bool {
    ptrace::syscall_info(thread).expect("a stopped thread").op == PTRACE_SYSCALL_INFO_ENTRY
}

/// Waits for a thread that this thread traces, ignoring all other children of the tests.
fn wait_for_any() -> WaitStatus {
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    waitpid(None, Some(flags)).expect("there is a process that is traced")
}

/// Ignores the error for a thread that is gone, because its process ended while another one was examined.
fn go_on(resumed: nix::Result<()>) {
    match resumed {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("a stopped thread goes on: {error}"),
    }
}

fn end(process: Pid) {
    kill(process, Signal::SIGKILL).expect("our own child can be killed");
    loop {
        match wait_for_any() {
            WaitStatus::Signaled(ended, by, _) if ended == process => {
                assert_eq!(by, Signal::SIGKILL);
                return;
            }
            _ => {}
        }
    }
}
