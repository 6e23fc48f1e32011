//! What `cargo xtask crash` was asked to do.

use std::path::PathBuf;

use super::grounds::FileSystem;
use super::shaker::Shaker;

pub(super) const USAGE: &str = "\
usage: cargo xtask crash [--rounds N] [--only FILE-SYSTEM] [--seed N]

  --rounds N          how often each file system loses power (10)
  --only FILE-SYSTEM  `ext4`, `ext4-nojournal` or `xfs`
  --seed N            the choices of an earlier call; the instants still differ

Needs root: file systems are mounted from files, shut down while actum writes (the ioctl
FS_IOC_SHUTDOWN, which drops what is not on the disk yet), mounted again and compared. The same is
done to a writer that syncs nothing, whose losses show that losses are seen. After a violation the
image stays for a closer look.
";

/// Not for people, so not in the usage.
pub(super) const WORKER: &str = "--worker";

/// What the arguments say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Crash(Options),
    Work(Job),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) rounds: u64,
    pub(super) only: Option<FileSystem>,
    pub(super) seed: Option<u64>,
}

/// The work of the process that loses its power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) writer: Writer,
    pub(super) shaker: Shaker,
    pub(super) seed: u64,
    pub(super) root: PathBuf,
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    Actum,
    /// The control: temporary file and rename, nothing synced.
    Plain,
}

impl Writer {
    pub(super) const ALL: [Self; 2] = [Self::Actum, Self::Plain];

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Actum => "actum",
            Self::Plain => "plain",
        }
    }
}

const ROUNDS: u64 = 10;

impl Job {
    /// The arguments with which this program does the job.
    pub(super) fn arguments(&self) -> [String; 4] {
        let [writer, shaker] = [self.writer.slug(), self.shaker.slug()].map(str::to_owned);
        [WORKER.to_owned(), writer, shaker, self.seed.to_string()]
    }

    fn parse(arguments: &[String]) -> Option<Self> {
        let [first, writer, shaker, seed, root] = arguments else { return None };
        Some(Self {
            writer: Writer::ALL.into_iter().find(|one| first == WORKER && one.slug() == writer)?,
            shaker: Shaker::ALL.into_iter().find(|one| one.slug() == shaker)?,
            seed: seed.parse().ok()?,
            root: root.into(),
        })
    }
}

pub(super) fn parse(arguments: &[String]) -> Result<Command, String> {
    if let Some(job) = Job::parse(arguments) {
        return Ok(Command::Work(job));
    }
    let mut options = Options { rounds: ROUNDS, only: None, seed: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            let value = rest.next();
            value.ok_or_else(|| refusal(&format!("`{argument}` needs a value")))
        };
        match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--only" => {
                let value = value()?;
                let known = FileSystem::ALL.into_iter().find(|one| one.slug() == value);
                let unknown = || refusal(&format!("`{value}` is not one of the file systems"));
                options.only = Some(known.ok_or_else(unknown)?);
            }
            "--rounds" => {
                let value = value()?;
                let rounds = value.parse().ok().filter(|&rounds| rounds > 0);
                let number = || refusal(&format!("`{value}` is not a number of rounds"));
                options.rounds = rounds.ok_or_else(number)?;
            }
            "--seed" => {
                let value = value()?;
                let number = |_| refusal(&format!("`{value}` is not a seed"));
                options.seed = Some(value.parse().map_err(number)?);
            }
            other => return Err(refusal(&format!("there is no argument `{other}`"))),
        }
    }
    Ok(Command::Crash(options))
}

fn refusal(why: &str) -> String {
    format!("{why}; nothing was mounted\n\n{USAGE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Command, String> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        super::parse(&arguments)
    }

    #[test]
    fn arguments_choose_what_loses_power() {
        let options = |rounds, only, seed| Ok(Command::Crash(Options { rounds, only, seed }));
        assert_eq!(parse(""), options(ROUNDS, None, None));
        assert_eq!(
            parse("--rounds 3 --only ext4-nojournal --seed 7"),
            options(3, Some(FileSystem::Ext4NoJournal), Some(7))
        );
        assert_eq!(parse("--seed 7 -h"), Ok(Command::Help));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_usage() {
        let refusal = |arguments| {
            let message = parse(arguments).unwrap_err();
            message.strip_suffix(USAGE).unwrap().trim_end().to_owned()
        };
        assert_eq!(
            ["--rounds 0", "--only btrfs", "--seed", "--fast", "--worker actum"].map(refusal),
            [
                "`0` is not a number of rounds; nothing was mounted",
                "`btrfs` is not one of the file systems; nothing was mounted",
                "`--seed` needs a value; nothing was mounted",
                "there is no argument `--fast`; nothing was mounted",
                "there is no argument `--worker`; nothing was mounted",
            ]
        );
    }

    #[test]
    fn a_worker_gets_its_job_whole() {
        for (writer, shaker) in Writer::ALL.into_iter().zip(Shaker::ALL) {
            let job = Job { writer, shaker, seed: u64::MAX, root: "/a b".into() };
            let mut arguments = job.arguments().to_vec();
            arguments.push("/a b".to_owned());
            assert_eq!(super::parse(&arguments), Ok(Command::Work(job)));
        }
    }
}
