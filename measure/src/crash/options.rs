//! Options of `cargo xtask crash`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::grounds::FileSystem;
use super::shaker::Shaker;

/// Cut the power on ext4 with and without a journal and on xfs, as root
///
/// File systems are mounted from files, shut down while actum writes, mounted again and compared. The shutdown uses the ioctl
/// FS_IOC_SHUTDOWN, which drops everything that is not yet on the disk. A control program that syncs nothing goes through the same
/// procedure. Its losses show that losses are detected. After a violation, the image is kept for inspection.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of times that each file system loses power
    #[arg(long, value_name = "N", default_value = "10")]
    pub(super) rounds: NonZeroU64,
    /// Test only this file system
    #[arg(long, value_name = "FILE-SYSTEM")]
    pub(super) only: Option<FileSystem>,
    /// Repeat the choices of an earlier call; the exact times still differ
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

/// Work of the process that loses its power.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Job {
    pub(super) writer: Writer,
    pub(super) shaker: Shaker,
    pub(super) seed: u64,
    pub(super) root: PathBuf,
}

/// Program that writes the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Writer {
    Actum,
    /// The control: uses a temporary file and rename, and syncs nothing.
    Plain,
}

impl Job {
    /// Returns the arguments with which this program does the job. The root directory follows them.
    pub(super) fn arguments(&self) -> [String; 4] {
        let (writer, shaker) = (name(&self.writer), name(&self.shaker));
        ["crash-worker".to_owned(), writer, shaker, self.seed.to_string()]
    }
}

/// Returns the name of a value on the command line.
pub(super) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{CommandLine, Work};

    #[test]
    fn worker_job_round_trips_through_its_arguments() {
        for (writer, shaker) in Writer::value_variants().iter().zip(Shaker::value_variants()) {
            let job = Job { writer: *writer, shaker: *shaker, seed: u64::MAX, root: "/a b".into() };
            let mut arguments = vec!["actum-measure".to_owned()];
            arguments.extend(job.arguments());
            arguments.push("/a b".to_owned());
            let parsed = CommandLine::try_parse_from(arguments).map(|parsed| parsed.work);
            assert!(matches!(parsed, Ok(Work::CrashWorker(parsed)) if parsed == job));
        }
    }
}
