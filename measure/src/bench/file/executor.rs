//! Environment in which file tasks are allowed: a base directory, keys and a lease.

use std::cell::Cell;
use std::fs::{OpenOptions, create_dir_all, write};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::bench::Failure;
use crate::bench::race::time;

/// Agent to which the lease is granted.
pub(super) const AGENT: &str = "bench";

/// Executor of an agent's file tasks, with its own base directory and ledger.
pub(super) struct Executor {
    program: PathBuf,
    /// Configuration in the home directory that the password database names.
    configuration: PathBuf,
    home: PathBuf,
    /// Base directory of the file tasks.
    pub(super) base: PathBuf,
    /// Number of the next task.
    tasks: Cell<u64>,
}

impl Executor {
    /// Creates the directories, writes the operator's policy, and grants a lease.
    pub(super) fn make(
        home: &Path,
        program: PathBuf,
        configuration: &Path,
    ) -> Result<Self, Failure> {
        let (home, base) = (home.to_owned(), home.join("base"));
        let executor = Self {
            program,
            configuration: configuration.to_owned(),
            home,
            base,
            tasks: Cell::new(0),
        };
        create_dir_all(&executor.base)?;
        let policy = configuration.join("actum");
        create_dir_all(&policy)?;
        let base = serde_json::to_string(&executor.base)?;
        let text = format!("version = 1\n[file]\nbase_directories = [{base}]\n");
        write(policy.join("actum.toml"), text)?;
        let passphrase = executor.home.join("passphrase");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(passphrase)?;
        file.write_all(b"correct horse battery staple\n")?;
        executor.run_actum(&["init"])?;
        executor.run_actum(&["key", "make", "lease", "--passphrase-file", "../passphrase"])?;
        let capabilities = ["FILE_MOVE", "FILE_COPY", "FILE_DELETE"];
        let mut grant = vec!["lease", "grant", "--agent", AGENT, "--expires", "12h"];
        grant.extend(capabilities.iter().flat_map(|capability| ["--capability", capability]));
        grant.extend(["--base", ".", "--output", "../lease", "--passphrase-file", "../passphrase"]);
        executor.run_actum(&grant)?;
        Ok(executor)
    }

    /// Path of the home of the ledger and keys.
    pub(super) fn actum_home(&self) -> PathBuf {
        self.home.join("home")
    }

    /// Path of the lease as it was granted.
    pub(super) fn lease(&self) -> PathBuf {
        self.home.join("lease")
    }

    /// Writes a file of pseudo-random bytes.
    pub(super) fn put_binary(&self, name: &str, megabytes: usize) -> Result<(), Failure> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        };
        self.put(name, megabytes, || {
            std::iter::repeat_with(&mut next).take(125_000).flatten().collect()
        })
    }

    /// Writes a text file.
    pub(super) fn put_text(&self, name: &str, megabytes: usize) -> Result<(), Failure> {
        let line = b"2026-01-05T10:11:12Z service=web level=info path=/items/4711 status=200\n";
        self.put(name, megabytes, || line.iter().copied().cycle().take(1_000_000).collect())
    }

    fn put(
        &self,
        name: &str,
        megabytes: usize,
        mut megabyte: impl FnMut() -> Vec<u8>,
    ) -> Result<(), Failure> {
        let mut file = std::fs::File::create(self.base.join(name))?;
        for _ in 0..megabytes {
            file.write_all(&megabyte())?;
        }
        Ok(file.sync_all()?)
    }

    /// Writes the manifest of a new task.
    pub(super) fn write_manifest(
        &self,
        capability: &str,
        from: &str,
        to: Option<&str>,
    ) -> Result<(), Failure> {
        let number = self.tasks.replace(self.tasks.get() + 1);
        let mut input = json!({"source_path": self.base.join(from)});
        if let Some(to) = to {
            input["destination_path"] = json!(self.base.join(to));
        }
        let manifest = json!({
            "task_id": format!("task-{number}"), "capability_id": capability, "input": input,
            "constraints": {"reversible": true},
        });
        Ok(write(self.home.join("manifest.json"), serde_json::to_vec(&manifest)?)?)
    }

    /// Returns the command that runs the task of the manifest.
    pub(super) fn command(&self) -> Command {
        let mut command = self.actum(&["file", "run", "../manifest.json", "--lease", "../lease"]);
        command.args(["--agent", AGENT]);
        command
    }

    /// Runs the task of the manifest, and returns the time it took.
    pub(super) fn run_task(&self) -> Result<Duration, Failure> {
        let mut command = self.command();
        time(|| finish(&mut command))
    }

    /// Runs `actum` in the base directory.
    pub(super) fn run_actum(&self, arguments: &[&str]) -> Result<Duration, Failure> {
        let mut command = self.actum(arguments);
        time(|| finish(&mut command))
    }

    fn actum(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.base).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("ACTUM_HOME", self.actum_home());
        command.env("XDG_CONFIG_HOME", &self.configuration);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

/// Runs a command. On failure, the error contains the first line of its messages.
pub(super) fn finish(command: &mut Command) -> Result<(), Failure> {
    let output = command.stderr(Stdio::piped()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let first = messages.lines().next().unwrap_or("no message");
    Err(format!("it ended with {}: {first}", output.status).into())
}
