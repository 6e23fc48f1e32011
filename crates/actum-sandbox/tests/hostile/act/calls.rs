//! Thin wrappers around the system calls that the attacks use.

use std::ffi::CString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Converts a path to a C string.
pub(crate) fn c(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).unwrap()
}

/// Prints a success line with a value that only a successful attack can know.
pub(crate) fn got(what: impl std::fmt::Display) {
    print_text(&format!("{} {what}\n", crate::effect::GOT));
}

/// Writes to standard output and flushes it, so that nothing is lost if the process is killed.
pub(crate) fn print_text(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}

/// Prints the content of a file, if it can be read.
pub(crate) fn print_file(path: impl AsRef<Path>) {
    if let Ok(bytes) = std::fs::read(path) {
        print_text(&String::from_utf8_lossy(&bytes).replace('\0', "\n"));
        print_text("\n");
    }
}

pub(crate) fn fork() -> i32 {
    // SAFETY: the attacks are single-threaded.
    unsafe { libc::fork() }
}

/// Exits immediately, without running destructors or exit handlers.
pub(crate) fn exit() -> ! {
    // SAFETY: the call takes only an integer.
    unsafe { libc::_exit(0) }
}

pub(crate) fn wait(process: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the kernel writes one integer.
    unsafe { libc::waitpid(process, &raw mut status, 0) };
    status
}

pub(crate) fn kill(process: i32, signal: i32) {
    assert!(process > 1, "never all processes");
    // SAFETY: the call takes only two integers.
    unsafe { libc::kill(process, signal) };
}

pub(crate) fn sleep_ms(ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
}
