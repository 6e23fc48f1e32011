//! Program that makes the sandbox, and the program that a command names.

use std::path::{Path, PathBuf};

use crate::policy::SandboxPolicy;

/// The program that is started as helper: one whose `main` calls [`crate::inside::enter`] first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    program: PathBuf,
}

impl Helper {
    /// The program that is running.
    pub fn this_program() -> Self {
        Self { program: PathBuf::from("/proc/self/exe") }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Names another program as helper.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }
}

/// Reason why a command names no program that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// No file is at the path.
    #[error("there is no such file")]
    NotThere,
    /// A directory is.
    #[error("it is a directory")]
    Directory,
    /// The file lacks the permission.
    #[error("it is not executable")]
    NotExecutable,
    /// No directory has a program of that name.
    #[error("it is in no directory of the policy's `PATH`")]
    NotInPath,
}

impl SandboxPolicy {
    /// Returns the absolute path of a program: the given one, relative to the working directory, or
    /// else the first in the directories of the policy's `PATH`.
    ///
    /// # Errors
    /// [`NoProgram`]
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

    /// The first program of that name in directories as `PATH` has them.
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
