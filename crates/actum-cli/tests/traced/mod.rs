//! Runs the program and kills it from outside before one of its system calls (ptrace(2)).

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc::PTRACE_SYSCALL_INFO_ENTRY;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How a traced run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Killed before the system call of this number, which was not made.
    Killed { system_call: String },
    /// It made fewer system calls.
    Exited { code: i32 },
}

/// Stops itself, so that it can be seized before it becomes the program.
const SCRIPT: &str = "umask 022; kill -STOP $$; exec \"$0\" \"$@\"";

/// Runs the program in `directory` and kills it before system call number `call`, counted from 0
/// after its start. What it says on standard output goes to the file `said`.
pub fn kill_before_call(directory: &Path, arguments: &[&str], call: usize, said: &Path) -> End {
    match stop_before_call(directory, arguments, call, said) {
        Stop::Exited { code } => End::Exited { code },
        Stop::Before { process, system_call, .. } => {
            end(process);
            End::Killed { system_call }
        }
    }
}

/// The same before the first system call at which something is so.
#[allow(dead_code, reason = "one of the two tests that share this waits for nothing")]
pub fn kill_when(
    directory: &Path,
    arguments: &[&str],
    said: &Path,
    mut is_so: impl FnMut() -> bool,
) -> End {
    match stop_when(directory, arguments, |_| is_so(), said) {
        Stop::Exited { code } => End::Exited { code },
        Stop::Before { process, system_call, .. } => {
            end(process);
            End::Killed { system_call }
        }
    }
}

/// The same with a signal that asks the program to end, which it may answer when it likes.
pub fn ask_before_call(
    directory: &Path,
    arguments: &[&str],
    call: usize,
    said: &Path,
    signal: Signal,
) -> End {
    match stop_before_call(directory, arguments, call, said) {
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
                        // Done, or taken back because it was asked to end.
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

/// Where a traced run has come to.
enum Stop {
    /// It is about to make the system call of this number.
    Before { process: Pid, thread: Pid, system_call: String },
    /// It made fewer system calls.
    Exited { code: i32 },
}

fn stop_before_call(directory: &Path, arguments: &[&str], call: usize, said: &Path) -> Stop {
    stop_when(directory, arguments, |made| made == call, said)
}

/// Stops the program before the first system call of which this is so; it is given how many were made before.
#[expect(clippy::zombie_processes, reason = "it is waited for by number, which tells more")]
fn stop_when(
    directory: &Path,
    arguments: &[&str],
    mut is_it: impl FnMut(usize) -> bool,
    said: &Path,
) -> Stop {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, env!("CARGO_BIN_EXE_actum")]).args(arguments);
    command
        .env_clear()
        .env("XDG_CONFIG_HOME", crate::program::operator_of(directory))
        .env("ACTUM_HOME", crate::program::home_of(directory));
    command.current_dir(directory);
    let mut command = crate::program::where_policies_count(directory, command);
    command.stdin(Stdio::null());
    let said = File::create(said).expect("a file of the test");
    let child = command.stdout(said).stderr(Stdio::null()).spawn().expect("a shell starts");
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
    // The shell has stopped itself.
    assert_eq!(
        waitpid(process, Some(WaitPidFlag::WUNTRACED)),
        Ok(WaitStatus::Stopped(process, Signal::SIGSTOP))
    );
    seize(process);
    kill(process, Signal::SIGCONT).expect("our own child can be continued");
    wait_for_exec(process);
    let mut thread = process;
    for made in 0.. {
        match next_call(process, thread) {
            Next::Call { by } => thread = by,
            Next::Exit { code } => return Stop::Exited { code },
        }
        if is_it(made) {
            break;
        }
    }
    // A process that dies where it enters a call does not make the call.
    let of_proc =
        fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).unwrap_or_default();
    let system_call = of_proc.split(' ').next().unwrap_or_default().to_owned();
    Stop::Before { process, thread, system_call }
}

/// What a traced process does next.
enum Next {
    /// One of its threads is about to make a system call.
    Call { by: Pid },
    /// It ends.
    Exit { code: i32 },
}

fn seize(process: Pid) {
    let options = Options::PTRACE_O_TRACESYSGOOD
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

/// Lets the shell go on until it has become the program.
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

/// Lets `thread` of the program go on, until one of its threads enters a system call.
fn next_call(process: Pid, thread: Pid) -> Next {
    let mut stopped = Some((thread, None));
    loop {
        if let Some((thread, signal)) = stopped.take() {
            go_on(ptrace::syscall(thread, signal));
        }
        match wait_for_any() {
            WaitStatus::PtraceSyscall(by) => {
                let info = ptrace::syscall_info(by).expect("a stopped thread");
                if info.op == PTRACE_SYSCALL_INFO_ENTRY {
                    return Next::Call { by };
                }
                stopped = Some((by, None));
            }
            // A new thread begins with a stop of its own.
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

/// Waits for a thread that this thread traces, and for no other child of the tests.
fn wait_for_any() -> WaitStatus {
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    waitpid(None, Some(flags)).expect("there is a process that is traced")
}

/// A thread may end while another is looked at: its process was ended.
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
