//! Peak memory of a task, by number of files.

use std::path::Path;

use super::plan::{Fixture, of_change};
use crate::bench::Failure;
use crate::bench::material::Stock;
use crate::bench::measurement::Work;
use crate::bench::peak::{poll_until_end, read_peak_kib};

/// Peak memory of one task.
pub(super) struct Peak {
    pub(super) files: usize,
    pub(super) peak_kib: u64,
}

/// Measures plans that edit this number of files of one megabyte each.
pub(super) fn peaks(place: &Path, program: &Path) -> Result<Vec<Peak>, Failure> {
    let stock = Stock::of_megabytes(100);
    let desk = Fixture::make(place, program, &stock)?;
    let peak = |(round, files): (u64, usize)| -> Result<Peak, Failure> {
        let change = stock.change(Work::Spread { changed: files, files: 100 }, round)?;
        desk.put(&of_change(&change.change_set))?;
        let mut peak_kib = 0;
        poll_until_end(&mut desk.command()?.spawn()?, |task| {
            peak_kib = peak_kib.max(read_peak_kib(task));
        })?;
        desk.roll_back()?;
        Ok(Peak { files, peak_kib })
    };
    [1, 10, 100].into_iter().zip(1..).map(|(files, round)| peak((round, files))).collect()
}
