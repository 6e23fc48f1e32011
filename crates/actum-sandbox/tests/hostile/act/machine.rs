//! Attacks on devices and terminals of the machine.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::calls::{c, got};
use crate::scene::Facts;

/// Reads from a device that only root may read, and changes nothing.
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
    // SAFETY: a path and numbers.
    unsafe { libc::mknod(c(&path).as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 11)) };
    read_log(&path);
}

/// A program of the system, taken to where it may be written.
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

/// Text written there is shown to the user before it, and can be a command to the terminal.
pub(crate) fn write_to_terminal(_: &Facts) {
    // SAFETY: bytes with their length.
    unsafe { libc::write(0, b"pwned".as_ptr().cast(), 5) };
}

/// Puts characters into the terminal as if they had been typed. The host looks what its terminal
/// gives to read.
pub(crate) fn type_into_terminal(_: &Facts) {
    for byte in b"pwned\n" {
        // SAFETY: one byte.
        unsafe {
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            libc::ioctl(0, libc::TIOCSTI, std::ptr::from_ref(byte));
        }
    }
}
