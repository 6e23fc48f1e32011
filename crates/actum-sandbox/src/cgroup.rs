//! Control group of our own, if one was delegated to us (control group v2, kernel documentation;
//! systemd: `Delegate=yes`).
//!
//! A group is taken for ours if it holds this process alone and may be written to, as one made by
//! `systemd-run --user --scope -p Delegate=yes actum …`. This process moves into a leaf of it,
//! since a group that holds processes cannot share out its controllers, and each command gets a
//! leaf beside.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::host::Controllers;
use crate::limits::{Limits, Resource};

/// The leaf for this process.
const SUPERVISOR: &str = "actum-supervisor";

/// The group that was delegated to us.
#[derive(Debug)]
pub(crate) struct Delegated {
    directory: PathBuf,
    controllers: Controllers,
}

/// The group of one command, which is removed with it.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
    controllers: Controllers,
}

/// Counters of a group.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Processor time, in milliseconds.
    pub(crate) cpu: u64,
    /// The most memory at one time, in bytes, if that is counted.
    pub(crate) memory: Option<u64>,
    /// True if the kernel ended a process because of the memory limit.
    pub(crate) is_out_of_memory: bool,
}

impl Delegated {
    /// The group, if there is one. It is looked for once: the search moves this process.
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

    /// Takes a group for ours, if it is.
    fn take(directory: &Path, us: u32) -> Option<Self> {
        // The root of all groups is nobody's own, and alone in having no type.
        if !directory.join("cgroup.type").exists() || !holds_alone(directory, us) {
            return None;
        }
        let leaf = directory.join(SUPERVISOR);
        std::fs::create_dir(&leaf).ok()?;
        let settled = write(&leaf, "cgroup.procs", &us.to_string());
        if settled.is_err() {
            drop(std::fs::remove_dir(&leaf)); // an empty group is in nobody's way
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

    /// A group for one command.
    pub(crate) fn group(&self, name: &str, limits: &Limits) -> io::Result<Group> {
        let directory = self.directory.join(name);
        std::fs::create_dir(&directory)?;
        let group = Group { directory, controllers: self.controllers };
        let set = |file: &str, max: u64| write(&group.directory, file, &max.to_string());
        if self.controllers.memory {
            set("memory.max", limits.of(Resource::Memory).max)?;
            // Memory that is swapped out would not be counted. A kernel without swap has no such file.
            if group.directory.join("memory.swap.max").exists() {
                set("memory.swap.max", 0)?;
            }
        }
        // A group that exceeds it is ended as a whole.
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
    /// File in which a process writes `0` to enter the group.
    pub(crate) fn entrance(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.directory.join("cgroup.procs"))
    }

    /// Ends all processes in it at once.
    pub(crate) fn kill(&self) -> io::Result<()> {
        if self.controllers.kill { write(&self.directory, "cgroup.kill", "1") } else { Ok(()) }
    }

    /// Counters of the group. All its processes have ended.
    pub(crate) fn counted(&self) -> io::Result<Counted> {
        let read = |file: &str| std::fs::read_to_string(self.directory.join(file));
        let cpu = keyed(&read("cpu.stat")?, "usage_usec").unwrap_or(0) / 1000;
        if !self.controllers.memory {
            return Ok(Counted { cpu, ..Counted::default() });
        }
        // Linux 5.19 and later.
        let memory = read("memory.peak").ok().and_then(|text| text.trim().parse().ok());
        let killed = keyed(&read("memory.events")?, "oom_kill").unwrap_or(0);
        Ok(Counted { cpu, memory, is_out_of_memory: killed > 0 })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.kill());
        drop(std::fs::remove_dir(&self.directory)); // an empty group is in nobody's way
    }
}

fn write(directory: &Path, file: &str, text: &str) -> io::Result<()> {
    std::fs::write(directory.join(file), text)
}

/// Returns true if a group holds this process and no other.
fn holds_alone(directory: &Path, us: u32) -> bool {
    let held = std::fs::read_to_string(directory.join("cgroup.procs"));
    held.is_ok_and(|held| held.trim() == us.to_string())
}

/// Mount point of the hierarchy (proc_pid_mountinfo(5)).
fn mounted(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        // Escaped characters are in no usual place for it.
        (system.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(place))
    })
}

/// The group of this process, as a path below the mount point of the hierarchy (cgroups(7)).
fn own(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

/// The number behind a name in a file of names and numbers.
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

    /// FE-12
    #[test]
    fn the_group_of_this_process_is_found_where_the_hierarchy_is_mounted() {
        assert_eq!(mounted(MOUNTS), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(own("9:pids:/x\n0::/user.slice/a.scope\n"), Some("/user.slice/a.scope"));
        assert_eq!(own("9:pids:/x\n"), None);
        assert_eq!(keyed("low 0\noom 3\noom_kill 2\n", "oom_kill"), Some(2));
        assert_eq!(keyed("low 0\noom 3\n", "oom"), Some(3));
    }

    /// FE-12
    #[test]
    fn a_group_that_holds_others_too_is_not_taken() {
        let nowhere = Path::new("/no/such/group");
        assert!(Delegated::take(nowhere, 1).is_none());
    }
}
