//! What is set for a repository here, above all that anybody else set.
//!
//! libgit2 lets a program without `unsafe` neither leave out the files of the user and of the system nor
//! turn on syncing, but it takes one more file that counts above all others. That file has no name: it
//! is made, read and gone, in the repository's own directory, since that must take files anyway.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use git2::ConfigLevel;

use crate::problem::{GitProblem, ResultExt};

/// - `fsyncObjectFiles`: objects and references are on the disk before they count.
/// - `protectHFS`, `protectNTFS`: a name that any file system takes for `.git` is refused everywhere.
const SETTINGS: &str = "[core]\n\
                        \tfsyncObjectFiles = true\n\
                        \tprotectHFS = true\n\
                        \tprotectNTFS = true\n";
const NAMES: [&str; 3] = ["core.fsyncobjectfiles", "core.protecthfs", "core.protectntfs"];

const DOING: &str = "setting up how the repository is written";

/// The file with what is set; it has to live as long as the repository is used.
pub(crate) struct Settings {
    _file: File,
}

impl Settings {
    /// Puts the settings above all others.
    pub(crate) fn put(repository: &git2::Repository) -> Result<Self, GitProblem> {
        let mut file = tempfile::tempfile_in(repository.path()).doing(DOING)?;
        file.write_all(SETTINGS.as_bytes()).doing(DOING)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let mut config = repository.config().doing(DOING)?;
        config.add_file(&path, ConfigLevel::App, true).doing(DOING)?;
        for name in NAMES {
            // What cannot be read back does not hold either.
            let value = config.get_entry(name).doing(DOING)?;
            if value.level() != ConfigLevel::App || value.value_bytes() != b"true" {
                let source = git2::Error::from_str("what was set does not count");
                return Err(GitProblem::Git { doing: DOING, source });
            }
        }
        Ok(Self { _file: file })
    }
}
