//! Control groups for commands, if a cgroup was delegated to this process (cgroup v2 in the kernel documentation, or
//! `Delegate=yes` in systemd).
//!
//! A group counts as delegated if it contains only this process and is writable, like one created with
//! `systemd-run --user --scope -p Delegate=yes actum …`. This process then moves into a child group, because a group that
//! contains processes cannot enable controllers for its children. Each command gets its own child group next to it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::host::Controllers;
use crate::limits::{Limits, Resource};

/// Name of the child group for this process.
const SUPERVISOR: &str = "actum-supervisor";

/// Control group that was delegated to this process.
#[derive(Debug)]
pub(crate) struct Delegated {
    directory: PathBuf,
    controllers: Controllers,
}

/// Control group of a single command. Dropping it kills the remaining processes and removes the group.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
    controllers: Controllers,
}

/// Resource usage of a control group.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// CPU time, in milliseconds.
    pub(crate) cpu: u64,
    /// Peak memory usage in bytes, or `None` if the kernel does not report it.
    pub(crate) memory: Option<u64>,
    /// Whether the kernel killed a process because the group exceeded its memory limit.
    pub(crate) is_out_of_memory: bool,
}

impl Delegated {
    /// Returns the delegated group, if there is one. The search is done only once, because it moves this process into a child
    /// group.
    pub(crate) fn ours() -> Option<&'static Self> {
        static OURS: OnceLock<Option<Delegated>> = OnceLock::new();
        OURS.get_or_init(|| {
            let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
            let directory = mounted(&mounts)?.join(own(&groups)?.trim_start_matches('/'));
            Self::take(&directory, std::process::id())
        })
        .as_ref()
    }

    /// Takes over a group if it was delegated to this process, and moves the process `us` into a child group.
    fn take(directory: &Path, us: u32) -> Option<Self> {
        // The root group is never delegated. It is the only group without a `cgroup.type` file.
        if !directory.join("cgroup.type").exists() || !holds_alone(directory, us) {
            return None;
        }
        let leaf = directory.join(SUPERVISOR);
        std::fs::create_dir(&leaf).ok()?;
        let settled = write(&leaf, "cgroup.procs", &us.to_string());
        if settled.is_err() {
            drop(std::fs::remove_dir(&leaf)); // if this fails, an empty group is harmless
            return None;
        }
        let offers =
            |name: &str| write(directory, "cgroup.subtree_control", &format!("+{name}")).is_ok();
        let controllers = Controllers {
            memory: offers("memory"),
            processes: offers("pids"),
            kill: leaf.join("cgroup.kill").exists(),
        };
        Some(Self { directory: directory.to_owned(), controllers })
    }

    pub(crate) fn controllers(&self) -> Controllers {
        self.controllers
    }

    /// Creates a group for a command and sets its limits.
    pub(crate) fn group(&self, name: &str, limits: &Limits) -> io::Result<Group> {
        let directory = self.directory.join(name);
        std::fs::create_dir(&directory)?;
        let group = Group { directory, controllers: self.controllers };
        let set = |file: &str, max: u64| write(&group.directory, file, &max.to_string());
        if self.controllers.memory {
            set("memory.max", limits.of(Resource::Memory).max)?;
            // Swapped-out memory would not count towards the limit. The file is missing on kernels
            // without swap support.
            if group.directory.join("memory.swap.max").exists() {
                set("memory.swap.max", 0)?;
            }
        }
        // If the group exceeds the memory limit, kill all of its processes instead of only one.
        if self.controllers.memory && group.directory.join("memory.oom.group").exists() {
            set("memory.oom.group", 1)?;
        }
        if self.controllers.processes {
            set("pids.max", limits.of(Resource::Processes).max)?;
        }
        Ok(group)
    }
}

impl Group {
    /// Opens the file to which a process writes `0` to enter the group.
    pub(crate) fn entrance(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.directory.join("cgroup.procs"))
    }

    /// Kills all processes in the group. Does nothing if the kernel does not support `cgroup.kill`.
    pub(crate) fn kill(&self) -> io::Result<()> {
        if self.controllers.kill { write(&self.directory, "cgroup.kill", "1") } else { Ok(()) }
    }

    /// Reads the resource usage of the group after all of its processes have ended.
    pub(crate) fn counted(&self) -> io::Result<Counted> {
        let read = |file: &str| std::fs::read_to_string(self.directory.join(file));
        let cpu = keyed(&read("cpu.stat")?, "usage_usec").unwrap_or(0) / 1000;
        if !self.controllers.memory {
            return Ok(Counted { cpu, ..Counted::default() });
        }
        // `memory.peak` requires Linux 5.19.
        let memory = read("memory.peak").ok().and_then(|text| text.trim().parse().ok());
        let killed = keyed(&read("memory.events")?, "oom_kill").unwrap_or(0);
        Ok(Counted { cpu, memory, is_out_of_memory: killed > 0 })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.kill());
        drop(std::fs::remove_dir(&self.directory)); // if this fails, an empty group is harmless
    }
}

fn write(directory: &Path, file: &str, text: &str) -> io::Result<()> {
    std::fs::write(directory.join(file), text)
}

/// Whether the process `us` is the only one in the group.
fn holds_alone(directory: &Path, us: u32) -> bool {
    let held = std::fs::read_to_string(directory.join("cgroup.procs"));
    held.is_ok_and(|held| held.trim() == us.to_string())
}

/// Returns the mount point of the cgroup v2 hierarchy (proc_pid_mountinfo(5)).
fn mounted(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        // Escape sequences are not decoded, because no usual mount point contains any.
        (system.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(place))
    })
}

/// Returns the cgroup v2 path of this process, relative to the mount point of the hierarchy (cgroups(7)).
fn own(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

/// Returns the value of a key in a file with one key and number per line, such as `memory.events`.
fn keyed(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
        31 30 0:27 /docker /sys/fs/cgroup/part rw shared:4 - cgroup2 cgroup2 rw\n\
        32 30 0:27 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n";

    /// FE-12: finds the cgroup of this process and the mount point of the cgroup v2 hierarchy.
    #[test]
    fn finds_the_process_cgroup_and_the_hierarchy_mount_point() {
        assert_eq!(mounted(MOUNTS), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(own("9:pids:/x\n0::/user.slice/a.scope\n"), Some("/user.slice/a.scope"));
        assert_eq!(own("9:pids:/x\n"), None);
        assert_eq!(keyed("low 0\noom 3\noom_kill 2\n", "oom_kill"), Some(2));
        assert_eq!(keyed("low 0\noom 3\n", "oom"), Some(3));
    }

    /// FE-12: a cgroup that does not exist is not taken over.
    #[test]
    fn missing_cgroup_is_not_taken_over() {
        let nowhere = Path::new("/no/such/group");
        assert!(Delegated::take(nowhere, 1).is_none());
    }
}
