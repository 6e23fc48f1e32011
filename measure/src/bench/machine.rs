//! Description of the machine on which the numbers were measured, without naming its owner.

use std::fmt;
use std::fs::{read_link, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{major, minor, statfs};

use super::Failure;

/// Machine on which a benchmark ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    processor: String,
    processors: usize,
    memory: String,
    kernel: String,
    /// Programs with their versions.
    programs: Vec<String>,
    /// Load average: mean number of runnable processes in the minute before the benchmark.
    load: String,
}

const UNKNOWN: &str = "unknown";

/// Magic numbers of statfs(2), with the names of the file systems.
const FILE_SYSTEMS: &[(i64, &str)] = &[
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x0102_1994, TMPFS),
    (0x794c_7630, "overlayfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0x6969, "nfs"),
    (0x6573_5546, "fuse"),
];
const TMPFS: &str = "tmpfs";

impl fmt::Display for Machine {
    /// Writes the sentences for the head of a page.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, processors, memory, kernel, programs, load } = self;
        let programs = programs.join(", ");
        write!(
            f,
            "Measured on {processors} x {processor}, {memory} of memory, Linux {kernel}, {programs}. Load at the start: {load}."
        )
    }
}

impl Machine {
    /// Returns a description of this machine, with the versions of these programs.
    pub(super) fn this(programs: &[&str]) -> Self {
        let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = read_to_string("/proc/meminfo").unwrap_or_default();
        let kibibytes = field(&memory, "MemTotal").and_then(|total| {
            total.split_whitespace().next().and_then(|number| number.parse::<u64>().ok())
        });
        let line = |path: &str| {
            let text = read_to_string(path).unwrap_or_default();
            text.lines().next().unwrap_or(UNKNOWN).to_owned()
        };
        Self {
            processor: field(&processors, "model name").unwrap_or(UNKNOWN).to_owned(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kibibytes.map_or(UNKNOWN.to_owned(), |kib| format!("{} GiB", kib >> 20)),
            kernel: line("/proc/sys/kernel/osrelease"),
            programs: programs.iter().filter_map(|program| version(program)).collect(),
            load: line("/proc/loadavg").split(' ').next().unwrap_or(UNKNOWN).to_owned(),
        }
    }
}

/// Returns the value after `name` and a colon.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim())
    })
}

/// Returns the first line of a program's version output.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}

/// Returns the file system that holds `directory`. For ext4 this includes whether it has a journal, because guarantees
/// and costs differ without one.
pub(super) fn file_system(directory: &Path) -> Result<String, Failure> {
    let magic = statfs(directory)?.f_type;
    let Some((_, name)) = FILE_SYSTEMS.iter().find(|(known, _)| *known == magic) else {
        return Ok(format!("a file system of type {magic:#x}"));
    };
    if *name != "ext4" {
        return Ok((*name).to_owned());
    }
    let device = directory.metadata()?.dev();
    Ok(match has_journal(device) {
        Some(true) => "ext4 with a journal".to_owned(),
        Some(false) => "ext4 without a journal".to_owned(),
        None => "ext4".to_owned(),
    })
}

/// Returns true if the mounted ext4 has a journal, or `None` if the kernel does not report it.
fn has_journal(device: u64) -> Option<bool> {
    let link = read_link(format!("/sys/dev/block/{}:{}", major(device), minor(device))).ok()?;
    let name = link.file_name()?.to_str()?;
    let task = read_to_string(format!("/sys/fs/ext4/{name}/journal_task")).ok()?;
    Some(task.trim() != "<none>")
}

/// Returns true if the file system is in memory, so that syncs cost nothing.
pub(super) fn is_in_memory(directory: &Path) -> bool {
    file_system(directory).is_ok_and(|name| name == TMPFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "model\t: 167\nmodel name\t: A: Processor\n";
        assert_eq!(field(text, "model name"), Some("A: Processor"));
        assert_eq!(field(text, "name"), None);
    }

    #[test]
    fn unknown_file_system_is_named_by_its_type() {
        assert_eq!(file_system(Path::new("/proc")).unwrap(), "a file system of type 0x9fa0");
    }
}
