//! Simulates hosts without certain system calls, using a seccomp filter on a thread and all processes that it starts.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// Number of the openat2(2) system call, which resolves a path beneath a directory.
pub const OPENAT2: i64 = libc::SYS_openat2;
/// Number of the unshare(2) system call, which creates namespaces.
pub const UNSHARE: i64 = libc::SYS_unshare;
/// Number of the socket(2) system call.
pub const SOCKET: i64 = libc::SYS_socket;

/// Runs `body` in a new thread in which each system call in `calls` fails with `error`.
pub fn without<T: Send>(calls: &[i64], error: crate::Errno, body: impl FnOnce() -> T + Send) -> T {
    let rules: BTreeMap<i64, _> = calls.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(error.raw_os_error().unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
    let program = BpfProgram::try_from(filter).unwrap();
    let filtered = move || {
        seccompiler::apply_filter(&program).unwrap();
        body()
    };
    std::thread::scope(|scope| scope.spawn(filtered).join().unwrap())
}
