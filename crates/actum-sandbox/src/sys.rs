//! Wrappers for system calls that have no safe wrapper elsewhere. This is the only module of the crate with `unsafe`
//! code.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Process in which a call of [`fork`] returned. The parent also gets the process id of the child.
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// Creates a child process with fork(2). The helper has only one thread, so the child may call any function and is not
/// limited to those that are async-signal-safe.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: no other thread can hold a lock that the child needs, because the helper starts no threads and no other
    // program calls this function.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("fork returned an invalid process id")),
    }
}

/// Starts a child process that runs `run` in the memory of this process, using clone(2) with CLONE_VM and CLONE_VFORK
/// as posix_spawn(3) does. This process is suspended until the child executes another program or exits.
///
/// No memory is copied, so the caller sees everything that `run` writes to memory. The child has its own descriptors,
/// working directory, limits, capabilities and filters.
pub(crate) fn spawn_sharing_memory<F: FnMut()>(run: &mut F) -> io::Result<Pid> {
    /// Runs the closure in the child process. Its exit status is 1 if `run` returns, which happens only after a
    /// failure.
    extern "C" fn call<F: FnMut()>(run: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is to the `run` passed to `clone` below, and no other code accesses it while this
        // function runs.
        unsafe { (*run.cast::<F>())() };
        1
    }
    const STACK: usize = 256 << 10;
    let mut stack: Vec<u128> = Vec::with_capacity(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its aligned end and lives until the child has left it. A panic aborts the child
    // at the `extern "C"` boundary. The helper has only one thread, so no other thread holds a lock.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.capacity());
        libc::clone(call::<F>, top.cast(), flags, std::ptr::from_mut(run).cast())
    };
    if pid == -1 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("clone returned an invalid process id"))
}

/// Duplicates a descriptor that this process inherited open for writing. The new descriptor has a number above those of
/// the standard streams.
///
/// # Errors
/// Returns EBADF if `number` is not an open descriptor, cannot be written to, or was opened by this program. The
/// program's own descriptors are close-on-exec and inherited ones cannot be, which distinguishes the two.
pub fn inherited_for_writing(number: RawFd) -> io::Result<OwnedFd> {
    let asked = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: fcntl takes and returns only integers here. The commands inspect or duplicate a descriptor, and none
        // closes one.
        match unsafe { libc::fcntl(number, command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            value => Ok(value),
        }
    };
    let is_inherited = asked(libc::F_GETFD, 0)? & libc::FD_CLOEXEC == 0;
    let flags = asked(libc::F_GETFL, 0)?;
    let access = flags & libc::O_ACCMODE;
    if !is_inherited || access == libc::O_RDONLY || flags & libc::O_PATH != 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    let taken = asked(libc::F_DUPFD_CLOEXEC, FIRST_NOT_STANDARD)?;
    // SAFETY: the kernel has just created this descriptor, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(taken) })
}

/// Starts writing a range of a file to disk without waiting for it (sync_file_range(2)). This does not make the data
/// durable, but a later fsync has less to wait for.
pub(crate) fn start_writing(file: &OwnedFd, from: u64, length: u64) {
    let [from, length] = [from, length].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    // SAFETY: the call takes only integers and accesses no memory. Errors are ignored because nothing depends on its
    // success.
    unsafe { libc::sync_file_range(file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Lowest descriptor number above those of standard input, output and error.
const FIRST_NOT_STANDARD: libc::c_int = 3;

/// Exits the process immediately, without the cleanup of exit(3), because its memory may be shared with another
/// process.
pub(crate) fn exit_at_once(code: libc::c_int) -> ! {
    // SAFETY: the call takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Moves the process to new namespaces with unshare(2). The process must have only one thread.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only the flag CLONE_FILES makes the call unsafe, and it is removed here.
    unsafe { rustix::thread::unshare_unsafe(flags - UnshareFlags::FILES) }.map_err(Into::into)
}

/// Closes every descriptor whose number is at least `first`, including those that other programs opened
/// (close_range(2)).
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    let first = libc::c_uint::try_from(first).map_err(io::Error::other)?;
    // SAFETY: the helper calls this when it starts, before any value of this program owns a descriptor in the range.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets flags of a mount and of every mount below it (mount_setattr(2)).
pub(crate) fn set_mount_flags(tree: impl AsFd, flags: u64) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: flags, attr_clr: 0, propagation: 0, userns_fd: 0 };
    const EMPTY: &CStr = c"";
    // SAFETY: the path is NUL-terminated, and the size passed with the structure is its own.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            EMPTY.as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            std::ptr::from_ref(&attributes),
            size_of::<libc::mount_attr>(),
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unblocks every signal and restores its default action. Otherwise, a program would inherit ignored and blocked
/// signals even across execve(2).
pub(crate) fn default_signals() {
    // SAFETY: sigemptyset initializes the set before sigprocmask reads it.
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the helper has no signal handlers that could be replaced. The kernel rejects the call for SIGKILL and
        // SIGSTOP.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Kills every other process in the PID namespace of the caller, which must be the first process of that namespace
/// (kill(2)).
pub(crate) fn kill_all_others() -> io::Result<()> {
    if !rustix::process::getpid().is_init() {
        return Err(io::Error::other(
            "only the first process of a PID namespace may kill all others",
        ));
    }
    // SAFETY: the call takes two integers.
    match unsafe { libc::kill(-1, libc::SIGKILL) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        },
    }
}

/// Returns the resource usage of all children for which this process has waited (getrusage(2)). The first value is
/// their total CPU time in milliseconds, the second the peak memory of the largest child in bytes.
pub(crate) fn used_by_children() -> io::Result<(u64, u64)> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel initializes the entire structure if it returns 0.
    let usage = match unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) } {
        0 => unsafe { usage.assume_init() },
        _ => return Err(io::Error::last_os_error()),
    };
    let of = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds * 1000 + u64::try_from(time.tv_usec).unwrap_or(0) / 1000
    };
    let memory = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    Ok((of(usage.ru_utime) + of(usage.ru_stime), memory))
}

/// Returns whether two processes share their memory (kcmp(2)), or false if the kernel does not report it.
pub(crate) fn shares_memory(one: Pid, other: Pid) -> bool {
    const KCMP_VM: libc::c_int = 1;
    let [one, other] = [one, other].map(|pid| pid.as_raw_nonzero().get());
    // SAFETY: the call takes only integers.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0 }
}

/// Returns the version of the Landlock ABI, or `None` if the kernel does not support Landlock
/// (landlock_create_ruleset(2)).
pub(crate) fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag, the kernel reads no structure and creates no descriptor.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Brings up the loopback interface of this network namespace (netdevice(7)).
pub(crate) fn raise_loopback(socket: impl AsFd) -> io::Result<()> {
    // SAFETY: the structure consists of integers and bytes, for which zero is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::try_from(*from).map_err(io::Error::other)?;
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(io::Error::other)?;
    // SAFETY: the kernel only reads the structure, which lives until the call returns.
    let raised = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS, &request) };
    if raised == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
