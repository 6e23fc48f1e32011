//! Attacks on protected paths below a writable directory (`deny_write`). The host checks those paths.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::calls::c;
use crate::scene::Facts;

pub(crate) fn hook(facts: &Facts) {
    drop(fs::write(facts.workspace.join(".git/hooks/x"), "#!/bin/sh\n"));
}

pub(crate) fn configuration(facts: &Facts) {
    drop(fs::write(facts.workspace.join(".git/config"), "pwned"));
    drop(fs::remove_file(facts.workspace.join(".git/config")));
}

pub(crate) fn environment_file(facts: &Facts) {
    let file = facts.workspace.join(".env");
    drop(fs::write(&file, "pwned"));
    drop(fs::set_permissions(&file, PermissionsExt::from_mode(0o600)));
    drop(fs::rename(facts.workspace.join("file"), &file));
    drop(fs::remove_file(&file));
}

pub(crate) fn swap(facts: &Facts) {
    let git = facts.workspace.join(".git");
    drop(fs::rename(&git, facts.workspace.join("git-was")));
    drop(fs::create_dir(&git));
    drop(fs::write(git.join("config"), "pwned"));
}

pub(crate) fn exchange(facts: &Facts) {
    let mine = facts.workspace.join("mine");
    drop(fs::create_dir(&mine));
    drop(fs::write(mine.join("config"), "pwned"));
    let (mine, git) = (c(mine), c(facts.workspace.join(".git")));
    let cwd = libc::AT_FDCWD;
    // SAFETY: the paths are C strings, and the other arguments are integers.
    unsafe { libc::renameat2(cwd, mine.as_ptr(), cwd, git.as_ptr(), libc::RENAME_EXCHANGE) };
}

pub(crate) fn swap_parent(facts: &Facts) {
    let deep = facts.workspace.join("deep");
    for (from, to) in [("deep/er", "deep/was"), ("deep", "was")] {
        drop(fs::rename(facts.workspace.join(from), facts.workspace.join(to)));
    }
    drop(fs::create_dir_all(deep.join("er/.git")));
    drop(fs::write(deep.join("er/.git/config"), "pwned"));
}

pub(crate) fn other_name(facts: &Facts) {
    let (file, other) = (facts.workspace.join(".env"), facts.workspace.join("other"));
    drop(fs::hard_link(&file, &other));
    drop(fs::write(&other, "pwned"));
}

pub(crate) fn through_link(facts: &Facts) {
    let other = facts.workspace.join("through");
    drop(symlink(".git/config", &other));
    drop(fs::write(&other, "pwned"));
}

pub(crate) fn reopen(facts: &Facts) {
    if let Ok(file) = fs::File::open(facts.workspace.join(".env")) {
        drop(fs::write(format!("/proc/self/fd/{}", file.as_raw_fd()), "pwned"));
        drop(fs::write(format!("/proc/self/root{}/.env", facts.workspace.display()), "pwned"));
    }
}

/// Changes the times and the mode but not the content.
pub(crate) fn attributes(facts: &Facts) {
    let times = [libc::timespec { tv_sec: 1, tv_nsec: 0 }; 2];
    let file = c(facts.workspace.join(".env"));
    // SAFETY: the path is a C string, and the array holds two times.
    unsafe {
        libc::utimensat(libc::AT_FDCWD, file.as_ptr(), times.as_ptr(), 0);
        libc::chmod(c(facts.workspace.join(".git")).as_ptr(), 0o700);
    }
}

/// Creates a protected path that did not exist. Nothing can be mounted over a missing path, so it is detected afterwards.
pub(crate) fn absent(facts: &Facts) {
    drop(fs::write(facts.workspace.join(".npmrc"), "pwned"));
}

pub(crate) fn view(facts: &Facts) {
    let view = facts.outside.join("view");
    drop(fs::write(view.join("file"), "pwned"));
    drop(fs::write(view.join("new"), "pwned"));
    drop(fs::set_permissions(view.join("file"), PermissionsExt::from_mode(0o600)));
    drop(fs::rename(view.join("other"), view.join("moved")));
    drop(fs::remove_file(view.join("gone")));
}
