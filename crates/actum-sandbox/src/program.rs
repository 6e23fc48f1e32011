//! Which program the sandbox is made by.

use std::path::{Path, PathBuf};

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

    /// Another program.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }
}
