//! Attacks that create or run a set-id file. The host checks the workspace for such files, which would run with its own identity.

use std::process::Command;

use super::calls::{c, print_text};
use crate::scene::Facts;

const MODE: u32 = 0o4755;

pub(crate) fn run(facts: &Facts) {
    // `id -u` prints the effective user.
    if let Some(program) = &facts.set_id
        && let Ok(output) = Command::new(program).arg("-u").output()
    {
        print_text(&format!("user {}", String::from_utf8_lossy(&output.stdout)));
    }
}

pub(crate) fn chmod(facts: &Facts) {
    let file = c(facts.workspace.join("file"));
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        libc::chmod(file.as_ptr(), MODE);
        libc::fchmodat(libc::AT_FDCWD, file.as_ptr(), MODE, 0);
        let fd = libc::open(file.as_ptr(), libc::O_RDWR);
        libc::fchmod(fd, MODE);
    }
}

pub(crate) fn fchmodat2(facts: &Facts) {
    let file = c(facts.workspace.join("file"));
    // SAFETY: the path is a C string, and the other arguments are integers.
    unsafe { libc::syscall(libc::SYS_fchmodat2, libc::AT_FDCWD, file.as_ptr(), MODE, 0) };
}

pub(crate) fn set_gid(facts: &Facts) {
    let (file, directory) = (c(facts.workspace.join("file")), c(&facts.workspace));
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        libc::chmod(file.as_ptr(), 0o2755);
        libc::chmod(directory.as_ptr(), 0o2755);
        libc::open(c(facts.workspace.join("new")).as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o2755);
    }
}

pub(crate) fn open(facts: &Facts) {
    let new = c(facts.workspace.join("new"));
    let again = c(facts.workspace.join("new-too"));
    let flags = libc::O_CREAT | libc::O_RDWR;
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        libc::open(new.as_ptr(), flags, MODE);
        libc::syscall(libc::SYS_open, again.as_ptr(), flags, MODE);
    }
}

pub(crate) fn openat2(facts: &Facts) {
    let new = c(facts.workspace.join("new"));
    let how: [u64; 3] = [(libc::O_CREAT | libc::O_RDWR) as u64, MODE.into(), 0];
    // SAFETY: the path is a C string, and the structure of three integers is passed with its size.
    unsafe {
        libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, new.as_ptr(), how.as_ptr(), 24_usize);
    }
}

pub(crate) fn creat(facts: &Facts) {
    let new = c(facts.workspace.join("new"));
    // SAFETY: the path is a C string, and the other argument is an integer.
    unsafe { libc::syscall(libc::SYS_creat, new.as_ptr(), MODE) };
}

pub(crate) fn mknod(facts: &Facts) {
    let new = c(facts.workspace.join("new"));
    // SAFETY: the path is a C string, and the other arguments are integers.
    unsafe { libc::syscall(libc::SYS_mknod, new.as_ptr(), libc::S_IFREG | MODE, 0) };
}

/// Creates an unnamed file (`O_TMPFILE`) and links it to a name afterwards.
pub(crate) fn nameless(facts: &Facts) {
    let (directory, new) = (c(&facts.workspace), c(facts.workspace.join("new")));
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        let fd = libc::open(directory.as_ptr(), libc::O_TMPFILE | libc::O_RDWR, MODE);
        let itself = c(format!("/proc/self/fd/{fd}"));
        let at = libc::AT_FDCWD;
        libc::linkat(at, itself.as_ptr(), at, new.as_ptr(), libc::AT_SYMLINK_FOLLOW);
        libc::linkat(fd, c"".as_ptr(), at, new.as_ptr(), libc::AT_EMPTY_PATH);
    }
}
