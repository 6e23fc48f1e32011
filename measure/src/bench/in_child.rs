//! Engine in a separate process, so that it can be observed from outside.

use std::fs::{read, read_to_string, write};
use std::path::Path;
use std::process::{Command, ExitCode};

use actum_edit::ChangeSet;
use actum_workspace::Workspace;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::Failure;
use super::options::{Child, ChildExtent};
use crate::Outcome;

/// Memory of the child after it has applied and reverted the change, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Footprint {
    /// Memory after the change set was read and the workspace was opened.
    pub(super) before: u64,
    /// Peak memory during apply.
    pub(super) apply_peak: u64,
    /// Peak memory during revert.
    pub(super) revert_peak: u64,
}

/// Returns the command that runs this program as such a child.
pub(super) fn command(
    extent: ChildExtent,
    workspace: &Path,
    change_set: &Path,
) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let extent = extent.to_possible_value().map(|value| value.get_name().to_owned());
    command.arg("bench-child").args(extent).args([workspace, change_set]);
    Ok(command)
}

pub(crate) fn run(child: &Child) -> Outcome {
    let change_set: ChangeSet = serde_json::from_slice(&read(&child.change_set)?)?;
    let mut workspace = Workspace::open(&child.workspace)?;
    match child.extent {
        ChildExtent::Apply => {
            workspace.apply(&change_set)?;
        }
        ChildExtent::ApplyAndRevert => {
            let before = status("VmRSS")?;
            forget_peak()?;
            let run = workspace.apply(&change_set)?;
            let apply_peak = status("VmHWM")?;
            forget_peak()?;
            workspace.revert(run)?;
            let revert_peak = status("VmHWM")?;
            let footprint = Footprint { before, apply_peak, revert_peak };
            println!("{}", serde_json::to_string(&footprint)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the value of a line of /proc/self/status whose unit is kB, which means KiB there (proc_pid_status(5)).
fn status(name: &str) -> Result<u64, Failure> {
    let text = read_to_string("/proc/self/status")?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = value.and_then(|value| value.trim().strip_suffix(" kB")?.trim().parse().ok());
    number.ok_or_else(|| format!("the kernel does not tell `{name}`").into())
}

/// Resets the peak to the current memory (proc_pid_clear_refs(5)).
fn forget_peak() -> Result<(), Failure> {
    Ok(write("/proc/self/clear_refs", "5")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_and_can_be_reset() {
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(status("VmHWM").unwrap() > 60 << 10);
        drop(block);
        forget_peak().unwrap();
        assert!(status("VmHWM").unwrap() < 60 << 10);
        assert!(status("VmNothing").is_err());
    }
}
