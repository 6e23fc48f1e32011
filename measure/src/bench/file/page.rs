//! Page of the file benchmark, which a full run writes.

use super::Results;
use super::memory::Peak;
use crate::bench::contest;
use crate::bench::format::mebibytes;
use crate::bench::tables::markdown;

/// Limit for the memory of the child, in MiB.
const CHILD_MEBIBYTES_MAX: u64 = 32;

const HEAD: &str = "\
# Benchmarks of file tasks

Written by `cargo xtask bench file`; do not edit. Times are milliseconds.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench file            # everything, about five minutes; writes this page
$ cargo xtask bench file --quick    # few rounds, smaller files; prints only
$ cargo xtask bench file --only copy
```

## How to read

- The contestants of a table take turns, and every other round goes backwards. Compare within a table. Each round begins with a
  synced file system.
- `actum file run` verifies the lease, starts the child, stages and checks the change, asks the gates, publishes, records task, run
  and result in the ledger, and signs the result. `actum apply` does what is the same for every change.
- A copy is compared with its source, digested, and scanned for credentials. Text takes longer than binary content, of which only
  the parts with text are scanned. `cp` + `sync FILE` does none of that.
- On a disk that is slow after a burst both take the time of the disk. Compare the minimum, too.
- Memory is the peak of a process (`VmHWM` of proc_pid_status(5)), polled every half millisecond.
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
    let Some(most) = peaks.iter().map(|peak| peak.child_kib).max() else { return String::new() };
    let head = ["file", "most memory of the host", "of the child"];
    let row = |peak: &Peak| {
        vec![format!("{} MB", peak.megabytes), mebibytes(peak.host_kib), mebibytes(peak.child_kib)]
    };
    let rows: Vec<_> = peaks.iter().map(row).collect();
    let kept = if most <= CHILD_MEBIBYTES_MAX << 10 { "yes" } else { "NO" };
    format!(
        "\n## Memory of a copy\n\n{}\n- the child: at most {CHILD_MEBIBYTES_MAX} MiB: {kept}\n",
        markdown(&head.map(str::to_owned), &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_listed_by_file_size() {
        let table = peaks(&[Peak { megabytes: 10, host_kib: 50 << 10, child_kib: 33 << 10 }]);
        assert!(table.contains("| 10 MB | 50.0 MiB | 33.0 MiB |\n"), "{table}");
        assert!(table.ends_with("at most 32 MiB: NO\n"), "{table}");
        assert_eq!(peaks(&[]), "");
    }
}
