//! System calls for which there is no safe wrapper. Nothing else in this crate is `unsafe`.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Which side of [`fork`] this is.
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// fork(2). The helper has one thread, so that the child may do whatever the parent may.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: no other thread can hold a lock that the child would need: the helper starts none, and
    // nobody else calls this.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("fork gave no process")),
    }
}

/// unshare(2), in a process of one thread.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: what is unsafe about it is CLONE_FILES, which nobody here asks for.
    unsafe { rustix::thread::unshare_unsafe(flags - UnshareFlags::FILES) }.map_err(Into::into)
}

/// Closes every descriptor from `first` on, whoever opened it (close_range(2)).
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
