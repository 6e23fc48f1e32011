//! How much memory a task takes, by the number of its files.

use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use super::plan::{Desk, of_change};
use crate::bench::Failure;
use crate::bench::material::Stock;
use crate::bench::measurement::Work;

const EVERY: Duration = Duration::from_micros(500);

/// The most memory that one task had.
pub(super) struct Peak {
    pub(super) files: usize,
    /// In KiB.
    pub(super) most: u64,
}

/// Plans that edit so many files of a megabyte.
pub(super) fn peaks(place: &Path, program: &Path) -> Result<Vec<Peak>, Failure> {
    let stock = Stock::of_megabytes(100);
    let desk = Desk::make(place, program, &stock)?;
    let peak = |(round, files): (u64, usize)| -> Result<Peak, Failure> {
        let change = stock.change(Work::Spread { changed: files, files: 100 }, round)?;
        desk.put(&of_change(&change.change_set))?;
        let most = most_of(&mut desk.command()?.spawn()?)?;
        desk.take_back()?;
        Ok(Peak { files, most })
    };
    [1, 10, 100].into_iter().zip(1..).map(|(files, round)| peak((round, files))).collect()
}

/// What the kernel says of a process again and again, until it ends.
fn most_of(child: &mut Child) -> Result<u64, Failure> {
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        most = most.max(now.unwrap_or(0));
        match child.try_wait()? {
            None => sleep(EVERY),
            Some(status) if status.success() => return Ok(most),
            Some(status) => return Err(format!("the task failed: {status}").into()),
        }
    }
}
