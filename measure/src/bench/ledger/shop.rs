//! Workspace whose runs are recorded in a ledger, and the time that `actum log` takes there.

use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bench::Failure;
use crate::bench::contestant::Surroundings;
use crate::bench::race::{Contestant, Finish, race, time};

/// Number of runs, which is slightly more than `actum log` lists.
const RUNS: u32 = 25;

/// Workspace with its own home for the ledger and keys.
pub(super) struct Shop {
    program: PathBuf,
    surroundings: Surroundings,
    home: PathBuf,
    workspace: PathBuf,
    runs: u32,
}

impl Shop {
    /// Creates a workspace and a ledger home, with one run.
    pub(super) fn open(program: &Path, directory: &Path) -> Result<Self, Failure> {
        let (home, workspace) = (directory.join("home"), directory.join("workspace"));
        create_dir_all(&home)?;
        create_dir_all(&workspace)?;
        let surroundings = Surroundings::new(&home);
        let mut shop = Self { program: program.to_owned(), surroundings, home, workspace, runs: 0 };
        shop.run(&["init"])?;
        shop.apply()?;
        Ok(shop)
    }

    /// Returns the path of the ledger.
    pub(super) fn ledger(&self) -> PathBuf {
        self.home.join(".local/share/actum/tenants/default")
    }

    /// Makes more runs, and a checkpoint that covers all entries.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        (0..RUNS).try_for_each(|_| self.apply())?;
        self.run(&["ledger", "checkpoint"])
    }

    fn apply(&mut self) -> Result<(), Failure> {
        self.runs += 1;
        let name = format!("file-{}", self.runs);
        let diff = format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n\
             @@ -0,0 +1 @@\n+text\n"
        );
        let path = self.surroundings.diff();
        write(&path, diff)?;
        let mut command = self.surroundings.command(&self.program, &self.workspace)?;
        self.surroundings.run(command.arg("apply").arg(path))
    }

    fn run(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = self.surroundings.command(&self.program, &self.workspace)?;
        self.surroundings.run(command.args(arguments))
    }
}

/// Times whole processes: one that does nothing, and `actum log` with a short and a long ledger.
pub(super) fn log(short: &Shop, long: &Shop, rounds: usize) -> Vec<Finish> {
    let of = |shop: &Shop, arguments: &[&str]| -> Result<Duration, Failure> {
        time(|| shop.run(arguments))
    };
    race(
        vec![
            Contestant::new("`actum --version`", || of(long, &["--version"])),
            Contestant::new("`actum log`, a short ledger", || of(short, &["log"])),
            Contestant::new("`actum log`, the long ledger", || of(long, &["log"])),
        ],
        rounds,
    )
}
