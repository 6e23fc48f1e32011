//! Locates the helper program that sets up the sandbox and the program of a command.

use std::path::{Path, PathBuf};

use crate::policy::SandboxPolicy;

/// Program that is started as the sandbox helper. Its `main` must call [`crate::inside::enter`] first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    program: PathBuf,
}

impl Helper {
    /// Uses the running program as the helper.
    pub fn this_program() -> Self {
        Self { program: PathBuf::from("/proc/self/exe") }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Uses the program at a path as the helper.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }
}

/// Reason why the program of a command cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// The path does not exist.
    #[error("the file does not exist")]
    NotThere,
    /// The path is a directory.
    #[error("it is a directory")]
    Directory,
    /// The file does not have execute permission.
    #[error("it is not executable")]
    NotExecutable,
    /// No directory in `PATH` contains a program with this name.
    #[error("it is not in any directory of the policy's `PATH`")]
    NotInPath,
}

impl SandboxPolicy {
    /// Returns the absolute path of a program. If `name` is a single component, searches the directories of
    /// the policy's `PATH`. Otherwise, resolves it relative to the working directory.
    ///
    /// # Errors
    /// Returns [`NoProgram`] if no executable file is found.
    pub fn program(&self, name: &Path) -> Result<PathBuf, NoProgram> {
        if name.components().count() > 1 || name.is_absolute() {
            let path: PathBuf = self.cwd.join(name).components().collect();
            return match std::fs::metadata(&path) {
                Err(_) => Err(NoProgram::NotThere),
                Ok(found) if found.is_dir() => Err(NoProgram::Directory),
                Ok(found) if !is_executable(&found) => Err(NoProgram::NotExecutable),
                Ok(_) => Ok(path),
            };
        }
        let path = self.env.get("PATH");
        path.and_then(|path| self.in_path(name, path)).ok_or(NoProgram::NotInPath)
    }

    /// Returns the first executable file called `name` in a colon-separated list of directories such as
    /// `PATH`.
    pub fn in_path(&self, name: &Path, path: &str) -> Option<PathBuf> {
        let mut places = path.split(':').map(|directory| self.cwd.join(directory).join(name));
        places.find(|place| {
            std::fs::metadata(place).is_ok_and(|found| found.is_file() && is_executable(&found))
        })
    }
}

#[cfg(unix)]
fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}
