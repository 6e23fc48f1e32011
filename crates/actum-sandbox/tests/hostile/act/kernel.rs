//! Attacks that obtain new privileges or covert channels from the kernel. Each prints its success only after using them.

use super::calls::{c, fork, got, print_file, wait};
use crate::scene::Facts;

const NONE: *const u8 = std::ptr::null();

/// Returns whether this process has any capabilities, according to the kernel.
fn has_capabilities() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"));
    line.is_some_and(|set| set.chars().any(|digit| digit != '0'))
}

fn in_another_user_namespace(before: &std::path::Path) -> bool {
    std::fs::read_link("/proc/self/ns/user").is_ok_and(|now| now != before)
}

fn user_namespace() -> std::path::PathBuf {
    std::fs::read_link("/proc/self/ns/user").unwrap_or_default()
}

pub(crate) fn unshare_user(_: &Facts) {
    let before = user_namespace();
    // SAFETY: the call takes only integers.
    unsafe { libc::unshare(libc::CLONE_NEWUSER) };
    if in_another_user_namespace(&before) && has_capabilities() {
        got("capabilities in a user namespace");
    }
}

fn child_of(before: &std::path::Path, process: i64) {
    match process {
        0 => {
            if in_another_user_namespace(before) && has_capabilities() {
                got("capabilities in a user namespace");
            }
            super::calls::exit()
        }
        process if process > 0 => drop(wait(process as i32)),
        _ => {}
    }
}

pub(crate) fn clone_user(_: &Facts) {
    let before = user_namespace();
    let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
    // SAFETY: like fork(2), in a single-threaded process.
    child_of(&before, unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) });
    // The kernel examines all 64 bits of the flags.
    let high = (1_i64 << 32) | i64::from(flags);
    // SAFETY: as above.
    child_of(&before, unsafe { libc::syscall(libc::SYS_clone, high, 0, 0, 0, 0) });
}

pub(crate) fn clone3_user(_: &Facts) {
    let before = user_namespace();
    let mut arguments = [0_u64; 8];
    arguments[0] = libc::CLONE_NEWUSER as u64;
    arguments[4] = libc::SIGCHLD as u64;
    // SAFETY: like fork(2), with a structure and its size.
    child_of(&before, unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), 64_usize) });
}

/// Mounts an in-memory file system on a workspace directory, in a new namespace if possible so that it does not remain.
pub(crate) fn mount(facts: &Facts) {
    const OF_MEMORY: i64 = 0x0102_1994;
    let place = c(facts.workspace.join("mine"));
    drop(std::fs::create_dir(facts.workspace.join("mine")));
    // SAFETY: the paths are C strings, and the kernel fills the structure.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) < 0 {
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS);
        }
        let private = libc::MS_PRIVATE | libc::MS_REC;
        libc::mount(c"none".as_ptr(), c"/".as_ptr(), c"".as_ptr(), private, NONE.cast());
        let kind = c"tmpfs".as_ptr();
        libc::mount(kind, place.as_ptr(), kind, 0, NONE.cast());
        let mut found: libc::statfs = std::mem::zeroed();
        libc::statfs(place.as_ptr(), &raw mut found);
        if found.f_type as i64 == OF_MEMORY {
            got("a mount");
        }
    }
}

/// Remounts a read-only mount as writable. The host checks the file.
pub(crate) fn remount(facts: &Facts) {
    let place = c(facts.workspace.join(".git"));
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        let flags = libc::MS_REMOUNT | libc::MS_BIND;
        libc::mount(NONE.cast(), place.as_ptr(), NONE.cast(), flags, NONE.cast());
        libc::umount2(place.as_ptr(), libc::MNT_DETACH);
    }
    drop(std::fs::write(facts.workspace.join(".git/config"), "pwned"));
}

/// Tries the classic chroot escape: a second root directory while the working directory stays outside it.
pub(crate) fn chroot(facts: &Facts) {
    drop(std::fs::create_dir(facts.workspace.join("root")));
    drop(std::fs::write(facts.workspace.join("root/sign"), "x"));
    // SAFETY: the arguments are C strings.
    let changed = unsafe { libc::chroot(c(facts.workspace.join("root")).as_ptr()) } == 0;
    if changed && std::fs::exists("/sign").unwrap_or(false) {
        got("another root");
    }
}

pub(crate) fn pivot_root(facts: &Facts) {
    // Without a separate mount namespace this would change the root of the machine, so it runs only after one was created.
    drop(std::fs::create_dir(facts.workspace.join("root")));
    let root = c(facts.workspace.join("root"));
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe {
        if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) < 0 {
            return;
        }
        let flags = libc::MS_BIND | libc::MS_REC;
        let private = libc::MS_PRIVATE | libc::MS_REC;
        libc::mount(c"none".as_ptr(), c"/".as_ptr(), c"".as_ptr(), private, NONE.cast());
        libc::mount(root.as_ptr(), root.as_ptr(), NONE.cast(), flags, NONE.cast());
        libc::chdir(root.as_ptr());
        if libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) == 0 {
            got("another root by pivot_root");
        }
    }
}

/// Reads a file through an io_uring queue, which bypasses seccomp filters, or at least creates the queue.
pub(crate) fn io_uring(_: &Facts) {
    let parameters = [0_u32; 30];
    // SAFETY: the structure has the 120 bytes that the kernel expects.
    if unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_ptr()) } >= 0 {
        got("io_uring");
    }
}

pub(crate) fn userfaultfd(_: &Facts) {
    const USER_MODE_ONLY: i32 = 1;
    // SAFETY: the call takes only an integer.
    if unsafe { libc::syscall(libc::SYS_userfaultfd, USER_MODE_ONLY) } >= 0 {
        got("userfaultfd");
    }
}

pub(crate) fn keys(_: &Facts) {
    const OF_PROCESS: i32 = -2;
    let (kind, name) = (c"user".as_ptr(), c"actum-hostile".as_ptr());
    // SAFETY: the names are C strings, and the value is passed with its length. The keyring ends with this process.
    let key =
        unsafe { libc::syscall(libc::SYS_add_key, kind, name, b"x".as_ptr(), 1_usize, OF_PROCESS) };
    if key > 0 {
        got("a key of the kernel");
    }
}

pub(crate) fn bpf(_: &Facts) {
    // Creates a BPF map with one entry of four bytes.
    let attributes: [u32; 18] = std::array::from_fn(|at| match at {
        0 => 2,
        1..=2 => 4,
        3 => 1,
        _ => 0,
    });
    // SAFETY: the structure is passed with its size.
    if unsafe { libc::syscall(libc::SYS_bpf, 0, attributes.as_ptr(), 72_usize) } >= 0 {
        got("a bpf map");
    }
}

pub(crate) fn perf(_: &Facts) {
    let mut attributes = [0_u64; 16];
    // Opens a software clock event for this process.
    attributes[0] = 1 | (128 << 32);
    attributes[5] = (1 << 5) | (1 << 6);
    // SAFETY: the structure contains its own size.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) };
    if fd >= 0 {
        got("perf events");
    }
}

pub(crate) fn memory_files(_: &Facts) {
    // SAFETY: the name is a C string, and the other arguments are integers.
    unsafe {
        if libc::syscall(libc::SYS_memfd_create, c"x".as_ptr(), 0) >= 0 {
            got("a file in memory that no limit counts");
        }
    }
}

/// Creates shared memory that would outlive the process, and removes it again.
pub(crate) fn lasting_memory(_: &Facts) {
    // SAFETY: the call takes only integers.
    unsafe {
        let made = libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600);
        if made >= 0 {
            libc::shmctl(made, libc::IPC_RMID, std::ptr::null_mut());
            got("shared memory that stays");
        }
    }
}

/// Checks whether the process could still gain privileges by executing a program.
pub(crate) fn new_privileges(_: &Facts) {
    // SAFETY: the call takes only integers.
    let held = unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } == 1;
    if !held || has_capabilities() {
        got("a way to new privileges");
    }
}

/// Repeats two attacks in a child process, which may have rights that its parent lacks.
pub(crate) fn in_a_child(facts: &Facts) {
    match fork() {
        0 => {
            print_file(facts.outside.join("secret"));
            unshare_user(facts);
            super::calls::exit()
        }
        child => drop(wait(child)),
    }
}
