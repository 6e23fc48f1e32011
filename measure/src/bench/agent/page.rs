//! Page of the agent benchmark, which a full run writes.

use super::Results;
use crate::bench::contest;

const HEAD: &str = "\
# Benchmarks of agent goals

Written by `cargo xtask bench agent`; do not edit. Times are milliseconds.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench agent            # everything, some minutes; writes this page
$ cargo xtask bench agent --quick    # few rounds; prints only
$ cargo xtask bench agent --only dispatch
```

## How to read

- The contestants of a table take turns, and every other round goes backwards. Compare within a table. Each round begins with a
  synced file system.
- A dispatch gathers facts, decides, runs the action under all gates, and records decision, access, start, receipt, end and outcome.
  The prompt was emitted and answered before. A decision without a dispatch is one append.
- The ledger of the last tables has a step for each 0.9 seconds of a day, of four entries each.
- `actum action run` makes a file in the same workspace, without goal, confirmation and chain.
";

pub(super) fn render(results: &Results) -> String {
    format!("{HEAD}{}\n{}{HOW}", results.machine, contest::tables(&results.contests))
}
