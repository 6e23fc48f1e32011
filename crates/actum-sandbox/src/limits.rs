//! Limits of a command, and their enforcement.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Resource that a command may use up to a limit. Amounts are for the command and all processes
/// that it starts, taken together, unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Time from its start to its end, in milliseconds.
    Wall,
    /// Processor time, in milliseconds.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Bytes read from storage. Reads from the page cache are not counted.
    StorageRead,
    /// Bytes written to storage.
    StorageWrite,
    /// The size of any one file, in bytes.
    FileSize,
    /// Processes and threads at one time.
    Processes,
    /// Open files of any one process.
    OpenFiles,
    /// Bytes of standard output and standard error that are kept.
    Output,
}

impl Resource {
    /// All of them.
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

    /// The name that policies and reports use.
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

    /// Human-readable description of the resource.
    pub fn description(self) -> &'static str {
        match self {
            Self::Wall => "time from its start to its end",
            Self::Cpu => "processor time",
            Self::Memory => "memory; pages that processes share count once",
            Self::StorageRead => "bytes read from storage, and not out of the page cache",
            Self::StorageWrite => "bytes written to storage",
            Self::FileSize => "the size of any one file",
            Self::Processes => "processes and threads at one time",
            Self::OpenFiles => "open files of any one process",
            Self::Output => "bytes of standard output and standard error together",
        }
    }

    /// Unit of the amounts.
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

    /// Returns the least and the most that a policy may set. Less than the least starts no program
    /// at all; more than the most is a mistake.
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

/// Enforcement of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Looked at every 10 ms; between two looks more may be used, and then all is ended.
    Polled,
    /// Never exceeded: the kernel refuses more or, for time and output, all is ended there.
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

/// Limit of a resource, and its least enforcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// In the unit of the resource.
    pub max: u64,
    /// Least enforcement: if the host cannot hold it so, the command is not started.
    #[serde(default = "polled")]
    pub require: Enforcement,
}

fn polled() -> Enforcement {
    Enforcement::Polled
}

/// A limit for every resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Limits(BTreeMap<Resource, Limit>);

impl Limits {
    /// The limit of a resource.
    pub fn of(&self, resource: Resource) -> Limit {
        // A map that was read may lack some.
        self.0.get(&resource).copied().unwrap_or_else(|| default_of(resource))
    }

    /// Replaces the limit of one resource.
    #[must_use]
    pub fn with(mut self, resource: Resource, max: u64, require: Enforcement) -> Self {
        self.0.insert(resource, Limit { max, require });
        self
    }

    /// Sets the least enforcement of every limit, with the same amounts.
    #[must_use]
    pub fn accepting(self, require: Enforcement) -> Self {
        Self(self.iter().map(|(resource, limit)| (resource, Limit { require, ..limit })).collect())
    }

    /// Each resource with its limit.
    pub fn iter(&self) -> impl Iterator<Item = (Resource, Limit)> {
        Resource::ALL.into_iter().map(|resource| (resource, self.of(resource)))
    }
}

impl Default for Limits {
    /// Limits that a verification command of an ordinary project needs: ten minutes of time, 4 GiB
    /// of memory, 8 GiB written, 512 processes.
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
    fn every_resource_has_a_sensible_limit_unless_told_otherwise() {
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
