//! Program of a command: searched as in a shell, among the files that the policy lets it see.

use std::path::{Path, PathBuf};

use actum_sandbox::{NoProgram, SandboxPolicy};

use super::failure::SandboxFailure;
use crate::home;

/// Program that was found.
pub(super) struct Program {
    /// Absolute path.
    pub(super) path: PathBuf,
    /// Path of another program of that name in the `PATH` of this process.
    ours: Option<PathBuf>,
}

impl Program {
    /// Finds a program: by its path, or else in the `PATH` of the policy.
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
            NoProgram::NotThere => refused(why, "give its path".to_owned()),
            NoProgram::Directory => refused(why, "give the program in it".to_owned()),
            NoProgram::NotExecutable | NoProgram::NotInPath => {
                let hint = match Self::ours(name, policy) {
                    Some(ours) => format!(
                        "your `PATH` has `{}`; what it needs is allowed with `--exec DIRECTORY`",
                        ours.display()
                    ),
                    None if is_shell_text(name) => {
                        "a line for a shell is run by one: `-- sh -c 'LINE'`".to_owned()
                    }
                    None => "give a program; what a shell knows by itself is run by one: \
                         `-- sh -c 'LINE'`"
                        .to_owned(),
                };
                refused(why, hint)
            }
        }
    }

    /// Returns the program that a shell would start outside the sandbox.
    fn ours(name: &Path, policy: &SandboxPolicy) -> Option<PathBuf> {
        policy.in_path(name, &home::inherited("PATH")?)
    }

    /// Returns a note if it is another program than a shell would start here.
    pub(super) fn notes(&self) -> Option<String> {
        let ours = self.ours.as_ref()?;
        Some(format!(
            "the program is `{}` in the sandbox; outside it is `{}`, which `--exec` allows",
            self.path.display(),
            ours.display()
        ))
    }
}

fn is_shell_text(name: &Path) -> bool {
    name.to_string_lossy().contains([' ', '|', ';', '&', '<', '>', '$'])
}
