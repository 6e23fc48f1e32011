//! Attacks on files outside the declared paths. The host checks the entire directory.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::calls::c;
use crate::scene::Facts;

pub(crate) fn write(facts: &Facts) {
    if let Ok(mut file) = OpenOptions::new().write(true).open(facts.outside.join("file")) {
        drop(file.write_all(b"pwned"));
    }
}

pub(crate) fn write_through_link(facts: &Facts) {
    let link = facts.workspace.join("writable");
    drop(symlink(facts.outside.join("file"), &link));
    drop(fs::write(link, "pwned"));
}

pub(crate) fn write_through_proc(facts: &Facts) {
    let inside = facts.outside.strip_prefix("/").unwrap().join("file");
    for root in ["/proc/self/root", "/proc/1/root", "/proc/thread-self/root"] {
        drop(fs::write(std::path::Path::new(root).join(&inside), "pwned"));
    }
}

pub(crate) fn create(facts: &Facts) {
    drop(fs::write(facts.outside.join("new"), "pwned"));
    drop(fs::create_dir(facts.outside.join("directory")));
    drop(symlink("file", facts.outside.join("new-link")));
    // SAFETY: the path is a C string, and the other arguments are integers.
    unsafe { libc::mkfifo(c(facts.outside.join("fifo")).as_ptr(), 0o600) };
}

pub(crate) fn truncate(facts: &Facts) {
    let file = c(facts.outside.join("file"));
    // SAFETY: the path is a C string, and the other arguments are integers.
    unsafe {
        libc::truncate(file.as_ptr(), 0);
        libc::open(file.as_ptr(), libc::O_RDONLY | libc::O_TRUNC);
    }
}

pub(crate) fn unlink(facts: &Facts) {
    drop(fs::remove_file(facts.outside.join("file")));
    drop(fs::remove_dir(facts.outside.join("empty")));
}

pub(crate) fn chmod(facts: &Facts) {
    drop(fs::set_permissions(facts.outside.join("file"), PermissionsExt::from_mode(0o600)));
}

/// Changes the mode through a descriptor that was opened for reading or with `O_PATH`.
pub(crate) fn chmod_by_descriptor(facts: &Facts) {
    let file = c(facts.outside.join("file"));
    // SAFETY: the path is a C string, and the other arguments are integers.
    unsafe {
        for flags in [libc::O_RDONLY, libc::O_PATH] {
            let fd = libc::open(file.as_ptr(), flags);
            libc::fchmod(fd, 0o611);
            let again = c(format!("/proc/self/fd/{fd}"));
            libc::chmod(again.as_ptr(), 0o611);
            libc::syscall(libc::SYS_fchmodat2, fd, c"".as_ptr(), 0o611, libc::AT_EMPTY_PATH);
        }
    }
}

pub(crate) fn chown(facts: &Facts) {
    drop(std::os::unix::fs::chown(facts.outside.join("file"), Some(1), Some(1)));
}

pub(crate) fn utimes(facts: &Facts) {
    let times = [libc::timespec { tv_sec: 1, tv_nsec: 0 }; 2];
    let file = c(facts.outside.join("file"));
    // SAFETY: the path is a C string, and the array holds two times.
    unsafe { libc::utimensat(libc::AT_FDCWD, file.as_ptr(), times.as_ptr(), 0) };
}

pub(crate) fn setxattr(facts: &Facts) {
    let file = c(facts.outside.join("file"));
    let value = b"pwned";
    // SAFETY: path and name are C strings, and the value is passed with its length.
    unsafe {
        libc::setxattr(file.as_ptr(), c"user.pwned".as_ptr(), value.as_ptr().cast(), 5, 0);
    }
}

pub(crate) fn hard_link(facts: &Facts) {
    drop(fs::hard_link(facts.outside.join("file"), facts.workspace.join("linked")));
}

pub(crate) fn rename_out(facts: &Facts) {
    drop(fs::rename(facts.workspace.join("file"), facts.outside.join("new")));
}

pub(crate) fn rename_over(facts: &Facts) {
    drop(fs::rename(facts.workspace.join("file"), facts.outside.join("file")));
}

pub(crate) fn rename_in(facts: &Facts) {
    drop(fs::rename(facts.outside.join("file"), facts.workspace.join("taken")));
}

pub(crate) fn exchange(facts: &Facts) {
    let (ours, theirs) = (c(facts.workspace.join("file")), c(facts.outside.join("file")));
    let cwd = libc::AT_FDCWD;
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        libc::renameat2(cwd, ours.as_ptr(), cwd, theirs.as_ptr(), libc::RENAME_EXCHANGE);
    }
}

/// Writes to a file that the policy declares as read-only.
pub(crate) fn write_what_may_be_read(facts: &Facts) {
    write(facts);
    truncate(facts);
    rename_over(facts);
    unlink(facts);
    create(facts);
    if let Ok(file) = fs::File::open(facts.outside.join("file")) {
        use std::os::fd::AsRawFd;
        drop(fs::write(format!("/proc/self/fd/{}", file.as_raw_fd()), "pwned"));
    }
}
