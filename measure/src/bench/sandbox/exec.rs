//! Compares `actum exec`, as a whole process, with `actum sandbox run` and with the plain command.

use std::fs::{create_dir_all, remove_dir_all, write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::build::Site;
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};

const FILES: usize = 10_000;
/// Number of files in one directory.
const TOGETHER: usize = 100;
const SANDBOX: &str = "`sandbox run -- true`";
const TRUE: &str = "`exec -- true`";
const ONE: &str = "`exec`, 1 file changed";
const MANY: &str = "`exec`, 1,000 files changed";
const PLAIN: &str = "plain";
const EXEC: &str = "`exec`, `target` a cache";

/// Program with its own workspace and home directories.
pub(super) struct Shop<'a> {
    program: &'a Path,
    /// Operator's configuration, in the home directory that the password database names.
    configuration: &'a Path,
    pub(super) home: PathBuf,
    pub(super) workspace: PathBuf,
}

impl<'a> Shop<'a> {
    pub(super) fn new(program: &'a Path, configuration: &'a Path, home: &Path) -> Self {
        let (home, workspace) = (home.to_owned(), home.join("workspace"));
        Self { program, configuration, home, workspace }
    }

    /// Writes the operator's policy.
    pub(super) fn let_operator_say(&self, policy: &str) -> Result<(), Failure> {
        let directory = self.configuration.join("actum");
        create_dir_all(&directory)?;
        Ok(write(directory.join("actum.toml"), policy)?)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(arguments).current_dir(&self.workspace).env_clear();
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("ACTUM_HOME", self.home.join("home"));
        command.env("XDG_CONFIG_HOME", self.configuration);
        command.env("XDG_CACHE_HOME", self.home.join("cache"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Result<(), Failure> {
        finished(&mut self.command(arguments))
    }

    pub(super) fn timed(&self, arguments: &[&str]) -> Result<Duration, Failure> {
        let mut command = self.command(arguments);
        time(|| finished(&mut command))
    }
}

pub(super) fn finished(command: &mut Command) -> Result<(), Failure> {
    let output = command.stderr(Stdio::piped()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("it ended with {}: {}", output.status, stderr.lines().next().unwrap_or("")).into())
}

/// Measures the cost of `exec` beyond that of the sandbox, in a workspace of many files, and the factors that it
/// depends on.
pub(super) fn contests(
    program: &Path,
    configuration: &Path,
    home: &Path,
    rounds: usize,
) -> Result<Vec<Contest>, Failure> {
    let shop = Shop::new(program, configuration, &home.join("exec"));
    shop.let_operator_say("version = 1\n")?;
    for index in 0..FILES {
        let path = shop.workspace.join(format!("d{}/f{index}.txt", index / TOGETHER));
        if index.is_multiple_of(TOGETHER) {
            create_dir_all(path.parent().unwrap_or(&shop.workspace))?;
        }
        write(path, "a line of text in a file of a workspace\n".repeat(20))?;
    }
    shop.run(&["init"])?;
    let changed = |files: &'static str| {
        let script = format!("for file in {files}; do echo more >> $file; done");
        let shop = &shop;
        move || {
            let taken = shop.timed(&["exec", "--", "sh", "-c", &script])?;
            shop.run(&["undo"])?;
            Ok(taken)
        }
    };
    let started = race(
        vec![
            Contestant::new(SANDBOX, || shop.timed(&["sandbox", "run", "-q", "--", "true"])),
            Contestant::new(TRUE, || shop.timed(&["exec", "--", "true"])),
            Contestant::new(ONE, changed("d7/f777.txt")),
            Contestant::new(MANY, changed("d?/*.txt")),
        ],
        rounds,
    );
    Ok(vec![Contest {
        title: "`actum exec` in a workspace of 10,000 files, whole processes".to_owned(),
        finishes: started,
        bars: vec![Bar { who: TRUE, limit: Limit::More(5.0) }],
    }])
}

/// Measures a build whose output directory is declared as a cache.
pub(super) fn build(
    program: &Path,
    configuration: &Path,
    home: &Path,
    rounds: usize,
) -> Result<Contest, Failure> {
    let directory = home.join("exec-build");
    let site = Site::put(&directory.join("crate"))?;
    let workspace = site.place.clone();
    let shop = Shop { workspace, ..Shop::new(program, configuration, &directory) };
    let sysroot = site.sysroot.display();
    let policy = format!(
        "version = 1\n[sandbox]\nexec = [\"{sysroot}\"]\nenv = [\"PATH={}\"]\ncaches = [\"target\"]\n",
        site.path
    );
    shop.let_operator_say(&policy)?;
    shop.run(&["init"])?;
    let temporary = directory.join("temporary");
    let finishes = race(
        vec![
            Contestant::new(PLAIN, || site.plain(&temporary)),
            Contestant::new(EXEC, || {
                let words = site.words();
                let words: Vec<&str> =
                    ["exec", "--"].into_iter().chain(words.iter().map(|word| &**word)).collect();
                let taken = shop.timed(&words);
                site.clear()?;
                drop(remove_dir_all(&temporary)); // of the other one
                taken
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "`cargo build` of the same crate through `actum exec`".to_owned(),
        finishes,
        bars: vec![Bar { who: EXEC, limit: Limit::Times(1.1) }],
    })
}
