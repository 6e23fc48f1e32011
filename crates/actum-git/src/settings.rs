//! Repository settings that actum enforces over every other git configuration.
//!
//! Safe Rust code cannot make libgit2 ignore the user's and the system's configuration files, nor enable syncing to
//! disk. However, libgit2 accepts an additional configuration file that overrides all others. actum creates that file
//! without a name in the repository's own directory, which must be writable anyway.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use git2::ConfigLevel;

use crate::problem::{GitProblem, ResultExt};

/// Content of the overriding configuration file.
///
/// - `fsyncObjectFiles`: objects and references are synced to disk when they are written.
/// - `protectHFS`, `protectNTFS`: names that HFS+ or NTFS would treat as `.git` are rejected on every file system.
const SETTINGS: &str = "[core]\n\
                        \tfsyncObjectFiles = true\n\
                        \tprotectHFS = true\n\
                        \tprotectNTFS = true\n";
const NAMES: [&str; 3] = ["core.fsyncobjectfiles", "core.protecthfs", "core.protectntfs"];

const DOING: &str = "overriding the git settings of the repository";

/// Open configuration file with the overriding settings. It must stay open while the repository is used.
pub(crate) struct Settings {
    _file: File,
}

impl Settings {
    /// Adds the configuration file to a repository, and checks that its settings are in effect.
    pub(crate) fn put(repository: &git2::Repository) -> Result<Self, GitProblem> {
        let mut file = tempfile::tempfile_in(repository.path()).doing(DOING)?;
        file.write_all(SETTINGS.as_bytes()).doing(DOING)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let mut config = repository.config().doing(DOING)?;
        config.add_file(&path, ConfigLevel::App, true).doing(DOING)?;
        for name in NAMES {
            // A setting is only in effect if its value can be read back from this file.
            let value = config.get_entry(name).doing(DOING)?;
            if value.level() != ConfigLevel::App || value.value_bytes() != b"true" {
                let source = git2::Error::from_str("a required setting did not take effect");
                return Err(GitProblem::Git { doing: DOING, source });
            }
        }
        Ok(Self { _file: file })
    }
}
