//! Page of the hook benchmark, which a full run writes.

use super::Results;
use crate::bench::contest;

const HEAD: &str = "\
# Benchmarks of hooks and the MCP server

Written by `cargo xtask bench hooks`; do not edit. Times are milliseconds.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench hooks            # everything, some minutes; writes this page
$ cargo xtask bench hooks --quick    # few rounds; prints only
$ cargo xtask bench hooks --only turn
```

## How to read

- The contestants of a table take turns, and every other round goes backwards. Compare within a table.
- A hook is a whole process, from its start to its end, as a client of an agent starts it. What the client adds is not in it.
- \"hook, write, hook\" is an edit of one small file: both events, and the write between them. The run is durable when the second ends.
- The workspace of the turns is a repository of git with 10,000 tracked files in 200 directories. Nothing changes between the events.
- `apply` makes a new file, in one process that serves all calls.
";

pub(super) fn render(results: &Results) -> String {
    format!("{HEAD}{}\n{}{HOW}", results.machine, contest::tables(&results.contests))
}
