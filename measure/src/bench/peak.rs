//! Peak memory of a running process, polled from outside.

use std::fs::read_to_string;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use super::Failure;

const POLL_INTERVAL: Duration = Duration::from_micros(500);

/// Polls until the process ends, and returns an error unless it succeeded.
pub(super) fn poll_until_end(child: &mut Child, mut poll: impl FnMut(u32)) -> Result<(), Failure> {
    loop {
        poll(child.id());
        match child.try_wait()? {
            None => sleep(POLL_INTERVAL),
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("the task failed: {status}").into()),
        }
    }
}

/// Reads the peak memory of a process, in KiB (`VmHWM`, proc_pid_status(5)). Returns 0 if the process has ended.
pub(super) fn read_peak_kib(process: u32) -> u64 {
    let status = read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
