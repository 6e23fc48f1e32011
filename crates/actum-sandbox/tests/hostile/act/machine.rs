//! Attacks on devices and terminals of the machine.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::calls::{c, got};
use crate::scene::Facts;

/// Reads from a device that only root may read, without changing anything.
fn read_log(path: &Path) {
    let mut bytes = [0_u8; 4096];
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    if file.is_ok_and(|mut log| log.read(&mut bytes).is_ok_and(|length| length > 0)) {
        got("a message of the kernel");
    }
}

pub(crate) fn kernel_log(_: &Facts) {
    read_log(Path::new("/dev/kmsg"));
}

pub(crate) fn make_device(facts: &Facts) {
    let path = facts.workspace.join("log");
    // SAFETY: the path is a C string, and the other arguments are integers.
    unsafe { libc::mknod(c(&path).as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 11)) };
    read_log(&path);
}

/// Copies a system program to a writable location.
fn written(facts: &Facts) -> PathBuf {
    let program = facts.workspace.join("touch");
    drop(fs::write(&program, fs::read("/usr/bin/touch").unwrap_or_default()));
    drop(fs::set_permissions(&program, PermissionsExt::from_mode(0o755)));
    program
}

pub(crate) fn run_written(facts: &Facts) {
    drop(Command::new(written(facts)).arg(facts.workspace.join("marker")).status());
}

pub(crate) fn load_written(facts: &Facts) {
    let program = written(facts);
    for loader in ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"] {
        let marker = facts.workspace.join("marker");
        drop(Command::new(loader).arg(&program).arg(marker).status());
    }
}

/// Writes to the terminal, where the text appears as if the user's program had printed it and may contain control sequences.
pub(crate) fn write_to_terminal(_: &Facts) {
    // SAFETY: the buffer is passed with its length.
    unsafe { libc::write(0, b"pwned".as_ptr().cast(), 5) };
}

/// Injects characters into the terminal as if they had been typed. The host checks the pending input of its terminal.
pub(crate) fn type_into_terminal(_: &Facts) {
    for byte in b"pwned\n" {
        // SAFETY: the buffer holds one byte.
        unsafe {
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            libc::ioctl(0, libc::TIOCSTI, std::ptr::from_ref(byte));
        }
    }
}
