//! Resource limits of a sandboxed command and how strictly they are enforced.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Resource whose use by a command is limited. Unless stated otherwise, the limit applies to the total of
/// the command and all processes that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Elapsed time from the start of the command to its end, in milliseconds.
    Wall,
    /// CPU time, in milliseconds.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Bytes read from storage. Reads from the page cache are not counted.
    StorageRead,
    /// Bytes written to storage.
    StorageWrite,
    /// Size of each file that the command writes, in bytes.
    FileSize,
    /// Number of processes and threads that exist at the same time.
    Processes,
    /// Number of open files per process.
    OpenFiles,
    /// Bytes of standard output and standard error that are kept.
    Output,
}

impl Resource {
    /// All resources, in the order in which they are listed.
    pub const ALL: [Self; 9] = [
        Self::Wall,
        Self::Cpu,
        Self::Memory,
        Self::StorageRead,
        Self::StorageWrite,
        Self::FileSize,
        Self::Processes,
        Self::OpenFiles,
        Self::Output,
    ];

    /// Returns the name of the resource in policies and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::StorageRead => "storage_read",
            Self::StorageWrite => "storage_write",
            Self::FileSize => "file_size",
            Self::Processes => "processes",
            Self::OpenFiles => "open_files",
            Self::Output => "output",
        }
    }

    /// Returns a human-readable description of the resource.
    pub fn description(self) -> &'static str {
        match self {
            Self::Wall => "elapsed time from start to end",
            Self::Cpu => "CPU time",
            Self::Memory => "memory; pages shared by several processes count once",
            Self::StorageRead => "bytes read from storage, not counting reads from the page cache",
            Self::StorageWrite => "bytes written to storage",
            Self::FileSize => "size of each written file",
            Self::Processes => "processes and threads at the same time",
            Self::OpenFiles => "open files per process",
            Self::Output => "total bytes of standard output and standard error",
        }
    }

    /// Returns the unit of the limit, or an empty string if the limit is a plain number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Wall | Self::Cpu => "ms",
            Self::Memory
            | Self::StorageRead
            | Self::StorageWrite
            | Self::FileSize
            | Self::Output => "bytes",
            Self::Processes | Self::OpenFiles => "",
        }
    }

    /// Returns the smallest and the largest limit that a policy may set. Below the smallest one no program
    /// could start, and a value above the largest one must be a mistake.
    pub fn sensible(self) -> (u64, u64) {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        match self {
            Self::Wall | Self::Cpu => (1, 7 * DAY),
            Self::Memory => (8 << 20, 1 << 44),
            Self::StorageRead | Self::StorageWrite | Self::FileSize => (1, 1 << 50),
            Self::Processes => (1, 1 << 22),
            Self::OpenFiles => (16, 1 << 20),
            Self::Output => (1, 1 << 30),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Strictness with which a limit is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The usage is checked every 10 ms. It may exceed the limit between two checks, after which the
    /// command is ended.
    Polled,
    /// The limit is never exceeded. The kernel denies further use or, for time and output, the command is
    /// ended when it reaches the limit.
    Hard,
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Polled => "polled",
            Self::Hard => "hard",
        })
    }
}

/// Limit of a resource, with the minimum enforcement that a policy requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Maximum amount, in the unit of the resource.
    pub max: u64,
    /// Required enforcement. If the host cannot enforce the limit this strictly, the command is not
    /// started.
    #[serde(default = "polled")]
    pub require: Enforcement,
}

fn polled() -> Enforcement {
    Enforcement::Polled
}

/// Limits of a command, one for each resource. A resource without an entry has its default limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Limits(BTreeMap<Resource, Limit>);

impl Limits {
    /// Returns the limit of a resource.
    pub fn of(&self, resource: Resource) -> Limit {
        // A deserialized map may be incomplete.
        self.0.get(&resource).copied().unwrap_or_else(|| default_of(resource))
    }

    /// Returns the limits with that of one resource replaced.
    #[must_use]
    pub fn with(mut self, resource: Resource, max: u64, require: Enforcement) -> Self {
        self.0.insert(resource, Limit { max, require });
        self
    }

    /// Returns the limits with the required enforcement of all of them replaced.
    #[must_use]
    pub fn accepting(self, require: Enforcement) -> Self {
        Self(self.iter().map(|(resource, limit)| (resource, Limit { require, ..limit })).collect())
    }

    /// Returns an iterator over all resources and their limits.
    pub fn iter(&self) -> impl Iterator<Item = (Resource, Limit)> {
        Resource::ALL.into_iter().map(|resource| (resource, self.of(resource)))
    }
}

impl Default for Limits {
    /// Returns limits that suffice for a verification command of an ordinary project, such as 10 minutes of
    /// time, 4 GiB of memory, 8 GiB written and 512 processes.
    fn default() -> Self {
        Self(Resource::ALL.into_iter().map(|resource| (resource, default_of(resource))).collect())
    }
}

fn default_of(resource: Resource) -> Limit {
    const MINUTE: u64 = 60 * 1000;
    const GIB: u64 = 1 << 30;
    let max = match resource {
        Resource::Wall => 10 * MINUTE,
        Resource::Cpu => 40 * MINUTE,
        Resource::Memory => 4 * GIB,
        Resource::StorageRead => 64 * GIB,
        Resource::StorageWrite => 8 * GIB,
        Resource::FileSize => 2 * GIB,
        Resource::Processes => 512,
        Resource::OpenFiles => 1024,
        Resource::Output => 16 << 20,
    };
    Limit { max, require: Enforcement::Polled }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-12
    #[test]
    fn every_resource_has_a_sensible_default_limit() {
        for (resource, limit) in Limits::default().iter() {
            let (least, most) = resource.sensible();
            assert!((least..=most).contains(&limit.max), "{resource}");
        }
        let limits = Limits::default().with(Resource::Memory, 64 << 20, Enforcement::Hard);
        let expected = Limit { max: 64 << 20, require: Enforcement::Hard };
        assert_eq!(limits.of(Resource::Memory), expected);
        assert_eq!(limits.of(Resource::Wall), Limits::default().of(Resource::Wall));
    }
}
