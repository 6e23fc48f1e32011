//! Settings that actum fixes for a repository, above all others.
//!
//! A program without `unsafe` can make libgit2 neither leave out the files of the user and of the system nor turn on
//! syncing. But libgit2 accepts one more file that overrides all others. That file has no name. It is made, read and
//! removed in the repository's own directory, which must accept files anyway.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use git2::ConfigLevel;

use crate::problem::{GitProblem, ResultExt};

/// Content of the file.
///
/// - `fsyncObjectFiles`: objects and references are on the disk before they count.
/// - `protectHFS`, `protectNTFS`: a name that any file system takes for `.git` is refused everywhere.
const SETTINGS: &str = "[core]\n\
                        \tfsyncObjectFiles = true\n\
                        \tprotectHFS = true\n\
                        \tprotectNTFS = true\n";
const NAMES: [&str; 3] = ["core.fsyncobjectfiles", "core.protecthfs", "core.protectntfs"];

const DOING: &str = "setting up how the repository is written";

/// File with the settings; it has to exist as long as the repository is used.
pub(crate) struct Settings {
    _file: File,
}

impl Settings {
    /// Sets the settings above all others.
    pub(crate) fn put(repository: &git2::Repository) -> Result<Self, GitProblem> {
        let mut file = tempfile::tempfile_in(repository.path()).doing(DOING)?;
        file.write_all(SETTINGS.as_bytes()).doing(DOING)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let mut config = repository.config().doing(DOING)?;
        config.add_file(&path, ConfigLevel::App, true).doing(DOING)?;
        for name in NAMES {
            // A value that cannot be read back is not in effect either.
            let value = config.get_entry(name).doing(DOING)?;
            if value.level() != ConfigLevel::App || value.value_bytes() != b"true" {
                let source = git2::Error::from_str("what was set does not count");
                return Err(GitProblem::Git { doing: DOING, source });
            }
        }
        Ok(Self { _file: file })
    }
}
