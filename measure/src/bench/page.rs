//! Page of the main benchmark, which a full run writes.

use super::course::Results;
use super::format::mebibytes;
use super::measurement::PlaceName;
use super::memory::Peak;
use super::syscalls::Calls;
use super::tables::{self, Half};

const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask bench`; do not edit. Times are milliseconds, `median / 95th percentile`.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench           # everything, about ten minutes; writes this page
$ cargo xtask bench --quick   # few rounds on one file system; prints only
$ cargo xtask bench --only own/10-of-10000
```

It builds with optimisation, works below the directory for temporary files (10 GB free), and cleans
up after itself, also when it is interrupted. As root it mounts ext4 with a journal and xfs from
files; without root these two are left out, and the page says so.

## How to read

- Everyone works on the same files (text of 11 KB in directories of a hundred) in a workspace of
  their own, and they take turns: one round is each of them applying the same change and taking it
  back. Compare within a row; between two runs on a busy machine numbers differ by more than the
  ratios do. With few rounds the 95th percentile is the slowest round.
- A change edits one line in every other file and two lines in the rest, spread evenly over the
  workspace. No round repeats the lines of another, so that git always has new objects to write.
- After each step some of the files are compared with what they should be. One round more than is
  counted warms up.
- Before each span the file system is synced, so that nobody pays for what others left behind. What
  anybody's own run leaves for the kernel to write back later is not counted, for actum and for the
  others alike. *Back to back* leaves these pauses out. As root, the run and all that it starts go
  before other processes (nice -15), which keeps part of their noise out.
- Whoever finds more than 2 MiB of past runs in the journal puts them into the history first. With 100
  files that is every second run, always an apply or always a revert: compare their sum.
- *actum, library* is `Workspace::apply` on a parsed change set, and `Workspace::revert`, in a
  process that has the workspace open: atomic, and durable when it returns.
- *actum, process* is `actum apply FILE` and `actum undo`, from start to exit.
- `git apply` and GNU `patch` make nothing durable and can leave half a change behind. So can
  `git apply --index` + `git commit` (and `git revert`), but the commit is there to go back to, and
  its objects are durable. All three start processes, of about 1 ms each.
- *in place* reads each file, applies the same hunks in memory, and writes it over itself: not
  durable, not atomic, with no way back. *in place, checked* also reaches files through no link and
  hashes them before and after, as actum does. *in place, two syncs* is the same as *in place* with
  all new contents in a log that is synced first, and a synced note afterwards: what two barriers
  cost on this disk, whoever makes them.

## What is not measured

- Several processes at work on one workspace, recovery after a crash, and creating, deleting or
  renaming files.
- Cold caches: all files have just been written or read.
- Receipts and the ledger, which the process does not write yet.
- On ext4 without a journal, whoever has deleted many files makes new ones slowly for up to a
  minute, and other processes' deletions count too. On such a file system the larger rows show this
  more than they show anyone's work.
";

pub(super) fn render(results: &Results) -> String {
    let mut page = format!("{HEAD}{}\n\n", results.machine);
    for (place, file_system) in &results.places {
        page += &format!("- `{}`: {file_system}\n", place.slug());
    }
    for (place, why) in &results.absent {
        page += &format!("- `{}`: not measured: {why}\n", place.slug());
    }
    page += "\n## What was promised, and what was reached\n\n";
    page += "Ratios of medians; the promises are those of the design.\n\n";
    page += &tables::verdicts(&results.verdicts());
    for (place, file_system) in &results.places {
        page += &contestants(results, *place, file_system);
    }
    let places: Vec<PlaceName> = results.places.iter().map(|(place, _)| *place).collect();
    if let Some(table) = tables::sizes(&results.measurements, &places) {
        page += "\n## Size of the workspace\n\n";
        page += "Ten files of one directory, in workspaces that take turns.\n\n";
        page += &table;
    }
    if let Some(table) = tables::back_to_back(&results.measurements, &places) {
        page += "\n## Back to back\n\n";
        page += "The mean time of a run when apply and revert follow each other without a pause: \
                 with the clearing up that comes every so many runs, and with what the kernel \
                 writes back meanwhile.\n\n";
        page += &table;
    }
    page += &peaks(&results.peaks);
    page += &calls(results);
    let absences = tables::absences(&results.measurements);
    if !absences.is_empty() {
        page += "\n## Who did not take part\n\n";
        page += &absences.iter().map(|line| format!("- {line}\n")).collect::<String>();
    }
    page + HOW
}

fn contestants(results: &Results, place: PlaceName, file_system: &str) -> String {
    let table = |half| tables::contestants(&results.measurements, place, half);
    let (Some(apply), Some(revert)) = (table(Half::Apply), table(Half::Revert)) else {
        return String::new();
    };
    format!("\n## `{}`: {file_system}\n\nApply:\n\n{apply}\nRevert:\n\n{revert}", place.slug())
}

fn peaks(peaks: &[Peak]) -> String {
    if peaks.is_empty() {
        return String::new();
    }
    let head = ["work", "held before", "most during apply", "most during revert"];
    let row = |Peak { work, result }: &Peak| {
        let mut row = vec![(*work).to_owned()];
        match result {
            Ok(found) => {
                row.extend([found.before, found.apply_peak, found.revert_peak].map(mebibytes))
            }
            Err(why) => row.extend([format!("not measured: {why}"), String::new(), String::new()]),
        }
        row
    };
    let rows: Vec<_> = peaks.iter().map(row).collect();
    format!(
        "\n## Memory\n\nResident memory of a process that is the library and little else; \"before\" \
         it has read the change set and opened the workspace.\n\n{}",
        tables::markdown(&head.map(str::to_owned), &rows)
    )
}

fn calls(results: &Results) -> String {
    let mut text = String::new();
    for (who, calls) in &results.calls {
        match calls {
            Err(why) => text += &format!("- {}: not counted: {why}\n", who.name()),
            Ok(Calls { syncs, total, per_file }) => {
                let list = |calls: Vec<String>| {
                    if calls.is_empty() { "none".to_owned() } else { calls.join(", ") }
                };
                let syncs = syncs.iter().map(|(name, calls)| format!("{calls} `{name}`"));
                let calls = per_file.iter().map(|(name, calls)| format!("{calls:.1} `{name}`"));
                let further: f64 = per_file.iter().map(|(_, calls)| calls).sum();
                text += &format!(
                    "- {}: {total} calls in all, of which syncs: {}. Each further file takes \
                     {further:.1}: {}.\n",
                    who.name(),
                    list(syncs.collect()),
                    list(calls.collect()),
                );
            }
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\n## System calls\n\nOne apply of 10 files of one directory, in a process from start to \
         exit, counted by strace. Two syncs are the two barriers of a run, whatever the number of \
         files.\n\n{text}"
    )
}
