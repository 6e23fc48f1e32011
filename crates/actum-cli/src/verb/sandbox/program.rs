//! Finds the program of a command as a shell would, among the files that the sandbox policy makes visible.

use std::path::{Path, PathBuf};

use actum_sandbox::{NoProgram, SandboxPolicy};

use super::failure::SandboxFailure;
use crate::home;

/// Program that was found in the sandbox.
pub(super) struct Program {
    /// Absolute path of the program.
    pub(super) path: PathBuf,
    /// Path of a different program with the same name, which comes first in the `PATH` of this process.
    ours: Option<PathBuf>,
}

impl Program {
    /// Finds a program by its path, or by its name in the `PATH` of the policy.
    pub(super) fn find(name: &Path, policy: &SandboxPolicy) -> Result<Self, SandboxFailure> {
        let refused = |why: NoProgram, hint: String| {
            Err(SandboxFailure::NotFound { name: name.to_owned(), why, hint })
        };
        let why = match policy.program(name) {
            Ok(path) => {
                let is_name = name.components().count() == 1 && !name.is_absolute();
                let ours = if is_name { Self::ours(name, policy) } else { None };
                return Ok(Self { ours: ours.filter(|ours| *ours != path), path });
            }
            Err(NoProgram::NotExecutable) => {
                return Err(SandboxFailure::NotExecutable { name: name.to_owned() });
            }
            Err(why) => why,
        };
        match why {
            NoProgram::NotThere => refused(why, "check the path of the program".to_owned()),
            NoProgram::Directory => {
                refused(why, "pass the path of a program in this directory".to_owned())
            }
            NoProgram::NotExecutable | NoProgram::NotInPath => {
                let hint = match Self::ours(name, policy) {
                    Some(ours) => format!(
                        "your `PATH` has `{}`; pass `--exec DIRECTORY` for what it needs",
                        ours.display()
                    ),
                    None if is_shell_text(name) => {
                        "to run a line of shell code, pass `-- sh -c 'LINE'`".to_owned()
                    }
                    None => "check the name of the program; to use a shell builtin, pass \
                         `-- sh -c 'LINE'`"
                        .to_owned(),
                };
                refused(why, hint)
            }
        }
    }

    /// Returns the program that a shell would start for this name outside the sandbox.
    fn ours(name: &Path, policy: &SandboxPolicy) -> Option<PathBuf> {
        policy.in_path(name, &home::inherited("PATH")?)
    }

    /// Returns a note if a shell outside the sandbox would start a different program for the same name.
    pub(super) fn notes(&self) -> Option<String> {
        let ours = self.ours.as_ref()?;
        Some(format!(
            "the sandbox uses the program `{}`; outside of it, this would be `{}`, which `--exec` can allow",
            self.path.display(),
            ours.display()
        ))
    }
}

fn is_shell_text(name: &Path) -> bool {
    name.to_string_lossy().contains([' ', '|', ';', '&', '<', '>', '$'])
}
