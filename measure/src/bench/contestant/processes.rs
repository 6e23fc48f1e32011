//! Contestants that run whole processes, as a user would: `actum`, `git` and GNU `patch`.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Contestant;
use crate::bench::Failure;
use crate::bench::material::Change;

/// Environment of every process: no user configuration of this machine, a diff to read, and a file for the output.
#[derive(Clone)]
pub(in crate::bench) struct Surroundings {
    home: PathBuf,
}

impl Surroundings {
    /// Uses the existing directory `home` as the home directory, and for the diff and the messages.
    pub(in crate::bench) fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// Path of the change as a diff file, which is written before the clock starts.
    pub(in crate::bench) fn diff(&self) -> PathBuf {
        self.home.join("change.diff")
    }

    fn messages(&self) -> PathBuf {
        self.home.join("messages")
    }

    /// Returns a command for [`Surroundings::run`].
    pub(in crate::bench) fn command(
        &self,
        program: impl AsRef<Path>,
        directory: &Path,
    ) -> Result<Command, Failure> {
        let messages = OpenOptions::new().create(true).append(true).open(self.messages())?;
        let mut command = Command::new(program.as_ref());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["GIT_", "XDG_", "ACTUM_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", &self.home)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(messages);
        Ok(command)
    }

    /// Runs a command, whose messages are used only if it fails.
    pub(in crate::bench) fn run(&self, command: &mut Command) -> Result<(), Failure> {
        let status =
            command.status().map_err(|error| format!("starting {}: {error}", shown(command)))?;
        if status.success() {
            return Ok(());
        }
        let messages = std::fs::read_to_string(self.messages()).unwrap_or_default();
        // Clear the file, so that the next failure does not show these messages.
        drop(File::create(self.messages()));
        let is_cause = |line: &&str| line.starts_with("error") || line.starts_with("fatal");
        let words = messages.lines().find(is_cause).or_else(|| messages.lines().last());
        let words = words.unwrap_or("it said nothing");
        Err(format!("{} failed ({status}): {words}", shown(command)).into())
    }
}

/// Returns the program and its arguments, without directories of this machine.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| {
        let path = Path::new(word);
        let name = path.file_name().filter(|_| path.is_absolute()).unwrap_or(word);
        name.to_string_lossy().into_owned()
    });
    format!("`{}`", words.collect::<Vec<_>>().join(" "))
}

/// Sequence of processes that is the same in each round, except for the diff.
pub(super) struct Processes {
    apply: Vec<Command>,
    revert: Vec<Command>,
    surroundings: Surroundings,
}

impl Contestant for Processes {
    fn apply(&mut self, _: &Change<'_>) -> Result<(), Failure> {
        self.apply.iter_mut().try_for_each(|command| self.surroundings.run(command))
    }

    fn revert(&mut self, _: &Change<'_>) -> Result<(), Failure> {
        self.revert.iter_mut().try_for_each(|command| self.surroundings.run(command))
    }
}

pub(super) fn actum(
    program: &Path,
    workspace: &Path,
    surroundings: &Surroundings,
) -> Result<Processes, Failure> {
    let shop = Shop { program, workspace, surroundings };
    shop.run(&["init"])?;
    Ok(Processes {
        apply: vec![shop.command_on_diff(&["apply"])?],
        revert: vec![shop.command(&["undo"])?],
        surroundings: surroundings.clone(),
    })
}

/// Changes only files, without a commit.
pub(super) fn git_apply(
    workspace: &Path,
    surroundings: &Surroundings,
) -> Result<Processes, Failure> {
    let git = Shop { program: Path::new("git"), workspace, surroundings };
    // Otherwise git might use a repository in a parent directory and skip every file.
    git.run(&["init", "--quiet", "--template="])?;
    Ok(Processes {
        apply: vec![git.command_on_diff(&["apply"])?],
        revert: vec![git.command_on_diff(&["apply", "--reverse"])?],
        surroundings: surroundings.clone(),
    })
}

/// Changes the files, the index and the history, which is git's closest equivalent of a transaction.
pub(super) fn git_commit(
    workspace: &Path,
    surroundings: &Surroundings,
) -> Result<Processes, Failure> {
    let git = Shop { program: Path::new("git"), workspace, surroundings };
    git.run(&["init", "--quiet", "--template="])?;
    for (name, value) in [
        ("user.name", "bench"),
        ("user.email", "bench@example.invalid"),
        ("commit.gpgSign", "false"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ] {
        git.run(&["config", name, value])?;
    }
    git.run(&["add", "--all"])?;
    git.run(&["commit", "--quiet", "--message=before"])?;
    Ok(Processes {
        apply: vec![
            git.command_on_diff(&["apply", "--index"])?,
            git.command(&["commit", "--quiet", "--message=change"])?,
        ],
        revert: vec![git.command(&["revert", "--no-edit", "HEAD"])?],
        surroundings: surroundings.clone(),
    })
}

pub(super) fn gnu_patch(
    workspace: &Path,
    surroundings: &Surroundings,
) -> Result<Processes, Failure> {
    let patch = Shop { program: Path::new("patch"), workspace, surroundings };
    let flags = ["--strip=1", "--quiet", "--input"];
    let backwards = ["--strip=1", "--quiet", "--reverse", "--input"];
    Ok(Processes {
        apply: vec![patch.command_on_diff(&flags)?],
        revert: vec![patch.command_on_diff(&backwards)?],
        surroundings: surroundings.clone(),
    })
}

/// Builds the commands of one program in one workspace.
struct Shop<'a> {
    program: &'a Path,
    workspace: &'a Path,
    surroundings: &'a Surroundings,
}

impl Shop<'_> {
    fn command(&self, arguments: &[&str]) -> Result<Command, Failure> {
        let mut command = self.surroundings.command(self.program, self.workspace)?;
        command.args(arguments);
        Ok(command)
    }

    /// Returns the command with the diff as the last argument.
    fn command_on_diff(&self, arguments: &[&str]) -> Result<Command, Failure> {
        let mut command = self.command(arguments)?;
        command.arg(self.surroundings.diff());
        Ok(command)
    }

    fn run(&self, arguments: &[&str]) -> Result<(), Failure> {
        self.surroundings.run(&mut self.command(arguments)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_without_directories_and_the_cause() {
        let home = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(home.path());
        let mut command = surroundings.command("/bin/sh", home.path()).unwrap();
        command.args(["-c", "cat words >&2; exit 3"]);
        let failure = |words: &str| {
            std::fs::write(home.path().join("words"), words).unwrap();
            surroundings.run(&mut command).unwrap_err().to_string()
        };
        assert_eq!(
            ["warning: x\nerror: why\nhint: y\n", "first\nlast\n", ""].map(failure),
            ["error: why", "last", "it said nothing"].map(|words| format!(
                "`sh -c cat words >&2; exit 3` failed (exit status: 3): {words}"
            ))
        );
    }
}
