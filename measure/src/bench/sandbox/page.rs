//! Page of the sandbox benchmark, which a full run writes.

use super::Results;
use crate::bench::contest;

const HEAD: &str = "\
# Benchmarks of the sandbox

Written by `cargo xtask bench sandbox`; do not edit. Times are milliseconds.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench sandbox           # everything, about two minutes; writes this page
$ cargo xtask bench sandbox --quick   # few rounds; prints only
$ cargo xtask bench sandbox --only start --rounds 500
```

## How to read

- Those of one table take turns, and every other round goes backwards. Compare within a table. On a
  busy machine the minimum and the 10th percentile tell more than the median.
- *plain* starts the same program without any confinement, and waits for it. *More* is the median less
  that of the first row.
- Times are from the call that starts a command until all is told about its end: in tier N also until
  its namespaces are gone. Making the plan and the probe of the host are not in them; a program does
  both once.
- The helper is the program that measures, started once more for each command. Its size is told above,
  since a larger program takes longer to start.
- *bubblewrap* makes the same namespaces and mounts the programs of the system, /proc and /dev. It sets
  neither Landlock nor seccomp, counts nothing and limits nothing.
- cargo builds into an empty directory each time, offline, with home and registry in a directory for
  temporary files.
";

pub(super) fn render(results: &Results) -> String {
    format!(
        "{HEAD}{} The helper is a program of {} KiB.\n{}{HOW}",
        results.machine,
        results.helper,
        contest::tables(&results.contests)
    )
}
