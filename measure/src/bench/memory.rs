//! Memory of a run, by the size of the change.

use std::fs::{File, write};
use std::io::Write;
use std::path::Path;

use actum_edit::{ChangeSet, Hunk, Patch};

use super::Failure;
use super::in_child::{self, Footprint};
use super::material::Stock;
use super::measurement::Work;
use super::options::ChildExtent;
use super::place::Grounds;

/// Free space required for the file of 1 GB and its images, in bytes.
const FREE_BYTES_FOR_A_LARGE_FILE: u64 = 8 << 30;
/// Number of copies of the 50 MB file that make up the 1 GB file.
const COPIES: usize = 20;

/// Peak memory of one work.
pub(super) struct Peak {
    pub(super) work: &'static str,
    pub(super) result: Result<Footprint, String>,
}

pub(super) fn measure(grounds: &Grounds, directory: &Path, home: &Path) -> Vec<Peak> {
    let small = |changed| {
        let stock = Stock::of_files(1000);
        let change = stock.change(Work::Spread { changed, files: 1000 }, 0)?;
        let workspace = directory.join(format!("memory-{changed}"));
        stock.put(&workspace)?;
        footprint(&workspace, home, &change.change_set)
    };
    let large = || {
        let free = grounds.free_bytes()?;
        if free < FREE_BYTES_FOR_A_LARGE_FILE {
            return Err(format!("only {} GiB are free", free >> 30).into());
        }
        let workspace = directory.join("memory-large");
        let change_set = put_large(&workspace)?;
        footprint(&workspace, home, &change_set)
    };
    let peak = |work, result: Result<Footprint, Failure>| Peak {
        work,
        result: result.map_err(|failure| failure.to_string()),
    };
    vec![
        peak("10 files of 11 KB", small(10)),
        peak("1,000 files of 11 KB", small(1000)),
        peak("one hunk in the middle of 1 GB", large()),
    ]
}

/// Writes a file of 1 GB, and returns a change to one line in its middle.
fn put_large(workspace: &Path) -> Result<ChangeSet, Failure> {
    const PATH: &str = "large.txt";
    let stock = Stock::of_one_large_file();
    let block = stock.first_content();
    std::fs::create_dir_all(workspace)?;
    let mut file = File::create(workspace.join(PATH))?;
    for _ in 0..COPIES {
        file.write_all(block)?;
    }
    let text = block.split_inclusive(|&byte| byte == b'\n');
    let line = u32::try_from(text.clone().count() * (COPIES / 2) + 1)?;
    let first = text.clone().next().map(String::from_utf8_lossy).unwrap_or_default();
    let hunk = Hunk {
        old_start: line,
        old_lines: 1,
        new_start: line,
        new_lines: 1,
        lines: format!("-{first}+changed in the middle\n"),
    };
    let patch = Patch { path: PATH.to_owned(), hunks: vec![hunk], expected_prev_sha256: None };
    let mut change_set = ChangeSet::new();
    change_set.patches.push(patch);
    Ok(change_set)
}

fn footprint(workspace: &Path, home: &Path, change_set: &ChangeSet) -> Result<Footprint, Failure> {
    let input = home.join("change-set.json");
    write(&input, serde_json::to_vec(change_set)?)?;
    let output = in_child::command(ChildExtent::ApplyAndRevert, workspace, &input)?.output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(stderr.trim().to_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
