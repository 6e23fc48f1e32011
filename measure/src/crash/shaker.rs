//! Thread that makes the file system write at moments the writer did not choose, so that the disk contains some changes of a step
//! and not others.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Failure;
use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Shaker {
    /// Only the writer and the kernel write.
    Still,
    /// Sync the whole file system with syncfs(2), as sync(2) does for every file system.
    Everything,
    /// Sync an unrelated file, which also commits the journal.
    Elsewhere,
    /// Sync a file or directory of the tree. Without a journal, only that one is written.
    OneOfTheTree,
}

/// Starts the thread, which ends with the process.
pub(super) fn start(shaker: Shaker, root: &Path, seed: u64) {
    if shaker == Shaker::Still {
        return;
    }
    let root = root.to_owned();
    std::thread::spawn(move || {
        let mut random = Random::new(seed);
        loop {
            std::thread::sleep(Duration::from_micros(random.below(5000)));
            // Ignore errors, because the entry may just have been removed or the power may be cut. The next attempt follows.
            drop(shake(shaker, &root, &mut random));
        }
    });
}

fn shake(shaker: Shaker, root: &Path, random: &mut Random) -> Result<(), Failure> {
    match shaker {
        Shaker::Still => {}
        Shaker::Everything => rustix::fs::syncfs(File::open(root)?)?,
        Shaker::Elsewhere => {
            let mut file = File::create(root.with_extension("elsewhere"))?;
            file.write_all(b"something")?;
            file.sync_all()?;
        }
        Shaker::OneOfTheTree => File::open(anything(root, random)?)?.sync_all()?,
    }
    Ok(())
}

/// Picks a random entry below `root`, or `root` itself.
fn anything(root: &Path, random: &mut Random) -> Result<PathBuf, Failure> {
    let mut at = root.to_owned();
    loop {
        let below: Result<Vec<PathBuf>, std::io::Error> =
            std::fs::read_dir(&at)?.map(|entry| Ok(entry?.path())).collect();
        let below = below?;
        if below.is_empty() || random.once_in(4) {
            return Ok(at);
        }
        at = random.pick(&below).clone();
        if !at.is_dir() {
            return Ok(at);
        }
    }
}
