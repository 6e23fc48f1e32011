//! How much memory the host and the child of a copy take, by the size of the file.

use std::fs::{read_to_string, remove_file};
use std::thread::sleep;
use std::time::Duration;

use super::executor::Executor;
use crate::bench::Failure;

const EVERY: Duration = Duration::from_micros(500);

/// The most memory of one copy, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Peak {
    pub(super) megabytes: usize,
    pub(super) host: u64,
    pub(super) child: u64,
}

pub(super) fn peaks(executor: &Executor, sizes: &[usize]) -> Result<Vec<Peak>, Failure> {
    let peak = |&megabytes: &usize| {
        executor.put_binary("binary", megabytes)?;
        executor.ask("FILE_COPY", "binary", Some("copy"))?;
        let peak = peak(executor, megabytes)?;
        remove_file(executor.base.join("copy"))?;
        Ok(peak)
    };
    sizes.iter().map(peak).collect()
}

/// Asks the kernel again and again, until the host ends.
fn peak(executor: &Executor, megabytes: usize) -> Result<Peak, Failure> {
    let mut host = executor.command().spawn()?;
    let mut peak = Peak { megabytes, ..Peak::default() };
    loop {
        let id = host.id();
        peak.host = peak.host.max(most_of(id));
        let children = read_to_string(format!("/proc/{id}/task/{id}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            peak.child = peak.child.max(child.parse().map_or(0, most_of));
        }
        match host.try_wait()? {
            None => sleep(EVERY),
            Some(status) if status.success() => return Ok(peak),
            Some(status) => return Err(format!("the task failed: {status}").into()),
        }
    }
}

/// The most memory that a process had, in KiB; 0 where it is gone.
fn most_of(process: u32) -> u64 {
    let status = read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
