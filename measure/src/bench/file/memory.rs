//! Peak memory of the host and the child process of a copy, for several file sizes.

use std::fs::{read_to_string, remove_file};

use super::executor::Executor;
use crate::bench::Failure;
use crate::bench::peak::{poll_until_end, read_peak_kib};

/// Peak memory of one copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Peak {
    pub(super) megabytes: usize,
    pub(super) host_kib: u64,
    pub(super) child_kib: u64,
}

pub(super) fn peaks(executor: &Executor, sizes: &[usize]) -> Result<Vec<Peak>, Failure> {
    let peak = |&megabytes: &usize| {
        executor.put_binary("binary", megabytes)?;
        executor.write_manifest("FILE_COPY", "binary", Some("copy"))?;
        let peak = peak(executor, megabytes)?;
        remove_file(executor.base.join("copy"))?;
        Ok(peak)
    };
    sizes.iter().map(peak).collect()
}

fn peak(executor: &Executor, megabytes: usize) -> Result<Peak, Failure> {
    let mut host = executor.command().spawn()?;
    let mut peak = Peak { megabytes, ..Peak::default() };
    poll_until_end(&mut host, |host| {
        peak.host_kib = peak.host_kib.max(read_peak_kib(host));
        let children = read_to_string(format!("/proc/{host}/task/{host}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            peak.child_kib = peak.child_kib.max(child.parse().map_or(0, read_peak_kib));
        }
    })?;
    Ok(peak)
}
