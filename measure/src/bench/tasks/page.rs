//! Benchmark page written by a full run.

use super::Results;
use super::memory::Peak;
use crate::bench::contest;
use crate::bench::tables::markdown;

const HEAD: &str = "\
# Benchmarks of task plans

Written by `cargo xtask bench tasks`; do not edit. Times are milliseconds.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench tasks             # everything, about a minute; writes this page
$ cargo xtask bench tasks --quick     # few rounds; prints only
$ cargo xtask bench tasks --only ten
```

## How to read

- Those of one table take turns, and every other round goes backwards. Compare within a table. Each round has a change of
  its own, and begins with a synced file system.
- `actum run` reads envelope, plan and config, archives the plan before, does the actions, asks the gates, writes backups,
  rollback manifest and script, makes all of that durable, changes the files as one transaction, records and signs it in the
  ledger, and writes the reports. `actum apply` does the transaction and the ledger of it. `git apply` changes files, and
  waits for no disk.
- All actions are hunks of one or two lines, so that everybody does the same.
- Taking back is not in the times.
- ext4 without a journal makes files slowly for some minutes after many were deleted near by, because it looks at the inode of
  each of those first. Who makes more files, as `actum run` does for backups and reports, has more of that: measure again
  only after a while. (Once at the heels of another, the ratio for 10 actions was 5 and more.)
- *The edit* finds one value by its path, and holds the outcome against what was asked for. It keeps every other byte, which
  to a value and back does not.
- Memory is the most that a process had, as the kernel tells it (VmHWM), asked for every half millisecond.
";

pub(super) fn render(results: &Results) -> String {
    format!(
        "{HEAD}{}\n{}{}{HOW}",
        results.machine,
        contest::tables(&results.contests),
        peaks(&results.peaks)
    )
}

fn peaks(peaks: &[Peak]) -> String {
    if peaks.is_empty() {
        return String::new();
    }
    let head = ["files of 1 MB, an edit in each", "most memory of `actum run`, in MiB"];
    let row =
        |Peak { files, peak_kib }: &Peak| vec![files.to_string(), (peak_kib >> 10).to_string()];
    let rows: Vec<_> = peaks.iter().map(row).collect();
    format!("\n## Memory\n\n{}", markdown(&head.map(str::to_owned), &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_listed_by_number_of_files() {
        let table = peaks(&[Peak { files: 10, peak_kib: 50 << 10 }]);
        assert!(table.ends_with("| 10 | 50 |\n"), "{table}");
        assert_eq!(peaks(&[]), "");
    }
}
