//! Attacks on devices and terminals of the machine.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use super::calls::{c, got};
use crate::scene::Facts;

/// Reads the first bytes of the disk that holds the workspace, and changes nothing.
fn read_disk(path: &std::path::Path) {
    let mut bytes = [0_u8; 512];
    if fs::File::open(path).is_ok_and(|mut disk| disk.read_exact(&mut bytes).is_ok()) {
        got("bytes of a disk");
    }
}

pub(crate) fn disk(_: &Facts) {
    for entry in fs::read_dir("/sys/class/block").into_iter().flatten().flatten() {
        read_disk(&std::path::Path::new("/dev").join(entry.file_name()));
    }
    read_disk("/dev/vda".as_ref());
}

pub(crate) fn make_device(facts: &Facts) {
    let path = facts.workspace.join("disk");
    let device = fs::metadata(&facts.workspace).map(|metadata| metadata.dev()).unwrap_or(0);
    // SAFETY: a path and numbers.
    unsafe { libc::mknod(c(&path).as_ptr(), libc::S_IFBLK | 0o600, device) };
    read_disk(&path);
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
