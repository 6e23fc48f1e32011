//! The program of a command, sought as a shell does, among what the policy lets it see.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use actum_sandbox::SandboxPolicy;

use super::failure::SandboxFailure;
use super::policy;

/// A program that was found.
pub(super) struct Program {
    /// Absolute.
    pub(super) path: PathBuf,
    /// Where our own `PATH` has another.
    ours: Option<PathBuf>,
}

impl Program {
    /// Finds a program: by its path, or else in the `PATH` of the policy.
    pub(super) fn find(name: &Path, policy: &SandboxPolicy) -> Result<Self, SandboxFailure> {
        if name.components().count() > 1 || name.is_absolute() {
            let path: PathBuf = policy.cwd.join(name).components().collect();
            let refused = |why: &'static str, hint: String| {
                Err(SandboxFailure::NotFound { name: name.to_owned(), why, hint })
            };
            return match std::fs::metadata(&path) {
                Err(_) => refused("there is no such file", "give its path".to_owned()),
                Ok(found) if found.is_dir() => {
                    refused("it is a directory", "give the program in it".to_owned())
                }
                Ok(found) if found.permissions().mode() & 0o111 == 0 => {
                    Err(SandboxFailure::NotExecutable { name: name.to_owned() })
                }
                Ok(_) => Ok(Self { path, ours: None }),
            };
        }
        let ours = policy::inherited("PATH").and_then(|path| first(name, &path, &policy.cwd));
        let found = policy.env.get("PATH").and_then(|path| first(name, path, &policy.cwd));
        let Some(path) = found else {
            let hint = match ours {
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
            let why = "it is in no directory of the policy's `PATH`";
            return Err(SandboxFailure::NotFound { name: name.to_owned(), why, hint });
        };
        let ours = ours.filter(|ours| *ours != path);
        Ok(Self { path, ours })
    }

    /// That it is another program than a shell would start here.
    pub(super) fn notes(&self) -> Option<String> {
        let ours = self.ours.as_ref()?;
        Some(format!(
            "the program is `{}` in the sandbox; outside it is `{}`, which `--exec` allows",
            self.path.display(),
            ours.display()
        ))
    }
}

fn first(name: &Path, path: &str, from: &Path) -> Option<PathBuf> {
    let mut places = path.split(':').map(|directory| from.join(directory).join(name));
    places.find(|place| {
        std::fs::metadata(place)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

fn is_shell_text(name: &Path) -> bool {
    name.to_string_lossy().contains([' ', '|', ';', '&', '<', '>', '$'])
}
