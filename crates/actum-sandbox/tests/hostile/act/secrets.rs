//! Attacks that read undeclared data. The host checks whether the secret appears in the output.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use super::calls::{c, got, print_file, print_text};
use crate::scene::Facts;

pub(crate) fn by_path(facts: &Facts) {
    print_file(facts.outside.join("secret"));
}

pub(crate) fn by_given_link(facts: &Facts) {
    print_file(facts.workspace.join("given"));
    print_file(facts.workspace.join("given-directory/secret"));
}

pub(crate) fn by_made_link(facts: &Facts) {
    let link = facts.workspace.join("made");
    drop(symlink(facts.outside.join("secret"), &link));
    print_file(link);
}

pub(crate) fn by_hard_link(facts: &Facts) {
    let link = facts.workspace.join("linked");
    drop(fs::hard_link(facts.outside.join("secret"), &link));
    print_file(link);
}

pub(crate) fn by_dots(facts: &Facts) {
    print_file(facts.workspace.join("../outside/secret"));
    print_file("/proc/self/cwd/../outside/secret");
}

fn under_root(facts: &Facts, root: impl AsRef<Path>) {
    print_file(root.as_ref().join(facts.outside.strip_prefix("/").unwrap()).join("secret"));
}

pub(crate) fn by_own_root(facts: &Facts) {
    under_root(facts, "/proc/self/root");
    under_root(facts, "/proc/thread-self/root");
}

pub(crate) fn by_other_roots(facts: &Facts) {
    under_root(facts, "/proc/1/root");
    under_root(facts, format!("/proc/{}/root", parent()));
    under_root(facts, format!("/proc/{}/root", facts.runner));
}

pub(crate) fn by_other_directories(facts: &Facts) {
    for process in [1, parent(), facts.runner] {
        print_file(format!("/proc/{process}/cwd/secret"));
        for fd in 3..20 {
            print_file(format!("/proc/{process}/fd/{fd}"));
            print_file(format!("/proc/{process}/fd/{fd}/secret"));
        }
    }
}

pub(crate) fn by_handle(facts: &Facts) {
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        data: [u8; 128],
    }
    let mut handle = Handle { bytes: 128, kind: 0, data: [0; 128] };
    let (path, root) = (c(facts.outside.join("secret")), c(&facts.workspace));
    // SAFETY: the path is a C string, and the structure is passed with its size.
    let fd = unsafe {
        let mut mount = 0_i32;
        let at = libc::AT_FDCWD;
        let call = libc::SYS_name_to_handle_at;
        libc::syscall(call, at, path.as_ptr(), &raw mut handle, &raw mut mount, 0);
        let root = libc::open(root.as_ptr(), libc::O_RDONLY);
        libc::syscall(libc::SYS_open_by_handle_at, root, &raw mut handle, libc::O_RDONLY)
    };
    print_file(format!("/proc/self/fd/{fd}"));
}

/// Lists a directory, in which one name is the secret.
pub(crate) fn list(facts: &Facts) {
    for entry in fs::read_dir(&facts.outside).into_iter().flatten().flatten() {
        print_text(&format!("{}\n", entry.file_name().display()));
    }
}

/// Reads the size and modification time of a file, which cannot be guessed.
pub(crate) fn look_at(facts: &Facts) {
    if let Ok(metadata) = fs::metadata(facts.outside.join("secret")) {
        got(format_args!("a file of {} bytes of {}", metadata.size(), metadata.mtime()));
    }
}

pub(crate) fn link(facts: &Facts) {
    if let Ok(target) = fs::read_link(facts.outside.join("link")) {
        print_text(&target.display().to_string());
    }
}

pub(crate) fn attribute(facts: &Facts) {
    let (path, mut text) = (c(facts.outside.join("file")), [0_u8; 64]);
    // SAFETY: the paths are C strings, and the buffer is passed with its length.
    unsafe {
        let at = text.as_mut_ptr().cast();
        libc::getxattr(path.as_ptr(), c"user.secret".as_ptr(), at, text.len());
    }
    print_text(&String::from_utf8_lossy(&text));
}

pub(crate) fn watch(facts: &Facts) {
    let path = c(facts.outside.join("secret"));
    // SAFETY: the path is a C string, and the other arguments are integers.
    if unsafe { libc::inotify_add_watch(libc::inotify_init(), path.as_ptr(), libc::IN_OPEN) } >= 0 {
        got("a watch on a file outside");
    }
}

fn parent() -> i32 {
    // SAFETY: the call takes no arguments.
    unsafe { libc::getppid() }
}

pub(crate) fn leaked_descriptors(_: &Facts) {
    let mut text = [0_u8; 256];
    for fd in 3..1024 {
        // SAFETY: the name is a C string, and the buffer is passed with its length.
        unsafe {
            let read = libc::pread(fd, text.as_mut_ptr().cast(), text.len(), 0);
            if read > 0 {
                print_text(&String::from_utf8_lossy(&text[..read as usize]));
            }
            let file = libc::openat(fd, c"secret".as_ptr(), libc::O_RDONLY);
            let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
            if file >= 0 && read > 0 {
                print_text(&String::from_utf8_lossy(&text[..read as usize]));
            }
        }
    }
}

pub(crate) fn own_environment(_: &Facts) {
    print_file("/proc/self/environ");
    for (name, value) in std::env::vars_os() {
        print_text(&format!("{}={}\n", name.display(), value.display()));
    }
}

pub(crate) fn environment_of_others(facts: &Facts) {
    for process in [1, 2, parent(), facts.runner] {
        print_file(format!("/proc/{process}/environ"));
    }
}

pub(crate) fn command_lines(facts: &Facts) {
    print_file(format!("/proc/{}/cmdline", facts.victim));
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        print_file(entry.path().join("cmdline"));
    }
}

pub(crate) fn memory_of_others(facts: &Facts) {
    use std::os::unix::fs::FileExt;
    let mut text = [0_u8; 64];
    if let Ok(file) = fs::File::open(format!("/proc/{}/mem", facts.runner)) {
        drop(file.read_at(&mut text[..facts.length], facts.address));
    }
    print_text(&String::from_utf8_lossy(&text));
}

pub(crate) fn read_memory(facts: &Facts) {
    let mut text = [0_u8; 64];
    let length = facts.length;
    let ours = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: length };
    let theirs = libc::iovec { iov_base: facts.address as *mut _, iov_len: length };
    // SAFETY: the kernel writes no more than the given length.
    unsafe { libc::process_vm_readv(facts.runner, &raw const ours, 1, &raw const theirs, 1, 0) };
    print_text(&String::from_utf8_lossy(&text));
}

pub(crate) fn take_descriptor(facts: &Facts) {
    // SAFETY: the call takes only integers.
    let fd = unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, facts.runner, 0);
        libc::syscall(libc::SYS_pidfd_getfd, process, facts.fd, 0)
    };
    print_file(format!("/proc/self/fd/{fd}"));
}

pub(crate) fn shared_memory(facts: &Facts) {
    // SAFETY: the call returns a valid address or -1.
    unsafe {
        let at = libc::shmat(facts.shared, std::ptr::null(), libc::SHM_RDONLY);
        if at as isize != -1 {
            print_text(&String::from_utf8_lossy(std::slice::from_raw_parts(
                at.cast(),
                facts.length,
            )));
        }
    }
}

/// Reads the message by the queue ID, which needs no call that creates or finds the queue.
pub(crate) fn message(facts: &Facts) {
    let mut message = [0_u64; 32];
    // SAFETY: the buffer is passed with its length, and follows an eight-byte integer.
    unsafe {
        let at = message.as_mut_ptr();
        libc::msgrcv(facts.queue, at.cast(), 248, 0, libc::IPC_NOWAIT);
        let text = std::slice::from_raw_parts(at.add(1).cast(), facts.length);
        print_text(&String::from_utf8_lossy(text));
    }
}
