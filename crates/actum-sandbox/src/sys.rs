//! System calls for which there is no safe wrapper. Nothing else in this crate is `unsafe`.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Side of [`fork`].
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// fork(2). The helper has one thread, so the child may do everything that the parent may.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: no other thread can hold a lock that the child would need: the helper starts none,
    // and no other program calls this.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("fork gave no process")),
    }
}

/// Starts a process that runs `run` in the memory of this one, which stands still until the other
/// has become another program or has ended. This is clone(2) with CLONE_VM and CLONE_VFORK, as
/// posix_spawn(3) has it. Nothing is copied, and what `run` leaves in memory is seen here.
/// Descriptors, directory, limits, capabilities and filters are the other's own.
pub(crate) fn spawn_sharing_memory<F: FnMut()>(run: &mut F) -> io::Result<Pid> {
    /// Ends the process with 1 if `run` returns, which it does only after a failure.
    extern "C" fn call<F: FnMut()>(run: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is the `run` below, to which nothing else has access while this runs.
        unsafe { (*run.cast::<F>())() };
        1
    }
    const STACK: usize = 256 << 10;
    let mut stack: Vec<u128> = Vec::with_capacity(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its end, which is aligned, and lives until the other
    // process has left it; a panic ends the process at `extern "C"`. The helper has one thread, so
    // no other thread holds a lock.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.capacity());
        libc::clone(call::<F>, top.cast(), flags, std::ptr::from_mut(run).cast())
    };
    if pid == -1 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("clone gave no process"))
}

/// Takes over a descriptor that the parent process left open for writing, under another number.
///
/// # Errors
/// EBADF if the number is that of no descriptor, of one that this program opened itself, or of one
/// that cannot be written to. Its own descriptors are closed on execution, and inherited ones
/// cannot be.
pub fn inherited_for_writing(number: RawFd) -> io::Result<OwnedFd> {
    let asked = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: takes and gives numbers; a descriptor is looked at or given another number, and none is closed.
        match unsafe { libc::fcntl(number, command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            told => Ok(told),
        }
    };
    let is_inherited = asked(libc::F_GETFD, 0)? & libc::FD_CLOEXEC == 0;
    let flags = asked(libc::F_GETFL, 0)?;
    let access = flags & libc::O_ACCMODE;
    if !is_inherited || access == libc::O_RDONLY || flags & libc::O_PATH != 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    let taken = asked(libc::F_DUPFD_CLOEXEC, FIRST_NOT_STANDARD)?;
    // SAFETY: the kernel made this descriptor just now, and nothing else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(taken) })
}

/// Starts to write a range of a file to its disk, and does not wait (sync_file_range(2)). This
/// makes nothing durable: a later fsync has less to wait for.
pub(crate) fn start_writing(file: &OwnedFd, from: u64, length: u64) {
    let [from, length] = [from, length].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    // SAFETY: takes numbers, and accesses no memory. An error is ignored, because nothing depends on this call.
    unsafe { libc::sync_file_range(file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE) };
}

/// The lowest descriptor after standard input, output and error.
const FIRST_NOT_STANDARD: libc::c_int = 3;

/// Ends the process at once, with nothing of what exit(3) does: its memory may be that of another.
pub(crate) fn exit_at_once(code: libc::c_int) -> ! {
    // SAFETY: takes a number.
    unsafe { libc::_exit(code) }
}

/// unshare(2), in a process of one thread.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: what is unsafe about it is CLONE_FILES, which is removed here.
    unsafe { rustix::thread::unshare_unsafe(flags - UnshareFlags::FILES) }.map_err(Into::into)
}

/// Closes every descriptor from `first` on, whichever program opened it (close_range(2)).
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    let first = libc::c_uint::try_from(first).map_err(io::Error::other)?;
    // SAFETY: called at the start of the helper, before anything of ours owns a descriptor there.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets flags of a mount and of all that is mounted below it (mount_setattr(2)).
pub(crate) fn set_mount_flags(tree: impl AsFd, flags: u64) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: flags, attr_clr: 0, propagation: 0, userns_fd: 0 };
    const EMPTY: &CStr = c"";
    // SAFETY: the path is a C string, and the structure is passed with its own size.
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

/// Unblocks every signal and restores its default action. What is ignored and what is blocked is
/// inherited, also by execve(2).
pub(crate) fn default_signals() {
    // SAFETY: the set is made by the call before it is read.
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: no handler of ours is replaced: the helper has none. SIGKILL and SIGSTOP are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Ends every process of this PID namespace but its first, which is the caller (kill(2)).
pub(crate) fn kill_all_others() -> io::Result<()> {
    if !rustix::process::getpid().is_init() {
        return Err(io::Error::other("only the first process of a namespace may end all others"));
    }
    // SAFETY: takes two numbers.
    match unsafe { libc::kill(-1, libc::SIGKILL) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        },
    }
}

/// Usage of the children for which this process has waited (getrusage(2)): processor time in
/// milliseconds, and the most memory that one of them had, in bytes.
pub(crate) fn used_by_children() -> io::Result<(u64, u64)> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel writes the whole structure where it returns 0.
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

/// Returns true if two processes have one memory (kcmp(2)); false if that is unknown.
pub(crate) fn shares_memory(one: Pid, other: Pid) -> bool {
    const KCMP_VM: libc::c_int = 1;
    let [one, other] = [one, other].map(|pid| pid.as_raw_nonzero().get());
    // SAFETY: takes numbers.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0 }
}

/// The version of Landlock's interface, if the kernel has one (landlock_create_ruleset(2)).
pub(crate) fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the kernel takes no structure and makes no descriptor.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Raises the loopback of this network namespace (netdevice(7)).
pub(crate) fn raise_loopback(socket: impl AsFd) -> io::Result<()> {
    // SAFETY: a structure of numbers and bytes, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::try_from(*from).map_err(io::Error::other)?;
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(io::Error::other)?;
    // SAFETY: the kernel reads the structure, which lives until it returns.
    let raised = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS, &request) };
    if raised == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
